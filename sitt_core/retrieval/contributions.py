"""What each retriever brought to a result: which passages would come and go with one of them alone."""

from dataclasses import dataclass

from sitt_core.types import Retrieval


@dataclass(frozen=True, slots=True)
class Contribution:
    """A retriever against the shown result: what it alone would not have shown, and what it would have shown instead.

    Both are chunk ids, best first, at the same top-K.
    """

    retriever: str
    missing: tuple[str, ...]
    instead: tuple[str, ...]


def contributions(retrieval: Retrieval, top_k: int) -> tuple[Contribution, ...]:
    """One contribution per retriever of a hybrid result, dense first; empty when only one retriever ran."""
    ran = [stage for name in ("dense", "keyword") if (stage := retrieval.trace.stage(name)) is not None]
    if len(ran) < 2:
        return ()
    shown = [passage.chunk.id for passage in retrieval.passages]
    # A twin of a shown passage is that passage: the reader would see the same text.
    shown_as = {twin.chunk.id: passage.chunk.id for passage in retrieval.passages for twin in passage.twins}
    found = []
    for stage in ran:
        alone = list(dict.fromkeys(shown_as.get(hit.chunk_id, hit.chunk_id) for hit in stage.hits))[:top_k]
        missing = tuple(chunk_id for chunk_id in shown if chunk_id not in alone)
        instead = tuple(chunk_id for chunk_id in alone if chunk_id not in shown)
        found.append(Contribution(stage.name, missing, instead))
    return tuple(found)
