"""Pure functions from rows of `evals.analysis` to Plotly figures, each with its title, what has to be said of it, and its rows.

No meaning by colour alone: what is tied with the best has a filled mark and the word, what is highlighted has a letter and a
mark of its own. Rows are told apart by their places, never by their labels, of which two may be equal.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import plotly.graph_objects as go

from evals.analysis import Board, Duel, Effect, board_rows, duel_rows, effect_rows, is_binary
from evals.findings import metric_words
from evals.metrics import parse_metric
from evals.statistics import Interval
from sitt_core.configuration import BY_NAME
from sitt_core.look import Palette, plain, template

Row = Mapping[str, Any]

MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star")
GLYPHS = ("●", "■", "◆", "▲", "✚", "★")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
LETTERS = "ABCDEF"
"""What highlighted configurations are called on a chart, in the order of `Palette.series`."""
MOST_DOTS = 40
"""How many configurations a chart of dots draws; the table has all."""
MOST_CELLS = 2_000
"""How many marks a browser draws and still answers clicks at once."""
_LABEL, _QUESTION = 54, 25
_FRONT_LISTED = 8


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with what stands around it. `subtitle` names metric, n and interval method; `rows` are what is drawn, for a table and CSV.

    `name` is a file's name; `key` says what the letters stand for (places in `Palette.series`, names), `listed` what the
    numbers do; `alt` is for those who do not see it.
    """

    name: str
    title: str
    subtitle: str
    figure: go.Figure
    rows: Sequence[Row]
    key: tuple[tuple[int, str], ...] = ()
    listed: tuple[str, ...] = ()

    @property
    def alt(self) -> str:
        """The picture in words."""
        return f"{self.title}. {self.subtitle}"


def exploratory(chart: Chart, why: str) -> Chart:
    """The chart, said to be exploratory in its title and, with the reason, in its subtitle."""
    return replace(chart, title=f"{chart.title} (exploratory)", subtitle=f"{chart.subtitle} Exploratory: {why}.")


def highlighted(made: Board) -> tuple[int, ...]:
    """The places of what is worth following: the best, the baseline, the cheapest and the fastest of the tied, the next best, the last."""
    order = [row.place for row in made.rows if row.standing.mean.mean is not None]
    named = [*order[:1], made.leaderboard.baseline, made.cheapest, made.fastest]
    first = list(dict.fromkeys(place for place in named if place is not None))
    filled = list(dict.fromkeys([*first, *order]))[: max(3, len(first))]
    return tuple(dict.fromkeys([*filled, *order[-1:]]))[: len(LETTERS)]


def key_html(key: Sequence[tuple[int, str]]) -> str:
    """What the letters stand for, as HTML; the classes `sl-s0` to `sl-s5` have the colours of `Palette.series`."""
    entries = "".join(
        f'<li><b class="sl-s{at}">{LETTERS[at]} <span aria-hidden="true">{GLYPHS[at]}</span></b> {escape(name)}</li>' for at, name in key
    )
    return f'<ul class="sl-key">{entries}</ul>'


def _key(rows: Sequence[Row], highlights: Sequence[int]) -> tuple[tuple[int, str], ...]:
    names = {row["place"]: row["configuration"] for row in rows}
    return tuple((at, names[place]) for at, place in enumerate(highlights) if place in names)


def number(value: float | None) -> str:
    """A score as a label bears it: two decimals, three below a tenth; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.3f}" if 0 < abs(value) < 0.1 else f"{value:.2f}"


def leaderboard(made: Board, colours: Palette, *, highlights: Sequence[int] = ()) -> Chart:
    """Every configuration's mean as a dot with its interval, the best first; shaded is what cannot be told from the best."""
    rows = board_rows(made)
    ties = made.leaderboard.ties
    band = (ties.means[_column(made)] - ties.yardstick, ties.means[_column(made)]) if ties else None
    figure = _dots(rows[:MOST_DOTS], colours, axis=f"mean {metric_words(made.metric)}", band=band, highlights=highlights)
    tied = sum(row["tied"] for row in rows)
    said = [
        f"{_sentence(metric_words(made.metric))}, means over {_counts(rows)} questions; {methods(rows)}.",
        (
            f"Filled: the {tied} not distinguishable from the best (randomised Tukey HSD over {made.leaderboard.n:,} questions: "
            f"within {number(ties.yardstick)}, shaded)."
            if ties and tied > 1
            else f"Filled: the best, distinguishable from every other (randomised Tukey HSD over {made.leaderboard.n:,} questions)."
            if ties and len(rows) > 1
            else f"{_sentence(made.leaderboard.note)}."
            if made.leaderboard.note
            else ""
        ),
        f"Drawn: the first {MOST_DOTS} of {len(rows)}." if len(rows) > MOST_DOTS else "",
    ]
    return Chart("leaderboard", "Leaderboard", _joined(said), figure, rows)


def _column(made: Board) -> int:
    """Where the best stands among the means of the tie set, which hold the comparable configurations alone."""
    assert made.leaderboard.ties is not None
    comparable = [standing.configuration for standing in made.leaderboard.standings if standing.comparable]
    return comparable.index(made.leaderboard.ties.best)


