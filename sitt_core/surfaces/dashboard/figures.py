"""Pure functions from a trace to rows and to Plotly figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from sitt_core.surfaces.dashboard.theme import Palette, template
from sitt_core.types import Hit, Retrieval, Trace

FLOW_DEPTH = 10
"""How far down a retriever's list the rank flow looks, at least."""
_LABEL = 22


def flow_rows(retrieval: Retrieval, titles: Mapping[str, str], *, top_k: int) -> list[dict[str, Any]]:
    """A row per passage that any stage ranked within its first ranks: its rank at each stage, and whether it is shown.

    Sorted by final rank. `titles` names chunks by id.
    """
    depth = max(FLOW_DEPTH, top_k)
    shown = {passage.chunk.id: passage.rank for passage in retrieval.passages}
    lists = _ranked_lists(retrieval.trace, depth)
    seen = dict.fromkeys([*shown, *(hit.chunk_id for hits in lists.values() for hit in hits)])
    rows = []
    for chunk_id in seen:
        ranks = {name: _rank(retrieval.trace, name, chunk_id) for name in lists}
        rows.append({"passage": titles.get(chunk_id, chunk_id), **ranks, "shown": shown.get(chunk_id), "chunk": chunk_id})
    return sorted(rows, key=lambda row: (row["shown"] or 10**6, min(row[name] or 10**6 for name in lists)))


def _ranked_lists(trace: Trace, depth: int) -> dict[str, Sequence[Hit]]:
    names = {"dense": "dense", "keyword": "keyword", "fusion": "fused"}
    return {names[stage.name]: stage.hits[:depth] for stage in trace.stages if stage.name in names}


def _rank(trace: Trace, name: str, chunk_id: str) -> int | None:
    stage = trace.stage("fusion" if name == "fused" else name)
    return next((rank for rank, hit in enumerate(stage.hits, start=1) if hit.chunk_id == chunk_id), None) if stage else None


def rank_flow(rows: Sequence[Mapping[str, Any]], colours: Palette, *, top_k: int) -> go.Figure:
    """A line per passage from the retrievers' lists on the left to what is shown on the right; short lines leave.

    A list goes on below its first ranks with those that are shown all the same.
    """
    retrievers = [name for name in ("dense", "keyword") if rows and name in rows[0]]
    places, bottom = _flow_places(rows, retrievers, depth=max(FLOW_DEPTH, top_k))
    figure = go.Figure(layout=template(colours))
    for name in retrievers:
        for row in rows:
            if row["chunk"] in places[name]:
                _flow_line(figure, places[name][row["chunk"]], places["shown"].get(row["chunk"]), name, colours)
    for name, x in [*((name, 0.0) for name in retrievers), ("shown", 1.0)]:
        _flow_ranks(figure, [row for row in rows if row["chunk"] in places[name]], name, x, places[name], colours)
    shown = [row for row in rows if row["chunk"] in places["shown"]]
    labels = [_short(row["passage"]) for row in shown]
    heights = [places["shown"][row["chunk"]] for row in shown]
    figure.add_scatter(
        x=[1.08] * len(shown), y=heights, mode="text", text=labels, textposition="middle right", hoverinfo="skip", cliponaxis=False
    )
    for name in retrievers:
        if places[name]:
            _flow_heading(figure, name, colours.stages[name], x=-0.05, y=min(places[name].values()) - 1, colours=colours)
    heading = "fused, shown" if len(retrievers) > 1 else "shown"
    _flow_heading(figure, heading, colours.stages["fused"], x=1.05, y=min(heights, default=1.0) - 1, colours=colours)
    figure.update_yaxes(range=[bottom + 0.8, -1.2], visible=False)
    figure.update_xaxes(range=[-0.16, 2.4], visible=False)
    figure.update_layout(height=int(70 + 21 * (bottom + 1)))
    return figure


