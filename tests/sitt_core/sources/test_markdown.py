"""A folder of Markdown becomes documents whose sections and blocks are exact slices of their text."""

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sitt_core.errors import SourceError
from sitt_core.sources import markdown
from sitt_core.sources.markdown import FIELD_GUIDE, MAX_BYTES, Attribution, outline, read_folder, read_markdown
from sitt_core.text import normalise
from sitt_core.types import Document, Source

SAMPLES = Path(__file__).parents[2] / "samples"
BOM = b"\xef\xbb\xbf"

LINES = [
    "# One",
    "### Three",
    "######",
    "Two",
    "===",
    "---",
    "",
    "",
    "a",
    "    # code",
    "```",
    "~~~~",
    "~~~",
    "- item",
    "  - nested",
    "  # in item",
    "1. first",
    "> # quoted",
    "> text",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "<div>",
    "</div>",
    "[r]: x",
    "***",
    "\t",
    "\xa0",
    "二酸化",
    "\x85x",
]
lines = st.sampled_from(LINES)
markdown_texts = (
    st.lists(lines | st.text(max_size=8), min_size=1, max_size=30).map("\n".join).map(normalise).filter(lambda text: bool(text.strip()))
)


def read(text: str | bytes, name: str = "lake.md") -> Document:
    return read_markdown(text.encode() if isinstance(text, str) else text, name=name)


def paths(document: Document) -> list[tuple[str, ...]]:
    return [section.heading_path for section in document.sections]


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def fields(document: Document) -> tuple[object, ...]:
    return (document.title, document.category, document.region, document.countries, document.aliases, document.see_also)


@given(markdown_texts)
@example("# T\na\n```py\nx=1\n## S\nb")
@example("> a\n- b\n\n  # c\n\n\n# d\n[r]: x\n")
@settings(max_examples=300, derandomize=True, deadline=None, database=None)
def test_sections_and_blocks_conserve_the_text(text: str) -> None:
    """Sections partition the text; blocks ascend, each in one section, and hold all of it but white space."""
    sections, parts = outline(text)
    assert [section.start for section in sections] == [0, *(section.end for section in sections[:-1])]
    assert sections[-1].end == len(text)
    assert all(before.end <= after.start for before, after in pairwise(parts))
    assert all(text[part.start : part.end].strip() for part in parts)
    assert all(any(section.start <= part.start and part.end <= section.end for section in sections) for part in parts)
    gaps = zip([0, *(part.end for part in parts)], [*(part.start for part in parts), len(text)], strict=True)
    assert not "".join(text[start:end] for start, end in gaps).strip()


def test_the_sample_document_reads_as_reviewed() -> None:
    """Sections and blocks of a whole document, as a person checked them."""
    document = read((SAMPLES / "lake.md").read_bytes())
    assert [(section.level, " › ".join(section.heading_path)) for section in document.sections] == [
        (0, ""),
        (2, "Accounts"),
        (3, "Accounts › Sightings by year"),
        (3, "Accounts › Hoaxes"),
        (2, "Traps and nets"),
    ]
    assert [(kind, text.split("\n")[0][:24], text.count("\n") + 1) for kind, text in blocks(document)] == [
        ("paragraph", "The Lake Example Serpent", 1),
        ("heading", "## Accounts", 1),
        ("heading", "### Sightings by year", 1),
        ("table", "| Year | Witness | Place", 7),
        ("paragraph", "The table leaves out hoa", 1),
        ("heading", "### Hoaxes", 1),
        ("paragraph", "In 1934 a log was painte", 1),
        ("item", "- The log is in the muse", 1),
        ("item", "- A second log", 3),
        ("quote", "> It was a very good log", 2),
        ("heading", "Traps and nets", 2),
        ("code", "~~~~text", 6),
        ("code", "    # nor this one", 1),
        ("html", '<div class="note">', 3),
        ("paragraph", "[museum]: https://exampl", 3),
        ("paragraph", "The end came in 1990.", 1),
    ]
    assert fields(document) == ("Lake Example Serpent", "aquatic", "Europe", ("Norway", "Sweden"), ("Serpent of the Example",), "")


