"""The Lab page's section about answers: what judges say of them, as charts that show what is missing, and how far that may be trusted."""

from html import escape
from typing import Any

import streamlit as st

from evals import charts, verdicts
from evals.report import EXPLORATORY, answer_charts
from evals.results import Run
from sitt_core.surfaces.dashboard import cards, lab_data, lab_judge, lab_sides
from sitt_core.surfaces.dashboard.lab_charts import draw_chart, findings_html
from sitt_core.surfaces.dashboard.lab_judge import CHARTS, JUDGE, PART, SIDES, TRUST
from sitt_core.surfaces.dashboard.theme import Palette


def draw_answers(run: Run, metric: str, colours: Palette) -> None:
    """The section in four parts, of which only the open one computes anything; a judging on its way stands above all."""
    if not lab_data.is_answered(run) and run.judged is None:
        _draw_none()
        return
    running = lab_judge.draw_state(run)
    if PART not in st.session_state:
        st.session_state[PART] = CHARTS if run.judged is not None else JUDGE
    part = st.segmented_control(
        "Part", [CHARTS, SIDES, TRUST, JUDGE], key=PART, required=True, label_visibility="collapsed", persist_state="session"
    )
    if part == JUDGE:
        lab_judge.draw_judge(run, running=running)
    elif part == SIDES:
        lab_sides.draw_sides(run, metric)
    elif part == TRUST:
        draw_trust(run)
    else:
        draw_scores(run, metric, colours, running=running)


def _draw_none() -> None:
    with st.container(border=True):
        st.html('<h2 class="sl-h">This run has no answers</h2>')
        st.write("Answers can be judged where a run asked for them: tick “Answers too” under Metrics of a new run.")
        st.button("New run with answers", type="primary", on_click=lab_judge.ask_for_answers, key="lab with answers")


def draw_scores(run: Run, metric: str, colours: Palette, *, running: bool) -> None:
    """What can be said, then a small chart for every metric, configurations in the same order in all, and why scores are missing."""
    if run.judged is None:
        waiting = "The first verdicts are on their way." if running else "Nothing is judged yet: open Judge."
        st.html(cards.notice([waiting]))
        return
    st.html(findings_html(lab_data.verdict_findings_of(run)))
    so_far = " It is being judged now: this is what there was when the page was last drawn." if running else ""
    st.html(f'<div class="sl-small">{escape(EXPLORATORY + so_far)}</div>')
    rows = lab_data.qualities_of(run)
    order = [row.place for row in lab_data.board_of(run, metric).rows]
    made = answer_charts(run, rows, colours, order=order)
    for at in range(0, len(made), 2):
        for column, chart in zip(st.columns(2, gap="large"), made[at : at + 2], strict=False):
            with column:
                draw_chart(chart)
    if missing := charts.missing_rows(rows):
        st.html(
            '<h2 class="sl-h">Why scores are missing</h2><div class="sl-small">Undefined scores say nothing; failed ones are asked for again by Go on.</div>'
        )
        st.dataframe(missing, hide_index=True, height=min(420, 38 + 35 * len(missing)), key="lab answers missing")


def draw_trust(run: Run) -> None:
    """How much verdicts vary when nothing has changed, and how often judge and people agree."""
    st.html('<h2 class="sl-h">Noise</h2>')
    noise = lab_data.noise_of(run)
    if noise:
        st.html(
            f'<div class="sl-line">{escape(verdicts.noise_sentence(noise))}</div><div class="sl-small">Standard deviations of a configuration’s mean '
            "from repeat to repeat: the same answers judged again, and answers written again. From repeats alone: "
            "equal configurations differ by more in 5 % of cases at most (Tukey’s studentized range of so many configurations).</div>"
        )
        st.dataframe(
            [verdicts.noise_row(each) for each in noise], hide_index=True, placeholder="not tried", key="lab noise", column_config=_THREE
        )
    else:
        st.html(cards.notice(["Not known: everything was judged once. Three to five repeats (under Judge) show how much verdicts vary."]))
    st.html('<h2 class="sl-h">Agreement with people</h2>')
    agreed = verdicts.agreements(run, lab_data.logged())
    if agreed:
        st.html(
            f'<div class="sl-line">{escape(verdicts.agreement_sentence(agreed))}</div><div class="sl-small">Agree: both think well or both ill of an '
            "answer (a score from 0.5 on is well), with its 95 % interval. Kappa: 0 is chance. Liked scored higher: of pairs of a liked and a "
            "disliked answer. Thumbs on Ask for the very same answers count too.</div>"
        )
        st.dataframe(
            [verdicts.agreement_row(each) for each in agreed], hide_index=True, placeholder="–", key="lab agreement", column_config=_THREE
        )
    else:
        st.html(cards.notice(["Not known: no judged answer has a thumb. Give some under Side by side, good and bad ones."]))
    if run.judged is not None:
        st.html(f'<div class="sl-small">Judge: {escape(run.judged.judge)}.</div>')


_THREE: dict[str, Any] = {"metric": st.column_config.Column(width=165)} | {
    name: st.column_config.NumberColumn(name, format="%.3f")
    for name in (
        "SD, judged again",
        "SD, written again",
        "largest difference",
        "from repeats alone",
        "agree",
        "low",
        "high",
        "kappa",
        "liked scored higher",
    )
}
