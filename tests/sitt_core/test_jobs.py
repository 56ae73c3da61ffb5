"""A job is a process of its own: its folder tells how it stands, whoever asks, and whatever became of it."""

import contextlib
import errno
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sitt_core import jobs
from sitt_core.errors import Busy, NotFound

ROOT = Path(__file__).parents[2]
TIMEOUT = 60.0

SCRIPT = """
import sys
from pathlib import Path
from sitt_core import jobs
from sitt_core.errors import InvalidInput

def say(word):
    print(word, flush=True)

def wait():
    sys.stdin.readline()

with jobs.running(Path(sys.argv[1])) as report:
{body}
"""


class Child:
    """A process that works on a job's folder, in step with the test through its standard streams."""

    def __init__(self, folder: Path, body: str) -> None:
        indented = "\n".join("    " + line for line in body.splitlines())
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT.format(body=indented), str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    def hear(self) -> str:
        """The next line that the child says."""
        out = self.process.stdout
        assert out is not None
        assert select.select([out], [], [], TIMEOUT)[0], "the child said nothing"
        return out.readline().decode().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")

    def end(self) -> int:
        return self.process.wait(timeout=TIMEOUT)


def write_facts(folder: Path, *, key: str = "k", pid: int = 0, started: float | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"title": "Build it", "key": key, "pid": pid, "started": time.time() if started is None else started}
    (folder / "job.json").write_text(json.dumps(facts), encoding="utf-8")


def write_result(folder: Path, state: str = "done", message: str = "") -> None:
    (folder / "result.json").write_text(json.dumps({"state": state, "message": message}), encoding="utf-8")


