"""Charts hold exactly the rows' numbers, tell outcomes apart without colour, and show hostile names as text."""

import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals import analysis, charts, results, statistics, verdicts
from evals.analysis import Board, Drawing, board, board_rows, draw_documents
from evals.charts import Chart
from evals.report import answer_charts
from evals.results import Asked, Entry, Manifest, Run, Writer
from evals.statistics import Interval
from evals.summary import labels
from sitt_core.look import DARK, LIGHT, Palette
from tests.fakes.runs import GOOD, HALF, MOST, a_run, columns, entry, with_verdicts

HOSTILE = 'st:<img src=x onerror="alert(1)"> & <b>bold</b> </script>'
METRICS = ("recall@1", "recall@5", "recall@1000t", "recall@2000t", "coverage@5")
ENTRIES = (entry(), entry(dense="off"), entry(keyword="off"), entry(keyword="rank-bm25"))
NEVER = [0.0] * 60


def written_run(
    folder: Path, rows: Sequence[dict[str, Any]], *, entries: Sequence[Entry] = ENTRIES, texts: Sequence[str] = (), **others: Any
) -> Run:
    """A run of whatever rows; its questions are as many as the rows name, with those texts."""
    held = {"name": "", "started": 0.0, "corpus": "tales", "corpus_sha256": "c", "golden": "tales", "golden_place": "/x/tales.yaml"}
    held |= {"golden_sha256": "g", "metrics": METRICS, "configurations": tuple(entries), **others}
    number = max((row["q"] for row in rows), default=0) + 1
    asked = [Asked(f"q{at}", f"Question {at}?", "detail", f"d{at}.md", (f"d{at}.md",)) for at in range(max(number, len(texts)))]
    asked = [replace(each, text=text) for each, text in itertools.zip_longest(asked, texts, fillvalue="plain")] if texts else asked
    run = results.create(folder, Manifest(id="20260101-000000-0001", **held), asked)
    with results.writing(run):
        writer = Writer(run)
        for row in rows:
            writer.append(row)
        writer.close(failures=others.get("failures", {}))
    return results.open_run(folder, run.manifest.id)


