"""The fields of each kind of source become what `update --source` takes, and a stored place is told in words."""

from pathlib import Path

import pytest

from sitt_core.build import check_source
from sitt_core.errors import InvalidInput
from sitt_core.settings import Settings, SourceSettings
from sitt_core.surfaces import source_forms
from sitt_core.surfaces.source_forms import KINDS, Values, describe, missing, says, spec_of

NOBODY = Settings(Path("data"))
SOMEBODY = Settings(Path("data"), sources=SourceSettings(contact="me@example.org"))

SPECS: tuple[tuple[str, Values, str], ...] = (
    ("field-guide", {}, "field-guide"),
    ("markdown", {"folder": " ~/notes "}, "markdown:~/notes"),
    (
        "markdown",
        {"folder": "/n", "include": "a/*.md, b&c.md", "exclude": "drafts/*"},
        "markdown:/n?include=a/*.md,b%26c.md&exclude=drafts/*",
    ),
    ("wikipedia-list", {}, "wikipedia:list=List of cryptids"),
    ("wikipedia-list", {"list": "List of lakes", "format": "plain text"}, "wikipedia:list=List of lakes&format=extract"),
    ("wikipedia-titles", {"titles": "Yeti\n\n Loch Ness Monster \n"}, "wikipedia:titles=Yeti|Loch Ness Monster"),
    ("sitemap", {"url": "https://example.org/"}, "sitemap:https://example.org/"),
    (
        "sitemap",
        {"url": "https://example.org/s.xml#top", "hosts": "docs.example.org, a.example.org", "limit": 50},
        "sitemap:https://example.org/s.xml#hosts=docs.example.org,a.example.org&limit=50",
    ),
    ("github", {"user": "octocat"}, "github:octocat"),
    ("github", {"user": "octocat", "forks": True, "archived": True}, "github:octocat?forks=yes&archived=yes"),
    ("beir", {"folder": "~/scifact"}, "beir:~/scifact"),
)


@pytest.mark.parametrize(("kind", "values", "spec"), SPECS, ids=[f"{kind}-{at}" for at, (kind, _, _) in enumerate(SPECS)])
def test_fields_become_a_source_that_reads_as_such(kind: str, values: Values, spec: str) -> None:
    """In the spelling of the command line; what stands for a place on the network is one that its source takes."""
    assert spec_of(kind, values) == spec
    if kind not in ("markdown", "beir"):
        check_source(spec, SOMEBODY)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if any(field.placeholder or field.default for field in kind.fields)])
def test_an_empty_field_is_named_with_an_example(kind: str) -> None:
    """Nothing, or blanks, where a place has to be."""
    first = KINDS[kind].fields[0]
    with pytest.raises(InvalidInput, match=rf"{first.label} to be filled in.*For example \S"):
        spec_of(kind, {first.name: "  "})


@pytest.mark.parametrize("title", ["A|B", "A&format=html"])
def test_a_title_that_would_be_read_as_something_else_is_refused(title: str) -> None:
    """Two titles in one line, or an option."""
    with pytest.raises(InvalidInput, match="exact title"):
        spec_of("wikipedia-titles", {"titles": f"Yeti\n{title}"})


class TestCheckSource:
    """`build.check_source` says what is wrong before anything is read."""

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ("sitemap:nowhere", "the address of a sitemap"),
            ("sitemap:https://example.org/#limit=0", "limit to be a whole number"),
            ("github:a b", "the name of a GitHub account"),
            ("wikipedia:titles=", "titles=A"),
            ("markdown:/no/such/folder", "the path of a folder"),
            ("beir:/no/such/folder", "the path of a folder"),
            ("gopher:x", "a source: field-guide"),
            ("markdown:", "a source: field-guide"),
        ],
    )
    def test_a_source_that_cannot_be_is_named(self, spec: str, said: str) -> None:
        """By what was expected of it."""
        with pytest.raises(InvalidInput, match=said):
            check_source(spec, SOMEBODY)

    def test_wikipedia_is_not_named_without_a_contact(self) -> None:
        """The contact is what is missing, and where it goes."""
        with pytest.raises(InvalidInput, match="SITT_CONTACT"):
            check_source("wikipedia:", NOBODY)
        check_source("wikipedia:", SOMEBODY)

    def test_a_folder_has_to_hold_a_file_that_can_be_read(self, tmp_path: Path) -> None:
        """Anywhere below it; one that is too large to look through is taken at its word."""
        with pytest.raises(InvalidInput, match="a Markdown file in it"):
            check_source(f"markdown:{tmp_path}", NOBODY)
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "note.MD").touch()
        check_source(f"markdown:{tmp_path}", NOBODY)
        check_source(f"markdown:{tmp_path}?include=deep/*", NOBODY)
        with pytest.raises(InvalidInput, match=r"corpus\.jsonl in it"):
            check_source(f"beir:{tmp_path}", NOBODY)


