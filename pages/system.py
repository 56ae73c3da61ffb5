"""System: what is here, what it holds, and how it is."""

import streamlit as st

st.title("System", anchor=False)
