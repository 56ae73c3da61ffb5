"""The System page: how this installation is, what it holds, what it has cost, what runs and what went wrong."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, TypeVar

import streamlit as st

from evals.summary import counted
from sitt_core.build import KEPT_DAYS, Workshop
from sitt_core.jobs import Job
from sitt_core.journal import Entry
from sitt_core.store.reading import Corpus
from sitt_core.surfaces import health
from sitt_core.surfaces.address import to_parameters
from sitt_core.surfaces.dashboard import building, cards, state
from sitt_core.surfaces.dashboard.theme import Palette
from sitt_core.surfaces.dashboard.versions import cache_row, generation_line, heading, index_name, index_row
from sitt_core.surfaces.desk import money
from sitt_core.surfaces.doctor import Check
from sitt_core.surfaces.health import Answerer, CorpusState, DataFolder, Model, Spent, Trouble
from sitt_core.surfaces.progress import human_bytes, human_seconds, progress_line, when

MOST_SAID = 1000
"""So many characters of a message are shown."""
SECTION = "system section"
"""The session's key of the open section."""
KEPT, CHECKED = "system kept", "system checked"
"""The session's keys: what was read, by section, until it is refreshed; and the outcome of all checks with its time."""
STATES = {"ok": "✓ ok", "note": "• note", "failed": "✗ failed", health.WAITING: "– not run"}
KEY_USES = {
    "ANTHROPIC_API_KEY": "answers by claude, judging, drafts",
    "OPENAI_API_KEY": "answers by openai, judging, drafts",
    "GROQ_API_KEY": "answers by groq, judging, drafts",
    "LLM_API_KEY": "answers by custom, where its server wants a key",
    "VOYAGE_API_KEY": "kept for Voyage's embedders",
}
T = TypeVar("T")


def style_sheet(colours: Palette) -> str:
    """The `<style>` of the page's own HTML."""
    return f"""<style>
.sl-grid{{display:grid;grid-template-columns:max-content max-content 1fr;gap:.35rem .9rem;font-size:.92rem;line-height:1.45;color:{colours.text};background:{colours.card};
border:1px solid {colours.line};border-radius:10px;padding:.7rem 1rem}}
.sl-grid>*{{min-width:0;overflow-wrap:anywhere}}
.sl-grid span{{color:{colours.faint};font-size:.86rem}}
.sl-grid .sl-failed{{color:{colours.danger};font-weight:650}}
.sl-pairs{{grid-template-columns:max-content 1fr}}
.sl-line{{overflow-wrap:anywhere}}
.sl-tail{{font-family:ui-monospace,monospace;font-size:.8rem;line-height:1.5;white-space:pre-wrap;overflow-wrap:anywhere;max-height:18rem;overflow:auto;
background:{colours.card};border:1px solid {colours.line};border-radius:8px;color:{colours.text};padding:.5rem .8rem}}
.sl-tail:focus-visible{{outline:2px solid {colours.accent}}}
@media(max-width:640px){{.sl-grid{{grid-template-columns:max-content 1fr}}.sl-grid>.sl-wide{{grid-column:1/-1;margin:-.3rem 0 .3rem}}.sl-grid.sl-pairs{{grid-template-columns:minmax(0,max-content) 1fr}}}}
</style>"""


def draw_refresh() -> None:
    """The button that reads everything anew, and from when what is shown is."""
    kept = st.session_state.setdefault(KEPT, {})
    oldest = min((at for at, _ in kept.values()), default=time.time())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Refresh", icon=":material/refresh:", on_click=_refresh, key="refresh system")
        st.html(f'<div class="sl-small">as of {time.strftime("%H:%M:%S", time.localtime(oldest))}; only the open section is read</div>')


def _refresh() -> None:
    state.acted()
    st.session_state[KEPT] = {}
    st.session_state.pop(CHECKED, None)


def _kept(name: str, read: Callable[[], T]) -> T:
    """What a section shows, read once until it is refreshed: a click elsewhere on the page costs nothing."""
    kept = st.session_state.setdefault(KEPT, {})
    if name not in kept:
        kept[name] = (time.time(), read())
    value: T = kept[name][1]
    return value


def _workshop() -> Workshop:
    return state.workshop()


def draw_health(corpus: Corpus | None, colours: Palette) -> None:
    """Doctor's checks, versions, and the data folder."""
    del colours
    settings, name = _workshop().settings, corpus.name if corpus else ""
    checked = st.session_state.get(CHECKED)
    checks = checked[1] if checked else _kept("checks", lambda: health.quick_checks(settings, name))
    heading("Checks")
    st.html(checks_line(checks))
    st.html(checks_html(checks))
    if st.button(
        "Run all checks",
        key="run checks",
        icon=":material/stethoscope:",
        on_click=state.acted,
        help="A few seconds: it loads the embedder.",
    ):
        with st.spinner("Checking …"):
            st.session_state[CHECKED] = (time.time(), health.all_checks(settings, name))
        st.rerun()
    folder = _kept("folder", lambda: health.data_folder(settings))
    heading("Data folder")
    st.html(folder_html(folder))
    heading("Versions")
    st.html(pairs_html(_kept("versions", health.versions)))


