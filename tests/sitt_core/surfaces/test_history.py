from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sitt_core.configuration import Configuration, configure
from sitt_core.surfaces.address import Address
from sitt_core.surfaces.history import KEPT, History, arrived, difference, flipped, redone, undone
from sitt_core.types import Filters


def at(top_k: int) -> Address:
    return Address(configure({"top_k": top_k}))


def test_a_flip_is_undone_and_done_again() -> None:
    """Back through every step and forward again, to where one was."""
    history, now = History(), at(1)
    for top_k in (2, 3):
        history, now = flipped(history, now, at(top_k)), at(top_k)
    seen = []
    for step in (undone, undone, undone, redone, redone, redone):
        history, now = step(history, now)
        seen.append(now.configuration.top_k)
    assert seen == [2, 1, 1, 2, 3, 3]


def test_a_flip_after_an_undo_forgets_what_was_undone() -> None:
    """There is one line of steps, not a tree; a flip that changes nothing forgets nothing."""
    history, now = undone(flipped(History(), at(1), at(2)), at(2))
    assert flipped(history, now, now) == history
    assert flipped(history, now, at(3)) == History((at(1),), ())


def test_flipping_there_and_back_is_two_steps() -> None:
    """The way back by hand is a flip of its own, which undo takes back."""
    history = flipped(flipped(History(), at(1), at(2)), at(2), at(1))
    assert undone(history, at(1))[1] == at(2)


def test_the_browsers_back_and_forward_are_undo_and_redo() -> None:
    """The buttons and the browser walk the same line; a link is a flip."""
    history = flipped(History(), at(1), at(2))
    back = arrived(history, at(2), at(1))
    assert back == History((), (at(2),))
    assert arrived(back, at(1), at(2)) == history
    assert arrived(back, at(1), at(9)) == History((at(1),), ())
    assert arrived(history, at(2), at(2)) == history


@given(st.lists(st.integers(1, 9), max_size=120), st.integers(0, 60))
def test_the_history_is_bounded_and_whole(flips: list[int], steps: int) -> None:
    """At most `KEPT` steps either way, and as many redos as undos lead back."""
    history, now = History(), at(10)
    for top_k in flips:
        history, now = flipped(history, now, at(top_k)), at(top_k)
        assert len(history.past) <= KEPT
    steps = min(steps, len(history.past))
    before = (history, now)
    for step in (*[undone] * steps, *[redone] * steps):
        history, now = step(history, now)
    assert (history, now) == before


def test_a_difference_is_told_in_words() -> None:
    """Fields by label and values, the rest by name; a long list is cut."""
    one = Address(Configuration())
    assert difference(one, one) == ""
    assert difference(one, replace(one, configuration=configure({"top_k": 6}), question="who?")) == "Top K 5 → 6, question"
    other = Address(configure({"top_k": 6, "dense": "off", "keyword": "rank-bm25"}), "notes", "who?", Filters(("a",)))
    assert difference(one, other) == "Dense exact → off, Keyword bm25s → rank-bm25, Top K 5 → 6 and 3 more"
