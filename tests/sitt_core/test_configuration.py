"""A configuration is one valid value; whatever is wrong with it is named, from wherever it comes."""

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.configuration import (
    BY_NAME,
    FIELDS,
    GRAPH,
    MODELS,
    PROVIDER_KEYS,
    SIZING,
    UNSIZED,
    Configuration,
    Field,
    Value,
    applies,
    configure,
    configure_leniently,
    from_environment,
    parse_field,
    require_retriever,
)
from sitt_core.errors import InvalidInput

DEFAULT = Configuration()
FIXED = configure({"chunking.strategy": "fixed"})


def values_of(field: Field) -> st.SearchStrategy[Value]:
    if field.real:
        return st.floats(field.least, field.most)
    if field.free:
        return st.sampled_from(["gpt-9", "org/Model 1.5:tag", "models/é"])
    named = st.sampled_from([f"{prefix}some/Model-1" for prefix in field.prefixes] or [""]).filter(bool)
    return st.sampled_from([*field.choices, *field.hidden]) | named if field.choices else st.integers(field.least, field.most)


def others_of(field: Field) -> list[Value]:
    """Values of a field that are allowed but not its default, and contradict no other default."""
    if field.choices:
        named = [f"{prefix}some/Model-1" for prefix in field.prefixes]
        return [value for value in [*field.choices, *named, *field.hidden] if value != DEFAULT[field.name]]
    if field.real:
        return [0.0, 0.25, 1.0]
    if field.free:
        return ["some/Model-1"]
    return [value for value in (DEFAULT[field.name] + step for step in (-1, 1)) if field.least <= value <= field.most]  # type: ignore[operator]


NEEDED: dict[str, dict[str, object]] = {
    "chunking.embedder": {"chunking.strategy": "semantic"},
    "chunking.breakpoint": {"chunking.strategy": "semantic"},
    "hnsw.m": {"dense": "hnsw"},
    "hnsw.ef_construction": {"dense": "hnsw"},
    "hnsw.ef_search": {"dense": "hnsw"},
    "fusion.alpha": {"fusion": "convex"},
    "answer.model": {"answer.provider": "claude"},
}
"""What has to be set before a field makes any difference; the others always do, while fusion is rrf."""
CHANGES = [(field.name, value) for field in FIELDS for value in others_of(field)]
KEYS = ("chunking_key", "index_key", "retrieval_key", "key")
CHANGED = {"chunking": KEYS, "index": KEYS[1:], "retrieval": KEYS[2:], "view": KEYS[3:], "answer": KEYS[3:]}
ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.lists(st.integers(), max_size=2))
LINKS = st.dictionaries(
    st.one_of(st.sampled_from(list(BY_NAME)), st.text(max_size=8)),
    st.one_of(ANYTHING, st.integers(1, 60), st.sampled_from(["fixed", "sentence", "whole", "semantic", "off", "bm25s", "0.5"])),
    max_size=8,
)
VALID = st.dictionaries(st.just("chunking.strategy"), st.sampled_from(list(SIZING))).map(configure)


class TestFields:
    def test_names_are_unique(self) -> None:
        """No two fields share a name, an attribute or an environment variable."""
        for part in ("name", "attribute", "variable"):
            assert len({getattr(field, part) for field in FIELDS}) == len(FIELDS)

    @pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
    def test_the_default_is_allowed(self, field: Field) -> None:
        """Every default is one of the values its field takes, and of the choices the first."""
        assert parse_field(field.name, DEFAULT[field.name]) == DEFAULT[field.name]
        if field.choices:
            assert field.choices[0] == DEFAULT[field.name]

    @pytest.mark.parametrize("strategy", SIZING)
    def test_every_strategys_sizes_are_valid(self, strategy: str) -> None:
        """A strategy alone makes a valid configuration with its own size and overlap."""
        made = configure({"chunking.strategy": strategy})
        assert (made.chunking_size, made.chunking_overlap) == (SIZING[strategy].size, SIZING[strategy].overlap)

    def test_frozen(self) -> None:
        """A configuration cannot be changed, and serves as a key of a dictionary."""
        with pytest.raises(dataclasses.FrozenInstanceError):
            DEFAULT.top_k = 3  # type: ignore[misc]
        assert {DEFAULT: 1}[configure({})] == 1


