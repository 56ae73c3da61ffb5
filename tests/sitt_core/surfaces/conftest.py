import shutil
from pathlib import Path

import pytest
import typer.testing
from typer.testing import CliRunner, Result

from sitt_core import build
from sitt_core.surfaces import cli
from tests.fakes.command_line import Run, environment, write_notes
from tests.fakes.embedder import HashEmbedder


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path / "data").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "data"


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> HashEmbedder:
    """The one that every command of the test gets."""
    made = HashEmbedder()
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: made)
    return made


@pytest.fixture
def run(data_dir: Path, embedder: HashEmbedder) -> Run:
    """Runs a command in this process."""

    def invoke(*arguments: str, answer: str | None = None) -> Result:
        return CliRunner().invoke(cli.app, list(arguments), input=answer)

    return invoke


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a corpus of the notes, made once by the command line itself."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(build.EMBEDDERS, "minilm", lambda **_: HashEmbedder())
        command = ["update", "--source", f"markdown:{write_notes(folder / 'notes')}", "--corpus", "notes", "--yes"]
        assert CliRunner().invoke(cli.app, command, env=environment(folder / "data")).exit_code == 0
    return folder / "data" / "store"


@pytest.fixture
def made(run: Run, published: Path, data_dir: Path) -> Run:
    """`run`, with a corpus of the notes."""
    shutil.copytree(published, data_dir / "store")
    return run


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is a terminal, at which one can be asked."""
    monkeypatch.setattr(typer.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
