"""Undo and redo: the addresses a session came from and those it left, and what differs between two of them."""

from dataclasses import dataclass

from sitt_core.configuration import FIELDS
from sitt_core.surfaces.address import Address

KEPT = 50


@dataclass(frozen=True, slots=True)
class History:
    """Addresses before the current one, oldest first, and those that were undone, the next one first."""

    past: tuple[Address, ...] = ()
    future: tuple[Address, ...] = ()


def flipped(history: History, before: Address, now: Address) -> History:
    """The history after `before` was left for `now`; nothing happens when they are equal."""
    return history if now == before else History((*history.past, before)[-KEPT:])


def undone(history: History, now: Address) -> tuple[History, Address]:
    """The history and the address one step back; both as they are when there is none."""
    if not history.past:
        return history, now
    return History(history.past[:-1], (now, *history.future)[:KEPT]), history.past[-1]


def redone(history: History, now: Address) -> tuple[History, Address]:
    """The history and the address one step forward again; both as they are when there is none."""
    if not history.future:
        return history, now
    return History((*history.past, now)[-KEPT:], history.future[1:]), history.future[0]


def arrived(history: History, before: Address, now: Address) -> History:
    """The history after the browser went to `now`: its back is an undo and its forward a redo, anything else a flip."""
    for step in (undone, redone):
        after, reached = step(history, before)
        if after != history and reached == now:
            return after
    return flipped(history, before, now)


def difference(now: Address, other: Address) -> str:
    """What would change from `now` to `other`, in words: `Top K 6 → 5, question`."""
    changes = [
        f"{field.label} {now.configuration[field.name]} → {other.configuration[field.name]}"
        for field in FIELDS
        if now.configuration[field.name] != other.configuration[field.name]
    ]
    changes += [name for name in ("corpus", "question", "filters") if getattr(now, name) != getattr(other, name)]
    return ", ".join(changes[:3]) + (f" and {len(changes) - 3} more" if len(changes) > 3 else "")
