"""The Lab page's results: what a run says, its charts, and the way from any question of it to Explore."""

import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from evals import analysis, charts, results
from evals.analysis import Board
from evals.charts import Chart, number
from evals.findings import metric_words
from evals.report import REFUSALS, by_judge, by_metric, default_metric, refusal_cells, report_html
from evals.results import Run
from evals.summary import labels
from sitt_core import notes
from sitt_core.errors import SittError
from sitt_core.store.layout import corpus_names
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import cards, lab_answers, lab_confirm, lab_data, lab_runs, state
from sitt_core.surfaces.dashboard.explore import PLOT_CONFIG, draw_data
from sitt_core.surfaces.dashboard.lab_charts import EXPLORE, address_of, draw_chart, findings_html, link
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.types import Filters

GOTO = "lab goto"
"""The session's key of where the last click leads: (run, place of the configuration, place of the question)."""
SECTION, KEPT_SECTION = "lab section", "lab section kept"
METRIC, LETTERED, SIDE_A, SIDE_B = "lab metric", "lab lettered", "lab A", "lab B"
MOST_COLUMNS = 50
"""How many configurations the heat map shows; the best."""
PART_WIDTH = 180
LISTED = 15
"""How many questions of a duel are listed at once."""


def style_sheet(colours: Palette) -> str:
    """The `<style>` of what only this page draws."""
    series = "".join(f".sl-s{at}{{color:{ink}}}" for at, ink in enumerate(colours.series))
    return f"""<style>{series}
[data-testid=stMain] [data-testid=stButtonGroup] button[aria-checked=true]:is(*,:hover,:focus-visible) p{{color:{colours.text}}}
[class*=st-key-lab-wide]>:has([data-testid=stSelectbox],[data-testid=stTextInput]){{min-width:min(17rem,100%)}}
.sl-key{{list-style:none!important;display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;padding:0!important;margin:.3rem 0 .1rem!important;font-size:.88rem;color:{colours.text}}}
.sl-key li{{margin:0!important;padding:0!important;font-size:inherit;overflow-wrap:anywhere}}
.sl-front{{list-style:none!important;padding:0!important;margin:.1rem 0!important;font-size:.86rem;color:{colours.text};font-variant-numeric:tabular-nums}}
.sl-front li{{margin:0!important;padding:0!important;font-size:inherit;overflow-wrap:anywhere}}
.sl-findings{{max-width:62rem;line-height:1.55;color:{colours.text};font-size:.98rem;overflow-wrap:anywhere}}
.sl-findings p{{margin:.15rem 0 .35rem;padding:0;font-size:inherit}}
.sl-line{{font-size:.92rem;line-height:1.5;color:{colours.text};font-variant-numeric:tabular-nums}}
.sl-asked-of{{font-size:.92rem;line-height:1.4;color:{colours.text};overflow-wrap:anywhere}}.sl-asked-of span{{color:{colours.faint};font-size:.82rem}}
dl.sl-facts{{display:grid;grid-template-columns:auto 1fr;gap:.15rem 1rem;font-size:.86rem;margin:.2rem 0;padding:0;color:{colours.text}}}
.sl-claims{{list-style:none!important;padding:0!important;margin:.1rem 0 .6rem!important;font-size:.86rem}}.sl-claims li{{margin:.1rem 0!important;padding:0 0 0 .6rem!important;border-left:2px solid {colours.line};font-size:inherit;overflow-wrap:anywhere}}
.sl-claims p{{margin:.15rem 0;font-size:inherit}}.sl-yes{{color:{colours.stages["fused"]};font-weight:650}}.sl-no{{color:{colours.danger};font-weight:650}}
.sl-said{{white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5;font-size:.95rem;margin:.3rem 0 .1rem;unicode-bidi:plaintext}}
.sl-quoted{{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.84rem;line-height:1.45;color:{colours.faint};border-left:3px solid {colours.accent};padding:.1rem 0 .1rem .6rem;margin:.3rem 0;unicode-bidi:plaintext}}
.sl-facts dt{{color:{colours.faint};font-weight:400;margin:0;font-size:inherit}}.sl-facts dd{{margin:0;font-size:inherit;overflow-wrap:anywhere}}
</style>"""


