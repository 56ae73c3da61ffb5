"""Compare: one question through two to four configurations side by side."""

import streamlit as st

st.title("Compare", anchor=False)