class TestRoundTrip:
    def test_every_field_in_order(self) -> None:
        """`to_dict` holds every field by its dotted name, in the order of `FIELDS`."""
        assert list(DEFAULT.to_dict()) == [field.name for field in FIELDS]

    @given(st.data())
    def test_through_values_and_text(self, data: st.DataObject) -> None:
        """`configure` makes the same value again from its dictionary, the values as they are or as text, over any base."""
        made, _ = configure_leniently(data.draw(st.fixed_dictionaries({}, optional={f.name: values_of(f) for f in FIELDS})), DEFAULT)
        assert configure(made.to_dict()) == made
        assert configure({name: str(value) for name, value in made.to_dict().items()}, FIXED) == made

    @pytest.mark.parametrize(("name", "value"), CHANGES, ids=[f"{name}={value}" for name, value in CHANGES])
    def test_one_change_changes_one_field(self, name: str, value: Value) -> None:
        """Setting a field sets that field alone; a strategy brings its size and overlap along, a provider its model."""
        base = configure(NEEDED["answer.model"] if name == "answer.model" else {})
        changed = {key for key, now in configure({name: value}, base).to_dict().items() if now != base[key]}
        brought = {"chunking.strategy": {"chunking.size", "chunking.overlap"}, "answer.provider": {"answer.model"}}.get(name, set())
        assert name in changed
        assert changed - brought == {name}


class TestStrategies:
    @pytest.mark.parametrize(
        ("changes", "size", "overlap"),
        [
            pytest.param({"chunking.strategy": "sentence"}, 1024, 0, id="brings its own"),
            pytest.param({"chunking.strategy": "sentence", "chunking.size": 300}, 300, 0, id="an explicit size stays"),
            pytest.param({"chunking.overlap": 7, "chunking.strategy": "sentence"}, 1024, 7, id="an explicit overlap stays"),
            pytest.param({"chunking.strategy": "fixed"}, 100, 3, id="the same strategy changes nothing"),
            pytest.param({"chunking.size": 90}, 90, 3, id="a size alone"),
            pytest.param({"chunking.strategy": "semantic", "chunking.overlap": 2}, 500, 2, id="semantic, its overlap in sentences"),
            pytest.param({"chunking.strategy": "whole", "chunking.size": 90, "chunking.overlap": 9}, 8000, 0, id="whole pins both"),
        ],
    )
    def test_sizes(self, changes: Mapping[str, object], size: int, overlap: int) -> None:
        """A new strategy brings its size and overlap unless they are given with it; the same one keeps what is set."""
        base = configure({"chunking.strategy": "fixed", "chunking.size": 100, "chunking.overlap": 3})
        made = configure(changes, base)
        assert (made.chunking_size, made.chunking_overlap) == (size, overlap)

    @pytest.mark.parametrize("strategy", UNSIZED)
    def test_a_strategy_without_sizes_is_one_configuration(self, strategy: str) -> None:
        """A size or overlap given to `whole`, at once or later, leaves it as it is; another strategy brings its own again."""
        whole = configure({"chunking.strategy": strategy})
        assert configure({"chunking.size": 77, "chunking.overlap": 3}, whole) == whole
        assert configure({"chunking.strategy": "fixed"}, whole) == FIXED


