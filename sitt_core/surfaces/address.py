"""What a link holds: corpus, question, filters and every field of the configuration, and back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sitt_core.configuration import BY_NAME, Configuration, configure_leniently
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.types import Filters

VERSION = "1"
_FILTERS = ("category", "region", "origin")


@dataclass(frozen=True, slots=True)
class Address:
    """Everything a link reproduces."""

    configuration: Configuration
    corpus: str = DEFAULT_CORPUS
    question: str = ""
    filters: Filters = field(default_factory=Filters)


def to_parameters(address: Address) -> dict[str, str | list[str]]:
    """The query parameters of a link: every field written out, so that it means the same when defaults change."""
    parameters: dict[str, str | list[str]] = {"v": VERSION, "corpus": address.corpus}
    if address.question:
        parameters["q"] = address.question
    for name in _FILTERS:
        if values := getattr(address.filters, name):
            parameters[name] = list(values)
    return {**parameters, **{name: str(value) for name, value in address.configuration.to_dict().items()}}


def from_parameters(parameters: Mapping[str, list[str]], defaults: Configuration) -> tuple[Address, tuple[str, ...]]:
    """The address that query parameters hold, and a sentence for each field of them that could not be used."""
    single = {name: values[-1] for name, values in parameters.items() if values}
    known = {name: value for name, value in single.items() if name not in ("v", "corpus", "q", *_FILTERS)}
    ours = {name: value for name, value in known.items() if name in BY_NAME}
    foreign = [name for name in known if name not in ours and not name.startswith(("embed", "utm_"))]
    configuration, dropped = configure_leniently(ours, defaults)
    filters = Filters(*(tuple(parameters.get(name, ())) for name in _FILTERS))
    address = Address(configuration, single.get("corpus") or DEFAULT_CORPUS, single.get("q", ""), filters)
    return address, (*dropped, *(f"{name}: there is no such field" for name in foreign))
