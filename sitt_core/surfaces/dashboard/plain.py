"""Any text as a label: Streamlit reads labels as Markdown, and what people wrote is none."""

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&])")
_JOINER = "\u2060"


def plain_label(text: str, *, length: int = 300) -> str:
    """A label that reads as the text does, on one line, cut at `length` characters."""
    line = " ".join(text.split())
    line = line if len(line) <= length else line[: length - 1] + "…"
    # A backslash does not stop :emoji:, :material/icons: and :colour[…], but a joiner after the colon does.
    return _SPECIAL.sub(r"\\\1", line).replace(":", f":{_JOINER}")