@pytest.mark.parametrize(
    "data",
    [
        BOM + b"# Lake\ntext",
        BOM + b"# Lake\r\ntext",
        BOM + b"---\ncategory: aquatic\n---\n# Lake\ntext",
        BOM + b"---\r\ncategory: aquatic\r\n---\r\n\r\n# Lake\r\ntext\r\n",
        "---\ncategory: aquatic\n---\n# Lake\ntext".encode("utf-16"),
    ],
    ids=["bom", "bom-crlf", "bom-front-matter", "bom-front-matter-crlf", "utf-16"],
)
def test_a_byte_order_mark_hides_neither_heading_nor_front_matter(data: bytes) -> None:
    """W11: after a BOM, and with CRLF, the first heading is a heading and front matter is front matter."""
    document = read(data)
    assert (document.title, document.text, paths(document)) == ("Lake", "# Lake\ntext", [("Lake",)])
    assert document.category == ("aquatic" if b"aquatic" in data.replace(b"\x00", b"") else "")


@pytest.mark.parametrize(
    "text",
    [
        "# A\n~~~~\n# x\n```\n~~~~\n# B",
        "# A\n```py\n# x\n`````\n# B",
        "# A\n````\n```\n# x\n````\n# B",
        "# A\n  ```\n  # x\n  ```\n# B",
        "# A\n\n    # x\n\n# B",
        "# A\n- item\n\n  # x\n\n# B",
        "# A\n> # x\n\n# B",
    ],
    ids=["tildes", "longer-closer", "longer-opener", "indented-fence", "indented-code", "in-a-list", "in-a-quotation"],
)
def test_what_only_looks_like_a_heading_starts_no_section(text: str) -> None:
    """C3: a # inside fences of either kind, indented code, a list or a quotation is no section."""
    assert paths(read(text)) == [("A",), ("B",)]


def test_an_unterminated_fence_keeps_what_follows() -> None:
    """C1: everything after an unclosed fence is in its code block."""
    document = read("# T\na\n```py\nx=1\n## S\nb")
    assert blocks(document) == [("heading", "# T"), ("paragraph", "a"), ("code", "```py\nx=1\n## S\nb")]


def test_levels_may_skip_and_headings_lose_their_markup() -> None:
    """The heading path follows the levels that are there; its texts are plain, references resolved, empty ones left out."""
    document = read("## *A* `b` [c][r] ![d](x)\n\n#### E\\*\n\nF\ng\n---\n\n##\n\n# ~~H~~ <b>i</b> &amp;\n\n[r]: x")
    assert paths(document) == [("A b c d",), ("A b c d", "E*"), ("F g",), (), ("H i &",)]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n# One\n", "Front"),
        ("## Two\n\n# One\n", "One"),
        ("lead\n\n### Three\n\n## Two\n", "Three"),
        ("lead\n", "lake"),
        ("---\ntitle:\n---\nlead\n", "lake"),
    ],
    ids=["front-matter", "level-1", "any-heading", "file-name", "blank"],
)
def test_the_title_comes_from_the_best_place(text: str, title: str) -> None:
    """Front matter, else the first heading of level 1, else the first heading, else the file's name."""
    assert read(text, "deep/lake.md").title == title


def test_front_matter_is_kept_as_it_was_written() -> None:
    """Values are texts even where YAML sees numbers, dates or truth; a text where a list is meant is a list of one."""
    document = read(
        '---\ntitle: 0123\ncategory: No\nregion: [Asia]\ncountries: NO\naliases: [1933-05-02, 12:30, "", ~]\ntags: {a: [1]}\n---\nx'
    )
    assert fields(document) == ("0123", "No", "Asia", ("NO",), ("1933-05-02", "12:30"), "")


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\nonly a rule\n", "---\nonly a rule"),
        ("---\nprose between rules\n---\nmore", None),
        ('---\nA "quoted" start, *unbalanced: [\n---\nmore', None),
        ("---\n- a list\n---\nmore", None),
        (" ---\ntitle: x\n---\nmore", None),
        ("---\n# nothing\n---\n\nmore\n", "more"),
    ],
    ids=["unclosed", "prose", "prose-that-is-no-yaml", "list", "indented", "empty"],
)
def test_rules_that_enclose_no_mapping_are_text(text: str, body: str | None) -> None:
    """A leading --- without an end, or around something that is no mapping, stays in the text."""
    assert read(text).text == (text if body is None else body)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\ntitle: a: b\n---\nx", ["lake.md", "line 2", "quotes"]),
        ("---\ntitle: x\naliases: [a\n---\nx", ["lake.md", "line 4"]),
        (
            "---\ntitle: {a: b}\naliases: [[a], b]\ncategory: [a, b]\n---\nx",
            ["title: a mapping", "aliases: a list that", "category: a list where"],
        ),
        ("---\nurl: javascript:alert(1)\n---\nx", ["url: neither http(s)"]),
        ("---\ntitle: " + "[" * 5000 + "\n---\nx", ["lake.md"]),
        ("---\na: &a [x, x]\nb: &b [*a, *a]\naliases: [*b, *b]\n---\nx", ["aliases: a list that"]),
    ],
    ids=["colon", "unclosed-list", "wrong-types", "address", "deep", "references"],
)
def test_broken_front_matter_fails_by_name(text: str, words: list[str]) -> None:
    """The error names the file, every wrong key at once, and the line of a YAML fault."""
    with pytest.raises(SourceError) as caught:
        read(text)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b" \n\t\xc2\xa0\r\n", "only white space"),
        (b"---\ntitle: x\n---\n\n", "only front matter"),
        (b"a\x00b", "NUL"),
        (b"a" * (MAX_BYTES + 1), "5,000,001 bytes"),
    ],
    ids=["empty", "white-space", "front-matter", "nul", "huge"],
)
def test_what_cannot_be_a_document_fails_by_name(data: bytes, words: str) -> None:
    """E3: no blank document is made; the error says what came instead of a text, and in which file."""
    with pytest.raises(SourceError, match=words) as caught:
        read(data)
    assert "lake.md" in str(caught.value)


