"""Whether the words of a sentence stand in what it quotes: its numbers, dates and names all of them, of the others enough."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

Tokenize = Callable[[str], Sequence[str]]
"""The words of a text as they are compared: folded, stemmed, stop words left out."""

ENOUGH_WORDS = 0.5
"""The share of a sentence's content words that its quotes must hold. Half lets a fair paraphrase pass: what must not differ,
its numbers, dates and names, is asked for one by one."""

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-'’][\p{L}\p{M}\p{N}]+)*")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_MONTH = r"\b(?P<month>" + "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + r")(?!\p{L})"
_DAY = r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:\s*(?:–|-|to)\s*(?P<last>\d{1,2})(?:st|nd|rd|th)?)?"
_DATES = (
    regex.compile(rf"{_DAY}(?:\s+of)?\s+{_MONTH}"),
    regex.compile(rf"{_MONTH}\s+{_DAY}(?!\d)"),
    regex.compile(r"(?<=\b\d{4}-)(?P<month>\d{2})-(?P<day>\d{2})(?P<last>)\b"),
)
_NUMBER = regex.compile(r"\d+(?:[,.\u00a0\u2009\u202f]\d+)*")
_IGNORED = regex.compile(r"(?<=\d)[,\u00a0\u2009\u202f](?=\d{3}(?!\d))|^0+(?=\d)")
_BEGINS = regex.compile(r"(?:^|[.:!?…|\n])[\s\"'“”‘’„«»*_(\[-]*$")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SPELT = {
    **{word: value for value, word in enumerate((*_UNITS, *_TEENS), start=1)},
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
    **{f"{tens}-{unit}": 10 * ten + value for ten, tens in enumerate(_TENS, start=2) for value, unit in enumerate(_UNITS, start=1)},
}
del _SPELT["one"]  # a pronoun more often than a number


@dataclass(frozen=True, slots=True)
class _Fact:
    """A number, date or word as a sentence has it, and what evidence must hold of it: words, numbers, (day, month)."""

    written: str
    start: int
    wanted: frozenset[object]


def unsupported(sentence: str, evidence: str, proper: frozenset[str], tokenize: Tokenize) -> tuple[str, ...]:
    """The numbers, dates and names of a sentence that the evidence lacks, as they are written, in order.

    With them its other content words that the evidence lacks, when that holds fewer than `ENOUGH_WORDS` of all of them. A
    word whose capital may be due to its place is a name when it is one of the `proper` words.
    """
    held, written = _held(evidence, tokenize), {word.casefold() for word in _WORD.findall(evidence)}
    numbers, words = list(_numbers(sentence)), _words(sentence, tokenize)
    dated = {at for fact in numbers for at in range(fact.start, fact.start + len(fact.written))}
    words = [word for word in words if word.start not in dated]
    lost = [word for word in words if not word.wanted <= held and word.written.casefold() not in written]
    distinct, gone = len({word.wanted for word in words}), len({word.wanted for word in lost})
    if distinct - gone >= ENOUGH_WORDS * distinct:
        lost = [word for word in lost if _is_name(word, sentence, proper)]
    lacking = [*(fact for fact in numbers if not fact.wanted <= held), *lost]
    return tuple(dict.fromkeys(fact.written for fact in sorted(lacking, key=lambda fact: fact.start)))


def proper_words(texts: Iterable[str]) -> frozenset[str]:
    """The words, folded, that texts write with a capital inside their sentences and never without one."""
    capital, small = set(), set()
    for text in texts:
        for match in _WORD.finditer(text):
            word = match.group()
            if not word[0].isupper():
                small.add(word.casefold())
            elif not _begins(text, match.start()):
                capital.add(word.casefold())
    return frozenset(capital - small)


def _held(evidence: str, tokenize: Tokenize) -> set[object]:
    """What evidence holds: its words, its numbers, its dates and their days."""
    held: set[object] = {word for word in tokenize(evidence) if not word.isdigit()}
    for fact in _numbers(evidence):
        held |= fact.wanted | {str(part[0]) for part in fact.wanted if isinstance(part, tuple)}
    return held


def _numbers(text: str) -> Iterator[_Fact]:
    """The dates of a text, day and month together, and its other numbers, spelt ones too."""
    taken: set[int] = set()
    for match in (match for pattern in _DATES for match in pattern.finditer(text)):
        named = match["month"]
        month = int(named) if named.isdigit() else next(at for at, name in enumerate(_MONTHS, start=1) if name.startswith(named[:3]))
        yield _Fact(match.group(), match.start(), frozenset((int(day), month) for day in (match["day"], match["last"]) if day))
        taken |= set(range(*match.span()))
    for match in _NUMBER.finditer(text):
        if match.start() not in taken:
            yield _Fact(match.group(), match.start(), frozenset({_IGNORED.sub("", match.group())}))
    for match in _WORD.finditer(text):
        value = _SPELT.get(match.group().casefold())
        if value:
            yield _Fact(match.group(), match.start(), frozenset({str(value)}))


def _words(sentence: str, tokenize: Tokenize) -> list[_Fact]:
    """The content words of a sentence; of a hyphenated one its parts are wanted."""
    found = []
    for match in _WORD.finditer(sentence):
        forms = frozenset(form for part in match.group().split("-") for form in tokenize(part) if not form.isdigit())
        if forms:
            found.append(_Fact(match.group(), match.start(), frozenset[object](forms)))
    return found


def _is_name(word: _Fact, sentence: str, proper: frozenset[str]) -> bool:
    return word.written[0].isupper() and (not _begins(sentence, word.start) or word.written.casefold() in proper)


def _begins(text: str, at: int) -> bool:
    """Whether a capital may be due to the place alone: the beginning of a text, line, sentence or cell."""
    return _BEGINS.search(text[max(0, at - 12) : at]) is not None