def follow() -> None:
    """Goes to Explore when the last click asked for it, with that question under that configuration."""
    wanted = st.session_state.pop(GOTO, None)
    if wanted is None:
        return
    run_id, place, question = wanted
    run = lab_data.run_of(run_id)
    if run is None:
        return
    try:
        target = address_of(run, place, question)
    except SittError as error:
        st.session_state[lab_runs.REFUSED] = told(error)
        return
    if target.corpus not in corpus_names(lab_data.settings().store_dir):
        st.session_state[lab_runs.REFUSED] = lab_data.corpus_changed(run)
        return
    state.adopt(corpus=target.corpus, configuration=target.configuration, question=target.question, filters=Filters())
    st.switch_page(EXPLORE, query_params=to_parameters(target))


def go(run_id: str, place: int, question: int) -> None:
    """Notes where to go: pages are not switched from a callback."""
    state.acted()
    st.session_state[GOTO] = (run_id, place, question)


def draw_results(colours: Palette) -> None:
    """The chosen run: what it says, and every view of it; only the open one computes anything."""
    run = lab_runs.chosen()
    if run is None:
        lab_runs.draw_none()
        return
    left, right = st.columns([3, 1])
    with left:
        _choose_run(run)
    with right:
        metric = _choose_metric(run)
    if lab_runs.draw_state(run):
        return
    if not results.has_rows(run):
        st.html(cards.notice(["It has no row yet: resume it, or delete it under All runs."]))
        return
    if changed := lab_data.corpus_changed(run):
        st.html(cards.notice([changed]))
    sections = {
        "Leaderboard": draw_leaderboard,
        "Curves": draw_curves,
        "Trade-off": draw_tradeoff,
        "Kinds": draw_kinds,
        "Effects": draw_effects,
        "Questions": draw_questions,
        "Head to head": draw_duel,
        "Answers": lab_answers.draw_answers,
        "Details": draw_details,
    }
    if SECTION not in st.session_state and KEPT_SECTION in st.session_state:  # Streamlit forgets it at a page switch
        st.session_state[SECTION] = st.session_state[KEPT_SECTION]
    tabs = st.tabs(list(sections), key=SECTION, on_change="rerun")
    st.session_state[KEPT_SECTION] = st.session_state[SECTION]
    try:
        for tab, draw in zip(tabs, sections.values(), strict=True):
            if tab.open:
                with tab:
                    draw(run, metric, colours)
    except SittError as error:  # rows that cannot be read
        st.html(cards.notice([f"Expected {error.expected}; got {error.got}. {error.remedy}"], problem=True))


def _choose_run(current: Run) -> None:
    names = {run.manifest.id: lab_runs.run_name(run) for run in lab_data.all_runs()}
    st.session_state["lab run choice"] = current.manifest.id
    st.selectbox(
        "Run",
        list(names),
        key="lab run choice",
        format_func=lambda id_: names.get(id_, id_),
        on_change=lambda: st.session_state.update({lab_runs.RUN: st.session_state["lab run choice"]}),
    )


def _choose_metric(run: Run) -> str:
    there = analysis.rankable_metrics(run)
    if st.session_state.get(METRIC) not in there:
        st.session_state[METRIC] = default_metric(run)
    return str(
        st.selectbox(
            "Metric",
            there,
            key=METRIC,
            help="What everything below is by. Corrections hold for the first look at one metric; others are exploratory.",
            persist_state="session",
        )
    )


def draw_leaderboard(run: Run, metric: str, colours: Palette) -> None:
    """The findings in words, then the leaderboard as a picture and as a table."""
    words = st.container()
    made = lab_data.board_of(run, metric)
    chart = by_metric(run, metric, charts.leaderboard(made, colours, highlights=lettered(run, made)))
    draw_chart(chart)
    st.dataframe(
        board_table(chart.rows),
        hide_index=True,
        height=min(460, 38 + 35 * len(chart.rows)),
        key="lab board",
        placeholder="–",
        column_config={"said": st.column_config.Column(width=112)},
    )
    tried = analysis.ever_run(lab_data.all_runs(), run.manifest.golden_sha256)
    with words:
        other = "" if metric == default_metric(run) else f"The chart and the table are by {metric_words(metric)}; what is said here is not."
        st.html(findings_html([*lab_data.findings_of(run, tried), *([other] if other else [])]))
    with st.container(key="lab-confirm"):
        lab_confirm.draw_confirm(run, made)