def test_attribution_is_the_folders_unless_front_matter_says_otherwise() -> None:
    """The field guide names itself, a user's folder does not; a document's own words win."""
    data = b"---\ntitle: Loch Ness Monster\n---\nx"
    guide = read_markdown(data, name="loch-ness-monster.md", attribution=FIELD_GUIDE)
    address = "data/field_guide/loch-ness-monster.md"
    assert guide.source == Source("SITT Lab field guide: Loch Ness Monster", address, "CC BY-SA 4.0")
    plain = read_markdown(data, name="a/b.md", attribution=Attribution(prefix="notes"))
    assert plain.source == Source("Loch Ness Monster", "notes/a/b.md", "not stated")
    own = read_markdown(b"---\nsource: Wiki\nurl: https://w.example/x\nlicense: MIT\n---\nx", name="b.md", attribution=FIELD_GUIDE)
    assert own.source == Source("Wiki: b", "https://w.example/x", "MIT")


def test_every_change_that_a_reader_could_see_changes_the_hash() -> None:
    """The hash covers front matter, attribution and text, but not how the bytes were written."""
    base = read("---\ntitle: A\naliases: [x, y]\n---\ntext")
    changed = [
        "---\ntitle: B\naliases: [x, y]\n---\ntext",
        "---\ntitle: A\naliases: [xy]\n---\ntext",
        "---\ntitle: A\naliases: [x, y]\n---\nTEXT",
    ]
    assert len({base.sha256, *(read(text).sha256 for text in changed)}) == 4
    assert read(BOM + b"---\r\naliases:\r\n- x\r\n- y\r\ntitle: A\r\n---\r\n\r\ntext\r\n").sha256 == base.sha256
    assert read_markdown(b"---\ntitle: A\naliases: [x, y]\n---\ntext", name="lake.md", attribution=FIELD_GUIDE).sha256 != base.sha256


def test_front_matter_of_many_spaces_is_read_at_once() -> None:
    """Whether broken front matter looks like keys is told in linear time: spaces were once tried in every combination."""
    assert "foo" in read("---\nfoo" + " " * 60_000 + '"@: [\n---\nbody').text
    with pytest.raises(SourceError, match="expected YAML"):
        read("---\nhow it was seen: [\n---\nbody")


