"""The bundled field guide is one book: every entry obeys docs/field-guide-style.md."""

import csv
import re
import unicodedata
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ENTRIES = sorted((ROOT / "data" / "field_guide").glob("*.md"))
KEYS = ["title", "category", "region", "countries", "aliases", "see_also"]
CATEGORIES = {"aquatic", "terrestrial", "winged"}
REGIONS = {"Africa", "Asia", "Europe", "North America", "South America", "Oceania", "Oceans", "Worldwide"}
LONG = {"bigfoot", "jersey-devil", "loch-ness-monster", "mothman", "thylacine", "yeti"}
STANDARD_ORDER = ["Description", "Accounts", "Explanations", "In culture"]


def read(path: Path) -> tuple[dict[str, object], str]:
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), body


def words(body: str) -> int:
    return len(re.findall(r"\w[\w'’-]*", body))


def slug(title: str) -> str:
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    ascii_title = re.sub(r"\(.*?\)", "", ascii_title).replace("'", "")
    return re.sub(r"[^a-z0-9]+", "-", ascii_title).strip("-")


def names(path: Path) -> set[str]:
    front, _ = read(path)
    return {str(front["title"]).casefold(), *(str(a).casefold() for a in front["aliases"])}  # type: ignore[attr-defined]


def test_the_guide_has_at_least_eighty_entries() -> None:
    """The corpus is large enough for retrieval to be a problem."""
    assert len(ENTRIES) >= 80


@pytest.mark.parametrize("path", ENTRIES, ids=lambda p: p.stem)
def test_front_matter_is_complete_and_valid(path: Path) -> None:
    """Every entry has the six keys in order, with allowed values, and a file name made from its title."""
    front, _ = read(path)
    assert list(front) == KEYS
    assert front["category"] in CATEGORIES
    assert front["region"] in REGIONS
    countries, aliases = front["countries"], front["aliases"]
    assert isinstance(countries, list) and all(isinstance(c, str) and c for c in countries)
    assert countries or front["region"] in {"Oceans", "Worldwide"}
    assert isinstance(aliases, list) and all(isinstance(a, str) and a for a in aliases)
    assert isinstance(front["see_also"], str) and front["see_also"]
    folded = [a.casefold() for a in aliases]
    assert len(set(folded)) == len(folded) and str(front["title"]).casefold() not in folded
    assert path.stem == slug(str(front["title"]))


@pytest.mark.parametrize("path", ENTRIES, ids=lambda p: p.stem)
def test_the_body_keeps_to_the_style_sheet(path: Path) -> None:
    """Length, headings, paragraph form and the mark-up an entry may use."""
    _, body = read(path)
    raw = path.read_text(encoding="utf-8")
    least, most = (1800, 2600) if path.stem in LONG else (150, 900)
    assert least <= words(body) <= most, f"{words(body)} words"
    headings = re.findall(r"^(#+) (.+)$", body, flags=re.M)
    assert not body.lstrip().startswith("#") and all(len(marks) in (2, 3) for marks, _ in headings)
    assert len(headings) >= (8 if path.stem in LONG else 2)
    standard = [name for _, name in headings if name in STANDARD_ORDER]
    assert standard == [name for name in STANDARD_ORDER if name in standard]
    assert len({name for _, name in headings}) == len(headings)
    assert "\r" not in raw and raw.endswith("\n") and not raw.endswith("\n\n")
    assert not re.search(r"[ \t]$", raw, flags=re.M) and "\n\n\n" not in raw
    assert not re.search(r"\]\(|https?://|!\[|<[a-zA-Z/]|\*\*|\[\^", body)
    assert not re.search(r"^#+ .+\n\n*(?=#+ |\Z)(?!###)", body, flags=re.M), "an empty section"


@pytest.mark.parametrize("path", ENTRIES, ids=lambda p: p.stem)
def test_the_sources_list_names_the_entry(path: Path) -> None:
    """Facts were checked: the ledger holds at least two references for each entry."""
    with (ROOT / "docs" / "field-guide-sources.csv").open(encoding="utf-8", newline="") as ledger:
        rows = [row for row in csv.DictReader(ledger) if row["entry"] == path.stem]
    assert len(rows) >= 2 and all(row["claim"].strip() and row["reference"].strip() for row in rows)


def test_no_name_collides_silently() -> None:
    """A name that two entries share is fine only where each of the two tells the reader about the other."""
    owners: dict[str, list[Path]] = defaultdict(list)
    for path in ENTRIES:
        for name in names(path):
            owners[name].append(path)
    silent = []
    for name, paths in owners.items():
        for path in paths:
            _, body = read(path)
            others = [str(read(other)[0]["title"]).split(" (")[0] for other in paths if other != path]
            silent += [(name, path.stem, other) for other in others if other.casefold() not in body.casefold()]
    assert not silent


def test_no_paragraph_is_used_twice() -> None:
    """Every paragraph is written for its entry."""
    seen: dict[str, str] = {}
    for path in ENTRIES:
        for paragraph in read(path)[1].split("\n\n"):
            if len(paragraph) > 80:
                assert seen.setdefault(paragraph, path.stem) == path.stem
    assert len(seen) > 3 * len(ENTRIES)
