"""The Lab page's form of a new run: what is asked, of which configurations, what that takes; nothing is spent before it is confirmed."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from evals import grid, run
from evals.editing import own_file
from evals.golden import FIELD_GUIDE
from evals.metrics import ANSWER_METRICS, DEFAULT_METRICS
from evals.results import Run
from evals.run import Plan, Selection
from evals.subject import OWN, Subject, open_questions
from sitt_core import notes
from sitt_core.configuration import BY_NAME, PROVIDER_KEYS, Configuration, applies, configure, configure_leniently, parse_field
from sitt_core.errors import SittError
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.store.layout import corpus_names
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.dashboard import building, cards, lab_data, lab_runs, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.progress import human_seconds

HANDED = "lab handed over"
"""The session's key of configurations that another page sent here, by name; they stand among the presets."""
PATH = "a path …"
GOLDEN = {FIELD_GUIDE: "the bundled field guide, and yours about it", OWN: "yours, from the Questions page", PATH: PATH}
"""The golden sets that may be asked, with what the form calls them."""
CURRENT = "current"
ANSWERS = "lab answers"
BASES, FIELDS, VALUES, NAME, BASELINE = "lab presets", "lab fields", "lab values", "lab new name", "lab baseline"


def hand_over(configurations: Mapping[str, Configuration]) -> None:
    """Opens the form with these configurations chosen, for other pages; switch to the Lab page afterwards."""
    st.session_state[HANDED] = dict(configurations)
    st.session_state[BASES] = list(configurations)
    st.session_state[FIELDS] = []
    st.session_state[lab_runs.VIEW] = lab_runs.NEW


def draw_new() -> None:
    """The form in three steps, what it comes to, and the button."""
    lab_runs.say_refused()
    names = corpus_names(lab_data.settings().store_dir)
    if not names:
        building.offer_field_guide()
        return
    try:
        subject = _choose_questions(names)
        if subject is None:
            return
        kinds = _choose_kinds(subject)
        bases, values = _choose_configurations()
        metrics = _choose_metrics()
        expanded = grid.expand(values, bases)
        plan = plan_of(subject, kinds, expanded, metrics)
    except SittError as error:
        st.html(cards.notice([f"Expected {error.expected}; got {error.got}. {error.remedy}"], problem=True))
        return
    _choose_name(expanded.configurations)
    _draw_plan(subject, plan)
    allowed = _confirm_cost(plan)
    st.button(
        "Run",
        type="primary",
        icon=":material/play_arrow:",
        on_click=_start,
        args=(subject, plan),
        disabled=not allowed,
        key="lab run now",
    )


def _choose_questions(names: Sequence[str]) -> Subject | None:
    """The golden set and the corpus that it asks; None while something is missing that the page says."""
    st.html('<h2 class="sl-h">1 · Questions</h2>')
    left, right = st.columns(2)
    chosen = left.selectbox(
        "Golden set",
        list(GOLDEN),
        key="lab golden",
        format_func=lambda each: GOLDEN.get(each, each),
        persist_state="session",
    )
    start = DEFAULT_CORPUS if chosen == FIELD_GUIDE and DEFAULT_CORPUS in names else state.address().corpus
    key = f"lab corpus {chosen}"
    if st.session_state.get(key) not in names:
        st.session_state[key] = start if start in names else names[0]
    corpus = right.selectbox("Corpus that they ask", list(names), key=key, persist_state="session")
    place = str(chosen)
    if chosen == PATH:
        place = st.text_input(
            "Path of the golden set",
            key="lab golden path",
            placeholder="~/questions.yaml",
            help="A YAML file, or a folder of them, on the machine that this page runs on.",
            persist_state="session",
        ).strip()
        if not place:
            st.html('<div class="sl-small">Name a file, or a folder of them; docs/golden-sets.md describes the format.</div>')
            return None
    opened = state.workshop().corpus(corpus)
    return subject_of(opened, place, file_stamp(place, corpus))


def file_stamp(place: str, corpus: str) -> tuple[object, ...]:
    """Changes with the golden set's files; of a set that has one's own questions with it, with theirs."""
    path = own_file(lab_data.settings(), corpus) if place in (FIELD_GUIDE, OWN) else Path(place).expanduser()
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path] if path.is_file() else []
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)