def effect_chart(made: Effect, colours: Palette) -> Chart:
    """The values of one field as dots with their intervals, over the configurations that differ in nothing else."""
    rows = effect_rows(made)
    field = BY_NAME[made.field].label
    over = f" of {made.matched} configurations each" if made.matched > 1 else ""
    ties = made.leaderboard.ties
    tied = len(ties.tied) if ties else 0
    verdict = (
        f"{_sentence(made.leaderboard.note)}."
        if ties is None
        else "Filled: the best" + (", and what is not distinguishable from it." if tied > 1 else ", distinguishable from every other.")
    )
    said = [f"{_sentence(metric_words(made.metric))}, means{over} over {_counts(rows)} questions; {methods(rows)}.", verdict]
    figure = _dots(rows, colours, axis=f"mean {metric_words(made.metric)}")
    chart = Chart(f"effect-{made.field}", f"Effect: {field}", _joined(said), figure, rows)
    return exploratory(chart, "what is told apart here is not corrected for the other fields")


def _dots(
    rows: Sequence[Row], colours: Palette, *, axis: str, band: tuple[float, float] | None = None, highlights: Sequence[int] = ()
) -> go.Figure:
    """A dot with whiskers for every row, its name above it and its value at the right."""
    figure = go.Figure(layout=template(colours))
    there = [(at, row) for at, row in enumerate(rows) if row["mean"] is not None]
    low, high = _reach([row for _, row in there])
    if band is not None:
        figure.add_shape(
            type="rect",
            x0=band[0],
            x1=band[1],
            y0=-0.6,
            y1=len(rows) - 0.5,
            layer="below",
            line={"width": 0},
            fillcolor=colours.line,
            opacity=0.45,
        )
    figure.add_scatter(
        x=[row["mean"] for _, row in there],
        y=[at for at, _ in there],
        mode="markers",
        name="means",
        marker={
            "symbol": [_mark(row) for _, row in there],
            "size": 11,
            "color": [colours.text if row["tied"] else colours.faint for _, row in there],
            "line": {"width": 1.6, "color": [colours.text if row["tied"] else colours.faint for _, row in there]},
        },
        error_x={**_whiskers([row for _, row in there]), "color": colours.faint, "thickness": 1.6, "width": 4},
        customdata=[[plain(row["configuration"]), number(row["mean"]), *_told(row)] for _, row in there],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}%{customdata[2]}<br>%{customdata[3]}<extra></extra>",
    )
    inks = {place: f'<span style="color:{colours.series[at]}"><b>{LETTERS[at]}</b></span> ' for at, place in enumerate(highlights)}
    names = [f"{inks.get(row['place'], '')}{_elided(row['configuration'], _LABEL)}{_missing(row, colours)}" for row in rows]
    _text(figure, [low] * len(rows), [at - 0.37 for at in range(len(rows))], names, colours, anchor="middle right", size=12)
    several = sum(row["tied"] for row in rows) > 1
    values = [_valued(row, "tied" if several else "best") for row in rows]
    _text(figure, [high] * len(rows), list(range(len(rows))), values, colours, anchor="middle right", size=12)
    figure.update_xaxes(range=[low, high], title=_axis_title(axis), showgrid=True, gridcolor=colours.line, nticks=6, automargin=True)
    figure.update_yaxes(range=[len(rows) - 0.45, -0.85], visible=False)
    figure.update_layout(height=int(64 + 38 * max(1, len(rows))), margin={"l": 8, "r": 104, "t": 4, "b": 8})
    return figure


def _mark(row: Row) -> str:
    """A square for the baseline, a circle for the others, filled where tied with the best; a cross for what is not comparable."""
    if row["why not"]:
        return "x-thin"
    shape = "square" if row["baseline"] else "diamond" if row["tied"] else "circle"
    return shape if row["tied"] else f"{shape}-open"


def _valued(row: Row, tied: str) -> str:
    if row["mean"] is None:
        return "no score"
    word = "not comparable" if row["why not"] else "baseline" if row["baseline"] else tied if row["tied"] else ""
    return f"<b>{number(row['mean'])}</b> {word}".strip()


def _missing(row: Row, colours: Palette) -> str:
    """n of m where fewer are defined."""
    return f' <span style="color:{colours.faint}">{row["n"]:,} of {row["of"]:,}</span>' if row["n"] < row["of"] else ""


def _told(row: Row) -> tuple[str, str]:
    """The interval and n in words, for hovering."""
    limits = f" ({number(row['low'])}–{number(row['high'])})" if row["low"] is not None else ""
    notes = [
        f"n {row['n']:,} of {row['of']:,}",
        *_missing_told(row),
        *(plain(str(row[name])) for name in ("note", "why not") if row.get(name)),
    ]
    return limits, "<br>".join(notes)


def _missing_told(row: Row) -> Iterator[str]:
    """Between what the mean would lie if the missing scores were known."""
    if row.get("missing as 0") is not None:
        yield f"{number(row['missing as 0'])} if all missing were 0, {number(row['missing as 1'])} if all were 1"


def _whiskers(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [row["high"] - row["mean"] if row["high"] is not None else 0 for row in rows],
        "arrayminus": [row["mean"] - row["low"] if row["low"] is not None else 0 for row in rows],
    }


def _reach(rows: Sequence[Row], share: float = 0.06) -> tuple[float, float]:
    """The range that holds every mean and its limits, with some room."""
    ends = [row[name] for row in rows for name in ("mean", "low", "high") if row[name] is not None]
    least, most = min(ends, default=0.0), max(ends, default=1.0)
    room = (most - least or 0.1) * share
    return least - room, most + room


