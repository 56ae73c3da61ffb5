"""A run as one HTML file that needs nothing else: what was run, what it says in words, tables and charts, every number with its n."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from evals import analysis, charts, verdicts
from evals.analysis import Board
from evals.charts import Chart, number
from evals.findings import findings, metric_words
from evals.qualities import BY_QUALITY
from evals.results import Run, count, errors
from evals.summary import HEADLINE, headline, labels
from sitt_core.errors import StoreError
from sitt_core.look import DARK, LIGHT, Palette

DISAGREEMENTS = 40
"""How many of the questions that configurations differ in most the report names."""
MOST_ROWS = 200
"""How long a table under a chart is; the CSV export has all rows."""


def write_report(run: Run, path: Path, *, everything: Sequence[Run] = (), metric: str = "") -> None:
    """Writes the report of a run, whole or not at all; raises StoreError, or InvalidInput for a metric that the run has not."""
    text = report_html(run, everything=everything, metric=metric)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(expected=f"to write {path}", got=str(error), remedy="Choose another place.") from error


def report_html(run: Run, *, everything: Sequence[Run] = (), metric: str = "") -> str:
    """The report as HTML; `everything` are all runs, to say how often was tried. Raises InvalidInput or StoreError."""
    metric = analysis.require_metric(run, metric or default_metric(run))
    made = analysis.board(run, metric)
    sections = [
        _section("What it says", _findings(run, everything, metric)),
        _section("What was run", _manifest(run)),
        _section("Configurations", _configurations(run)),
        _section("What did not run", _trouble(run)),
        _section("Every metric", _every_metric(run)),
        _section("Refusals", _refusals(run)),
        _section("Where configurations disagree most", _disagreements(run, metric, made)),
    ]
    pictures = {"light": list(pictured(run, made, LIGHT)), "dark": list(pictured(run, made, DARK))}
    drawn = "".join(_picture(at, chart) for at, chart in enumerate(pictures["light"]))
    judged_rows, order = verdicts.quality_rows(run), [row.place for row in made.rows]
    answers = {scheme: answer_charts(run, judged_rows, colours, order=order) for scheme, colours in (("light", LIGHT), ("dark", DARK))}
    judged = _answers(run, judged_rows, "".join(_picture(len(pictures["light"]) + at, chart) for at, chart in enumerate(answers["light"])))
    pictures = {scheme: [*drawn_, *answers[scheme]] for scheme, drawn_ in pictures.items()}
    body = sections[0] + drawn + _section("Answers", judged) + "".join(sections[1:])
    return _page(_title(run), body, {scheme: [_figure_json(chart) for chart in drawn_] for scheme, drawn_ in pictures.items()})


def default_metric(run: Run) -> str:
    """The headline where the run has it, else its first metric."""
    return HEADLINE if HEADLINE in run.manifest.metrics else next(name for name in run.manifest.metrics if name != "refused")


def why_exploratory(run: Run, metric: str) -> str:
    """Why a leaderboard by that metric is exploratory; empty for the metric that the run was planned for."""
    planned = default_metric(run)
    return "" if metric == planned else f"the run was planned for {metric_words(planned)}, and corrections hold for that alone"


def by_metric(run: Run, metric: str, chart: Chart) -> Chart:
    """A chart of a leaderboard, said to be exploratory where it is by another metric than the run was planned for, with who judged."""
    why = why_exploratory(run, metric)
    return by_judge(run, metric, charts.exploratory(chart, why) if why else chart)


def by_judge(run: Run, metric: str, chart: Chart) -> Chart:
    """A chart by a metric of answers with who judged them; any other as it is."""
    judge = judge_of(run, metric)
    return replace(chart, subtitle=f"{chart.subtitle} Judge: {judge}.") if judge else chart


def judge_of(run: Run, metric: str) -> str:
    """Who gave a run's scores by that metric, in words; empty for one that is measured."""
    if run.judged is None or metric not in run.judged.metrics:
        return ""
    return run.judged.judge if BY_QUALITY[metric].judged else NO_JUDGE


NO_JUDGE = "nobody, it is computed from the texts"


def answer_charts(run: Run, rows: Sequence[Mapping[str, Any]], colours: Palette, *, order: Sequence[int]) -> list[Chart]:
    """A chart for every metric that a run's answers were judged by, configurations in the same order in all."""
    metrics = dict.fromkeys(row["metric"] for row in rows)
    return [
        charts.quality_chart(rows, colours, metric=metric, judge=judge_of(run, metric), meaning=BY_QUALITY[metric].meaning, order=order)
        for metric in metrics
    ]