class TestNames:
    @pytest.mark.parametrize(
        "value", ["st:all-MiniLM-L6-v2", "st:BAAI/bge-small-en-v1.5", "st:~/models/my model", "st:/srv/模型", "st:st:x", "st:" + "n" * 297]
    )
    def test_any_model_by_name_or_folder(self, value: str) -> None:
        """What follows `st:` is kept as it is, up to 300 characters in all, and survives the way through text."""
        made = configure({"embedder": value})
        assert made.embedder == value
        assert configure(made.to_dict()) == made
        assert made.index_key not in (DEFAULT.index_key, configure({"embedder": "st:other"}).index_key)

    @pytest.mark.parametrize(
        "value",
        ["st:", "st: ", "ST:x", " st:x", "st", "st:a\x00b", "st:a\nb", "st:\udcff", "st:" + "n" * 298, "voyage-4", 5, None],
        ids=lambda value: ascii(value)[:16],
    )
    def test_what_is_no_name(self, value: object) -> None:
        """A prefix without a name, control characters, what is no Unicode and a name without end are refused."""
        with pytest.raises(InvalidInput) as caught:
            configure({"embedder": value})
        assert caught.value.expected == "embedder to be minilm | minilm-int8 | static-minilm | st:NAME"

    @pytest.mark.parametrize("name", ["embedder", "chunking.embedder"])
    def test_hash_is_taken_and_not_named(self, name: str) -> None:
        """`hash`, for tests and soak runs, is a value like others; no error and no help offers it."""
        changes = {"chunking.strategy": "semantic", name: "hash"}
        assert configure(changes)[name] == "hash"
        assert "hash" not in BY_NAME[name].allowed

    def test_only_the_index_embedder_takes_names(self) -> None:
        """The breakpoints' embedder is one of those at hand offline."""
        with pytest.raises(InvalidInput, match=r"chunking\.embedder to be minilm \| minilm-int8 \| static-minilm; got 'st:x'"):
            configure({"chunking.embedder": "st:x"})


class TestReal:
    @pytest.mark.parametrize(
        ("given_", "kept"),
        [
            ("0.5", 0.5),
            (".5", 0.5),
            (" 0.70 ", 0.7),
            ("1", 1.0),
            (0, 0.0),
            (1, 1.0),
            (0.1 + 0.2, 0.3),
            ("0.333333333", 0.3333),
            (1e-9, 0.0),
        ],
    )
    def test_a_share(self, given_: object, kept: float) -> None:
        """A real number comes as number or text and is kept to four decimals, so that its text is the same number again."""
        made = configure({"fusion.alpha": given_})
        assert made.fusion_alpha == kept
        assert isinstance(made.fusion_alpha, float)
        assert configure({"fusion.alpha": str(made.fusion_alpha)}) == made

    @pytest.mark.parametrize(
        "given_",
        [
            "1.01",
            -0.01,
            2,
            "",
            ".",
            "1.",
            "1e-3",
            "0,5",
            "-0",
            "½",
            "nan",
            float("nan"),
            float("inf"),
            True,
            None,
            [0.5],
            "0." + "3" * 5000,
        ],
        ids=repr,
    )
    def test_what_is_no_share(self, given_: object) -> None:
        """Anything but a plain decimal from 0 to 1 is refused with the range."""
        with pytest.raises(InvalidInput, match=r"fusion\.alpha to be a number from 0 to 1"):
            configure({"fusion.alpha": given_})


