"""The Ask page's conversation: answers as they are written and as they were kept, what they took, what people think of them."""

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from sitt_core import notes
from sitt_core.configuration import PROVIDER_KEYS, configure_leniently
from sitt_core.errors import NotFound, SittError
from sitt_core.pipeline import Engine
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.answer_view import answer_view, is_weak
from sitt_core.surfaces.dashboard import building, cards, explore, state
from sitt_core.surfaces.dashboard.answer import draw_answer
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.desk import Desk, Outcome, Writing, price_line, usage_line
from sitt_core.types import Document

POLL_SECONDS = 0.15
CONVERSATION, TROUBLE, SENT, UNKEPT = "conversation", "ask trouble", "prompts sent", "answers not kept"
KEPT_PROMPTS = 20
UNSURE = "Weak match: these are the nearest sentences, and they may be beside the question."
EXTRACTIVE = "Extractive: these are the passages' own sentences, word for word. No language model wrote this."


@st.cache_resource(show_spinner=False)
def desk() -> Desk:
    """The process's answers on their way, shared by every session: one that its page has left goes on."""
    return Desk()


def conversation() -> str:
    """The id of the session's conversation; a new one at first."""
    if CONVERSATION not in st.session_state:
        st.session_state[CONVERSATION] = notes.new_conversation()
    return str(st.session_state[CONVERSATION])


def open_conversation(id_: str) -> None:
    """Shows another conversation."""
    state.acted()
    st.session_state[CONVERSATION] = id_
    st.session_state.pop(TROUBLE, None)


def ask(question: str) -> None:
    """Begins to answer a question under the current configuration; what cannot be asked is told on the page."""
    state.acted()
    st.session_state.pop(TROUBLE, None)
    now = state.address()
    try:
        desk().start(
            state.workshop(),
            question,
            conversation=conversation(),
            corpus=now.corpus,
            configuration=now.configuration,
            filters=now.filters,
        )
    except SittError as error:
        st.session_state[TROUBLE] = f"Expected {error.expected}; got {error.got}. {error.remedy}"


def engine_or_offer(corpus: Corpus) -> Engine | None:
    """What the next question is asked of, with who answers it; None where something has to be built or switched on first.

    The conversation stays where it is meanwhile, and with it an answer that is being written.
    """
    configuration = state.configuration()
    if not corpus.has_index_for(configuration):
        building.offer_index(corpus, configuration)
    elif configuration.mode == "none":
        explore.offer_retrievers()
    else:
        try:
            engine = state.workshop().engine(corpus, configuration)
        except SittError as error:
            st.error(told(error))
        else:
            _who_answers(engine)
            return engine
    return None


def _who_answers(engine: Engine) -> None:
    """Above the conversation: who writes the answers, and what a question costs before it is asked."""
    configuration, settings = engine.configuration, state.workshop().settings
    if configuration.answer_provider == "extractive":
        line = "Answers are put together from the passages' own sentences: no key, no cost. Another provider is chosen under “Answers by”."
    else:
        line = f"A question to {price_line(state.workshop(), engine)}"
        key = PROVIDER_KEYS.get(configuration.answer_provider)
        if key and key not in settings.keys_present:
            st.html(
                cards.notice(
                    [
                        f"{configuration.answer_provider} needs {key}. Set it in the environment or in .env and restart, or choose another provider under “Answers by”."
                    ],
                    problem=True,
                )
            )
            return
    st.html(f'<div class="sl-small">{escape(line)} Each question is looked up by itself: name what you mean.</div>')


def draw_conversations(corpus: Corpus) -> None:
    """A new conversation, and the earlier ones of the corpus."""
    with st.container(horizontal=True, gap="small", key="conversations"):
        st.button("New conversation", icon=":material/add:", on_click=open_conversation, args=(notes.new_conversation(),))
        popover = st.popover("Conversations", icon=":material/forum:", key="conversations open", on_change=state.acted)
        if popover.open:
            with popover:
                _draw_list(corpus)
        drafts = st.popover("Drafts", icon=":material/edit_note:", key="drafts open", on_change=state.acted)
        if drafts.open:
            with drafts:
                _draw_drafts(corpus)


def _draw_list(corpus: Corpus) -> None:
    try:
        listed = notes.conversations(_notes(), corpus=corpus.name)
    except SittError as error:
        st.error(told(error))
        return
    if not listed:
        st.write("Questions and their answers are kept here, on this machine, as soon as the first one is answered.")
    with st.container(height=320 if len(listed) > 6 else "content", border=False, gap=None):
        for each in listed:
            with st.container(horizontal=True, vertical_alignment="center", wrap=False):
                label = plain_label(each.question, length=80) + f"  · {each.answers}"
                current = each.id == conversation()
                st.button(
                    label,
                    key=f"open {each.id}",
                    on_click=open_conversation,
                    args=(each.id,),
                    type="tertiary",
                    width="stretch",
                    disabled=current,
                    help="This one is open." if current else f"{each.answers} answer{'s' * (each.answers != 1)}",
                )
                st.button("Delete", icon=":material/close:", key=f"delete {each.id}", on_click=_delete, args=(each.id,), type="tertiary")


