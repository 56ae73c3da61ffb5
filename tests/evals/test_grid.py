"""Grids: every combination once, in order, and what cannot run told apart."""

from collections.abc import Mapping, Sequence
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grid import BUNDLED_PRESETS, MAX_CONFIGURATIONS, REPRODUCTION, Grid, expand, parse_grid
from sitt_core.configuration import Configuration, configure, require_retriever
from sitt_core.errors import InvalidInput

DEFAULT = Configuration()


def expanded(grid: Mapping[str, Sequence[object]], *bases: Configuration) -> list[dict[str, object]]:
    """What the configurations of a grid set, field by field."""
    return [{name: made[name] for name in grid} for made in expand(grid, bases or [DEFAULT]).configurations]


class TestParsing:
    @pytest.mark.parametrize(
        ("pairs", "grid"),
        [
            pytest.param([], {}, id="none"),
            pytest.param(["keyword=bm25s,off"], {"keyword": ["bm25s", "off"]}, id="two values"),
            pytest.param(["top_k=3"], {"top_k": [3]}, id="one value"),
            pytest.param(["top_k=9,3"], {"top_k": [9, 3]}, id="numbers, in their order"),
            pytest.param(["fusion.alpha=0,.25,1"], {"fusion.alpha": [0.0, 0.25, 1.0]}, id="real numbers"),
            pytest.param([" top_k = 3 , 5 ,"], {"top_k": [3, 5]}, id="spaces and a comma at the end"),
            pytest.param(["top_k=3,3"], {"top_k": [3, 3]}, id="a value twice"),
            pytest.param(["keyword=off", "dense=exact,hnsw"], {"keyword": ["off"], "dense": ["exact", "hnsw"]}, id="two fields"),
            pytest.param(["embedder=minilm,st:org/a=b"], {"embedder": ["minilm", "st:org/a=b"]}, id="an equals sign in a name"),
        ],
    )
    def test_options_become_values(self, pairs: list[str], grid: dict[str, list[object]]) -> None:
        """By field, the fields and the values in the order they are given."""
        parsed = parse_grid(pairs)
        assert parsed == grid
        assert list(parsed) == list(grid)

    @pytest.mark.parametrize(
        ("pairs", "expected", "got"),
        [
            pytest.param(["keyword"], "--grid FIELD=VALUE,VALUE", "'keyword'", id="no equals sign"),
            pytest.param(["keyword="], "--grid FIELD=VALUE,VALUE", "'keyword='", id="no value"),
            pytest.param(["keyword= , ,"], "--grid FIELD=VALUE,VALUE", "'keyword= , ,'", id="blank values"),
            pytest.param([""], "--grid FIELD=VALUE,VALUE", "''", id="empty"),
            pytest.param(["=3"], "one of the fields", "''", id="no field"),
            pytest.param(["topk=3"], "one of the fields", "'topk'", id="unknown field"),
            pytest.param(["top_k=3,many"], "top_k to be a whole number from 1 to 100", "'many'", id="word for a number"),
            pytest.param(["top_k=0"], "top_k to be a whole number from 1 to 100", "'0'", id="below the least"),
            pytest.param(["top_k=2.5"], "top_k to be a whole number from 1 to 100", "'2.5'", id="half"),
            pytest.param(["dense=on"], "dense to be exact | hnsw | off", "'on'", id="unknown value"),
            pytest.param(["Dense=off"], "one of the fields", "'Dense'", id="another case"),
            pytest.param(["top_k=3", "dense=off", "top_k =5"], "each field once in a grid", "'top_k' twice", id="a field twice"),
        ],
    )
    def test_what_cannot_be_read_is_named(self, pairs: list[str], expected: str, got: str) -> None:
        """With what is allowed and what came."""
        with pytest.raises(InvalidInput) as caught:
            parse_grid(pairs)
        assert expected in caught.value.expected
        assert caught.value.got == got


