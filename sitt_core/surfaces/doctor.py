"""Whether this machine can run SITT Lab, check by check, and how to mend what fails."""

import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from sitt_core.build import Workshop
from sitt_core.configuration import PROVIDER_KEYS
from sitt_core.errors import SittError
from sitt_core.settings import KEYS, Settings
from sitt_core.store.extensions import vss_version
from sitt_core.store.layout import storage_errors
from sitt_core.text import count_tokens

SIMILAR = ("Which lake is the monster said to live in?", "A creature was reported in the loch.")
DISSIMILAR = "The committee postponed its vote on the parking regulations."


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `state` is ok, note (fine, but worth knowing) or failed; a failed one says how to mend it."""

    name: str
    state: str
    detail: str
    remedy: str = ""


def run_checks(settings: Settings, corpus: str = "") -> list[Check]:
    """Every check, and that of a corpus if one is named; none of them leaves anything behind but the data folder itself."""
    checks: dict[str, Callable[[Settings], Check]] = {
        "python": _python,
        "packages": _packages,
        "duckdb vss": _vss,
        "tokenizer": _tokens,
        "embedder": _model,
        "data folder": _data_dir,
        "keys": _keys,
        "judge": _judge,
        "port": _port,
    }
    if corpus:
        checks[f"corpus {corpus}"] = partial(_corpus, corpus)
    return [_guarded(name, check, settings) for name, check in checks.items()]


def _guarded(name: str, check: Callable[[Settings], Check], settings: Settings) -> Check:
    try:
        return check(settings)
    except SittError as error:
        return Check(name, "failed", f"expected {error.expected}; got {error.got}", error.remedy)
    except Exception as error:
        return Check(name, "failed", f"{type(error).__name__}: {error}", "Install the requirements again: make install")


def _python(_: Settings) -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    fine = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Check("python", "ok" if fine else "failed", found, "" if fine else "Use Python 3.11, 3.12 or 3.13.")


def _packages(_: Settings) -> Check:
    found, missing = [], []
    for name in ("streamlit", "duckdb", "bm25s", "rank-bm25", "openvino", "tokenizers"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("packages", "failed", f"missing: {', '.join(missing)}", "Install the requirements again: make install")
    return Check("packages", "ok", ", ".join(found))


def _vss(_: Settings) -> Check:
    return Check("duckdb vss", "ok", f"loads, version {vss_version()}")


def _tokens(_: Settings) -> Check:
    return Check(
        "tokenizer", "ok", f"cl100k_base from the package: {count_tokens('Something in the trees')} tokens in “Something in the trees”"
    )


def _model(settings: Settings) -> Check:
    """Loads the default embedder, which checks its weights by hash, and compares a known pair."""
    embedder = Workshop(settings).embedder(settings.defaults)
    question, similar, other = embedder.embed_passages([*SIMILAR, DISSIMILAR])
    near, far = float(question @ similar), float(question @ other)
    detail = f"{embedder.name}: cosine {near:.2f} for a similar pair of sentences, {far:.2f} for a dissimilar one"
    if near > far + 0.2:
        return Check("embedder", "ok", detail)
    return Check("embedder", "failed", detail, "Install the requirements again: make install")


def _corpus(name: str, settings: Settings) -> Check:
    """Opens the corpus, and the index if it has been built."""
    workshop = Workshop(settings)
    opened = workshop.corpus(name)
    told = f"generation {opened.generation}, {len(opened.documents):,} documents"
    if not opened.has_index_for(settings.defaults):
        return Check(f"corpus {name}", "note", f"{told}; index {settings.defaults.slug} needs building")
    index = workshop.engine(opened, settings.defaults).index
    return Check(f"corpus {name}", "ok", f"{told}; index {settings.defaults.slug} opens, {len(index.chunk_ids):,} chunks")


def _data_dir(settings: Settings) -> Check:
    with storage_errors(settings.data_dir):
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        probe = settings.data_dir / ".doctor"
        probe.write_bytes(b"ok")
        probe.unlink()
    free = shutil.disk_usage(settings.data_dir).free / 2**30
    state = "ok" if free > 1 else "note"
    return Check("data folder", state, f"{settings.data_dir} can be written; {free:.0f} GB free")


def _keys(settings: Settings) -> Check:
    return Check(
        "keys", "note", "; ".join(f"{name} {'present' if name in settings.keys_present else 'not set'}" for name in KEYS) + " (optional)"
    )


def _judge(settings: Settings) -> Check:
    """Who would judge answers and draft questions; that nobody can is worth knowing, a named one without its key is a mistake."""
    models, judge = settings.models, Workshop(settings).judge(())
    told = {"JUDGE_PROVIDER": models.judge_provider, "JUDGE_MODEL": models.judge_model}
    named = [f"{name}={value}" for name, value in told.items() if value]
    if judge is None:
        keys = ", ".join(PROVIDER_KEYS.values())
        detail = "nobody can judge answers or draft questions: the lab compares answers with references by code alone"
        return Check("judge", "note", detail, f"Set one of {keys}, or JUDGE_PROVIDER=ollama for a model of this machine. Optional.")
    key = PROVIDER_KEYS.get(judge.provider, "")
    price = "its price is not known" if judge.price is None else f"${judge.price.input:g} and ${judge.price.output:g} per million tokens"
    detail = f"{judge.provider} {judge.model} would judge answers and draft questions; {price}" + f" ({', '.join(named)})" * bool(named)
    if key and key not in settings.keys_present:
        return Check("judge", "failed", f"{detail}; it needs {key}, which is not set", f"Set {key}, or name another JUDGE_PROVIDER.")
    return Check("judge", "ok", detail)


def _port(settings: Settings) -> Check:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", settings.port)) == 0:
            return Check("port", "note", f"{settings.port} is in use: by the dashboard, if it is running; else choose another with PORT=…")
    return Check("port", "ok", f"{settings.port} is free")