def _identity(corpus: Corpus) -> str:
    return corpus.identity


@st.cache_resource(show_spinner="Reading the questions …", max_entries=8, hash_funcs={Corpus: _identity})
def subject_of(corpus: Corpus, place: str, files: tuple[object, ...]) -> Subject:
    """The golden set with its corpus; `files` changes with the set. Raises NotFound or InvalidInput."""
    del files
    return open_questions(state.workshop(), place, corpus.name, report=lambda _stage, _done, _total: None)


def _choose_kinds(subject: Subject) -> tuple[str, ...]:
    asked = [question for question in subject.golden.questions if question.split == "open"]
    counts: dict[str, int] = {}
    for question in asked:
        counts[question.kind] = counts.get(question.kind, 0) + 1
    sealed = len(subject.golden.questions) - len(asked)
    kinds = st.multiselect(
        "Kinds",
        list(counts),
        key=f"lab kinds {subject.place}",
        format_func=lambda kind: f"{kind} ({counts.get(kind, 0):,})",
        placeholder=f"all {len(asked):,} open questions",
        persist_state="session",
    )
    sealed_words = f" The {sealed:,} sealed ones are kept for confirming a choice: no run asks them." if sealed else ""
    st.html(f'<div class="sl-small">Only open questions are asked.{sealed_words}</div>')
    for note in subject.notes:
        st.html(cards.notice([note]))
    return tuple(kinds)


def _choose_configurations() -> tuple[list[Configuration], dict[str, list[object]]]:
    """The presets, and the values that are tried on each of them by field; raises InvalidInput."""
    st.html('<h2 class="sl-h">2 · Configurations</h2>')
    there = bases()
    if not st.session_state.get(BASES):
        st.session_state[BASES] = [CURRENT]
    st.session_state[BASES] = [name for name in st.session_state[BASES] if name in there] or [CURRENT]
    chosen = st.multiselect(
        "Start from",
        list(there),
        key=BASES,
        format_func=lambda name: base_label(name, there),
        help="The values below are tried on each of them.",
        persist_state="session",
    )
    fields = st.multiselect(
        "Vary",
        list(BY_NAME),
        key=FIELDS,
        format_func=lambda name: f"{BY_NAME[name].label} ({name})",
        placeholder="fields to try several values of",
        help="Every combination of the values is a configuration of its own; what cannot run is skipped with its reason.",
        persist_state="session",
    )
    values = {name: _choose_values(name) for name in fields}
    if empty := [name for name, each in values.items() if not each]:
        st.html(f'<div class="sl-small">No value yet of {escape(", ".join(empty))}: not varied.</div>')
    return [there[name] for name in (chosen or [CURRENT])], {name: each for name, each in values.items() if each}


def bases() -> dict[str, Configuration]:
    """The configurations that a grid may start from, by name; a saved one keeps what of it can be used here."""
    defaults = lab_data.settings().defaults
    made = {CURRENT: state.configuration(), **st.session_state.get(HANDED, {})}
    made |= {name: configure(changes, defaults) for name, changes in grid.BUNDLED_PRESETS.items()}
    saved = notes.presets(lab_data.settings().notes_dir)
    return made | {name: configure_leniently(fields, defaults)[0] for name, fields in saved.items() if name not in made}


def base_label(name: str, there: Mapping[str, Configuration]) -> str:
    """A preset with what it is in short."""
    return f"{name}: {there[name].slug}" if name in there else name


def _choose_values(name: str) -> list[object]:
    """The values of one field: ticked, or written with commas between them where it is a number or a name."""
    field = BY_NAME[name]
    key = f"{VALUES} {name}"
    if field.choices:
        if key not in st.session_state and field.role != "answer":
            st.session_state[key] = list(field.choices)
        ticked = st.multiselect(
            f"{field.label}: values",
            list(field.choices),
            key=key,
            help=field.help,
            accept_new_options=bool(field.prefixes),
            persist_state="session",
        )
        return [parse_field(name, value) for value in ticked]
    written = st.text_input(
        f"{field.label}: values, with commas between them", key=key, placeholder=field.allowed, help=field.help, persist_state="session"
    )
    return parse_values(name, written)


