"""Compare: one question through two to four configurations side by side."""

import streamlit as st

from sitt_core.surfaces.dashboard import building, cards, compare, explore, shell, state
from sitt_core.surfaces.dashboard.examples import EXAMPLES

st.title("Compare", anchor=False)
st.html(compare.style_sheet(shell.colours()))
corpus = st.session_state["corpus object"]
if corpus is None:
    building.offer_field_guide()
    st.stop()
explore.draw_question()
question = state.address().question.strip()
if not question:
    explore.draw_examples(EXAMPLES.get(corpus.name, ()))
compare.draw_chooser()
compare.draw_send()
if len(compare.chosen()) < 2:
    st.html(cards.notice(["Add a configuration: the same question goes through each, side by side."]))
elif not question:
    st.html(cards.notice(["Type a question, or take one of the examples."]))
else:
    sides = compare.find(corpus, question)
    compare.draw_sides(corpus, sides, shell.colours())
    compare.draw_overlap(sides)
    compare.draw_answers(corpus, sides, question, shell.colours())
