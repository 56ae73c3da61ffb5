"""Lab: golden questions under many configurations, and what may be said of the difference."""

import streamlit as st

from sitt_core.surfaces.dashboard import lab, lab_data, lab_new, lab_runs, shell

st.title("Lab", anchor=False)
st.html(lab.style_sheet(shell.colours()))
lab.follow()
if lab_runs.VIEW not in st.session_state:
    st.session_state[lab_runs.VIEW] = lab_runs.RESULTS if lab_data.all_runs() else lab_runs.NEW
view = st.segmented_control(
    "View",
    [lab_runs.RESULTS, lab_runs.NEW, lab_runs.RUNS],
    key=lab_runs.VIEW,
    required=True,
    label_visibility="collapsed",
    persist_state="session",
)
if view == lab_runs.NEW:
    lab_new.draw_new()
elif view == lab_runs.RUNS:
    lab_runs.draw_runs()
else:
    lab.draw_results(shell.colours())
