"""What is stored and what runs, as data that a terminal and a page can show."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sitt_core import jobs
from sitt_core.configuration import Configuration
from sitt_core.errors import SourceError
from sitt_core.ingest import SOURCE, needs_building
from sitt_core.journal import freshness
from sitt_core.store.reading import Corpus, IndexInfo
from sitt_core.surfaces.progress import human_bytes, progress_line, when


def sources_of(corpus: Corpus | None) -> dict[str, str]:
    """Where each origin of a corpus was read from: what `update --source` takes."""
    meta = corpus.meta if corpus else {}
    return {name.removeprefix(SOURCE): place for name, place in meta.items() if name.startswith(SOURCE)}


def check_place(corpus: Corpus | None, origin: str, place: str) -> None:
    """Raises SourceError when the corpus has read that origin from another place, whose documents this one would retire."""
    known = sources_of(corpus).get(origin, place)
    if known != place:
        raise SourceError(
            expected=f"{origin} to be what this corpus knows under that name ({known})",
            got=place,
            remedy="Add --moved if this is the same source, found elsewhere or asked for otherwise; for another one of the same name use a corpus of its own: --corpus NAME",
        )


def describe(corpus: Corpus, asked: Configuration, data_dir: Path) -> dict[str, Any]:
    """A corpus: its generation, documents by category, sources with how fresh they are, and the indexes with their sizes."""
    places = sources_of(corpus)
    return {
        "name": corpus.name,
        "generation": corpus.generation,
        "published_at": corpus.meta.get("published_at", ""),
        "language": corpus.meta.get("language", ""),
        "documents": len(corpus.documents),
        "categories": corpus.values("category"),
        "sources": places,
        "freshness": {origin: asdict(found) for origin, found in freshness(data_dir, corpus.name, places).items()},
        "retired": len(corpus.retired_documents()),
        "indexes": [_index(info) for info in corpus.indexes()],
        "asked": {**_configuration(asked), "built": corpus.has_index_for(asked)},
        "needs_building": [_configuration(configuration) for configuration in needs_building(corpus)],
    }


def _index(info: IndexInfo) -> dict[str, Any]:
    """An index: the configuration that it was made for, and what its file says of itself."""
    named = _configuration(info.configuration) if info.configuration else {"slug": "", "configuration": {}}
    facts = {name: info.meta.get(name, "") for name in ("embedder", "built_at", "hnsw", "hnsw_recall")}
    counts = {name: int(info.meta.get(name, "0")) for name in ("chunks", "windowed")}
    return {**named, "index_key": info.key, "bytes": info.size, **counts, **facts}


def _configuration(configuration: Configuration) -> dict[str, Any]:
    return {"index_key": configuration.index_key, "slug": configuration.slug, "configuration": configuration.to_dict()}


def describe_jobs(jobs_dir: Path, n: int = 5) -> list[dict[str, Any]]:
    """The latest jobs, newest first."""
    return [
        {
            "id": job.id,
            "title": job.title,
            "state": job.state,
            "progress": progress_line(job.stage, job.done, job.total, job.seconds_left),
            "message": job.message,
        }
        for job in jobs.recent(jobs_dir, n)
    ]


def as_text(overview: dict[str, Any]) -> str:
    """The same for a terminal."""
    lines = []
    for corpus in overview["corpora"]:
        lines.append(f"{corpus['name']}: generation {corpus['generation']}, {corpus['documents']:,} documents, {corpus['language']}")
        lines += [f"  source {origin} ({place}){_fresh(corpus['freshness'][origin])}" for origin, place in corpus["sources"].items()]
        for index in corpus["indexes"]:
            graph = f", HNSW {index['hnsw']}, recall {index['hnsw_recall']}" if index["hnsw"] else ""
            name = f" {index['slug']}" if index["slug"] else ""
            lines.append(f"  index {index['index_key']}{name}: {index['chunks']:,} chunks, {human_bytes(index['bytes'])}{graph}")
        lines += [f"  index {each['index_key']} {each['slug']}: needs building" for each in corpus["needs_building"]]
        asked = corpus["asked"]
        if not asked["built"] and asked["index_key"] not in {each["index_key"] for each in corpus["needs_building"]}:
            lines.append(f"  index {asked['index_key']} {asked['slug']}: needs building")
    lines += [f"{broken['name']}: {broken['error']['message']}" for broken in overview["broken"]]
    if not lines:
        lines.append("No corpus yet. Make one: python -m sitt_core update --source field-guide --yes")
    lines += [job_line(job) for job in overview["jobs"]]
    return "\n".join(lines)


def _fresh(found: Mapping[str, Any]) -> str:
    """When a source was last read as a whole, and what the last try met; empty where no update is known."""
    if not found["tried_at"]:
        return ""
    read = f", read {when(found['read_at'])}" if found["read_at"] else ", never read as a whole"
    failed = f"; {len(found['failures']):,} documents failed" if found["failures"] else ""
    problem = f"; {found['problem']}" if found["problem"] else ""
    return f"{read}{failed}{problem}"


def job_line(job: Mapping[str, Any]) -> str:
    """A described job on one line."""
    message = f" ({job['message']})" if job["message"] else ""
    return f"job {job['id']}: {job['title']}, {job['state']}; {job['progress']}{message}"