def _text(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    texts: Sequence[str],
    colours: Palette,
    *,
    anchor: str,
    size: int = 12,
    ink: Any = None,
) -> None:
    """Labels that neither clip nor answer the pointer; their texts are clean already."""
    figure.add_scatter(
        x=x,
        y=y,
        mode="text",
        text=texts,
        textposition=anchor,
        textfont={"size": size, "color": ink or colours.text},
        hoverinfo="skip",
        cliponaxis=False,
        name="labels",
    )


def _cut(text: str, length: int) -> str:
    whole = plain(" ".join(text.split()))
    return whole if len(whole) <= length else whole[: length - 1] + "…"


def _elided(text: str, length: int) -> str:
    """A text cut in its middle: what tells configurations apart stands as often at the end."""
    whole = plain(" ".join(text.split()))
    half = (length - 1) // 2
    return whole if len(whole) <= length else f"{whole[:half]}…{whole[-half:]}"


def _axis_title(text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": 12}, "standoff": 6}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _counts(rows: Sequence[Row]) -> str:
    """n as one number, or as a range where it differs between rows."""
    counts = [row["n"] for row in rows] or [0]
    return f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"


def methods(rows: Sequence[Row]) -> str:
    """How the rows' intervals were made, in words."""
    named = dict.fromkeys(row["method"] for row in rows if row.get("low") is not None)
    return f"whiskers: 95 % intervals ({', '.join(named)})" if named else "too few for intervals"


def curves(rows: Sequence[Row], colours: Palette, *, highlights: Sequence[int], family: str = "recall", budgets: bool = False) -> Chart:
    """Means over the number of passages, or over token budgets: up to six configurations with intervals, the rest in grey."""
    figure = go.Figure(layout=template(colours))
    ticks = sorted({row["at"] for row in rows})
    at = {value: place for place, value in enumerate(ticks)}
    by_place: dict[int, list[Row]] = {}
    for row in rows:
        by_place.setdefault(row["place"], []).append(row)
    for place, points in by_place.items():
        if place not in highlights:
            _line(figure, points, at, {"color": colours.rest, "width": 1.1}, plain(points[0]["configuration"]))
    ends: list[tuple[float, int]] = []
    for number_, place in enumerate(highlights):
        points = by_place.get(place, [])
        if points:
            _highlight(figure, points, at, number_, colours)
            ends.append((_last(points), number_))
    low, high = _reach(rows, 0.04)
    spread = _spread([y for y, _ in ends], gap=(high - low) * 0.052)
    _text(
        figure,
        [len(ticks) - 1 + 0.16] * len(ends),
        spread,
        [f"<b>{LETTERS[each]}</b>" for _, each in ends],
        colours,
        anchor="middle right",
        ink=[colours.series[each] for _, each in ends],
        size=13,
    )
    unit = "tokens shown, the last passage cut" if budgets else "passages shown (k)"
    figure.update_xaxes(
        range=[-0.2, max(1, len(ticks) - 1) + 0.32],
        tickvals=list(range(len(ticks))),
        ticktext=[f"{each:,}" for each in ticks],
        title=_axis_title(unit),
        automargin=True,
    )
    figure.update_yaxes(
        range=[low, max(high, *spread, low + 0.1) if spread else high],
        showgrid=True,
        gridcolor=colours.line,
        nticks=6,
        automargin=True,
        tickformat=".2f",
    )
    figure.update_layout(height=380)
    word = _sentence(metric_words(family))
    named = f"{word} at {'token budgets' if budgets else 'k'}"
    binary = all(is_binary(f"{family}@{row['at']}{'t' * budgets}") for row in rows[:1])
    said = [
        f"{word}, means over {_counts(rows)} questions; whiskers: 95 % intervals ({'Wilson' if binary else 'BCa'}), of the lettered ones.",
        "At the same number of passages larger chunks show more text; at a budget they do not." if budgets else "",
    ]
    chart = Chart(f"{family}-at-{'budgets' if budgets else 'k'}", named, _joined(said), figure, rows, key=_key(rows, highlights))
    return exploratory(chart, "many metrics at once, which no correction covers")


def _line(figure: go.Figure, points: Sequence[Row], at: Mapping[int, int], line: Mapping[str, Any], name: str) -> None:
    figure.add_scatter(
        x=[at[row["at"]] for row in points],
        y=[row["mean"] for row in points],
        mode="lines",
        line=line,
        name=name,
        text=[f"{name}<br>at {row['at']:,}: {number(row['mean'])}" for row in points],
        hovertemplate="%{text}<extra></extra>",
    )


def _highlight(figure: go.Figure, points: Sequence[Row], at: Mapping[int, int], number_: int, colours: Palette) -> None:
    """A lettered line; neighbours stand a little beside each other, or their whiskers would hide one another."""
    ink, name = colours.series[number_], plain(points[0]["configuration"])
    there = [row for row in points if row["mean"] is not None]
    figure.add_scatter(
        x=[at[row["at"]] + (number_ - 2.5) * 0.022 for row in there],
        y=[row["mean"] for row in there],
        mode="lines+markers",
        line={"color": ink, "width": 2.2, "dash": DASHES[number_]},
        marker={"symbol": MARKS[number_], "size": 9, "color": ink},
        error_y={**_whiskers(there), "color": ink, "thickness": 1, "width": 2},
        name=f"{LETTERS[number_]} {name}",
        text=[f"{LETTERS[number_]} {name}<br>at {row['at']:,}: {number(row['mean'])}{_told(row)[0]}<br>{_told(row)[1]}" for row in there],
        hovertemplate="%{text}<extra></extra>",
    )


def _last(points: Sequence[Row]) -> float:
    return float(next((row["mean"] for row in reversed(points) if row["mean"] is not None), 0.0))


def _spread(wanted: Sequence[float], *, gap: float) -> list[float]:
    """Heights near the wanted ones, no two nearer than `gap`."""
    order = sorted(range(len(wanted)), key=lambda each: wanted[each])
    placed = [0.0] * len(wanted)
    blocks: list[list[int]] = []
    for each in order:
        blocks.append([each])
        while len(blocks) > 1 and _bottom(blocks[-1], wanted, gap) - _top(blocks[-2], wanted, gap) < gap:
            last = blocks.pop()
            blocks[-1] += last
    for block in blocks:
        start = _bottom(block, wanted, gap)
        for step, each in enumerate(block):
            placed[each] = start + step * gap
    return placed


def _bottom(block: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return sum(wanted[each] for each in block) / len(block) - gap * (len(block) - 1) / 2


def _top(block: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return _bottom(block, wanted, gap) + gap * (len(block) - 1)


COSTS = {"ms": ("latency", "milliseconds of a search, median", "ms"), "tokens": ("tokens", "tokens shown, mean", "tokens")}


def tradeoff_chart(rows: Sequence[Row], colours: Palette, *, metric: str, cost: str, highlights: Sequence[int] = ()) -> Chart:
    """Quality against a cost (`ms` or `tokens`); the numbered line is the Pareto front: what nothing beats in both."""
    name, axis, unit = COSTS[cost]
    figure = go.Figure(layout=template(colours))
    there = [row for row in rows if row["mean"] is not None and row[cost] is not None]
    front = sorted((row for row in there if row[f"front_{cost}"]), key=lambda row: (row[cost], row["mean"]))
    figure.add_scatter(
        x=[row[cost] for row in front],
        y=[row["mean"] for row in front],
        mode="lines",
        line={"color": colours.text, "width": 1.6, "shape": "hv", "dash": "dot"},
        hoverinfo="skip",
        name="front",
    )
    letters = {place: at for at, place in enumerate(highlights)}
    numbers = {row["place"]: at for at, row in enumerate(front, start=1)}
    _tradeoff_points(figure, there, cost, unit, letters, numbers, colours)
    logarithmic = _cost_axis(figure, [row[cost] for row in there], axis, colours)
    figure.update_yaxes(
        range=_mean_range(there),
        showgrid=True,
        gridcolor=colours.line,
        nticks=6,
        automargin=True,
        title=_axis_title(f"mean {metric_words(metric)}"),
        tickformat=".2f",
    )
    figure.update_layout(height=380)
    said = [
        f"{_sentence(metric_words(metric))}, means over {_counts(there)} questions; intervals stand on the leaderboard. Filled: not distinguishable from the best.",
        "The dotted line is the front: nothing is as good for less." if front else "Nothing was measured of both.",
        "The axis is logarithmic." if logarithmic else "",
    ]
    listed = tuple(
        f"{at} {row['configuration']}: {number(row['mean'])}, {_amount(row[cost], unit)}" for at, row in enumerate(front, start=1)
    )
    return Chart(
        f"quality-and-{name}", f"Quality and {name}", _joined(said), figure, rows, key=_key(rows, highlights), listed=listed[:_FRONT_LISTED]
    )


def _tradeoff_points(
    figure: go.Figure,
    rows: Sequence[Row],
    cost: str,
    unit: str,
    letters: Mapping[int, int],
    numbers: Mapping[int, int],
    colours: Palette,
) -> None:
    """A mark for every configuration; those with a letter or a number bear it above."""
    inks = [colours.series[letters[row["place"]]] if row["place"] in letters else colours.faint for row in rows]
    marked = letters.keys() | numbers.keys()
    figure.add_scatter(
        x=[row[cost] for row in rows],
        y=[row["mean"] for row in rows],
        mode="markers",
        marker={
            "symbol": [f"{_point(row, letters)}{'' if row['tied'] else '-open'}" for row in rows],
            "size": [11 if row["place"] in marked else 8 for row in rows],
            "color": inks,
            "opacity": 1,
            "line": {"color": inks, "width": 1.6},
        },
        customdata=[
            [plain(row["configuration"]), number(row["mean"]), _amount(row[cost], unit), "tied with the best" if row["tied"] else ""]
            for row in rows
        ],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]} at %{customdata[2]}<br>%{customdata[3]}<extra></extra>",
        name="configurations",
    )
    low, high = _mean_range(rows)
    groups = _near([row for row in rows if row["place"] in marked], cost, (high - low) * 0.06, _is_logarithmic([row[cost] for row in rows]))
    _text(
        figure,
        [group[0][cost] for group in groups],
        [max(row["mean"] for row in group) + (high - low) * 0.022 for group in groups],
        [f"<b>{' '.join(_badge(row['place'], letters, numbers, colours) for row in group)}</b>" for group in groups],
        colours,
        anchor="top center",
    )


def _near(rows: Sequence[Row], cost: str, height: float, logarithmic: bool) -> list[list[Row]]:
    """The rows in groups whose marks lie so near to one another that their labels would."""
    across = [math.log10(row[cost]) if logarithmic else row[cost] for row in rows]
    width = (max(across, default=0.0) - min(across, default=0.0)) * 0.035
    groups: list[list[int]] = []
    for at in sorted(range(len(rows)), key=lambda each: across[each]):
        found = (group for group in groups if across[at] - across[group[0]] <= width)
        near = next((group for group in found if abs(rows[at]["mean"] - rows[group[0]]["mean"]) <= height), None)
        if near is None:
            groups.append([at])
        else:
            near.append(at)
    return [[rows[at] for at in group] for group in groups]


def _badge(place: int, letters: Mapping[int, int], numbers: Mapping[int, int], colours: Palette) -> str:
    """A configuration's letter in its colour, its number on the front, or both."""
    letter = [f'<span style="color:{colours.series[letters[place]]}">{LETTERS[letters[place]]}</span>'] if place in letters else []
    return " ".join([*letter, *([str(numbers[place])] if place in numbers else [])])


def _mean_range(rows: Sequence[Row]) -> tuple[float, float]:
    means = [row["mean"] for row in rows] or [0.0, 1.0]
    return min(means) - _room(means), max(means) + 1.6 * _room(means)


def _cost_axis(figure: go.Figure, costs: Sequence[float], title: str, colours: Palette) -> bool:
    """The axis of a cost, logarithmic where the largest is many times the least; returns whether it is."""
    logarithmic = _is_logarithmic(costs)
    figure.update_xaxes(title=_axis_title(title), automargin=True, showgrid=True, gridcolor=colours.line, nticks=6)
    if logarithmic:
        figure.update_xaxes(type="log", range=[math.log10(min(costs)) - 0.12, math.log10(max(costs)) + 0.12], dtick="D2", tickformat="~g")
    elif costs:
        figure.update_xaxes(range=[min(costs) - _room(costs), max(costs) + _room(costs)], tickformat=",~g")
    return logarithmic


def _is_logarithmic(costs: Sequence[float]) -> bool:
    """Whether the largest is many times the least."""
    return bool(costs) and min(costs) > 0 and max(costs) / min(costs) > 8


def _point(row: Row, letters: Mapping[int, int]) -> str:
    return MARKS[letters[row["place"]]] if row["place"] in letters else "circle"


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 or unit == "tokens" else f"{value:.1f} {unit}"


def _room(values: Sequence[float]) -> float:
    return (max(values) - min(values) or 0.1) * 0.08


def by_kind_chart(rows: Sequence[Row], colours: Palette, *, metric: str, highlights: Sequence[int]) -> Chart:
    """Kinds of questions one below the other: the lettered configurations with their intervals, all others as grey dots in one line."""
    figure = go.Figure(layout=template(colours))
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    lines = len(highlights) + 2
    top = {kind: at * lines for at, kind in enumerate(kinds)}
    low, high = _reach([row for row in rows if row["mean"] is not None])
    others = [row for row in rows if row["place"] not in highlights and row["mean"] is not None]
    figure.add_scatter(
        x=[row["mean"] for row in others],
        y=[top[row["kind"]] + 0.8 for row in others],
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"color": colours.rest, "width": 1.5}},
        text=[f"{plain(row['configuration'])}<br>{number(row['mean'])}" for row in others],
        hovertemplate="%{text}<extra></extra>",
        name="others",
    )
    for number_, place in enumerate(highlights):
        own = [row for row in rows if row["place"] == place and row["mean"] is not None]
        ink = colours.series[number_]
        heights = [top[row["kind"]] + 1.6 + number_ for row in own]
        figure.add_scatter(
            x=[row["mean"] for row in own],
            y=heights,
            mode="markers",
            marker={"symbol": MARKS[number_], "size": 10, "color": ink},
            error_x={**_whiskers(own), "color": ink, "thickness": 1.4, "width": 3},
            text=[
                f"{LETTERS[number_]} {plain(row['configuration'])}<br>{number(row['mean'])}{_told(row)[0]}<br>{_told(row)[1]}"
                for row in own
            ],
            hovertemplate="%{text}<extra></extra>",
            name=f"{LETTERS[number_]} {plain(own[0]['configuration'])}" if own else LETTERS[number_],
        )
        values = [f"<b>{LETTERS[number_]}</b> {number(row['mean'])}{'' if row['low'] is not None else ' too few'}" for row in own]
        _text(figure, [high] * len(own), heights, values, colours, anchor="middle right", ink=ink, size=12)
    heads = [f"<b>{plain(kind)}</b>, n {_counts([row for row in rows if row['kind'] == kind])}" for kind in kinds]
    _text(figure, [low] * len(kinds), [top[kind] for kind in kinds], heads, colours, anchor="middle right", size=13)
    figure.update_xaxes(
        range=[low, high],
        title=_axis_title(f"mean {metric_words(metric)}"),
        showgrid=True,
        gridcolor=colours.line,
        nticks=6,
        automargin=True,
    )
    figure.update_yaxes(range=[len(kinds) * lines - 0.2, -0.9], visible=False)
    figure.update_layout(height=int(64 + 19 * lines * max(1, len(kinds))), margin={"l": 8, "r": 104, "t": 4, "b": 8})
    few = sorted({row["kind"] for row in rows if row["low"] is None and row["mean"] is not None})
    said = [
        f"{_sentence(metric_words(metric))}; whiskers: 95 % intervals ({'Wilson' if is_binary(metric) else 'BCa'}). Grey strokes: the other configurations.",
        f"Too few questions for an interval: {', '.join(few)}." if few else "",
    ]
    chart = Chart("by-kind", "By kind of question", _joined(said), figure, rows, key=_key(rows, highlights))
    return exploratory(chart, "slices, which no correction covers")


