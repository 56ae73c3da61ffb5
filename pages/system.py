"""System: what is here, what it holds, and how it is."""

import streamlit as st

from sitt_core.errors import SittError
from sitt_core.surfaces.dashboard import chunk_view, shell, system
from sitt_core.surfaces.dashboard.told import told

st.title("System", anchor=False)
st.html(chunk_view.style_sheet(shell.colours()) + system.style_sheet(shell.colours()))
system.draw_refresh()
sections = {
    "Health": system.draw_health,
    "Corpora": system.draw_corpora,
    "Models and keys": system.draw_models,
    "Spending": system.draw_spending,
    "Jobs": system.draw_jobs,
    "Errors": system.draw_errors,
}
# Only the open section runs: nothing is read for one that nobody looks at.
for tab, draw in zip(st.tabs(list(sections), key=system.SECTION, on_change="rerun"), sections.values(), strict=True):
    if tab.open:
        with tab:
            try:
                draw(st.session_state["corpus object"], shell.colours())
            except SittError as error:
                st.error(told(error))
