"""What is stored and what runs, as data that a terminal and a page can show."""

from pathlib import Path
from typing import Any

from sitt_core import jobs
from sitt_core.errors import SourceError
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.progress import progress_line

_SOURCE = "source:"


def sources_of(corpus: Corpus | None) -> dict[str, str]:
    """Where each origin of a corpus was read from: what `update --source` takes."""
    meta = corpus.meta if corpus else {}
    return {name.removeprefix(_SOURCE): place for name, place in meta.items() if name.startswith(_SOURCE)}


def check_place(corpus: Corpus | None, origin: str, place: str) -> None:
    """Raises SourceError when the corpus has read that origin from another folder, whose documents this one would retire."""
    known = sources_of(corpus).get(origin, place)
    if known != place:
        raise SourceError(
            expected=f"{origin} to be the folder that this corpus knows under that name ({known})",
            got=place,
            remedy="Add --moved if the folder has moved; for another folder of the same name use a corpus of its own: --corpus NAME",
        )


def describe(corpus: Corpus) -> dict[str, Any]:
    """A corpus: its generation, documents by category, sources, and the indexes with their sizes."""
    return {
        "name": corpus.name,
        "generation": corpus.generation,
        "published_at": corpus.meta.get("published_at", ""),
        "language": corpus.meta.get("language", ""),
        "documents": len(corpus.documents),
        "categories": corpus.values("category"),
        "sources": sources_of(corpus),
        "indexes": [{"index_key": key, "bytes": size} for key, size in corpus.index_sizes().items()],
    }


def describe_jobs(jobs_dir: Path) -> list[dict[str, Any]]:
    """The latest jobs, newest first."""
    return [
        {
            "id": job.id,
            "title": job.title,
            "state": job.state,
            "progress": progress_line(job.stage, job.done, job.total, job.seconds_left),
            "message": job.message,
        }
        for job in jobs.recent(jobs_dir, 5)
    ]


def as_text(overview: dict[str, Any]) -> str:
    """The same for a terminal."""
    lines = []
    for corpus in overview["corpora"]:
        lines.append(f"{corpus['name']}: generation {corpus['generation']}, {corpus['documents']:,} documents, {corpus['language']}")
        lines += [f"  source {origin} ({place})" for origin, place in corpus["sources"].items()]
        lines += [f"  index {index['index_key']}: {index['bytes'] / 2**20:.1f} MB" for index in corpus["indexes"]]
    lines += [f"{broken['name']}: {broken['error']['message']}" for broken in overview["broken"]]
    if not lines:
        lines.append("No corpus yet. Make one: python -m sitt_core update --source field-guide --yes")
    lines += [f"job {job['id']}: {job['title']}, {job['state']}; {job['progress']}" for job in overview["jobs"]]
    return "\n".join(lines)
