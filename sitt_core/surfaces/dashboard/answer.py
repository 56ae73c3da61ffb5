"""The component that draws an answer: citation chips that open the cited place, sentences marked by how they are supported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from sitt_core.surfaces.dashboard.theme import Palette

_FOLDER = Path(__file__).parent
_draw = st.components.v2.component(
    "sitt_answer",
    html='<div class="answer"></div>',
    css=(_FOLDER / "answer.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "answer.js").read_text(encoding="utf-8"),
)


def draw_answer(view: Mapping[str, Any], colours: Palette, *, key: str) -> None:
    """Draws an `answer_view`; the same key goes on with the same answer, whatever is open in it stays open."""
    inks = {name: getattr(colours, name) for name in ("text", "faint", "line", "accent", "danger", "card", "paper")}
    _draw(key=key, data={**view, "colours": inks})
