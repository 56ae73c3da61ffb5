"""What people leave behind on this machine: presets and recent questions, each one JSON file, safe from several processes."""

import contextlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError, shown

KEPT_RECENT = 50
MAX_PRESETS = 100
MAX_NAME = 60
LOCK_SECONDS = 5.0
_PRESETS, _RECENT = "presets.json", "recent.json"

Fields = Mapping[str, str | int | float]
"""A configuration's fields by dotted name."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A question with the fields and filters it was last asked under, and when (seconds since 1970)."""

    question: str
    fields: Fields
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: float = 0.0


def check_preset_name(name: str) -> str:
    """The name without white space around it; raises InvalidInput."""
    wanted = name.strip()
    if not wanted or len(wanted) > MAX_NAME or not wanted.isprintable():
        raise InvalidInput(
            expected=f"a name of 1 to {MAX_NAME} printable characters", got=shown(name), remedy='Choose a name such as "keyword only".'
        )
    return wanted


def presets(notes_dir: Path) -> dict[str, Fields]:
    """The saved configurations by name, in the order of their names; raises StoreError."""
    return dict(sorted(_read(notes_dir / _PRESETS).items(), key=lambda item: (item[0].casefold(), item[0])))


def save_preset(notes_dir: Path, name: str, fields: Fields) -> None:
    """Keeps the fields under a name, in place of what had it; raises InvalidInput, StoreError or Busy."""
    wanted = check_preset_name(name)
    with _editing(notes_dir / _PRESETS) as held:
        if wanted not in held and len(held) >= MAX_PRESETS:
            raise InvalidInput(expected=f"at most {MAX_PRESETS} presets", got="one more", remedy="Delete one that is no longer used.")
        held[wanted] = dict(fields)


def delete_preset(notes_dir: Path, name: str) -> None:
    """Forgets a preset; raises NotFound, StoreError or Busy."""
    with _editing(notes_dir / _PRESETS) as held:
        if name not in held:
            raise NotFound(expected="the name of a preset", got=shown(name), remedy="It may have been deleted in another window.")
        del held[name]


def recent(notes_dir: Path, corpus: str) -> tuple[Recent, ...]:
    """The questions lately asked of a corpus, the latest first; raises StoreError."""
    return tuple(_recents(_read(notes_dir / _RECENT), corpus))


def remember(notes_dir: Path, corpus: str, question: str, fields: Fields, filters: Mapping[str, Sequence[str]] | None = None) -> None:
    """Puts a question first among those of its corpus; asked before, it moves there with what it is asked under now.

    Nothing is written when it stands there already. Raises StoreError or Busy.
    """
    newest = Recent(question, dict(fields), {name: list(values) for name, values in (filters or {}).items()}, time.time())
    if _same(next(iter(recent(notes_dir, corpus)), None), newest):
        return
    with _editing(notes_dir / _RECENT) as held:
        others = [other for other in _recents(held, corpus) if other.question != question]
        held[corpus] = [asdict(each) for each in [newest, *others][:KEPT_RECENT]]


def forget(notes_dir: Path, corpus: str, question: str | None = None) -> None:
    """Deletes one recent question of a corpus, or all of them; raises StoreError or Busy."""
    with _editing(notes_dir / _RECENT) as held:
        kept = [asdict(other) for other in _recents(held, corpus) if question is not None and other.question != question]
        held.pop(corpus, None)
        if kept:
            held[corpus] = kept


def _same(one: Recent | None, other: Recent) -> bool:
    return one is not None and (one.question, one.fields, one.filters) == (other.question, other.fields, other.filters)


def _recents(held: Mapping[str, Any], corpus: str) -> list[Recent]:
    try:
        return [Recent(each["question"], each["fields"], each["filters"], each["asked"]) for each in held.get(corpus, [])]
    except (TypeError, KeyError) as error:
        raise _damaged(_RECENT, f"an entry without {error}") from error


def _read(path: Path) -> dict[str, Any]:
    """What a file of notes holds; nothing when there is none."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _damaged(path.name, str(error)) from error
    except OSError as error:
        raise StoreError(expected=f"to read {path.name}", got=str(error), remedy="Check the permissions of the notes folder.") from error
    if not isinstance(held, dict):
        raise _damaged(path.name, shown(held))
    return held


def _damaged(name: str, got: str) -> StoreError:
    return StoreError(expected=f"{name} to hold notes", got=got, remedy=f"Repair {name} in the notes folder, or move it away.")


@contextlib.contextmanager
def _editing(path: Path) -> Iterator[dict[str, Any]]:
    """What a file holds, to be changed; written whole at the end, while no other process changes it."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS):
            held = _read(path)
            yield held
            part.write_text(json.dumps(held, ensure_ascii=False, indent=1), encoding="utf-8")
            part.replace(path)
    except Timeout as error:
        raise Busy(expected=f"to write {path.name}", got="another process is writing it", remedy="Try again in a moment.") from error
    except OSError as error:
        raise StoreError(
            expected=f"to write {path.name}", got=str(error), remedy="Check the free space and the permissions of the notes folder."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
