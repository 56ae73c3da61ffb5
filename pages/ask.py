"""Ask: answers from the corpus, with citations that are checked."""

import streamlit as st

from sitt_core.surfaces.dashboard import ask, building, cards, shell
from sitt_core.surfaces.dashboard.examples import EXAMPLES

st.title("Ask", anchor=False)
corpus = st.session_state["corpus object"]
if corpus is None:
    building.offer_field_guide()
    st.stop()
ask.draw_conversations(corpus)
engine = ask.engine_or_offer(corpus)
answers = ask.draw_turns(corpus, shell.colours())
running = ask.draw_writing(corpus, shell.colours())
if trouble := st.session_state.get(ask.TROUBLE):
    st.html(cards.notice([trouble], problem=True))
if engine and not (answers or running):
    ask.draw_starts(EXAMPLES.get(corpus.name, ()))
if question := st.chat_input("Ask the corpus …", key="ask box", disabled=running or engine is None):
    ask.ask(question)
    st.rerun()