class TestErrors:
    @pytest.mark.parametrize(
        ("changes", "expected", "got"),
        [
            pytest.param({"topk": 5}, "one of the fields chunking.strategy, chunking.size", "'topk'", id="unknown field"),
            pytest.param({"top_k ": 5}, "one of the fields", "'top_k '", id="field with a space"),
            pytest.param({"hnsw.m": 1}, "hnsw.m to be a whole number from 2 to 64", "1", id="a graph without links"),
            pytest.param({"chunking.breakpoint": 100}, "chunking.breakpoint to be a whole number from 50 to 99", "100", id="no breakpoint"),
            pytest.param(
                {"embedder": "minilm-l6"}, "embedder to be minilm | minilm-int8 | static-minilm | st:NAME", "'minilm-l6'", id="embedder"
            ),
            pytest.param({"dense": "on"}, "dense to be exact | hnsw | off", "'on'", id="unknown value"),
            pytest.param({"dense": "EXACT"}, "dense to be exact | hnsw | off", "'EXACT'", id="wrong case"),
            pytest.param({"dense": None}, "dense to be exact | hnsw | off", "None", id="nothing for a choice"),
            pytest.param({"dense": ["exact"]}, "dense to be exact | hnsw | off", "['exact']", id="list for a choice"),
            pytest.param({"top_k": 0}, "top_k to be a whole number from 1 to 100", "0", id="K below 1"),
            pytest.param({"top_k": 101}, "top_k to be a whole number from 1 to 100", "101", id="K above its most"),
            pytest.param({"top_k": True}, "top_k to be a whole number from 1 to 100", "True", id="bool"),
            pytest.param({"top_k": 3.0}, "top_k to be a whole number from 1 to 100", "3.0", id="float"),
            pytest.param({"top_k": "3.0"}, "top_k to be a whole number from 1 to 100", "'3.0'", id="float as text"),
            pytest.param({"top_k": float("nan")}, "top_k to be a whole number from 1 to 100", "nan", id="not a number"),
            pytest.param({"top_k": -1}, "top_k to be a whole number from 1 to 100", "-1", id="negative"),
            pytest.param({"top_k": "-1"}, "top_k to be a whole number from 1 to 100", "'-1'", id="negative as text"),
            pytest.param({"top_k": "٥"}, "top_k to be a whole number from 1 to 100", "'٥'", id="digit of another script"),
            pytest.param({"top_k": "²"}, "top_k to be a whole number from 1 to 100", "'²'", id="superscript digit"),
            pytest.param({"top_k": "1_0"}, "top_k to be a whole number from 1 to 100", "'1_0'", id="underscore"),
            pytest.param({"top_k": ""}, "top_k to be a whole number from 1 to 100", "''", id="empty"),
            pytest.param({"top_k": "9" * 5000}, "top_k to be a whole number from 1 to 100", "'" + "9" * 118 + "…", id="5,000 digits"),
            pytest.param({"top_k": 51}, "top_k of at most fusion.candidates (50)", "51", id="K above the candidates"),
            pytest.param({"fusion.candidates": 4}, "top_k of at most fusion.candidates (4)", "5", id="candidates below K"),
            pytest.param({"chunking.size": 0}, "chunking.size to be a whole number from 1 to 8000", "0", id="size 0"),
            pytest.param({"chunking.overlap": -1}, "chunking.overlap to be a whole number from 0 to 4000", "-1", id="overlap negative"),
            pytest.param(
                {"chunking.strategy": "fixed", "chunking.size": 40, "chunking.overlap": 40},
                "chunking.overlap below chunking.size (40 tokens)",
                "40",
                id="overlap the size",
            ),
            pytest.param(
                {"chunking.strategy": "fixed", "chunking.size": 40, "chunking.overlap": 41},
                "chunking.overlap below chunking.size (40 tokens)",
                "41",
                id="overlap above the size",
            ),
            pytest.param(
                {"chunking.strategy": "fixed", "chunking.size": 32},
                "chunking.overlap below chunking.size (32 tokens)",
                "32",
                id="size at the strategy's overlap",
            ),
            pytest.param(
                {"chunking.strategy": "sentence", "chunking.overlap": 1024},
                "chunking.overlap below chunking.size (1024 characters)",
                "1024",
                id="overlap the size, in characters",
            ),
        ],
    )
    def test_named(self, changes: Mapping[str, object], expected: str, got: str) -> None:
        """What cannot be is refused, with the allowed values and what came."""
        with pytest.raises(InvalidInput) as caught:
            configure(changes)
        assert caught.value.expected.startswith(expected)
        assert caught.value.got == got
        assert caught.value.remedy

    def test_an_unknown_field_names_all(self) -> None:
        """The error for an unknown field lists every field there is."""
        with pytest.raises(InvalidInput) as caught:
            configure({"colour": "green"})
        assert caught.value.expected == "one of the fields " + ", ".join(BY_NAME)

    @pytest.mark.parametrize("text", ["7", " 7 ", "07", 7], ids=repr)
    def test_numbers_as_people_type_them(self, text: object) -> None:
        """A number may come as text, with spaces around it or a leading zero."""
        assert configure({"top_k": text}).top_k == 7

    def test_paragraphs_do_not_compare_with_tokens(self) -> None:
        """An overlap in another unit than the size is not compared with it."""
        assert configure({"chunking.size": 5, "chunking.overlap": 5}).chunking_overlap == 5

    @pytest.mark.parametrize(
        ("dense", "keyword", "mode"),
        [
            ("exact", "bm25s", "hybrid"),
            ("hnsw", "bm25s", "hybrid"),
            ("exact", "off", "dense"),
            ("hnsw", "off", "dense"),
            ("off", "rank-bm25", "keyword"),
            ("off", "off", "none"),
        ],
    )
    def test_mode(self, dense: str, keyword: str, mode: str) -> None:
        """The mode says which retrievers are on; with neither on a search is refused, a configuration is not."""
        made = configure({"dense": dense, "keyword": keyword})
        assert made.mode == mode
        if mode == "none":
            with pytest.raises(InvalidInput, match="expected dense or keyword to be on; got dense=off, keyword=off"):
                require_retriever(made)
        else:
            require_retriever(made)