def _flow_places(rows: Sequence[Mapping[str, Any]], retrievers: Sequence[str], *, depth: int) -> tuple[dict[str, dict[str, float]], float]:
    """Where each list has each chunk, from the top: the retrievers' one below the other, what is shown beside their middle."""
    places: dict[str, dict[str, float]] = {}
    top = 0.0
    for name in retrievers:
        ranked = sorted((row[name], row["chunk"]) for row in rows if row[name] and (row[name] <= depth or row["shown"]))
        beyond = [chunk for rank, chunk in ranked if rank > depth]
        places[name] = {chunk: top + rank for rank, chunk in ranked if rank <= depth}
        lowest = max(places[name].values(), default=top + 1)
        places[name].update({chunk: lowest + 1 + at for at, chunk in enumerate(beyond)})
        top = lowest + len(beyond) + 2
    bottom = top - 2
    shown = {row["chunk"]: float(row["shown"]) for row in rows if row["shown"]}
    middle = max(0.0, (bottom - len(shown)) / 2)
    places["shown"] = {chunk: middle + rank for chunk, rank in shown.items()}
    return places, max(bottom, middle + len(shown))


def _flow_heading(figure: go.Figure, text: str, colour: str, *, x: float, y: float, colours: Palette) -> None:
    figure.add_annotation(
        x=x, y=y, text=f"<b>{text}</b>", font={"color": colour}, showarrow=False, xanchor="left", yanchor="bottom", bgcolor=colours.paper
    )


def _flow_line(figure: go.Figure, start: float, end: float | None, name: str, colours: Palette) -> None:
    """To the shown passage in the retriever's colour; a passage that is not shown gets a stub."""
    if end is None:
        x, y, line = [0.09, 0.3], [start, start], {"color": colours.line, "width": 1.2}
    else:
        x, y, line = [0.09, 0.93], [start, end], {"color": colours.stages[name], "width": 2.2}
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _flow_ranks(
    figure: go.Figure, rows: Sequence[Mapping[str, Any]], name: str, x: float, places: Mapping[str, float], colours: Palette
) -> None:
    """The rank numbers of one list, those of shown passages in the accent; the passage's name on hovering."""
    figure.add_scatter(
        x=[x] * len(rows),
        y=[places[row["chunk"]] for row in rows],
        mode="text",
        text=[str(row[name]) for row in rows],
        textfont={"color": [colours.accent if row["shown"] else colours.faint for row in rows], "size": 12},
        customdata=[plain(row["passage"]) for row in rows],
        hovertemplate="%{customdata}<br>" + name + " rank %{text}<extra></extra>",
    )


def plain(text: str) -> str:
    """A text that Plotly, which reads a few HTML tags in labels, shows as it is."""
    return text.replace("&", "＆").replace("<", "‹").replace(">", "›")


def _short(text: str) -> str:
    whole = plain(text)
    return whole if len(whole) <= _LABEL else whole[: _LABEL - 1] + "…"


def waterfall_rows(trace: Trace) -> list[dict[str, Any]]:
    """A row per stage: when it began and how long it took, in milliseconds, and how much went in and came out."""
    return [
        {
            "stage": stage.name,
            "start": round(stage.started, 2),
            "ms": round(stage.milliseconds, 2),
            "in": stage.taken,
            "out": len(stage.hits),
            "note": stage.note,
        }
        for stage in trace.stages
    ]


def waterfall(rows: Sequence[Mapping[str, Any]], colours: Palette, *, total: float) -> go.Figure:
    """Stages as bars over the milliseconds since the question; the retrievers run side by side."""
    figure = go.Figure(layout=template(colours))
    figure.add_bar(
        y=[row["stage"] for row in rows],
        x=[row["ms"] for row in rows],
        base=[row["start"] for row in rows],
        orientation="h",
        marker={"color": [colours.stages.get(row["stage"], colours.faint) for row in rows]},
        customdata=[[row["ms"], row["in"], row["out"], plain(row["note"])] for row in rows],
        hovertemplate="%{y}: %{customdata[0]} ms<br>in %{customdata[1]}, out %{customdata[2]}<br>%{customdata[3]}<extra></extra>",
        text=[f"{row['ms']:.1f} ms" for row in rows],
        textposition="outside",
        textfont={"color": colours.text},
        cliponaxis=False,
    )
    figure.update_yaxes(autorange="reversed", color=colours.text, automargin=True, ticksuffix=" ")
    figure.update_xaxes(
        range=[0, total * 1.28], title={"text": "ms since the question", "font": {"size": 12}, "standoff": 6}, nticks=5, automargin=True
    )
    figure.update_layout(height=70 + 28 * max(1, len(rows)), bargap=0.35)
    return figure
