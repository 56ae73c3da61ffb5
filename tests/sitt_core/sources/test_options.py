"""Options after a source's place: one spelling, every wrong one named."""

from pathlib import Path

import pytest

from sitt_core.build import read_source
from sitt_core.errors import InvalidInput, SourceError
from sitt_core.sources.options import parse_options, split_options, switch, whole_number, written

KNOWN = {"include": "patterns", "exclude": "patterns", "forks": "yes", "limit": "a number"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("include=*.md", {"include": ("*.md",)}),
        ("include=a,b&include=c&exclude=", {"include": ("a", "b", "c"), "exclude": ()}),
        ("include=a%2Cb%26c , d", {"include": ("a,b&c", "d")}),
    ],
)
def test_options_are_parsed_and_written_back(text: str, options: dict[str, tuple[str, ...]]) -> None:
    """A comma or the option again gives more values; what is written is parsed to the same."""
    found = parse_options(text, of="x", known=KNOWN)
    assert found == options
    kept = {name: values for name, values in options.items() if values}
    assert parse_options(written(found).removeprefix("?"), of="x", known=KNOWN) == kept


def test_unknown_options_are_all_named() -> None:
    """With those that there are."""
    with pytest.raises(InvalidInput, match=r"include=patterns.*'stars', 'x'"):
        parse_options("stars=1&forks=yes&x", of="x", known=KNOWN)


@pytest.mark.parametrize(("value", "on"), [("yes", True), ("TRUE", True), ("no", False), ("", False), ("perhaps", None)])
def test_switches(value: str, on: bool | None) -> None:
    """Yes or no, and nothing else."""
    options = parse_options(f"forks={value}", of="x", known=KNOWN)
    if on is None:
        with pytest.raises(InvalidInput):
            switch(options, "forks")
    else:
        assert switch(options, "forks") is on


@pytest.mark.parametrize(("value", "number"), [("5", 5), ("0", None), ("11", None), ("x", None), ("1e1", None)])
def test_numbers(value: str, number: int | None) -> None:
    """Whole ones, within their bounds."""
    options = parse_options(f"limit={value}", of="x", known=KNOWN)
    if number is None:
        with pytest.raises(InvalidInput, match="from 1 to 10"):
            whole_number(options, "limit", default=3, most=10)
    else:
        assert whole_number(options, "limit", default=3, most=10) == number


def test_a_question_mark_may_be_part_of_the_place() -> None:
    """Options begin where one is named."""
    assert split_options("/why?/notes?x=1?include=a?.md", known=KNOWN) == ("/why?/notes?x=1", "include=a?.md")
    assert split_options("/why?/notes", known=KNOWN) == ("/why?/notes", "")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of three notes, one of them a draft."""
    folder = tmp_path / "notes"
    (folder / "drafts").mkdir(parents=True)
    for name in ("lake.md", "moor.markdown", "drafts/sky.md"):
        (folder / name).write_text(f"# {name}\n\nText.")
    return folder


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("", ["drafts/sky.md", "lake.md", "moor.markdown"]),
        ("?include=*.md", ["drafts/sky.md", "lake.md"]),
        ("?include=*.md&exclude=drafts/*", ["lake.md"]),
        ("?exclude=drafts/*,la?e.md", ["moor.markdown"]),
        ("?include=[lm]*", ["lake.md", "moor.markdown"]),
    ],
)
def test_patterns_choose_files_of_a_folder(notes: Path, options: str, names: list[str]) -> None:
    """By their path in the folder; the place to read from again has the patterns in it."""
    listing, place = read_source(f"markdown:{notes}{options}")
    assert [document.id for document in listing.documents] == names
    assert (listing.origin, place) == ("markdown:notes", f"markdown:{notes}{options}")
    assert read_source(place)[0] == listing


def test_patterns_that_leave_nothing_are_an_error(notes: Path) -> None:
    """So that a slip retires no corpus."""
    with pytest.raises(SourceError, match=r"3 Markdown files.*\*\.txt"):
        read_source(f"markdown:{notes}?include=*.txt")


def test_a_folder_whose_name_looks_like_options_is_a_folder(tmp_path: Path) -> None:
    """What is there as it stands is taken so."""
    folder = tmp_path / "notes?include=x"
    folder.mkdir()
    (folder / "lake.md").write_text("# Lake\n\nText.")
    assert [document.id for document in read_source(f"markdown:{folder}")[0].documents] == ["lake.md"]
