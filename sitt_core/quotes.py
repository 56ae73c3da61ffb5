"""Where a quotation stands in a text: word for word, with white space folded, or with case and typography aside too."""

import re
import unicodedata
from collections.abc import Iterator

import regex

from sitt_core.errors import InvalidInput, shown
from sitt_core.types import Span

MAX_QUOTE = 4000

_SPACE = regex.compile(r"\s+")
# What typography, copying and Markdown put in or leave out: soft hyphens, joiners, emphasis marks.
_DROPPED = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff*_`")
_SAME = {**dict.fromkeys("‘’‚‛′ʼ", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
_TABLE = str.maketrans({**_SAME, **dict.fromkeys(_DROPPED)})


def check_quote(quote: str) -> str:
    """The quotation without white space around it; raises InvalidInput for what cannot be looked for."""
    wanted = quote.strip()
    if len(wanted) > MAX_QUOTE or not any(character.isalnum() for character in wanted):
        raise InvalidInput(
            expected=f"a quotation with a letter or digit, of at most {MAX_QUOTE:,} characters",
            got=shown(wanted) if len(wanted) <= MAX_QUOTE else f"{len(wanted):,} characters",
            remedy="Paste a sentence or a few words of the document.",
        )
    return wanted


def find_exact(text: str, quote: str) -> Iterator[Span]:
    """Every place of `quote` in `text`, word for word, in order, never overlapping."""
    at = text.find(quote)
    while at >= 0:
        yield Span(at, at + len(quote))
        at = text.find(quote, at + len(quote))


def find_loosely(text: str, quote: str) -> Iterator[Span]:
    """Every place of `quote` in `text` with case, white space, dashes, quotation and emphasis marks aside; spans of `text`."""
    wanted, _ = _loose(quote.strip())
    if not wanted or wanted not in _loose_text(text):
        return  # most texts end here, at the speed of C
    loose, origin = _loose(text)
    for found in find_exact(loose, wanted):
        yield Span(origin[found.start], origin[found.end - 1] + 1)


def find_folded(text: str, quote: str) -> Iterator[Span]:
    """Every place of `quote` in `text`, both in NFC and any run of white space like any other; spans of `text`, in order."""
    words = unicodedata.normalize("NFC", quote).split()
    if not words:
        return
    pattern = re.compile(r"\s+".join(map(re.escape, words)))  # compiled several times as fast as by regex; its \s is that of split
    if unicodedata.is_normalized("NFC", text):
        yield from (Span(*found.span()) for found in pattern.finditer(text))
        return
    composed, origins = _composed(text)
    yield from (Span(origins[found.start()].start, origins[found.end() - 1].end) for found in pattern.finditer(composed))


def _composed(text: str) -> tuple[str, list[Span]]:
    """The text in NFC, and for each of its characters what of `text` it is: itself, or a whole grapheme that NFC changes."""
    pieces: list[str] = []
    origins: list[Span] = []
    for cluster in regex.finditer(r"\X", text):
        piece = unicodedata.normalize("NFC", cluster.group())
        pieces.append(piece)
        if piece == cluster.group():
            origins += [Span(at, at + 1) for at in range(*cluster.span())]
        else:
            origins += [Span(*cluster.span())] * len(piece)
    return "".join(pieces), origins


def _loose_text(text: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFKD", text).translate(_TABLE).casefold())


def _loose(text: str) -> tuple[str, list[int]]:
    """The text as `_loose_text` has it, and for each of its characters where in `text` it is from."""
    pieces: list[str] = []
    origin: list[int] = []
    for at, character in enumerate(text):
        for each in _SPACE.sub(" ", unicodedata.normalize("NFKD", character).translate(_TABLE).casefold()):
            if each != " " or not pieces or pieces[-1] != " ":
                pieces.append(each)
                origin.append(at)
    return "".join(pieces), origin
