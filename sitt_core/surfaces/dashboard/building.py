"""What a page shows while an index or a corpus is not there yet: what it takes, a button, progress, cancel."""

import os
from html import escape

import streamlit as st

from sitt_core import jobs
from sitt_core.build import language_of
from sitt_core.configuration import Configuration
from sitt_core.errors import SittError
from sitt_core.ingest import Estimate, estimate_build
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import cards
from sitt_core.surfaces.dashboard.state import workshop
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.progress import human_seconds, progress_line, sentences_note

POLL_SECONDS = 0.4


@st.cache_data(
    show_spinner="Counting what this index takes …",
    max_entries=64,
    ttl=600,
    hash_funcs={Corpus: lambda corpus: corpus.identity, Configuration: lambda configuration: configuration.index_key},
)
def estimate_index(corpus: Corpus, configuration: Configuration) -> Estimate:
    """What building an index takes."""
    return estimate_build(corpus, recipe=workshop().recipe(configuration, language=language_of(corpus)))


def offer_index(corpus: Corpus, configuration: Configuration) -> None:
    """The panel for a configuration whose index has not been built."""
    key = f"index:{corpus.name}:{corpus.generation}:{configuration.index_key}"
    with st.container(border=True):
        st.html(f'<h2 class="sl-h">{escape(configuration.slug)} has no index yet</h2>')
        if watch(key):
            return
        try:
            estimate = estimate_index(corpus, configuration)
        except SittError as error:  # a model that is not there
            st.error(told(error))
            return
        st.write(
            f"{estimate.chunks:,} chunks, about {human_seconds(estimate.seconds)}; {estimate.cached:,} vectors cached.{sentences_note(estimate.sentences)}"
        )
        st.button("Build this index", type="primary", on_click=start_index, args=(corpus.name, configuration, key))


def offer_field_guide() -> None:
    """The panel for a store without any corpus."""
    key = f"update:{DEFAULT_CORPUS}"
    with st.container(border=True):
        st.html('<h2 class="sl-h">Nothing to ask yet</h2>')
        if watch(key):
            return
        st.write(
            "The bundled field guide is a corpus of 94 entries about animals that are reported but not established. Building its index takes about a minute."
        )
        st.button(
            "Build the field guide",
            type="primary",
            on_click=start,
            args=(["update", "--source", "field-guide", "--yes"], "Build the field guide", key),
        )


def start_index(corpus: str, configuration: Configuration, key: str) -> None:
    """Begins to build an index in the background."""
    options = [option for name, value in configuration.to_dict().items() for option in ("--set", f"{name}={value}")]
    start(["index", "--corpus", corpus, *options], f"Index {configuration.slug} of {corpus}", key)


def start(arguments: list[str], title: str, key: str) -> None:
    """Runs the command line in the background as the job of that key, which `watch` finds again."""
    estimate_index.clear()  # what the job embeds, even if it is cancelled, need not be embedded again
    settings = workshop().settings
    environment = {**os.environ, "SITT_DATA_DIR": str(settings.data_dir)}
    st.session_state.pop(f"unstarted {key}", None)
    try:
        st.session_state[f"job {key}"] = jobs.start(settings.jobs_dir, arguments, title=title, key=key, environment=environment).id
    except OSError as error:
        st.session_state[f"unstarted {key}"] = f"The build could not be started: {error}. Check the disk and the folder's permissions."


def watch(key: str) -> bool:
    """Shows the job of that key while it runs, or how it ended; False when there is none to wait for."""
    jobs_dir = workshop().settings.jobs_dir
    running = jobs.find_running(jobs_dir, key)
    if running is not None:
        st.session_state[f"job {key}"] = running.id
        _progress(running.id)
        return True
    if unstarted := st.session_state.get(f"unstarted {key}"):
        st.html(cards.notice([unstarted], problem=True))
        return False
    known = st.session_state.get(f"job {key}")
    if known is not None:
        job = jobs.read(jobs_dir / known)
        if job.state in ("failed", "died"):
            st.html(cards.notice([job.message], problem=True))
        elif job.state == "cancelled":
            st.html(cards.notice([job.message]))
    return False


@st.fragment(run_every=POLL_SECONDS)
def _progress(job_id: str) -> None:
    jobs_dir = workshop().settings.jobs_dir
    job = jobs.read(jobs_dir / job_id)
    if job.state != "running":
        st.rerun()
    share = job.done / job.total if job.total else 0.0
    stopping = st.session_state.get("stopping") == job_id
    text = progress_line(job.stage, job.done, job.total, job.seconds_left) if job.stage else "starting …"
    st.progress(min(1.0, share), text="stopping after this step …" if stopping else text)
    st.button("Cancel", on_click=_cancel, args=(job_id,), key=f"cancel {job_id}", disabled=stopping)


def _cancel(job_id: str) -> None:
    jobs.cancel(workshop().settings.jobs_dir, job_id)
    st.session_state["stopping"] = job_id