def board_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The leaderboard's table; with what missing scores might make of the means where some are missing."""
    missing = any(row["missing as 0"] is not None for row in rows)
    return [board_row(row, missing=missing) for row in rows]


def board_row(row: Mapping[str, Any], *, missing: bool = False) -> dict[str, Any]:
    """A configuration as a line of the leaderboard's table, with the bounds of its mean if any line has `missing` scores."""
    said = [word for word, holds in (("tied", row["tied"]), ("baseline", row["baseline"]), ("not comparable", row["why not"])) if holds]
    limits = f"{number(row['low'])}–{number(row['high'])}" if row["low"] is not None else str(row["method"])
    bounds = f"{number(row['missing as 0'])}–{number(row['missing as 1'])}" if row["missing as 0"] is not None else None
    against = {}
    if row.get("difference") is not None:
        against = {
            "minus baseline": round(row["difference"], 3),
            "p (Holm)": None if row["p (Holm)"] is None else round(row["p (Holm)"], 4),
        }
    return {
        "rank": row["rank"],
        "configuration": row["configuration"],
        "mean": number(row["mean"]),
        "95 % interval": limits,
        "n": f"{row['n']:,} of {row['of']:,}",
        **({"all missing 0–1": bounds} if missing else {}),
        "said": ", ".join(said),
        "ms": None if row["ms"] is None else round(row["ms"], 1),
        "tokens": None if row["tokens"] is None else round(row["tokens"]),
        **against,
        "key": row["key"],
    }


def lettered(run: Run, made: Board) -> list[int]:
    """The configurations that have letters: those chosen for this run, else what is worth following."""
    chosen: list[int] = st.session_state.get(f"{LETTERED} {run.manifest.id}") or list(charts.highlighted(made))
    return [place for place in chosen if place < len(run.manifest.configurations)][: len(charts.LETTERS)]


def choose_lettered(run: Run, made: Board) -> list[int]:
    """The control for which configurations have letters; the rest stays grey."""
    names, key = labels(run), f"{LETTERED} {run.manifest.id}"
    if not st.session_state.get(key):
        st.session_state[key] = list(charts.highlighted(made))
    chosen = st.multiselect(
        "Lettered configurations",
        [row.place for row in made.rows],
        key=key,
        format_func=lambda place: names[place] if place < len(names) else "",
        max_selections=len(charts.LETTERS),
        help="Up to six have a colour, a mark and a letter; all others are grey.",
        persist_state="session",
    )
    return list(chosen) or list(charts.highlighted(made))


def draw_curves(run: Run, metric: str, colours: Palette) -> None:
    """What more passages, or more text, bring."""
    del metric
    made = lab_data.board_of(run, default_metric(run))
    chosen = choose_lettered(run, made)
    drawn = False
    for budgets in (False, True):
        found = charts.families(run.manifest.metrics, budgets=budgets)
        if not found:
            continue
        unit = "token budgets" if budgets else "k"
        family = st.selectbox(f"Metric at {unit}", found, key=f"lab family {unit}", persist_state="session") if len(found) > 1 else found[0]
        draw_chart(charts.curves(lab_data.curve_of(run, family, budgets), colours, highlights=chosen, family=family, budgets=budgets))
        drawn = True
    if not drawn:
        st.html(cards.notice(["This run has no metric at several k or budgets, such as recall@1 and recall@5. Choose them in a new run."]))


def draw_tradeoff(run: Run, metric: str, colours: Palette) -> None:
    """Quality against what it takes."""
    made = lab_data.board_of(run, metric)
    chosen = choose_lettered(run, made)
    rows = analysis.tradeoff(made)
    for cost in charts.COSTS:
        draw_chart(by_metric(run, metric, charts.tradeoff_chart(rows, colours, metric=metric, cost=cost, highlights=chosen)))


