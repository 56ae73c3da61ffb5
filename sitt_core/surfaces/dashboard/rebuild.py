"""The Corpus page's update: choose a source, see what has changed, choose the indexes, confirm, watch."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from sitt_core import ingest, jobs
from sitt_core.build import DEFAULT_LANGUAGE, read_source
from sitt_core.configuration import Configuration
from sitt_core.errors import SittError
from sitt_core.ingest import Estimate, Plan
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import status
from sitt_core.surfaces.dashboard import building, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.dashboard.versions import index_name
from sitt_core.surfaces.progress import human_seconds
from sitt_core.types import Listing

BUCKETS = ("added", "changed", "removed", "unchanged", "failed", "kept")
MEANINGS = {
    "added": "new in the source",
    "changed": "another text, title or licence than what is stored",
    "removed": "no longer in the source: they are retired and can be restored",
    "unchanged": "as stored: nothing is embedded again",
    "failed": "could not be read: what is stored of them stays as it was",
    "kept": "restored by hand and not in the source: they stay",
}
FOLDER = "a folder of yours …"
GUIDE = "field-guide"
SHOWN_LINES = 1500
CHECKED = "checked source"
"""The session's key of the check whose plan is shown."""


@dataclass(frozen=True, slots=True)
class Check:
    """One look at a source: of which corpus, where, and when; a later one reads it again."""

    identity: str
    place: str
    moved: bool
    at: float


def draw_rebuild(corpus: Corpus, colours: Palette) -> None:
    """From a source to the next generation, in steps that each wait for the reader."""
    del colours
    key = f"update:{corpus.name}"
    if building.watch(key):
        return
    if (done := _finished(key)) is not None:
        st.success(
            f"{plain_label(done)} Generation {corpus.generation} is served now: {len(corpus.documents):,} documents.",
            icon=":material/check:",
        )
    place, moved = _choose_source(corpus)
    st.button(
        "Check for changes",
        type="primary",
        disabled=not place,
        on_click=_check,
        args=(corpus.identity, place, moved),
        icon=":material/search:",
    )
    check: Check | None = st.session_state.get(CHECKED)
    if check is None or check.identity != corpus.identity or check.place != place or check.moved != moved:
        return
    try:
        listing, found = _read(check)
        if not moved:
            status.check_place(corpus, listing.origin, found)
        plan = ingest.plan_update(corpus, listing)
    except SittError as error:
        st.error(told(error))
        return
    _draw_buckets(corpus, listing, plan)
    _confirm(corpus, check, listing, plan, found)


def _finished(key: str) -> str | None:
    """What to say of the update that this session started and that is done."""
    known = st.session_state.get(f"job {key}")
    if known is None:
        return None
    job = jobs.read(state.workshop().settings.jobs_dir / known)
    return f"{job.title}: done." if job.state == "done" else None


def _choose_source(corpus: Corpus) -> tuple[str, bool]:
    """The place to read, in the command line's words, empty when none is given; and whether its folder has moved."""
    known = {place: f"{origin} · {place}" for origin, place in status.sources_of(corpus).items()}
    choices = {**known, **({} if GUIDE in known else {GUIDE: "the bundled field guide"}), FOLDER: FOLDER}
    chosen = st.selectbox("Source", list(choices), key=f"source {corpus.name}", format_func=lambda place: choices.get(place, place))
    if chosen != FOLDER:
        return chosen, False
    typed = st.text_input(
        "Folder", placeholder="~/notes", key=f"folder {corpus.name}", help="A path on the machine that this page runs on."
    )
    moved = st.checkbox(
        "This is a folder of the corpus that has moved",
        key=f"moved {corpus.name}",
        help="Folders are told apart by their last name; another folder of a known name is refused unless this is ticked.",
    )
    return (f"markdown:{typed.strip()}" if typed.strip() else ""), moved


def _check(identity: str, place: str, moved: bool) -> None:
    st.session_state[CHECKED] = Check(identity, place, moved, time.time())


@st.cache_resource(show_spinner="Reading the source …", max_entries=4, ttl=1800)
def _read(check: Check) -> tuple[Listing, str]:
    return read_source(check.place)


def _draw_buckets(corpus: Corpus, listing: Listing, plan: Plan) -> None:
    """How many documents fall where, and each of them with what would change in it."""
    ids = {name: tuple(failure.id for failure in plan.failed) if name == "failed" else getattr(plan, name) for name in BUCKETS}
    st.html(buckets_html({name: len(ids[name]) for name in BUCKETS}))
    titles = {document.id: document.title for document in corpus.documents} | {
        document.id: document.title for document in listing.documents
    }
    for name in BUCKETS:
        if ids[name]:
            with st.expander(
                f"{name.capitalize()}: {len(ids[name]):,}, {MEANINGS[name]}", expanded=name == "changed", key=f"bucket {name}"
            ):
                if name == "failed":
                    st.dataframe([{"document": each.id, "reason": each.reason} for each in plan.failed], hide_index=True)
                elif name in ("unchanged", "kept"):
                    st.dataframe([{"title": titles.get(id_, ""), "document": id_} for id_ in ids[name]], hide_index=True)
                else:
                    _draw_diffs(corpus, listing, name, ids[name], titles)