def parse_values(name: str, written: str) -> list[object]:
    """The values of a field in a text with commas between them, each once; raises InvalidInput."""
    return list(dict.fromkeys(parse_field(name, value.strip()) for value in written.split(",") if value.strip()))


def _choose_metrics() -> tuple[str, ...]:
    st.html('<h2 class="sl-h">3 · Metrics</h2>')
    with st.expander(f"Retrieval metrics: {len(DEFAULT_METRICS)} unless you choose others"):
        chosen = st.multiselect(
            "Metrics",
            list(DEFAULT_METRICS),
            key="lab metrics",
            placeholder="the default ones",
            accept_new_options=True,
            help="Any k or budget may be typed: recall@7, coverage@1500t, document-ndcg@20.",
            persist_state="session",
        )
    answers = st.checkbox(
        "Answers too",
        key=ANSWERS,
        help=f"Every question is answered under every configuration: {', '.join(ANSWER_METRICS)}. A judge may read them afterwards.",
        persist_state="session",
    )
    return (*(chosen or DEFAULT_METRICS), *(ANSWER_METRICS if answers else ()))


def plan_of(subject: Subject, kinds: tuple[str, ...], expanded: grid.Grid, metrics: tuple[str, ...]) -> Plan:
    """What the run will take; raises InvalidInput or ModelError."""
    return _plan(subject.corpus, subject, kinds, expanded, metrics)


_HASH: dict[str | type[Any], Callable[[Any], Any]] = {
    Corpus: _identity,
    Subject: lambda subject: (subject.place, subject.golden.sha256),
    grid.Grid: lambda made: (tuple(each.key for each in made.configurations), made.skipped, made.duplicates),
}


@st.cache_resource(show_spinner="Counting what this takes …", max_entries=32, ttl=600, hash_funcs=_HASH)
def _plan(corpus: Corpus, subject: Subject, kinds: tuple[str, ...], expanded: grid.Grid, metrics: tuple[str, ...]) -> Plan:
    del corpus  # it is the subject's; its generation decides what is cached
    return run.plan_run(state.workshop(), subject, Selection(kinds), expanded, run.choose_metrics(metrics))


def _choose_name(configurations: Sequence[Configuration]) -> None:
    """What to call the run, and which configuration the baseline is."""
    names = configuration_names(configurations)
    left, right = st.columns(2)
    left.text_input("Name", key=NAME, max_chars=200, placeholder="what it is about", persist_state="session")
    if st.session_state.get(BASELINE) not in names:
        st.session_state[BASELINE] = None
    right.selectbox(
        "Baseline",
        list(names),
        index=None,
        key=BASELINE,
        format_func=lambda key: names.get(key, key),
        placeholder="none",
        help="Named before the run, it may be compared with all others and corrected for that (Holm).",
        persist_state="session",
    )


def configuration_names(configurations: Sequence[Configuration]) -> dict[str, str]:
    """A name for each of some configurations, by key: its slug, and what of the others' fields it differs in."""
    varying = [name for name in BY_NAME if len({str(each[name]) for each in configurations if applies(name, each)}) > 1]
    return {
        each.key: " · ".join([each.slug, *(f"{name}={each[name]}" for name in varying if applies(name, each))]) for each in configurations
    }


def _draw_plan(subject: Subject, plan: Plan) -> None:
    """What the run comes to: rows, what is skipped and why, what is built first, what answers cost."""
    with st.container(border=True):
        st.html(f'<h2 class="sl-h">What it takes</h2>{plan_html(subject, plan, pace(lab_data.all_runs(), subject, plan))}')
        if plan.grid.skipped:
            with st.expander(f"{len(plan.grid.skipped):,} skipped, with the reason"):
                st.dataframe([{"why": line} for line in plan.grid.skipped], hide_index=True)
        if plan.missing:
            many = f"{len(plan.missing):,} indexes are" if len(plan.missing) > 1 else "One index is"
            with st.expander(f"{many} built first, about {human_seconds(building_seconds(plan))}"):
                st.dataframe(missing_rows(plan), hide_index=True)
        for line in lacking_keys(plan, lab_data.settings().keys_present):
            st.html(cards.notice([line], problem=True))