def draw_kinds(run: Run, metric: str, colours: Palette) -> None:
    """The kinds of questions, and what was refused of each sort."""
    made = lab_data.board_of(run, metric)
    chosen = choose_lettered(run, made)
    draw_chart(by_judge(run, metric, charts.by_kind_chart(lab_data.kinds_of(run, metric), colours, metric=metric, highlights=chosen)))
    if refusals := lab_data.refusals_of(run):
        st.html(f'<h2 class="sl-h">Refusals (exploratory)</h2><div class="sl-small">{escape(REFUSALS)}</div>')
        rows = [{"configuration": row["configuration"], **refusal_cells(row)} for row in refusals]
        st.dataframe(rows, hide_index=True, key="lab refusals")


def draw_effects(run: Run, metric: str, colours: Palette) -> None:
    """What each field does, over the configurations that differ in nothing else."""
    found = lab_data.effects_of(run, metric)
    if not found:
        st.html(
            cards.notice(
                [
                    "No two configurations of this run differ in one field alone. A grid in a new run makes such, and then shows what a field does."
                ]
            )
        )
    for made in found:
        draw_chart(by_judge(run, made.metric, charts.effect_chart(made, colours)))


def draw_questions(run: Run, metric: str, colours: Palette) -> None:
    """Questions by configurations; a click on a cell opens that question under that configuration."""
    different = st.toggle(
        "Different only", value=True, key="lab different", help="Leaves out questions in which all configurations score the same."
    )
    order = lab_data.order_of(run, metric, different)
    if not order:
        st.html(cards.notice(["The configurations do not differ in any question." if different else "No question has a score yet."]))
        return
    made = lab_data.board_of(run, metric)
    columns = [row.place for row in made.rows][:MOST_COLUMNS]
    parts = list(charts.visible(len(order), len(columns)))
    at = 0
    if len(parts) > 1:
        at = (
            st.number_input(
                f"Part of {len(parts)}",
                1,
                len(parts),
                key="lab part",
                width=PART_WIDTH,
                help="A browser draws about two thousand cells at once.",
            )
            - 1
        )
    shown = [order[place] for place in parts[min(at, len(parts) - 1)]]
    rows = lab_data.cells_of(run, metric, shown, columns)
    ranks = {row.place: rank for rank, row in enumerate(made.rows, start=1)}
    chart = by_judge(run, metric, charts.heat_map(rows, colours, metric=metric, ranks=ranks))
    part = parts[min(at, len(parts) - 1)]
    st.html(
        f'<h2 class="sl-h">{chart.title}</h2><div class="sl-small">{escape(chart.subtitle)} Here: {part.start + 1:,} to {part.stop:,} of '
        f"{len(order):,}. A click on a cell opens the question in Explore, under that configuration.</div>"
    )
    # On a phone the cells would lie on one another: there the chart is as wide as it has to be, and its container scrolls.
    wide = 210 + 19 * len(columns)
    st.html(
        f"<style>.st-key-lab-cells{{overflow-x:auto}}@media(max-width:{wide + 40}px)"
        f"{{.st-key-lab-cells>[data-testid=stElementContainer]{{min-width:{wide}px}}}}</style>"
    )
    with st.container(key="lab-cells"):
        _draw_cells(chart, run.manifest.id)
    _draw_open(run, shown, columns)
    draw_data(chart.rows, chart.name)


def _draw_cells(chart: Chart, run_id: str) -> None:
    st.plotly_chart(
        chart.figure,
        theme=None,
        config=PLOT_CONFIG,
        key="lab cells",
        on_select=lambda: _take_cell(run_id),
        selection_mode="points",
        alt=chart.alt,
    )


def _take_cell(run_id: str) -> None:
    points = st.session_state["lab cells"].selection.points
    if points:
        question, place = points[0]["customdata"][:2]
        go(run_id, int(place), int(question))


