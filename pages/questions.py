"""Questions: the golden set, checked line by line, and the drafts that wait for it."""

import streamlit as st

from sitt_core.errors import SittError
from sitt_core.surfaces.dashboard import (
    building,
    chunk_view,
    questions,
    questions_data,
    questions_drafts,
    questions_edit,
    questions_files,
    questions_html,
    shell,
)
from sitt_core.surfaces.dashboard.told import told

st.title("Questions", anchor=False)
st.html(chunk_view.style_sheet(shell.colours()) + questions_html.style_sheet(shell.colours()))
opened = st.session_state["corpus object"]
if opened is None:
    building.offer_field_guide()
    st.stop()

questions_data.say_what_happened()
sections = {
    questions_data.SET: questions.draw_set,
    questions_data.DRAFTS: questions_drafts.draw_drafts,
    questions_data.FILES: questions_files.draw_files,
}
try:
    if questions_data.is_editing(opened):
        questions_edit.draw_edit(opened)
    else:
        # Only the open section runs.
        for tab, draw in zip(st.tabs(list(sections), key=questions_data.SECTION, on_change="rerun"), sections.values(), strict=True):
            if tab.open:
                with tab:
                    draw(opened)
except SittError as error:
    st.error(told(error))
