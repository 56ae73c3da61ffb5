"""Results as HTML: every character of a document is escaped, so that it shows as text whatever it holds."""

import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from types import MappingProxyType

from sitt_core.retrieval.contributions import Contribution
from sitt_core.retrieval.highlight import excerpt, matches
from sitt_core.retrieval.weights import WordWeight
from sitt_core.store.reading import DocumentInfo
from sitt_core.types import Chunk, Document, Passage, Retrieval, Source, Span, Stage

EXCERPT = 460
UNSTATED = "not stated"
"""What sources say where neither the folder nor the document names a licence."""
NAMED = 5
"""How many passages a line of the contributions names; the rest are counted."""
_HEADINGS = re.compile(r"(?:#{1,6} [^\n]*\n+)*")
STAGE_NAMES = {"dense": "dense", "keyword": "keyword", "fused": "fused"}
SCORE_UNITS = {"dense": "cosine", "keyword": "BM25", "rrf": "RRF", "convex": "convex"}


def passage_card(
    passage: Passage,
    *,
    words: Collection[str],
    language: str,
    best: Mapping[str, float],
    depths: Mapping[str, int],
    fusion: str,
    badge: str = "",
    why: str = "",
    about: Mapping[str, DocumentInfo] = MappingProxyType({}),
) -> str:
    """One result: title, headings, excerpt with the matched words marked, place, scores, attribution.

    `best` holds the top score of each stage that ran, `depths` how many chunks it ranked; `fusion` says what the
    fused scores are. `badge` (beside the title) and
    `why` (under the scores) are HTML. `about` tells of documents, by id, at which revision and when they were read.
    """
    chunk = passage.chunk
    marked = matches(chunk.text, words, language)
    body = body_start(chunk.text)
    inner = excerpt(chunk.text[body:], [Span(span.start - body, span.end - body) for span in marked if span.start >= body], width=EXCERPT)
    shown = Span(body + inner.start, body + inner.end)
    more = ""
    if shown != Span(body, len(chunk.text)):
        label = f"Whole passage: {chunk.tokens:,} tokens, {len(marked)} matched word{'s' * (len(marked) != 1)}"
        more = f"<details><summary>{label}</summary>{_text(chunk, marked, Span(0, len(chunk.text)))}</details>"
    path = " › ".join(headings(passage.title, chunk.heading_path)) or "lead"
    return (
        f'<article class="sl-card" data-document="{escape(chunk.document_id)}">'
        f'<h2 dir="auto"><span class="sl-rank">{passage.rank}</span>{escape(passage.title)}{badge}</h2>'
        f'<div class="sl-path" dir="auto">{escape(path)}</div>'
        f"{_text(chunk, marked, _trimmed(chunk.text, shown), start=shown.start > body, end=shown.end < len(chunk.text))}{more}"
        f"{_scores(passage, best, depths, fusion)}{why}{_place(passage)}{_attribution(passage, about)}</article>"
    )


def body_start(text: str) -> int:
    """Where a passage goes on after the headings that it begins with: they stand above it already."""
    return _HEADINGS.match(text).end()  # type: ignore[union-attr]


def headings(title: str, path: Sequence[str]) -> Sequence[str]:
    """A heading path without the document's title, where that is its first heading."""
    return path[1:] if path[:1] == (title,) else path


def notice(sentences: Sequence[str], *, problem: bool = False) -> str:
    """Sentences in a box, as text: what a link, a question or a document put into them is not read as Markdown."""
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return f'<div class="sl-notice{" sl-problem" if problem else ""}" role="{"alert" if problem else "status"}">{paragraphs}</div>'


def marked_html(text: str, marked: Sequence[Span], part: Span) -> str:
    """`text[part]` as HTML with the spans in it marked."""
    pieces, at = [], part.start
    for span in marked:
        if span.start >= part.start and span.end <= part.end:
            pieces += [escape(text[at : span.start]), "<mark>", escape(text[span.start : span.end]), "</mark>"]
            at = span.end
    return "".join([*pieces, escape(text[at : part.end])])


def _trimmed(text: str, part: Span) -> Span:
    """The part without line ends at its ends."""
    held = text[part.start : part.end]
    start = part.start + len(held) - len(held.lstrip("\n"))
    return Span(start, max(start, part.end - (len(held) - len(held.rstrip("\n")))))


def _text(chunk: Chunk, marked: Sequence[Span], part: Span, *, start: bool = False, end: bool = False) -> str:
    """A part of a passage, with dots where it goes on; it says which characters of the document it is, for what is selected in it."""
    lead, tail = "… " * start, " …" * end
    place = f'data-start="{chunk.start + part.start}" data-end="{chunk.start + part.end}" data-lead="{len(lead)}"'
    return f'<div class="sl-text" dir="auto" {place}>{lead}{marked_html(chunk.text, marked, part)}{tail}</div>'


def _scores(passage: Passage, best: Mapping[str, float], depths: Mapping[str, int], fusion: str) -> str:
    """A bar per stage that ran, as long as its share of the stage's best score; a stage that did not find it says so."""
    rows = []
    for stage, top in best.items():
        name = f'<span class="sl-ink-{stage}">{STAGE_NAMES[stage]}</span>'
        if stage in passage.hit.ranks:
            score = passage.hit.scores[stage]
            width = max(0.0, min(1.0, score / top)) if top > 0 else 0.0
            bar = f'<div class="sl-track"><i class="sl-bar-{stage}" style="width:{width:.1%}"></i></div>'
            value = f"#{passage.hit.ranks[stage]} · {SCORE_UNITS[fusion if stage == 'fused' else stage]} {score:.{4 if stage == 'fused' else 2}f}"
            rows.append(f"{name}{bar}<span>{value}</span>")
        else:
            rows.append(f'{name}<div class="sl-track"></div><span class="sl-absent">not among its {depths[stage]}</span>')
    return f'<div class="sl-scores">{"".join(rows)}</div>'


