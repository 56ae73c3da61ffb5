"""Whether an answer's citations stand where it says, and whether they carry its sentences: decided by code, as the answer comes."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence

import regex

from sitt_core.answering.prompt import is_refusal, unit_spans
from sitt_core.answering.support import Tokenize, proper_words, unsupported
from sitt_core.quotes import find_exact, find_loosely
from sitt_core.types import (
    Answer,
    Citation,
    CitationPart,
    Document,
    DonePart,
    Mark,
    Passage,
    Place,
    Prompt,
    Sentence,
    Source,
    Span,
    Support,
    Trace,
    Verdict,
)

LEAST_WORDS = 3
"""A piece of a stitched quote has this many words: two stand together in many a text by chance."""

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-'’][\p{L}\p{M}\p{N}]+)*")
_GAP = regex.compile(r"\s*(?:\[\s*)?(?:…|\.\s?\.\s?\.+)(?:\s*\])?\s*")
_AROUND = r"(?:[\s.,;:…\"'“”‘’„‟«»]|\[\s*(?:…|\.{3})\s*\])+"
_ENDS = regex.compile(rf"^{_AROUND}|{_AROUND}$")
_JOINED = regex.compile(r"[\p{L}\p{N}\p{M}]{2}|.\p{M}", regex.DOTALL)
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
NOBODY = Source("", "", "")


class Ledger:
    """The text of an answer as far as it has come, and its citations, each checked as it arrives.

    Numbers are given in the order of first use and never change: what was shown while the answer was written stays true.
    """

    def __init__(self, prompt: Prompt, passages: Sequence[Passage], document: Callable[[str], Document], *, tokenize: Tokenize) -> None:
        """`passages` are those that the prompt's excerpts were made of, in the same order; `document` gives one by its id."""
        self.prompt, self.passages, self.text = prompt, tuple(passages), ""
        self._named = {excerpt.id: passage for excerpt, passage in zip(prompt.excerpts, passages, strict=True)}
        self._document, self._tokenize = document, tokenize
        self._documents: dict[str, Document] = {}
        self._holders: dict[int, Passage] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._citations: list[Citation] = []
        self._marks: list[Mark] = []
        self._proper = proper_words(passage.chunk.text for passage in self.passages)

    def add_text(self, text: str) -> None:
        """Takes the next piece of the answer."""
        self.text += text

    def add_citation(self, part: CitationPart) -> Citation:
        """What checking the claim found, under its number; the citation that is there already when it names the very same span."""
        found, holder = self._resolve(part)
        key = (found.verdict, found.document_id, found.span or " ".join(found.quote.casefold().split()))
        if key not in self._numbers:
            self._numbers[key] = found.marker
            self._citations.append(found)
            self._holders |= {found.marker: holder} if holder else {}
        mark = Mark(len(self.text.rstrip()), self._numbers[key])
        if mark not in self._marks:
            self._marks.append(mark)
        return self._citations[self._numbers[key] - 1]

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations so far, by number."""
        return tuple(self._citations)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Where their numbers are shown, in the order of the text."""
        return tuple(self._marks)

    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences so far with their citations and support; headings that cite nothing and lines without a word are none."""
        spans = [unit for unit in unit_spans(self.text) if _WORD.search(self.text, unit.start, unit.end)]
        holders = [_sentence_at(spans, mark.at) for mark in self._marks]
        found = []
        for number, span in enumerate(spans):
            markers = tuple(dict.fromkeys(mark.marker for mark, holder in zip(self._marks, holders, strict=True) if holder == number))
            said = self.text[span.start : span.end]
            if markers or not said.startswith("#"):
                missing, support = self._support(said, markers)
                found.append(Sentence(span, markers, missing, support))
        return tuple(found)

    def answer(self, *, trace: Trace, provider: str, done: DonePart, problem: str = "") -> Answer:
        """All of it; `done` is the provider's last part, or says how the answer broke off, and `problem` why.

        Whatever is cited for saying that the corpus does not say, before or after it, is left out: that rests on no quote.
        """
        refused, sentences = is_refusal(self.text), self.sentences()
        if refused:
            sentences = tuple(Sentence(each.span, (), (), "uncited") for each in sentences)
        return Answer(
            question=self.prompt.question,
            text=self.text,
            sentences=sentences,
            citations=() if refused else self.citations,
            marks=() if refused else self.marks,
            passages=self.passages,
            trace=trace,
            refused=refused,
            stop=done.stop,
            problem=problem,
            provider=provider,
            model=done.model,
            usage=done.usage,
            prompt_version=self.prompt.version,
            note=done.note,
        )

    def _resolve(self, part: CitationPart) -> tuple[Citation, Passage | None]:
        """The claim, looked up in the excerpt that it names, in the other passages, in their documents, and in pieces.

        With it the passage that holds the quote or, for pieces and what is nowhere, the one that was named.
        """
        claimed, quote = self._named.get(part.excerpt), part.quote.strip()
        if claimed is None or not _WORD.search(quote):
            return self._cited("absent", quote, claimed, claimed), claimed
        for passage in (claimed, *self.passages):
            place = _place(passage, quote)
            if place:
                return self._cited("quoted" if passage is claimed else "misattributed", quote, passage, claimed, place), passage
        for id_ in self._document_ids(claimed):
            span = find_words(self._read(id_).text, quote)
            if span:
                return self._cited("misattributed", quote, None, claimed, Place(id_, span.start, span.end)), None
        pieces = tuple(self._pieces(quote, claimed))
        return self._cited("stitched" if pieces else "absent", quote, claimed, claimed, pieces=pieces), claimed

    def _cited(
        self,
        verdict: Verdict,
        quote: str,
        passage: Passage | None,
        claimed: Passage | None,
        place: Place | None = None,
        *,
        pieces: tuple[Place, ...] = (),
    ) -> Citation:
        """The citation under the next number; what is shown of its document comes from the store alone."""
        named = place.document_id if place else claimed.chunk.document_id if claimed else ""
        document = self._read(named) if named else None
        return Citation(
            marker=len(self._citations) + 1,
            document_id=named,
            title=document.title if document else "",
            span=Span(place.start, place.end) if place else None,
            quote=document.text[place.start : place.end] if document and place else quote,
            verdict=verdict,
            source=document.source if document else NOBODY,
            revision=document.revision if document else "",
            sha256=document.sha256 if document else "",
            passage=passage.rank if passage else 0,
            claimed=claimed.rank if claimed else 0,
            pieces=pieces,
        )

    def _pieces(self, quote: str, claimed: Passage) -> list[Place]:
        """Where the pieces of a stitched quote stand, if there are several and every one of them stands in a passage."""
        parts = _GAP.split(quote)
        for pieces in (parts, [part[unit.start : unit.end] for part in parts for unit in unit_spans(part)]):
            wanted = [piece for piece in pieces if _WORD.search(piece)]
            if len(wanted) > 1 and all(len(_WORD.findall(piece)) >= LEAST_WORDS for piece in wanted):
                found = [self._anywhere(piece, claimed) for piece in wanted]
                places = [place for place in found if place]
                if len(places) == len(wanted):
                    return places
        return []

    def _anywhere(self, piece: str, first: Passage) -> Place | None:
        """Where words stand in the passages, looked for in one of them first."""
        return next((place for place in (_place(each, piece) for each in (first, *self.passages)) if place), None)

    def _document_ids(self, first: Passage) -> dict[str, None]:
        """The documents of the passages, the first passage's own first, those of twins last."""
        own = dict.fromkeys(passage.chunk.document_id for passage in (first, *self.passages))
        return own | dict.fromkeys(id_ for passage in self.passages for id_ in passage.document_ids)

    def _read(self, document_id: str) -> Document:
        if document_id not in self._documents:
            self._documents[document_id] = self._document(document_id)
        return self._documents[document_id]

    def _support(self, said: str, markers: Sequence[int]) -> tuple[tuple[str, ...], Support]:
        """What of a sentence none of its quotes holds, and the verdict on it."""
        quoted = [cited for cited in (self._citations[marker - 1] for marker in markers) if cited.verdict == "quoted"]
        if not markers:
            return (), "uncited"
        evidence = "\n".join(part for cited in quoted for part in (cited.quote, *self._heads(cited)))
        missing = unsupported(said, evidence, self._proper, self._tokenize)
        return missing, "weak" if missing or not quoted else "supported"

    def _heads(self, cited: Citation) -> Iterator[str]:
        """The title, headings and header under which a quote stands."""
        yield cited.title
        chunk = self._holders[cited.marker].chunk
        yield from (*chunk.heading_path, chunk.header)


