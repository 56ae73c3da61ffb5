import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError
from sitt_core.store import layout
from sitt_core.store.layout import (
    CORPUS_FILE,
    check_corpus_name,
    corpus_names,
    current_generation,
    generations,
    index_file,
    index_files,
    new_file,
    new_generation,
    new_index_file,
    replace_text,
    storage_errors,
    write_lock,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store" / "tales"


def publish(folder: Path, *, failure: type[BaseException] | None = None) -> str:
    with new_generation(folder) as building:
        (building / CORPUS_FILE).write_bytes(b"")
        if failure:
            raise failure
    return current_generation(folder)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["a", "field-guide", "7", "x" * 63])
def test_a_corpus_name_becomes_a_folder(name: str) -> None:
    """Lower-case letters, digits and hyphens make a name, and it comes back as it is."""
    assert check_corpus_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "-a", "a b", "a/b", "..", "../a", "a\n", "ä", "x" * 64, "a\x00", "CURRENT", ".a"])
def test_any_other_corpus_name_is_refused(name: str) -> None:
    """A name that could leave the store, or differ between systems, is a named error."""
    with pytest.raises(InvalidInput, match="letters, digits and hyphens"):
        check_corpus_name(name)


def test_only_published_corpora_are_named(folder: Path) -> None:
    """A corpus counts once it has a CURRENT; a store that is not there, or is a file, holds none."""
    assert corpus_names(folder.parent) == ()
    folder.mkdir(parents=True)
    (folder.parent / "notes").write_text("")
    assert corpus_names(folder.parent) == ()
    assert corpus_names(folder.parent / "notes") == ()
    publish(folder)
    publish(folder.with_name("atlas"))
    assert corpus_names(folder.parent) == ("atlas", "tales")


def test_a_missing_corpus_names_those_there_are(folder: Path) -> None:
    """Without CURRENT the corpus is not there; the error lists the others and the command that makes one."""
    publish(folder.with_name("atlas"))
    with pytest.raises(NotFound, match=r"there are: atlas.*got 'tales'.*python -m sitt_core update"):
        current_generation(folder)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\n", id="a blank line"),
        pytest.param(b"garbage\n", id="garbage"),
        pytest.param(b"000009\n", id="a generation that is not there"),
        pytest.param(b"../../atlas\n", id="a path"),
        pytest.param(b"1\n", id="another form"),
        pytest.param("٠٠٠٠٠١".encode(), id="other digits"),
        pytest.param(b"\xff\xfe\x00", id="no text"),
    ],
)
def test_a_current_that_names_nothing_is_a_named_error(folder: Path, content: bytes) -> None:
    """Whatever CURRENT holds instead of a generation, the error names it and what to do."""
    publish(folder)
    (folder / "CURRENT").write_bytes(content)
    with pytest.raises(StoreError, match="CURRENT"):
        current_generation(folder)


def test_a_current_that_is_a_folder_is_a_named_error(folder: Path) -> None:
    """Even a folder in its place is a StoreError."""
    (folder / "CURRENT").mkdir(parents=True)
    with pytest.raises(StoreError, match="CURRENT"):
        current_generation(folder)


def test_rolling_back_is_writing_current(folder: Path) -> None:
    """CURRENT decides what is served, and the generation after a roll-back has a new name."""
    first, second = publish(folder), publish(folder)
    replace_text(folder / "CURRENT", first + "\n")
    assert current_generation(folder) == first
    assert publish(folder) == "000003"
    assert generations(folder) == (first, second, "000003")


