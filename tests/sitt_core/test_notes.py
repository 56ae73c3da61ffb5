import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from sitt_core import notes
from sitt_core.configuration import Configuration
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError

FIELDS = Configuration().to_dict()


def questions(folder: Path, corpus: str = "tales") -> list[str]:
    return [each.question for each in notes.recent(folder, corpus)]


def test_presets_are_saved_replaced_listed_and_deleted(tmp_path: Path) -> None:
    """Every field under the name, the latest under a name counts, listed without regard to case."""
    folder = tmp_path / "notes"
    assert notes.presets(folder) == {}
    for name, top_k in (("wide", 20), (" Deep ", 9), ("wide", 30)):
        notes.save_preset(folder, name, {**FIELDS, "top_k": top_k})
    assert [(name, fields["top_k"]) for name, fields in notes.presets(folder).items()] == [("Deep", 9), ("wide", 30)]
    assert notes.presets(folder)["Deep"].keys() == FIELDS.keys()
    notes.delete_preset(folder, "Deep")
    assert list(notes.presets(folder)) == ["wide"]
    with pytest.raises(NotFound, match="deleted in another window"):
        notes.delete_preset(folder, "Deep")


@pytest.mark.parametrize(
    "name", ["", "  ", "x" * 61, "a\nb", "a\x00b", "a\ud800b"], ids=["empty", "blank", "long", "line", "NUL", "surrogate"]
)
def test_a_name_that_cannot_be_used_is_named(tmp_path: Path, name: str) -> None:
    """Refused before anything is written."""
    with pytest.raises(InvalidInput, match="a name of 1 to 60 printable characters"):
        notes.save_preset(tmp_path, name, FIELDS)
    assert list(tmp_path.iterdir()) == []


def test_there_is_an_end_to_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One above the limit is refused; one in place of another is not."""
    monkeypatch.setattr(notes, "MAX_PRESETS", 2)
    for name in ("a", "b", "a"):
        notes.save_preset(tmp_path, name, FIELDS)
    with pytest.raises(InvalidInput, match="at most 2 presets"):
        notes.save_preset(tmp_path, "c", FIELDS)
    assert list(notes.presets(tmp_path)) == ["a", "b"]


def test_recent_questions_come_latest_first_once_each_by_corpus(tmp_path: Path) -> None:
    """Asked again, a question moves up with the configuration and filters of this time; corpora do not mix."""
    notes.remember(tmp_path, "tales", "who?", FIELDS)
    notes.remember(tmp_path, "tales", "where?", FIELDS)
    notes.remember(tmp_path, "tales", "who?", {**FIELDS, "top_k": 9}, {"category": ("winged",)})
    notes.remember(tmp_path, "other", "what?", FIELDS)
    assert questions(tmp_path) == ["who?", "where?"]
    assert questions(tmp_path, "other") == ["what?"]
    latest = notes.recent(tmp_path, "tales")[0]
    assert (latest.fields["top_k"], latest.filters) == (9, {"category": ["winged"]})
    assert latest.asked > 0


def test_the_latest_fifty_are_kept(tmp_path: Path) -> None:
    """The oldest goes when another comes."""
    for at in range(notes.KEPT_RECENT + 3):
        notes.remember(tmp_path, "tales", f"question {at}", FIELDS)
    assert questions(tmp_path) == [f"question {at}" for at in range(notes.KEPT_RECENT + 2, 2, -1)]


def test_asking_the_same_again_writes_nothing(tmp_path: Path) -> None:
    """A page that draws itself again leaves the file alone."""
    notes.remember(tmp_path, "tales", "who?", FIELDS, {"region": ("Asia",)})
    before = (tmp_path / "recent.json").stat()
    notes.remember(tmp_path, "tales", "who?", FIELDS, {"region": ("Asia",)})
    after = (tmp_path / "recent.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_recent_questions_can_be_forgotten(tmp_path: Path) -> None:
    """One, or all of a corpus; nothing of them stays in the folder."""
    for question in ("who?", "a secret", "where?"):
        notes.remember(tmp_path, "tales", question, FIELDS)
    notes.remember(tmp_path, "other", "what?", FIELDS)
    notes.forget(tmp_path, "tales", "a secret")
    assert questions(tmp_path) == ["where?", "who?"]
    notes.forget(tmp_path, "tales")
    notes.forget(tmp_path, "tales")
    assert questions(tmp_path) == []
    assert questions(tmp_path, "other") == ["what?"]
    kept = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert "secret" not in kept
    assert "who?" not in kept


@pytest.mark.parametrize("held", ["{", "[]", '{"tales": [{"question": "who?"}]}', '{"tales": 7}'], ids=["half", "list", "entry", "number"])
def test_a_damaged_file_is_a_named_error_and_stays(tmp_path: Path, held: str) -> None:
    """It is neither read as empty nor written over."""
    path = tmp_path / "recent.json"
    path.write_text(held, encoding="utf-8")
    with pytest.raises(StoreError, match=r"recent\.json to hold notes"):
        notes.recent(tmp_path, "tales")
    with pytest.raises(StoreError, match="or move it away"):
        notes.remember(tmp_path, "tales", "where?", FIELDS)
    assert path.read_text(encoding="utf-8") == held


def test_a_folder_that_cannot_be_made_is_a_named_error(tmp_path: Path) -> None:
    """Where a file stands in the way."""
    (tmp_path / "notes").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match=r"to write presets\.json"):
        notes.save_preset(tmp_path / "notes", "a", FIELDS)


def test_a_write_that_fails_leaves_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the old file stays whole and no half file remains."""
    notes.save_preset(tmp_path, "a", FIELDS)

    def full(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "write_text", full)
        with pytest.raises(StoreError, match="No space left"):
            notes.save_preset(tmp_path, "b", FIELDS)
    assert list(notes.presets(tmp_path)) == ["a"]
    assert list(tmp_path.glob("*.part")) == []


def test_a_held_lock_is_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long is told that another process is writing."""
    monkeypatch.setattr(notes, "LOCK_SECONDS", 0.0)
    with FileLock(tmp_path / "presets.lock"), ThreadPoolExecutor(1) as another, pytest.raises(Busy, match="another process"):
        another.submit(notes.save_preset, tmp_path, "a", FIELDS).result()


WRITER = "import sys; from pathlib import Path; from sitt_core import notes\nfor at in range(20): notes.save_preset(Path(sys.argv[1]), f'{sys.argv[2]} {at}', {'top_k': at})"


def test_two_processes_lose_nothing_of_each_others(tmp_path: Path) -> None:
    """What both save at once is all there, and a reader meets whole files only."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("one", "two")]
    while any(writer.poll() is None for writer in writers):
        notes.presets(tmp_path)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(notes.presets(tmp_path)) == 40
    assert json.loads((tmp_path / "presets.json").read_text(encoding="utf-8")).keys() == notes.presets(tmp_path).keys()