def _delete(id_: str) -> None:
    state.acted()
    desk().drop(id_)
    try:
        notes.delete_conversation(_notes(), id_)
    except SittError as error:
        st.session_state[TROUBLE] = str(error)
    if id_ == conversation():
        del st.session_state[CONVERSATION]


def _draw_drafts(corpus: Corpus) -> None:
    try:
        waiting = notes.drafts(_notes(), corpus.name)
    except SittError as error:
        st.error(told(error))
        return
    if not waiting:
        st.write("An answer's *Make this a golden question* keeps its question and its quotes here, until someone reviews them.")
    for each in waiting:
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            quotes = f"{len(each.evidence)} quote{'s' * (len(each.evidence) != 1)}"
            st.markdown(f"{plain_label(each.question, length=120)} · {quotes}")
            st.button("Delete", icon=":material/close:", key=f"draft {each.id}", on_click=_delete_draft, args=(each.id,), type="tertiary")


def _delete_draft(id_: str) -> None:
    state.acted()
    try:
        notes.delete_draft(_notes(), id_)
    except SittError as error:
        st.session_state[TROUBLE] = str(error)


def draw_starts(examples: Sequence[tuple[str, str]]) -> None:
    """For an empty conversation: the question of the address, and examples, each asked with a click."""
    question = state.address().question.strip()
    starts = list(dict.fromkeys([*([question] if question else []), *(example for example, _ in examples if example.endswith("?"))]))
    if not starts:
        return
    st.html('<div class="sl-small">Type a question below, or ask one of these.</div>')
    with st.container(horizontal=True, gap="small", key="examples ask"):
        for at, start in enumerate(starts):
            st.button(plain_label(start, length=80), key=f"start {at}", on_click=ask, args=(start,))


def draw_turns(corpus: Corpus, colours: Palette) -> int:
    """The conversation so far, the latest below; returns how many answers it has."""
    try:
        kept = notes.conversation_answers(_notes(), conversation())
    except NotFound:
        kept = ()  # a new one is not there before its first answer
    except SittError as error:
        st.error(told(error))
        return 0
    for at, each in enumerate(kept):
        _draw_turn(each, colours, latest=at == len(kept) - 1)
    for at, outcome in enumerate(_unkept()):
        record = notes.record_of(outcome.answer)
        _draw_question(record["question"])
        draw_answer(answer_view(record, corpus.document), colours, key=f"unkept {at}")
        st.html(cards.notice([outcome.trouble], problem=True))
    return len(kept)


def _unkept() -> list[Outcome]:
    return [outcome for id_, outcome in st.session_state.get(UNKEPT, []) if id_ == conversation()]


def _draw_question(question: str) -> None:
    st.html(f'<div class="sl-asked" dir="auto">{escape(question)}</div>')


