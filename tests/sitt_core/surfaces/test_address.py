import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.configuration import FIELDS, Configuration, configure, configure_leniently
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.surfaces.address import Address, from_parameters, to_parameters
from sitt_core.types import Filters

VALUES = {
    field.name: st.sampled_from(field.choices) if field.choices else st.integers(field.least, min(field.most, 60)) for field in FIELDS
}
changes = st.fixed_dictionaries({}, optional=VALUES)
values = st.lists(st.text(min_size=1, max_size=8), max_size=3).map(tuple)
addresses = st.builds(
    Address,
    configuration=changes.map(lambda given: configure_leniently(given, Configuration())[0]),
    corpus=st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True),
    question=st.text(max_size=40),
    filters=st.builds(Filters, values, values, values),
)


def as_browser(parameters: dict[str, str | list[str]]) -> dict[str, list[str]]:
    """What a browser hands back: a list for every name."""
    return {name: value if isinstance(value, list) else [value] for name, value in parameters.items()}


@given(address=addresses, defaults=changes)
def test_a_link_reproduces_everything(address: Address, defaults: dict[str, object]) -> None:
    """Whatever the defaults of the one who opens it, the link means what it meant to the one who made it."""
    theirs = configure_leniently(defaults, Configuration())[0]
    assert from_parameters(as_browser(to_parameters(address)), theirs) == (address, ())


def test_a_link_writes_every_field() -> None:
    """Every field of the configuration stands in it by its name, and a version."""
    parameters = to_parameters(Address(configure({"top_k": 7}), "tales", "Who?", Filters(region=("Asia", "Europe"))))
    assert {field.name for field in FIELDS} <= parameters.keys()
    assert parameters["top_k"] == "7"
    assert parameters["region"] == ["Asia", "Europe"]
    assert (parameters["corpus"], parameters["q"], parameters["v"]) == ("tales", "Who?", "1")
    assert "category" not in parameters


def test_an_empty_link_is_the_defaults() -> None:
    """No parameters: the default corpus and configuration, no question, no filter."""
    defaults = configure({"top_k": 9})
    assert from_parameters({}, defaults) == (Address(defaults, DEFAULT_CORPUS), ())
    assert from_parameters({"top_k": [], "q": [""], "corpus": [""]}, defaults) == (Address(defaults, DEFAULT_CORPUS), ())


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        pytest.param({"top_k": ["0"]}, "top_k: expected top_k to be a whole number from 1 to 100; got '0'", id="K below 1"),
        pytest.param({"top_k": ["51"]}, "top_k: expected top_k of at most fusion.candidates (50); got 51", id="K above the candidates"),
        pytest.param({"dense": ["fast"]}, "dense: expected dense to be exact | hnsw | off; got 'fast'", id="unknown value"),
        pytest.param({"nonsense": ["1"]}, "nonsense: there is no such field", id="unknown field"),
        pytest.param({"fusion.k": ["sixty"]}, "fusion.k: expected", id="no number"),
        pytest.param({"chunking.size": ["9" * 5000]}, "chunking.size: expected", id="a huge number"),
        pytest.param(
            {"chunking.strategy": ["fixed"], "chunking.overlap": ["300"]},
            "chunking.overlap: expected chunking.overlap below chunking.size (256 tokens); got 300",
            id="overlap above the size",
        ),
    ],
)
def test_a_bad_link_keeps_its_good_fields(bad: dict[str, list[str]], named: str) -> None:
    """The field that cannot be used is named with what is allowed; question, corpus, filters and the other fields stay."""
    good = {"q": ["Who?"], "corpus": ["tales"], "category": ["aquatic"], "keyword": ["rank-bm25"]}
    address, dropped = from_parameters({**good, **bad}, Configuration())
    assert (address.question, address.corpus, address.filters) == ("Who?", "tales", Filters(category=("aquatic",)))
    assert address.configuration.keyword == "rank-bm25"
    (sentence,) = dropped
    assert sentence.startswith(named)
    assert len(sentence) < 400


@given(
    st.dictionaries(
        st.one_of(st.sampled_from([field.name for field in FIELDS]), st.text(max_size=8)), st.lists(st.text(max_size=8), max_size=2)
    )
)
def test_no_link_fails(parameters: dict[str, list[str]]) -> None:
    """Any parameters give an address, and the configuration of any address is valid."""
    address, _ = from_parameters(parameters, Configuration())
    assert configure(address.configuration.to_dict()) == address.configuration


def test_what_others_add_to_a_link_is_not_reported() -> None:
    """Tracking and embedding parameters belong to somebody else."""
    assert from_parameters({"utm_source": ["mail"], "embed": ["true"], "embed_options": ["dark"]}, Configuration())[1] == ()


def test_the_last_of_several_values_counts() -> None:
    """A field given twice has the value given last; a filter has all of them."""
    address, dropped = from_parameters({"top_k": ["3", "8"], "region": ["Asia", "Europe"]}, Configuration())
    assert (address.configuration.top_k, address.filters.region, dropped) == (8, ("Asia", "Europe"), ())