def checks_line(checks: Sequence[Check]) -> str:
    """The checks in a sentence."""
    count = {name: sum(check.state == name for check in checks) for name in STATES}
    words = [f"{count['failed']} failed" if count["failed"] else "none failed", f"{count['ok']} ok"]
    words += [f"{count['note']} worth knowing"] if count["note"] else []
    words += [f"{count[health.WAITING]} not run yet: they take a few seconds"] if count[health.WAITING] else []
    return f'<div class="sl-small" role="status">{", ".join(words)}</div>'


def checks_html(checks: Sequence[Check]) -> str:
    """Every check with its state in words, what was found, and how to mend it."""
    lines = []
    for check in checks:
        remedy = f"<br><span>{escape(check.remedy)}</span>" if check.remedy else ""
        lines.append(
            f'<div class="sl-{escape(check.state)}">{STATES.get(check.state, escape(check.state))}</div><b>{escape(check.name)}</b>'
            f'<div class="sl-wide">{escape(check.detail)}{remedy}</div>'
        )
    return f'<div class="sl-grid">{"".join(lines)}</div>'


def folder_html(folder: DataFolder) -> str:
    """Where the data is, what is free, and what takes it up."""
    parts = ", ".join(f"{escape(name)} {human_bytes(size)}" for name, size in folder.parts.items())
    return pairs_html({"folder": str(folder.path), "free on its disk": human_bytes(folder.free)}, {"in it": parts})


def pairs_html(pairs: Mapping[str, str], markup: Mapping[str, str] | None = None) -> str:
    """Names with their values; those of `markup` are HTML already."""
    lines = [f"<b>{escape(name)}</b><div>{escape(value)}</div>" for name, value in pairs.items()]
    lines += [f"<b>{escape(name)}</b><div>{value}</div>" for name, value in (markup or {}).items()]
    return f'<div class="sl-grid sl-pairs">{"".join(lines)}</div>'


def draw_corpora(corpus: Corpus | None, colours: Palette) -> None:
    """Every corpus with its generations, indexes and cached vectors."""
    del corpus, colours
    found = _kept("corpora", lambda: health.corpora(_workshop()))
    if not found:
        building.offer_field_guide()
        return
    for each in found:
        st.html(corpus_html(each))
        if each.trouble:
            continue
        if each.indexes:
            st.dataframe(
                [index_row(info) for info in each.indexes], hide_index=True, key=f"indexes {each.name}", alt=f"Indexes of {each.name}"
            )
        if each.caches:
            rows = [cache_row(file, size, embedder) for file, size, embedder in each.caches]
            st.dataframe(rows, hide_index=True, key=f"caches {each.name}", alt=f"Vector caches of {each.name}")
            st.html(
                '<div class="sl-small">Vectors by the text that they are of, so that no text is embedded twice. Those that no index uses go with '
                f"<code>python -m sitt_core purge --corpus {escape(each.name)}</code>.</div>"
            )
    replies, size = _kept("fetched", lambda: health.fetched(_workshop().settings))
    if replies:
        st.html(
            f'<div class="sl-small">{replies:,} replies of sites are kept ({human_bytes(size)}), so that nobody is asked twice for the same; '
            f"those that no source has used for {KEPT_DAYS} days go with the next update.</div>"
        )
    st.page_link(
        "pages/corpus.py",
        label="Open Corpus",
        icon=":material/folder_open:",
        query_params=to_parameters(state.address()),
    )


def corpus_html(found: CorpusState) -> str:
    """A corpus in words: what is served, which generations are kept, what needs building."""
    if found.trouble:
        return f'<h2 class="sl-h">{escape(found.name)}</h2>{cards.notice(["It cannot be read.", found.trouble], problem=True)}'
    served = f"generation {found.generation} is served: {found.documents:,} documents, {found.language or 'no language'}"
    lines = [f"<b>{escape(served)}</b>", f"from {escape(', '.join(found.sources) or 'a source that is not noted')}"]
    for info in found.generations:
        now = " (served)" if info.current else ""
        lines.append(f"<span>{escape(info.name)}{now}: {escape(generation_line(info))}</span>")
    size = sum(info.size for info in found.indexes)
    lines.append(f"{len(found.indexes):,} index{'es' * (len(found.indexes) != 1)}, {human_bytes(size)}")
    if found.needs_building:
        lines.append(f"needs building: {escape(', '.join(map(index_name, found.needs_building)))}")
    return f'<h2 class="sl-h">{escape(found.name)}</h2><div class="sl-line">{"<br>".join(lines)}</div>'