def plan_html(subject: Subject, plan: Plan, seconds: float | None) -> str:
    """A plan in sentences, escaped."""
    many = len(plan.grid.configurations)
    said = [
        f"<b>{len(plan.questions):,} questions × {many:,} configuration{'s' * (many != 1)}: {plan.rows:,} rows</b> on {escape(subject.corpus.name)}"
        + (f", about {human_seconds(seconds)} at the pace of the last run like it." if seconds else "; how long that takes will be seen.")
    ]
    if plan.grid.duplicates:
        said.append(f"{plan.grid.duplicates:,} combinations that come to the same run once.")
    if not plan.missing:
        said.append("All indexes are built.")
    if plan.answers:
        said.append(f"{plan.answers:,} answers: {escape(cost_words(plan))}.")
    return "".join(f'<div class="sl-line">{line}</div>' for line in said)


def building_seconds(plan: Plan) -> float:
    """How long the indexes take that have to be built."""
    return sum(each.seconds for each in plan.missing.values())


def missing_rows(plan: Plan) -> list[dict[str, Any]]:
    """The indexes that are built first, as lines of a table."""
    known = {each.index_key: each for each in plan.grid.configurations}
    return [
        {
            "index": f"{known[key].chunking_strategy}-{known[key].chunking_size} · {known[key].embedder}",
            "chunks": estimate.chunks,
            "vectors cached": estimate.cached,
            "about": human_seconds(estimate.seconds),
            "key": key,
        }
        for key, estimate in plan.missing.items()
    ]


def cost_words(plan: Plan) -> str:
    """What the answers of a plan cost, in words."""
    if not plan.tokens:
        return "sentences taken from the passages, no model is asked and nothing charged"
    cost = "at a price that is not known here" if plan.dollars is None else f"at most ${plan.dollars:,.2f}" if plan.dollars else "no charge"
    return f"about {plan.tokens:,} tokens to read, {cost}"


def pace(everything: Sequence[Run], subject: Subject, plan: Plan) -> float | None:
    """How long the rows take at the pace of the last finished run on the same corpus that answered as this one does, in seconds."""
    answering = bool(plan.answers)
    for made in everything:
        same = made.manifest.corpus == subject.corpus.name and ("refused" in made.manifest.metrics) == answering
        if made.state == "done" and same and made.wanted and made.seconds and not plan.tokens:
            return made.seconds / made.wanted * plan.rows
    return None


def lacking_keys(plan: Plan, present: frozenset[str]) -> list[str]:
    """A sentence for each provider that would be asked and whose key is not set."""
    if not plan.answers:
        return []
    providers = dict.fromkeys(each.answer_provider for each in plan.grid.configurations)
    return [
        f"{provider} needs {PROVIDER_KEYS[provider]}, which is not set: its configurations would fail, the others run."
        for provider in providers
        if provider in PROVIDER_KEYS and PROVIDER_KEYS[provider] not in present
    ]


def _confirm_cost(plan: Plan) -> bool:
    """Whether the run may start: one that costs money, or may, wants its own tick."""
    if plan.dollars == 0.0:
        return True
    return st.checkbox(plain_label(f"Spend that: {cost_words(plan)}"), key=f"lab spend {plan.tokens} {plan.dollars} {plan.rows}")


def _start(subject: Subject, plan: Plan) -> None:
    """Makes the run that the page has shown the plan of, and begins it in the background."""
    # What was typed last has come with this very click, after the button was drawn.
    name, baseline = str(st.session_state.get(NAME) or "").strip(), st.session_state.get(BASELINE)
    known = {each.key for each in plan.grid.configurations}
    try:
        made = run.start(state.workshop(), subject, plan, name=name, baseline=baseline if baseline in known else "")
    except SittError as error:
        st.session_state[lab_runs.REFUSED] = told(error)
        return
    lab_runs.choose(made.manifest.id)
    lab_runs.start_job(made)
    st.session_state[NAME] = ""
