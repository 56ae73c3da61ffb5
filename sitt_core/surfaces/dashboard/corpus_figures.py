"""Pure functions from a corpus's numbers to rows and to Plotly figures: lengths of chunks, and the map."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from sitt_core.anatomy import Bin, Plane
from sitt_core.surfaces.dashboard.figures import plain
from sitt_core.surfaces.dashboard.theme import DARK, Palette, template

MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
"""One per category, beside its colour: no meaning by colour alone."""
_LIGHT_COLOURS = ("#2b6f9e", "#7a4f9a", "#2f7d4f", "#a8452f", "#4d5a86", "#5f6f1f")
_DARK_COLOURS = ("#6db1de", "#bd97da", "#6cc28c", "#ea8d76", "#9fb0ea", "#b9c95e")


def length_rows(bins: Sequence[Bin]) -> list[dict[str, Any]]:
    """The bins as a table: from, to (both included), chunks."""
    return [{"from": each.low + 1, "to": each.high, "chunks": each.count} for each in bins]


def length_histogram(bins: Sequence[Bin], colours: Palette, *, limit: int, reach: int, name: str) -> go.Figure:
    """Chunks by length in the embedder's tokens up to `reach`; the limit is a line, what lies beyond it in the accent's stead hatched."""
    figure = go.Figure(layout=template(colours))
    over = [each.low >= limit for each in bins]
    figure.add_bar(
        x=[(each.low + each.high) / 2 for each in bins],
        y=[each.count for each in bins],
        width=[(each.high - each.low) * 0.92 for each in bins],
        marker={
            "color": [colours.stages["reranked"] if beyond else colours.stages["fused"] for beyond in over],
            "pattern": {"shape": ["/" if beyond else "" for beyond in over], "fgcolor": colours.card, "size": 6, "solidity": 0.3},
        },
        customdata=[[each.low + 1, each.high] for each in bins],
        hovertemplate="%{customdata[0]}–%{customdata[1]} tokens: %{y} chunks<extra></extra>",
    )
    figure.add_vline(x=limit, line={"color": colours.text, "width": 1.5, "dash": "dash"})
    right = limit > 0.6 * reach
    figure.add_annotation(
        x=limit,
        y=1,
        yref="paper",
        yanchor="bottom",
        text=f"{plain(name)} reads {limit:,}",
        showarrow=False,
        xanchor="right" if right else "left",
        font={"color": colours.text, "size": 12},
    )
    figure.update_xaxes(
        range=[0, reach * 1.02],
        title={"text": f"tokens of {plain(name)} in a chunk, header included", "font": {"size": 12}, "standoff": 6},
        automargin=True,
    )
    figure.update_yaxes(title={"text": "chunks", "font": {"size": 12}}, nticks=4, automargin=True)
    figure.update_layout(height=230, margin={"l": 8, "r": 8, "t": 24, "b": 8}, bargap=0)
    return figure


def category_styles(categories: Sequence[str], colours: Palette) -> dict[str, tuple[str, str]]:
    """Colour and mark of each category, the most frequent first; from the seventh on all are grey circles."""
    ranked = [name for name, _ in sorted(Counter(categories).items(), key=lambda item: (-item[1], item[0])) if name]
    inks = _DARK_COLOURS if colours is DARK else _LIGHT_COLOURS
    return {name: (inks[at], MARKS[at]) if at < len(inks) else (colours.faint, "circle-open") for at, name in enumerate(ranked)}


def map_rows(points: Plane, chunks: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """A row per chunk: its place on the map beside what `chunks` says of it (document, title, heading, category)."""
    return [{"x": round(float(x), 4), "y": round(float(y), 4), **chunk} for (x, y), chunk in zip(points.tolist(), chunks, strict=True)]


def embedding_map(
    rows: Sequence[Mapping[str, Any]],
    colours: Palette,
    *,
    explained: tuple[float, float],
    document: str = "",
    question: tuple[float, float] | None = None,
) -> go.Figure:
    """Chunks in the plane of their first two principal components, one colour and mark per category.

    The chunks of `document` are ringed in the accent, the question is a star of it.
    """
    figure = go.Figure(layout=template(colours))
    styles = category_styles([row["category"] for row in rows], colours)
    for category in [*styles, *([""] if any(not row["category"] for row in rows) else [])]:
        ink, mark = styles.get(category, (colours.faint, "circle-open"))
        _points(figure, [row for row in rows if row["category"] == category], plain(category) or "no category", ink=ink, mark=mark)
    own = [row for row in rows if document and row["document"] == document]
    if own:
        ring = {"size": 13, "color": "rgba(0,0,0,0)", "line": {"color": colours.accent, "width": 2.5}}
        figure.add_scatter(
            x=[row["x"] for row in own], y=[row["y"] for row in own], mode="markers", marker=ring, hoverinfo="skip", name="this document"
        )
    if question is not None:
        star = {"size": 20, "symbol": "star", "color": colours.accent, "line": {"color": colours.paper, "width": 1.5}}
        figure.add_scatter(
            x=[question[0]],
            y=[question[1]],
            mode="markers",
            marker=star,
            name="the question",
            hovertemplate="the question<extra></extra>",
        )
    for axis, share, name in ((figure.update_xaxes, explained[0], "first"), (figure.update_yaxes, explained[1], "second")):
        axis(title={"text": f"{name} component, {share:.0%} of the variance", "font": {"size": 12}}, showticklabels=False)
    figure.update_yaxes(scaleanchor="x")
    figure.update_layout(
        height=520,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "itemclick": "toggle", "font": {"size": 12}},
        clickmode="event+select",
    )
    return figure


def _points(figure: go.Figure, rows: Sequence[Mapping[str, Any]], name: str, *, ink: str, mark: str) -> None:
    figure.add_scatter(
        x=[row["x"] for row in rows],
        y=[row["y"] for row in rows],
        mode="markers",
        name=name,
        marker={"color": ink, "symbol": mark, "size": 8, "opacity": 0.8},
        selected={"marker": {"opacity": 0.8}},
        unselected={"marker": {"opacity": 0.8}},
        customdata=[[row["document"]] for row in rows],
        text=[" › ".join(plain(part) for part in (row["title"], row["heading"]) if part) for row in rows],
        hovertemplate="%{text}<extra></extra>",
    )