def _place(passage: Passage) -> str:
    """Where in its document the passage stands."""
    length = max(1, passage.document_length)
    left, width = passage.chunk.start / length, (passage.chunk.end - passage.chunk.start) / length
    return (
        f'<div class="sl-place" title="Place in the document"><i style="left:{left:.1%};width:{width:.1%}"></i></div>'
        f'<div class="sl-small">characters {passage.chunk.start:,}–{passage.chunk.end:,} of {passage.document_length:,}</div>'
    )


def _attribution(passage: Passage, about: Mapping[str, DocumentInfo]) -> str:
    documents = [(each.source, about.get(each.chunk.document_id)) for each in (passage, *passage.twins)]
    lines = dict.fromkeys(source_html(source, document) for source, document in documents)
    return "".join(f'<div class="sl-small">{line}</div>' for line in lines)


def source_html(source: Source, document: DocumentInfo | Document | None = None) -> str:
    """Where a text is from: title, address, licence; of a document also the revision, where that is an address, and when it was read."""
    parts = [escape(source.title), link_html(source.url), escape(license_words(source))]
    if document is not None:
        if is_address(document.revision):
            parts.append(link_html(document.revision, "this revision"))
        if document.fetched_at:
            parts.append(f"fetched {escape(document.fetched_at[:16].replace('T', ' '))}")
    return " · ".join(parts)


def is_address(text: str) -> bool:
    """Whether a browser can be sent there."""
    return text.startswith(("https://", "http://"))


def link_html(url: str, words: str = "") -> str:
    """A link that opens in a window of its own, or the text where it is no address."""
    told = escape(words or url)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{told}</a>' if is_address(url) else told


def why_html(weights: Sequence[WordWeight], asked_as: Mapping[str, str], nowhere: Collection[str], *, chunks: int) -> str:
    """What each word of the question adds to the passage's BM25 score, as a line that unfolds to a table.

    `asked_as` says how the reader wrote each word; `nowhere` are the words that none of the `chunks` of the index holds.
    """
    missing = [written for word, written in asked_as.items() if word not in nowhere and word not in {each.word for each in weights}]
    absent = "".join(
        f'<div class="sl-small">{label}: {escape(", ".join(listed))}</div>'
        for label, listed in (
            ("not in this passage", missing),
            ("nowhere in the corpus", [asked_as[word] for word in asked_as if word in nowhere]),
        )
        if listed
    )
    if not weights:
        return f'<div class="sl-small">No word of the question stands here.</div>{absent}'
    total = sum(each.weight for each in weights)
    line = " · ".join(f"{escape(asked_as.get(each.word, each.word))} {each.weight:.2f}" for each in weights)
    rows = "".join(
        f'<tr><th scope="row">{escape(asked_as.get(each.word, each.word))}</th><td>{each.count}×</td><td>{each.holders:,} of {chunks:,}</td>'
        f"<td>{each.weight:.2f}</td><td>{each.weight / total if total else 0:.0%}</td></tr>"
        for each in weights
    )
    return (
        f"<details><summary>Words: {line} (= {total:.2f})</summary>"
        "<table><thead><tr><th>word</th><th>here</th><th>chunks with it</th><th>BM25</th><th>share</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{absent}</details>"
    )


def license_words(source: Source) -> str:
    """The licence, or that none is stated."""
    return "licence not stated" if source.license == UNSTATED else source.license


def stage_tops(stages: Sequence[Stage]) -> tuple[dict[str, float], dict[str, int]]:
    """The best score and the number of ranked chunks of each stage that ranks, in the order of the bars."""
    names = {"dense": "dense", "keyword": "keyword", "fusion": "fused"}
    ran = {names[stage.name]: stage for stage in stages if stage.name in names}
    return {name: stage.hits[0].score if stage.hits else 0.0 for name, stage in ran.items()}, {
        name: len(stage.hits) for name, stage in ran.items()
    }


def contribution_html(found: Sequence[Contribution], retrieval: Retrieval, titles: Mapping[str, str]) -> str:
    """In words: what dense alone and keyword alone would have missed, and shown instead. `titles` names chunks by id."""
    columns = []
    for contribution in found:
        stage = retrieval.trace.stage(contribution.retriever)
        name = f'<b class="sl-ink-{contribution.retriever}">{contribution.retriever.capitalize()} alone</b>'
        if stage is None or not stage.hits:
            columns.append(f"<div>{name} finds nothing.</div>")
            continue
        ranks = {hit.chunk_id: rank for rank, hit in enumerate(stage.hits, start=1)}
        missed = [f"{titles[id_]} ({f'its #{ranks[id_]}' if id_ in ranks else 'not found by it'})" for id_ in contribution.missing]
        instead = [titles[id_] for id_ in contribution.instead]
        body = _line("misses", missed) + _line("shows instead", instead)
        same = " would show the same passages." if not body else f"<dl>{body}</dl>"
        columns.append(f"<div>{name}{same}</div>")
    return f'<div class="sl-found">{"".join(columns)}</div>'


def _line(label: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"<dt>{label}</dt><dd>{'; '.join(escape(name) for name in names[:NAMED])}{more}</dd>"