MOST_SMALL = 16
"""How many configurations each of several small charts draws; their tables have all."""


def quality_chart(rows: Sequence[Row], colours: Palette, *, metric: str, judge: str, meaning: str, order: Sequence[int]) -> Chart:
    """A metric of answers: each configuration's mean as a dot with its interval, behind it a thin line from all missing 0 to all missing 1.

    `rows` are of `evals.verdicts.quality_rows`; configurations stand in the `order` of their places, the same in every chart; `judge` is
    who judged, in words.
    """
    held = {row["place"]: row for row in rows if row["metric"] == metric}
    listed = [held[place] for place in order if place in held]
    less = any(row["less is better"] for row in listed)
    drawn = listed[:MOST_SMALL]
    missing = _missing_words(listed)
    said = [
        f"{meaning} Means over {_counts(listed)} questions; {methods(listed)}.",
        f"Open marks: scores are missing ({missing}); thin line: from all of those 0 to all 1." if missing else "",
        f"Drawn: the first {MOST_SMALL} of {len(listed)}." if len(listed) > MOST_SMALL else "",
        f"Judge: {judge}.",
    ]
    figure = _quality_dots(drawn, colours, axis="← less is better" if less else "more is better →")
    return Chart(f"answers-{metric}", _sentence(metric_words(metric)), _joined(said), figure, [quality_cells(row, judge) for row in listed])