def make(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_a_folder_is_read_recursively_and_in_order(tmp_path: Path) -> None:
    """Markdown of any depth and suffix, by relative path; hidden and other files are left out."""
    names = ["b.md", "a/z.markdown", "a/b/c.MDOWN", ".hidden.md", ".git/x.md", "a/.h/x.md", "a.txt", "md"]
    root = make(tmp_path / "notes", dict.fromkeys(names, "text"))
    listing = read_folder(root, origin="markdown:notes")
    assert [document.id for document in listing.documents] == ["a/b/c.MDOWN", "a/z.markdown", "b.md"]
    assert [document.source.url for document in listing.documents] == ["notes/a/b/c.MDOWN", "notes/a/z.markdown", "notes/b.md"]
    assert (listing.origin, listing.failures, listing.complete) == ("markdown:notes", (), True)
    assert {document.origin for document in listing.documents} == {"markdown:notes"}


def test_names_that_differ_in_case_or_unicode_form_are_two_documents(tmp_path: Path) -> None:
    """Ids are paths as they are: neither folded nor normalised."""
    names = {"Lake.md": "1", "lake.md": "2", "\u00e9.md": "3", "e\u0301.md": "4"}
    made = make(tmp_path, dict(names))
    if len(list(made.iterdir())) < len(names):
        pytest.skip("this file system folds names")
    assert {document.id for document in read_folder(made, origin="markdown:notes").documents} == set(names)


def test_files_that_fail_are_listed_beside_those_that_do_not(tmp_path: Path) -> None:
    """One bad file costs nobody else; each has its reason."""
    root = make(tmp_path, {"a.md": "text", "b.md": "", "c.md": b"\x00", "d.md": "---\na: b: c\n---\nx", "e.md": b"x" * (MAX_BYTES + 1)})
    os.mkfifo(root / "f.md")
    (root / "g.md").symlink_to(root / "g.md")
    listing = read_folder(root, origin="markdown:notes")
    assert [document.id for document in listing.documents] == ["a.md"]
    assert [failure.id for failure in listing.failures] == ["b.md", "c.md", "d.md", "e.md", "f.md", "g.md"]
    assert listing.complete
    assert not any(str(tmp_path) in failure.reason for failure in listing.failures)


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    """A symbolic link to a file inside counts; one to outside, or to a folder, does not."""
    make(tmp_path, {"secret.md": "secret", "out/x.md": "x"})
    root = make(tmp_path / "in", {"a.md": "a"})
    (root / "inside.md").symlink_to(root / "a.md")
    (root / "outside.md").symlink_to(tmp_path / "secret.md")
    (root / "folder").symlink_to(tmp_path / "out")
    (root / "loop").symlink_to(root)
    assert [document.id for document in read_folder(root, origin="markdown:notes").documents] == ["a.md", "inside.md"]


def test_an_unreadable_file_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is listed with the system's reason."""
    make(tmp_path, {"a.md": "text"})

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    (failure,) = read_folder(tmp_path, origin="markdown:notes").failures
    assert failure.id == "a.md"
    assert "Permission denied" in failure.reason


def test_an_unlistable_folder_makes_the_listing_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may still be there is not taken for removed."""
    make(tmp_path, {"a.md": "text", "locked/b.md": "text"})
    scan = os.scandir

    def refuse(place: str) -> object:
        if str(place).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", refuse)
    listing = read_folder(tmp_path, origin="markdown:notes")
    assert [document.id for document in listing.documents] == ["a.md"]
    assert [failure.id for failure in listing.failures] == ["locked"]
    assert (listing.complete, listing.why_incomplete) == (False, "the folder locked could not be listed")


@pytest.mark.parametrize(
    ("place", "words"),
    [("none", "does not exist"), ("file.md", "is a file"), ("empty", "none in"), ("x" * 300, "cannot be opened")],
)
def test_no_folder_of_markdown_is_a_named_error(tmp_path: Path, place: str, words: str) -> None:
    """A path that is no folder, or holds no Markdown, says what was expected, what came and what to do."""
    make(tmp_path, {"file.md": "text", "empty/a.txt": "text"})
    with pytest.raises(SourceError, match=words):
        read_folder(tmp_path / place, origin="markdown:notes")


def test_a_file_that_has_not_changed_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the stored documents at hand only new, changed and moved files are parsed; the others are the stored documents."""
    folder = make(tmp_path / "notes", {"a.md": "# A\n\nOne.", "b.md": "# B\n\nTwo.", "c/d.md": "# D\n\nThree."})
    before = read_folder(folder, origin="markdown:notes")
    stored = [replace(document, fetched_at="2026-11-30") for document in before.documents]
    make(folder, {"b.md": "# B\n\nTwo, changed.", "e.md": "# E\n\nFour."})
    parsed: list[str] = []

    def counting(data: bytes, **options: Any) -> Document:
        parsed.append(options["name"])
        return read_markdown(data, **options)

    monkeypatch.setattr(markdown, "read_markdown", counting)
    after = read_folder(folder, origin="markdown:notes", stored=stored)
    assert parsed == ["b.md", "e.md"]
    assert [document.fetched_at for document in after.documents] == ["2026-11-30", "", "2026-11-30", ""]
    assert after.documents[0] is stored[0]
    parsed.clear()
    read_folder(folder, origin="markdown:notes", attribution=FIELD_GUIDE, stored=stored)
    read_folder(folder, origin="markdown:other", stored=stored)
    assert len(parsed) == 8
