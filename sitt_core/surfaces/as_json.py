"""What results look like as JSON, the same on every surface."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sitt_core.configuration import Configuration
from sitt_core.ingest import Built
from sitt_core.plan import SectionChange, Update
from sitt_core.store.admin import GenerationInfo, Purge
from sitt_core.store.reading import DocumentInfo
from sitt_core.types import Answer, Citation, Document, Passage, Retrieval, Source, Trace


def source_json(source: Source) -> dict[str, str]:
    """The attribution block."""
    return {"title": source.title, "url": source.url, "license": source.license}


def hit_json(passage: Passage) -> dict[str, Any]:
    """A passage; `start` and `end` slice the document's text, `also_in` names documents with the very same text."""
    return {
        "rank": passage.rank,
        "document": passage.chunk.document_id,
        "title": passage.title,
        "heading_path": list(passage.chunk.heading_path),
        "start": passage.chunk.start,
        "end": passage.chunk.end,
        "text": passage.chunk.text,
        "score": passage.hit.score,
        "ranks": dict(passage.hit.ranks),
        "scores": dict(passage.hit.scores),
        "source": source_json(passage.source),
        "also_in": [
            {"document": twin.chunk.document_id, "start": twin.chunk.start, "end": twin.chunk.end, "source": source_json(twin.source)}
            for twin in passage.twins
        ],
    }


def trace_json(trace: Trace) -> dict[str, Any]:
    """The stages in order, each with the chunk ids it ranked."""
    stages = [
        {
            "name": stage.name,
            "started_ms": round(stage.started, 3),
            "ms": round(stage.milliseconds, 3),
            "in": stage.taken,
            "out": len(stage.hits),
            "note": stage.note,
            "ranking": [hit.chunk_id for hit in stage.hits],
        }
        for stage in trace.stages
    ]
    return {"ms": round(trace.milliseconds, 3), "stages": stages, "notices": list(trace.notices)}


def retrieval_json(configuration: Configuration, retrieval: Retrieval) -> dict[str, Any]:
    """A whole search: configuration, hits, trace."""
    return {
        "question": retrieval.question,
        "configuration": configuration.to_dict(),
        "hits": [hit_json(passage) for passage in retrieval.passages],
        "trace": trace_json(retrieval.trace),
    }


def citation_json(citation: Citation) -> dict[str, Any]:
    """A checked citation; `start` and `end` slice the document's text, and are null where the quote does not stand in one piece."""
    return {
        "marker": citation.marker,
        "document": citation.document_id,
        "title": citation.title,
        "start": citation.span.start if citation.span else None,
        "end": citation.span.end if citation.span else None,
        "quote": citation.quote,
        "verdict": citation.verdict,
        "source": source_json(citation.source),
        "revision": citation.revision,
    }


def answer_json(configuration: Configuration, answer: Answer) -> dict[str, Any]:
    """A whole answer: configuration, text, checked citations, the sentences with their support, passages, trace, usage."""
    return {
        "question": answer.question,
        "configuration": configuration.to_dict(),
        "answer": answer.text,
        "refused": answer.refused,
        "stop": answer.stop,
        "citations": [citation_json(citation) for citation in answer.citations],
        "sentences": [
            {
                "start": sentence.span.start,
                "end": sentence.span.end,
                "markers": list(sentence.markers),
                "support": sentence.support,
                "missing": list(sentence.missing),
            }
            for sentence in answer.sentences
        ],
        "passages": [hit_json(passage) for passage in answer.passages],
        "trace": trace_json(answer.trace),
        "usage": {"provider": answer.provider, "model": answer.model, **asdict(answer.usage)},
        "note": answer.note,
    }


def update_json(update: Update, sections: Mapping[str, Sequence[SectionChange]], diffs: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What an update would do to one source's documents, by id; the sections that differ, and line by line where asked for."""
    return {
        "place": update.place,
        "plan": asdict(update.plan),
        "sections": {
            id_: [{"heading_path": list(each.heading_path), "how": each.how} for each in found] for id_, found in sections.items()
        },
        "notices": list(update.listing.notices),
        "diffs": {id_: list(lines) for id_, lines in diffs.items()},
    }


def document_json(document: Document | DocumentInfo) -> dict[str, Any]:
    """A document without its text."""
    return {
        "id": document.id,
        "title": document.title,
        "category": document.category,
        "region": document.region,
        "origin": document.origin,
        "source": source_json(document.source),
        "revision": document.revision,
        "fetched_at": document.fetched_at,
        "characters": document.characters if isinstance(document, DocumentInfo) else len(document.text),
    }


def generation_json(info: GenerationInfo) -> dict[str, Any]:
    """A kept generation."""
    return asdict(info)


def purge_json(planned: Purge) -> dict[str, Any]:
    """What a purge removes."""
    return {**asdict(planned), "before": planned.before.isoformat(timespec="seconds") if planned.before else ""}


def built_json(built: Built) -> dict[str, Any]:
    """What a build did."""
    return asdict(built)
