"""A configuration is one valid value; whatever is wrong with it is named, from wherever it comes."""

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.configuration import (
    BY_NAME,
    FIELDS,
    SIZING,
    Configuration,
    Field,
    Value,
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
    return st.sampled_from(field.choices) if field.choices else st.integers(field.least, field.most)


def others_of(field: Field) -> list[Value]:
    """Values of a field that are allowed but not its default, and contradict no other default."""
    if field.choices:
        return [value for value in field.choices if value != DEFAULT[field.name]]
    return [value for value in (DEFAULT[field.name] + step for step in (-1, 1)) if field.least <= value <= field.most]  # type: ignore[operator]


CHANGES = [(field.name, value) for field in FIELDS for value in others_of(field)]
KEYS = ("chunking_key", "index_key", "retrieval_key", "key")
CHANGED = {"chunking": KEYS, "index": KEYS[1:], "retrieval": KEYS[2:], "view": KEYS[3:]}
ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.lists(st.integers(), max_size=2))
LINKS = st.dictionaries(
    st.one_of(st.sampled_from(list(BY_NAME)), st.text(max_size=8)),
    st.one_of(ANYTHING, st.integers(1, 60), st.sampled_from(["fixed", "sentence", "structural", "off", "bm25s"])),
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
        """Setting a field sets that field alone; a strategy brings its size and overlap along."""
        changed = {key for key, now in configure({name: value}).to_dict().items() if now != DEFAULT[key]}
        assert changed - {"chunking.size", "chunking.overlap"} == {name} - {"chunking.size", "chunking.overlap"}
        assert name in changed
        assert len(changed) == 1 or name == "chunking.strategy"


class TestStrategies:
    @pytest.mark.parametrize(
        ("changes", "size", "overlap"),
        [
            pytest.param({"chunking.strategy": "sentence"}, 1024, 0, id="brings its own"),
            pytest.param({"chunking.strategy": "sentence", "chunking.size": 300}, 300, 0, id="an explicit size stays"),
            pytest.param({"chunking.overlap": 7, "chunking.strategy": "sentence"}, 1024, 7, id="an explicit overlap stays"),
            pytest.param({"chunking.strategy": "fixed"}, 100, 3, id="the same strategy changes nothing"),
            pytest.param({"chunking.size": 90}, 90, 3, id="a size alone"),
        ],
    )
    def test_sizes(self, changes: Mapping[str, object], size: int, overlap: int) -> None:
        """A new strategy brings its size and overlap unless they are given with it; the same one keeps what is set."""
        base = configure({"chunking.strategy": "fixed", "chunking.size": 100, "chunking.overlap": 3})
        made = configure(changes, base)
        assert (made.chunking_size, made.chunking_overlap) == (size, overlap)


class TestErrors:
    @pytest.mark.parametrize(
        ("changes", "expected", "got"),
        [
            pytest.param({"topk": 5}, "one of the fields chunking.strategy, chunking.size", "'topk'", id="unknown field"),
            pytest.param({"top_k ": 5}, "one of the fields", "'top_k '", id="field with a space"),
            pytest.param({"dense": "on"}, "dense to be exact | off", "'on'", id="unknown value"),
            pytest.param({"dense": "EXACT"}, "dense to be exact | off", "'EXACT'", id="wrong case"),
            pytest.param({"dense": None}, "dense to be exact | off", "None", id="nothing for a choice"),
            pytest.param({"dense": ["exact"]}, "dense to be exact | off", "['exact']", id="list for a choice"),
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
        [("exact", "bm25s", "hybrid"), ("exact", "off", "dense"), ("off", "rank-bm25", "keyword"), ("off", "off", "none")],
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
        """A chunking field changes every key, an index field all but the chunking's, a retrieval field the last two, top_k the last."""
        kind = "chunking" if name.startswith("chunking.") else BY_NAME[name].role
        made = configure({name: value})
        assert tuple(key for key in KEYS if getattr(made, key) != getattr(DEFAULT, key)) == CHANGED[kind]

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("chunking.strategy", "chunking"),
            ("chunking.size", "chunking"),
            ("chunking.overlap", "chunking"),
            ("chunking.header", "chunking"),
            ("embedder", "index"),
            ("overlong", "index"),
            ("dense", "retrieval"),
            ("keyword", "retrieval"),
            ("fusion", "retrieval"),
            ("fusion.k", "retrieval"),
            ("fusion.candidates", "retrieval"),
            ("top_k", "view"),
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
        ],
        ids=["default", "dense", "keyword"],
    )
    def test_slug(self, changes: Mapping[str, object], slug: str) -> None:
        """The slug names chunking, size, embedder, mode and K."""
        assert configure(changes).slug == slug


class TestLenient:
    @pytest.mark.parametrize(
        ("changes", "kept", "dropped"),
        [
            pytest.param({"top_k": "8", "dense": "off"}, {"top_k": 8, "dense": "off"}, [], id="all good"),
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
        """Whatever a link holds, a valid configuration comes back, and every field is either kept or named."""
        made, lines = configure_leniently(changes, base)
        assert configure(made.to_dict()) == made
        kept = [name for name in changes if not any(line.startswith(f"{name}: expected ") for line in lines)]
        assert len(kept) + len(lines) == len(changes)
        assert all(made[name] == parse_field(name, changes[name]) for name in kept)
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
        """Every field is set by `SITT_` and its name in capitals, dots as underscores."""
        assert from_environment({"SITT_" + name.upper().replace(".", "_"): str(value)}) == configure({name: value})

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