def find_words(text: str, quote: str) -> Span | None:
    """The first place of a quote in a text, in whole words: word for word, else with typography, white space and case aside.

    A quote that begins or ends inside a word is given that word whole ("able to" of "unable to"). Dots, commas and quotation
    marks at its ends are no part of the claim.
    """
    bare = _ENDS.sub("", quote)
    places = [find(text, wanted) for wanted in dict.fromkeys((quote, bare)) if wanted for find in (find_exact, find_loosely)]
    cut: Span | None = None
    for span in (span for found in places for span in found):
        whole = _whole_words(text, span)
        if whole == span:
            return span
        cut = cut or whole
    return cut


def _place(passage: Passage, quote: str) -> Place | None:
    """Where a quote stands in a passage, in the coordinates of its document."""
    span = find_words(passage.chunk.text, quote)
    return Place(passage.chunk.document_id, passage.chunk.start + span.start, passage.chunk.start + span.end) if span else None


def _whole_words(text: str, span: Span) -> Span:
    start, end = span.start, span.end
    while 0 < start < len(text) and _inside_word(text[start - 1 : start + 1]):
        start -= 1
    while 0 < end < len(text) and _inside_word(text[end - 1 : end + 1]):
        end += 1
    return Span(start, end)


def _inside_word(pair: str) -> bool:
    """Whether no word ends between two characters; in a script without spaces any character may."""
    return _JOINED.fullmatch(pair) is not None and (not _UNSPACED.search(pair) or unicodedata.category(pair[1]).startswith("M"))


def _sentence_at(spans: Sequence[Span], at: int) -> int:
    """The sentence that holds or ends at a position of the answer; between two, the one before; before all, the first."""
    return max((number for number, span in enumerate(spans) if span.start < at), default=0)
