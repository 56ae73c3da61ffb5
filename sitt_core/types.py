"""The vocabulary: what documents, spans, hits, passages and traces are. Imports nothing of ours."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

BlockKind = Literal["heading", "paragraph", "item", "table", "code", "quote", "html"]
Category = str
Matrix = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Source:
    """The attribution that rides on every excerpt: where it is from and under which licence."""

    title: str
    url: str
    license: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading's reach in a document's text: `[start, end)`, sub-sections excluded."""

    heading_path: tuple[str, ...]
    level: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, table … of a document's text: `[start, end)`, in order, never overlapping."""

    kind: BlockKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a corpus; every span anywhere is a slice of its `text`."""

    id: str
    title: str
    source: Source
    text: str
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    sha256: str
    revision: str = ""
    fetched_at: str = ""
    category: Category = ""
    region: str = ""
    countries: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    see_also: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that a source could not give, and why; whatever is stored under that id stays as it was."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a source holds now. Only a `complete` listing may retire documents that it no longer names.

    `notices` are what a reader should know of the whole, a sentence each. `why_incomplete` says of one that is not complete
    what it lacks, as a clause: "the sitemap /b.xml could not be read".
    """

    origin: str
    documents: tuple[Document, ...]
    failures: tuple[Failure, ...] = ()
    complete: bool = True
    notices: tuple[str, ...] = ()
    why_incomplete: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` of a document, in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span that is embedded and ranked; `document.text[start:end] == text`.

    `header` (title › headings › table columns) stands before the text in what is embedded, indexed and prompted; it is
    not part of the span. `tokens` counts the text alone, in cl100k_base.
    """

    id: str
    document_id: str
    start: int
    end: int
    text: str
    heading_path: tuple[str, ...]
    tokens: int
    header: str = ""

    @property
    def embedded(self) -> str:
        """The exact string that is embedded and indexed for keywords."""
        return f"{self.header}\n{self.text}" if self.header else self.text


@dataclass(frozen=True, slots=True)
class Postings:
    """Which chunk holds which word how often, by word: the chunks of word number t are `chunks[starts[t]:starts[t + 1]]`.

    `terms` numbers the words; `counts` (how often) and `weights` (the word's Lucene BM25 contribution) run parallel to
    `chunks`; `lengths` holds the number of words of each chunk.
    """

    terms: Mapping[str, int]
    starts: NDArray[np.int64]
    chunks: NDArray[np.int32]
    counts: NDArray[np.int32]
    weights: NDArray[np.float32]
    lengths: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk as a ranking names it; `ranks` and `scores` say which stage put it where (1-based)."""

    chunk_id: str
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as a reader meets it; `twins` are the chunks elsewhere with the very same text."""

    rank: int
    chunk: Chunk
    title: str
    source: Source
    hit: Hit
    document_length: int
    twins: tuple["Passage", ...] = ()

    @property
    def document_ids(self) -> tuple[str, ...]:
        """Every document this passage counts for, once, its own first."""
        return tuple(dict.fromkeys((self.chunk.document_id, *(twin.chunk.document_id for twin in self.twins))))


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of answering: when it ran (ms since the question), what went in, what came out."""

    name: str
    started: float
    milliseconds: float
    taken: int
    hits: tuple[Hit, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """The stages of one retrieval in order, its whole duration, and what the reader should know."""

    stages: tuple[Stage, ...]
    milliseconds: float
    notices: tuple[str, ...] = ()

    def stage(self, name: str) -> Stage | None:
        """The stage of that name, or None when it did not run."""
        return next((stage for stage in self.stages if stage.name == name), None)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What came back for one question: the passages in reading order and the trace that led to them."""

    question: str
    passages: tuple[Passage, ...]
    trace: Trace


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer; an empty tuple lets every value pass."""

    category: tuple[str, ...] = ()
    region: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.category or self.region or self.origin)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage as a language model is shown it.

    `id` is opaque and cannot be guessed from the text; `blocks` are the citable units (sentences with the white space
    after them): joined they are the passage's text.
    """

    id: str
    title: str
    blocks: tuple[str, ...]

    @property
    def text(self) -> str:
        """The passage's text, verbatim."""
        return "".join(self.blocks)


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question of a conversation and the text that answered it."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that a provider answers from: `version` names the text files, `system` is what they say, `question` is verbatim.

    `fence` is a random word that occurs in no excerpt: what stands between two lines that hold it is quoted text.
    `schema` is the JSON schema that the answer has to follow, which goes with no excerpts: services give citations or JSON.
    """

    version: str
    system: str
    question: str
    excerpts: tuple[Excerpt, ...]
    fence: str
    history: tuple[Turn, ...] = ()
    schema: Mapping[str, Any] | None = None


StopReason = Literal["end", "max_tokens", "refusal", "stopped", "error"]
"""Why an answer ended: by itself, cut at its limit, declined by the model, stopped by the reader, or a failure."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took; `dollars` is None where the price is not known, 0 where nothing is charged."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    dollars: float | None = 0.0


@dataclass(frozen=True, slots=True)
class TextPart:
    """The next piece of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationPart:
    """What the text before it rests on, as the provider claims it: words that stand in an excerpt. Nothing is checked yet."""

    excerpt: str
    quote: str


@dataclass(frozen=True, slots=True)
class DonePart:
    """The end of an answer: why, what it took, and which model wrote it."""

    stop: StopReason
    usage: Usage
    model: str
    note: str = ""


AnswerPart = TextPart | CitationPart | DonePart


class Provider(Protocol):
    """A language model, or what stands in for one, behind one stream of events."""

    @property
    def name(self) -> str:
        """What the configuration calls it."""
        ...

    @property
    def model(self) -> str:
        """The model it asks."""
        ...

    @property
    def citing(self) -> Literal["native", "quotes", "extractive"]:
        """How it cites, which decides the prompt's text file."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        """The answer as it is written; `DonePart` is the last. Closing or cancelling it closes the connection at once.

        Raises ProviderError (KeyMissing among them) for a failure before or after the first piece.
        """
        ...

    def as_sent(self, prompt: Prompt) -> str:
        """What `stream` sends, for a reader to see, without keys."""
        ...


REFUSAL = "The corpus does not say."
"""All that an answer says when the sources do not answer the question."""


Verdict = Literal["quoted", "misattributed", "stitched", "absent"]
"""What checking a claimed quote found: it stands where the provider says; it stands elsewhere; only pieces of it stand
anywhere, never as one; it stands nowhere."""


@dataclass(frozen=True, slots=True)
class Place:
    """`text[start:end]` of a document, in code points."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote that an answer rests on, as checking it found it; all that is shown of it comes from the store.

    `span` is of the document's text and `document.text[span.start:span.end] == quote`; it is None for `stitched` (whose
    pieces are at `pieces`) and `absent`, where `quote` is what the provider claimed. The document is where the quote
    really stands; for those two, the one that the provider named, "" when it named none. `passage` is the rank of the
    passage that holds the quote (for those two: of the named one), 0 when none does; `claimed` that of the named one.
    """

    marker: int
    document_id: str
    title: str
    span: Span | None
    quote: str
    verdict: Verdict
    source: Source
    revision: str
    sha256: str
    passage: int
    claimed: int = 0
    pieces: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """Where in an answer's text a citation's number is shown: before the character at `at`."""

    at: int
    marker: int


Support = Literal["supported", "weak", "uncited"]
"""Whether a sentence's own quotes carry it, as far as code can tell; `uncited` when it has no citation at all."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer: its span of the answer's text, the citations it carries and whether they hold its words.

    `missing` are its numbers, dates, names and, where too few of them are there, other words that none of its quotes holds.
    """

    span: Span
    markers: tuple[int, ...]
    missing: tuple[str, ...]
    support: Support


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question was answered with: the text, its checked citations, and all that led to them.

    `refused` means that it says the corpus does not answer, and cites nothing. `problem` says what broke off an answer
    that did not end by itself; the text up to there is kept. `note` is what the provider said of it.
    """

    question: str
    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    marks: tuple[Mark, ...]
    passages: tuple[Passage, ...]
    trace: Trace
    refused: bool
    stop: StopReason
    problem: str
    provider: str
    model: str
    usage: Usage
    prompt_version: str
    note: str = ""


Retriever = Callable[[Sequence[str], int], list[list[Hit]]]
"""Questions and a depth to rankings, best first; batch first, because the lab asks hundreds of questions at once."""

Progress = Callable[[int], None]
"""Called with the number of items finished since the last call; may raise `Cancelled`."""


Report = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done and how much there is; raises `Cancelled` to stop."""


class Embedder(Protocol):
    """Texts to unit vectors. A text above `limit` of the embedder's own tokens is never cut silently."""

    @property
    def name(self) -> str:
        """What the configuration calls it."""
        ...

    @property
    def dimension(self) -> int:
        """The length of its vectors."""
        ...

    @property
    def limit(self) -> int:
        """The longest text it reads at once, in its own tokens, special tokens not counted."""
        ...

    @property
    def fingerprint(self) -> str:
        """Everything that decides a vector: weights, precision, pooling, what happens to long texts."""
        ...

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """Unit rows, shape (len(texts), dimension)."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, shape (len(texts), dimension); safe from many threads."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Lengths in the embedder's own tokens, special tokens not counted."""
        ...
