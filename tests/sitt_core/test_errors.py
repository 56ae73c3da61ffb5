"""Every failure is one of a tree, says what was expected, what came and what to do, and looks the same as JSON."""

import inspect
import json
import re

import pytest

from sitt_core import errors
from sitt_core.errors import MAX_SHOWN, FingerprintError, InvalidInput, SittError, shown

CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__]


def drawn_parents(drawing: str) -> dict[str, str]:
    """Each class of a drawn tree with the one it hangs from."""
    parents: dict[str, str] = {}
    at_depth: dict[int, str] = {}
    for branch in re.finditer(r"^([│ ├└─]*)([A-Z]\w+)(?:  |$)", drawing, re.MULTILINE):
        depth, name = len(branch[1]) // 4, branch[2]
        at_depth[depth] = name
        if depth:
            parents[name] = at_depth[depth - 1]
    return parents


def test_the_drawing_is_the_tree() -> None:
    """The module's docstring draws exactly the classes there are, each under its base."""
    assert drawn_parents(errors.__doc__ or "") == {each.__name__: each.__base__.__name__ for each in CLASSES if each is not SittError}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_one_message(kind: type[SittError]) -> None:
    """The message joins expected, got and remedy; JSON holds all four and the kind, under one key."""
    error = kind(expected="a number", got="'five'", remedy="Type digits.")
    message = "expected a number; got 'five'. Type digits."
    assert str(error) == message
    assert json.loads(json.dumps(error.to_json())) == {
        "error": {"kind": kind.__name__, "message": message, "expected": "a number", "got": "'five'", "remedy": "Type digits."}
    }


def test_a_narrow_error_is_caught_as_a_wide_one() -> None:
    """Whoever handles store errors handles a fingerprint error; whoever handles SittError handles all."""
    assert issubclass(FingerprintError, errors.StoreError)
    assert issubclass(InvalidInput, SittError)
    assert not issubclass(InvalidInput, ValueError)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("yeti", "'yeti'", id="text in quotes"),
        pytest.param(5, "5", id="number"),
        pytest.param("a\nb\x00", r"'a\nb\x00'", id="control characters escaped"),
        pytest.param("\ud800", r"'\ud800'", id="lone surrogate escaped"),
        pytest.param("a" * (MAX_SHOWN - 2), "'" + "a" * (MAX_SHOWN - 2) + "'", id="just fits"),
        pytest.param("a" * (MAX_SHOWN - 1), "'" + "a" * (MAX_SHOWN - 2) + "…", id="one too long"),
    ],
)
def test_shown(value: object, text: str) -> None:
    """A value is shown as its repr, cut with an ellipsis where it is too long."""
    assert shown(value) == text
    assert len(shown(value)) <= MAX_SHOWN
