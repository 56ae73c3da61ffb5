"""One ranking out of several: reciprocal rank fusion, or a convex sum of normalised scores."""

import math
from collections.abc import Mapping, Sequence

from sitt_core.types import Hit


def fuse_rrf(rankings: Mapping[str, Sequence[Hit]], *, k: int = 60) -> list[Hit]:
    """Every ranked chunk once, by Σ 1 / (k + rank) over the rankings that hold it, ties by chunk id.

    Ranks are 1-based; a ranking that does not hold a chunk adds nothing. The ranks and scores that the rankings gave
    stay on the hit, "fused" beside them. Source: Cormack, Clarke and Büttcher, SIGIR 2009, where k is 60.
    """
    addends: dict[str, list[float]] = {}
    for ranking in rankings.values():
        for rank, hit in enumerate(ranking, start=1):
            addends.setdefault(hit.chunk_id, []).append(1.0 / (k + rank))
    return _ordered(addends, rankings)


def fuse_convex(rankings: Mapping[str, Sequence[Hit]], *, alpha: float = 0.5) -> list[Hit]:
    """Every ranked chunk once, by Σ weight · (score − least) / (most − least) over the rankings that hold it, ties by chunk id.

    `alpha` is the weight of "dense", the others share the rest; rankings that found nothing leave theirs to those that
    did. A ranking's scores are normalised over its own candidates: all are 1 when none differs, and what it did not
    find counts 0, like its last. Ranks and scores stay on the hit as in `fuse_rrf`. Source: Bruch, Gai and Ingber,
    TOIS 2023 ("convex combination", min-max).
    """
    addends: dict[str, list[float]] = {}
    for name, weight in _weights([name for name, ranking in rankings.items() if ranking], alpha).items():
        for hit, share in zip(rankings[name], _normalised([hit.score for hit in rankings[name]]), strict=True):
            addends.setdefault(hit.chunk_id, []).append(weight * share)
    return _ordered(addends, rankings)


def _weights(found: Sequence[str], alpha: float) -> dict[str, float]:
    """What each ranking that found something counts; they add up to 1."""
    if len(found) == 1 or "dense" not in found:
        return {name: 1.0 / len(found) for name in found}
    return {name: alpha if name == "dense" else (1.0 - alpha) / (len(found) - 1) for name in found}


def _normalised(scores: Sequence[float]) -> list[float]:
    least, most = min(scores), max(scores)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def _ordered(addends: Mapping[str, Sequence[float]], rankings: Mapping[str, Sequence[Hit]]) -> list[Hit]:
    """The chunks by the sum of what the rankings add, which no order of the rankings changes, with everything they gave."""
    ranks: dict[str, dict[str, int]] = {}
    scores: dict[str, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for rank, hit in enumerate(ranking, start=1):
            ranks.setdefault(hit.chunk_id, {})[name] = rank
            scores.setdefault(hit.chunk_id, {})[name] = hit.score
    fused = {chunk_id: math.fsum(added) for chunk_id, added in addends.items()}
    order = sorted(fused, key=lambda chunk_id: (-fused[chunk_id], chunk_id))
    hits = []
    for rank, chunk_id in enumerate(order, start=1):
        ranks[chunk_id]["fused"], scores[chunk_id]["fused"] = rank, fused[chunk_id]
        hits.append(Hit(chunk_id, fused[chunk_id], ranks[chunk_id], scores[chunk_id]))
    return hits
