"""The Corpus page's last step: what publishing takes, the confirmation, how it ended, and what the questions then find."""

from dataclasses import replace
from pathlib import Path

import streamlit as st

from evals.preflight import Preflight
from sitt_core import ingest
from sitt_core.build import language_of
from sitt_core.configuration import Configuration
from sitt_core.errors import SittError
from sitt_core.ingest import Estimate
from sitt_core.jobs import Job
from sitt_core.store.reading import Corpus
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import building, cards, checks, found_html, sources, state
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.surfaces.dashboard.told import told
from sitt_core.surfaces.dashboard.versions import heading, index_name
from sitt_core.surfaces.progress import human_seconds
from sitt_core.surfaces.source_forms import describe
from sitt_core.surfaces.updating import Found

PUBLISHED = "published arguments"
"""The session's key, with the corpus, of the command line of the last update that it started."""
MOST_LINKS = 12


def draw_confirm(corpus: Corpus, seen: Found, folder: Path) -> None:
    """Which indexes go along, what that takes, and the button; many removals ask for their number."""
    default = state.workshop().settings.defaults
    settled = checks.is_settled(corpus, seen, default)
    if settled and not checks.removals(corpus, seen).asks:
        failed = any(update.plan.failed for update in seen.updates) or seen.unread
        many = "its sources" if len(seen.updates) > 1 else "its source"
        st.info("Nothing that can be read has changed." if failed else f"Nothing to do: the corpus is as {many}.")
        return
    heading("Publish")
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
        costs = [(index_name(each), _estimate(corpus, seen, each)) for each in (default, *(known[key] for key in carried if key in known))]
    except SittError as error:
        st.error(told(error))
        return
    st.dataframe([cost_row(slug, cost) for slug, cost in costs], hide_index=True)
    permitted = _ask_number(corpus, seen)
    asked = "Before anything is served, the open questions are asked of both generations. If they find less, nothing is published, and you are asked again."
    st.html(
        f'<div class="sl-small">{asked if not settled or permitted else "Nothing else has changed: without a number there is nothing to publish."}</div>'
    )
    st.button(
        "Update and publish",
        type="primary",
        disabled=permitted is None or (settled and not permitted),
        on_click=_publish,
        args=(corpus.name, checks.publish_arguments(corpus.name, folder, seen.digest, carried=carried, permitted=permitted or 0)),
    )


def _ask_number(corpus: Corpus, seen: Found) -> int | None:
    """The removals that are permitted, typed where that is needed; None while they are not."""
    wanted = checks.removals(corpus, seen)
    if not wanted.asks:
        return 0
    st.warning(removals_words(wanted))
    return checks.permission(corpus, seen, st.text_input("How many documents go", key=f"removals {seen.digest}"))


def removals_words(wanted: checks.Removals) -> str:
    """Why a number is to be typed, and which."""
    if not wanted.needed:
        withheld = f"Withheld, and to stay: {wanted.most - wanted.free:,}. If those are to go"
        goes = f"{wanted.free:,} would be retired. {withheld} as well" if wanted.free else withheld
        return f"{goes}, type {wanted.most:,}; otherwise leave this empty."
    also = "" if wanted.most == wanted.free else f" With what is missing from a source that was not read as a whole: {wanted.most:,}."
    return f"This would retire {wanted.free:,} documents. If the source is whole, type that number.{also}"


def _publish(corpus: str, arguments: list[str]) -> None:
    st.session_state[f"{PUBLISHED} {corpus}"] = arguments
    building.start(arguments, f"Update {corpus}", checks.update_key(corpus))


def _identity(corpus: Corpus) -> str:
    return corpus.identity


@st.cache_data(
    show_spinner="Counting what this takes …",
    max_entries=64,
    ttl=1800,
    hash_funcs={Corpus: _identity, Found: lambda seen: seen.digest, Configuration: lambda configuration: configuration.index_key},
)
def _estimate(corpus: Corpus, seen: Found, configuration: Configuration) -> Estimate:
    recipe = state.workshop().recipe(configuration, language=language_of(corpus))
    return ingest.estimate_update(corpus, corpus.folder.parent, seen.updates, recipe=recipe)


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


