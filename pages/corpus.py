"""Corpus: what is in it, how it is cut, what an update would change, which generation is served."""

import streamlit as st

from sitt_core.surfaces.dashboard import building, chunk_view, corpora, corpus, found_html, rebuild, shell, versions

st.title("Corpus", anchor=False)
st.html(chunk_view.style_sheet(shell.colours()) + found_html.style_sheet(shell.colours()))
opened = st.session_state["corpus object"]
if opened is None:
    versions.say_refused()
    building.offer_field_guide()
    corpora.draw_make()
    st.stop()

sections = {
    "Contents": corpus.draw_contents,
    corpus.CHUNKS: corpus.draw_chunks,
    "Lengths": corpus.draw_lengths,
    "Map": corpus.draw_map,
    corpora.REBUILD: rebuild.draw_rebuild,
    "Versions": versions.draw_versions,
    "Indexes": versions.draw_indexes,
    "Corpora": corpora.draw_corpora,
}
# Only the open section runs: nothing slow is computed for one that nobody looks at.
for tab, draw in zip(st.tabs(list(sections), key=corpus.SECTION, on_change="rerun"), sections.values(), strict=True):
    if tab.open:
        with tab:
            draw(opened, shell.colours())