def _draw_open(run: Run, questions: Sequence[int], columns: Sequence[int]) -> None:
    """The same without a pointer: a question, a configuration, a button."""
    names = labels(run)
    with st.container(horizontal=True, vertical_alignment="bottom", key="lab-wide-open"):
        st.selectbox("Question", questions, key="lab open question", format_func=lambda place: _text(run, place))
        st.selectbox("Configuration", columns, key="lab open place", format_func=lambda place: names[place] if place < len(names) else "")
        st.button("Open in Explore", on_click=_go_chosen, args=(run.manifest.id,), key="lab open cell")


def _go_chosen(run_id: str) -> None:
    question, place = st.session_state.get("lab open question"), st.session_state.get("lab open place")
    if question is not None and place is not None:
        go(run_id, place, question)


def _text(run: Run, place: int) -> str:
    return run.questions[place].text if place < len(run.questions) else ""


def draw_duel(run: Run, metric: str, colours: Palette) -> None:
    """Two configurations head to head, and every question with who won it."""
    places = [row.place for row in lab_data.board_of(run, metric).rows]
    if len(places) < 2:
        st.html(cards.notice(["This run has one configuration; a duel takes two."]))
        return
    names = labels(run)
    baseline = lab_data.board_of(run, metric).leaderboard.baseline
    starts = {SIDE_A: places[0], SIDE_B: baseline if baseline is not None and baseline != places[0] else places[1]}
    sides = []
    for column, (key, start), letter in zip(st.columns(2), starts.items(), "AB", strict=True):
        own = f"{key} {run.manifest.id}"
        if st.session_state.get(own) not in places:
            st.session_state[own] = start
        with column:
            sides.append(
                st.selectbox(
                    letter, places, key=own, format_func=lambda place: names[place] if place < len(names) else "", persist_state="session"
                )
            )
    if sides[0] == sides[1]:
        st.html(cards.notice(["Choose two different configurations."]))
        return
    made = lab_data.duel_of(run, sides[0], sides[1], metric)
    chart = by_judge(run, metric, charts.duel_chart(made, colours))
    draw_chart(chart)
    _draw_duel_rows(run, chart.rows, sides)


