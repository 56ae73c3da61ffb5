"""Presets in the sidebar: a configuration under a name, applied, saved, deleted."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from sitt_core import notes
from sitt_core.configuration import Configuration, configure_leniently
from sitt_core.errors import SittError
from sitt_core.surfaces.dashboard import state

CHOSEN, NAME, TOLD = "preset", "preset name", "preset told"


def draw_presets() -> None:
    """A popover with the saved presets and a name to save what is set now."""
    with st.popover("Presets", width="stretch"):
        try:
            saved = notes.presets(_folder())
        except SittError as error:
            st.error(str(error))
            return
        if st.session_state.get(CHOSEN) not in saved:
            st.session_state[CHOSEN] = None
        name = st.selectbox(
            "Preset", list(saved), index=None, key=CHOSEN, placeholder="choose one" if saved else "none saved yet", on_change=state.acted
        )
        if name is not None:
            st.html(f'<div class="sl-small">{_read(saved[name])[0].slug}</div>')
        with st.container(horizontal=True, gap="small", wrap=False):
            st.button("Apply", on_click=_apply, disabled=name is None, width="stretch", key="preset apply", type="primary")
            st.button("Delete", on_click=_delete, disabled=name is None, width="stretch", key="preset delete")
        st.text_input("Save what is set now as", key=NAME, max_chars=notes.MAX_NAME, placeholder="a name")
        st.button("Save", on_click=_save, width="stretch", key="preset save")
        st.html('<div class="sl-small">Kept on this machine.</div>')
        for sentence in st.session_state.pop(TOLD, ()):
            st.warning(sentence)


def _folder() -> Path:
    return state.workshop().settings.notes_dir


def _read(fields: notes.Fields) -> tuple[Configuration, tuple[str, ...]]:
    """A preset as a configuration; what an older or newer version wrote and cannot be used here is dropped and told."""
    return configure_leniently(fields, state.workshop().settings.defaults)


def _telling(act: Callable[[], tuple[str, ...]]) -> None:
    """Does what a button asks for; what went wrong, or was dropped, is told in the popover."""
    state.acted()
    try:
        st.session_state[TOLD] = act()
    except SittError as error:
        st.session_state[TOLD] = (str(error),)


def _apply() -> None:
    def act() -> tuple[str, ...]:
        configuration, dropped = _read(notes.presets(_folder()).get(st.session_state[CHOSEN], {}))
        state.adopt(configuration=configuration)
        return dropped

    _telling(act)


def _save() -> None:
    def act() -> tuple[str, ...]:
        name = notes.check_preset_name(st.session_state[NAME])
        notes.save_preset(_folder(), name, state.configuration().to_dict())
        st.session_state[CHOSEN], st.session_state[NAME] = name, ""
        return ()

    _telling(act)


def _delete() -> None:
    def act() -> tuple[str, ...]:
        notes.delete_preset(_folder(), st.session_state[CHOSEN])
        return ()

    _telling(act)
