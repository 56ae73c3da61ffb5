"""Which configurations a run compares: presets and grids over any fields, each once, what cannot run told apart."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sitt_core.configuration import Configuration, configure, parse_field, require_retriever
from sitt_core.errors import InvalidInput, shown

MAX_CONFIGURATIONS = 500

REPRODUCTION: dict[str, object] = {
    "chunking.strategy": "whole",
    "chunking.header": "on",
    "overlong": "truncate",
    "embedder": "minilm",
    "keyword": "bm25s",
    "keyword.stopwords": "short",
    "fusion": "convex",
    "fusion.candidates": 100,
}
"""As the published BEIR figures were made: a document is one text, title first, cut where the model stops reading.

For hybrids there is no published figure of these two; convex is what serves them best on scifact (docs/findings.md).
"""
BUNDLED_PRESETS: Mapping[str, Mapping[str, object]] = {"default": {}, "reproduction": REPRODUCTION}


@dataclass(frozen=True, slots=True)
class Grid:
    """The configurations of a run in order, each once; `skipped` says of each that cannot run which and why."""

    configurations: tuple[Configuration, ...]
    skipped: tuple[str, ...] = ()
    duplicates: int = 0


def parse_grid(pairs: Sequence[str]) -> dict[str, list[object]]:
    """`field=a,b` options as values by field; raises InvalidInput for an unknown field or value."""
    grid: dict[str, list[object]] = {}
    for pair in pairs:
        name, equals, values = pair.partition("=")
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not listed:
            raise InvalidInput(expected="--grid FIELD=VALUE,VALUE", got=shown(pair), remedy="For example --grid keyword=bm25s,off")
        if name.strip() in grid:
            raise InvalidInput(
                expected="each field once in a grid", got=f"{shown(name.strip())} twice", remedy="Give all its values in one list."
            )
        grid[name.strip()] = [parse_field(name.strip(), value) for value in listed]
    return grid


def expand(grid: Mapping[str, Sequence[object]], bases: Sequence[Configuration]) -> Grid:
    """Every combination of the grid's values on every base, the last field varying fastest.

    Raises InvalidInput when there are more than `MAX_CONFIGURATIONS`.
    """
    count = len(bases)
    for values in grid.values():
        count *= len(values)
    if count > MAX_CONFIGURATIONS:
        raise InvalidInput(expected=f"at most {MAX_CONFIGURATIONS} configurations", got=f"{count:,}", remedy="Vary fewer fields at a time.")
    kept: dict[str, Configuration] = {}
    skipped, duplicates = [], 0
    for base in bases:
        for values in itertools.product(*grid.values()):
            changes = dict(zip(grid, values, strict=True))
            try:
                made = configure(changes, base)
                require_retriever(made)
            except InvalidInput as error:
                what = ", ".join(f"{name}={value}" for name, value in changes.items())
                named = " with ".join([base.slug, what] if what and len(bases) > 1 else [what or base.slug])
                skipped.append(f"{named}: {error}")
                continue
            duplicates += made.key in kept
            kept.setdefault(made.key, made)
    return Grid(tuple(kept.values()), tuple(skipped), duplicates)