def quality_cells(row: Row, judge: str) -> dict[str, Any]:
    """A row of `evals.verdicts.quality_rows` as a line of a table: reasons in words, and who judged."""
    kept = ("metric", "configuration", "mean", "low", "high", "method", "n", "of", "bound low", "bound high")
    reasons = {name: "; ".join(f"{count:,} × {reason}" for reason, count in row[name].items()) for name in ("undefined", "failed")}
    return {
        **{name: row[name] for name in kept},
        **reasons,
        "waiting": row["waiting"],
        "less is better": row["less is better"],
        "judge": judge,
    }


def missing_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Why scores are missing: a line for every metric, configuration and reason, of rows of `evals.verdicts.quality_rows`."""
    return [
        {"metric": row["metric"], "configuration": row["configuration"], "answers": count, "what": what, "reason": reason}
        for row in rows
        for what, reasons in (("undefined", row["undefined"]), ("failed", row["failed"]), ("waiting", {"not judged yet": row["waiting"]}))
        for reason, count in reasons.items()
        if count
    ]


def _quality_dots(rows: Sequence[Row], colours: Palette, *, axis: str) -> go.Figure:
    figure = go.Figure(layout=template(colours))
    there = [(at, row) for at, row in enumerate(rows) if row["mean"] is not None]
    low, high = _reach([{"mean": None, "low": 0.0, "high": 1.0}, *(row for _, row in there)], 0.035)
    for at, row in enumerate(rows):
        if row["n"] < row["of"]:
            figure.add_scatter(
                x=[row["bound low"], row["bound high"]],
                y=[at, at],
                mode="lines+markers",
                line={"width": 1.2, "color": colours.rest},
                marker={"symbol": "line-ns", "size": 7, "line": {"width": 1.2, "color": colours.rest}},
                hoverinfo="skip",
                name="bounds",
            )
    figure.add_scatter(
        x=[row["mean"] for _, row in there],
        y=[at for at, _ in there],
        mode="markers",
        name="means",
        marker={
            "symbol": ["circle-open" if row["n"] < row["of"] else "circle" for _, row in there],
            "size": 10,
            "color": colours.text,
            "line": {"width": 1.8, "color": colours.text},
        },
        error_x={**_whiskers([row for _, row in there]), "color": colours.faint, "thickness": 2.2, "width": 5},
        customdata=[[plain(row["configuration"]), number(row["mean"]), _told(row)[0], _quality_told(row)] for _, row in there],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}%{customdata[2]}<br>%{customdata[3]}<extra></extra>",
    )
    names = [_elided(row["configuration"], _SMALL_LABEL) for row in rows]
    _text(figure, [low] * len(rows), [at - 0.4 for at in range(len(rows))], names, colours, anchor="middle right", size=12)
    values = [f"<b>{number(row['mean'])}</b>{_of(row, colours)}" for row in rows]
    _text(figure, [high] * len(rows), list(range(len(rows))), values, colours, anchor="middle right", size=12)
    figure.update_xaxes(range=[low, high], title=_axis_title(axis), showgrid=True, gridcolor=colours.line, nticks=6, automargin=True)
    figure.update_yaxes(range=[len(rows) - 0.45, -0.85], visible=False)
    figure.update_layout(height=int(60 + 40 * max(1, len(rows))), margin={"l": 8, "r": 92, "t": 4, "b": 8})
    return figure


_SMALL_LABEL = 44


def _of(row: Row, colours: Palette) -> str:
    """n of m where fewer are defined."""
    return f' <span style="color:{colours.faint}">{row["n"]:,}/{row["of"]:,}</span>' if row["n"] < row["of"] else ""


def _missing_words(rows: Sequence[Row]) -> str:
    """How many scores of all configurations are undefined, failed or awaited; empty where none is missing."""
    counts = {what: sum(sum(row[what].values()) for row in rows) for what in ("undefined", "failed")}
    counts["not judged yet"] = sum(row["waiting"] for row in rows)
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def _quality_told(row: Row) -> str:
    """n, bounds and the reasons of what is missing, for hovering."""
    notes = [f"n {row['n']:,} of {row['of']:,}", *([plain(row["note"])] if row["note"] else [])]
    if row["n"] < row["of"]:
        notes.append(f"{number(row['bound low'])} if all missing were 0, {number(row['bound high'])} if all were 1")
    for what in ("undefined", "failed"):
        notes += [f"{count:,} {what}: {_cut(reason, 90)}" for reason, count in list(row[what].items())[:3]]
    return "<br>".join([*notes, *([f"{row['waiting']:,} not judged yet"] if row["waiting"] else [])])


OUTCOMES = {"undefined": ("line-ew", "–"), "error": ("x-thin", "✕"), "missing": ("circle-open", "○")}


def heat_map(rows: Sequence[Row], colours: Palette, *, metric: str, ranks: Mapping[int, int]) -> Chart:
    """Questions by configurations, a square mark for each: filled for 1, empty for 0, as large as the value in between.

    `rows` hold question after question; `ranks` are the places of configurations on the leaderboard by `c`, which the columns are named after.
    A click gives [place of the question, place of the configuration]. Squares are marks of a scatter: Plotly's heat map
    gives Streamlit no click.
    """
    figure = go.Figure(layout=template(colours))
    columns = list(dict.fromkeys(row["c"] for row in rows))
    places = list(dict.fromkeys(row["place"] for row in rows))
    x, y = {c: at for at, c in enumerate(columns)}, {place: at for at, place in enumerate(places)}
    texts = {row["place"]: row["text"] for row in rows}
    scored = [row for row in rows if row["outcome"] == "value"]
    inks = [_ink(row, colours) for row in rows]
    figure.add_scatter(
        x=[x[row["c"]] for row in rows],
        y=[y[row["place"]] for row in rows],
        mode="markers",
        marker={
            "symbol": [_square(row) for row in rows],
            "size": [_size(row) for row in rows],
            "color": inks,
            "opacity": 1,
            "line": {"color": inks, "width": [_edge(row) for row in rows]},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=[[row["place"], row["c"], _cut(row["text"], 90), plain(row["configuration"]), _outcome(row)] for row in rows],
        hovertemplate="%{customdata[2]}<br><b>%{customdata[3]}</b><br>%{customdata[4]}<br>click: to Explore<extra></extra>",
        name="cells",
    )
    figure.update_xaxes(
        range=[-0.7, len(columns) - 0.3],
        tickvals=list(range(len(columns))),
        ticktext=[str(ranks[c]) for c in columns],
        side="top",
        title=_axis_title("configurations by their rank"),
        tickangle=0,
        automargin=True,
        tickfont={"size": 11},
    )
    figure.update_yaxes(
        range=[len(places) - 0.4, -0.6],
        tickvals=list(range(len(places))),
        ticktext=[_cut(texts[place], _QUESTION) for place in places],
        automargin=True,
        color=colours.text,
        tickfont={"size": 11},
        ticksuffix=" ",
    )
    figure.update_layout(height=int(76 + 18 * max(1, len(places))), clickmode="event+select", hovermode="closest")
    between = ", as large as the value in between" if any(row["value"] not in (0.0, 1.0) for row in scored) else ""
    told = {"undefined": "– not defined", "error": "✕ could not be scored", "missing": "○ not asked yet"}
    said = [
        f"{_sentence(metric_words(metric))}: ■ 1, □ 0{between}{''.join(f', {told[each]}' for each in told if any(row['outcome'] == each for row in rows))}.",
        f"{len(places):,} questions, those that the configurations differ in most first; {len(columns)} configurations, the best first.",
    ]
    return Chart("questions", "Questions and configurations", _joined(said), figure, rows)


def _square(row: Row) -> str:
    if row["outcome"] != "value":
        return OUTCOMES[row["outcome"]][0]
    return "square" if row["value"] > 0 else "square-open"


def _size(row: Row) -> float:
    if row["outcome"] != "value" or row["value"] <= 0:
        return 9.0
    return round(4.0 + 6.0 * math.sqrt(min(1.0, row["value"])), 1)


def _edge(row: Row) -> float:
    return {"value": 1.0, "undefined": 2.0, "error": 2.4, "missing": 1.0}[row["outcome"]]


def _ink(row: Row, colours: Palette) -> str:
    if row["outcome"] == "error":
        return colours.danger
    return colours.stages["fused"] if row["outcome"] == "value" and row["value"] > 0 else colours.faint


def _outcome(row: Row) -> str:
    if row["outcome"] == "value":
        return number(row["value"])
    return f"{row['outcome']}: {_cut(row['reason'], 120)}"


def duel_chart(made: Duel, colours: Palette) -> Chart:
    """Two configurations: how many questions each won, and the mean difference with its interval on a line through 0."""
    found = made.comparison
    figure = go.Figure(layout=template(colours))
    parts = (
        ("A", found.wins, colours.series[0], ""),
        ("equal", found.ties, colours.rest, ""),
        ("B", found.losses, colours.series[1], "/"),
    )
    for name, count, ink, pattern in parts:
        figure.add_bar(
            x=[count],
            y=["won"],
            orientation="h",
            name=name,
            marker={"color": ink, "pattern": {"shape": pattern, "bgcolor": ink, "fgcolor": colours.card, "size": 7, "solidity": 0.2}},
            hovertemplate=f"{_won(name, count)}<extra></extra>",
        )
    starts = [0, found.wins, found.wins + found.ties]
    n = max(1, found.wins + found.ties + found.losses)
    ends = [
        (starts[0], "left", f"A won {found.wins:,}"),
        (n / 2, "center", f"{found.ties:,} equal"),
        (n, "right", f"B won {found.losses:,}"),
    ]
    for x, anchor, text in ends:
        figure.add_annotation(x=x, y=1.02, yref="paper", xanchor=anchor, yanchor="bottom", text=text, showarrow=False, font={"size": 13})
    _difference_line(figure, found.difference, colours)
    figure.update_layout(
        barmode="stack",
        height=210,
        bargap=0.1,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        xaxis={"range": [0, n], "visible": False, "anchor": "y"},
        yaxis={"domain": [0.78, 1], "visible": False},
    )
    words = metric_words(made.metric)
    said = [
        f"{_sentence(words)}, A minus B, on the {found.shares.n:,} of {found.shares.of:,} questions defined for both: {_difference(found.difference)}.",
        f"Paired sign-flip test: p {_probability(found.p)}; {VERDICTS[found.verdict]}.",
        f"These questions would show a difference of {number(found.detectable)} four times in five." if found.detectable else "",
        f"{_sentence(found.shares.why_not)}." if found.shares.why_not else "",
    ]
    chart = Chart("head-to-head", "Head to head", _joined(said), figure, duel_rows(made))
    return exploratory(chart, "no correction covers the choice of the two")


VERDICTS = {
    "better": "A is better",
    "worse": "B is better",
    "not distinguishable": "they are not distinguishable",
    "not comparable": "they are not comparable",
    "too few": "too few questions for a verdict",
}


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _won(name: str, count: int) -> str:
    return f"{count:,} equal" if name == "equal" else f"{name} won {count:,}"


def _difference(found: Interval) -> str:
    if found.mean is None:
        return "not defined"
    if found.low is None or found.high is None:
        return f"{found.mean:+.2f}, {found.method}"
    return f"{found.mean:+.2f} (95 % interval {found.low:+.2f} to {found.high:+.2f}, {found.method})".replace("-", "−")


def _difference_line(figure: go.Figure, found: Interval, colours: Palette) -> None:
    """The lower half: the difference as a dot with its interval, and 0 as a line."""
    row = {"mean": found.mean, "low": found.low, "high": found.high}
    points = [row] if found.mean is not None else []
    reach = max((abs(row[name] or 0.0) for row in points for name in row), default=0.0) * 1.25 or 0.1
    figure.add_scatter(
        x=[0, 0], y=[-1, 1], mode="lines", line={"color": colours.text, "width": 1.5}, hoverinfo="skip", xaxis="x2", yaxis="y2", name="zero"
    )
    figure.add_scatter(
        x=[each["mean"] for each in points],
        y=[0] * len(points),
        mode="markers",
        marker={"symbol": "diamond", "size": 12, "color": colours.text},
        error_x={**_whiskers(points), "color": colours.text, "thickness": 2, "width": 6},
        hovertemplate=f"{_difference(found)}<extra></extra>",
        xaxis="x2",
        yaxis="y2",
        name="difference",
    )
    base = template(colours)["xaxis"]
    figure.update_layout(
        xaxis2={
            **base,
            "anchor": "y2",
            "range": [-reach, reach],
            "title": _axis_title("← B higher · mean difference, A minus B · A higher →"),
            "nticks": 5,
            "tickformat": "+.2f",
            "automargin": True,
        },
        yaxis2={**base, "domain": [0, 0.58], "range": [-1.2, 1.2], "visible": False, "anchor": "x2"},
    )


def families(metrics: Sequence[str], *, budgets: bool = False) -> list[str]:
    """The families of which a run has a curve: at two numbers of passages, or budgets, or more; recall first."""
    points: dict[str, int] = {}
    for name in metrics:
        metric = parse_metric(name)
        if (metric.budget if budgets else metric.k) is not None:
            points[metric.family] = points.get(metric.family, 0) + 1
    return sorted((family for family, count in points.items() if count > 1), key=lambda family: (family != "recall", family))


def visible(questions: int, configurations: int) -> Iterator[range]:
    """The parts in which a heat map of so many questions is shown, of about `MOST_CELLS` marks each."""
    size = max(10, MOST_CELLS // max(1, configurations))
    yield from (range(start, min(start + size, questions)) for start in range(0, questions, size))
