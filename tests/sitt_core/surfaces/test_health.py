"""The System page's facts: what is there, what it took, what went wrong, and never the value of a key."""

import dataclasses
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evals import drafting, judged, results
from evals.results import Run, Writer
from sitt_core import journal, notes
from sitt_core.build import Workshop
from sitt_core.jobs import Job
from sitt_core.settings import KEYS, Settings, load_settings
from sitt_core.surfaces import doctor, health
from sitt_core.surfaces.dashboard import system
from sitt_core.surfaces.doctor import Check
from sitt_core.surfaces.health import Spent
from tests.fakes import runs
from tests.fakes.command_line import environment

SECRET = "sk-very-secret-0123456789"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with every key set to a value of its own that holds SECRET."""
    variables = environment(tmp_path / "data") | {name: f"{SECRET}-{name}" for name in KEYS}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load_settings()


def an_update(settings: Settings, **changes: Any) -> journal.Entry:
    """A line of the journal."""
    source = journal.SourceEntry("markdown:~/notes", {"added": 2, "failed": 1, "unchanged": 4}, (("a.md", "404"),))
    said = {"at": 1000.0, "outcome": "published", "sources": {"markdown:notes": source}, "generation": "000002", **changes}
    made = journal.Entry("notes", **said)
    journal.record(settings.data_dir, made)
    return made


class TestUpdates:
    def test_as_lines_of_a_table(self, settings: Settings) -> None:
        """What was found in which bucket, Recall@5 before and after, how it ended; a key in a message is hidden."""
        an_update(settings, exit_code=3, message=f"said {SECRET}-{KEYS[0]}", recall=(0.9, 0.85), seconds=75.0)
        an_update(settings, at=2000.0, outcome="unchanged", sources={})
        latest, first = [system.update_row(each) for each in health.recent_updates(settings)]
        assert (first["outcome"], first["documents"], first["Recall@5"]) == (
            "published (exit code 3)",
            "2 added, 1 failed",
            "0.900 → 0.850",
        )
        assert (first["took"], first["sources"], latest["documents"], latest["outcome"]) == (
            "1 min 15 s",
            "markdown:~/notes",
            "no change",
            "unchanged",
        )
        assert SECRET not in first["message"] and "•••" in first["message"]

    def test_what_failed_is_among_the_errors(self, settings: Settings) -> None:
        """Also what cron ran; nothing of what went well."""
        an_update(settings, outcome="refused", exit_code=4, message="less is found")
        an_update(settings)
        assert [(each.where, each.what) for each in health.recent_errors(settings)] == [("update of notes: refused", "less is found")]

    def test_replies_of_sites_are_counted(self, settings: Settings) -> None:
        assert health.fetched(settings) == (0, 0)


def a_record(**said: Any) -> dict[str, Any]:
    return {"question": "Q?", "text": "T.", "provider": "claude", "model": "claude-sonnet-5-5", **said}


def usage(read: object = 100, written: object = 10, *, dollars: object = 0.5, cached: object = 0) -> dict[str, object]:
    return {"input_tokens": read, "cached_tokens": cached, "output_tokens": written, "dollars": dollars}


def log(settings: Settings, *records: dict[str, Any], name: str = "20261201-000000-abc") -> None:
    """A conversation of those answers, as the log keeps them."""
    file = settings.notes_dir / "answers" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    common = {"asked": 1000.0, "corpus": "tales", "fields": {}, "filters": {}}
    lines = [json.dumps({"answer": {"id": f"a{at}", **common, "record": record}}) for at, record in enumerate(records)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_answers(run: Run, dollars: Mapping[int, Sequence[float | None]]) -> None:
    """Puts answers that cost so much into a run's rows, by configuration and question."""
    rows = results.rows(run)
    for name in ("rows.jsonl", "rows.parquet", "end.json"):
        (run.folder / name).unlink(missing_ok=True)
    with results.writing(run):
        writer = Writer(run)
        for row in rows:
            writer.append({**row, "answer": {"text": "T.", "dollars": dollars[row["c"]][row["q"]]}})
        writer.close(failures={})


