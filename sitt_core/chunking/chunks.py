"""What a document's chunks are under a configuration: spans by strategy, then identity, headings and header."""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from sitt_core.chunking.fixed import spans_fixed
from sitt_core.chunking.header import blocks_of, header
from sitt_core.chunking.semantic import EmbedSentences, spans_semantic
from sitt_core.chunking.sentence import spans_sentence
from sitt_core.chunking.structural import spans_structural
from sitt_core.chunking.whole import spans_whole
from sitt_core.configuration import SIZING, UNSIZED, Configuration
from sitt_core.text import count_tokens, sha256_text
from sitt_core.types import Chunk, Document, Span

VERSION = 1
"""Part of an index's fingerprint: raised when the same configuration would cut or head a text differently."""

STRATEGIES: dict[str, Callable[..., list[Span]]] = {
    "structural": spans_structural,
    "sentence": spans_sentence,
    "fixed": spans_fixed,
    "semantic": spans_semantic,
    "whole": spans_whole,
}


def chunk(document: Document, configuration: Configuration, *, embed: EmbedSentences | None = None) -> list[Chunk]:
    """The document's chunks in order of their start; none is blank, and together they hold all of the text but white space.

    `embed` gives `semantic` the vectors of sentences; the other strategies do not call it. Raises what it raises.
    """
    cut = STRATEGIES[configuration.chunking_strategy]
    if configuration.chunking_strategy == "semantic":
        assert embed is not None, "semantic chunking compares vectors"
        cut = partial(cut, percentile=configuration.chunking_breakpoint, embed=embed)
    spans = cut(document, size=configuration.chunking_size, overlap=configuration.chunking_overlap)
    seen: Counter[str] = Counter()
    chunks = []
    for span in spans:
        digest = sha256_text(document.text[span.start : span.end])
        chunks.append(_chunk(document, span, identity=(document.id, digest, seen[digest]), configuration=configuration))
        seen[digest] += 1
    return chunks


def _chunk(document: Document, span: Span, *, identity: tuple[str, str, int], configuration: Configuration) -> Chunk:
    """`identity`: document id, hash of the text, and its ordinal among the document's equal texts."""
    text = document.text[span.start : span.end]
    path = heading_path(document, span)
    key = json.dumps([*identity, configuration.chunking_key])
    return Chunk(
        id=hashlib.sha256(key.encode()).hexdigest()[:16],
        document_id=document.id,
        start=span.start,
        end=span.end,
        text=text,
        heading_path=path,
        tokens=count_tokens(text),
        header=header(document, span, path) if configuration.chunking_header == "on" else "",
    )


def heading_path(document: Document, span: Span) -> tuple[str, ...]:
    """The headings over the first text of the span that is no heading itself; over its start when there is none."""
    texts = (block.start for block in blocks_of(document, span) if block.kind != "heading")
    first = max(next(texts, span.start), span.start)
    at = bisect_right(document.sections, first, key=lambda section: section.start) - 1
    return document.sections[at].heading_path if at >= 0 else ()


def count_oversized(chunks: Sequence[Chunk], configuration: Configuration) -> int:
    """How many chunks exceed `chunking.size`, each of them a single grapheme; none of a strategy that ignores the size."""
    if configuration.chunking_strategy in UNSIZED:
        return 0
    in_tokens = SIZING[configuration.chunking_strategy].size_unit == "tokens"
    return sum((chunk.tokens if in_tokens else len(chunk.text)) > configuration.chunking_size for chunk in chunks)
