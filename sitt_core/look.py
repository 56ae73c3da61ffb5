"""The look that pages and reports share: a palette for each scheme, and the one Plotly template."""

from dataclasses import dataclass
from typing import Any

STAGES = ("dense", "keyword", "fused", "reranked")


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one scheme. Text on `paper` and on `card` has a contrast of at least 4.5:1, `faint` and `series` included.

    `series` are six for what is compared: with red-green or blue-yellow blindness too, any two of them differ by at least .07
    in OKLab, and so does each from `accent`. `rest` is for what stands behind them, and is never text.
    """

    paper: str
    card: str
    text: str
    faint: str
    line: str
    accent: str
    danger: str
    stages: dict[str, str]
    series: tuple[str, ...]
    rest: str


LIGHT = Palette(
    paper="#fbfaf5",
    card="#ffffff",
    text="#1f2a24",
    faint="#5a665f",
    line="#d8d9cd",
    accent="#8f5f0c",
    danger="#a3262f",
    stages={
        "embed": "#7d9fb8",
        "dense": "#2b6f9e",
        "keyword": "#7a4f9a",
        "fusion": "#2f7d4f",
        "fused": "#2f7d4f",
        "reranked": "#a8452f",
        "passages": "#8a9089",
    },
    series=("#157c8e", "#8a3e29", "#2d0759", "#276b5f", "#374a7e", "#6e2b56"),
    rest="#a5aba0",
)
DARK = Palette(
    paper="#141c17",
    card="#1b2620",
    text="#e6ebe4",
    faint="#a3b0a7",
    line="#34423a",
    accent="#e0a94a",
    danger="#f3a0a0",
    stages={
        "embed": "#5f87a3",
        "dense": "#6db1de",
        "keyword": "#bd97da",
        "fusion": "#6cc28c",
        "fused": "#6cc28c",
        "reranked": "#ea8d76",
        "passages": "#8d968f",
    },
    series=("#adf3fc", "#df695c", "#b5acfa", "#4fd9b4", "#638bf9", "#b07eae"),
    rest="#66736b",
)


def palette(theme_type: str | None) -> Palette:
    """The palette of a theme's type, `light` or `dark`."""
    return DARK if theme_type == "dark" else LIGHT


def template(colours: Palette) -> dict[str, Any]:
    """The Plotly layout that every figure starts from: no chart junk, room for direct labels."""
    axis = {"showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True, "color": colours.faint}
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": colours.text},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "autoexpand": True},
        "hoverlabel": {"bgcolor": colours.card, "bordercolor": colours.line, "font": {"color": colours.text}},
        "showlegend": False,
        "xaxis": axis,
        "yaxis": axis,
        "dragmode": False,
    }


def plain(text: str) -> str:
    """A text that Plotly, which reads a few HTML tags in labels, shows as it is."""
    return text.replace("&", "＆").replace("<", "‹").replace(">", "›")
