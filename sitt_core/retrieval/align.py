"""Several results side by side: which of their passages are the same, however they were cut, and how much they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sitt_core.retrieval.compare import shared
from sitt_core.types import Passage, Place


@dataclass(frozen=True, slots=True)
class Group:
    """Passages of several results that are the same: `ranks` holds, for each result, the ranks it gives them, best first."""

    number: int
    ranks: tuple[tuple[int, ...], ...]

    @property
    def sides(self) -> tuple[int, ...]:
        """The results that have it."""
        return tuple(side for side, ranks in enumerate(self.ranks) if ranks)


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two results share: documents, and characters, each as a part of what either has (Jaccard); 1 for two empty ones."""

    documents: float
    characters: float


def align(sides: Sequence[Sequence[Passage]]) -> tuple[Group, ...]:
    """Every passage of the results in one group with those that are the same, groups by their best rank, then by how many have it.

    Passages are the same when they share at least half of the shorter one's characters (`retrieval.compare.shared`), or
    are the same as a third: what one result cut in two stands for the whole in another.
    """
    members = [(side, passage) for side, passages in enumerate(sides) for passage in passages]
    leader = list(range(len(members)))

    def find(at: int) -> int:
        while leader[at] != at:
            at = leader[at]
        return at

    for at, (side, passage) in enumerate(members):
        for before in range(at):
            if members[before][0] != side and _same(passage, members[before][1]):
                leader[max(find(at), find(before))] = min(find(at), find(before))
    grouped: dict[int, list[tuple[int, int]]] = {}
    for at, (side, passage) in enumerate(members):
        grouped.setdefault(find(at), []).append((side, passage.rank))
    made = [
        tuple(tuple(sorted(rank for place, rank in group if place == side)) for side in range(len(sides))) for group in grouped.values()
    ]
    made.sort(key=lambda ranks: (min(rank for each in ranks for rank in each), -sum(map(bool, ranks))))
    return tuple(Group(number, ranks) for number, ranks in enumerate(made, start=1))


def _same(one: Passage, other: Passage) -> bool:
    return any(shared(_span(a), _span(b)) > 0 for a in places(one) for b in places(other))


def _span(place: Place) -> tuple[str, int, int]:
    return place.document_id, place.start, place.end


def places(passage: Passage) -> list[Place]:
    """Where a passage's text stands: its own place, then those of its twins."""
    return [Place(each.chunk.document_id, each.chunk.start, each.chunk.end) for each in (passage, *passage.twins)]


def overlap(one: Sequence[Passage], other: Sequence[Passage]) -> Overlap:
    """How much two results share."""
    documents = [{id_ for passage in side for id_ in passage.document_ids} for side in (one, other)]
    covered = [_covered(side) for side in (one, other)]
    common = sum(len(held & covered[1].get(id_, set())) for id_, held in covered[0].items())
    either = sum(len(held) for side in covered for held in side.values()) - common
    together = documents[0] | documents[1]
    return Overlap(len(documents[0] & documents[1]) / len(together) if together else 1.0, common / either if either else 1.0)


def _covered(passages: Sequence[Passage]) -> Mapping[str, set[int]]:
    """The characters that a result shows, by document; of a text that stands elsewhere too, its own place alone."""
    covered: dict[str, set[int]] = {}
    for passage in passages:
        covered.setdefault(passage.chunk.document_id, set()).update(range(passage.chunk.start, passage.chunk.end))
    return covered
