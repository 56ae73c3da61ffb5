"""Judging a run over real HTTP: figures worked out by hand, judges that fail in every way, stops, budgets, repeats."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals import analysis, judged, results, verdicts
from evals.golden import GoldenSet, Question
from evals.grid import expand, parse_grid
from evals.judging import Ended, cases_of, judge_run, lacking, plan_judging
from evals.metrics import UNANSWERABLE
from evals.qualities import BY_QUALITY, QUALITIES, choose_qualities
from evals.quality import NO_ANSWER, NO_PASSAGES, NO_REFERENCE, REFUSED, Case, known
from evals.results import Run, Writer
from evals.run import Selection, choose_metrics, execute, plan_run, start
from evals.subject import Subject
from sitt_core import notes
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Busy, Cancelled, InvalidInput, KeyMissing, ProviderError
from sitt_core.settings import ModelSettings, Settings
from sitt_core.text import count_tokens
from sitt_core.types import AnswerPart, DonePart, Prompt, TextPart, Usage
from tests.fakes import command_line, corpora, judge, lab
from tests.fakes.claude import FakeClaude
from tests.fakes.corpora import document, silent

KEY = "sk-secret-0123456789"
pytestmark = pytest.mark.filterwarnings("default")  # what ragas and langchain say when they are imported

GOLDEN = lab.ANSWERED
EMBEDDERS: dict[Any, Any] = {}
"""Shared by all workshops here: a model is loaded once."""
JUDGED = tuple(each.name for each in QUALITIES if each.judged)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def claude() -> Iterator[FakeClaude]:
    with FakeClaude() as service:
        yield service


@pytest.fixture(scope="module")
def tales(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workshop, Subject]:
    return lab.subject(tmp_path_factory.mktemp("data"), GOLDEN)


def with_judge(workshop: Workshop, claude: FakeClaude, mode: str = "judge", *, price: float | None = 1.0, **models: Any) -> Workshop:
    """The workshop with a pretend Claude for a judge."""
    settings = ModelSettings(
        base_urls={"claude": claude.url},
        judge_model=f"claude-fake-{mode}",
        judge_price_input=price,
        judge_price_output=price,
        **{"idle_timeout": 5.0, **models},
    )
    made = Workshop(replace(workshop.settings, keys_present=frozenset({"ANTHROPIC_API_KEY"}), models=settings))
    made._embedders = EMBEDDERS
    return made


def a_run(workshop: Workshop, subject: Subject, *grid: str, metrics: Sequence[str] = ("answers",)) -> Run:
    expanded = expand(parse_grid(grid or ("keyword=bm25s",)), [lab.BASE])
    return execute(
        workshop,
        start(workshop, subject, plan_run(workshop, subject, Selection(), expanded, choose_metrics(metrics))),
        subject,
        report=silent,
    )


def judge_it(workshop: Workshop, run: Run, subject: Subject, *names: str, repeats: int = 1, again: bool = False, **options: Any) -> Ended:
    plan = plan_judging(workshop, run, subject, names, repeats=repeats, again=again)
    return judge_run(workshop, run, subject, plan, again=again, **{"report": silent, **options})


def reopened(run: Run) -> Run:
    return results.open_run(run.folder.parent, run.manifest.id)


def own_row(run: Run, question: str, place: int = 0) -> Mapping[str, Any]:
    at = next(at for at, asked in enumerate(run.questions) if asked.id == question)
    return judged.own(run.folder)[place, at]


CASE = Case("Who?", True, "A giant.", "A giant walks.", False, ("A giant walks there.",))


class TestKnown:
    """What is known of an answer without asking anybody."""

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"answerable": False}, {"context-recall": UNANSWERABLE, "rouge-l": UNANSWERABLE, "faithfulness": None}),
            ({"reference": ""}, {"context-precision": NO_REFERENCE, "factual-correctness": NO_REFERENCE, "answer-relevancy": None}),
            ({"answer": None}, {"faithfulness": NO_ANSWER, "rouge-l": NO_ANSWER, "context-recall": None}),
            (
                {"refused": True},
                {
                    "faithfulness": REFUSED,
                    "groundedness": REFUSED,
                    "answer-relevancy": 0.0,
                    "factual-correctness": 0.0,
                    "rubric-completeness": 0.0,
                },
            ),
            (
                {"refused": True, "answerable": False},
                {"answer-relevancy": REFUSED, "rubric-completeness": REFUSED, "faithfulness": REFUSED},
            ),
            ({"passages": ()}, {"context-recall": 0.0, "context-precision": 0.0, "faithfulness": 0.0, "noise-sensitivity": NO_PASSAGES}),
            ({}, dict.fromkeys(BY_QUALITY)),
        ],
    )
    def test_nothing_hard_is_left_out_of_a_mean(self, changes: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """A refused answerable question, and one for which nothing was retrieved, count as the worst; what says nothing is undefined."""
        case = replace(CASE, **changes)
        for name, wanted in expected.items():
            score = known(name, case)
            assert (score and (score.value if score.value is not None else score.undefined)) == wanted, name

    def test_which_metrics_there_are(self) -> None:
        """All with a judge, those without one otherwise; a name that is none, and a judged one without a judge, are errors."""
        assert set(choose_qualities([], judge=True)) == set(BY_QUALITY)
        assert choose_qualities([], judge=False) == ("semantic-similarity", "rouge-l", "string-similarity", "quoted-spans")
        with pytest.raises(InvalidInput, match="faithfulness, answer-relevancy"):
            choose_qualities(["truth"], judge=True)
        with pytest.raises(InvalidInput, match="no provider has a key"):
            choose_qualities(["faithfulness"], judge=False)


def sentences(text: str) -> list[str]:
    return judge.sentences(text)


def share(statements: Sequence[str], text: str) -> float:
    return sum(judge.holds(text, each) for each in statements) / len(statements)


def by_hand(case: Case) -> dict[str, float]:
    """The figures of a case whose judge holds true what stands word for word, from the definitions in RAGAS's documentation."""
    assert case.answer
    said, wanted, context = sentences(case.answer), sentences(case.reference), "\n".join(case.passages)
    helps = [judge.holds(text, wanted[0]) for text in case.passages]
    precision = [sum(helps[: at + 1]) / (at + 1) for at in range(len(helps)) if helps[at]]
    true, false, missed = (
        sum(judge.holds(case.reference, each) for each in said),
        sum(not judge.holds(case.reference, each) for each in said),
        sum(not judge.holds(case.answer, each) for each in wanted),
    )
    relevant = [any(judge.holds(text, each) for each in wanted) for text in case.passages]
    noisy = [
        not judge.holds(case.reference, each)
        and any(judge.holds(text, each) for text, use in zip(case.passages, relevant, strict=True) if use)
        for each in said
    ]
    anywhere = [any(judge.holds(text, each) for text in case.passages) for each in said]
    return {
        "faithfulness": share(said, context),
        "context-recall": share(wanted, context),
        "context-precision": sum(precision) / len(precision) if precision else 0.0,
        "factual-correctness": round(2 * true / (2 * true + false + missed), 2),
        "noise-sensitivity": sum(noisy) / len(noisy),
        "groundedness": sum(anywhere) / len(anywhere),
        "rubric-faithfulness": round(10 * sum(anywhere) / len(anywhere)) / 10,
        "rubric-completeness": round(10 * share(wanted, case.answer)) / 10,
        "rubric-relevance": 1.0,
    }