def buckets_html(counts: dict[str, int]) -> str:
    """The sizes of the buckets in a row; `kept` only when there are any."""
    shown = [(name, count) for name, count in counts.items() if count or name != "kept"]
    return f'<div class="sl-buckets">{"".join(f"<div><b>{count:,}</b>{name}</div>" for name, count in shown)}</div>'


def _draw_diffs(corpus: Corpus, listing: Listing, name: str, ids: Sequence[str], titles: dict[str, str]) -> None:
    chosen = ids[0]
    if len(ids) > 1:
        chosen = st.selectbox(f"Which of the {name}", ids, key=f"diff {name}", format_func=lambda id_: f"{titles.get(id_, '')} · {id_}")
    else:
        st.html(f'<div class="sl-small">{escape(titles.get(chosen, ""))} · {escape(chosen)}</div>')
    if chosen in ids:
        st.html(diff_html(ingest.diff(corpus, listing, chosen)))


def diff_html(lines: Sequence[str]) -> str:
    """A unified diff as HTML, escaped; added and removed lines keep their + and −, so that colour is not all."""
    kinds = {"+": "added", "-": "removed", "@": "place-of"}
    drawn = []
    for number, line in enumerate(lines[:SHOWN_LINES]):
        kind = "place-of" if number < 2 else kinds.get(line[:1], "same")
        drawn.append(f'<div class="sl-{kind}" dir="auto">{escape(line) or " "}</div>')
    if len(lines) > SHOWN_LINES:
        drawn.append(f'<div class="sl-place-of">… {len(lines) - SHOWN_LINES:,} more lines</div>')
    return f'<div class="sl-diff" tabindex="0" role="region" aria-label="Differences">{"".join(drawn)}</div>'


def _confirm(corpus: Corpus, check: Check, listing: Listing, plan: Plan, place: str) -> None:
    """Which indexes go along, what that takes, and the button; many removals ask for their number."""
    default = state.workshop().settings.defaults
    if plan.is_empty and corpus.has_index_for(default):
        st.info("Nothing to do: the corpus is as its source." if not plan.failed else "Nothing that can be read has changed.")
        return
    known = {each.index_key: each for each in ingest.index_configurations(corpus) if each.index_key != default.index_key}
    carried: list[str] = []
    if known:
        carried = st.multiselect(
            "Indexes to carry, besides the default",
            list(known),
            default=[key for key in known if corpus.has_index(key) and key == state.configuration().index_key],
            format_func=lambda key: index_name(known[key]) if key in known else key,
            key=f"carry {corpus.identity}",
            help="The others are marked as needing to be built, and are built when next chosen, mostly from cached vectors.",
        )
    try:
        costs = [(index_name(each), _estimate(corpus, check, each)) for each in (default, *(known[key] for key in carried if key in known))]
    except SittError as error:
        st.error(told(error))
        return
    st.dataframe([cost_row(slug, cost) for slug, cost in costs], hide_index=True)
    allowed = True
    if len(plan.removed) > plan.free_removals:
        count = str(len(plan.removed))
        st.warning(f"This would retire {count} of the source's documents. If the source is whole, type that number.")
        allowed = st.text_input("How many documents go", key=f"removals {plan.digest}").strip() == count
    arguments = ["update", "--source", place, "--corpus", corpus.name, "--yes", "--confirmed", plan.digest]
    arguments += [option for key in carried for option in ("--index", key)]
    arguments += ["--allow-removals", str(len(plan.removed))] if plan.removed else []
    arguments += ["--moved"] if check.moved else []
    st.button(
        "Update and publish",
        type="primary",
        disabled=not allowed,
        on_click=building.start,
        args=(arguments, f"Update {corpus.name} from {listing.origin}", f"update:{corpus.name}"),
    )


def _identity(corpus: Corpus) -> str:
    return corpus.identity


@st.cache_data(
    show_spinner="Counting what this takes …",
    max_entries=64,
    ttl=1800,
    hash_funcs={Corpus: _identity, Configuration: lambda configuration: configuration.index_key},
)
def _estimate(corpus: Corpus, check: Check, configuration: Configuration) -> Estimate:
    listing, _ = _read(check)
    recipe = state.workshop().recipe(configuration, language=corpus.meta.get("language", DEFAULT_LANGUAGE))
    return ingest.estimate_update(corpus, listing, ingest.plan_update(corpus, listing), recipe=recipe)


def cost_row(name: str, cost: Estimate) -> dict[str, object]:
    """What carrying an index takes, as a line of the table."""
    return {
        "index": name,
        "chunks": cost.chunks,
        "vectors cached": cost.cached,
        "to embed": cost.chunks - cost.cached,
        **({"sentences to embed": cost.sentences} if cost.sentences else {}),
        "about": human_seconds(cost.seconds),
    }