def pictured(run: Run, made: Board, colours: Palette) -> Iterator[Chart]:
    """The report's charts in their order."""
    chosen = charts.highlighted(made)
    yield by_metric(run, made.metric, charts.leaderboard(made, colours, highlights=chosen))
    for budgets in (False, True):
        for family in charts.families(run.manifest.metrics, budgets=budgets)[:1]:
            yield charts.curves(analysis.curve(run, family, budgets=budgets), colours, highlights=chosen, family=family, budgets=budgets)
    traded = analysis.tradeoff(made)
    for cost in charts.COSTS:
        yield by_metric(run, made.metric, charts.tradeoff_chart(traded, colours, metric=made.metric, cost=cost, highlights=chosen))
    kinds = charts.by_kind_chart(analysis.by_kind(run, made.metric), colours, metric=made.metric, highlights=chosen)
    yield by_judge(run, made.metric, kinds)
    for field in analysis.varying_fields(run):
        by = analysis.effect_metric(run, field, made.metric)
        if (found := analysis.effect(run, field, by)) is not None:
            yield by_judge(run, by, charts.effect_chart(found, colours))


def _answers(run: Run, rows: Sequence[Mapping[str, Any]], drawn: str) -> str:
    """What judged answers say: sentences, the charts, why scores are missing, noise, agreement with thumbs given in the Lab."""
    if run.judged is None:
        return ""
    parts = ["".join(f"<p>{escape(sentence)}</p>" for sentence in verdicts.verdict_findings(run)), f"<p>{EXPLORATORY}</p>", drawn]
    if missing := charts.missing_rows(rows):
        parts.append(f"<h3>Why scores are missing</h3>{_table(missing)}")
    if noise := verdicts.noise(run):
        parts.append(f"<h3>Noise</h3><p>{escape(verdicts.noise_sentence(noise))}</p>{_table([verdicts.noise_row(each) for each in noise])}")
    if agreed := verdicts.agreements(run):
        told = [verdicts.agreement_row(each) for each in agreed]
        parts.append(f"<h3>Agreement with people</h3><p>{escape(verdicts.agreement_sentence(agreed))}</p>{_table(told)}")
    return "".join(parts)


EXPLORATORY = "Exploratory: no correction covers the metrics of answers, and a judge is a measuring instrument with errors of its own."


def _title(run: Run) -> str:
    return run.manifest.name or f"{run.manifest.golden} on {run.manifest.corpus}"


def _findings(run: Run, everything: Sequence[Run], metric: str) -> str:
    said = findings(run, everything)
    note = analysis.drawing_note(run)
    other = "" if metric == default_metric(run) else f"The charts below are by {metric_words(metric)}; what is said here is not."
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in (*said, note, other) if sentence)


def _manifest(run: Run) -> str:
    manifest = run.manifest
    kinds: dict[str, int] = {}
    for asked in run.questions:
        kinds[asked.kind] = kinds.get(asked.kind, 0) + 1
    facts = {
        "run": manifest.id,
        "state": run.state,
        "started": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(manifest.started)),
        "took": f"{run.seconds:,.0f} s",
        "rows": f"{count(run):,} of {run.wanted:,}",
        "corpus": f"{manifest.corpus}, SHA-256 {manifest.corpus_sha256}",
        "golden set": f"{manifest.golden}, open questions, SHA-256 {manifest.golden_sha256}",
        "questions": f"{len(run.questions):,}: {', '.join(f'{kind} {many:,}' for kind, many in kinds.items())}",
        "headline": f"{int(headline(run).sum()):,} questions that the corpus answers and that were written by hand",
        "configurations": f"{len(manifest.configurations):,}",
        "baseline": next((entry.slug for entry in manifest.configurations if entry.key == manifest.baseline), "none named beforehand"),
        "metrics": ", ".join(manifest.metrics),
        "seed": str(manifest.seed),
        "code": f"SHA-256 {manifest.code}" if manifest.code else "not noted",
        "versions": ", ".join(f"{name} {version}" for name, version in manifest.versions.items()) or "not noted",
        **{f"note {at}": note for at, note in enumerate(manifest.notes, start=1)},
    }
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in facts.items())}</dl>"


def _configurations(run: Run) -> str:
    """Every configuration with all its fields, those that vary first."""
    varying = list(analysis.varying_fields(run))
    names = list(run.manifest.configurations[0].fields) if run.manifest.configurations else []
    same = [name for name in names if len({str(entry.fields.get(name)) for entry in run.manifest.configurations}) == 1]
    differing = [*varying, *(name for name in names if name not in same and name not in varying)]
    rows = [
        {"configuration": label, "key": entry.key, **{name: entry.fields.get(name) for name in differing}}
        for label, entry in zip(labels(run), run.manifest.configurations, strict=True)
    ]
    shared = ", ".join(f"{name}={run.manifest.configurations[0].fields[name]}" for name in same)
    return f"{_table(rows, most=1000)}<p>The same in all: {escape(shared)}</p>"


