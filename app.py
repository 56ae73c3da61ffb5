"""The dashboard's router: the address, the navigation, the sidebar."""

import streamlit as st

from sitt_core.surfaces.dashboard import shell

st.set_page_config(page_title="SITT Lab", page_icon=shell.ICON, layout="wide", initial_sidebar_state="auto")
page = st.navigation([st.Page("pages/explore.py", title="Explore", default=True)], position="hidden")
shell.open_page()
page.run()
shell.close_page()
