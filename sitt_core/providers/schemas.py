"""JSON schemas as services take them: every object closed, every property wanted, no limits that they do not know."""

from collections.abc import Mapping
from typing import Any

_KEPT = frozenset({"type", "properties", "items", "enum", "const", "description", "anyOf", "$ref", "$defs"})
"""What both Claude and OpenAI know of JSON Schema in their strict form; the rest is checked where the answer is read."""


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with all objects closed and all of their properties required, without keywords that a service would refuse."""
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            kept[name] = {each: strict(inner) for each, inner in value.items()}
        elif name == "items":
            kept[name] = strict(value)
        elif name == "anyOf":
            kept[name] = [strict(each) for each in value]
        elif name in _KEPT:
            kept[name] = value
    if kept.get("type") == "object":
        kept |= {"additionalProperties": False, "required": list(kept.get("properties", {}))}
    return kept
