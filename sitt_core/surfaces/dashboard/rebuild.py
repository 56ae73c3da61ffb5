"""The Corpus page's update: its sources, what has changed in them, what that touches, confirmed, published, and how it ended."""

import time
from pathlib import Path

import streamlit as st

from sitt_core import jobs
from sitt_core.errors import SittError
from sitt_core.jobs import Job
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import status
from sitt_core.surfaces.dashboard import building, checks, found, publishing, sources, state
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.dashboard.versions import REFUSED, heading, say_refused
from sitt_core.surfaces.updating import Found, Wish, kept_found

PREFIX = "check"
"""How the keys of the fields of another source begin."""
_LOOK_AT = "look at "


def draw_rebuild(corpus: Corpus, colours: Palette) -> None:
    """From the sources to the next generation, in steps that each wait for the reader; all reading is a job of its own."""
    del colours
    settings = state.workshop().settings
    known = jobs.recent(settings.jobs_dir, jobs.KEPT_JOBS)
    check = checks.latest(known, checks.check_key(corpus.name), done=True)
    seen, problem = _seen(corpus, check)
    own = str(st.session_state.get(f"job {checks.update_key(corpus.name)}", ""))
    ended = checks.shown_result(known, corpus.name, own=own, now=time.time())
    if ended is not None:
        publishing.draw_result(corpus, ended, check if seen else None)
    heading("Sources")
    sources.draw_sources(corpus, checks.read_whole(seen, check.started) if seen and check else {})
    if _is_under_way(checks.update_key(corpus.name)):
        return
    heading("Check for changes")
    fruitless = checks.fruitless(known, corpus.name, now=time.time())
    _tell_of(corpus.name, None if REFUSED in st.session_state else fruitless)
    if building.watch(checks.check_key(corpus.name)):
        return
    if sources.give_back(PREFIX, whole=fruitless is not None) and fruitless is not None:
        st.session_state[_LOOK_AT + corpus.name] = sources.OTHER
    _draw_chooser(corpus)
    if problem:
        st.error(problem)
    if seen is not None and check is not None:
        folder = settings.jobs_dir / check.id
        found.draw_found(corpus, seen, folder, check.started)
        publishing.draw_confirm(corpus, seen, folder)


def _tell_of(corpus: str, check: Job | None) -> None:
    """Makes that check the one whose end is told, whichever window started it; None for none."""
    key = f"job {checks.check_key(corpus)}"
    if check is None:
        st.session_state.pop(key, None)
    else:
        st.session_state[key] = check.id


def _is_under_way(key: str) -> bool:
    """Shows an update that runs, or could not be started; how one ended is `publishing.draw_result`'s to tell."""
    if jobs.find_running(state.workshop().settings.jobs_dir, key) or f"unstarted {key}" in st.session_state:
        heading("Publishing")
        return building.watch(key)
    return False


def _seen(corpus: Corpus, check: Job | None) -> tuple[Found | None, str]:
    """What the latest check has found, if it is of the corpus as it is now; and what keeps it from being looked at."""
    if check is None:
        return None, ""
    folder = state.workshop().settings.jobs_dir / check.id
    try:
        seen = _kept(folder, corpus)
    except SittError as error:
        return None, told(error)
    return (seen, "") if seen.digest == checks.told_digest(folder) else (None, "")


@st.cache_resource(show_spinner="Opening what was found …", max_entries=3, ttl=1800, hash_funcs={Corpus: lambda corpus: corpus.identity})
def _kept(folder: Path, corpus: Corpus) -> Found:
    return kept_found(folder, corpus, Wish(corpus.name, (), ()))


def _draw_chooser(corpus: Corpus) -> None:
    """Which sources to look at: all that the corpus remembers, one of them, or another."""
    places = tuple(status.sources_of(corpus).values())
    every = [sources.ALL] if len(places) > 1 else []
    chosen = st.selectbox(
        "What to look at",
        [*every, *places, sources.OTHER],
        key=_LOOK_AT + corpus.name,
        format_func=lambda place: {sources.ALL: f"all {len(places)} sources", sources.OTHER: place}.get(place) or sources.label(place),
    )
    if chosen != sources.OTHER:
        asked = () if chosen == sources.ALL else (chosen,)
        st.button("Check for changes", type="primary", on_click=sources.start_check, args=(corpus.name, asked), icon=":material/search:")
        return
    kind = sources.draw_kind(PREFIX)
    with st.form("another source"):
        sources.draw_fields(PREFIX, kind)
        st.checkbox(
            "This is a source of the corpus that has moved, or is asked for otherwise",
            key=f"{PREFIX} moved",
            help="Sources are told apart by their name (a folder's last name, a list, a host, an account); another place under a known name is refused unless this is ticked.",
        )
        st.form_submit_button(
            "Check for changes",
            type="primary",
            on_click=_check_other,
            args=(corpus.name,),
            icon=":material/search:",
            disabled=sources.is_missing(kind),
        )
    say_refused()


def _check_other(corpus: str) -> None:
    try:
        spec = sources.take_source(PREFIX)
    except SittError as error:
        st.session_state[REFUSED] = told(error)
        return
    sources.hold_fields(PREFIX)
    sources.start_check(corpus, (spec,), bool(st.session_state[f"{PREFIX} moved"]))