def row(c: int, q: int, value: float | None, **others: Any) -> dict[str, Any]:
    told = {"why": dict.fromkeys(METRICS, "no evidence")} if value is None else {}
    return {"c": c, "q": q, **dict.fromkeys(METRICS, value), "error": "", "ms_total": 2.0 + c, "tokens": 900 - 50 * c, **told, **others}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four configurations over 60 questions of two kinds, the second one the baseline."""
    return a_run(
        tmp_path_factory.mktemp("runs"),
        ENTRIES,
        columns(GOOD, MOST, HALF, NEVER),
        metrics=METRICS,
        kinds=("detail", "detail", "detail", "detail", "alias"),
        baseline=ENTRIES[1].key,
    )


@pytest.fixture(scope="module")
def made(run: Run) -> Board:
    """Its leaderboard."""
    return board(run)


def traces(chart: Chart, name: str) -> list[Any]:
    return [trace for trace in chart.figure.data if trace.name == name]


def texts(chart: Chart) -> list[str]:
    return [str(text) for trace in chart.figure.data for text in (trace.text if trace.text is not None else ())]


class TestLeaderboard:
    def test_dots_and_whiskers_are_the_rows(self, made: Board) -> None:
        """Best first; a whisker ends where the interval ends."""
        chart = charts.leaderboard(made, LIGHT)
        (dots,) = traces(chart, "means")
        rows = board_rows(made)
        assert list(dots.x) == [row["mean"] for row in rows] == [1.0, 0.95, 0.5, 0.0]
        assert list(dots.y) == [0, 1, 2, 3]
        assert np.allclose(np.array(dots.x) + dots.error_x.array, [row["high"] for row in rows])
        assert np.allclose(np.array(dots.x) - dots.error_x.arrayminus, [row["low"] for row in rows])
        assert chart.rows == rows

    def test_tied_and_baseline_have_a_shape_and_a_word(self, made: Board) -> None:
        """Filled where tied, a square for the baseline, and the word beside the value."""
        chart = charts.leaderboard(made, LIGHT)
        (dots,) = traces(chart, "means")
        assert list(dots.marker.symbol) == ["diamond", "square", "circle-open", "circle-open"]
        assert [text for text in texts(chart) if "tied" in text] == ["<b>1.00</b> tied"]
        assert [text for text in texts(chart) if "baseline" in text] == ["<b>0.95</b> baseline"]

    def test_the_band_is_what_cannot_be_told_from_the_best(self, made: Board) -> None:
        """From the best mean down by the yardstick."""
        (band,) = charts.leaderboard(made, LIGHT).figure.layout.shapes
        assert made.leaderboard.ties is not None
        assert (band.x1, band.x1 - band.x0) == (1.0, pytest.approx(made.leaderboard.ties.yardstick))

    def test_it_says_metric_n_and_method(self, made: Board) -> None:
        """In the subtitle, which is also what those hear who do not see it."""
        chart = charts.leaderboard(made, LIGHT)
        assert chart.subtitle.startswith("Recall at 5, means over 60 questions; whiskers: 95 % intervals (Wilson).")
        assert "2 not distinguishable from the best (randomised Tukey HSD over 60 questions" in chart.subtitle
        assert chart.alt == f"Leaderboard. {chart.subtitle}"

    def test_fewer_defined_scores_are_counted_in_the_label(self, tmp_path: Path) -> None:
        """n of m, and only there."""
        run = a_run(tmp_path, ENTRIES[:2], columns(GOOD, [None, None, *GOOD[2:]]))
        labelled = texts(charts.leaderboard(board(run), LIGHT))
        assert [text for text in labelled if "58 of 60" in text] == [text for text in labelled if " of " in text]
        assert any("58 of 60" in text for text in labelled)

    def test_long_names_keep_both_ends(self, tmp_path: Path) -> None:
        """What tells configurations apart stands at the end as often as at the beginning."""
        fields = {"keyword": "rank-bm25", "fusion": "convex"}
        entries = [
            entry(chunking__strategy=strategy, fusion__candidates=n, **fields) for strategy in ("fixed", "structural") for n in (20, 50)
        ]
        entries.append(entry(keyword="bm25s", fusion="rrf", fusion__candidates=50))
        run = a_run(tmp_path, entries, columns(GOOD, GOOD, GOOD, GOOD, HALF))
        named = [text for text in texts(charts.leaderboard(board(run), LIGHT)) if "…" in text]
        assert {text.partition("…")[0].split(" ")[0] + text[-3:] for text in named} == {
            "fixed 20",
            "fixed 50",
            "structural 20",
            "structural 50",
        }

    def test_missing_scores_bound_the_mean(self, tmp_path: Path) -> None:
        """What it would be with all of them 0, and 1, for hovering; nothing where none is missing."""
        run = a_run(tmp_path, ENTRIES[:2], columns(GOOD, [None] * 3 + GOOD[3:]))
        (dots,) = traces(charts.leaderboard(board(run), LIGHT), "means")
        told = {each[0]: each[3] for each in dots.customdata}
        assert sorted("0.95 if all missing were 0, 1.00 if all were 1" in each for each in told.values()) == [False, True]

    def test_what_is_not_comparable_is_a_cross_and_says_so(self, tmp_path: Path) -> None:
        """Refusing hard questions raises nobody."""
        run = a_run(tmp_path, ENTRIES[:2], columns(HALF, [None] * 20 + GOOD[20:]))
        chart = charts.leaderboard(board(run), LIGHT)
        assert "x-thin" in list(traces(chart, "means")[0].marker.symbol)
        assert any("not comparable" in text for text in texts(chart))

    def test_what_no_correction_covers_says_why(self, made: Board) -> None:
        """In the title and at the end of what stands below it."""
        chart = charts.exploratory(charts.leaderboard(made, LIGHT), "another metric")
        assert chart.title == "Leaderboard (exploratory)"
        assert chart.subtitle.endswith("Exploratory: another metric.")

    def test_one_best_that_beats_all_is_called_so(self, tmp_path: Path) -> None:
        """It is tied with nobody."""
        chart = charts.leaderboard(board(a_run(tmp_path, ENTRIES[:2], columns(GOOD, HALF))), LIGHT)
        assert "<b>1.00</b> best" in texts(chart)
        assert "distinguishable from every other" in chart.subtitle

    def test_many_configurations_are_cut_and_said_to_be(self, tmp_path: Path) -> None:
        """The table has all."""
        entries = [entry(fusion__k=k) for k in range(1, charts.MOST_DOTS + 6)]
        chart = charts.leaderboard(board(a_run(tmp_path, entries, [[1.0] * len(entries)] * 20)), LIGHT)
        assert (len(traces(chart, "means")[0].x), len(chart.rows)) == (charts.MOST_DOTS, charts.MOST_DOTS + 5)
        assert f"the first {charts.MOST_DOTS} of {charts.MOST_DOTS + 5}" in chart.subtitle

    def test_letters_stand_before_names(self, made: Board) -> None:
        """In the order of the highlights."""
        named = texts(charts.leaderboard(made, LIGHT, highlights=[2, 0]))
        letters = {text[text.index("<b>") + 3]: text for text in named if text.startswith("<span")}
        assert labels_end(letters["A"]) == charts._cut(made.row(2).label, 99)
        assert labels_end(letters["B"]) == charts._cut(made.row(0).label, 99)


def labels_end(text: str) -> str:
    return text.split("</span> ")[1]


class TestCurves:
    def test_highlights_have_their_rows_and_letters(self, run: Run) -> None:
        """A line with whiskers for each; all others grey, without marks."""
        rows = analysis.curve(run)
        chart = charts.curves(rows, LIGHT, highlights=[2, 0])
        (line,) = [trace for trace in chart.figure.data if str(trace.name).startswith("A ")]
        own = [each for each in rows if each["place"] == 2]
        assert list(line.y) == [each["mean"] for each in own]
        assert np.allclose(np.array(line.y) + line.error_y.array, [each["high"] for each in own])
        grey = [trace for trace in chart.figure.data if trace.mode == "lines"]
        assert [list(trace.y) for trace in grey] == [[each["mean"] for each in rows if each["place"] == place] for place in (1, 3)]
        assert {trace.line.color for trace in grey} == {LIGHT.rest}
        assert chart.key == ((0, labels(run)[2]), (1, labels(run)[0]))
        assert list(chart.figure.layout.xaxis.ticktext) == ["1", "5"]

    def test_budgets_are_the_other_axis(self, run: Run) -> None:
        """The same at equal text."""
        chart = charts.curves(analysis.curve(run, budgets=True), LIGHT, highlights=[0], budgets=True)
        assert list(chart.figure.layout.xaxis.ticktext) == ["1,000", "2,000"]
        assert "token budgets" in chart.title

    def test_marks_and_dashes_differ(self) -> None:
        """Six configurations are told apart without colour."""
        assert len(set(charts.MARKS)) == len(set(charts.DASHES)) == len(set(charts.GLYPHS)) == len(charts.LETTERS) == len(LIGHT.series) == 6

    def test_families_with_a_curve(self) -> None:
        """Two points or more, recall first."""
        assert charts.families(["coverage@5", "coverage@10", "recall@1", "recall@5", "document-ndcg@10", "recall@1000t"]) == [
            "recall",
            "coverage",
        ]
        assert charts.families(METRICS, budgets=True) == ["recall"]
        assert charts.families(["recall@5", "evidence-mrr"]) == []

    @given(st.lists(st.floats(0, 1), max_size=6), st.floats(0.01, 0.2))
    def test_labels_keep_their_distance_and_their_order(self, wanted: list[float], gap: float) -> None:
        """No two lie on each other; together they stay where they were wanted."""
        placed = charts._spread(wanted, gap=gap)
        assert all(abs(one - other) >= gap - 1e-9 for one, other in itertools.combinations(placed, 2))
        order = sorted(range(len(wanted)), key=lambda at: wanted[at])
        assert [placed[at] for at in order] == sorted(placed)
        assert not wanted or math.isclose(sum(placed), sum(wanted), abs_tol=1e-6)


class TestTradeoff:
    def test_the_front_is_a_line_and_is_listed(self, made: Board) -> None:
        """From the cheapest to the best, numbered as the list is."""
        rows = analysis.tradeoff(made)
        chart = charts.tradeoff_chart(rows, LIGHT, metric="recall@5", cost="tokens")
        (front,) = traces(chart, "front")
        wanted = sorted((each["tokens"], each["mean"]) for each in rows if each["front_tokens"])
        assert list(zip(front.x, front.y, strict=True)) == wanted
        assert [line.split()[0] for line in chart.listed] == [str(at + 1) for at in range(len(wanted))]
        (points,) = traces(chart, "configurations")
        assert sorted(points.x) == sorted(each["tokens"] for each in rows)
        assert sum(str(symbol).endswith("-open") for symbol in points.marker.symbol) == sum(not each["tied"] for each in rows)

    def test_far_apart_costs_are_logarithmic(self, tmp_path: Path) -> None:
        """And the subtitle says so."""
        run = a_run(tmp_path, ENTRIES[:2], columns(GOOD, HALF), milliseconds=(100.0, 1.0))
        chart = charts.tradeoff_chart(analysis.tradeoff(board(run)), LIGHT, metric="recall@5", cost="ms")
        assert chart.figure.layout.xaxis.type == "log"
        assert "logarithmic" in chart.subtitle

    def test_marks_that_lie_on_one_another_share_a_label(self) -> None:
        """Where two labels would hide each other; those apart keep their own."""
        rows = [
            {"place": at, "configuration": f"c{at}", "mean": mean, "n": 60, "ms": ms, "tokens": None, "tied": True, "front_ms": False}
            for at, (mean, ms) in enumerate([(0.9, 10.0), (0.9, 10.1), (0.5, 20.0), (0.9, 30.0)])
        ]
        chart = charts.tradeoff_chart(rows, LIGHT, metric="recall@5", cost="ms", highlights=[0, 1, 2])
        (labels_,) = traces(chart, "labels")
        assert [re.sub("<.*?>", "", text) for text in labels_.text] == ["A B", "C"]

    def test_nothing_measured(self) -> None:
        """No cost, no front."""
        rows = [{"place": 0, "configuration": "a", "mean": 1.0, "n": 3, "ms": None, "tokens": None, "tied": True, "front_ms": False}]
        assert "Nothing was measured" in charts.tradeoff_chart(rows, LIGHT, metric="recall@5", cost="ms").subtitle


class TestKinds:
    def test_every_kind_has_its_dots(self, run: Run) -> None:
        """Values of the rows, n in the heading, too few said in words."""
        rows = analysis.by_kind(run)
        chart = charts.by_kind_chart(rows, LIGHT, metric="recall@5", highlights=[0, 2])
        (own,) = [trace for trace in chart.figure.data if str(trace.name).startswith("B ")]
        assert list(own.x) == [each["mean"] for each in rows if each["place"] == 2]
        assert {"<b>detail</b>, n 48", "<b>alias</b>, n 12"} <= set(texts(chart))
        assert any(text.endswith("too few") for text in texts(chart))
        assert "Too few questions for an interval: alias" in chart.subtitle
        assert sorted(traces(chart, "others")[0].x) == sorted(each["mean"] for each in rows if each["place"] in (1, 3))


class TestHeatMap:
    @pytest.fixture
    def cells(self, tmp_path: Path) -> list[dict[str, Any]]:
        """Value, half a value, nothing, undefined, error and missing, for two questions."""
        run = written_run(
            tmp_path,
            [row(0, 0, 1.0), row(1, 0, 0.5), row(2, 0, 0.0), row(0, 1, None), {"c": 1, "q": 1, "error": "a <b>model</b> fell over"}],
            entries=ENTRIES[:3],
            texts=("<b>What</b> rose?", "Who & why?"),
        )
        return analysis.cells(run, "recall@5", [0, 1], [0, 1, 2])

    def test_outcomes_differ_in_shape(self, cells: list[dict[str, Any]]) -> None:
        """Not by colour alone."""
        (marks,) = traces(charts.heat_map(cells, LIGHT, metric="recall@5", ranks={0: 1, 1: 2, 2: 3}), "cells")
        assert [each["outcome"] for each in cells] == ["value", "value", "value", "undefined", "error", "missing"]
        shapes = list(zip(marks.marker.symbol, marks.marker.size, strict=True))
        assert len(set(shapes)) == 6
        assert [symbol for symbol, _ in shapes] == ["square", "square", "square-open", "line-ew", "x-thin", "circle-open"]
        assert shapes[0][1] > shapes[1][1]

    def test_a_mark_knows_its_cell(self, cells: list[dict[str, Any]]) -> None:
        """Question and configuration by place, for the click; the reason for the pointer."""
        chart = charts.heat_map(cells, LIGHT, metric="recall@5", ranks={0: 1, 1: 2, 2: 3})
        (marks,) = traces(chart, "cells")
        assert [tuple(held[:2]) for held in marks.customdata] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
        assert [held[4] for held in marks.customdata][3:] == [
            "undefined: no evidence",
            "error: a ‹b›model‹/b› fell over",
            "missing: not asked yet",
        ]
        assert list(chart.figure.layout.xaxis.ticktext) == ["1", "2", "3"]
        assert list(chart.figure.layout.yaxis.ticktext) == ["‹b›What‹/b› rose?", "Who ＆ why?"]
        for word in ("■ 1", "□ 0", "as large as the value", "not defined", "could not be scored", "not asked yet"):
            assert word in chart.subtitle

    def test_no_part_is_too_large_for_a_browser(self) -> None:
        """All questions are in some part, in order."""
        parts = list(charts.visible(20_833, 24))
        assert max(len(part) for part in parts) * 24 <= charts.MOST_CELLS
        assert list(itertools.chain.from_iterable(parts)) == list(range(20_833))
        assert list(charts.visible(0, 3)) == []
        assert len(next(charts.visible(50, 10_000))) == 10


class TestDuel:
    def test_who_won_and_by_how_much(self, run: Run) -> None:
        """The bars are counts of questions, the mark is the difference with its interval, 0 is a line."""
        made = analysis.duel((run, 1), (run, 2))
        chart = charts.duel_chart(made, LIGHT)
        found = made.comparison
        assert [int(traces(chart, name)[0].x[0]) for name in ("A", "equal", "B")] == [found.wins, found.ties, found.losses] == [29, 29, 2]
        (mark,) = traces(chart, "difference")
        assert mark.x[0] == found.difference.mean
        assert mark.x[0] + mark.error_x.array[0] == pytest.approx(found.difference.high)
        assert mark.x[0] - mark.error_x.arrayminus[0] == pytest.approx(found.difference.low)
        assert set(traces(chart, "zero")[0].x) == {0}
        assert "A is better" in chart.subtitle
        assert "60 of 60 questions" in chart.subtitle
        assert traces(chart, "B")[0].marker.pattern.shape != traces(chart, "A")[0].marker.pattern.shape

    def test_rows_say_who_won(self, run: Run) -> None:
        """The widest differences first, then what was equal."""
        rows = analysis.duel_rows(analysis.duel((run, 1), (run, 2)))
        assert {each["won by"] for each in rows[:31]} == {"A", "B"}
        assert {each["won by"] for each in rows[31:]} == {"neither"}

    def test_no_common_question(self, tmp_path: Path) -> None:
        """Nothing is defined for both, and the chart says that."""
        run = a_run(tmp_path, ENTRIES[:2], columns([1.0, None] * 30, [None, 1.0] * 30))
        chart = charts.duel_chart(analysis.duel((run, 0), (run, 1)), LIGHT)
        assert "not defined" in chart.subtitle
        assert "not comparable" in chart.subtitle


def test_effects_are_dots(run: Run) -> None:
    """One field, its values best first, and over how many configurations."""
    made = analysis.effect(run, "keyword", "recall@5")
    assert made is not None
    chart = charts.effect_chart(made, LIGHT)
    assert chart.title == "Effect: Keyword (exploratory)"
    assert list(traces(chart, "means")[0].x) == [each["mean"] for each in chart.rows] == [1.0, 0.5, 0.0]
    assert [each["configuration"] for each in chart.rows] == ["bm25s", "off", "rank-bm25"]


@pytest.fixture(params=[LIGHT, DARK], ids=["light", "dark"])
def colours(request: pytest.FixtureRequest) -> Palette:
    palette: Palette = request.param
    return palette


def everything(run: Run, colours: Palette) -> list[Chart]:
    """Every chart of a run."""
    made = board(run)
    chosen = charts.highlighted(made)
    rows = analysis.tradeoff(made)
    drawn = [
        charts.leaderboard(made, colours, highlights=chosen),
        charts.curves(analysis.curve(run), colours, highlights=chosen),
        charts.curves(analysis.curve(run, budgets=True), colours, highlights=chosen, budgets=True),
        *(charts.tradeoff_chart(rows, colours, metric="recall@5", cost=cost, highlights=chosen) for cost in charts.COSTS),
        charts.by_kind_chart(analysis.by_kind(run), colours, metric="recall@5", highlights=chosen),
        charts.heat_map(
            analysis.cells(run, "recall@5", [0], [0, 1]), colours, metric="recall@5", ranks={each.place: each.place for each in made.rows}
        ),
        charts.duel_chart(analysis.duel((run, 0), (run, 1)), colours),
    ]
    return drawn + [charts.effect_chart(found, colours) for name in analysis.varying_fields(run) if (found := analysis.effect(run, name))]


def test_a_run_without_rows_has_charts(tmp_path: Path, colours: Palette) -> None:
    """Empty, and saying so; none raises."""
    drawn = everything(written_run(tmp_path, []), colours)
    assert all(isinstance(chart.figure, go.Figure) and chart.subtitle for chart in drawn)
    assert any("no score" in text for text in texts(drawn[0]))


def test_hostile_names_are_text(tmp_path: Path, colours: Palette) -> None:
    """Plotly reads tags in labels: none of a name's reaches it, nor does one stay in what is drawn as HTML."""
    entries = (entry(embedder=HOSTILE), entry(embedder=HOSTILE, keyword="off"))
    rows = [row(c, q, float((q + c) % 2)) for q in range(24) for c in range(2)]
    run = written_run(tmp_path, rows, entries=entries, texts=[f"{HOSTILE} {at}" for at in range(24)])
    for chart in everything(run, colours):
        held = json.loads(chart.figure.to_json())
        shown = json.dumps([held["data"], held["layout"]], ensure_ascii=False)
        assert "<img" not in shown
        assert "<b>bold" not in shown
        assert "</script>" not in shown
        assert "<img" not in charts.key_html(chart.key)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_the_same_has_a_range(tmp_path: Path, value: float) -> None:
    """No axis of width 0."""
    run = a_run(tmp_path, ENTRIES[:2], [[value] * 2] * 60, metrics=METRICS)
    for chart in everything(run, LIGHT)[:4]:
        low, high = chart.figure.layout.xaxis.range
        assert high > low


