"""How a document's canonical text grows block by block, with the sections that partition it and the hash over all that it says."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from sitt_core.text import sha256_text
from sitt_core.types import Block, BlockKind, Section, Source

Headings = tuple[tuple[int, str], ...]
"""The headings above a place, the outermost first, each with its level."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A canonical text with its sections, which partition it, and its blocks; `taken` counts the characters left out as invisible."""

    text: str
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    taken: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Writer:
    """A text as it grows, with where its blocks are and its sections begin; `path` are the headings above what is added next."""

    path: Headings = ()
    parts: list[str] = field(default_factory=list)
    length: int = 0
    blocks: list[Block] = field(default_factory=list)
    starts: list[tuple[int, Headings]] = field(default_factory=list)
    written: Headings | None = None

    def add(self, kind: BlockKind, text: str, *, gap: str = "\n\n") -> None:
        """Appends a block; a section begins with a heading, and where the text goes on in another one than before."""
        gap = gap if self.parts else ""
        start = self.length + len(gap)
        if kind == "heading" or self.written != self.path:
            self.starts.append((start if self.starts else 0, self.path))
            self.written = self.path
        self.parts += [gap, text]
        self.length = start + len(text)
        self.blocks.append(Block(kind, start, self.length))

    def heading(self, level: int, title: str) -> None:
        """Begins a section under those above of a smaller level."""
        self.descend(level, title)
        self.add("heading", f"{'#' * level} {title}")

    def descend(self, level: int, title: str) -> None:
        """Puts what comes under a heading without writing it."""
        self.path = _under(self.path, level, title)

    def outline(self, *, taken: Mapping[str, int] | None = None) -> Outline:
        """What has been written."""
        text = "".join(self.parts)
        return Outline(text, tuple(_sections(text, self.starts or [(0, ())])), tuple(self.blocks), taken or {})


def sections_at(text: str, headings: Sequence[tuple[int, int, str]]) -> Iterator[Section]:
    """From `(offset, level, heading)` in order: the lead, then each heading's reach to the next heading of any level."""
    starts: list[tuple[int, Headings]] = [] if headings and headings[0][0] == 0 else [(0, ())]
    path: Headings = ()
    for start, level, heading in headings:
        path = _under(path, level, heading)
        starts.append((start, path))
    return _sections(text, starts)


def _under(path: Headings, level: int, heading: str) -> Headings:
    return (*(above for above in path if above[0] < level), (level, heading))


def _sections(text: str, starts: Sequence[tuple[int, Headings]]) -> Iterator[Section]:
    """The sections that begin there, each up to the next; a heading without words is in no path."""
    ends = [*(start for start, _ in starts[1:]), len(text)]
    for (start, path), end in zip(starts, ends, strict=True):
        yield Section(tuple(words for _, words in path if words), path[-1][0] if path else 0, start, end)


def document_hash(title: str, source: Source, text: str, *facts: object) -> str:
    """SHA-256 over all that a document says: its title, attribution and text, and what else its source knows of it, as JSON."""
    return sha256_text(json.dumps([title, asdict(source), *facts, text], sort_keys=True))
