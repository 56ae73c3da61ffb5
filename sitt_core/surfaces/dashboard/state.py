"""What the session holds, and its two-way tie to the address: the URL is read when it changed, written at the end of a run."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import streamlit as st

from sitt_core.build import Workshop
from sitt_core.configuration import BY_NAME, Configuration, configure
from sitt_core.errors import InvalidInput, shown
from sitt_core.settings import DEFAULT_CORPUS, load_settings
from sitt_core.store.layout import corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import Address, from_parameters, to_parameters
from sitt_core.surfaces.history import History, arrived, flipped
from sitt_core.types import Filters


@st.cache_resource(show_spinner=False)
def workshop() -> Workshop:
    """The process's open corpora and models, shared by every session."""
    return Workshop(load_settings())


def address() -> Address:
    """The session's current address."""
    return cast(Address, st.session_state["address"])


def read_url() -> None:
    """Takes over the URL when it is not the one this session wrote last: a link, or the browser's back and forward."""
    parameters = {name: st.query_params.get_all(name) for name in st.query_params}
    if st.session_state.pop("acted", False) and "address" in st.session_state:
        return  # a click brings the URL that the browser had then, which may be older than the one written last
    if "address" in st.session_state and parameters == st.session_state.get("written"):
        return
    if "address" in st.session_state and not parameters:
        return  # a page switch drops the parameters; write_url brings them back
    taken, dropped = from_parameters(parameters, workshop().settings.defaults)
    there = corpus_names(workshop().settings.store_dir)
    if taken.corpus == DEFAULT_CORPUS and there and DEFAULT_CORPUS not in there:  # nobody need know that name who has made another
        taken = replace(taken, corpus=there[0])
        dropped = (*dropped, *([f"corpus: there is no {DEFAULT_CORPUS} here; {there[0]} is shown"] if "corpus" in parameters else []))
    if "address" in st.session_state:
        st.session_state["history"] = arrived(history(), address(), taken)
    st.session_state["address"] = taken
    st.session_state["dropped"] = dropped
    st.session_state["written"] = parameters
    show_in_widgets()


def drop_unknown_filters(corpus: Corpus) -> None:
    """Takes filter values that no document of the corpus has out of the address, and says so: no control could show them."""
    kept = {}
    for name in ("category", "region", "origin"):
        wanted, known = getattr(address().filters, name), corpus.values(name)
        kept[name] = tuple(value for value in wanted if value in known)
        unknown = (f"{name}: no document here has {shown(value)}" for value in wanted if value not in known)
        st.session_state["dropped"] = (*st.session_state["dropped"], *unknown)
    if Filters(**kept) != address().filters:
        # Nobody acted: this must neither be a step to undo nor keep the next look at the URL from counting.
        st.session_state["address"] = replace(address(), filters=Filters(**kept))
        show_in_widgets()


def write_url() -> None:
    """Writes the address into the URL; nothing happens when it is there already."""
    wanted = to_parameters(address())
    listed = {name: value if isinstance(value, list) else [value] for name, value in wanted.items()}
    if {name: st.query_params.get_all(name) for name in st.query_params} != listed:
        st.query_params.from_dict(wanted)
    st.session_state["written"] = listed


def show_in_widgets() -> None:
    """Sets every widget of the sidebar and the question box to the address."""
    st.session_state.update(_in_widgets())


def keep_widgets() -> None:
    """Sets every widget to the address again, at the start of each run; the callbacks have moved the address by then.

    Once is not enough in Streamlit 1.67: it drops values at a page switch, and when another run interrupts this one before
    a widget is drawn, the browser shows the widget's own default (size 1, header off) and sends that back with the next click.
    """
    show_in_widgets()


def _in_widgets() -> dict[str, object]:
    now = address()
    shown: dict[str, object] = {widget(name): now.configuration[name] for name in BY_NAME}
    shown[widget("header.on")] = now.configuration.chunking_header == "on"
    shown[widget("question")] = now.question
    shown[widget("corpus")] = now.corpus
    for name in ("category", "region"):
        shown[widget(name)] = list(getattr(now.filters, name))
    return shown


def widget(name: str) -> str:
    """The session-state key of a field's widget."""
    return f"widget:{name}"


def flip(name: str, value: object) -> None:
    """Changes one switch; what cannot be is told beside the controls and changes nothing."""
    _forget_refusals()
    try:
        configuration = configure({name: value}, address().configuration)
    except InvalidInput as error:
        st.session_state["refused"] = f"Expected {error.expected}; got {error.got}. {error.remedy}"
    else:
        _go(replace(address(), configuration=configuration))
    show_in_widgets()


def ask(question: str) -> None:
    """Makes a question the current one."""
    _forget_refusals()
    _go(replace(address(), question=question))
    show_in_widgets()


def reset() -> None:
    """Back to the default configuration; corpus and question stay."""
    _forget_refusals()
    _go(replace(address(), configuration=workshop().settings.defaults))
    show_in_widgets()


def _forget_refusals() -> None:
    """What was wrong with the last link or value is old news once something else is chosen."""
    st.session_state.pop("refused", None)
    st.session_state["dropped"] = ()


def choose(**changes: object) -> None:
    """Changes corpus or filters."""
    _go(replace(address(), **changes))  # type: ignore[arg-type]
    show_in_widgets()


def adopt(**changes: object) -> None:
    """Changes several parts of the address at once, in one step: a preset, a recent question."""
    st.session_state.pop("refused", None)
    choose(**changes)


def acted() -> None:
    """Says that this run comes from a control, not from the browser's back or forward: for the callback of every control."""
    st.session_state["acted"] = True


def history() -> History:
    """Where this session came from, and what it undid."""
    return cast(History, st.session_state.get("history", History()))


def _go(now: Address) -> None:
    acted()
    st.session_state["history"] = flipped(history(), address(), now)
    st.session_state["address"] = now


def step(by: Callable[[History, Address], tuple[History, Address]]) -> None:
    """Undoes or redoes (`undone`, `redone`) one change; a corpus that is gone since then is told by the page."""
    st.session_state.pop("refused", None)
    acted()
    st.session_state["history"], st.session_state["address"] = by(history(), address())
    show_in_widgets()


def configuration() -> Configuration:
    """The session's current configuration."""
    return address().configuration