class TestKeys:
    @pytest.mark.parametrize(("name", "value"), CHANGES, ids=[f"{name}={value}" for name, value in CHANGES])
    def test_which_field_changes_which_key(self, name: str, value: Value) -> None:
        """A chunking field changes every key, an index field all but the chunking's, a retrieval field the last two, top_k and who answers the last."""
        kind = "chunking" if name.startswith("chunking.") else BY_NAME[name].role
        base = configure(NEEDED.get(name, {}))
        assert applies(name, base)
        made = configure({name: value}, base)
        assert tuple(key for key in KEYS if getattr(made, key) != getattr(base, key)) == CHANGED[kind]

    @pytest.mark.parametrize(("name", "value"), [change for change in CHANGES if change[0] in NEEDED], ids=str)
    def test_a_field_that_does_not_apply_changes_no_key(self, name: str, value: Value) -> None:
        """Whatever it is set to, the same index is used and the same passages come."""
        assert not applies(name, DEFAULT)
        made = configure({name: value})
        assert {key: getattr(made, key) for key in KEYS} == {key: getattr(DEFAULT, key) for key in KEYS}

    def test_the_constant_of_rank_fusion_is_idle_in_the_convex_one(self) -> None:
        """`fusion.k` and `fusion.alpha` take turns."""
        convex = configure({"fusion": "convex"})
        assert applies("fusion.k", DEFAULT)
        assert not applies("fusion.k", convex)
        assert configure({"fusion.k": 7}, convex).key == convex.key

    def test_the_default_graph_needs_no_index_of_its_own(self) -> None:
        """dense=hnsw uses the very index of exact; only other graph parameters name another one, the search's never does."""
        hnsw = configure({"dense": "hnsw"})
        assert (hnsw.index_key, hnsw.chunking_key) == (DEFAULT.index_key, DEFAULT.chunking_key)
        assert hnsw.retrieval_key != DEFAULT.retrieval_key
        assert configure({"hnsw.ef_search": 400}, hnsw).index_key == DEFAULT.index_key
        others = [configure({name: 32}, hnsw).index_key for name in GRAPH]
        assert len({DEFAULT.index_key, *others}) == 1 + len(GRAPH)
        assert {name: DEFAULT[name] for name in GRAPH} == GRAPH

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("chunking.strategy", "chunking"),
            ("chunking.size", "chunking"),
            ("chunking.overlap", "chunking"),
            ("chunking.header", "chunking"),
            ("chunking.embedder", "chunking"),
            ("chunking.breakpoint", "chunking"),
            ("embedder", "index"),
            ("overlong", "index"),
            ("dense", "retrieval"),
            ("hnsw.m", "index"),
            ("hnsw.ef_construction", "index"),
            ("hnsw.ef_search", "retrieval"),
            ("keyword", "retrieval"),
            ("fusion", "retrieval"),
            ("fusion.alpha", "retrieval"),
            ("fusion.k", "retrieval"),
            ("fusion.candidates", "retrieval"),
            ("top_k", "view"),
            ("answer.provider", "answer"),
            ("answer.model", "answer"),
            ("answer.prompt", "answer"),
        ],
    )
    def test_what_a_field_touches(self, name: str, kind: str) -> None:
        """Each field's role is the one the design gives it."""
        assert BY_NAME[name].role == ("index" if kind == "chunking" else kind)

    def test_pinned(self) -> None:
        """The default configuration's keys: a change of them orphans every index, run and link, so it is never an accident."""
        assert {key: getattr(DEFAULT, key) for key in KEYS} == {
            "chunking_key": "5c72d0652d59",
            "index_key": "d954561f60f2",
            "retrieval_key": "7491b9b177d6",
            "key": "55f291aadd22",
        }

    def test_the_way_to_a_configuration_does_not_matter(self) -> None:
        """Two equal configurations have the same keys, whatever order their fields were set in."""
        forth = configure({"top_k": 8, "dense": "off"})
        back = configure({"dense": "off"}, configure({"top_k": "8"}))
        assert (forth, forth.key, forth.retrieval_key) == (back, back.key, back.retrieval_key)

    @pytest.mark.parametrize(
        ("changes", "slug"),
        [
            ({}, "structural-500·minilm·hybrid·k5"),
            ({"chunking.strategy": "fixed", "keyword": "off", "top_k": 8}, "fixed-256·minilm·dense·k8"),
            ({"dense": "off"}, "structural-500·minilm·keyword·k5"),
            ({"chunking.strategy": "whole", "dense": "hnsw", "embedder": "st:a/b"}, "whole·st:a/b·hybrid·k5"),
        ],
        ids=["default", "dense", "keyword", "whole"],
    )
    def test_slug(self, changes: Mapping[str, object], slug: str) -> None:
        """The slug names chunking, size, embedder, mode and K."""
        assert configure(changes).slug == slug


