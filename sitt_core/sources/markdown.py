"""How a folder of Markdown becomes documents: front matter, then sections and blocks with exact offsets."""

import functools
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sitt_core.errors import SourceError, shown
from sitt_core.sources.outline import document_hash, sections_at
from sitt_core.text import decode, normalise
from sitt_core.types import Block, BlockKind, Document, Failure, Listing, Section, Source

VERSION = 2
"""Raised when the same file would become another document, with other sections or blocks."""
SUFFIXES = (".md", ".markdown", ".mdown")
MAX_BYTES = 5_000_000
MAX_FRONT_MATTER = 65_536
PATTERNS = {"include": "patterns of the paths to read", "exclude": "patterns of those to leave out"}
"""The options of a folder."""
TEXT_KEYS = ("title", "category", "region", "see_also", "url", "license", "source")
LIST_KEYS = ("countries", "aliases")

_FRONT_MATTER = re.compile(rf"---[ \t]*\n(.{{0,{MAX_FRONT_MATTER}}}?)^(?:---|\.\.\.)[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_LOOKS_LIKE_KEYS = re.compile(r"""\s*(?:#.*\n\s*)*["']?\w[\w-]*(?: +[\w-]+)*["']?[ \t]*:(?:\s|$)""")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")
_SOLID_LINE = re.compile(r"^[^\S\n]*\S", re.MULTILINE)
_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "list_item_open": "item",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
}
_HEADING_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a folder's documents say about their origin unless their front matter says otherwise.

    A source's title is "name: title" (the title alone without a name); its address is "prefix/document id".
    """

    name: str = ""
    license: str = "not stated"
    prefix: str = ""


FIELD_GUIDE = Attribution(name="SITT Lab field guide", license="CC BY-SA 4.0", prefix="data/field_guide")
NOT_STATED = Attribution()


@dataclass(frozen=True, slots=True)
class _FrontMatter:
    """The recognised keys, each with its value; a key that is absent or empty is not in them."""

    texts: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_folder(
    folder: Path,
    *,
    origin: str,
    attribution: Attribution | None = None,
    stored: Iterable[Document] = (),
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Listing:
    """Every Markdown file below `folder` as a document, by relative path; a file that cannot be one is a failure with its reason.

    A file whose bytes are those that a `stored` document of this origin was read from is that document: nothing is parsed. `origin` is how the corpus names this source. Hidden files and folders are left out, and so is what a symbolic link
    takes from outside. Of the relative paths those count that match a pattern of `include` (when there is one) and none of
    `exclude`; `*` in a pattern stands for anything, slashes too. Without an attribution addresses begin with the folder's own name. Raises SourceError for what is
    no folder or holds no Markdown.
    """
    root = _folder(folder)
    files, failures = _files(root)
    unlisted = [failure.id for failure in failures]
    complete = not unlisted
    if complete and not files:
        raise SourceError(
            expected=f"a folder with Markdown files ({', '.join(SUFFIXES)})",
            got=f"none in {shown(str(folder))}",
            remedy="Choose the folder that holds the texts, or rename them.",
        )
    found = len(files)
    files = [file for file in files if _is_wanted(file.relative_to(root).as_posix(), include, exclude)]
    if complete and not files:
        raise SourceError(
            expected=f"at least one of the {found:,} Markdown files to pass the patterns",
            got=f"none: include {', '.join(include) or 'all'}; exclude {', '.join(exclude) or 'none'}",
            remedy="Correct the patterns: they are compared with the path in the folder, such as notes/lake.md.",
        )
    known = {document.id: document for document in stored if document.origin == origin}
    attribution = attribution or Attribution(prefix=root.name)
    documents = []
    for file in files:
        name = file.relative_to(root).as_posix()
        try:
            data = _bytes(file, name)
            old = known.get(name)
            if old is not None and old.revision == _revision(data, name, attribution):
                documents.append(old)
            else:
                documents.append(read_markdown(data, name=name, origin=origin, attribution=attribution))
        except SourceError as error:
            failures.append(Failure(_printable(name), str(error)))
    why = f"the folder {unlisted[0]} could not be listed" if unlisted else ""
    return Listing(origin, tuple(documents), tuple(failures), complete, why_incomplete=why)


def _folder(folder: Path) -> Path:
    try:
        if folder.is_dir():
            return folder.resolve()
        problem = "which is a file" if folder.exists() else "which does not exist"
    except OSError as error:
        problem = f"which cannot be opened: {error.strerror}"
    raise SourceError(
        expected="a folder of Markdown files",
        got=f"{shown(str(folder))}, {problem}",
        remedy="Check the path; give the folder, not a file in it.",
    )


def _files(root: Path) -> tuple[list[Path], list[Failure]]:
    """The Markdown files below `root` in order of their relative path, and the folders that could not be listed."""
    found: list[Path] = []
    unlisted: list[Failure] = []

    def note(error: OSError) -> None:
        place = Path(os.fsdecode(error.filename)).relative_to(root).as_posix()
        unlisted.append(Failure(_printable(place), f"the folder cannot be listed: {error.strerror}"))

    for place, folders, names in os.walk(root, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(place, name)
            # realpath, since Path.resolve raises for a link to itself.
            if name.lower().endswith(SUFFIXES) and not name.startswith(".") and Path(os.path.realpath(file)).is_relative_to(root):
                found.append(file)
    return sorted(found, key=lambda file: file.relative_to(root).as_posix()), unlisted


def _is_wanted(name: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    included = not include or any(fnmatchcase(name, pattern) for pattern in include)
    return included and not any(fnmatchcase(name, pattern) for pattern in exclude)


def _bytes(file: Path, name: str) -> bytes:
    """The file's content; SourceError for a file that cannot be, or should not be, read."""
    if _printable(name) != name:
        raise SourceError(expected="a file name in valid Unicode", got=shown(_printable(name)), remedy="Rename the file.")
    try:
        state = file.stat()
        if not stat.S_ISREG(state.st_mode):
            raise SourceError(expected="a regular file", got=f"something else under the name {name}", remedy="Leave it out of the folder.")
        if state.st_size > MAX_BYTES:
            raise SourceError(
                expected=f"a file of at most {MAX_BYTES:,} bytes", got=f"{state.st_size:,} bytes in {name}", remedy="Split the file."
            )
        return file.read_bytes()
    except OSError as error:
        raise SourceError(
            expected="a readable file", got=f"{name}: {error.strerror}", remedy="Check the file and its permissions."
        ) from None


def _revision(data: bytes, name: str, attribution: Attribution) -> str:
    """Names all that a document is made from: its file's bytes, its place, its attribution and this version of the reader."""
    made_from = hashlib.sha256(repr((VERSION, name, attribution)).encode())
    made_from.update(data)
    return made_from.hexdigest()[:16]


def _printable(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def read_markdown(data: bytes, *, name: str, origin: str = "", attribution: Attribution = NOT_STATED) -> Document:
    """One file as a document; its id is `name`, the relative path.

    Raises SourceError, always naming the file, when it is no text, its front matter is broken, or there is nothing to read.
    """
    if len(data) > MAX_BYTES:
        raise SourceError(expected=f"at most {MAX_BYTES:,} bytes", got=f"{len(data):,} bytes in {name}", remedy="Split the file.")
    whole = normalise(decode(data, name=name))
    front, body = _split_front_matter(whole, name=name)
    text = _without_blank_lines(body).rstrip()
    if not text:
        came = "only front matter" if whole.strip() else "only white space" if whole else "an empty file"
        raise SourceError(expected="a text", got=f"{came} in {name}", remedy="Write something in it, or leave it out of the folder.")
    sections, blocks = outline(text)
    title = front.texts.get("title") or _first_title(sections) or PurePosixPath(name).stem
    about = {key: front.texts.get(key, "") for key in ("category", "region", "see_also")}
    countries, aliases = (front.lists.get(key, ()) for key in LIST_KEYS)
    source = _source(front, title, name=name, attribution=attribution)
    return Document(
        id=name,
        title=title,
        source=source,
        text=text,
        sections=sections,
        blocks=blocks,
        sha256=document_hash(title, source, text, about, countries, aliases),
        revision=_revision(data, name, attribution),
        countries=countries,
        aliases=aliases,
        origin=origin,
        **about,
    )


def body_of(text: str, *, name: str) -> str:
    """A Markdown text without its front matter and the blank lines at its beginning; raises SourceError for front matter that is broken."""
    return _without_blank_lines(_split_front_matter(text, name=name)[1])


def _without_blank_lines(body: str) -> str:
    blank = _BLANK_LINES.match(body)
    return body[blank.end() if blank else 0 :]


def _source(front: _FrontMatter, title: str, *, name: str, attribution: Attribution) -> Source:
    origin = front.texts.get("source") or attribution.name
    return Source(
        title=f"{origin}: {title}" if origin else title,
        url=front.texts.get("url") or f"{attribution.prefix}/{name}".removeprefix("/"),
        license=front.texts.get("license") or attribution.license,
    )


def _first_title(sections: Sequence[Section]) -> str:
    """The first heading of level 1, else the first heading, else nothing."""
    headed = sorted((section for section in sections if section.heading_path), key=lambda section: section.level != 1)
    return headed[0].heading_path[-1] if headed else ""


def _split_front_matter(text: str, *, name: str) -> tuple[_FrontMatter, str]:
    """The front matter and the body. Two thematic breaks around something that is no mapping are body."""
    found = _FRONT_MATTER.match(text)
    if not found:
        return _FrontMatter(), text
    try:
        # BaseLoader constructs strings, lists and mappings only, and keeps `1984`, `No` and `12:30` as they were written.
        loaded = yaml.load(found[1], Loader=yaml.BaseLoader)  # noqa: S506 safer than SafeLoader: strings only
    except (yaml.YAMLError, RecursionError) as error:
        if not _LOOKS_LIKE_KEYS.match(found[1]):
            return _FrontMatter(), text
        raise SourceError(
            expected=f"YAML between the two lines of --- in {name}",
            got=_fault(error),
            remedy="Correct it; a value with a colon, a hash sign or a quotation mark needs quotes.",
        ) from None
    if isinstance(loaded, dict):
        return _recognised(loaded, name=name), text[found.end() :]
    return (_FrontMatter(), text) if loaded else (_FrontMatter(), text[found.end() :])


def _fault(error: Exception) -> str:
    """What the YAML parser says, with the line in the file (the opening --- is line 1)."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"{error.problem} in line {error.problem_mark.line + 2}"
    return " ".join(str(error).split()) or type(error).__name__


def _recognised(loaded: Mapping[object, object], *, name: str) -> _FrontMatter:
    """The keys we know; SourceError that lists every wrong value at once."""
    texts: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for key, value in loaded.items():
        try:
            if key in TEXT_KEYS:
                texts[str(key)] = _one(_strings(value))
            elif key in LIST_KEYS:
                lists[str(key)] = _strings(value)
        except ValueError as error:
            problems.append(f"{key}: {error}")
    if not _is_address(texts.get("url", "")):
        problems.append("url: neither http(s) nor a relative path")
    if problems:
        raise SourceError(
            expected=f"front matter of texts ({', '.join(TEXT_KEYS)}) and lists of texts ({', '.join(LIST_KEYS)})",
            got=f"{'; '.join(problems)} in {name}",
            remedy="Correct these keys.",
        )
    return _FrontMatter(texts, lists)


def _strings(value: object) -> tuple[str, ...]:
    """A text as a list of one, a list of texts as it is; blanks left out. Raises ValueError for anything nested."""
    values = value if isinstance(value, list) else [value]
    texts = [item for item in values if isinstance(item, str)]
    if len(texts) < len(values):
        raise ValueError("a list that holds more than texts" if isinstance(value, list) else "a mapping")
    cleaned = (" ".join(normalise(item).split()) for item in texts)
    return tuple(item for item in cleaned if item not in ("", "~", "null"))


def _one(values: tuple[str, ...]) -> str:
    if len(values) > 1:
        raise ValueError("a list where one text is meant")
    return values[0] if values else ""


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("", "http", "https")
    except ValueError:
        return False


@functools.cache
def _block_parser() -> MarkdownIt:
    # Inline markup is parsed for headings alone: nothing else needs it, and it is the slow part.
    return MarkdownIt("commonmark").enable("table").disable("inline")


@functools.cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def outline(text: str) -> tuple[tuple[Section, ...], tuple[Block, ...]]:
    """The sections of a Markdown text, which partition it, and its blocks, in order, apart, each inside one section."""
    references: dict[str, object] = {}
    tokens = _block_parser().parse(text, references)
    # Not splitlines(): the parser's lines end at \n alone.
    lines = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    headings = [
        (lines[token.map[0]], int(token.tag[1:]), _plain(content.content, references))
        for token, content in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    return tuple(sections_at(text, headings)), tuple(_with_gaps(text, list(_blocks(text, tokens, lines))))


def _blocks(text: str, tokens: Sequence[Token], lines: Sequence[int]) -> Iterator[Block]:
    """The blocks at the top level, and each item of a list at the top level."""
    for token in tokens:
        kind = _KINDS.get(token.type)
        if kind and token.map and token.level == (kind == "item"):
            start, end = (lines[line] for line in token.map)
            length = len(text[start:end].rstrip())
            if length:
                yield Block(kind, start, start + length)


def _with_gaps(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, with what the parser gives no block (rules, link definitions) as paragraphs between them."""
    before = 0
    for block in [*blocks, None]:
        start = block.start if block else len(text)
        gap = _SOLID_LINE.search(text, before, start)
        if gap:
            yield Block("paragraph", gap.start(), gap.start() + len(text[gap.start() : start].rstrip()))
        if block:
            yield block
            before = block.end


def _plain(markdown: str, references: dict[str, object]) -> str:
    """A heading's text without its inline markup, on one line."""
    (inline,) = _inline_parser().parseInline(markdown[:_HEADING_LIMIT], references)
    return " ".join("".join(_words(inline.children or [])).split())


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _words(token.children or [])
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type != "html_inline":
            yield token.content