def _draw_turn(each: notes.Logged, colours: Palette, *, latest: bool) -> None:
    record = each.record
    with st.container(key=f"turn {each.id}", gap="small"):
        _draw_question(record["question"])
        _draw_mode(record)
        draw_answer(answer_view(record, partial(_document, each.corpus)), colours, key=f"answer {each.id}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _draw_thumbs(each)
            st.button(
                "Make this a golden question",
                icon=":material/edit_note:",
                key=f"golden {each.id}",
                on_click=_draft,
                args=(each,),
                type="tertiary",
                help="Keeps the question with its checked quotes as a draft, to be reviewed before it joins the golden set.",
            )
            if latest and record["stop"] in ("error", "stopped"):
                st.button(
                    "Ask again",
                    icon=":material/refresh:",
                    key=f"again {each.id}",
                    on_click=ask,
                    args=(record["question"],),
                    type="tertiary",
                )
        _draw_details(each)


def _document(corpus: str, document_id: str) -> Document:
    """A document of whichever corpus an answer was given from; raises NotFound when either is gone."""
    return state.workshop().corpus(corpus).document(document_id)


def _draw_mode(record: Mapping[str, Any]) -> None:
    if record["provider"] == "extractive" and not record["refused"]:
        st.html(f'<div class="sl-small">{EXTRACTIVE}</div>')
        if is_weak(record):
            st.html(cards.notice([UNSURE]))


def _draw_thumbs(each: notes.Logged) -> None:
    key = f"thumb {each.id}"
    if key not in st.session_state and each.thumb:
        st.session_state[key] = 1 if each.thumb == "up" else 0
    st.feedback("thumbs", key=key, on_change=_rate, args=(each,))
    with st.popover("Note", icon=":material/notes:", type="tertiary"):
        note_key = f"note {each.id}"
        if note_key not in st.session_state:
            st.session_state[note_key] = each.note
        st.text_area("What is right or wrong with it?", key=note_key, max_chars=notes.MAX_NOTE, on_change=_rate, args=(each,))


def _rate(each: notes.Logged) -> None:
    state.acted()
    given = st.session_state.get(f"thumb {each.id}")
    thumb: notes.Thumb = "" if given is None else "up" if given else "down"
    try:
        notes.rate(_notes(), each.conversation, each.id, thumb, st.session_state.get(f"note {each.id}", each.note) or "")
    except SittError as error:
        st.session_state[TROUBLE] = str(error)


def _draft(each: notes.Logged) -> None:
    state.acted()
    record = each.record
    evidence = [
        {"document": citation["document_id"], **citation["span"], "quote": citation["quote"]}
        for citation in record["citations"]
        if citation["verdict"] == "quoted"
    ]
    reference = "" if record["refused"] else record["text"]
    try:
        notes.save_draft(
            _notes(),
            corpus=each.corpus,
            question=record["question"],
            reference=reference,
            evidence=evidence,
            origin=f"{each.conversation}/{each.id}",
        )
    except SittError as error:
        st.session_state[TROUBLE] = str(error)
    else:
        st.toast("Kept as a draft, under Drafts.", icon=":material/edit_note:")


def _draw_details(each: notes.Logged) -> None:
    """Folded: what it was asked under, what happened when, what it took, what was sent."""
    record = each.record
    configuration, _ = configure_leniently(each.fields, state.workshop().settings.defaults)
    label = f"{plain_label(configuration.slug)} · {plain_label(usage_line(record))} · {record['milliseconds']:,.0f} ms"
    details = st.expander(label, key=f"details {each.id}", on_change=state.acted)
    if not details.open:
        return
    with details:
        if record["provider_note"]:
            st.html(f'<div class="sl-small">{escape(record["provider_note"])}</div>')
        stages = [{"stage": each_["name"], "ms": round(each_["milliseconds"], 1), "note": each_["note"]} for each_ in record["stages"]]
        st.dataframe(stages, hide_index=True, width="stretch")
        passages = [{"rank": at["rank"], "document": at["document"], "start": at["start"], "end": at["end"]} for at in record["passages"]]
        if passages:
            st.html('<div class="sl-small">The passages it was given</div>')
            st.dataframe(passages, hide_index=True, width="stretch")
        fields = " ".join(f"--set {shlex.quote(f'{name}={value}')}" for name, value in each.fields.items())
        st.html('<div class="sl-small">The configuration, as the command line takes it</div>')
        st.code(fields, language=None, wrap_lines=True)
        sent = st.session_state.get(SENT, {}).get(each.id)
        if sent:
            st.html('<div class="sl-small">The prompt as it was sent</div>')
            st.code(sent, language="json", wrap_lines=True, height=320)
        elif record["provider"] != "extractive":
            st.html('<div class="sl-small">The prompt is shown for the answers of this session; it is not kept.</div>')
        st.download_button(
            "JSON", json.dumps(record, ensure_ascii=False, indent=1), f"answer-{each.id}.json", "application/json", key=f"json {each.id}"
        )


def draw_writing(corpus: Corpus, colours: Palette) -> bool:
    """The answer that is on its way, if there is one; whether there is."""
    writing = desk().writing(conversation())
    if writing is None:
        return False
    _draw_question(writing.asking.question)
    _follow(writing, corpus, colours)
    return True


@st.fragment(run_every=POLL_SECONDS)
def _follow(writing: Writing, corpus: Corpus, colours: Palette) -> None:
    """Draws what has come, several times a second; nothing else of the page is run for it."""
    done = writing.task.done
    answer = writing.so_far
    if answer is not None:
        record = notes.record_of(answer)
        _draw_mode(record)
        draw_answer(answer_view(record, corpus.document, running=True), colours, key="answer being written")
    if done:
        _finish(writing)
        st.rerun()
    waiting = "" if answer is not None and answer.text else "Looking for passages …" if answer is None else "Waiting for the first words …"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Stop", icon=":material/stop_circle:", key="stop answer", on_click=writing.task.cancel)
        if waiting:
            st.html(f'<div class="sl-small" role="status">{waiting}</div>')


def _finish(writing: Writing) -> None:
    """An answer that has ended is in the log; one that could not be kept stays with the session."""
    id_ = conversation()
    desk().take(id_)
    try:
        outcome = writing.task.result()
    except SittError as error:
        st.session_state[TROUBLE] = f"Expected {error.expected}; got {error.got}. {error.remedy}"
        return
    except asyncio.CancelledError:
        st.session_state[TROUBLE] = "Stopped before any passage was found."
        return
    if outcome.logged is None:
        st.session_state.setdefault(UNKEPT, []).append((id_, outcome))
    elif outcome.sent:
        sent = st.session_state.setdefault(SENT, {})
        sent[outcome.logged.id] = outcome.sent
        for oldest in list(sent)[:-KEPT_PROMPTS]:
            del sent[oldest]


def _notes() -> Path:
    return state.workshop().settings.notes_dir