@pytest.mark.parametrize(
    ("place", "kind", "name"),
    [
        ("field-guide", "field guide", "the bundled field guide"),
        ("markdown:/n/what?/notes", "folder", "/n/what?/notes"),
        ("markdown:/n?include=a/*.md,b%26c.md&exclude=x", "folder", "/n, only a/*.md, b&c.md, without x"),
        ("wikipedia:list=List of cryptids", "Wikipedia list", "List of cryptids"),
        ("wikipedia:", "Wikipedia list", "List of cryptids"),
        ("wikipedia:titles=A|B|C|D|E&format=extract", "Wikipedia titles", "A, B, C and 2 more, as plain text"),
        ("sitemap:https://e.org/s.xml?a=b#limit=50&hosts=x.org", "website", "https://e.org/s.xml?a=b, at most 50 pages, also x.org"),
        ("github:octocat?forks=yes", "GitHub", "octocat, with forks"),
        ("beir:/data/scifact", "BEIR", "/data/scifact"),
        ("gopher:x", "other", "gopher:x"),
    ],
)
def test_a_stored_place_is_told_in_words(place: str, kind: str, name: str) -> None:
    """Its kind in short, and what it is, options in words."""
    assert describe(place) == source_forms.Described(kind, name)


def test_what_a_source_asks_of_the_network_is_said_for_every_kind() -> None:
    """The pace of the settings, the limit that applies, and that robots.txt is obeyed; no value of a key or a contact."""
    with_token = Settings(Path("data"), keys_present=frozenset({"GITHUB_TOKEN"}), sources=SourceSettings("me@example.org", interval=0))
    assert all(says(kind, settings) for kind in KINDS for settings in (NOBODY, SOMEBODY, with_token))
    assert "at most one every 1 s: 100 articles take about 100 s" in says("wikipedia-list", SOMEBODY)
    assert "about" not in says("wikipedia-list", with_token)
    assert "robots.txt" in says("sitemap", NOBODY)
    assert "is not set: 60 requests" in says("github", NOBODY)
    assert "is set: 5,000 requests" in says("github", with_token)
    assert not any("me@example.org" in says(kind, SOMEBODY) for kind in KINDS)


def test_wikipedia_alone_needs_something_to_be_set() -> None:
    """SITT_CONTACT, until it is there."""
    assert [kind for kind in KINDS if missing(kind, NOBODY)] == ["wikipedia-list", "wikipedia-titles"]
    assert "SITT_CONTACT" in missing("wikipedia-list", NOBODY)
    assert not any(missing(kind, SOMEBODY) for kind in KINDS)


@pytest.mark.parametrize(("kind", "field"), [("wikipedia-list", "list"), ("wikipedia-titles", "titles")])
def test_a_title_longer_than_any_can_be_is_refused_before_anybody_is_asked(kind: str, field: str) -> None:
    """255 bytes are the most that a wiki keeps; what is said of it is short."""
    assert spec_of(kind, {field: "ö" * 127}).endswith("ö")
    with pytest.raises(InvalidInput) as refused:
        spec_of(kind, {field: "ö" * 128})
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("kind", ["markdown", "beir"])
def test_a_path_longer_than_any_can_be_is_refused_by_name(kind: str) -> None:
    """Where the system itself refuses to look."""
    with pytest.raises(InvalidInput) as refused:
        source_forms.check_spec(spec_of(kind, {"folder": "q" * 10_000}), NOBODY)
    assert "name too long" in refused.value.got and len(str(refused.value)) < 400
