"""Questions: the golden set, checked line by line, and the drafts that wait for it."""

import streamlit as st

st.title("Questions", anchor=False)