def a_job(settings: Settings, state: str, *, title: str = "Update", message: str = "", output: bytes = b"", started: float = 2000.0) -> str:
    folder = settings.jobs_dir / f"20261201-000000-{state[:6]}"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps({"title": title, "key": f"k:{state}", "pid": 1, "started": started}), encoding="utf-8")
    (folder / "result.json").write_text(json.dumps({"state": state, "message": message}), encoding="utf-8")
    (folder / "output.log").write_bytes(output)
    return folder.name


class TestSpending:
    def test_it_is_summed_by_provider_and_model(self, settings: Settings) -> None:
        """The most asked first; what is not known is counted, not taken for nothing."""
        log(settings, a_record(usage=usage(dollars=0.5, cached=40)), a_record(usage=usage(dollars=None)), a_record(usage=usage(200, 20)))
        other = a_record(provider="openai", model="gpt-9", usage=usage(7, 3, dollars=None))
        log(settings, other, a_record(provider="extractive", model="minilm", usage=usage(0, 0, dollars=0.0)), name="20261201-000001-abd")
        assert health.spending(settings.notes_dir) == [
            Spent("claude", "claude-sonnet-5-5", 3, 400, 40, 40, 1.0, 1),
            Spent("extractive", "minilm", 1, 0, 0, 0, 0.0, 0),
            Spent("openai", "gpt-9", 1, 7, 0, 3, 0.0, 1),
        ]

    def test_it_is_said_in_words(self, settings: Settings) -> None:
        """Unknown as unknown, free as free, in the sum and in each line."""
        log(settings, a_record(usage=usage(dollars=None)), a_record(usage=usage(dollars=1.25)), a_record(provider="ollama", model="m"))
        found = health.spending(settings.notes_dir)
        assert [system.spent_row(each)["cost"] for each in found] == ["$1.25, and 1 not known", "no charge"]
        assert system.spent_row(Spent("openai", "x", 2, 0, 0, 0, 0.0, 2))["cost"] == "not known"
        assert "$1.25 as far as it is known. What is not known comes on top" in system.spent_html(found)
        assert "Nothing as far as it is known.</b>" in system.spent_html([Spent("ollama", "x", 1, 0, 0, 0, 0.0, 0)])

    def test_runs_their_judging_and_drafts_stand_beside_ask(self, settings: Settings) -> None:
        """Each purpose with its sum and what is not known of it, then all; a run whose verdicts were forgotten keeps what they took."""
        log(settings, a_record(usage=usage(100, 10, dollars=0.5)))
        sides = [runs.entry(answer__provider="claude"), runs.entry(), runs.entry(answer__provider="ollama", answer__model="m")]
        run = runs.a_run(settings.runs_dir, sides, [[1.0] * 3] * 2)
        write_answers(run, {0: [0.25, None], 1: [0.0, 0.0], 2: [None, None]})
        about = judged.About("openai", "gpt-9", "", False, "v1", ("groundedness",), 1, "", "", 0.0)
        judged.write_about(run.folder, about)
        for dollars in (0.1, 0.2):
            judged.append(run.folder, judged.SPENT, {"in": 1000, "out": 50, "dollars": dollars})
        forgotten = runs.a_run(settings.runs_dir, sides[1:2], [[1.0]], run_id="20260102-000000-0002")
        judged.append(forgotten.folder, judged.SPENT, {"in": 7, "out": 1, "dollars": None})
        ledger = settings.notes_dir / drafting.FOLDER / "tales.jsonl"
        ledger.parent.mkdir()
        spent = [{"in": 600, "out": 40, "dollars": 0.01}, {"in": 600, "out": 40, "dollars": 0.02}, "spoilt", {"dollars": "many"}]
        lines = [{"passage": "p", "outcome": "kept", "at": 1.0}, *({"spent": each, "provider": "claude", "model": "m"} for each in spent)]
        ledger.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        found = health.all_spending(settings)
        assert [(each.purpose, each.provider, each.answers, each.dollars, each.unknown) for each in found] == [
            (health.ASK, "claude", 1, 0.5, 0),
            (health.LAB, "claude", 2, 0.25, 1),
            (health.LAB, "ollama", 2, 0.0, 0),
            (health.JUDGING, "not noted", 1, 0.0, 1),
            (health.JUDGING, "openai", 1, pytest.approx(0.3), 0),
            (health.DRAFTING, "claude", 3, pytest.approx(0.03), 1),
        ]
        assert [tuple(system.purpose_row(each).values()) for each in health.by_purpose(found)] == [
            (health.ASK, "1 answer", "100", "0", "10", "$0.5000"),
            (health.LAB, "4 answers", "not kept", "not kept", "not kept", "$0.2500, and 1 not known"),
            (health.JUDGING, "2 runs", "2,007", "0", "101", "$0.3000, and 1 not known"),
            (health.DRAFTING, "3 calls", "1,200", "0", "80", "$0.0300, and 1 not known"),
        ]
        total = system.total_row(found)
        assert (total["for"], total["tokens read"], total["cost"]) == ("in all", "3,307", "$1.08, and 3 not known")

    @pytest.mark.parametrize("held", ["usage", {"input_tokens": "many", "dollars": "much"}, {}, None], ids=str)
    def test_a_damaged_log_is_counted_as_far_as_it_can_be(self, settings: Settings, held: object) -> None:
        """An answer whose usage is spoilt costs what nobody knows."""
        log(settings, a_record(usage=held))
        (found,) = health.spending(settings.notes_dir)
        assert (found.answers, found.input_tokens, found.unknown) == (1, 0, 1)

    def test_nothing_has_been_spent_before_the_first_answer(self, settings: Settings) -> None:
        """And more than one page of conversations counts in whole."""
        assert health.spending(settings.notes_dir) == []
        for at in range(60):
            log(settings, a_record(usage=usage(1, 1, dollars=0.01)), name=f"20261201-000000-{at:03d}")
        assert len(notes.conversations(settings.notes_dir)) == 50
        assert health.spending(settings.notes_dir)[0].answers == 60


