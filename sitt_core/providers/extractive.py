"""The provider that needs no language model: it answers in the sources' own sentences, or says that they do not answer."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import regex
from numpy.typing import NDArray

from sitt_core.types import REFUSAL, AnswerPart, CitationPart, DonePart, Excerpt, Matrix, Prompt, TextPart, Usage

Embed = Callable[[Sequence[str]], Matrix]
Tokenize = Callable[[str], Sequence[str]]
Weight = Callable[[str], float]

CLOSENESS, BEYOND, COVERAGE = 0.35, 0.35, 0.30
"""What the parts of the score weigh; see `Assessment`. Near the best of `python -m benchmarks.answerability` (.35, .30, .35)."""
THRESHOLD, SURE = 0.41, 0.54
"""The least score of a question that is answered, and the least of an answer that goes without a warning.

Two sets of questions about the field guide say where they lie (minilm, default configuration, 2026-12-01). The lab's 147 open
ones, worded unlike the text: below .41 are 12 % of the answerable, all 7 off-topic ones, 1 of 16 near misses; .54, which was the
threshold before there was a lab, would have refused 57 % of the answerable. `python -m benchmarks.answerability` asks 204 that
are worded more like the text: below .54 are 4 % of the answerable and 78 % of the others. A near miss about a subject of the
corpus scores like a fair question (area under the curve .41 on the lab's), so it is answered with a warning: no score tells
them apart. For another embedder, or a language that minilm does not know, both are guesses.
"""
WEAK = "weak match: these sentences may be beside the question"

MOST_READ = 96
"""At most so many sentences are embedded for a question: those that share most words with it."""
MOST = 4
"""How many sentences an answer has at most."""
NEIGHBOUR = 0.3
"""What a sentence gains from the better of its neighbours: "Forty-six people died." follows the sentence that names the bridge."""
NOVELTY, REDUNDANCY = 0.1, 0.2
"""What words that no chosen sentence has yet add to a sentence, and what likeness to a chosen one takes away."""
KEEP = 0.7
"""A further sentence is worth at least this share of the first one."""
TWIN = 0.92
"""Sentences of a higher cosine say the same."""
DANGLING, ROW = 0.1, 0.05
"""What is taken from a sentence that leans on one which is not there, and from a row of a table."""
OPENING = 8
"""Words in which a pronoun without a name before it makes a sentence lean on the one before."""
LEAST_WORDS = 4
"""Fewer words are a scrap of a list, unless they are a sentence of three, such as "Nobody was hurt"."""

# What asks, and what nearly every question could hold: whether the sources have these words says nothing.
_GENERIC = """name named called kind sort many much long large big tall old year time people thing say said tell think thought know mean
happen find found look like according ever really turn first describe report make made take give get go come use way reason part place
can't cannot don't doesn't didn't isn't wasn't aren't weren't won't wouldn't couldn't shouldn't hasn't haven't hadn't there's what's who's"""
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-'’][\p{L}\p{M}\p{N}]+)*")
_MARKER = regex.compile(r"(?:\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|>\s?|\|\s*))*")
_ROW = regex.compile(r"\s*\|")
_RULE = regex.compile(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*$", regex.MULTILINE)
_LEANS = regex.compile(
    r"[\"'“‘*_(]*(?:He|She|It|They|This|These|That|Those|His|Her|Hers|Its|Their|Theirs|Them|Both|Neither|Either|Such|Then|"
    r"Another|Others|But|And|Yet|So|However|Nor|Thus|Therefore|Moreover|The (?:former|latter|same|second|other|others))\b"
)
_PRONOUNS = frozenset({"he", "she", "they", "his", "her", "their"})
_MONTHS = frozenset(
    {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_ENDED = regex.compile(r"[.!?…。！？][\"'”’»)\]*_]*$")


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether passages answer a question, as one number: `CLOSENESS` × `closeness` + `BEYOND` × `beyond` + `COVERAGE` × `coverage`.

    `closeness` is the best cosine of the question with a sentence under its headings. `beyond` is the best cosine once the
    direction of the document's title is taken out of question and sentence: what a question about the Mothman asks besides
    the Mothman, which every sentence about it resembles. `coverage` is the share of the question's content words, weighed
    by their rarity, that one passage holds; `missing` are the others as they are written.
    """

    closeness: float
    beyond: float
    coverage: float
    missing: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """The number that is held against the threshold."""
        return CLOSENESS * self.closeness + BEYOND * self.beyond + COVERAGE * self.coverage

    def note(self, threshold: float) -> str:
        """The score and its parts, for a reader; an answer that is not sure says so first."""
        weak = f"{WEAK}; " if threshold <= self.score < SURE else ""
        missing = f" (missing: {', '.join(self.missing)})" if self.missing else ""
        return (
            f"{weak}score {self.score:.2f} of {threshold:.2f} needed: best sentence cosine {self.closeness:.2f}, "
            f"beyond the subject {self.beyond:.2f}, words covered {self.coverage:.2f}{missing}"
        )


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A citable sentence: which block of which excerpt it is, and its words."""

    excerpt: int
    block: int
    text: str
    words: frozenset[str]
    row: bool

    @property
    def leans(self) -> bool:
        """Whether it begins with a word that points at the sentence before, or soon says "he" with nobody named."""
        if _LEANS.match(self.text):
            return True
        opening = _WORD.findall(self.text)[:OPENING]
        pronoun = next((at for at, word in enumerate(opening) if word in _PRONOUNS), 0)
        return pronoun > 0 and not any(word[0].isupper() and word not in _MONTHS for word in opening[1:pronoun])


@dataclass(frozen=True, slots=True)
class _Reading:
    """The sentences of a prompt with what makes them an answer: their relevance, the question's words in them, their vectors."""

    sentences: list[_Sentence]
    relevance: NDArray[np.float64]
    holds: NDArray[np.bool_]
    rarity: NDArray[np.float64]
    vectors: Matrix
    assessment: Assessment


class Extractive:
    """A `Provider` that chooses sentences. `embed` gives unit rows, `tokenize` stemmed words without stop words, `weight` their rarity."""

    name = "extractive"
    model = "minilm"
    citing: Literal["extractive"] = "extractive"

    def __init__(self, *, embed: Embed, tokenize: Tokenize, weight: Weight, threshold: float = THRESHOLD) -> None:
        self.threshold = threshold
        self._embed, self._tokenize, self._weight = embed, tokenize, weight
        self._generic = frozenset(tokenize(_GENERIC))

    async def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        """Two to four sentences of the sources, each followed by its citation; or that the corpus does not say."""
        reading = await asyncio.to_thread(self._read, prompt)
        if reading.assessment.score < self.threshold:
            yield TextPart(REFUSAL)
        else:
            before = ""
            for sentence in chosen_sentences(reading):
                yield TextPart(("" if not before else " " if _ENDED.search(before) else "\n\n") + sentence.text)
                yield CitationPart(prompt.excerpts[sentence.excerpt].id, sentence.text)
                before = sentence.text
        yield DonePart("end", Usage(), self.model, reading.assessment.note(self.threshold))

    def as_sent(self, prompt: Prompt) -> str:
        """What a reader should know instead: nothing leaves this machine."""
        return f"Nothing is sent: the answer is chosen on this machine from the sentences of {len(prompt.excerpts)} passages."

    def assess(self, prompt: Prompt) -> Assessment:
        """Whether the prompt's passages answer its question, and why."""
        return self._read(prompt).assessment

    def _read(self, prompt: Prompt) -> _Reading:
        """Every sentence worth reading with its relevance, and the assessment of the whole."""
        asked = self._asked(prompt.question)
        rarity = np.array([self._weight(word) for word in asked])
        sentences = self._sentences(prompt.excerpts, asked)
        if not sentences:
            nothing = Assessment(0.0, 0.0, 0.0, tuple(asked.values()))
            return _Reading([], np.zeros(0), np.zeros((0, len(asked)), bool), rarity, np.zeros((0, 0), np.float32), nothing)
        titles = [excerpt.title for excerpt in prompt.excerpts]
        question, plain, headed, subjects = self._vectors(prompt.question, sentences, titles)
        closeness, beyond = headed @ question, _beyond(question, plain, subjects)
        headings = [frozenset(self._tokenize(title)) for title in titles]
        holds = np.array([[_held(word, sentence.words | headings[sentence.excerpt]) for word in asked] for sentence in sentences], bool)
        holds = holds.reshape(len(sentences), len(asked))
        score = CLOSENESS * closeness + BEYOND * beyond + COVERAGE * _share(holds, rarity)
        passages = [frozenset(self._tokenize(excerpt.text)) | heads for excerpt, heads in zip(prompt.excerpts, headings, strict=True)]
        held = np.array([[_held(word, words) for word in asked] for words in passages], bool).reshape(len(passages), len(asked))
        best = int(np.argmax(_share(held, rarity)))
        missing = tuple(written for written, there in zip(asked.values(), held[best], strict=True) if not there)
        assessment = Assessment(float(closeness.max()), float(beyond.max()), float(_share(held, rarity)[best]), missing)
        return _Reading(sentences, _with_neighbours(sentences, score), holds, rarity, plain, assessment)

    def _vectors(self, question: str, sentences: list[_Sentence], titles: list[str]) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """The question's vector; the sentences' alone and under their headings; those of their documents' titles."""
        plain = [sentence.text for sentence in sentences]
        headed = [f"{titles[sentence.excerpt]}\n{sentence.text}" for sentence in sentences]
        subjects = [title.split(" › ")[0] for title in titles]
        vectors = self._embed([question, *plain, *headed, *subjects])
        first, second = 1 + len(plain), 1 + 2 * len(plain)
        return vectors[0], vectors[1:first], vectors[first:second], vectors[second:][[sentence.excerpt for sentence in sentences]]

    def _asked(self, question: str) -> dict[str, str]:
        """The content words of a question and how they are written: without those that only ask, unless there are no others."""
        written = {word: match.group() for match in _WORD.finditer(question) for word in self._tokenize(match.group())}
        return {word: as_written for word, as_written in written.items() if word not in self._generic} or written

    def _sentences(self, excerpts: Sequence[Excerpt], asked: dict[str, str]) -> list[_Sentence]:
        """The sentences that can be read alone, in order; of very many those that share most words with the question."""
        found = []
        for at, excerpt in enumerate(excerpts):
            for number, block in enumerate(excerpt.blocks):
                text = readable(block)
                if text:
                    found.append(_Sentence(at, number, text, frozenset(self._tokenize(text)), _ROW.match(block) is not None))
        if len(found) <= MOST_READ:
            return found
        shared = [sum(self._weight(word) for word in asked if _held(word, sentence.words)) for sentence in found]
        kept = sorted(range(len(found)), key=lambda at: (-shared[at], at))[:MOST_READ]
        return [found[at] for at in sorted(kept)]


def readable(block: str) -> str:
    """What of a block reads as a sentence, a slice of it without list and table marks; "" for a heading, column names or a scrap."""
    text = block.strip()
    if text.startswith("#") or _RULE.search(text):
        return ""
    text = text[_MARKER.match(text).end() :]  # type: ignore[union-attr]
    text = text.removesuffix("|").rstrip() if _ROW.match(block) else text
    words = _WORD.findall(text)
    length = len(words) + len(_UNSPACED.findall(text)) // 2
    scrap = length < LEAST_WORDS - bool(_ENDED.search(text)) or text.endswith(":") or words[0][0].islower()
    return "" if scrap else text


def chosen_sentences(reading: _Reading) -> list[_Sentence]:
    """The sentences of the answer in reading order: the passage with the best one first, in a passage in the order of its text.

    Greedy: each time the one that is most relevant, adds words of the question and repeats least. A sentence that leans on
    the one before takes it along.
    """
    chosen: list[int] = []
    first = 0.0
    while len(chosen) < MOST:
        gains = [(_gain(reading, at, chosen), -at) for at in range(len(reading.sentences)) if _fits(reading, at, chosen)]
        if not gains:
            break
        gain, at = max(gains)
        first = first or gain
        if chosen and gain < KEEP * first:
            break
        chosen += [each for each in _with_lead(reading.sentences, -at) if each not in chosen]
    owners = {reading.sentences[at].excerpt for at in chosen}
    best = {owner: max(reading.relevance[at] for at in chosen if reading.sentences[at].excerpt == owner) for owner in owners}
    chosen.sort(key=lambda at: (-best[reading.sentences[at].excerpt], reading.sentences[at].excerpt, reading.sentences[at].block))
    return [reading.sentences[at] for at in chosen]


def _fits(reading: _Reading, at: int, chosen: Sequence[int]) -> bool:
    """Whether a sentence with what it takes along is new and finds room."""
    added = [each for each in _with_lead(reading.sentences, at) if each not in chosen]
    said = {" ".join(reading.sentences[each].text.split()) for each in chosen}
    same = bool(chosen) and float((reading.vectors[chosen] @ reading.vectors[at]).max()) > TWIN
    return at not in chosen and not same and " ".join(reading.sentences[at].text.split()) not in said and len(chosen) + len(added) <= MOST


def _gain(reading: _Reading, at: int, chosen: Sequence[int]) -> float:
    new = reading.holds[at] & ~reading.holds[list(chosen)].any(axis=0) if chosen else reading.holds[at]
    like = max(0.0, float((reading.vectors[list(chosen)] @ reading.vectors[at]).max())) if chosen else 0.0
    novelty = float(_share(new[None, :], reading.rarity)[0]) if chosen else 0.0
    return float(reading.relevance[at]) + NOVELTY * novelty - REDUNDANCY * max(0.0, like - 0.6)


def _with_lead(sentences: Sequence[_Sentence], at: int) -> list[int]:
    """A sentence, and before it the one that it leans on, if that is at hand."""
    return [at - 1, at] if sentences[at].leans and _follows(sentences, at) else [at]


def _follows(sentences: Sequence[_Sentence], at: int) -> bool:
    """Whether the sentence before stands right before it in the same passage."""
    if not 0 < at < len(sentences):
        return False
    before, sentence = sentences[at - 1], sentences[at]
    return before.excerpt == sentence.excerpt and before.block == sentence.block - 1


def _with_neighbours(sentences: Sequence[_Sentence], score: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores with what the better neighbour adds, less what a sentence that cannot stand alone loses."""
    relevance = score.astype(np.float64).copy()
    for at, sentence in enumerate(sentences):
        beside = [score[at - 1]] if _follows(sentences, at) else []
        beside += [score[at + 1]] if _follows(sentences, at + 1) else []
        relevance[at] += NEIGHBOUR * max(beside, default=0.0)
        relevance[at] -= ROW * sentence.row + DANGLING * (sentence.leans and not _follows(sentences, at))
    return relevance


def _beyond(question: Matrix, sentences: Matrix, subjects: Matrix) -> NDArray[np.float64]:
    """The cosines of question and sentences without their share of the subject's direction, row by row.

    What is left of a question that hardly asks anything else is noise, so a remainder counts as no shorter than 0.3.
    """
    asked = question[None, :] - subjects * (subjects @ question)[:, None]
    said = sentences - subjects * np.sum(subjects * sentences, axis=1, keepdims=True)
    lengths = np.maximum(np.linalg.norm(asked, axis=1), 0.3) * np.maximum(np.linalg.norm(said, axis=1), 0.3)
    return np.asarray(np.sum(asked * said, axis=1) / lengths, dtype=np.float64)


def _share(holds: NDArray[np.bool_], rarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row the share of the words' whole rarity that it holds; nothing for a question without words."""
    whole = float(rarity.sum())
    return np.asarray(holds @ rarity / whole if whole > 0 else np.zeros(len(holds)), dtype=np.float64)


def _held(word: str, words: frozenset[str]) -> bool:
    """Whether words hold a word or a close relative, one being the beginning of the other: oil, oily."""
    return word in words or any(_related(word, other) for other in words)


def _related(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and 3 * (len(long) - len(short)) <= len(long) and long.startswith(short) and not long[-1].isdigit()
