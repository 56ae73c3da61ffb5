"""What a language model's tokens cost: one dated list of prices, in US dollars per million tokens.

Read on 2026-11-30: Claude's from platform.claude.com/docs (model overviews and the pricing page, with the changes of
2026-10-07), OpenAI's from developers.openai.com/api/docs/pricing (GPT-5.6 as changed on 2026-07-30) and, for older models, from
lists that others keep of it, Groq's from console.groq.com/docs/models. Where a service charges long inputs by another list,
`most_input` ends ours. A model whose price was not found, or was a passing offer, is left out: what its answers cost is not known.
"""

import re
from dataclasses import dataclass

from sitt_core.errors import InvalidInput
from sitt_core.types import Usage

MILLION = 1_000_000
FREE = ("extractive", "ollama")
"""Providers that run on this machine."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens: of input, of output, and of input that the service had in its cache.

    `most_input` is the longest input, in tokens, that these prices hold for; what lies above is charged by another list.
    """

    input: float
    output: float
    cached: float
    most_input: int | None = None


PRICES: dict[str, dict[str, Price]] = {
    "claude": {
        "claude-fable-5-2": Price(8.0, 40.0, 8.0),  # the price of its cache was not found, and is taken as no lower
        "claude-fable-5-1": Price(10.0, 50.0, 0.25),
        "claude-fable-5": Price(10.0, 50.0, 1.0),
        "claude-opus-5-5": Price(4.0, 20.0, 0.20),
        "claude-opus-5": Price(5.0, 25.0, 0.50),
        "claude-opus-4-8": Price(5.0, 25.0, 0.50),
        "claude-opus-4-7": Price(5.0, 25.0, 0.50),
        "claude-opus-4-6": Price(5.0, 25.0, 0.50),
        "claude-opus-4-5": Price(5.0, 25.0, 0.50),
        "claude-sonnet-5-5": Price(2.0, 10.0, 0.10),
        "claude-sonnet-5": Price(2.0, 10.0, 0.20),
        "claude-sonnet-4-6": Price(3.0, 15.0, 0.30),
        "claude-sonnet-4-5": Price(3.0, 15.0, 0.30, most_input=200_000),
        "claude-haiku-5-5": Price(0.10, 0.50, 0.01, most_input=100_000),
        "claude-haiku-4-5": Price(1.0, 5.0, 0.10),
    },
    "openai": {
        "gpt-6-astra": Price(10.0, 50.0, 1.0, most_input=272_000),
        "gpt-5.6-terra": Price(2.0, 12.0, 0.20, most_input=272_000),
        "gpt-5.6-luna": Price(0.20, 1.20, 0.02, most_input=272_000),
        "gpt-5.5": Price(5.0, 30.0, 0.50, most_input=272_000),
        "gpt-5.4": Price(2.50, 15.0, 0.25, most_input=272_000),
        "gpt-5.4-mini": Price(0.75, 4.50, 0.075),
        "gpt-5.4-nano": Price(0.20, 1.25, 0.02),
        "gpt-5.2": Price(1.75, 14.0, 0.175),
        "gpt-5.1": Price(1.25, 10.0, 0.125),
        "gpt-5": Price(1.25, 10.0, 0.125),
        "gpt-5-mini": Price(0.25, 2.0, 0.025),
        "gpt-5-nano": Price(0.05, 0.40, 0.005),
        "gpt-4.1": Price(2.0, 8.0, 0.50),
        "gpt-4.1-mini": Price(0.40, 1.60, 0.10),
        "gpt-4.1-nano": Price(0.10, 0.40, 0.025),
        "gpt-4o": Price(2.50, 10.0, 1.25),
        "gpt-4o-mini": Price(0.15, 0.60, 0.075),
    },
    "groq": {
        "openai/gpt-oss-120b": Price(0.15, 0.60, 0.075),
        "openai/gpt-oss-20b": Price(0.075, 0.30, 0.037),
    },
}

# A snapshot has its model's price. A looser prefix would give gpt-5-pro the price of gpt-5.
_SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def price_of(
    provider: str, model: str, *, input_price: float | None = None, output_price: float | None = None, variables: str = "LLM_PRICE"
) -> Price | None:
    """The price of a provider's model, or None where it is not known.

    `input_price` and `output_price`, dollars per million tokens, stand above the list; `variables` is how the settings that hold
    them begin. Raises InvalidInput for one without the other and for a number that is no price.
    """
    if input_price is not None or output_price is not None:
        return _own_price(input_price, output_price, variables)
    if provider in FREE:
        return Price(0.0, 0.0, 0.0)
    prices = PRICES.get(provider, {})
    return prices.get(model) or prices.get(_SNAPSHOT.sub("", model))


def _own_price(input_price: float | None, output_price: float | None, variables: str) -> Price:
    if input_price is None or output_price is None or not (0 <= input_price < MILLION and 0 <= output_price < MILLION):
        raise InvalidInput(
            expected=f"{variables}_INPUT and {variables}_OUTPUT to be dollars per million tokens, both or neither",
            got=f"{input_price} and {output_price}",
            remedy="Set both, for example 0.5 and 1.5, or remove both.",
        )
    return Price(input_price, output_price, cached=input_price)


def cost(price: Price | None, usage: Usage) -> float | None:
    """Dollars for what an answer took, or None where no price holds; `usage.cached_tokens` are among its `input_tokens`."""
    if price is None or (price.most_input is not None and usage.input_tokens > price.most_input):
        return None
    fresh = max(usage.input_tokens - usage.cached_tokens, 0)
    return (fresh * price.input + usage.cached_tokens * price.cached + usage.output_tokens * price.output) / MILLION


INSTRUCTIONS_TOKENS = 500
"""About what the instructions and the marks between excerpts take."""


def prompt_tokens(passages: int, *, each: int) -> int:
    """About how many tokens a model reads with a question: the instructions, and so many passages of `each` tokens."""
    return INSTRUCTIONS_TOKENS + passages * each


def estimate(price: Price | None, *, input_tokens: int, most_output_tokens: int) -> float | None:
    """The dollars of an answer that is as long as it may be, nothing from a cache; None where no price holds."""
    return cost(price, Usage(input_tokens=input_tokens, output_tokens=most_output_tokens))
