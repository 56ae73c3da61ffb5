"""Explore: ask a question, see which passages come back, from where and why."""

import streamlit as st

from sitt_core.errors import SittError
from sitt_core.pipeline import search
from sitt_core.surfaces.dashboard import building, cards, explore, recent, shell, state, whynot
from sitt_core.surfaces.dashboard.examples import EXAMPLES

st.title("Explore", anchor=False)
explore.draw_question()
corpus = st.session_state["corpus object"]
if corpus is None:
    building.offer_field_guide()
    st.stop()
examples = EXAMPLES.get(corpus.name, ())
with st.container(horizontal=True, gap="small"):
    recent.draw_recent(corpus.name)
    explore.draw_examples(examples)

configuration, question = state.configuration(), state.address().question
if not corpus.has_index_for(configuration):
    building.offer_index(corpus, configuration)
elif configuration.mode == "none":
    explore.offer_retrievers()
elif not question.strip():
    st.html(
        cards.notice(
            [f"{len(corpus.documents)} documents are ready. Type a question{', or take one of the examples' if examples else ''}."]
        )
    )
else:
    try:
        engine = state.workshop().engine(corpus, configuration)
        result = search(question, engine, filters=state.address().filters)
    except SittError as error:
        st.html(cards.notice([f"Expected {error.expected}; got {error.got}. {error.remedy}"], problem=True))
    else:
        recent.remember(corpus.name, state.address())
        explore.draw_costs(result, engine, st.session_state["costs"])
        whynot.draw_whynot(result, engine, state.address().filters)
        explore.draw_result(result, engine, shell.colours())