def _trouble(run: Run) -> str:
    by_key = {entry.key: label for entry, label in zip(run.manifest.configurations, labels(run), strict=True)}
    parts = []
    if run.manifest.skipped:
        parts.append(f"<h3>Skipped: {len(run.manifest.skipped):,}</h3>{_list(run.manifest.skipped)}")
    if run.failures:
        parts.append(
            f"<h3>Failed: {len(run.failures):,}</h3>{_list([f'{by_key.get(key, key)}: {why}' for key, why in run.failures.items()])}"
        )
    if failed := sum(errors(run).values()):
        parts.append(f"<h3>Could not be scored: {failed:,} rows</h3>{_table(analysis.trouble(run))}")
    stale = [f"{asked.id}: {asked.stale}" for asked in run.questions if asked.stale]
    if stale:
        parts.append(f"<h3>Stale evidence: {len(stale):,} questions</h3>{_list(stale[:MOST_ROWS])}")
    return "".join(parts) or "<p>Nothing was skipped, nothing failed, every row was scored.</p>"


def _every_metric(run: Run) -> str:
    """Means with n of m; the headline's intervals stand on its leaderboard."""
    rows = [
        {
            "configuration": row["configuration"],
            **{
                name: f"{number(cell['mean'])} ({cell['n']:,}{'' if cell['n'] == cell['of'] else ' of ' + format(cell['of'], ',')})"
                for name, cell in row["means"].items()
            },
        }
        for row in analysis.metric_means(run)
    ]
    return f"<p>Means over the headline's questions, n in brackets; the intervals of one of them stand on the leaderboard. Choosing by any other is exploratory.{_judged_by(run)}</p>{_table(rows, most=1000)}"


def _judged_by(run: Run) -> str:
    """Who gave the scores of answers, escaped, where somebody did."""
    asked = [name for name in run.judged.metrics if BY_QUALITY[name].judged] if run.judged else []
    return f" {escape(', '.join(asked))}: judged by {escape(run.judged.judge)}." if run.judged and asked else ""


def _refusals(run: Run) -> str:
    rows = [
        {
            "configuration": row["configuration"],
            **refusal_cells(row),
        }
        for row in analysis.abstention_rows(run)
    ]
    return f"<p>{REFUSALS}</p>{_table(rows)}" if rows else ""


REFUSALS = (
    "The share of questions that were refused, with its 95 % interval and n: right for the unanswerable, wrong for the answerable. "
    "Exploratory: no correction covers it."
)


def refusal_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """What a configuration refused of each sort of question: such as `0.86 (0.67–0.95), n 21`."""
    return {name: _refused(row, name) for name in row if f"n {name}" in row}


def _refused(row: Mapping[str, Any], name: str) -> str:
    low, high = row.get(f"low {name}"), row.get(f"high {name}")
    limits = f" ({number(low)}–{number(high)})" if low is not None and high is not None else ""
    return f"{number(row[name])}{limits}, n {row[f'n {name}']:,}"


def _disagreements(run: Run, metric: str, made: Board) -> str:
    order, scores = analysis.disagreement(run, metric, only_different=True)
    if not order:
        return "<p>The configurations do not differ in any question.</p>"
    names, best = labels(run), made.rows[0].place
    rows = []
    for place, values in zip(order[:DISAGREEMENTS], scores[:DISAGREEMENTS], strict=True):
        defined = [(value, at) for at, value in enumerate(values.tolist()) if value == value]
        top, low = max(value for value, _ in defined), min(value for value, _ in defined)
        rows.append(
            {
                "question": run.questions[place].id,
                "kind": run.questions[place].kind,
                "text": run.questions[place].text,
                "highest": f"{number(top)} ({sum(value == top for value, _ in defined)} of {len(defined)})",
                "lowest": f"{number(low)} ({sum(value == low for value, _ in defined)} of {len(defined)})",
                "such as": names[next(at for value, at in defined if value == low)],
                f"of the best: {names[best]}": number(next((value for value, at in defined if at == best), None)),
            }
        )
    listed = f"{len(order):,} of the {len(run.questions):,} questions" + (
        f"; the first {DISAGREEMENTS} of them" if len(order) > DISAGREEMENTS else ""
    )
    judge = judge_of(run, metric)
    said = f"By {metric_words(metric)} configurations differ in {listed}. How many of the configurations is in brackets.{f' Judge: {judge}.' if judge else ''}"
    return f"<p>{escape(said)}</p>{_table(rows)}"