class TestJobs:
    def test_failed_ones_show_the_end_of_their_output(self, settings: Settings) -> None:
        """The last lines, without colours and carriage returns; those that are done show none."""
        a_job(settings, "done", output=b"fine\n")
        output = b"".join(b"line %d\n" % at for at in range(50)) + b"\x1b[31mTraceback\x1b[0m\r\n\xff bytes\n\n"
        a_job(settings, "failed", message="expected x", output=output)
        tails = {job.state: tail for job, tail in health.recent_jobs(settings)}
        assert tails["done"] == ()
        assert len(tails["failed"]) == health.TAIL_LINES
        assert tails["failed"][-2:] == ("Traceback", "\ufffd bytes")

    def test_a_long_output_is_read_from_its_end_alone(self, settings: Settings) -> None:
        """And a line that the beginning cuts is left out: half a key would not be known for one."""
        long = f"{SECRET}-{KEYS[0]}".encode() * 2000
        name = a_job(settings, "failed", output=b"start\n" + long + b"\nthe end\n")
        assert health.output_tail(settings.jobs_dir / name, health.secrets()) == ("the end",)
        assert health.output_tail(settings.jobs_dir / "nowhere", ()) == ()

    def test_a_job_is_told_in_words(self, settings: Settings) -> None:
        """State, stage and message, all of it as text."""
        a_job(settings, "failed", title=HOSTILE, message=HOSTILE, output=HOSTILE.encode())
        ((job, tail),) = health.recent_jobs(settings)
        html = system.job_html(job) + system.tail_html(tail)
        assert "✗ failed" in html
        assert "<img" not in html
        assert html.count("&lt;img") == 3

    def test_of_a_message_without_end_the_beginning_is_shown(self) -> None:
        """Here and among the errors."""
        said = "z" * 50_000
        assert len(system.job_html(Job("1", "Make it", "update:it", "failed", 0.0, message=said))) < 2 * system.MOST_SAID
        assert len(system.errors_html([health.Trouble(0.0, "job", said)])) < 2 * system.MOST_SAID