def write_progress(folder: Path, *lines: object, torn: str = "") -> None:
    (folder / "progress.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + torn, encoding="utf-8")


def end_of(jobs_dir: Path, job: jobs.Job) -> jobs.Job:
    """A job that `jobs.start` started, once its process has ended."""
    pid = json.loads((jobs_dir / job.id / "job.json").read_text(encoding="utf-8"))["pid"]
    jobs._children[pid].wait(timeout=TIMEOUT)
    return jobs.read(jobs_dir / job.id)


StartChild = Callable[..., Child]


@pytest.fixture
def start_child(tmp_path: Path) -> Iterator[StartChild]:
    """Starts a child on a job folder of this test; ends what is left of it afterwards."""
    with contextlib.ExitStack() as stack:

        def begin(body: str, name: str = "job", *, key: str = "k") -> Child:
            (tmp_path / name).mkdir()
            child = Child(tmp_path / name, body)
            stack.enter_context(child.process)
            stack.callback(child.process.kill)
            write_facts(tmp_path / name, key=key, pid=child.process.pid)
            return child

        yield begin


class TestStates:
    def test_running_then_done(self, start_child: StartChild, tmp_path: Path) -> None:
        """While its process holds the lock a job is running, even if it started long ago; afterwards it is done."""
        child = start_child("say('in')\nwait()")
        assert child.hear() == "in"
        write_facts(tmp_path / "job", pid=child.process.pid, started=0.0)
        job = jobs.read(tmp_path / "job")
        assert (job.id, job.title, job.key, job.state, job.started, job.message) == ("job", "Build it", "k", "running", 0.0, "")
        child.go_on()
        assert child.end() == 0
        assert (jobs.read(tmp_path / "job").state, jobs.read(tmp_path / "job").message) == ("done", "")

    def test_a_named_failure(self, start_child: StartChild, tmp_path: Path) -> None:
        """A job that a named error ended has failed, with the error's sentence."""
        child = start_child("raise InvalidInput(expected='a number', got='five', remedy='Type digits.')")
        assert child.end() == 1
        job = jobs.read(tmp_path / "job")
        assert (job.state, job.message) == ("failed", "expected a number; got five. Type digits.")

    def test_an_unexpected_failure(self, start_child: StartChild, tmp_path: Path) -> None:
        """A job that any other error ended has failed, and says where its last output is."""
        child = start_child("1 / 0")
        assert child.end() == 1
        job = jobs.read(tmp_path / "job")
        assert job.state == "failed"
        assert "output.log" in job.message

    def test_cancelled(self, start_child: StartChild, tmp_path: Path) -> None:
        """A job that is asked to stop stops at its next report, with what it has reported kept."""
        child = start_child("report('embed', 1, 9)\nsay('in')\nwait()\nreport('embed', 2, 9)\nsay('went on')")
        assert child.hear() == "in"
        jobs.cancel(tmp_path, "job")
        assert jobs.read(tmp_path / "job").state == "running"
        child.go_on()
        assert child.end() == 1
        assert child.hear() == ""
        job = jobs.read(tmp_path / "job")
        assert (job.state, job.stage, job.done, job.total) == ("cancelled", "embed", 2, 9)
        assert job.message.startswith("Stopped. What was embedded is kept")

    def test_died(self, start_child: StartChild, tmp_path: Path) -> None:
        """A job whose process was killed has died, at once and without anybody cleaning up, and its lock is free again."""
        child = start_child("say('in')\nwait()")
        assert child.hear() == "in"
        child.process.send_signal(signal.SIGKILL)
        assert child.end() == -signal.SIGKILL
        job = jobs.read(tmp_path / "job")
        assert job.state == "died"
        assert "output.log" in job.message
        again = Child(tmp_path / "job", "say('in')")
        with again.process:
            assert again.hear() == "in"
            again.end()
        assert jobs.read(tmp_path / "job").state == "done"

    @pytest.mark.parametrize(
        ("pid", "ago", "state"),
        [
            pytest.param(os.getpid(), 0, "running", id="about to take its lock"),
            pytest.param(os.getpid(), jobs.STARTING_SECONDS + 1, "died", id="never took its lock; the number is another process's now"),
            pytest.param(2**22 + 1, 0, "died", id="ended before it took its lock"),
            pytest.param(1, 0, "running", id="another user's process"),
        ],
    )
    def test_before_the_lock(self, tmp_path: Path, pid: int, ago: float, state: str) -> None:
        """A job without lock and result is starting as long as its process lives and its start is recent."""
        write_facts(tmp_path / "job", pid=pid, started=time.time() + (1000 if not ago else -ago))
        assert jobs.read(tmp_path / "job").state == state

    def test_the_result_outlives_the_lock(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A job that ends between the look at its lock and the look at its result has not died."""
        write_facts(tmp_path / "job", pid=2**22 + 1, started=0.0)

        def ends_now(lock: Path) -> bool:
            write_result(lock.parent)
            return False

        monkeypatch.setattr(jobs, "is_locked", ends_now)
        assert jobs.read(tmp_path / "job").state == "done"

    @pytest.mark.parametrize(
        "content",
        [None, "", '{"title": "half', "{}", "[]", "5", '{"title": "t", "key": "k", "pid": "x", "started": 1}'],
        ids=["missing", "empty", "half", "nothing in it", "a list", "a number", "no process"],
    )
    def test_no_job(self, tmp_path: Path, content: str | None) -> None:
        """A folder without a whole job.json is no job: a named error, and the list of jobs goes without it."""
        (folder := tmp_path / "job").mkdir()
        if content is not None:
            (folder / "job.json").write_text(content, encoding="utf-8")
        with pytest.raises(NotFound, match="expected a job's folder"):
            jobs.read(folder)
        assert jobs.recent(tmp_path) == []

    @pytest.mark.parametrize("damage", [b"\xff", b"5\n", b"[1]\n", b'["a", "embed", "b", 3]\n'], ids=["bytes", "number", "short", "words"])
    @pytest.mark.parametrize("result", ["", "{}", "[]"], ids=["half", "empty", "a list"])
    def test_damage(self, tmp_path: Path, damage: bytes, result: str) -> None:
        """Lines of progress that are none are passed over, and a result that is none counts as none."""
        write_facts(tmp_path / "job", pid=os.getpid(), started=time.time() - 100)
        (tmp_path / "job" / "progress.jsonl").write_bytes(b'[1, "embed", 2, 3]\n' + damage)
        (tmp_path / "job" / "result.json").write_text(result, encoding="utf-8")
        job = jobs.read(tmp_path / "job")
        assert (job.state, job.stage, job.done, job.total) == ("died", "embed", 2, 3)

    def test_where_nothing_can_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a read-only disk a job is still told; that it runs cannot be seen there."""
        write_facts(tmp_path / "job", pid=os.getpid(), started=time.time() - 100)

        def refuse(_self: object) -> None:
            raise OSError(errno.EROFS, "Read-only file system")

        monkeypatch.setattr(jobs.FileLock, "acquire", refuse)
        assert jobs.read(tmp_path / "job").state == "died"

    def test_only_the_job_is_niced(self, start_child: StartChild) -> None:
        """The job's process makes room for others; the one that started it stays as quick as it was."""
        before = os.nice(0)
        child = start_child("import os\nsay(os.nice(0))")
        assert child.hear() == str(min(19, before + 10))
        child.end()
        assert os.nice(0) == before


class TestProgress:
    def test_what_a_job_reports(self, start_child: StartChild, tmp_path: Path) -> None:
        """Every report can be read at once, while the job runs."""
        child = start_child("report('chunk', 3, 3)\nreport('embed', 64, 200)\nsay('in')\nwait()")
        assert child.hear() == "in"
        job = jobs.read(tmp_path / "job")
        assert (job.state, job.stage, job.done, job.total, job.seconds_left) == ("running", "embed", 64, 200, None)
        child.go_on()
        child.end()

    @pytest.mark.parametrize(
        ("lines", "torn", "stage", "done", "total", "left"),
        [
            pytest.param([], "", "", 0, 0, None, id="nothing yet"),
            pytest.param([[100.0, "embed", 0, 40]], "", "embed", 0, 40, None, id="one report"),
            pytest.param(
                [[100.0, "embed", 0, 40], [104.0, "embed", 10, 40]],
                "",
                "embed",
                10,
                40,
                (104 - 100) / (10 - 0) * (40 - 10),
                id="two reports",
            ),
            pytest.param(
                [[1.0, "chunk", 0, 9], [90.0, "chunk", 9, 9], [100.0, "embed", 20, 40], [105.0, "embed", 30, 40]],
                "",
                "embed",
                30,
                40,
                (105 - 100) / (30 - 20) * (40 - 30),
                id="this stage's pace alone, from where it began",
            ),
            pytest.param(
                [[100.0, "embed", 0, 40], [104.0, "embed", 10, 40]], '[108.0, "emb', "embed", 10, 40, 12.0, id="last line half written"
            ),
            pytest.param([[100.0, "embed", 0, 40]], "[108.0", "embed", 0, 40, None, id="only half a second line"),
        ],
    )
    def test_as_it_is_read(
        self, tmp_path: Path, lines: list[object], torn: str, stage: str, done: int, total: int, left: float | None
    ) -> None:
        """The last whole line counts, and the time left is that of its stage."""
        write_facts(tmp_path / "job")
        write_progress(tmp_path / "job", *lines, torn=torn)
        job = jobs.read(tmp_path / "job")
        assert (job.stage, job.done, job.total) == (stage, done, total)
        assert job.seconds_left == (None if left is None else pytest.approx(left))

    @pytest.mark.parametrize(
        ("points", "total", "left"),
        [
            pytest.param([], 10, None, id="no points"),
            pytest.param([(5.0, 3)], 10, None, id="one point"),
            pytest.param([(5.0, 3), (9.0, 3)], 10, None, id="no advance"),
            pytest.param([(5.0, 3), (9.0, 1)], 10, None, id="back"),
            pytest.param([(0.0, 0), (8.0, 4)], 10, 8 / 4 * (10 - 4), id="steady"),
            pytest.param([(0.0, 0), (1.0, 1), (8.0, 4)], 10, 8 / 4 * (10 - 4), id="the mean pace, not the last"),
            pytest.param([(0.0, 6), (8.0, 8)], 10, 8 / 2 * 2, id="what was done before does not count"),
            pytest.param([(0.0, 0), (8.0, 10)], 10, 0.0, id="finished"),
            pytest.param([(0.0, 0), (8.0, 12)], 10, 0.0, id="more than there was"),
        ],
    )
    def test_seconds_left(self, points: list[tuple[float, int]], total: int, left: float | None) -> None:
        """The remaining items at the pace since the first point; None before there is a pace."""
        assert jobs.seconds_left(points, total) == left


class TestFinding:
    def test_recent(self, tmp_path: Path) -> None:
        """The latest jobs come newest first; what is no job, or half of one, is passed over."""
        assert jobs.recent(tmp_path / "nothing here") == []
        for name in ("20260101-000000-a", "20260103-000000-c", "20260102-000000-b"):
            write_facts(tmp_path / name)
            write_result(tmp_path / name)
        (tmp_path / "20260104-000000-d").mkdir()
        (tmp_path / "20260105-000000-e").mkdir()
        (tmp_path / "20260105-000000-e" / "job.json").touch()
        assert [job.id[-1] for job in jobs.recent(tmp_path)] == ["c", "b", "a"]
        assert [job.id[-1] for job in jobs.recent(tmp_path, 2)] == ["c", "b"]

    def test_find_running(self, start_child: StartChild, tmp_path: Path) -> None:
        """The running job of a key is found however many have come after it; ended ones and other keys are not."""
        child = start_child("say('in')\nwait()", "20260101-000000-a")
        assert child.hear() == "in"
        for number in range(30):
            write_facts(tmp_path / f"20260102-0000{number:02}-b")
            write_result(tmp_path / f"20260102-0000{number:02}-b")
        found = jobs.find_running(tmp_path, "k")
        assert found is not None
        assert found.id == "20260101-000000-a"
        assert jobs.find_running(tmp_path, "other") is None
        child.go_on()
        child.end()
        assert jobs.find_running(tmp_path, "k") is None

    @pytest.mark.parametrize("job_id", ["nope", "", "..", "a\x00b"], ids=["unknown", "empty", "parent", "NUL"])
    def test_cancel_unknown(self, tmp_path: Path, job_id: str) -> None:
        """A job that is not there cannot be cancelled: a named error, and nothing is left behind."""
        with pytest.raises(NotFound, match="expected a job's id"):
            jobs.cancel(tmp_path / "jobs", job_id)
        assert list(tmp_path.iterdir()) == []


class TestStart:
    def test_a_command_that_fails(self, tmp_path: Path) -> None:
        """A real command runs as a job in the environment it is given, and its named failure is the job's."""
        environment = {"SITT_DATA_DIR": str(tmp_path / "data")}
        started = jobs.start(tmp_path, ["index", "--corpus", "nope"], title="Index nope", key="index nope", environment=environment)
        job = end_of(tmp_path, started)
        assert (job.id, job.title, job.key, job.state) == (started.id, "Index nope", "index nope", "failed")
        assert "nope" in job.message
        assert "nope" in (tmp_path / job.id / "output.log").read_text(encoding="utf-8")

    def test_a_command_that_never_becomes_a_job(self, tmp_path: Path) -> None:
        """A process that ends before it takes its lock has died, and its output is there to read."""
        job = end_of(tmp_path, jobs.start(tmp_path, ["--help"], title="Help", key="help"))
        assert job.state == "died"
        assert "Usage" in (tmp_path / job.id / "output.log").read_text(encoding="utf-8")

    def test_the_same_work_is_not_started_twice(self, start_child: StartChild, tmp_path: Path) -> None:
        """While a job of the key runs, starting it again finds that one."""
        child = start_child("say('in')\nwait()", key="update")
        assert child.hear() == "in"
        assert jobs.start(tmp_path, ["--help"], title="Again", key="update").id == "job"
        assert [path.name for path in tmp_path.iterdir()] == ["job"]
        child.go_on()
        child.end()

    def test_a_double_click_starts_one_job(self, tmp_path: Path) -> None:
        """Those who start the same work at the same moment all get the one job that does it."""
        ready = threading.Barrier(6)

        def click(_: int) -> str:
            ready.wait(TIMEOUT)
            return jobs.start(tmp_path, ["--help"], title="Help", key="help").id

        with ThreadPoolExecutor(6) as clicks:
            started = set(clicks.map(click, range(6)))
        assert len(started) == 1
        assert {path.name for path in tmp_path.iterdir()} == started
        end_of(tmp_path, jobs.read(tmp_path / started.pop()))

    def test_old_folders_go(self, start_child: StartChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only the latest jobs' folders are kept when one is started; a running job's always."""
        monkeypatch.setattr(jobs, "KEPT_JOBS", 2)
        child = start_child("say('in')\nwait()", "20260101-000000-a")
        assert child.hear() == "in"
        for day in (2, 3, 4, 5):
            write_facts(tmp_path / f"2026010{day}-000000-b", key="other")
            write_result(tmp_path / f"2026010{day}-000000-b")
        started = jobs.start(tmp_path, ["--help"], title="New", key="new")
        end_of(tmp_path, started)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            ["20260101-000000-a", "20260104-000000-b", "20260105-000000-b", started.id]
        )
        child.go_on()
        child.end()


class TestHardened:
    @pytest.mark.parametrize(
        "content",
        ["[]", "5", "null", "{}", '{"title": "t", "key": "k", "pid": "x", "started": 0}', '{"title": "t", "key": "k", "pid": 1, "started": []}', "\udcff", "[" * 100_000],
        ids=["list", "number", "null", "nothing in it", "pid", "time", "no text", "nested"],
    )  # fmt: skip
    def test_a_job_of_another_shape(self, tmp_path: Path, content: str) -> None:
        """A job.json that holds something else is no job; lists pass it over."""
        folder = tmp_path / "20260101-000000-a"
        folder.mkdir()
        (folder / "job.json").write_text(content, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(NotFound, match="expected a job's folder"):
            jobs.read(folder)
        assert jobs.recent(tmp_path) == []

    @pytest.mark.parametrize("content", ["[]", "5", "{}", '{"state": "flying"}', '{"state": []}', '{"state": {}}', '{"sta', ""])
    def test_a_result_of_another_shape(self, tmp_path: Path, content: str) -> None:
        """A result.json that says no known state counts as none: the job has died."""
        write_facts(tmp_path / "job", started=0.0, pid=2**22 + 1)
        (tmp_path / "job" / "result.json").write_text(content)
        assert jobs.read(tmp_path / "job").state == "died"

    def test_a_result_without_a_message(self, tmp_path: Path) -> None:
        """The state is enough."""
        write_facts(tmp_path / "job")
        (tmp_path / "job" / "result.json").write_text('{"state": "done"}')
        assert (jobs.read(tmp_path / "job").state, jobs.read(tmp_path / "job").message) == ("done", "")

    @pytest.mark.parametrize(
        "line", ["5", "null", '{"a": 1}', "[1, 2]", '[1.0, "embed", "x", 3]', '[null, "embed", 1, 3]', '[1.0, "embed", Infinity, 3]']
    )
    def test_progress_of_another_shape(self, tmp_path: Path, line: str) -> None:
        """A line that is no progress is passed over."""
        write_facts(tmp_path / "job")
        (tmp_path / "job" / "progress.jsonl").write_text(f'[1.0, "embed", 1, 3]\n{line}\n')
        assert (jobs.read(tmp_path / "job").stage, jobs.read(tmp_path / "job").done) == ("embed", 1)

    def test_two_that_ask_at_once(self, tmp_path: Path) -> None:
        """Whoever looks whether a job lives does not look alive to another who looks: a dead job is dead for both."""
        write_facts(tmp_path / "job", started=0.0)
        lock = tmp_path / "job" / "running.lock"
        lock.touch()
        with lock.open() as another:
            fcntl.flock(another, fcntl.LOCK_SH | fcntl.LOCK_NB)  # what asking does, for as long as this block lasts
            assert jobs.read(tmp_path / "job").state == "died"

    def test_asking_writes_nothing(self, tmp_path: Path) -> None:
        """A folder that is only looked at stays as it is."""
        write_facts(tmp_path / "job")
        jobs.read(tmp_path / "job")
        assert [path.name for path in (tmp_path / "job").iterdir()] == ["job.json"]

    def test_a_second_process_on_the_same_folder(self, start_child: StartChild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is Busy, a named error, and the first one's result stands."""
        child = start_child("say('in')\nwait()")
        assert child.hear() == "in"
        monkeypatch.setattr(jobs, "LOCK_SECONDS", 0.0)
        monkeypatch.setattr(os, "nice", lambda _: 0)
        with pytest.raises(Busy, match="on which another process works"), jobs.running(tmp_path / "job"):
            pytest.fail("it was let in")
        assert jobs.current() is None
        assert not (tmp_path / "job" / "result.json").exists()
        child.go_on()
        assert child.end() == 0
        assert jobs.read(tmp_path / "job").state == "done"

    def test_a_job_knows_itself(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """While it runs, and in words."""
        monkeypatch.setattr(os, "nice", lambda _: 0)
        write_facts(tmp_path / "job", pid=os.getpid())
        with jobs.running(tmp_path / "job") as report:
            assert jobs.current() == tmp_path / "job"
            assert jobs.in_words(jobs.read(tmp_path / "job")) == "Build it: starting"
            report("embed", 128, 1204)
            assert jobs.in_words(jobs.read(tmp_path / "job")) == "Build it: embed 128 of 1,204"
        assert jobs.current() is None
