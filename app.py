"""The dashboard's router: the address, the navigation, the sidebar."""

import streamlit as st

from sitt_core.surfaces.dashboard import shell

st.set_page_config(page_title="SITT Lab", page_icon=shell.ICON, layout="wide", initial_sidebar_state="auto")
pages = [
    st.Page("pages/explore.py", title="Explore", default=True),
    st.Page("pages/ask.py", title="Ask"),
    st.Page("pages/compare.py", title="Compare"),
    st.Page("pages/lab.py", title="Lab"),
    st.Page("pages/questions.py", title="Questions"),
    st.Page("pages/corpus.py", title="Corpus"),
    st.Page("pages/system.py", title="System"),
]
page = st.navigation(pages, position="hidden")
shell.open_page(pages, page)
page.run()
shell.close_page()
