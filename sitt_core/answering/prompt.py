"""What a language model is shown: the instructions, and passages as excerpts of small citable blocks behind a fence."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import regex

from sitt_core.errors import InvalidInput, shown
from sitt_core.text import sentence_spans
from sitt_core.types import REFUSAL, Excerpt, Passage, Prompt, Span, Turn

PROMPTS = Path(__file__).with_name("prompts")
LONG_SENTENCE = 400
"""A sentence of more characters than this is cut at its line ends, if it has any."""
RANDOM_BYTES = 8

Citing = Literal["native", "quotes", "extractive"]
Token = Callable[[int], str]
"""That many random bytes as a word, such as `secrets.token_hex`."""

_LINE = regex.compile(r"[^\n]+")
_FENCE = regex.compile(r"\s*(```|~~~)")
_ALONE = regex.compile(r"\s*(?:\||#{1,6}\s|[-*_=]{3,}\s*$)")
_OPENS = regex.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s|\s*>")
_AROUND_REFUSAL = " \t\n.\"'`*_“”„‘’«»"


def make_prompt(
    question: str,
    passages: Sequence[Passage],
    *,
    citing: Citing,
    version: str = "v1",
    history: Sequence[Turn] = (),
    token: Token = secrets.token_hex,
) -> Prompt:
    """The prompt of one question: an excerpt per passage, in their order, with ids and a fence that nobody can guess.

    Raises InvalidInput for a version that there is not, or whose text file is empty.
    """
    instructions = instructions_text(version, citing)
    texts = [(_title(passage), passage.chunk.text) for passage in passages]
    taken = "\n".join(
        [instructions, question, *(part for pair in texts for part in pair), *(turn.question + "\n" + turn.answer for turn in history)]
    )
    words = _unused(taken, len(passages) + 1, token)
    excerpts = [Excerpt(word, title, blocks_of(text)) for word, (title, text) in zip(words[1:], texts, strict=True)]
    system = instructions.replace("{fence}", words[0]).replace("{refusal}", REFUSAL)
    return Prompt(version, system, question, tuple(excerpts), words[0], tuple(history))


def _unused(taken: str, count: int, token: Token) -> list[str]:
    """That many different words of which none occurs in `taken`: what no text could have foreseen."""
    words: dict[str, None] = {}
    known = taken.casefold()
    while len(words) < count:
        word = token(RANDOM_BYTES)
        if word.casefold() not in known:
            words[word] = None
    return list(words)


def _title(passage: Passage) -> str:
    """Title › headings on one line, and the columns of a table whose first rows are in another passage."""
    chunk = passage.chunk
    headings = chunk.heading_path[1:] if chunk.heading_path[:1] == (passage.title,) else chunk.heading_path
    title = " › ".join(part for part in (passage.title, *headings) if part)
    columns = chunk.header.partition("\n")[2]
    return " ".join((f"{title} ({columns})" if columns else title).split())


def prompt_versions(citing: Citing) -> tuple[str, ...]:
    """The versions there are of that kind of prompt, by name; an extractive answer needs no text but follows the others' names."""
    kinds = ("native", "quotes") if citing == "extractive" else (citing,)
    return tuple(sorted({file.name.removesuffix(f"-{kind}.txt") for kind in kinds for file in PROMPTS.glob(f"*-{kind}.txt")}))


def instructions_text(version: str, citing: Citing) -> str:
    """The instructions as their file has them, `{fence}` and `{refusal}` to be filled in; nothing for an extractive answer.

    Raises InvalidInput for a version that there is not, or whose text file is empty.
    """
    versions = prompt_versions(citing)
    if version not in versions:
        raise InvalidInput(expected=f"a prompt version: {', '.join(versions)}", got=shown(version), remedy="Choose one of them.")
    if citing == "extractive":
        return ""
    file = PROMPTS / f"{version}-{citing}.txt"
    text = file.read_text(encoding="utf-8").strip()
    if not text:
        raise InvalidInput(
            expected=f"instructions in {file.name}", got="an empty file", remedy=f"Restore it, or choose a version: {', '.join(versions)}."
        )
    return text


def is_refusal(text: str) -> bool:
    """Whether that the corpus does not say is all that the text says, quotation marks, emphasis and the full stop aside."""
    said = " ".join(text.strip(_AROUND_REFUSAL).split())
    return said.casefold() == REFUSAL.rstrip(".").casefold()


def blocks_of(text: str) -> tuple[str, ...]:
    """The citable units of a passage, each with the white space after it; joined they are the text. None of them is blank.

    What has no letter or digit (a rule, the line under column names) goes with the block before it. Text without a unit is one block.
    """
    starts = [unit.start for unit in unit_spans(text) if any(map(str.isalnum, text[unit.start : unit.end]))]
    edges = [0, *starts[1:], len(text)]
    return tuple(text[start:end] for start, end in pairwise(edges) if start < end)


def unit_spans(text: str) -> list[Span]:
    """The sentences of a text, in order, white space around them excluded; a table row, heading or line of code is a unit of its own.

    No sentence reaches from one list item into the next; one above `LONG_SENTENCE` characters is cut at its line ends.
    """
    units: list[Span] = []
    for stretch in _stretches(text):
        piece = text[stretch.start : stretch.end]
        spans = [(0, len(piece))] if _ALONE.match(piece) else sentence_spans(piece)
        for start, end in spans:
            found = Span(stretch.start + start, stretch.start + end)
            units += _lines(text, found) if end - start > LONG_SENTENCE else [found]
    return units


def _stretches(text: str) -> Iterator[Span]:
    """Runs of lines that sentences may reach across, white space around them excluded: a line that stands alone is one by itself."""
    start = end = None
    in_code = False
    for match in _LINE.finditer(text):
        line, fence = match.group(), _FENCE.match(match.group())
        alone = in_code or fence or _ALONE.match(line)
        after_gap = end is not None and match.start() > end + 1
        if start is not None and end is not None and (alone or after_gap or not line.strip() or _OPENS.match(line)):
            yield from _trimmed(text, start, end)
            start = None
        if alone:
            yield from _trimmed(text, match.start(), match.end())
        else:
            start, end = match.start() if start is None else start, match.end()
        in_code ^= fence is not None
    if start is not None and end is not None:
        yield from _trimmed(text, start, end)


def _lines(text: str, span: Span) -> Iterator[Span]:
    for match in _LINE.finditer(text, span.start, span.end):
        yield from _trimmed(text, match.start(), match.end())


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """The span without the white space around it; nothing if that is all there is."""
    piece = text[start:end]
    if piece.strip():
        yield Span(start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))
