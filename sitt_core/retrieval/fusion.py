"""One ranking out of several: reciprocal rank fusion."""

import math
from collections.abc import Mapping, Sequence

from sitt_core.types import Hit


def fuse_rrf(rankings: Mapping[str, Sequence[Hit]], *, k: int = 60) -> list[Hit]:
    """Every ranked chunk once, by Σ 1 / (k + rank) over the rankings that hold it, ties by chunk id.

    Ranks are 1-based; a ranking that does not hold a chunk adds nothing. The ranks and scores that the rankings gave
    stay on the hit, "fused" beside them. Source: Cormack, Clarke and Büttcher, SIGIR 2009, where k is 60.
    """
    ranks: dict[str, dict[str, int]] = {}
    scores: dict[str, dict[str, float]] = {}
    for name, ranking in rankings.items():
        for rank, hit in enumerate(ranking, start=1):
            ranks.setdefault(hit.chunk_id, {})[name] = rank
            scores.setdefault(hit.chunk_id, {})[name] = hit.score
    fused = {chunk_id: math.fsum(1.0 / (k + rank) for rank in held.values()) for chunk_id, held in ranks.items()}
    order = sorted(fused, key=lambda chunk_id: (-fused[chunk_id], chunk_id))
    return [
        Hit(chunk_id, fused[chunk_id], {**ranks[chunk_id], "fused": rank}, {**scores[chunk_id], "fused": fused[chunk_id]})
        for rank, chunk_id in enumerate(order, start=1)
    ]
