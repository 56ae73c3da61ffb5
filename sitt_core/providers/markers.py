"""The marks `[[1: "words of source 1"]]` by which a model without citations of its own says what a sentence rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import regex

from sitt_core.types import CitationPart, TextPart

LONGEST = 4000
"""The longest mark in characters; what is longer is text."""

_HEAD = regex.compile(r"\[\[\s{0,3}(\d{1,4})\s{0,3}(:\s{0,20}|\]\])")
_NEXT = regex.compile(r"\[\[\s{0,3}\d")
_END = regex.compile(r"\]\]")
_DOUBLE, _SINGLE = '"“”„‟«»', "'‘’‚‛"
_CLOSED = {
    **dict.fromkeys(_DOUBLE, regex.compile(rf"(?<!\\)[{_DOUBLE}]\s{{0,3}}\]\]")),
    **dict.fromkeys(_SINGLE, regex.compile(rf"(?<!\\)[{_SINGLE}]\s{{0,3}}\]\]")),
}
_ESCAPED = regex.compile(rf"\\([{_DOUBLE}{_SINGLE}])")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark that begins at 0 and ends before `end`."""

    end: int
    number: int
    quote: str


def read_mark(text: str, *, whole: bool) -> Mark | Literal["no", "more"]:
    """The mark that `text` begins with; "more" where that depends on what follows. `whole`: nothing follows.

    What is decided on a text is decided the same on every text that begins with it.
    """
    window, whole = text[:LONGEST], whole or len(text) >= LONGEST
    head = _HEAD.match(window, partial=not whole)
    if head is None:
        return "no"
    if head.partial:
        return "more"
    number = int(head[1])
    if head[2] == "]]":
        return Mark(head.end(), number, "")
    start = head.end()
    if start == len(window):
        return "no" if whole else "more"
    following = _NEXT.search(window, start)
    limit = following.start() if following else len(window)
    closed = _CLOSED[window[start]].search(window, start + 1, limit) if window[start] in _CLOSED else None
    if closed:
        return Mark(closed.end(), number, _unescaped(window[start + 1 : closed.start()]))
    if window[start] in _CLOSED and not following and not whole:
        return "more"
    # No quotation mark, or one that was never closed: the mark ends where its brackets do.
    end = _END.search(window, start, limit)
    if end:
        return Mark(end.end(), number, _unescaped(window[start : end.start()].strip().strip(_DOUBLE)))
    return "no" if whole or following else "more"


def _unescaped(quote: str) -> str:
    return _ESCAPED.sub(r"\1", quote.strip())


class MarkerReader:
    """Splits an answer that arrives in pieces into text and citations; how it is cut into pieces changes nothing.

    `excerpts` are the ids that the numbers stand for; a number beyond them gives a citation of the excerpt "". White space
    before a mark goes, unless nothing but it parts the text before from the text after. At most `LONGEST` characters wait.
    """

    def __init__(self, excerpts: Sequence[str]) -> None:
        self._excerpts = tuple(excerpts)
        self._held = ""
        self._gap: str | None = None  # white space that stood before the mark just read

    def feed(self, text: str) -> list[TextPart | CitationPart]:
        """What can be told now that `text` has arrived as well."""
        self._held += text
        return self._read(whole=False)

    def close(self) -> list[TextPart | CitationPart]:
        """What is left at the end: a mark that was not finished is text."""
        return self._read(whole=True)

    def _read(self, *, whole: bool) -> list[TextPart | CitationPart]:
        parts: list[TextPart | CitationPart] = []
        while self._held:
            at = self._held.find("[[")
            if at < 0:
                self._take(len(self._held) - (0 if whole else self._undecided()), parts)
                break
            mark = read_mark(self._held[at : at + LONGEST], whole=whole)
            if mark == "no":
                self._take(at + 1, parts)
                continue
            self._take(at - _blank_before(self._held, at), parts)
            if not isinstance(mark, Mark):
                break
            blank = self._held.find("[[")
            self._gap = self._gap or self._held[:blank]
            self._held = self._held[blank + mark.end :]
            parts.append(CitationPart(self._excerpt(mark.number), mark.quote))
        return parts

    def _take(self, end: int, parts: list[TextPart | CitationPart]) -> None:
        """Moves what is held before `end` to the parts, as text."""
        text, self._held = self._held[:end], self._held[end:]
        if text:
            gap = "" if text[0].isspace() else self._gap or ""
            self._gap = None
            parts.append(TextPart(gap + text))

    def _undecided(self) -> int:
        """How many characters at the end may yet be part of a mark, or the white space before one."""
        bracket = self._held.endswith("[")
        return _blank_before(self._held, len(self._held) - bracket) + bracket

    def _excerpt(self, number: int) -> str:
        return self._excerpts[number - 1] if 1 <= number <= len(self._excerpts) else ""


def _blank_before(text: str, end: int) -> int:
    """The length of the white space that ends at `end`, at most `LONGEST`."""
    start = max(end - LONGEST, 0)
    return end - start - len(text[start:end].rstrip())