def draw_models(corpus: Corpus | None, colours: Palette) -> None:
    """Embedders, who can answer, who would judge, and which keys are there, by name."""
    del corpus, colours
    settings = _workshop().settings
    heading("Embedders")
    st.dataframe([model_row(model) for model in _kept("models", lambda: health.models(settings))], hide_index=True, alt="Embedders")
    st.html('<div class="sl-small">st:NAME takes any sentence-transformers model from its library’s cache, or fetches it once.</div>')
    heading("Answers")
    st.dataframe(
        [answerer_row(each) for each in _kept("answerers", lambda: health.answerers(settings))], hide_index=True, alt="Who can answer"
    )
    heading("Judging and drafting")
    st.html(checks_html([_kept("judge", lambda: health.judge_check(settings))]))
    heading("Keys")
    st.html(keys_html(health.keys(settings)))


def model_row(model: Model) -> dict[str, str]:
    """A model as a line of the table."""
    return {
        "embedder": model.name,
        "state": model.state,
        "size": human_bytes(model.size) if model.size else "—",
        "what it is": model.detail,
    }


def answerer_row(each: Answerer) -> dict[str, str]:
    """A provider as a line of the table; a price that is not known says so."""

    def price(dollars: float | None) -> str:
        return "not known" if dollars is None else "none" if dollars == 0 else f"${dollars:.2f}"

    return {
        "provider": each.provider,
        "state": each.state,
        "model": each.model,
        "read, per million tokens": price(each.input_price),
        "written, per million tokens": price(each.output_price),
        "address": f"as {each.elsewhere} says" if each.elsewhere else "its own",
    }


def keys_html(present: Mapping[str, bool]) -> str:
    """Which keys are set; their values are nowhere on the page."""
    words = {True: "✓ present", False: "– not set"}
    lines = [
        f'<div>{words[there]}</div><b>{escape(name)}</b><div class="sl-wide">{escape(KEY_USES.get(name, ""))}</div>'
        for name, there in present.items()
    ]
    return (
        f'<div class="sl-grid">{"".join(lines)}</div><div class="sl-small">Values are never shown. Keys are read from the environment, else from '
        ".env beside app.py, when the dashboard starts.</div>"
    )


def draw_spending(corpus: Corpus | None, colours: Palette) -> None:
    """What language models have taken, by purpose and by model, and what limits it."""
    del corpus, colours
    found = _kept("spending", lambda: health.all_spending(_workshop().settings))
    heading("Limits")
    st.html(pairs_html(limits(_workshop())))
    heading("Spent")
    if not found:
        st.html(cards.notice(["Nothing yet. What answers, judging and drafts take is counted here, from the first question on Ask on."]))
        st.page_link("pages/ask.py", label="Open Ask", icon=":material/chat:", query_params=to_parameters(state.address()))
        return
    st.html(spent_html(found))
    st.dataframe(
        [*map(purpose_row, health.by_purpose(found)), total_row(found)], hide_index=True, width="stretch", alt="What was spent, by purpose"
    )
    st.dataframe([spent_row(each) for each in found], hide_index=True, width="stretch", alt="What was spent, by model")


def limits(workshop: Workshop) -> Mapping[str, str]:
    """What keeps spending within bounds: a limit for each answer, budgets for what asks often."""
    models = workshop.settings.models
    asked = "asks first where it costs anything, or its price is not known; --budget-usd and --budget-tokens of the command, or the page's field, end it"
    return {
        "an answer": f"at most {models.max_tokens:,} tokens written, what the model thinks among them (LLM_MAX_TOKENS)",
        "a run of the lab": "its cost is shown before it starts, and asked about where it costs anything; it has no budget",
        "judging a run": f"{asked}. A budget holds for a run: earlier goes count",
        "drafting questions": f"{asked}. A budget holds for one go",
        "in all": "no limit here: set one where your provider bills you",
    }


def spent_html(found: Sequence[Spent]) -> str:
    """The sum in words; what is not known is not left out silently."""
    known, unknown = sum(each.dollars for each in found), sum(each.unknown for each in found)
    hint = " What is not known comes on top: answers that broke off, or models whose price is not in the list." if unknown else ""
    return (
        f'<div class="sl-line"><b>{money(known) if known else "Nothing"} as far as it is known.{hint}</b><br><span>From the conversations, runs and '
        "drafts that are kept on this machine: what was deleted is no longer counted.</span></div>"
    )


COUNTED = {health.ASK: "answer", health.LAB: "answer", health.JUDGING: "run", health.DRAFTING: "call"}
"""What is counted of each purpose."""


def purpose_row(each: Spent) -> dict[str, Any]:
    """What a purpose took, as a line of the table."""
    return {"for": each.purpose, "how many": counted(each.answers, COUNTED[each.purpose]), **_took(each)}


