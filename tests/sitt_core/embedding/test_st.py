"""Any sentence-transformers model: as the library runs it, with windows; or a clear message, soon."""

import json
import shutil
import socket
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sitt_core.embedding import st as module
from sitt_core.embedding.minilm import PACKAGE
from sitt_core.embedding.st import SentenceTransformerEmbedder, load_st
from sitt_core.errors import Cancelled, InvalidInput, ModelError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS = ["Bigfoot", "What is the Mothman said to look like?", "二酸化炭素と河童について。", "🦶🏽", "\u200b", "a [SEP] b", "lake " * 254]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, reference: "SentenceTransformer") -> Path:
    """A copy of the packaged model."""
    copy = tmp_path_factory.mktemp("st") / "my model"
    shutil.copytree(str(resources.files(PACKAGE) / "model"), copy)
    return copy


@pytest.fixture(scope="module")
def embedder(folder: Path) -> SentenceTransformerEmbedder:
    return load_st(f"st:{folder}")


def test_equals_the_library(embedder: SentenceTransformerEmbedder, reference: "SentenceTransformer") -> None:
    """Texts within the limit have the library's own vectors, as passages and as questions."""
    expected = reference.encode(TEXTS)
    assert np.sum(embedder.embed_passages(TEXTS) * expected, axis=1).min() >= 0.9999
    assert np.sum(embedder.embed_queries(TEXTS) * expected, axis=1).min() >= 0.9999
    assert (embedder.dimension, embedder.limit) == (384, 254)


def test_long_texts_are_windowed(embedder: SentenceTransformerEmbedder, reference: "SentenceTransformer") -> None:
    """Σ nᵢuᵢ / ‖Σ nᵢuᵢ‖ over windows cut between words: here 254 and 46 wordpieces."""
    text = "lake " * 280 + "moth " * 20
    total = 254 * reference.encode("lake " * 254) + 46 * reference.encode("lake " * 26 + "moth " * 20)
    assert embedder.embed_passages([text])[0] @ (total / np.linalg.norm(total)) >= 0.9999
    assert embedder.count_tokens([text, "日本" * 200, "\u200b"]) == [300, 400, 0]


def test_truncate_is_what_the_library_does(folder: Path, reference: "SentenceTransformer") -> None:
    """With `truncate`, what stands behind the limit is not read."""
    text = "lake " * 280 + "moth " * 20
    cut = load_st(f"st:{folder}", overlong="truncate")
    assert cut.embed_passages([text])[0] @ reference.encode(text) >= 0.9999


def test_a_slice_that_grew_is_halved(embedder: SentenceTransformerEmbedder) -> None:
    """What has more tokens than the limit once it stands alone is read in parts, not cut."""
    parts = embedder._fitting("lake " * 400 + "moth")
    assert "".join(parts) == "lake " * 400 + "moth"
    assert max(embedder.count_tokens(parts)) <= embedder.limit


def test_eight_threads_at_once(embedder: SentenceTransformerEmbedder) -> None:
    """Questions from many threads take turns and get the vectors that they get one after another."""
    questions = [f"question {number} about lake {number % 7}" for number in range(24)]
    expected = np.vstack([embedder.embed_queries([question]) for question in questions])
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda question: embedder.embed_queries([question])[0], questions))
    assert np.vstack(rows) == pytest.approx(expected, abs=1e-4)


def test_progress_adds_up_and_cancels(embedder: SentenceTransformerEmbedder) -> None:
    """`progress` hears every text once; raising in it stops the call."""
    heard: list[int] = []
    embedder.embed_passages([f"lake {number}" for number in range(70)], progress=heard.append)
    assert (sum(heard), len(heard)) == (70, 3)

    def stop(_: int) -> None:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        embedder.embed_passages(["lake"], progress=stop)


@pytest.mark.parametrize(("text", "message"), [("", "text 0"), (" \n", "text 0"), ("\ud800 x", "Unicode")])
def test_what_is_no_text_is_refused(text: str, message: str, embedder: SentenceTransformerEmbedder) -> None:
    """Blank ones and lone surrogates are named errors."""
    with pytest.raises(InvalidInput, match=message):
        embedder.embed_passages([text])