class TestLenient:
    @pytest.mark.parametrize(
        ("changes", "kept", "dropped"),
        [
            pytest.param({"top_k": "8", "dense": "off"}, {"top_k": 8, "dense": "off"}, [], id="all good"),
            pytest.param(
                {"embedder": "st:a/b", "fusion.alpha": "0.7"}, {"embedder": "st:a/b", "fusion.alpha": 0.7}, [], id="name and share"
            ),
            pytest.param({"embedder": "st:", "fusion.alpha": "7"}, {}, ["embedder", "fusion.alpha"], id="no name, no share"),
            pytest.param({"top_k": "8", "dense": "x", "z": "1"}, {"top_k": 8}, ["dense", "z"], id="bad value and unknown field"),
            pytest.param({"top_k: x": "1", "top_k": "8"}, {"top_k": 8}, ["top_k: x"], id="a name that begins like a good one"),
            pytest.param({"top_k": "60", "keyword": "off"}, {"keyword": "off"}, ["top_k"], id="K above the default candidates"),
            pytest.param({"top_k": "60", "fusion.candidates": "80"}, {"top_k": 60, "fusion.candidates": 80}, [], id="both together fit"),
            pytest.param({"top_k": "9", "fusion.candidates": "7"}, {"fusion.candidates": 7}, ["top_k"], id="the later of two gives way"),
            pytest.param(
                {"fusion.candidates": "3", "fusion.k": "9"}, {"fusion.k": 9}, ["fusion.candidates"], id="candidates below the default K"
            ),
            pytest.param(
                {"chunking.strategy": "fixed", "chunking.size": "20", "top_k": "8", "dense": "off"},
                {"chunking.strategy": "fixed", "top_k": 8, "dense": "off"},
                ["chunking.size"],
                id="a size below the strategy's overlap, bystanders stay",
            ),
            pytest.param(
                {"chunking.strategy": "fixed", "chunking.size": "40", "chunking.overlap": "50", "top_k": "60"},
                {"chunking.strategy": "fixed", "chunking.size": 40},
                ["chunking.overlap", "top_k"],
                id="two contradictions",
            ),
            pytest.param(
                {"chunking.strategy": "fixed", "chunking.size": "20", "chunking.overlap": "300"},
                {"chunking.strategy": "fixed"},
                ["chunking.overlap", "chunking.size"],
                id="neither fits alone",
            ),
            pytest.param(
                {"chunking.strategy": "nope", "chunking.size": "90"}, {"chunking.size": 90}, ["chunking.strategy"], id="bad strategy"
            ),
        ],
    )
    def test_keeps_what_is_good(self, changes: Mapping[str, object], kept: Mapping[str, object], dropped: list[str]) -> None:
        """A link keeps its good fields, and each dropped one is named with what was expected."""
        made, lines = configure_leniently(changes, DEFAULT)
        assert made == configure(kept)
        assert len(lines) == len(dropped)
        for name, line in zip(dropped, lines, strict=True):
            assert line.startswith(f"{name}: expected ")

    @given(LINKS, VALID)
    def test_never_fails(self, changes: dict[str, object], base: Configuration) -> None:
        """Whatever a link holds, a valid configuration comes back, and every field is kept, pinned by `whole` or `extractive`, or named."""
        made, lines = configure_leniently(changes, base)
        assert configure(made.to_dict()) == made
        kept = [name for name in changes if not any(line.startswith(f"{name}: expected ") for line in lines)]
        assert len(kept) + len(lines) == len(changes)
        pinned = ["chunking.size", "chunking.overlap"] if made.chunking_strategy in UNSIZED else []
        pinned += ["answer.model"] if made.answer_provider == "extractive" else []
        assert all(made[name] == parse_field(name, changes[name]) for name in kept if name not in pinned)
        assert (configure(changes, base) == made) if not lines else True

    @given(LINKS, VALID)
    def test_drops_nothing_in_vain(self, changes: dict[str, object], base: Configuration) -> None:
        """A link that `configure` accepts is taken whole."""
        try:
            expected = configure(changes, base)
        except InvalidInput:
            return
        assert configure_leniently(changes, base) == (expected, ())


