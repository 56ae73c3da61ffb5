"""The Corpus page's past: retired documents, generations to go back to, indexes and what of them needs building."""

from typing import Any

import streamlit as st

from sitt_core import ingest
from sitt_core.configuration import Configuration
from sitt_core.errors import SittError
from sitt_core.store import admin
from sitt_core.store.admin import GenerationInfo
from sitt_core.store.reading import Corpus, IndexInfo
from sitt_core.surfaces.dashboard import building, state
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.progress import human_bytes

REFUSED = "corpus refused"
"""The session's key of what a button could not do, said at the next run."""


def heading(text: str) -> None:
    """A heading within a section; `text` is ours."""
    st.html(f'<h2 class="sl-h">{text}</h2>')


def say_refused() -> None:
    """Shows why the last button did nothing, once."""
    if refused := st.session_state.pop(REFUSED, None):
        st.error(refused)


def draw_versions(corpus: Corpus, colours: Palette) -> None:
    """What an update left behind: documents that can be restored, and generations that can be served again."""
    del colours
    say_refused()
    if building.watch(f"update:{corpus.name}"):
        return
    heading("Generations")
    st.html(
        '<div class="sl-small">An update publishes a new generation beside the ones before it; three are kept. Going back, or forward '
        "again, only says which of them is served: nothing is lost.</div>"
    )
    for info in reversed(admin.describe_generations(corpus.folder.parent)):
        _draw_generation(corpus, info)
    heading("Retired documents")
    retired = corpus.retired_documents()
    if not retired:
        st.html('<div class="sl-small">None now. What an update finds gone from its source is listed here, to be restored.</div>')
        return
    titles = {document.id: document.title for document, _ in retired}
    st.dataframe([retired_row(document.title, document.id, when) for document, when in retired], hide_index=True)
    chosen = st.multiselect(
        "Restore",
        list(titles),
        key=f"restore {corpus.identity}",
        format_func=lambda id_: f"{titles.get(id_, '')} · {id_}",
        placeholder="which",
    )
    st.button(
        "Restore and publish",
        disabled=not chosen,
        on_click=building.start,
        args=(["restore", *chosen, "--corpus", corpus.name], f"Restore in {corpus.name}", f"update:{corpus.name}"),
        help="As they were when they were retired; no update retires them again unless their source has named them since.",
    )


def retired_row(title: str, document_id: str, when: str) -> dict[str, str]:
    """A retired document as a line of the table."""
    return {"title": title, "document": document_id, "retired": when[:16].replace("T", " ")}


def _draw_generation(corpus: Corpus, info: GenerationInfo) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.html(
            f'<div class="sl-line"><b>{info.name}</b>{" · served now" if info.current else ""}<br><span>{generation_line(info)}</span></div>'
        )
        if not info.current and not info.problem:
            word = "Roll back to" if info.name < corpus.generation else "Go forward to"
            st.button(f"{word} {info.name}", key=f"serve {info.name}", on_click=_serve, args=(corpus, info.name))


def generation_line(info: GenerationInfo) -> str:
    """A generation in words."""
    if info.problem:
        return "cannot be read"
    published = info.published_at[:16].replace("T", " ")
    return f"published {published} UTC · {info.documents:,} documents, {info.retired:,} retired · {human_bytes(info.size)}"


def _serve(corpus: Corpus, generation: str) -> None:
    try:
        admin.roll_back(corpus.folder.parent, generation)
    except SittError as error:
        st.session_state[REFUSED] = told(error)


def draw_indexes(corpus: Corpus, colours: Palette) -> None:
    """The indexes of this generation, what needs building, and the vectors that are kept for the next build."""
    del colours
    heading("Built")
    infos = corpus.indexes()
    if infos:
        st.dataframe([index_row(info) for info in infos], hide_index=True)
    else:
        st.html('<div class="sl-small">None yet.</div>')
    heading("Needs building")
    missing = {each.index_key: each for each in ingest.needs_building(corpus)}
    now = state.configuration()
    if not corpus.has_index_for(now):
        missing = {now.index_key: now, **missing}
    if missing:
        _offer(corpus, missing)
    else:
        st.html('<div class="sl-small">Nothing: the configuration in the sidebar has its index, and no update has left one behind.</div>')
    heading("Vectors")
    caches = admin.cache_sizes(corpus)
    total = sum(size for size, _ in caches.values())
    st.html(f'<div class="sl-small">{human_bytes(total)} of vectors by the text that they are of: no text is embedded twice.</div>')
    if caches:
        st.dataframe([cache_row(name, size, user) for name, (size, user) in caches.items()], hide_index=True)


def _offer(corpus: Corpus, missing: dict[str, Configuration]) -> None:
    chosen = next(iter(missing))
    if len(missing) > 1:
        chosen = st.selectbox(
            "Which index", list(missing), key=f"needs {corpus.identity}", format_func=lambda key: index_name(missing[key])
        )
    building.offer_index(corpus, missing[chosen])


def index_name(configuration: Configuration) -> str:
    """What tells an index from the corpus's others; retrievers and K are no part of it."""
    now = configuration
    return f"{now.chunking_strategy}-{now.chunking_size}·{now.embedder} ({now.index_key})"


def index_row(info: IndexInfo) -> dict[str, Any]:
    """An index as a line of the table; what its file does not say stays empty."""
    recall = info.meta.get("hnsw_recall", "")
    return {
        "index": index_name(info.configuration) if info.configuration else f"of an older version ({info.key})",
        "size": human_bytes(info.size),
        "chunks": int(info.meta.get("chunks", "0")),
        "over the limit": int(info.meta.get("windowed", "0")),
        "HNSW": info.meta.get("hnsw", "") or "none: exact search",
        "HNSW recall@10": f"{float(recall):.3f}" if recall else "—",
        "built": info.meta.get("built_at", "")[:16].replace("T", " "),
    }


def cache_row(name: str, size: int, embedder: str) -> dict[str, str]:
    """A cache of vectors as a line of the table."""
    return {"embedder": embedder or "none of the indexes above", "size": human_bytes(size), "file": name}