def test_prompts_of_the_model_are_used(folder: Path, tmp_path: Path, reference: "SentenceTransformer") -> None:
    """A model that declares prompts gets them before questions and passages, and its limit is shorter by the longer one."""
    prompted = tmp_path / "prompted"
    shutil.copytree(folder, prompted)
    settings = prompted / "config_sentence_transformers.json"
    facts = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps({**facts, "prompts": {"query": "query: ", "passage": "passage to find: "}}))
    embedder = load_st(f"st:{prompted}")
    assert embedder.embed_queries(["lake"])[0] @ reference.encode("query: lake") >= 0.9999
    assert embedder.embed_passages(["lake"])[0] @ reference.encode("passage to find: lake") >= 0.9999
    assert embedder.limit == 254 - 4
    assert embedder.fingerprint != load_st(f"st:{folder}").fingerprint


def test_the_fingerprint_follows_the_files(folder: Path, embedder: SentenceTransformerEmbedder, tmp_path: Path) -> None:
    """The same files elsewhere are the same model, whatever stands beside them; other weights of the same name are not."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "README.md").write_text("Another description.")
    assert module._sha256(copy) == embedder.sha256
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert module._sha256(copy) != embedder.sha256
    assert embedder.sha256 in embedder.fingerprint
    assert embedder.fingerprint != load_st(f"st:{folder}", overlong="truncate").fingerprint


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("st:/no/such/folder", "no folder there", id="no folder"),
        pytest.param("st:~nobody-of-that-name/model", "model", id="home of nobody"),
        pytest.param("st:/" + "x" * 280, "Check the path", id="too long a path"),
        pytest.param("st:../model", "whole path", id="relative"),
        pytest.param("st:two words", "whole path", id="no name"),
        pytest.param("st:a/b/c", "whole path", id="too many parts"),
    ],
)
def test_a_name_that_cannot_be_is_refused_at_once(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without asking anybody."""
    monkeypatch.setattr(module, "_downloaded", lambda _: pytest.fail("asked the hub"))
    with pytest.raises(ModelError, match=message):
        load_st(name)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    """An empty folder, and one whose configuration is of nothing the library knows."""
    with pytest.raises(ModelError, match=r"modules\.json"):
        load_st(f"st:{tmp_path}")
    (tmp_path / "config.json").write_text("{}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ModelError, match="a sentence-transformers model in"):
            load_st(f"st:{tmp_path}")


def test_a_models_own_code_is_not_run(folder: Path, tmp_path: Path) -> None:
    """A folder whose module is a Python file beside it is refused, and the file is not executed."""
    hostile = tmp_path / "hostile"
    shutil.copytree(folder, hostile)
    (hostile / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    modules = json.loads((hostile / "modules.json").read_text())
    (hostile / "modules.json").write_text(json.dumps([{**modules[0], "type": "evil.Evil"}, *modules[1:]]))
    with pytest.raises(ModelError):
        load_st(f"st:{hostile}")
    assert not (tmp_path / "ran").exists()


class Hub(BaseHTTPRequestHandler):
    """A hub that knows no model."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """The library with an empty cache, allowed to ask a hub."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "REACH_SECONDS", 0.5)
    return monkeypatch


def test_a_model_that_the_hub_does_not_know(online: pytest.MonkeyPatch) -> None:
    """The message says that it is the name."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        online.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        with pytest.raises(ModelError, match=r"name of a model on the hub; got nobody/nothing"):
            load_st("st:nobody/nothing")
        server.shutdown()


@pytest.mark.parametrize("listening", [True, False], ids=["does not answer", "is not there"])
def test_a_hub_that_cannot_be_reached(listening: bool, online: pytest.MonkeyPatch) -> None:
    """One attempt with a time-out, then a message that says what to do; a name without an owner is one of the library's own."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if listening:
            server.listen()
        online.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(ModelError, match=r"sentence-transformers/some-model on this machine.*neither.*name its folder"):
            load_st("st:some-model")


def test_offline_by_choice_asks_nobody(online: pytest.MonkeyPatch) -> None:
    """With HF_HUB_OFFLINE the answer is the same."""
    online.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="neither"):
        load_st("st:some-model")


def test_a_model_in_the_cache_needs_no_hub(online: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    """What was downloaded once is found by its name; a download that was cut short is not taken for it."""
    snapshot = tmp_path / "cache" / "models--me--mine" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("a" * 40)
    shutil.copy(folder / "config.json", snapshot)
    assert module._cached("me/mine") is None
    shutil.copy(folder / "model.safetensors", snapshot)
    online.setattr(module, "_downloaded", lambda _: pytest.fail("asked the hub"))
    assert module._folder_of("me/mine") == snapshot


def test_overlong_is_windows_or_truncate(folder: Path) -> None:
    """Any other treatment of long texts is refused."""
    with pytest.raises(InvalidInput, match="windows or truncate"):
        load_st(f"st:{folder}", overlong="drop")
