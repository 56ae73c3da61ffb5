"""What may follow a source's place: `key=value` pairs joined by &, in one spelling for all sources."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from sitt_core.errors import InvalidInput, shown

_OPTIONS = re.compile(r"\?(?=[a-z]+=)")
YES = ("yes", "true", "1", "on")
NO = ("no", "false", "0", "off", "")


def parse_options(text: str, *, of: str, known: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The values of each option, in order; a comma separates values, as does naming the option again.

    `known` says what each option takes, `of` names the source for errors. Raises InvalidInput that names every wrong one.
    """
    found: dict[str, tuple[str, ...]] = {}
    unknown = []
    for pair in filter(None, text.split("&")):
        name, _, value = pair.partition("=")
        if name in known:
            found[name] = (*found.get(name, ()), *(each for part in value.split(",") if (each := unquote(part).strip())))
        else:
            unknown.append(name)
    if unknown:
        raise InvalidInput(
            expected=f"the options of {of}: " + ", ".join(f"{name}={takes}" for name, takes in known.items()),
            got=", ".join(map(shown, unknown)),
            remedy="Correct the name, or leave it out; & separates options.",
        )
    return found


def split_options(text: str, *, known: Mapping[str, str]) -> tuple[str, str]:
    """A place that may itself hold a question mark, and the options after it: they begin where `?` and a known name stand."""
    for found in _OPTIONS.finditer(text):
        if text[found.end() :].partition("=")[0] in known:
            return text[: found.start()], text[found.end() :]
    return text, ""


def written(options: Mapping[str, tuple[str, ...]]) -> str:
    """The options as they are parsed again, with their question mark; nothing for none."""
    pairs = [f"{name}={','.join(quote(value, safe='/*?[]! ') for value in values)}" for name, values in options.items() if values]
    return f"?{'&'.join(pairs)}" if pairs else ""


def switch(options: Mapping[str, tuple[str, ...]], name: str) -> bool:
    """Whether an option says yes; no by default. Raises InvalidInput for anything else."""
    value = (options.get(name) or ("",))[-1].lower()
    if value not in (*YES, *NO):
        raise InvalidInput(expected=f"{name}=yes or {name}=no", got=shown(value), remedy="Choose one of them.")
    return value in YES


def whole_number(options: Mapping[str, tuple[str, ...]], name: str, *, default: int, most: int) -> int:
    """A number from 1 to `most`; raises InvalidInput."""
    text = (options.get(name) or (str(default),))[-1]
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
        raise InvalidInput(expected=f"{name} to be a whole number from 1 to {most:,}", got=shown(text), remedy="Correct it.")
    return int(text)
