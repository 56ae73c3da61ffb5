"""The Corpus page's sources: those that a corpus was filled from, how fresh they are, and the fields that name another."""

import time
from collections.abc import Mapping, Sequence

import streamlit as st

from sitt_core import journal
from sitt_core.journal import Freshness
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import source_forms, status
from sitt_core.surfaces.dashboard import building, cards, checks, found_html, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.source_forms import KINDS, Field, describe

OTHER = "another source …"
ALL = "all sources"
HELD = "held fields"
"""The session's key, with a prefix, of what the fields held when they were sent."""


def draw_sources(corpus: Corpus, checked: dict[str, float]) -> None:
    """Every source with its documents and how fresh it is; below, what the last update could not read, with the way to try again."""
    places = status.sources_of(corpus)
    fresh = journal.freshness(state.workshop().settings.data_dir, corpus.name, places)
    rows = checks.source_rows(corpus, fresh, checked, now=time.time())
    if not rows:
        st.html('<div class="sl-small">This corpus remembers no source.</div>')
        return
    st.dataframe(rows, hide_index=True, alt="The sources of the corpus")
    for origin, place in places.items():
        _draw_failures(corpus, place, fresh[origin])
    if len(places) > 1:
        _draw_forget(corpus, places)


def _draw_forget(corpus: Corpus, places: Mapping[str, str]) -> None:
    """The way to be rid of a source; the last one goes with its corpus alone."""
    with st.expander("Take a source away", key="take away"):
        chosen = st.selectbox("Which one", list(places), key=f"take away {corpus.name}", format_func=lambda origin: label(places[origin]))
        st.html('<div class="sl-small">Its documents are retired and can be restored; no update reads it again.</div>')
        arguments, title = checks.forget_arguments(corpus.name, chosen), f"Take {chosen} away from {corpus.name}"
        st.button("Take it away", key="forget", on_click=building.start, args=(arguments, title, checks.update_key(corpus.name)))


def label(place: str) -> str:
    """A remembered place on a line."""
    known = describe(place)
    return f"{known.kind}: {known.name}"


def _draw_failures(corpus: Corpus, place: str, known: Freshness) -> None:
    if not (known.failures or known.problem):
        return
    count = len(known.failures)
    what = f"{count:,} not read in the last update" if count else "the last update met a problem"
    with st.expander(f"{plain_label(describe(place).name, length=60)}: {what}", key=f"not read {place}"):
        if known.problem:
            st.html(cards.notice([known.problem]))
        if known.failures:
            st.html(found_html.failures_html([(each[0], each[1]) for each in known.failures]))
        st.button("Try again", key=f"again {place}", on_click=start_check, args=(corpus.name, (place,)), icon=":material/refresh:")


def start_check(corpus: str, places: Sequence[str], moved: bool = False) -> None:
    """Begins to look at sources in the background; no places means all that the corpus remembers."""
    building.start(checks.check_arguments(corpus, places, moved=moved), f"Check {corpus} for changes", checks.check_key(corpus))


def draw_kind(prefix: str) -> str:
    """The choice of a kind of source, and what reading one asks of the network; the chosen kind's name."""
    chosen = st.selectbox("Kind of source", list(KINDS), key=f"{prefix} kind", format_func=lambda name: KINDS[name].label)
    settings = state.workshop().settings
    st.html(cards.notice([missing]) if (missing := source_forms.missing(chosen, settings)) else _small(source_forms.says(chosen, settings)))
    return chosen


def _small(text: str) -> str:
    return f'<div class="sl-small">{text}</div>'


def is_missing(kind: str) -> bool:
    """Whether something has to be set before a source of that kind can be read."""
    return bool(source_forms.missing(kind, state.workshop().settings))


def draw_fields(prefix: str, kind: str) -> None:
    """The fields of a kind; within a form, what they hold is there once it is sent."""
    fields = [field for field in KINDS[kind].fields if field.kind != "yes"]
    if fields:
        widths = [2, *([1] * (len(fields) - 1))]
        for column, field in zip(st.columns(widths), fields, strict=True):
            with column:
                _draw_field(prefix, kind, field)
    for field in KINDS[kind].fields:
        if field.kind == "yes":
            _draw_field(prefix, kind, field)


def _draw_field(prefix: str, kind: str, field: Field) -> None:
    key, told = _key(prefix, kind, field), field.help or None
    if field.kind == "lines":
        st.text_area(field.label, str(field.default), key=key, placeholder=field.placeholder, help=told, height=120)
    elif field.kind == "yes":
        st.checkbox(field.label, bool(field.default), key=key, help=told)
    elif field.kind == "choice":
        st.selectbox(field.label, list(field.choices), key=key, help=told)
    elif field.kind == "number":
        st.number_input(field.label, 1, field.most, int(field.default), key=key, help=told)
    else:
        st.text_input(field.label, str(field.default), key=key, placeholder=field.placeholder, help=told)


def _key(prefix: str, kind: str, field: Field) -> str:
    return f"{prefix} {kind} {field.name}"


def take_source(prefix: str) -> str:
    """The source that the fields name, checked without reading it; raises InvalidInput."""
    kind = st.session_state[f"{prefix} kind"]
    values = {field.name: st.session_state[_key(prefix, kind, field)] for field in KINDS[kind].fields}
    spec = source_forms.spec_of(kind, values)
    source_forms.check_spec(spec, state.workshop().settings)
    return spec


def hold_fields(prefix: str) -> None:
    """Remembers what the fields hold: the progress of what they start takes their place, and what is not drawn is forgotten."""
    st.session_state[f"{HELD} {prefix}"] = {name: st.session_state[name] for name in st.session_state if str(name).startswith(f"{prefix} ")}


def give_back(prefix: str, *, whole: bool) -> bool:
    """Fills the fields as they were sent last, before they are drawn again; the kind alone unless `whole`. Whether there was anything."""
    held = st.session_state.pop(f"{HELD} {prefix}", {})
    for name, value in held.items():
        if whole or name == f"{prefix} kind":
            st.session_state[name] = value
    return bool(held)
