"""Lab: golden questions under many configurations, and what may be said of the difference."""

import streamlit as st

st.title("Lab", anchor=False)