class TestExpanding:
    def test_the_last_field_varies_fastest(self) -> None:
        """Bases in their order, each with every combination in the order of the grid."""
        grid = {"keyword": ["off", "bm25s"], "top_k": [9, 3]}
        combinations = [(keyword, top_k) for keyword in ("off", "bm25s") for top_k in (9, 3)]
        assert [tuple(made.values()) for made in expanded(grid)] == combinations
        bases = [configure({"embedder": name}) for name in ("static-minilm", "minilm")]
        made = expand(grid, bases).configurations
        assert [(each.embedder, each.keyword, each.top_k) for each in made] == [
            (base.embedder, *combination) for base in bases for combination in combinations
        ]

    def test_without_a_grid_there_are_the_bases(self) -> None:
        """Each once and as it is; without a base there is nothing."""
        bases = [configure({"top_k": 9}), DEFAULT, configure({"dense": "off"})]
        assert expand({}, bases) == Grid(tuple(bases))
        assert expand({"top_k": [3]}, []) == Grid(())

    def test_everything_else_is_the_base_s(self) -> None:
        """Only the fields of the grid change."""
        base = configure({"chunking.strategy": "fixed", "chunking.size": 99, "top_k": 9})
        assert expand({"keyword": ["off"]}, [base]).configurations == (configure({"keyword": "off"}, base),)

    @pytest.mark.parametrize(
        ("grid", "base", "kept", "duplicates"),
        [
            pytest.param({"keyword": ["bm25s", "bm25s"]}, {}, 1, 1, id="a value given twice"),
            pytest.param({"fusion.k": [10, 60]}, {"keyword": "off"}, 1, 1, id="k, with one retriever: there is nothing to fuse"),
            pytest.param({"fusion.k": [10, 60]}, {"dense": "off"}, 1, 1, id="k, with the other retriever"),
            pytest.param({"fusion.k": [10, 60]}, {"fusion": "convex"}, 1, 1, id="k, which convex fusion does not have"),
            pytest.param({"fusion.k": [10, 60]}, {}, 2, 0, id="k, which rank fusion has"),
            pytest.param({"fusion.alpha": [0.2, 0.5, 0.8]}, {}, 1, 2, id="alpha, which rank fusion does not have"),
            pytest.param({"hnsw.ef_search": [100, 320]}, {}, 1, 1, id="ef_search, while dense is exact"),
            pytest.param({"chunking.breakpoint": [80, 90]}, {}, 1, 1, id="a breakpoint, while chunking is not semantic"),
        ],
    )
    def test_what_comes_to_the_same_is_kept_once(
        self, grid: Mapping[str, Sequence[object]], base: Mapping[str, object], kept: int, duplicates: int
    ) -> None:
        """The first of those whose key is the same; how many others there were is counted."""
        made = expand(grid, [configure(base)])
        assert (len(made.configurations), made.duplicates, made.skipped) == (kept, duplicates, ())
        first = {name: values[0] for name, values in grid.items()}
        assert made.configurations[0] == configure(first, configure(base))

    def test_bases_that_are_the_same_are_kept_once(self) -> None:
        """Given twice, or made the same by the grid."""
        bases = [DEFAULT, DEFAULT, configure({"top_k": 9})]
        assert expand({}, bases) == Grid((DEFAULT, bases[2]), duplicates=1)
        assert expand({"top_k": [5]}, bases) == Grid((DEFAULT,), duplicates=2)

    @pytest.mark.parametrize(
        ("grid", "kept", "skipped"),
        [
            pytest.param(
                {"dense": ["exact", "off"], "keyword": ["bm25s", "off"]},
                [("exact", "bm25s"), ("exact", "off"), ("off", "bm25s")],
                ["dense=off, keyword=off: expected dense or keyword to be on"],
                id="neither retriever",
            ),
            pytest.param(
                {"top_k": [5, 51]}, [(5,)], ["top_k=51: expected top_k of at most fusion.candidates (50); got 51"], id="K above candidates"
            ),
            pytest.param(
                {"fusion.candidates": [4, 100], "top_k": [5, 100]},
                [(100, 5), (100, 100)],
                [
                    "fusion.candidates=4, top_k=5: expected top_k of at most fusion.candidates (4); got 5",
                    "fusion.candidates=4, top_k=100: expected top_k of at most fusion.candidates (4); got 100",
                ],
                id="fewer candidates than K",
            ),
            pytest.param(
                {"chunking.strategy": ["fixed"], "chunking.size": [16, 64]},
                [("fixed", 64)],
                ["chunking.strategy=fixed, chunking.size=16: expected chunking.overlap below chunking.size (16 tokens); got 32"],
                id="overlap above size",
            ),
        ],
    )
    def test_what_cannot_run_is_told(
        self, grid: Mapping[str, Sequence[object]], kept: list[tuple[object, ...]], skipped: list[str]
    ) -> None:
        """Each with its values, the reason and what to do; the others stay."""
        made = expand(grid, [DEFAULT])
        assert [tuple(each[name] for name in grid) for each in made.configurations] == kept
        assert len(made.skipped) == len(skipped)
        for told, expected in zip(made.skipped, skipped, strict=True):
            assert told.startswith(expected)
            assert told.endswith(".")

    def test_a_base_that_cannot_run_is_told_by_its_name(self) -> None:
        """Without a grid there are no values to name it by."""
        (told,) = expand({}, [configure({"dense": "off", "keyword": "off"})]).skipped
        assert told.startswith("structural-500·minilm·none·k5: expected dense or keyword to be on")

    def test_what_cannot_run_is_told_with_its_base(self) -> None:
        """So that no two lines are the same."""
        bases = [configure({"embedder": name}) for name in ("static-minilm", "minilm")]
        skipped = expand({"dense": ["off"], "keyword": ["off"]}, bases).skipped
        assert len(set(skipped)) == len(skipped) == 2

    def test_nothing_but_what_cannot_run(self) -> None:
        """An empty grid that says why it is empty."""
        made = expand({"dense": ["off"]}, [configure({"keyword": "off"})])
        assert (made.configurations, len(made.skipped)) == ((), 1)

    @pytest.mark.parametrize(
        ("strategies", "sizes"),
        [
            pytest.param(["fixed", "sentence", "structural"], [(256, 32), (1024, 0), (500, 1)], id="sized"),
            pytest.param(["semantic", "whole"], [(500, 0), (8000, 0)], id="semantic and whole"),
        ],
    )
    def test_a_new_strategy_brings_its_own_size(self, strategies: list[str], sizes: list[tuple[int, int]]) -> None:
        """And its own overlap, in its own units, unless the grid gives them; the base's own strategy keeps the base's."""
        made = expand({"chunking.strategy": strategies}, [DEFAULT]).configurations
        assert [(each.chunking_size, each.chunking_overlap) for each in made] == sizes

    def test_a_size_of_the_grid_is_kept(self) -> None:
        """For a new strategy as for the base's."""
        base = configure({"chunking.size": 300, "chunking.overlap": 0})
        assert expanded({"chunking.strategy": ["structural", "fixed"]}, base) == [
            {"chunking.strategy": "structural"},
            {"chunking.strategy": "fixed"},
        ]
        sizes = [each.chunking_size for each in expand({"chunking.strategy": ["structural", "fixed"]}, [base]).configurations]
        assert sizes == [300, 256]
        made = expand({"chunking.strategy": ["fixed", "sentence"], "chunking.size": [100, 200]}, [base]).configurations
        assert [each.chunking_size for each in made] == [100, 200, 100, 200]

    @pytest.mark.parametrize(
        ("bases", "values", "fine"),
        [
            pytest.param(1, (MAX_CONFIGURATIONS,), True, id="at the limit"),
            pytest.param(1, (MAX_CONFIGURATIONS + 1,), False, id="one above"),
            pytest.param(2, (MAX_CONFIGURATIONS // 2,), True, id="bases at the limit"),
            pytest.param(3, (MAX_CONFIGURATIONS // 2,), False, id="bases above"),
            pytest.param(1, (30, 20), False, id="fields above"),
            pytest.param(1, (1000, 1000), False, id="a million"),
        ],
    )
    def test_there_is_an_end_to_it(self, bases: int, values: tuple[int, ...], fine: bool) -> None:
        """Bases times combinations, before anything is made of them; the error says how many."""
        names = ("fusion.k", "fusion.candidates")
        grid = {name: list(range(101, 101 + count)) for name, count in zip(names, values, strict=False)}
        if fine:
            made = expand(grid, [DEFAULT] * bases)
            assert len(made.configurations) + made.duplicates == MAX_CONFIGURATIONS
        else:
            with pytest.raises(InvalidInput, match=f"at most {MAX_CONFIGURATIONS} configurations; got {bases * prod(values):,}"):
                expand(grid, [DEFAULT] * bases)

    @given(
        st.fixed_dictionaries(
            {},
            optional={
                "chunking.strategy": st.lists(st.sampled_from(["structural", "fixed", "whole"]), min_size=1, max_size=3),
                "chunking.size": st.lists(st.sampled_from([20, 300]), min_size=1, max_size=2),
                "dense": st.lists(st.sampled_from(["exact", "hnsw", "off"]), min_size=1, max_size=3),
                "keyword": st.lists(st.sampled_from(["bm25s", "off"]), min_size=1, max_size=2),
                "fusion.candidates": st.lists(st.sampled_from([3, 50]), min_size=1, max_size=2),
                "top_k": st.lists(st.sampled_from([3, 5]), min_size=1, max_size=2),
            },
        ),
        st.lists(st.sampled_from([DEFAULT, configure({"top_k": 9}), configure({"keyword": "off"})]), max_size=2),
    )
    def test_nothing_is_lost(self, grid: dict[str, list[object]], bases: list[Configuration]) -> None:
        """Every combination is kept, counted as the same as another, or skipped with a reason; what is kept can run."""
        made = expand(grid, bases)
        total = len(bases) * prod(len(values) for values in grid.values())
        assert len(made.configurations) + made.duplicates + len(made.skipped) == total
        assert len({each.key for each in made.configurations}) == len(made.configurations)
        for each in made.configurations:
            require_retriever(each)
            assert configure(each.to_dict()) == each


class TestPresets:
    @pytest.mark.parametrize("name", BUNDLED_PRESETS)
    def test_a_bundled_preset_is_a_configuration(self, name: str) -> None:
        """Valid as it is, with a retriever on, and every field that it sets is as it says."""
        made = configure(BUNDLED_PRESETS[name])
        require_retriever(made)
        assert {field: made[field] for field in BUNDLED_PRESETS[name]} == BUNDLED_PRESETS[name]
        assert expand({}, [made]) == Grid((made,))

    def test_the_default_changes_nothing(self) -> None:
        """It is what is served."""
        assert configure(BUNDLED_PRESETS["default"]) == DEFAULT

    def test_the_reproduction_is_as_figures_are_published(self) -> None:
        """A document is one text, cut where the model stops reading, both retrievers on, a hundred of each."""
        assert BUNDLED_PRESETS["reproduction"] == REPRODUCTION
        made = configure(REPRODUCTION)
        assert (made.chunking_strategy, made.overlong, made.mode, made.fusion_candidates) == ("whole", "truncate", "hybrid", 100)