def draw_result(corpus: Corpus, job: Job, check: Job | None) -> None:
    """How the last update ended; `check` is the one that it was of, while that still holds."""
    settings = state.workshop().settings
    folder = settings.jobs_dir / job.id
    preflight = checks.preflight_of(folder)
    if checks.was_refused(settings.data_dir, corpus.name, job):
        st.html(
            cards.notice(
                ["Nothing was published: the open questions would find less.", f"Generation {corpus.generation} is still served."],
                problem=True,
            )
        )
        _draw_preflight(corpus, preflight)
        _offer_anyway(corpus, check)
    elif job.state == "done" and (published := checks.published_by(settings.data_dir, corpus.name, job)) > corpus.generation:
        st.info(f"{plain_label(job.title)}: done, as generation {published}. Since then generation {corpus.generation} is served again.")
        draw_stayed(corpus.name, folder)
    elif job.state == "done":
        st.success(
            f"{plain_label(job.title)}: done. Generation {corpus.generation} is served now: {len(corpus.documents):,} documents.",
            icon=":material/check:",
        )
        _draw_preflight(corpus, preflight)
        draw_stayed(corpus.name, folder)
    else:
        st.html(cards.notice([job.message or job.state], problem=job.state != "cancelled"))


def _draw_preflight(corpus: Corpus, preflight: Preflight | None) -> None:
    """Recall@5 before and after, and every question that turned as a link to Explore, the lost ones first."""
    if preflight is None:
        return
    if told_html := found_html.preflight_html(preflight):
        st.html(told_html)
    if preflight.turned:
        lost = sum(each.after < each.before for each in preflight.turned)
        label = f"{lost:,} lost, {len(preflight.turned) - lost:,} found"
        with st.expander(f"Questions that turned: {label}", expanded=bool(lost), key="turned"):
            for each in preflight.turned[:MOST_LINKS]:
                target = replace(state.address(), corpus=corpus.name, question=each.text, configuration=state.workshop().settings.defaults)
                st.page_link("pages/explore.py", label=plain_label(found_html.turned_label(each)), query_params=to_parameters(target))
            if len(preflight.turned) > MOST_LINKS:
                st.html(f'<div class="sl-small">and {len(preflight.turned) - MOST_LINKS:,} more</div>')


def _offer_anyway(corpus: Corpus, check: Job | None) -> None:
    """The same update again, with the fall accepted; after a reload, as the check has it and with what was free to go."""
    arguments = st.session_state.get(f"{PUBLISHED} {corpus.name}")
    if arguments is None and check is not None:
        folder = state.workshop().settings.jobs_dir / check.id
        arguments = checks.publish_arguments(corpus.name, folder, checks.told_digest(folder), permitted=checks.told_removals(folder))
    if check is None or arguments is None:
        st.html('<div class="sl-small">The corpus has changed since: check for changes again.</div>')
        return
    st.button(
        "Publish anyway",
        on_click=_publish,
        args=(corpus.name, checks.accepting(arguments)),
        help="The vectors are kept: this takes a moment. The generation before can be served again.",
        icon=":material/publish:",
    )


def draw_stayed(corpus: str, folder: Path) -> None:
    """What an update could not read, with the way to try again; nothing when all was read."""
    failures, places = checks.failures_of(folder)
    if not failures:
        return
    with st.expander(f"Not read: {len(failures):,}. What is stored of them stays as it was", expanded=True, key=f"stayed {corpus}"):
        listed = [(id_ or describe(place).name, reason) for place, id_, reason in failures]
        st.html(found_html.failures_html(listed))
        st.button("Try again", key=f"again stayed {corpus}", on_click=sources.start_check, args=(corpus, places), icon=":material/refresh:")
