"""Models made once: by one of many that ask, again when the file is not the one that was made, and never half."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from sitt_core.embedding import converted as module
from sitt_core.embedding.converted import converted
from sitt_core.errors import Cancelled, ModelError
from sitt_core.types import Matrix

ARRAYS = {"vectors": np.arange(12, dtype=np.float32).reshape(3, 4), "low 0": np.ones(2, np.float32)}


class Maker:
    """Makes `ARRAYS` and counts how often."""

    def __init__(self) -> None:
        self.made = 0
        self.told: list[str] = []

    def __call__(self) -> dict[str, Matrix]:
        self.made += 1
        return ARRAYS

    def get(self, path: Path, recipe: str = "weights 1") -> dict[str, Matrix]:
        return converted(path, recipe=recipe, make=self, say=self.told.append)


@pytest.fixture
def maker() -> Maker:
    return Maker()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "models" / "tiny.model"


def test_it_is_made_once_and_then_read(maker: Maker, path: Path) -> None:
    """The second call gets the same arrays from the file, and says nothing; nothing half written is left beside it."""
    first, second = maker.get(path), maker.get(path)
    assert maker.made == 1
    for name, array in ARRAYS.items():
        assert np.array_equal(first[name], array)
        assert np.array_equal(second[name], array)
        assert second[name].dtype == np.float32
    assert [sentence.split(",")[0] for sentence in maker.told] == ["Preparing the model tiny", "The model tiny is ready."]
    assert {each.suffix for each in path.parent.iterdir()} <= {".model", ".lock"}


def _flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE = {
    "one bit of the arrays": lambda data: _flip(data, len(data) // 2),
    "the last bit": lambda data: _flip(data, len(data) - 1),
    "one bit of the recipe": lambda data: _flip(data, 15),
    "truncated": lambda data: data[:-7],
    "empty": lambda _: b"",
    "no JSON": lambda data: b"x" + data,
    "JSON of another kind": lambda data: b"[]\n" + data.partition(b"\n")[2],
    "longer": lambda data: data + b"\n",
    "not UTF-8": lambda data: b"\xff\xfe" + data,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_made_again(damage: object, maker: Maker, path: Path) -> None:
    """Whatever has happened to the file, what comes back is what was made, and the file is whole again."""
    maker.get(path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert np.array_equal(maker.get(path)["vectors"], ARRAYS["vectors"])
    assert maker.made == 2
    maker.get(path)
    assert maker.made == 2


def test_another_recipe_makes_it_again(maker: Maker, path: Path) -> None:
    """A file made from other source weights is not used, however whole it is."""
    maker.get(path, "weights 1")
    maker.get(path, "weights 2")
    assert maker.made == 2


def test_a_failure_leaves_nothing_and_is_not_remembered(maker: Maker, path: Path) -> None:
    """What stops the making comes out as it is; the next call makes it."""

    def stopped() -> dict[str, Matrix]:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        converted(path, recipe="weights 1", make=stopped, say=maker.told.append)
    assert not list(path.parent.glob("*.part"))
    assert not path.exists()
    assert np.array_equal(maker.get(path)["vectors"], ARRAYS["vectors"])


def test_a_failed_write_leaves_what_was_there(maker: Maker, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is a named error that says where; no half file stays, and the old one is untouched."""
    maker.get(path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(ModelError, match=r"tiny to .*models; got .*No space left.*SITT_DATA_DIR"):
        maker.get(path, "weights 2")
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.part"))


def test_a_folder_that_cannot_be_made_is_named(maker: Maker, tmp_path: Path) -> None:
    """A file where the folder should be is a ModelError."""
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(ModelError, match="models"):
        maker.get(tmp_path / "models" / "tiny.model")
    assert maker.made == 0


def test_a_model_that_is_there_needs_no_lock(maker: Maker, path: Path) -> None:
    """Reading does not wait for anybody, so that it works in a folder that cannot be written."""
    maker.get(path)
    with FileLock(path.with_suffix(".lock")):
        assert np.array_equal(maker.get(path)["vectors"], ARRAYS["vectors"])
    assert maker.made == 1


def test_waiting_for_another_process_ends(maker: Maker, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the one that holds the lock never finishes, that is a named error."""
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.05)
    path.parent.mkdir()
    with FileLock(path.with_suffix(".lock")), pytest.raises(ModelError, match="another process"):
        maker.get(path)
    assert maker.made == 0


CHILD = """
import sys
from pathlib import Path
import numpy as np
from sitt_core.embedding.converted import converted
path = Path(sys.argv[1])
def make():
    with (path.parent / "makers").open("a") as log:
        log.write("one\\n")
    sys.stdin.readline()  # until the test has seen both ask
    return {"vectors": np.ones((2, 2), np.float32)}
print("asking", flush=True)
print(converted(path, recipe="weights 1", make=make, say=lambda _: None)["vectors"].sum())
"""


def test_two_processes_at_once_make_it_once(path: Path) -> None:
    """One makes it, the other waits for it, and both have it."""
    command = [sys.executable, "-c", CHILD, str(path)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) for _ in range(2)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "asking\n"
    for child in children:  # both, since whoever waits for the other needs no word
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=120)[0] for child in children]
    assert answers == ["4.0\n", "4.0\n"]
    assert (path.parent / "makers").read_text() == "one\n"
