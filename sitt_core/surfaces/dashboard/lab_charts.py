"""What sections of the Lab page share: a chart with what stands around it, findings as paragraphs, the way to Explore."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from evals import charts
from evals.charts import Chart
from evals.results import Run
from sitt_core.errors import SittError
from sitt_core.surfaces.address import Address, to_parameters
from sitt_core.surfaces.dashboard.explore import PLOT_CONFIG, draw_data
from sitt_core.surfaces.dashboard.plain import plain_label

EXPLORE = "pages/explore.py"


def draw_chart(chart: Chart) -> None:
    """A chart with what stands around it: title, what it is of, letters, the picture, numbers, rows."""
    st.html(f'<h2 class="sl-h">{escape(chart.title)}</h2><div class="sl-small">{escape(chart.subtitle)}</div>')
    if chart.key:
        st.html(charts.key_html(chart.key))
    st.plotly_chart(chart.figure, theme=None, config=PLOT_CONFIG, key=f"lab {chart.name}", alt=chart.alt)
    if chart.listed:
        st.html(f'<ul class="sl-front">{"".join(f"<li>{escape(line)}</li>" for line in chart.listed)}</ul>')
    if chart.rows:
        draw_data(chart.rows, chart.name)


def findings_html(sentences: Sequence[str]) -> str:
    """The findings as paragraphs, escaped."""
    return f'<div class="sl-findings">{"".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)}</div>'


def address_of(run: Run, place: int, question: int) -> Address:
    """A question of a run under one of its configurations; raises InvalidInput for one that this version cannot read."""
    return Address(run.manifest.configurations[place].configuration, run.manifest.corpus, run.questions[question].text)


def link(run: Run, place: int, question: int, label: str) -> None:
    """A link to Explore with a question under a configuration; nothing for one that this version cannot read."""
    try:
        target = address_of(run, place, question)
    except SittError:
        return
    st.page_link(EXPLORE, label=plain_label(label), query_params=to_parameters(target))