def total_row(found: Sequence[Spent]) -> dict[str, Any]:
    """The line of all purposes; runs keep no tokens of their answers."""
    without = [replace(each, purpose="") for each in found]
    (total,) = health.by_purpose(without)
    return {"for": "in all", "how many": "", **_took(total)}


def spent_row(each: Spent) -> dict[str, Any]:
    """What a provider's model took for a purpose, as a line of the table."""
    return {"provider": each.provider, "model": each.model, **purpose_row(each)}


def _took(each: Spent) -> dict[str, str]:
    """Tokens and cost in words; a number that is not known is none."""
    if each.unknown == each.answers:
        cost = "not known"
    else:
        cost = "no charge" if each.dollars == 0 else money(each.dollars)
        cost += f", and {each.unknown:,} not known" if each.unknown else ""
    tokens = {"tokens read": each.input_tokens, "of them from a cache": each.cached_tokens, "tokens written": each.output_tokens}
    return {name: "not kept" if each.purpose == health.LAB else f"{number:,}" for name, number in tokens.items()} | {"cost": cost}


def draw_jobs(corpus: Corpus | None, colours: Palette) -> None:
    """What runs, with progress and *Cancel*, and what ran; of failures the last lines of their output."""
    del corpus, colours
    found = health.recent_jobs(_workshop().settings)
    if not found:
        st.html(
            cards.notice(
                ["No job has run here. Builds and updates on Corpus, and runs of the lab, are listed here while they run and after."]
            )
        )
        st.page_link("pages/corpus.py", label="Open Corpus", icon=":material/folder_open:", query_params=to_parameters(state.address()))
        return
    for job, tail in found:
        with st.container(border=True):
            st.html(job_html(job))
            if job.state == "running":
                building.watch(job.key)
            elif tail:
                with st.expander(f"The last {len(tail)} lines of its output", key=f"output {job.id}"):
                    st.html(tail_html(tail))
    updates = health.recent_updates(_workshop().settings)
    if updates:
        heading("Updates")
        st.dataframe([update_row(each) for each in updates], hide_index=True, alt="Updates of corpora, the latest first")


def update_row(entry: Entry) -> dict[str, str]:
    """An update as a line of the table: what it found, and what became of it."""
    counts: dict[str, int] = {}
    for source in entry.sources.values():
        for name, count in source.counts.items():
            counts[name] = counts.get(name, 0) + count
    shown = [f"{counts[name]:,} {name}" for name in ("added", "changed", "removed", "failed", "withheld") if counts.get(name)]
    return {
        "ended": when(entry.at),
        "corpus": entry.corpus,
        "outcome": f"{entry.outcome} (exit code {entry.exit_code})" if entry.exit_code else entry.outcome,
        "generation": entry.generation,
        "documents": ", ".join(shown) or "no change",
        "Recall@5": " → ".join(f"{figure:.3f}" for figure in entry.recall),
        "took": human_seconds(entry.seconds),
        "sources": ", ".join(source.place for source in entry.sources.values()),
        "message": entry.message,
    }


def job_html(job: Job) -> str:
    """A job in words."""
    words = {"running": "• running", "done": "✓ done", "failed": "✗ failed", "cancelled": "– cancelled", "died": "✗ ended without a word"}
    far = progress_line(job.stage, job.done, job.total, None) if job.stage and job.state != "done" else ""
    facts = " · ".join(part for part in (f"started {when(job.started)}", far, job.id) if part)
    said = f"<br>{escape(_cut(job.message))}" if job.message else ""
    return f'<div class="sl-line"><b>{escape(job.title)}</b> · {words[job.state]}<br><span>{escape(facts)}</span>{said}</div>'


def _cut(text: str) -> str:
    """A message as far as a reader goes; the whole of it is in the job's folder."""
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def tail_html(lines: Sequence[str]) -> str:
    """Lines of output, as text."""
    return f'<div class="sl-tail" tabindex="0" role="region" aria-label="Output">{escape(chr(10).join(lines))}</div>'


def draw_errors(corpus: Corpus | None, colours: Palette) -> None:
    """What went wrong lately and left a trace."""
    del corpus, colours
    found = _kept("errors", lambda: health.recent_errors(_workshop().settings))
    if not found:
        st.html(cards.notice(["Nothing that left a trace: no job has failed, no answer has broken off, no run left a configuration out."]))
        return
    st.html(errors_html(found))


def errors_html(found: Sequence[Trouble]) -> str:
    """Failures, the latest first."""
    lines = [
        f'<div>{escape(when(each.at))}</div><b>{escape(each.where)}</b><div class="sl-wide">{escape(_cut(each.what))}</div>'
        for each in found
    ]
    return f'<div class="sl-grid sl-errors">{"".join(lines)}</div>'