def test_a_generation_appears_whole(folder: Path) -> None:
    """Until the block ends the old generation is current and the new one is not among the published."""
    publish(folder)
    with new_generation(folder) as building:
        (building / CORPUS_FILE).write_bytes(b"")
        assert current_generation(folder) == "000001"
        assert generations(folder) == ("000001",)
    assert current_generation(folder) == "000002"
    assert names(folder) == ["000001", "000002", "CURRENT"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failed_generation_leaves_nothing(folder: Path, failure: type[BaseException]) -> None:
    """A block that raises, by whatever, leaves the folder as it was."""
    publish(folder)
    with pytest.raises(failure):
        publish(folder, failure=failure)
    assert names(folder) == ["000001", "CURRENT"]
    assert current_generation(folder) == "000001"


def test_a_generation_that_cannot_be_named_current_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up just before CURRENT is written leaves what was served and nothing else."""
    publish(folder)

    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(layout, "replace_text", full)
        with pytest.raises(StoreError, match="disk space"):
            publish(folder)
    assert names(folder) == ["000001", "CURRENT"]
    assert publish(folder) == "000002"


def test_a_generation_that_is_current_stays_though_syncing_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once CURRENT names it, a generation is never removed by a late error."""
    really = layout.replace_text

    def late(path: Path, text: str) -> None:
        really(path, text)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(layout, "replace_text", late)
    with pytest.raises(StoreError):
        publish(folder)
    assert current_generation(folder) == "000001"


def test_leftovers_of_killed_processes_go(folder: Path) -> None:
    """The next publication removes half-built generations and such as were half removed, and takes no number twice."""
    publish(folder)
    for leftover in (".building-000002", "000004"):
        (folder / leftover).mkdir()
        (folder / leftover / "abc.1.duckdb").write_bytes(b"half")
    assert generations(folder) == ("000001",)
    assert publish(folder) == "000005"
    assert names(folder) == ["000001", "000005", "CURRENT"]


def test_three_generations_are_kept(folder: Path) -> None:
    """The oldest go, other files stay."""
    folder.mkdir(parents=True)
    (folder / "vectors").mkdir()
    for _ in range(5):
        publish(folder)
    assert generations(folder) == ("000003", "000004", "000005")
    assert (folder / "vectors").is_dir()


def test_generations_are_ordered_by_number(folder: Path) -> None:
    """A number is never taken twice, whatever is missing before it."""
    (folder / "000999").mkdir(parents=True)
    (folder / "000999" / CORPUS_FILE).write_bytes(b"")
    assert publish(folder) == "001000"
    assert generations(folder) == ("000999", "001000")


def test_index_files_are_numbered(tmp_path: Path) -> None:
    """The file built last counts, by number and not by name, and the next build has a new name."""
    assert index_file(tmp_path, "ab12") is None
    assert index_file(tmp_path / "nowhere", "ab12") is None
    assert new_index_file(tmp_path, "ab12").name == "ab12.1.duckdb"
    for number in (2, 9, 10):
        (tmp_path / f"ab12.{number}.duckdb").write_bytes(b"")
    found = index_file(tmp_path, "ab12")
    assert found is not None
    assert found.name == "ab12.10.duckdb"
    assert new_index_file(tmp_path, "ab12").name == "ab12.11.duckdb"
    assert new_index_file(tmp_path, "cd34").name == "cd34.1.duckdb"


def test_other_files_are_no_indexes(tmp_path: Path) -> None:
    """What is being built, a write-ahead log, a copy made by hand: none of them is an index, and none is in the way."""
    for name in (".building-ab12.2.duckdb", "ab12.1.duckdb.wal", "ab12.1 copy.duckdb", "ab12.x.duckdb", "corpus.duckdb", ".ab12.lock"):
        (tmp_path / name).write_bytes(b"")
    assert index_files(tmp_path) == {}
    assert index_file(tmp_path, "ab12") is None


def test_a_file_appears_whole(tmp_path: Path) -> None:
    """A new file is renamed into place at the end; when the block raises, the old one stays and nothing is left."""
    path = tmp_path / "facts"
    with new_file(path) as building:
        building.write_text("one")
        assert not path.exists()
    with pytest.raises(UnicodeEncodeError), new_file(path) as building:
        building.write_text("two \ud800", encoding="utf-8")
    assert path.read_text() == "one"
    assert names(tmp_path) == ["facts"]


@contextmanager
def another_process(folder: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """A real process that holds the lock until it is killed."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom sitt_core.store.layout import write_lock\n"
        f"with write_lock(Path({str(folder)!r}), {name!r}):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_another_process_that_writes_is_busy_until_it_dies(folder: Path) -> None:
    """The lock of a real process refuses at once, leaves other names free, and goes with the process though it was killed."""
    with another_process(folder, "update") as process:
        with pytest.raises(Busy, match=r"writing update of tales.*try again"), write_lock(folder, "update"):
            pytest.fail("the lock was taken twice")
        with write_lock(folder, "other"):
            pass
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    with write_lock(folder, "update"):
        pass


def test_a_lock_is_freed_when_its_block_raises(folder: Path) -> None:
    """An error inside lets the next writer in."""
    with pytest.raises(ValueError, match="no"), write_lock(folder, "update"):
        raise ValueError("no")
    with write_lock(folder, "update"), pytest.raises(Busy), write_lock(folder, "update"):
        pass


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        pytest.param(errno.ENOSPC, "Free some disk space", id="disk full"),
        pytest.param(errno.EACCES, "SITT_DATA_DIR", id="no permission"),
        pytest.param(errno.EPERM, "SITT_DATA_DIR", id="not permitted"),
        pytest.param(errno.EROFS, "a disk that can be written", id="read-only disk"),
        pytest.param(errno.EIO, "Check the disk", id="anything else"),
    ],
)
def test_the_systems_errors_become_named_ones(tmp_path: Path, code: int, remedy: str) -> None:
    """A fault of disk or permissions says where, what the system said and what to do."""
    with pytest.raises(StoreError, match=rf"to write in {tmp_path.name}; got {os.strerror(code)}.*{remedy}"), storage_errors(tmp_path):
        raise OSError(code, os.strerror(code))


def test_other_errors_pass(tmp_path: Path) -> None:
    """What is no fault of the system keeps its own name."""
    with pytest.raises(ValueError, match="mine"), storage_errors(tmp_path):
        raise ValueError("mine")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda place: write_lock(place, "update").__enter__(), id="lock"),
        pytest.param(lambda place: new_generation(place).__enter__(), id="generation"),
        pytest.param(lambda place: replace_text(place / "CURRENT", ""), id="file"),
    ],
)
def test_a_file_where_a_folder_should_be_is_a_named_error(tmp_path: Path, write: object) -> None:
    """Nothing of the store can be written below a file, and each way of trying says so."""
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match="to write in"):
        write(tmp_path / "store" / "tales")  # type: ignore[operator]


def test_a_disk_that_fills_up_while_a_file_is_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named error keeps the old content and removes the part."""
    replace_text(tmp_path / "CURRENT", "old")

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(layout, "sync", full)
    with pytest.raises(StoreError, match="nothing that was stored is lost"):
        replace_text(tmp_path / "CURRENT", "new")
    assert (tmp_path / "CURRENT").read_text() == "old"
    assert names(tmp_path) == ["CURRENT"]