class TestErrors:
    def test_what_left_a_trace_is_listed_latest_first(self, settings: Settings) -> None:
        """Failed jobs and answers that broke off; what went well is not there."""
        a_job(settings, "failed", message="expected space; got none")
        a_job(settings, "done")
        log(settings, a_record(problem="The server closed the connection.", stop="error"), a_record())
        found = health.recent_errors(settings)
        assert [(each.at, each.where, each.what) for each in found] == [
            (2000.0, "job: Update", "expected space; got none"),
            (1000.0, "answer by claude claude-sonnet-5-5", "The server closed the connection."),
        ]
        assert len(health.recent_errors(settings, 1)) == 1

    def test_configurations_that_a_run_left_out_are_among_them(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """Named by the run and the configuration."""

        class Entry:
            key, slug = "k1", "structural-500"

        class Manifest:
            name, id, started, configurations = "grid", "r1", 3.0, (Entry,)

        class Stopped:
            manifest, failures = Manifest, {"k1": "expected a key"}

        monkeypatch.setattr(health.results, "runs", lambda _folder: [Stopped])
        (found,) = health.recent_errors(settings)
        assert (found.where, found.what) == ("run grid: structural-500", "expected a key")


class TestKeys:
    def test_no_value_of_a_key_is_in_anything_that_is_told(self, settings: Settings) -> None:
        """Whatever a job printed, a provider answered, or an address holds; their names are."""
        leak = f"refused {SECRET}-ANTHROPIC_API_KEY at https://bob:{SECRET}@host/v1"
        a_job(settings, "failed", title=leak, message=leak, output=leak.encode())
        log(settings, a_record(problem=leak, usage=usage()))
        told = _everything(settings)
        assert SECRET not in told
        assert "bob" not in told
        assert all(name in told for name in KEYS)
        assert told.count("✓ present") == len(KEYS)
        assert health.HIDDEN in told

    def test_a_key_in_env_beside_the_program_is_hidden_as_well(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`secret` knows where keys are; a value too short to be a key hides nothing."""
        monkeypatch.setattr(health, "secret", lambda name: {"GROQ_API_KEY": "from-dotenv", "LLM_API_KEY": "abc"}.get(name, ""))
        assert health.secrets() == ("from-dotenv",)
        assert health.without_secrets("abc from-dotenv", health.secrets()) == f"abc {health.HIDDEN}"

    def test_a_key_that_holds_another_is_hidden_whole(self) -> None:
        """The longer first."""
        assert health.without_secrets("key-and-more", ("key-", "key-and-more")) == health.HIDDEN

    def test_who_can_answer_is_told_by_the_names_of_keys(self, tmp_path: Path) -> None:
        """Ready, or what is needed; another address by the name of its variable."""
        variables = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"https://user:{SECRET}@proxy", "SITT_DATA_DIR": str(tmp_path)}
        found = {each.provider: each for each in health.answerers(load_settings(variables))}
        assert (found["openai"].state, found["openai"].elsewhere) == ("ready", "OPENAI_BASE_URL")
        assert found["claude"].state == "needs ANTHROPIC_API_KEY"
        assert found["custom"].state == "needs LLM_BASE_URL"
        assert found["extractive"].input_price == 0
        assert system.answerer_row(found["custom"])["read, per million tokens"] == "not known"
        assert SECRET not in repr(found)


def _everything(settings: Settings) -> str:
    """All that the page can say, in one text."""
    checks = [*health.quick_checks(settings, "tales"), *doctor_without_model(settings)]
    found = [
        *map(repr, (checks, health.versions(), health.data_folder(settings), health.corpora(Workshop(settings)), health.models(settings))),
        *map(repr, (health.answerers(settings), health.all_spending(settings), health.recent_jobs(settings), health.judge_check(settings))),
        repr(health.recent_errors(settings)),
        system.checks_html(checks),
        system.keys_html(health.keys(settings)),
        *(system.job_html(job) + system.tail_html(tail) for job, tail in health.recent_jobs(settings)),
        system.errors_html(health.recent_errors(settings)),
    ]
    return "\n".join(found)


def doctor_without_model(settings: Settings) -> Iterator[Check]:
    yield from (doctor._guarded(name, check, settings) for name, check in health.QUICK.items())


class TestChecks:
    def test_only_quick_ones_run_on_their_own(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """The others wait, and all of doctor's are there by name once they are run."""
        for slow in ("_vss", "_tokens", "_model", "_port"):
            monkeypatch.setattr(doctor, slow, _never(slow))
        before = time.perf_counter()
        quick = health.quick_checks(settings, "tales")
        assert time.perf_counter() - before < 5
        assert {each.name for each in quick if each.state == health.WAITING} == {*health.SLOW, "corpus tales"}
        every = health.all_checks(settings, "tales")
        assert {each.name for each in every} == {each.name for each in quick}
        assert [each.name for each in every if each.state == "failed"] == ["duckdb vss", "tokenizer", "embedder", "port", "corpus tales"]

    def test_each_state_has_a_word_and_a_failed_one_its_remedy(self) -> None:
        """As text, whatever it holds."""
        checks = [
            Check("a", "ok", "fine"),
            Check("b", "failed", HOSTILE, f"do {HOSTILE}"),
            Check("c", "note", "n"),
            Check("d", health.WAITING, ""),
        ]
        html = system.checks_html(checks)
        assert all(word in html for word in ("✓ ok", "✗ failed", "• note", "– not run"))
        assert "<img" not in html
        assert "do &lt;img" in html
        assert "1 failed, 1 ok, 1 worth knowing, 1 not run" in system.checks_line(checks)
        assert "none failed, 1 ok" in system.checks_line(checks[:1])


def _never(name: str) -> Callable[[Settings], Check]:
    def check(_settings: Settings) -> Check:
        raise RuntimeError(name)

    return check


class TestWhatIsThere:
    @pytest.mark.usefixtures("made")
    def test_a_corpus_is_told_with_what_it_takes_up(self, data_dir: Path) -> None:
        """Generations, indexes, caches; a broken one says why and does not hide the others."""
        broken = data_dir / "store" / "broken"
        (broken / "000001").mkdir(parents=True)
        (broken / "000001" / "corpus.duckdb").write_bytes(b"no database")
        (broken / "CURRENT").write_text("000001\n", encoding="ascii")
        bad, good = health.corpora(Workshop(load_settings()))
        assert (bad.name, bad.generations) == ("broken", ())
        assert "sound store file" in bad.trouble
        assert (good.name, good.generation, good.documents, good.language) == ("notes", "000001", 3, "english")
        assert ([each.current for each in good.generations], len(good.indexes), len(good.caches)) == ([True], 1, 1)
        html = system.corpus_html(good) + system.corpus_html(dataclasses.replace(good, sources=(HOSTILE,)))
        assert "generation 000001 is served: 3 documents, english" in html
        assert "<img" not in html
        assert "It cannot be read." in system.corpus_html(bad)

    def test_models_are_ready_not_made_yet_or_left_behind(self, settings: Settings) -> None:
        """By what is in the models folder."""
        settings.models_dir.mkdir(parents=True)
        (settings.models_dir / "static-minilm.model").write_bytes(b"x" * 2048)
        (settings.models_dir / "minilm-int8.1234.part").write_bytes(b"x")
        (settings.models_dir / "minilm-int8.lock").touch()
        found = {model.name: (model.state, model.size) for model in health.models(settings)}
        assert found.pop("minilm")[0] == "ready"
        assert found == {"minilm-int8": ("not made yet", 0), "static-minilm": ("ready", 2048), "minilm-int8.1234.part": ("leftover", 1)}
        assert system.model_row(health.models(settings)[1])["size"] == "—"

    def test_the_data_folder_is_measured(self, settings: Settings) -> None:
        """Also before it is there; a file with two names counts once."""
        assert health.data_folder(settings).parts == dict.fromkeys(("store", "models", "runs", "notes", "jobs"), 0)
        settings.runs_dir.mkdir(parents=True)
        (settings.runs_dir / "a").write_bytes(b"x" * 10)
        (settings.runs_dir / "b").hardlink_to(settings.runs_dir / "a")
        found = health.data_folder(settings)
        assert found.parts["runs"] == 10
        assert found.free > 0
        assert str(settings.data_dir) in system.folder_html(found)

    def test_versions_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of the program and the libraries; one that is missing says so."""
        monkeypatch.setattr(health, "PACKAGES", ("streamlit", "no-such-package"))
        found = health.versions()
        assert re.fullmatch(r"\d+\.\d+\.\d+", found["SITT Lab"])
        assert found["no-such-package"] == "not installed"
        assert "<b>streamlit</b>" in system.pairs_html(found)