class TestEnvironment:
    @pytest.mark.parametrize(
        ("environment", "changes"),
        [
            pytest.param({}, {}, id="nothing set"),
            pytest.param({"SITT_TOP_K": "3"}, {"top_k": 3}, id="a number"),
            pytest.param({"SITT_CHUNKING_STRATEGY": "fixed"}, {"chunking.strategy": "fixed"}, id="a strategy with its sizes"),
            pytest.param({"SITT_FUSION_K": " 10 ", "SITT_FUSION": "rrf"}, {"fusion.k": 10}, id="spaces around"),
            pytest.param({"SITT_TOP_K": "", "SITT_DENSE": "  "}, {}, id="blank is not set"),
            pytest.param(
                {"LLM_PROVIDER": "ollama", "LLM_MODEL": "x"}, {"answer.provider": "ollama", "answer.model": "x"}, id="who answers"
            ),
            pytest.param({"ANTHROPIC_API_KEY": "k", "LLM_PROVIDER": "extractive"}, {}, id="a key, and nobody wanted"),
            pytest.param({"SITT_TOPK": "3", "TOP_K": "4", "sitt_top_k": "2"}, {}, id="other variables do not matter"),
            pytest.param(
                {"SITT_TOP_K": "60", "SITT_FUSION_CANDIDATES": "70"}, {"top_k": 60, "fusion.candidates": 70}, id="checked together"
            ),
        ],
    )
    def test_defaults(self, environment: Mapping[str, str], changes: Mapping[str, object]) -> None:
        """Each variable sets its field's default."""
        assert from_environment(environment) == configure(changes)

    @pytest.mark.parametrize(("name", "value"), CHANGES, ids=[f"{name}={value}" for name, value in CHANGES])
    def test_every_field_has_one(self, name: str, value: Value) -> None:
        """Every field is set by `SITT_` and its name in capitals, dots as underscores; who answers by LLM_PROVIDER and LLM_MODEL."""
        variable = {"answer.provider": "LLM_PROVIDER", "answer.model": "LLM_MODEL"}.get(name, "SITT_" + name.upper().replace(".", "_"))
        assert from_environment({variable: str(value)}) == configure({name: value})

    @pytest.mark.parametrize("provider", PROVIDER_KEYS)
    def test_a_key_makes_its_provider_the_default(self, provider: str) -> None:
        """With a key and nobody named, its provider answers, with its own model unless one is named."""
        environment = {PROVIDER_KEYS[provider]: "k"}
        assert from_environment(environment) == configure({"answer.provider": provider})
        assert from_environment(environment).answer_model == MODELS[provider]
        assert from_environment({**environment, "LLM_MODEL": "m"}).answer_model == "m"

    def test_of_several_keys_the_first_providers_counts(self) -> None:
        """The order is Claude, OpenAI, Groq."""
        assert from_environment(dict.fromkeys(PROVIDER_KEYS.values(), "k")).answer_provider == "claude"

    @pytest.mark.parametrize(
        ("environment", "message"),
        [
            pytest.param({"SITT_TOP_K": "many"}, "expected SITT_TOP_K to be a whole number from 1 to 100; got 'many'", id="bad value"),
            pytest.param({"SITT_TOP_K": "60"}, "expected top_k of at most fusion.candidates.*Correct SITT_TOP_K in", id="contradiction"),
        ],
    )
    def test_errors_name_the_variable(self, environment: Mapping[str, str], message: str) -> None:
        """What is wrong is told by the variable's name, since that is what has to be corrected."""
        with pytest.raises(InvalidInput, match=message):
            from_environment(environment)