class Scripted:
    """The scripted judge without a network between, for thousands of verdicts."""

    name, model, citing = "claude", "claude-fake-judge", "native"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        yield TextPart(judge.verdict(prompt.question))
        yield DonePart("end", Usage(10, 10, 0, 0.0), self.model)

    def as_sent(self, prompt: Prompt) -> str:
        return prompt.question


class TestFigures:
    def test_a_hundred_questions_under_three_configurations(
        self, tmp_path: Path, claude: FakeClaude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every figure of 300 answers, some half true, some refused, is the one worked out by hand; so are means, n and what is missing."""
        names = [f"beast{at}" for at in range(100)]
        documents = [
            document(f"{name}.md", f"# The {name}\n\nThe {name} lives in a wood. The {name} eats stones. Nobody saw the {name} by day.")
            for name in names
        ]
        questions = tuple(
            Question(
                name,
                f"Where does the {name} live?",
                "thematic" if at < 20 else "detail",
                grades={f"{name}.md": 1},
                answer="" if at % 10 == 9 else f"The {name} lives in a wood. The {name} sings.",
            )
            for at, name in enumerate(names)
        )
        workshop, subject = lab.subject(tmp_path, GoldenSet("beasts", questions), documents)
        run = written(a_run(workshop, subject, "top_k=1,2,3", metrics=()), names)
        workshop = with_judge(workshop, claude)
        monkeypatch.setattr(workshop, "judging", lambda _model: Scripted())
        ended = judge_it(workshop, run, subject, *(name for name in JUDGED if name not in ("noise-sensitivity", "answer-relevancy")))
        assert (ended.done, ended.left, ended.failed, ended.budget) == (300, 0, 0, "")
        plan = plan_judging(workshop, run, subject, ["noise-sensitivity"], kinds=["thematic"])  # thousands of verdicts for all
        assert judge_run(workshop, run, subject, plan, report=silent).done == 60
        run = reopened(run)
        cases = cases_of(run, subject)
        for place, row in judged.own(run.folder).items():
            case = cases[place]
            if case.refused or not case.reference:
                continue
            expected = {name: value for name, value in by_hand(case).items() if name != "noise-sensitivity" or place[1] < 20}
            assert {name: row["scores"][name] for name in expected} == pytest.approx(expected, abs=1e-7)
        table = {(row["metric"], row["place"]): row for row in verdicts.quality_rows(run)}
        # Every fifth answer refuses, every tenth question has no reference; no refused one is without.
        assert [(table[name, 0]["n"], table[name, 0]["of"]) for name in ("faithfulness", "context-recall", "factual-correctness")] == [
            (80, 100),
            (90, 100),
            (90, 100),
        ]
        assert table["faithfulness", 0]["undefined"] == {REFUSED: 20}
        assert table["context-recall", 0]["undefined"] == {NO_REFERENCE: 10}
        assert table["factual-correctness", 0]["mean"] == pytest.approx(sum(row_scores(run, "factual-correctness", 0)) / 90)
        assert (table["faithfulness", 1]["bound low"], table["faithfulness", 1]["bound high"]) == pytest.approx(
            (table["faithfulness", 1]["mean"] * 0.8, table["faithfulness", 1]["mean"] * 0.8 + 0.2)
        )
        assert analysis.board(run, "context-precision").rows[0].standing.mean.n == 90

    def test_relevancy_is_the_likeness_of_the_questions(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """The judge makes the answer itself the question; three requests, whose answers are not taken for one another."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1])
        judge_it(workshop, run, tales[1], "answer-relevancy")
        case = cases_of(run, tales[1])[0, 0]
        first, second = workshop.embedder(configure({"embedder": "minilm"})).embed_passages([case.question, str(case.answer)])
        assert own_row(run, "neck")["scores"]["answer-relevancy"] == pytest.approx(float(first @ second), abs=1e-5)
        assert sum(case.answer in json.dumps(body, ensure_ascii=False) for body in claude.bodies if case.answer) == 3

    def test_without_any_key_what_needs_no_judge(self, tales: tuple[Workshop, Subject]) -> None:
        """Similarity to the reference by embedder, words and characters; nobody is asked."""
        workshop, subject = tales
        run = a_run(workshop, subject)
        plan = plan_judging(workshop, run, subject)
        assert (plan.judge, plan.calls, plan.dollars) == (None, 0, 0.0)
        judge_run(workshop, run, subject, plan, report=silent)
        row, case = own_row(run, "neck"), cases_of(run, subject)[0, 0]
        words, wanted = str(case.answer).split(), case.reference.split()
        assert row["scores"]["rouge-l"] == pytest.approx(2 * len(words) / (len(words) + len(wanted)))
        assert row["scores"]["string-similarity"] == pytest.approx(len(str(case.answer)) / len(case.reference))
        assert 0.5 < row["scores"]["semantic-similarity"] < 1
        assert reopened(run).judged is not None
        assert verdicts.verdict_findings(reopened(run))[0].endswith("no model judged.")

    def test_apostrophes_are_no_quotation_marks(self) -> None:
        """RAGAS pairs them up, and finds quotations that nobody made."""
        from evals.ragas_scorers import plain  # here: whoever only collects this module need not wait for ragas

        assert "'" not in plain("The lake's monk and the fishermen's boats")
        assert plain("He said 'it is so'.") == "He said 'it is so'."


def row_scores(run: Run, metric: str, place: int) -> list[float]:
    return [row["scores"][metric] for (c, _), row in judged.own(run.folder).items() if c == place and metric in row["scores"]]


def written(run: Run, names: Sequence[str]) -> Run:
    """The run with answers that we know: a fifth refused, the others half or wholly true, by configuration."""
    rows = results.rows(run)
    for name in ("rows.jsonl", "rows.parquet", "end.json"):
        (run.folder / name).unlink()
    answers = [
        "The {0} lives in a wood.",
        "The {0} lives in a wood. The {0} flies.",
        "The {0} eats stones. The {0} sings. The {0} lives in a wood.",
    ]
    with results.writing(run):
        writer = Writer(run)
        for row in rows:
            refused = row["q"] % 5 == 0
            text = "The corpus does not say." if refused else answers[row["c"]].format(names[row["q"]])
            answer = {"text": text, "refused": refused, "problem": "", "citations": [], "dollars": 0.0}
            writer.append({**row, "answer": answer})
        writer.close(failures={})
    return reopened(run)


class TestBadJudges:
    @pytest.mark.parametrize(
        ("mode", "said"),
        [
            ("few", "0 verdicts for 1 statement"),
            ("five", "a verdict of 5, which is neither 0 nor 1"),
            ("prose", "I think that the answer is rather good."),
            ("nothing", "Invalid JSON"),
            ("half", "Invalid JSON"),
            ("max-tokens", "one cut at"),
            ("500", "status 500"),
        ],
    )
    def test_a_verdict_that_cannot_be_used_is_an_error_with_its_reason(
        self, tales: tuple[Workshop, Subject], claude: FakeClaude, mode: str, said: str
    ) -> None:
        """Not a score, not a zero; the other answers go on, and a better judge is asked for what is missing alone."""
        workshop = with_judge(tales[0], claude, mode)
        object.__setattr__(workshop, "judging", lambda model: replace(Workshop.judging(workshop, model), retries=0))
        run = a_run(workshop, tales[1])
        ended = judge_it(workshop, run, tales[1], "faithfulness", "context-recall")
        row = own_row(run, "neck")
        assert row["scores"] == {}
        assert said in row["errors"]["faithfulness"]
        assert set(row["errors"]) == {"faithfulness", "context-recall"}
        assert KEY not in json.dumps(row)
        assert ended.failed == sum(bool(each["errors"]) for each in judged.rows(run.folder)) > 0
        table = {each["metric"]: each for each in verdicts.quality_rows(reopened(run))}
        assert sum(table["faithfulness"]["failed"].values()) > 0
        assert table["faithfulness"]["mean"] is None

    def test_five_passages_and_a_verdict_of_five(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """RAGAS itself makes a precision of 4.99 of it."""
        workshop = with_judge(tales[0], claude, "five")
        run = a_run(workshop, tales[1])
        judge_it(workshop, run, tales[1], "context-precision", "answer-relevancy", "groundedness")
        assert all("a verdict of 5" in why for why in own_row(run, "neck")["errors"].values())
        assert set(own_row(run, "neck")["errors"]) == {"context-precision", "answer-relevancy", "groundedness"}

    def test_a_hang_ends_with_the_row(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """What was scored before it stays; what was not has the time-out for a reason, and is asked for again."""
        workshop = with_judge(tales[0], claude, "dead", idle_timeout=60.0)
        run = a_run(workshop, tales[1])
        ended = judge_it(workshop, run, tales[1], "rouge-l", "faithfulness", row_seconds=1.0)
        row = own_row(run, "neck")
        assert row["errors"] == {"faithfulness": "no verdict within 1 s"}
        assert "rouge-l" in row["scores"]
        assert ended.failed > 0
        plan = plan_judging(workshop, run, tales[1], ["faithfulness"])
        assert len(plan.units) == ended.failed
        judge_it(with_judge(tales[0], claude), run, tales[1], "faithfulness")  # one that never gave a verdict is no judge
        assert own_row(run, "neck")["scores"]["faithfulness"] == 1.0

    def test_a_judge_that_is_not_there_is_not_asked_for_ever(self, tmp_path: Path, claude: FakeClaude) -> None:
        """Five answers about which it says nothing end the work by name; another judge may take over, and finds what needs none."""
        names = [f"beast{at}" for at in range(12)]
        documents = [document(f"{name}.md", f"# The {name}\n\nThe {name} lives in a wood.") for name in names]
        questions = tuple(Question(name, f"Where does the {name} live?", "detail", grades={f"{name}.md": 1}) for name in names)
        workshop, subject = lab.subject(tmp_path, GoldenSet("beasts", questions), documents)
        run = written(a_run(workshop, subject, "top_k=1", metrics=()), names)
        gone = with_judge(workshop, claude, "404")
        with pytest.raises(ProviderError, match="not a word about 5 answers in a row"):
            judge_it(gone, run, subject, "faithfulness", concurrency=1)
        assert len(claude.requests) == 5
        assert judge_it(with_judge(workshop, claude), run, subject, "faithfulness").failed == 0

    def test_judging_anew_costs_the_old_verdicts_only_when_there_are_new_ones(
        self, tales: tuple[Workshop, Subject], claude: FakeClaude
    ) -> None:
        """A mistyped model leaves everything as it was."""
        run = a_run(tales[0], tales[1])
        judge_it(with_judge(tales[0], claude), run, tales[1], "faithfulness")
        before = judged.rows(run.folder)
        judge_it(with_judge(tales[0], claude, "404"), run, tales[1], "faithfulness", again=True)
        assert judged.rows(run.folder) == before
        assert reopened(run).judged.model == "claude-fake-judge"  # type: ignore[union-attr]
        judge_it(with_judge(tales[0], claude, "other"), run, tales[1], "faithfulness", again=True)
        assert reopened(run).judged.model == "claude-fake-other"  # type: ignore[union-attr]

    def test_a_verdict_for_every_sentence_of_the_reference(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """A judge that leaves one out, or finds no claim in a text, gave no verdict: RAGAS makes 1.0 of both."""

        def lazy(prompt: str, mode: str) -> str:
            told = json.loads(judge.verdict(prompt, mode))
            return json.dumps(
                {name: each[:1] if name == "classifications" else [] if name == "claims" else each for name, each in told.items()}
            )

        claude.script = lazy
        run = a_run(tales[0], tales[1])
        judge_it(with_judge(tales[0], claude), run, tales[1], "context-recall", "factual-correctness")
        errors = own_row(run, "neck")["errors"]
        assert "no verdict for 'It was green.'" in errors["context-recall"]
        assert "no claim of a text that has some" in errors["factual-correctness"]

    def test_too_many_requests_are_made_again(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """The service asks to wait once; no verdict is lost."""
        workshop = with_judge(tales[0], claude, "once")
        run = a_run(workshop, tales[1])
        assert judge_it(workshop, run, tales[1], "faithfulness").failed == 0

    def test_two_judgings_in_one_process(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Each in an event loop of its own, with the same workshop."""
        workshop = with_judge(tales[0], claude)
        asked = []
        for name in ("faithfulness", "groundedness"):
            run = a_run(workshop, tales[1])
            assert judge_it(workshop, run, tales[1], name).failed == 0
            asked.append(len(claude.requests))
        assert 0 < asked[0] < asked[1]


class TestStops:
    def test_a_stop_keeps_what_is_finished(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Going on judges the rest, and asks nothing twice but what was being asked at the stop."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1], "top_k=1,2")
        seen: list[int] = []

        def stop_early(_stage: str, done: int, _total: int) -> None:
            seen.append(done)
            if done >= 5:
                raise Cancelled(expected="to go on", got="a stop", remedy="")

        with pytest.raises(Cancelled):
            judge_it(workshop, run, tales[1], *JUDGED, concurrency=1, report=stop_early)
        kept = sum(not lacking(row, JUDGED) for row in judged.rows(run.folder))
        assert 5 <= kept < len(results.rows(run))
        ended = judge_it(workshop, run, tales[1], *JUDGED)
        assert ended.done == len(results.rows(run)) - kept
        bodies = [json.dumps(body, sort_keys=True) for body in claude.bodies]
        relevance = [body for body in bodies if "noncommittal" in body]
        assert len(bodies) - len(relevance) - len(set(bodies) - set(relevance)) <= 1

    def test_a_half_written_line_is_made_again(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """What a power failure leaves; the lines around it stay."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1])
        judge_it(workshop, run, tales[1], "faithfulness")
        whole = judged.rows(run.folder)
        path = run.folder / judged.ROWS
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join([*lines[:-1], lines[-1][:40]]), encoding="utf-8")
        assert len(judged.rows(run.folder)) == len(whole) - 1
        assert judge_it(workshop, run, tales[1], "faithfulness").done == 1
        assert [row["scores"] for row in judged.rows(run.folder)] == [row["scores"] for row in whole]

    def test_killed_and_gone_on_with(self, tmp_path: Path, claude: FakeClaude) -> None:
        """kill -9 of the command in the middle: its rows stay, the rest follow, the figures are those of an unbroken judging."""
        workshop, subject = lab.subject(tmp_path, GOLDEN)
        claude.delay = 0.02
        subject = lab.on_disk(subject, tmp_path)
        run = a_run(workshop, subject, "top_k=1,2,3")
        environment = (
            os.environ
            | command_line.environment(tmp_path)
            | {
                "ANTHROPIC_API_KEY": KEY,
                "ANTHROPIC_BASE_URL": claude.url,
                "JUDGE_MODEL": "claude-fake-judge",
                "JUDGE_PRICE_INPUT": "1",
                "JUDGE_PRICE_OUTPUT": "1",
            }
        )
        command = [sys.executable, "-m", "evals", "ragas", run.manifest.id, "--yes", "--json"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(judged.rows(run.folder)) < 3 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kept, claude.delay = sum(not lacking(row, tuple(BY_QUALITY)) for row in judged.rows(run.folder)), 0.0
        assert 3 <= kept < len(results.rows(run))
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert KEY not in done.stdout + done.stderr
        told = json.loads(done.stdout)
        assert (told["finished"], told["left"], told["failed"]) == (kept, 0, 0)
        broken = judged.rows(run.folder)
        judge_it(with_judge(workshop, claude), run, subject, again=True)
        assert [row["scores"] for row in broken] == [pytest.approx(row["scores"]) for row in judged.rows(run.folder)]

    def test_only_one_at_a_time(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """The second is told about the first."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1])
        with judged.judging(run.folder), pytest.raises(Busy, match="another judging"):
            judge_it(workshop, run, tales[1], "faithfulness")


class TestBudget:
    def test_it_stops_cleanly_and_can_be_raised(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Never above it; finished rows stay; with more money the rest follows, and what was spent before counts."""
        workshop = with_judge(tales[0], claude, max_tokens=200)
        run = a_run(workshop, tales[1], "top_k=1,2,3")
        plan = plan_judging(workshop, run, tales[1], ["faithfulness"])
        assert plan.dollars
        ended = judge_it(workshop, run, tales[1], "faithfulness", budget_dollars=0.006)
        assert "spent, and the next call can cost" in ended.budget
        assert ended.left > 0
        spent = judged.spent(run.folder)
        assert spent.dollars
        assert 0 < spent.dollars <= 0.006
        assert judge_it(workshop, run, tales[1], "faithfulness", budget_dollars=0.006).done == 0
        ended = judge_it(workshop, run, tales[1], "faithfulness", budget_dollars=1.0)
        assert (ended.budget, ended.left) == ("", 0)
        after = judged.spent(run.folder).dollars
        assert after
        assert after > spent.dollars

    def test_in_tokens(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Where no price is known, dollars cannot be counted, and a budget in them is refused before anything is asked."""
        workshop = with_judge(tales[0], claude, price=None, max_tokens=200)
        run = a_run(workshop, tales[1])
        assert plan_judging(workshop, run, tales[1], ["faithfulness"]).dollars is None
        with pytest.raises(InvalidInput, match="a budget in tokens where a price is not known"):
            judge_it(workshop, run, tales[1], "faithfulness", budget_dollars=1.0)
        assert claude.requests == []
        ended = judge_it(workshop, run, tales[1], "faithfulness", budget_tokens=3000)
        assert "tokens spent" in ended.budget
        assert judged.spent(run.folder).input_tokens <= 3000

    def test_the_estimate_is_not_far_off(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Calls as they were made or more (equal answers are judged once), tokens within a factor of two and a half of what a tokenizer counts."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1])
        plan = plan_judging(workshop, run, tales[1], JUDGED)
        judge_run(workshop, run, tales[1], plan, report=silent)
        read = sum(count_tokens(body["system"]) + count_tokens(body["messages"][0]["content"][0]["text"]) for body in claude.bodies)
        assert len(claude.requests) <= plan.calls <= 1.5 * len(claude.requests)
        assert read / 1.5 <= plan.tokens <= 2.5 * read


class TestWhoJudges:
    def configured(self, *keys: str, judge_provider: str = "") -> Workshop:
        return Workshop(
            Settings(data_dir=Path("/nonexistent"), keys_present=frozenset(keys), models=ModelSettings(judge_provider=judge_provider))
        )

    @pytest.mark.parametrize(
        ("keys", "named", "generators", "expected"),
        [
            ((), "", {"extractive"}, None),
            (("ANTHROPIC_API_KEY",), "", {"extractive"}, ("claude", False)),
            (("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "", {"claude"}, ("openai", False)),
            (("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "", {"openai"}, ("claude", False)),
            (("ANTHROPIC_API_KEY",), "", {"claude"}, ("claude", True)),
            (("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "", {"claude", "openai"}, ("claude", True)),
            (("ANTHROPIC_API_KEY",), "ollama", {"claude"}, ("ollama", False)),
        ],
    )
    def test_another_than_who_wrote(
        self, keys: tuple[str, ...], named: str, generators: set[str], expected: tuple[str, bool] | None
    ) -> None:
        """By default another provider than the generator's; with one key alone that one, which is said."""
        found = self.configured(*keys, judge_provider=named).judge(generators)
        assert (found and (found.provider, found.own)) == expected

    def test_its_own_answers_are_said_to_be(self, tmp_path: Path, claude: FakeClaude) -> None:
        """In the manifest, the findings and the judge's name."""
        workshop, subject = lab.subject(tmp_path, GOLDEN)
        workshop = with_judge(workshop, claude)
        run = a_run(workshop, subject, "answer.provider=claude", "answer.model=claude-fake-writer")
        judge_it(workshop, run, subject, "faithfulness")
        about = reopened(run).judged
        assert about is not None
        assert about.own
        assert "which wrote some of the answers itself" in verdicts.verdict_findings(reopened(run))[0]
        assert claude.url in about.judge

    def test_verdicts_of_two_judges_do_not_mix(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Another judge is refused, unless everything is judged again."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1])
        judge_it(workshop, run, tales[1], "faithfulness")
        other = with_judge(tales[0], claude, "other")
        with pytest.raises(InvalidInput, match="has: claude claude-fake-judge"):
            judge_it(other, run, tales[1], "faithfulness")
        judge_it(other, run, tales[1], "faithfulness", again=True)
        assert reopened(run).judged.model == "claude-fake-other"  # type: ignore[union-attr]


class TestChanges:
    def test_another_judge_since_the_plan(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Two commands that wait for their yes: the second finds the first one's verdicts, and leaves them alone."""
        run = a_run(tales[0], tales[1])
        one, other = with_judge(tales[0], claude), with_judge(tales[0], claude, "other")
        waiting = plan_judging(one, run, tales[1], ["faithfulness"])
        judge_it(other, run, tales[1], "faithfulness")
        with pytest.raises(InvalidInput, match="has: claude claude-fake-other"):
            judge_run(one, run, tales[1], waiting, report=silent)

    def test_a_judge_without_its_key(self, tales: tuple[Workshop, Subject]) -> None:
        """Named before anything is asked or written; what needs no judge goes on."""
        workshop = Workshop(replace(tales[0].settings, models=ModelSettings(judge_provider="openai")))
        run = a_run(tales[0], tales[1])
        with pytest.raises(KeyMissing, match="OPENAI_API_KEY is not set"):
            plan_judging(workshop, run, tales[1], ["faithfulness"])
        assert plan_judging(workshop, run, tales[1], ["rouge-l"]).dollars == 0.0

    def test_half_a_price_names_its_variables(self, tales: tuple[Workshop, Subject]) -> None:
        """The judge's, not the answers'."""
        settings = replace(tales[0].settings, models=ModelSettings(judge_provider="ollama", judge_price_input=1.0))
        with pytest.raises(InvalidInput, match="JUDGE_PRICE_INPUT and JUDGE_PRICE_OUTPUT"):
            Workshop(settings).judge(set())


class TestRepeats:
    def test_a_budget_in_dollars_wants_every_price(self, tmp_path: Path, claude: FakeClaude) -> None:
        """The writer's too: nothing is written anew that could cost more than the budget."""
        workshop, subject = lab.subject(tmp_path, GOLDEN)
        workshop = with_judge(workshop, claude)
        run = a_run(workshop, subject, "answer.provider=claude", "answer.model=claude-fake-writer")
        asked = len(claude.requests)
        with pytest.raises(InvalidInput, match="a model without a price"):
            judge_it(workshop, run, subject, "rouge-l", repeats=2, budget_dollars=0.0)
        assert len(claude.requests) == asked

    def test_what_was_written_anew_is_kept(self, tmp_path: Path, claude: FakeClaude) -> None:
        """Another metric judges the same text, and pays for no new one."""
        workshop, subject = lab.subject(tmp_path, GOLDEN)
        workshop = with_judge(workshop, claude)
        run = a_run(workshop, subject, "answer.provider=claude", "answer.model=claude-fake-writer")
        judge_it(workshop, run, subject, "groundedness", repeats=2)
        before = sum(body["model"] == "claude-fake-writer" for body in claude.bodies)
        plan = plan_judging(workshop, run, subject, ["rubric-relevance"], repeats=2)
        assert plan.rewritten == 0
        judge_run(workshop, run, subject, plan, report=silent)
        assert sum(body["model"] == "claude-fake-writer" for body in claude.bodies) == before
        assert all(row.get("answer") for row in judged.rows(run.folder) if row["a"])

    def test_the_noise_of_judge_and_generator(self, tmp_path: Path, claude: FakeClaude) -> None:
        """A judge that changes its mind, and a writer that does not: every cache is passed by, and the noise is that of three means."""
        workshop, subject = lab.subject(tmp_path, GOLDEN)
        workshop = with_judge(workshop, claude)
        run = a_run(workshop, subject, "answer.provider=claude", "answer.model=claude-fake-writer")
        judge_it(workshop, run, subject, "rubric-relevance")
        asked: dict[str, int] = {}

        def wavering(prompt: str, mode: str) -> str:
            asked[prompt] = asked.get(prompt, -1) + 1
            told = json.loads(judge.verdict(prompt, mode))
            told["relevance"]["score"] = (10, 7, 4, 7, 7)[asked[prompt] % 5]
            return json.dumps(told)

        claude.script = wavering
        plan = plan_judging(workshop, run, subject, ["rubric-relevance"], repeats=3)
        assert plan.rewritten == 2 * sum(case.answer is not None for case in cases_of(run, subject).values())
        judge_run(workshop, run, subject, plan, concurrency=1, report=silent)
        [found] = [each for each in verdicts.noise(reopened(run)) if each.metric == "rubric-relevance"]
        rows = {judged.unit_of(row): row for row in judged.rows(run.folder)}
        answered = [q for (c, q, a, j), row in rows.items() if (a, j) == (0, 0) and row["scores"].get("rubric-relevance", 0) > 0]
        means = [
            sum(
                rows[0, q, 0, j]["scores"]["rubric-relevance"]
                for q in {unit[1] for unit in rows}
                if "rubric-relevance" in rows[0, q, 0, 0]["scores"]
            )
            for j in range(3)
        ]
        count = len([q for q in {unit[1] for unit in rows} if "rubric-relevance" in rows[0, q, 0, 0]["scores"]])
        means = [mean / count for mean in means]
        average = sum(means) / 3
        assert answered
        assert found.judge is not None
        assert found.judge.sd == pytest.approx(math.sqrt(sum((mean - average) ** 2 for mean in means) / 2))
        assert found.judge.sd > 0
        assert found.generator is not None
        assert "varies from repeat to repeat" in " ".join(verdicts.verdict_findings(reopened(run)))


class TestPeople:
    def test_agreement_with_thumbs(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Thumbs given in the lab, and on Ask to the very same answer, against the judge's scores."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1])
        judge_it(workshop, run, tales[1], "groundedness", "rubric-completeness")
        run = reopened(run)
        at = {asked.id: place for place, asked in enumerate(run.questions)}
        judged.set_thumb(run.folder, 0, at["neck"], "up")
        judged.set_thumb(run.folder, 0, at["wings"], "down")
        judged.set_thumb(run.folder, 0, at["wings"], "up")
        text = cases_of(run, tales[1])[0, at["prints"]].answer
        record = {"question": "Which giants  left footprints?", "text": text}
        logged = notes.Logged("a", "c", 0.0, corpora.NAME, {}, {}, record, "down")
        assert verdicts.thumbs_of(run, [logged]) == {(0, at["neck"]): "up", (0, at["wings"]): "up", (0, at["prints"]): "down"}
        by_metric = {each.metric: each for each in verdicts.agreements(run, [logged])}
        grounded = by_metric["groundedness"]
        assert (grounded.n, grounded.ups, grounded.share.mean) == (3, 2, pytest.approx(2 / 3))
        assert grounded.above == 0.5  # the judge finds all of them grounded

    def test_answers_to_read(self, tales: tuple[Workshop, Subject], claude: FakeClaude) -> None:
        """Each sentence with its claims, verdicts and reasons; RAGAS's statements by metric; marks with the reason."""
        workshop = with_judge(tales[0], claude)
        run = a_run(workshop, tales[1], "top_k=1,2")
        judge_it(workshop, run, tales[1], "groundedness", "faithfulness", "rubric-relevance")
        first, second = verdicts.answer_views(reopened(run), 0, [0, 1])
        assert first.sentences[0]["claims"][0] == {"claim": first.text, "supported": 1, "passages": [1], "reason": "as it stands"}
        assert first.statements["faithfulness"][0]["supported"] == 1
        assert second.marks == {"rubric-relevance": "it is"}
        assert (first.place, second.place) == (0, 1)


def test_all_passages_of_an_answer_are_kept(tales: tuple[Workshop, Subject]) -> None:
    """Also when there are more than a row names for a reader; a corpus that has fewer gives those."""
    run = a_run(tales[0], tales[1], "top_k=12,15")
    assert {len(case.passages) for (c, _), case in cases_of(run, tales[1]).items() if c == 0} == {12}


def test_rows_that_failed_have_no_case(tales: tuple[Workshop, Subject]) -> None:
    """Their error is the run's; a run without answers takes only metrics that need none, and says so."""
    workshop, subject = tales
    run = a_run(workshop, subject, metrics=())
    assert all(case.answer is None for case in cases_of(run, subject).values())
    with pytest.raises(InvalidInput, match="a run with answers"):
        plan_judging(workshop, run, subject, ["rouge-l"])


def test_no_socket_but_the_judges(tmp_path: Path, claude: FakeClaude) -> None:
    """Neither ragas nor what it brings connects to anything else, nor writes into the home folder."""
    workshop, subject = lab.subject(tmp_path / "data", GOLDEN)
    subject = lab.on_disk(subject, tmp_path)
    run = a_run(workshop, subject)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import sys\n"
        f"log = open({str(tmp_path / 'connections')!r}, 'a', buffering=1)\n"
        "def hook(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname'):\n"
        "        log.write(f'{args[1] if event == \"socket.connect\" else args[:2]}\\n')\n"
        "sys.addaudithook(hook)\n",
        encoding="utf-8",
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = (
        os.environ
        | command_line.environment(tmp_path / "data")
        | {
            "PYTHONPATH": str(tmp_path / "site"),
            "HOME": str(home),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": claude.url,
            "JUDGE_MODEL": "claude-fake-judge",
        }
    )
    command = [sys.executable, "-m", "evals", "ragas", run.manifest.id, "--yes", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    port = claude.url.rpartition(":")[2]
    asked = set((tmp_path / "connections").read_text(encoding="utf-8").split("\n")) - {""}
    assert asked
    assert all("127.0.0.1" in each and port in each for each in asked), asked
    assert not [path for path in home.rglob("*") if "ragas" in str(path)]
