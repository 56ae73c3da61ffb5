"""The Questions page's files: a file of questions taken in whole or not at all, and the open questions given out."""

import streamlit as st

from evals import editing, exchange
from evals.editing import Shelf
from evals.exchange import Import
from sitt_core.errors import SittError
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import state
from sitt_core.surfaces.dashboard.questions_data import KNOWN_BY, SECTION, SET, done, main_button, reviewed, settings
from sitt_core.surfaces.dashboard.questions_html import import_html
from sitt_core.surfaces.dashboard.told import told

MAX_UPLOAD = 50
"""The most megabytes of a file; one of YAML may have one."""


def draw_files(corpus: Corpus) -> None:
    """A file of questions taken in whole or not at all, and the set given out."""
    shelf, _ = reviewed(corpus)
    left, right = st.columns(2, gap="large")
    with left:
        _draw_import(corpus, shelf)
    with right:
        _draw_export(corpus, shelf)


def _draw_import(corpus: Corpus, shelf: Shelf) -> None:
    st.html(
        '<h2 class="sl-h">Import</h2><div class="sl-small">A YAML file in the format of docs/golden-sets.md, or a zipped BEIR folder, of which the questions and '
        "judgements are taken for this corpus. It is checked whole; its questions become your own, all of them or none. "
        "To ask a BEIR collection of its own documents: <code>python -m evals run --dataset beir:FOLDER</code>.</div>"
    )
    upload = st.file_uploader(
        "A file of questions", type=["yaml", "yml", "zip"], key="questions upload", max_upload_size=MAX_UPLOAD, on_change=state.acted
    )
    if upload is None:
        return
    data = upload.getvalue()
    checked = _checked(corpus, shelf, data)
    st.html(import_html(checked))
    if checked.problems:
        return
    count = len(checked.questions)
    allowed = not checked.findings or st.checkbox("Take them with what would be marked", key="questions anyway", on_change=state.acted)
    allowed = allowed and shelf.trouble is None
    st.button(
        f"Add {count:,} question{'s' * (count > 1)}",
        type=main_button(enabled=allowed),
        key="add import",
        disabled=not allowed,
        on_click=_import,
        args=(corpus.name, checked),
        icon=":material/add:",
    )


@st.cache_data(show_spinner="Checking the file …", max_entries=8, ttl=1800, hash_funcs=KNOWN_BY)
def _checked(corpus: Corpus, shelf: Shelf, data: bytes) -> Import:
    # A large corpus's documents come with their text only where a question names them, and these are not on the shelf yet.
    return exchange.read_import(shelf, data, corpus.all_documents())


def _import(corpus: str, checked: Import) -> None:
    count = len(checked.questions)
    said = f"{count:,} question{'s are' if count > 1 else ' is'} added to your own."
    if done(lambda: editing.add_questions(settings(), corpus, checked.questions), said):
        st.session_state[SECTION] = SET


def _draw_export(corpus: Corpus, shelf: Shelf) -> None:
    st.html(
        '<h2 class="sl-h">Export</h2><div class="sl-small">Open questions only. The sealed ones go out with '
        "<code>python -m evals questions export FOLDER --sealed</code> alone.</div>"
    )
    own, open_ = (
        [each for each in shelf.own if each.split == "open"],
        [each for each in (*shelf.bundled, *shelf.own) if each.split == "open"],
    )
    st.download_button(
        f"Your own: {len(own):,} as YAML",
        exchange.export_yaml(own),
        f"{corpus.name}-own.yaml",
        "application/yaml",
        key="export own",
        disabled=not own,
        icon=":material/download:",
        on_click="ignore",
    )
    st.download_button(
        f"All: {len(open_):,} as YAML",
        lambda: exchange.export_yaml(open_),
        f"{corpus.name}.yaml",
        "application/yaml",
        key="export all",
        disabled=not open_,
        icon=":material/download:",
        on_click="ignore",
    )
    st.html(
        '<div class="sl-small">As a BEIR folder: documents, questions and judgements as other retrieval tools read them, the generated questions too.</div>'
    )
    if st.button("Make the BEIR zip", key="make beir", icon=":material/folder_zip:", on_click=state.acted):
        try:
            with st.spinner("Writing the collection …"):
                data = exchange.export_beir(shelf, corpus.all_documents())
        except SittError as error:
            st.error(told(error))
        else:
            st.download_button(
                f"Download {len(data) / 2**20:.1f} MB",
                data,
                f"{corpus.name}-beir.zip",
                "application/zip",
                key="export beir",
                icon=":material/download:",
                on_click="ignore",
            )
