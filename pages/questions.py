"""Questions: the golden set, checked line by line, and the drafts that wait for it."""

import streamlit as st

from sitt_core.errors import SittError
from sitt_core.surfaces.dashboard import building, chunk_view, questions, shell
from sitt_core.surfaces.dashboard.told import told

st.title("Questions", anchor=False)
st.html(chunk_view.style_sheet(shell.colours()) + questions.style_sheet(shell.colours()))
opened = st.session_state["corpus object"]
if opened is None:
    building.offer_field_guide()
    st.stop()

questions.say_what_happened()
sections = {
    questions.SET: questions.draw_set,
    questions.DRAFTS: questions.draw_drafts,
    questions.FILES: questions.draw_files,
}
try:
    if questions.is_editing(opened):
        questions.draw_edit(opened, shell.colours())
    else:
        # Only the open section runs.
        for tab, draw in zip(st.tabs(list(sections), key=questions.SECTION, on_change="rerun"), sections.values(), strict=True):
            if tab.open:
                with tab:
                    draw(opened, shell.colours())
except SittError as error:
    st.error(told(error))