def _section(title: str, inner: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inner}</section>" if inner else ""


def _picture(at: int, chart: Chart) -> str:
    return (
        f'<section><h2>{escape(chart.title)}</h2><p class="small">{escape(chart.subtitle)}</p>'
        f"{charts.key_html(chart.key) if chart.key else ''}"
        f'<div class="plot" id="plot-{at}" role="img" aria-label="{escape(chart.alt)}"></div>'
        f"{_list(chart.listed, kind='listed') if chart.listed else ''}"
        f"<details><summary>data</summary>{_table(chart.rows)}</details></section>"
    )


def _list(lines: Sequence[str], *, kind: str = "plain") -> str:
    entries = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="{kind}">{entries}</ul>'


def _table(rows: Sequence[Mapping[str, Any]], *, most: int = MOST_ROWS) -> str:
    """Rows as a table; all have the keys of the first."""
    if not rows:
        return "<p>None.</p>"
    names = list(rows[0])
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join(f"<tr>{''.join(f'<td>{_cell(row.get(name))}</td>' for name in names)}</tr>" for row in rows[:most])
    more = f"<p>{len(rows) - most:,} more rows are in the CSV export.</p>" if len(rows) > most else ""
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>{more}'


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _figure_json(chart: Chart) -> str:
    """A figure as JSON, without the process's default template: in a running dashboard that is Streamlit's."""
    return str(chart.figure.update_layout(template="none").to_json())


def _page(title: str, body: str, figures: Mapping[str, Sequence[str]]) -> str:
    """The whole file; Plotly's library stands in it once, and the policy forbids loading anything."""
    from plotly.offline import get_plotlyjs

    # In a script, "<" could end it; in JSON it stands in strings alone, where this is the same.
    held = ",".join(f'"{scheme}":[{",".join(made)}]' for scheme, made in figures.items()).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="generator" content="SITT Lab"><meta name="color-scheme" content="light dark"><title>{escape(title)} – SITT Lab</title>
<style>{_style()}</style></head><body><main><h1>{escape(title)}</h1>
{body}</main>
<script>{get_plotlyjs()}</script>
<script type="application/json" id="figures">{{{held}}}</script>
<script>{_SCRIPT}</script></body></html>
"""


_SCRIPT = """const figures = JSON.parse(document.getElementById('figures').textContent);
const scheme = matchMedia('(prefers-color-scheme: dark)');
const draw = () => figures[scheme.matches ? 'dark' : 'light'].forEach((figure, at) =>
  Plotly.react('plot-' + at, figure.data, figure.layout, {displayModeBar: false, responsive: true}));
draw(); scheme.addEventListener('change', draw);"""


def _variables(colours: Palette) -> str:
    series = ";".join(f"--s{at}:{ink}" for at, ink in enumerate(colours.series))
    return f"--paper:{colours.paper};--card:{colours.card};--text:{colours.text};--faint:{colours.faint};--line:{colours.line};{series}"


def _style() -> str:
    return f""":root{{{_variables(LIGHT)}}}@media(prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}
*{{box-sizing:border-box}}body{{margin:0;background:var(--paper);color:var(--text);font:15px/1.55 system-ui,sans-serif}}
main{{max-width:60rem;margin:0 auto;padding:2rem 1rem 4rem}}h1,h2,h3{{font-family:Georgia,'Iowan Old Style',serif;line-height:1.25;overflow-wrap:anywhere}}
h1{{font-size:1.9rem;margin:0 0 1rem}}h2{{font-size:1.3rem;margin:2.2rem 0 .3rem}}h3{{font-size:1.05rem;margin:1rem 0 .2rem}}
p,li,dd{{overflow-wrap:anywhere}}p{{margin:.4rem 0}}.small,dt,summary{{color:var(--faint);font-size:.88rem}}summary{{cursor:pointer}}
dl{{display:grid;grid-template-columns:auto 1fr;gap:.2rem 1rem;font-size:.92rem}}dd{{margin:0}}
.plot{{width:100%}}.wide{{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--card);max-height:34rem}}
table{{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;width:100%}}
th,td{{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}}th{{color:var(--faint);font-weight:500;position:sticky;top:0;background:var(--card)}}
td{{min-width:4.2rem;max-width:24rem;overflow-wrap:break-word}}
.sl-key,.listed{{list-style:none;padding:0;margin:.3rem 0;font-size:.88rem;display:flex;flex-wrap:wrap;gap:.1rem 1.2rem}}.listed{{display:block}}{"".join(f".sl-s{at}{{color:var(--s{at})}}" for at in range(len(LIGHT.series)))}"""