def _draw_duel_rows(run: Run, rows: Sequence[Mapping[str, Any]], sides: Sequence[int]) -> None:
    """The questions with a link for each side, so many at a time."""
    by = st.segmented_control(
        "Questions", ["won by A", "won by B", "equal"], default="won by A", required=True, key="lab won", persist_state="session"
    )
    wanted = {"won by A": "A", "won by B": "B", "equal": "neither"}[by or "won by A"]
    kept = [row for row in rows if row["won by"] == wanted]
    if not kept:
        st.html('<div class="sl-small">None.</div>')
        return
    pages = -(-len(kept) // LISTED)
    at = st.number_input(f"Part of {pages}", 1, pages, key=f"lab duel part {by}", width=PART_WIDTH) - 1 if pages > 1 else 0
    at = min(at, pages - 1)
    st.html(
        f'<div class="sl-small">{at * LISTED + 1:,} to {min(len(kept), (at + 1) * LISTED):,} of {len(kept):,}. A link opens the question in Explore, under that side.</div>'
    )
    place_of = {asked.id: place for place, asked in enumerate(run.questions)}
    for row in kept[at * LISTED : (at + 1) * LISTED]:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            asked = f'<div class="sl-asked-of" dir="auto">{escape(row["text"])} <span>{escape(row["kind"])}</span></div>'
            st.html(asked, width="stretch")
            for letter, side in zip("AB", sides, strict=True):
                link(run, side, place_of[row["question"]], f"{letter} {number(row[letter])} →")


def draw_details(run: Run, metric: str, colours: Palette) -> None:
    """What was run, what did not, and what can be taken away."""
    del colours
    _draw_export(run, metric)
    _draw_trouble(run)
    manifest = run.manifest
    facts = {
        "run": manifest.id,
        "golden set": f"{manifest.golden} (SHA-256 {manifest.golden_sha256[:12]}), {len(run.questions):,} open questions",
        "corpus": f"{manifest.corpus} (SHA-256 {manifest.corpus_sha256[:12]})",
        "baseline": next((entry.slug for entry in manifest.configurations if entry.key == manifest.baseline), "none named beforehand"),
        "code": manifest.code[:12],
        "versions": ", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
        **{f"note {at}": note for at, note in enumerate(manifest.notes, start=1)},
    }
    st.html(f'<h2 class="sl-h">What was run</h2>{facts_html(facts)}')
    st.dataframe(
        [
            {"configuration": label, "key": entry.key, **entry.fields}
            for label, entry in zip(labels(run), manifest.configurations, strict=True)
        ],
        hide_index=True,
        key="lab configurations",
    )


def facts_html(facts: Mapping[str, str]) -> str:
    """Facts by name, escaped; empty ones are left out."""
    return (
        f'<dl class="sl-facts">{"".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)}</dl>'
    )


def _draw_trouble(run: Run) -> None:
    """What was skipped, what failed, and what could not be scored, with the reasons."""
    by_key = {entry.key: label for entry, label in zip(run.manifest.configurations, labels(run), strict=True)}
    failed = sum(lab_data.errors_of(run).values())
    stale = [asked for asked in run.questions if asked.stale]
    st.html('<h2 class="sl-h">What did not run</h2>')
    if not (run.manifest.skipped or run.failures or failed or stale):
        st.html('<div class="sl-small">Nothing was skipped, nothing failed, every row was scored.</div>')
        return
    if run.manifest.skipped:
        with st.expander(f"{len(run.manifest.skipped):,} combinations were skipped"):
            st.dataframe([{"why": line} for line in run.manifest.skipped], hide_index=True)
    if run.failures:
        with st.expander(f"{len(run.failures):,} configurations failed", expanded=True):
            st.dataframe([{"configuration": by_key.get(key, key), "why": why} for key, why in run.failures.items()], hide_index=True)
    if failed:
        with st.expander(f"{failed:,} rows could not be scored", expanded=True):
            st.dataframe(lab_data.trouble_of(run), hide_index=True)
    if stale:
        with st.expander(f"{len(stale):,} questions have stale evidence"):
            st.dataframe([{"question": asked.id, "why": asked.stale} for asked in stale], hide_index=True)


def _draw_export(run: Run, metric: str) -> None:
    """The report, the rows, and a configuration as a preset."""
    everything = lab_data.all_runs()
    name = run.manifest.id
    st.html(
        '<h2 class="sl-h">Take away</h2><div class="sl-small">Both files are made at the click, which takes a while for a large run.</div>'
    )
    with st.container(horizontal=True):
        st.download_button(
            "HTML report",
            lambda: report_html(run, everything=everything, metric=metric).encode(),
            f"{name}.html",
            "text/html",
            key="lab report",
            on_click="ignore",
            icon=":material/download:",
            help="One file that needs nothing else, with everything this page shows.",
        )
        st.download_button(
            "CSV",
            lambda: csv_of(run),
            f"{name}.csv",
            "text/csv",
            key="lab csv",
            on_click="ignore",
            icon=":material/download:",
            help="A line for every question and configuration.",
        )
    names, order = labels(run), [row.place for row in lab_data.board_of(run, metric).rows]
    with st.container(horizontal=True, vertical_alignment="bottom", key="lab-wide-preset"):
        st.selectbox(
            "Configuration, the best first",
            order,
            key=f"lab preset of {name}",
            format_func=lambda place: names[place] if place < len(names) else "",
        )
        st.text_input("Name of the preset", key="lab preset name", max_chars=notes.MAX_NAME, placeholder="a name")
        st.button("Save as preset", on_click=_save_preset, args=(run,), key="lab preset")
    if saved := st.session_state.pop("lab preset saved", None):
        st.html(cards.notice([saved]))


def csv_of(run: Run) -> bytes:
    """Every row of a run as CSV."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        results.export_csv(run, path)
        return path.read_bytes()


def _save_preset(run: Run) -> None:
    place = st.session_state[f"lab preset of {run.manifest.id}"]
    try:
        name = notes.check_preset_name(st.session_state["lab preset name"])
        notes.save_preset(lab_data.settings().notes_dir, name, run.manifest.configurations[place].fields)
        st.session_state["lab preset saved"] = f"Saved as {name}: it stands among the presets of every page."
    except SittError as error:
        st.session_state[lab_runs.REFUSED] = told(error)
