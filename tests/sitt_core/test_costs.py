import pytest

from sitt_core.costs import PRICES, Price, cost, estimate, price_of
from sitt_core.errors import InvalidInput
from sitt_core.types import Usage


@pytest.mark.parametrize(
    ("provider", "model", "named"),
    [
        pytest.param("claude", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5", id="a snapshot of Claude's"),
        pytest.param("claude", "claude-opus-5-5", "claude-opus-5-5", id="not the price of claude-opus-5"),
        pytest.param("openai", "gpt-4.1-mini-2025-04-14", "gpt-4.1-mini", id="a snapshot of OpenAI's"),
        pytest.param("groq", "openai/gpt-oss-20b", "openai/gpt-oss-20b", id="Groq"),
    ],
)
def test_a_model_and_its_snapshots_have_one_price(provider: str, model: str, named: str) -> None:
    """A date behind the name changes nothing."""
    assert price_of(provider, model) is PRICES[provider][named]


@pytest.mark.parametrize(
    ("provider", "model"),
    [("claude", "claude-opus-6"), ("openai", "gpt-5-pro"), ("openai", "gpt-5.6"), ("claude", "gpt-4.1"), ("custom", "gpt-4.1"), ("x", "y")],
)
def test_what_is_not_in_the_list_has_no_price(provider: str, model: str) -> None:
    """A longer name is another model, and a provider's list is its own."""
    assert price_of(provider, model) is None


@pytest.mark.parametrize("provider", ["ollama", "extractive"])
def test_what_runs_here_costs_nothing(provider: str) -> None:
    """Whatever the model."""
    assert cost(price_of(provider, "any"), Usage(1000, 1000)) == 0.0


def test_dollars_are_tokens_times_their_price() -> None:
    """Input that came from the cache has its own price and is part of the input."""
    price = Price(input=2.0, output=8.0, cached=0.5)
    assert cost(price, Usage(input_tokens=1500, output_tokens=200, cached_tokens=500)) == pytest.approx(
        (1000 * 2.0 + 500 * 0.5 + 200 * 8.0) / 1_000_000
    )


def test_what_is_not_known_is_none() -> None:
    """Neither without a price, nor beyond the input that it holds for."""
    assert cost(None, Usage(1, 1)) is None
    assert cost(Price(1.0, 1.0, 1.0, most_input=10), Usage(input_tokens=11)) is None
    assert cost(Price(1.0, 1.0, 1.0, most_input=10), Usage(input_tokens=10)) == pytest.approx(10 / 1_000_000)


def test_an_estimate_is_the_most_that_it_can_cost() -> None:
    """All of the output, nothing from the cache."""
    assert estimate(price_of("openai", "gpt-4.1-mini"), input_tokens=10_000, most_output_tokens=1000) == pytest.approx(
        (10_000 * 0.40 + 1000 * 1.60) / 1_000_000
    )
    assert estimate(price_of("openai", "unheard-of"), input_tokens=1, most_output_tokens=1) is None


def test_own_prices_stand_above_the_list() -> None:
    """Also for a model that the list lacks, and for one that runs here."""
    for provider, model in (("openai", "gpt-4.1"), ("custom", "mine"), ("ollama", "llama")):
        assert price_of(provider, model, input_price=0.5, output_price=1.5) == Price(0.5, 1.5, 0.5)


@pytest.mark.parametrize(("input_price", "output_price"), [(1.0, None), (None, 1.0), (-1.0, 1.0), (1.0, float("nan")), (1.0, float("inf"))])
def test_own_prices_come_together(input_price: float | None, output_price: float | None) -> None:
    """One without the other, or one that is no price, is named."""
    with pytest.raises(InvalidInput, match="LLM_PRICE_INPUT and LLM_PRICE_OUTPUT"):
        price_of("custom", "mine", input_price=input_price, output_price=output_price)


def test_every_price_in_the_list_makes_sense() -> None:
    """Output costs more than input, and input from the cache no more than other input."""
    for prices in PRICES.values():
        for model, price in prices.items():
            assert 0 < price.cached <= price.input < price.output, model