class TestHighlights:
    def test_best_baseline_cheapest_fastest_and_last(self, made: Board) -> None:
        """Each once."""
        assert charts.highlighted(made) == (0, 1, 2, 3)

    def test_no_more_than_there_are_colours(self, tmp_path: Path) -> None:
        """Six at most; none without scores."""
        entries = [entry(fusion__k=k) for k in range(1, 12)]
        assert len(charts.highlighted(board(a_run(tmp_path, entries, [[1.0] * 11] * 20)))) <= 6
        assert charts.highlighted(board(written_run(tmp_path / "none", []))) == ()


@pytest.fixture
def scores() -> Any:
    """2,400 questions about 1,200 documents that move a little together, under four configurations, one far below."""
    rng = np.random.default_rng(7)
    shared = rng.random((1_200, 1)).repeat(2, axis=0)
    return ((rng.random((2_400, 4)) + shared) / 2 < [0.6, 0.59, 0.5, 0.3]).astype(float)


class TestManyDocuments:
    def test_drawn_in_groups_the_figures_stay(self, scores: Any) -> None:
        """Limits, yardstick and ties are near those of documents drawn one by one, and notes say what was done."""
        grouped = draw_documents([f"d{at // 2}" for at in range(2_400)])
        single = Drawing(grouped.own, grouped.own)
        assert (grouped.grouped, single.grouped, grouped.documents) == (True, False, 1_200)
        assert len(np.unique(grouped.codes)) == analysis.GROUPS
        ours, theirs = grouped.compare_all(scores, binary=True, baseline=1), single.compare_all(scores, binary=True, baseline=1)
        assert ours.ties is not None
        assert theirs.ties is not None
        assert ours.ties.yardstick == pytest.approx(theirs.ties.yardstick, rel=0.04)
        assert (ours.ties.tied, ours.ties.best) == (theirs.ties.tied, theirs.ties.best)
        for one, other in zip(ours.standings, theirs.standings, strict=True):
            assert (one.mean.mean, one.tied) == (other.mean.mean, other.tied)
            assert width(one.mean) == pytest.approx(width(other.mean), rel=0.1)
            assert "groups of documents" in one.mean.note
            assert (one.against is None) == (other.against is None)
            assert one.against is None or one.against.verdict == other.against.verdict  # type: ignore[union-attr]

    def test_the_yardstick_is_no_longer_for_true_differences(self, scores: Any) -> None:
        """Permuted in groups of questions it would be; at its limit it is that of the documents."""
        documents = np.arange(2_400) // 2
        assert analysis.ties_of_many(scores, documents).yardstick == pytest.approx(
            statistics.tie_set(scores, documents, seed=1).yardstick, rel=0.04
        )

    def test_questions_of_a_document_stay_together(self) -> None:
        """A group holds documents whole."""
        belongs = [at // 3 for at in range(6_000)]
        codes = draw_documents(belongs).codes
        assert all(len(set(codes[at : at + 3])) == 1 for at in range(0, 6_000, 3))

    def test_the_note(self, run: Run) -> None:
        """Only where it was done."""
        assert analysis.drawing_note(run) == ""
        many = tuple(Asked(f"q{at}", "?", "detail", f"d{at}.md", (f"d{at}.md",)) for at in range(1_200))
        assert "1,200 documents" in analysis.drawing_note(replace(run, questions=many))


def width(found: Interval) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_so_far_counts_what_was_asked(tmp_path: Path) -> None:
    """Rows per configuration, the mean of those, nothing of ties."""
    run = written_run(tmp_path, [row(0, 0, 1.0), row(0, 1, 0.0), row(1, 0, 1.0), {"c": 2, "q": 0, "error": "broke"}], entries=ENTRIES[:3])
    assert run.state == "stopped"
    found = {each["place"]: each for each in analysis.so_far(run, "recall@5")}
    assert [(found[at]["done"], found[at]["mean"], found[at]["n"], found[at]["of"]) for at in range(3)] == [
        (2, 0.5, 2, 2),
        (1, 1.0, 1, 2),
        (1, None, 0, 2),
    ]
    assert [each["place"] for each in analysis.so_far(run, "recall@5")] == [1, 0, 2]


def test_trouble_is_grouped_by_its_reason(tmp_path: Path) -> None:
    """The most frequent first, with a question to look at."""
    rows = [{"c": 1, "q": q, "error": "time out" if q else "refused"} for q in range(3)] + [row(0, q, 1.0) for q in range(3)]
    found = analysis.trouble(written_run(tmp_path, rows, entries=ENTRIES[:2]))
    assert [(each["questions"], each["reason"], each["such as"]) for each in found] == [(2, "time out", "q1"), (1, "refused", "q0")]


REFUSED = "the answer <b>refuses</b>"
SOME: list[float | str | None] = [*GOOD[:30], *[REFUSED] * 20, *[None] * 10]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two configurations whose answers were judged, one of them without half of its scores by one metric."""
    run = a_run(tmp_path_factory.mktemp("judged"), ENTRIES[:2], columns(GOOD, HALF))
    return with_verdicts(
        run, {"groundedness": columns(HALF, SOME), "noise-sensitivity": columns(HALF, GOOD), "rouge-l": columns(HALF, GOOD)}
    )


class TestAnswers:
    def test_means_limits_and_bounds_are_the_rows(self, judged: Run) -> None:
        """An open mark and a thin line where scores are missing, from all of those 0 to all 1; a filled mark and no line elsewhere."""
        rows = verdicts.quality_rows(judged)
        chart, _, _ = answer_charts(judged, rows, LIGHT, order=[1, 0])
        (dots,), (line,) = traces(chart, "means"), traces(chart, "bounds")
        assert list(dots.x) == [1.0, 0.5]
        assert list(dots.marker.symbol) == ["circle-open", "circle"]
        assert np.allclose(np.array(dots.x) + dots.error_x.array, [row["high"] for row in reversed(rows[:2])])
        assert (list(line.x), list(line.y)) == ([0.5, 1.0], [0, 0])
        assert any(text.startswith("<b>1.00</b>") and "30/60" in text for text in texts(chart))
        assert "scores are missing (20 undefined, 10 failed)" in chart.subtitle
        assert "0.50 if all missing were 0, 1.00 if all were 1" in dots.customdata[0][3]
        assert "&lt;b&gt;" in dots.customdata[0][3] or "<b>" not in dots.customdata[0][3]

    def test_who_judged_is_in_every_subtitle(self, judged: Run) -> None:
        """With the address and that it wrote some of the answers; what no judge gave says so."""
        grounded, noisy, rouge = answer_charts(judged, verdicts.quality_rows(judged), LIGHT, order=[0, 1])
        for chart in (grounded, noisy):
            assert "Judge: claude claude-fake-judge at http://127.0.0.1:9, which wrote some of the answers itself." in chart.alt
        assert "claude" not in rouge.alt
        assert "less is better" in str(noisy.figure.layout.xaxis.title.text)
        assert "more is better" in str(grounded.figure.layout.xaxis.title.text)

    def test_its_table_has_the_reasons(self, judged: Run) -> None:
        """In words for CSV, and a line each of what is missing."""
        rows = verdicts.quality_rows(judged)
        (chart, *_) = answer_charts(judged, rows, LIGHT, order=[1, 0])
        assert chart.rows[0]["undefined"] == f"20 × {REFUSED}"
        assert chart.rows[0]["failed"] == "10 × the judge said nothing"
        told = [(each["answers"], each["what"], each["reason"]) for each in charts.missing_rows(rows)]
        assert told == [(20, "undefined", REFUSED), (10, "failed", "the judge said nothing")]

    def test_many_configurations_stay_readable(self, tmp_path: Path) -> None:
        """The first of the order are drawn, the table has all."""
        many = [entry(top_k=k) for k in range(1, 21)]
        run = with_verdicts(a_run(tmp_path, many, columns(*[GOOD] * 20)), {"groundedness": columns(*[HALF] * 20)})
        (chart,) = answer_charts(run, verdicts.quality_rows(run), DARK, order=list(range(20)))
        assert len(traces(chart, "means")[0].x) == charts.MOST_SMALL
        assert len(chart.rows) == 20
        assert "Drawn: the first 16 of 20." in chart.subtitle


def test_chunkings_are_ranked_at_equal_text() -> None:
    """Unless another metric is asked for."""
    manifest = Manifest("r", "", 0.0, "c", "", "g", "", "", ("recall@5", analysis.FAIR), ENTRIES)
    run = Run(Path(), manifest, (), "done", {}, 0.0)
    assert analysis.effect_metric(run, "chunking.strategy", "recall@5") == analysis.FAIR
    assert analysis.effect_metric(run, "keyword", "recall@5") == "recall@5"
    assert analysis.effect_metric(run, "chunking.strategy", "recall@1") == "recall@1"


BLIND = {
    "none": np.eye(3),
    "protan": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deutan": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritan": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}
"""How colours are seen: Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009), on linear RGB."""
CONES = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
)
OKLAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099], [0.0259040371, 0.7827717662, -0.8086757660]]
)


def linear(colour: str) -> Any:
    part = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG counts it."""
    dark, light = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other))
    return (light + 0.05) / (dark + 0.05)


def test_every_text_has_its_contrast(colours: Palette) -> None:
    """4.5:1 on paper and on cards."""
    for ink in (colours.text, colours.faint, colours.accent, colours.danger, *colours.series):
        assert min(contrast(ink, ground) for ground in (colours.paper, colours.card)) >= 4.5


@pytest.mark.parametrize("blindness", BLIND)
def test_compared_colours_differ_for_everybody(colours: Palette, blindness: str) -> None:
    """Any two of the six, and each from the accent, by .07 in OKLab."""
    seen = [OKLAB @ np.cbrt(CONES @ np.clip(BLIND[blindness] @ linear(each), 0, 1)) for each in (*colours.series, colours.accent)]
    assert min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2)) >= 0.07
