"""The gate fails on every kind of fall and on nothing else; confirmations are counted whatever becomes of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evals import gate, side_by_side
from evals.confirm import confirm, sentence, uses
from evals.golden import GoldenSet, Question
from evals.results import Run
from evals.statistics import confirmation_level
from evals.subject import Subject
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Cancelled, InvalidInput, NotFound, StoreError
from tests.fakes import lab
from tests.fakes.corpora import TALES, silent
from tests.fakes.runs import GOOD, HALF, JUDGE, MOST, a_run, columns, entry, with_verdicts


def pair(tmp_path: Path, candidate: list[float | None], baseline: list[float | None]) -> tuple[tuple[Run, int], tuple[Run, int]]:
    run = a_run(tmp_path, [entry(), entry(top_k=3)], columns(candidate, baseline))
    return (run, 0), (run, 1)


@pytest.mark.parametrize(
    ("candidate", "baseline", "reasons"),
    [
        pytest.param(GOOD, GOOD, [], id="the same passes"),
        pytest.param(GOOD, HALF, [], id="better passes"),
        pytest.param([0.0, *GOOD[1:]], GOOD, [], id="one question lost is neither significant nor too much"),
        pytest.param(HALF, GOOD, ["significant", "more than the 0.05"], id="a large drop fails twice"),
        pytest.param([None] * 3 + GOOD[3:], GOOD, ["scored: 57 questions, 60 of the baseline"], id="fewer scores fail"),
    ],
)
def test_what_fails(tmp_path: Path, candidate: list[float | None], baseline: list[float | None], reasons: list[str]) -> None:
    """A significant drop, one beyond what is allowed, and fewer scores; the smallest drop that would be seen is told."""
    verdict = gate.gate(*pair(tmp_path, candidate, baseline), "recall@5")
    assert verdict.passed == (not reasons)
    assert len(verdict.reasons) == len(reasons)
    for reason, wanted in zip(verdict.reasons, reasons, strict=True):
        assert wanted in reason


def test_a_point_drop_that_is_not_significant_can_fail_all_the_same(tmp_path: Path) -> None:
    """Three of sixty are five points: more than a limit of four, and nothing that a test would call significant."""
    verdict = gate.gate(*pair(tmp_path, MOST, GOOD), "recall@5", max_drop=0.04)
    assert verdict.p > 0.05
    assert [reason for reason in verdict.reasons if "more than the 0.04" in reason] == list(verdict.reasons)
    assert gate.gate(*pair(tmp_path / "again", MOST, GOOD), "recall@5", max_drop=0.05).passed


def test_errors_beyond_the_baseline_s_fail(tmp_path: Path) -> None:
    """A question that could not be asked counts against the candidate."""
    candidate, baseline = pair(tmp_path, GOOD, GOOD)
    rows = (candidate[0].folder / "rows.jsonl").read_text().splitlines()
    row = json.loads(rows[0])
    rows[0] = json.dumps({**row, "error": "it broke"})
    (candidate[0].folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
    (candidate[0].folder / "rows.parquet").unlink()
    verdict = gate.gate(candidate, baseline, "recall@5")
    assert any("could not be scored" in reason for reason in verdict.reasons)


def test_the_judge_stands_beside_its_scores(tmp_path: Path) -> None:
    """In a gate's and in a comparison's lines and JSON; another judge's baseline is refused; code is no judge."""
    runs = [a_run(tmp_path, [entry()], columns(GOOD), run_id=f"20260101-000000-000{at}") for at in (1, 2)]
    scores = {"groundedness": columns(GOOD), "rouge-l": columns(GOOD)}
    candidate, baseline = ((with_verdicts(run, scores), 0) for run in runs)
    made = gate.gate(candidate, baseline, "groundedness").duel
    assert f"groundedness as judged by {JUDGE.judge}" in side_by_side.duel_lines(made, candidate, baseline)
    assert [side["judge"] for side in side_by_side.duel_json(made, candidate, baseline)["sides"]] == [JUDGE.judge] * 2
    by_code = gate.gate(candidate, baseline, "rouge-l").duel
    assert not any("judged" in line for line in side_by_side.duel_lines(by_code, candidate, baseline))
    stranger = with_verdicts(baseline[0], scores, about=replace(JUDGE, own=False)), 0
    assert f"groundedness of A as judged by {JUDGE.judge}" in side_by_side.duel_lines(made, candidate, stranger)
    other = with_verdicts(baseline[0], scores, about=replace(JUDGE, model="claude-fake-other")), 0
    with pytest.raises(InvalidInput, match="claude-fake-other"):
        gate.gate(candidate, other, "groundedness", common=True)


def test_baselines_have_names(tmp_path: Path) -> None:
    """Set, replaced, opened; an unknown one names those that there are."""
    (run, _), _ = pair(tmp_path, GOOD, HALF)
    with pytest.raises(NotFound, match="none yet"):
        gate.open_baseline(tmp_path, "main")
    gate.set_baseline(tmp_path, "main", run, 0)
    gate.set_baseline(tmp_path, "main", run, 1)
    assert gate.open_baseline(tmp_path, "main")[1] == 1
    with pytest.raises(NotFound, match="main"):
        gate.open_baseline(tmp_path, "mian")
    for name in ("", "a:b", "x" * 61, "\n"):
        with pytest.raises(InvalidInput, match="a name"):
            gate.set_baseline(tmp_path, name, run, 0)
    (tmp_path / gate.BASELINES).write_text("[1")
    with pytest.raises(StoreError, match="to hold baselines"):
        gate.baselines(tmp_path)


class TestConfirm:
    GOLDEN = GoldenSet(
        "tales",
        tuple(
            Question(f"q{at}", text, "detail", "sealed", {document: 1})
            for at, (text, document) in enumerate(
                [
                    (f"{words} {number}", document)
                    for number in range(8)
                    for words, document in (
                        ("cold lake serpent", "lake.md"),
                        ("moor hound", "moor.md"),
                        ("bridge moth wings", "bridge.md"),
                        ("swamp lizard canoes", "swamp.md"),
                        ("island eel spring", "island.md"),
                    )
                ]
            )
        ),
    )

    @pytest.fixture
    def tales(self, tmp_path: Path) -> tuple[Workshop, Subject, Path]:
        workshop, subject = lab.subject(tmp_path / "data", self.GOLDEN)
        return workshop, subject, tmp_path / "confirmations.jsonl"

    def test_aggregates_only_and_every_use_is_stricter(self, tales: tuple[Workshop, Subject, Path]) -> None:
        """The n-th use is at .05 / 2ⁿ; the log names no question and no run is left behind."""
        workshop, subject, log = tales
        better, worse = lab.BASE, configure({"dense": "exact", "keyword": "off"}, lab.BASE)
        first = confirm(workshop, subject, better, worse, "recall@1", report=silent, log=log)
        second = confirm(workshop, subject, worse, better, "recall@1", report=silent, log=log)
        assert [each.use for each in uses(log)] == [1, 2]
        assert (first.level, second.level) == (confirmation_level(1), confirmation_level(2)) == (0.025, 0.0125)
        assert (first.n, second.confirmed) == (40, False)
        assert first.difference == pytest.approx(-(second.difference or 0))
        text = log.read_text()
        assert not any(question.id in text or question.text in text for question in self.GOLDEN.questions)
        assert not workshop.settings.runs_dir.exists() or not list(workshop.settings.runs_dir.glob("*/rows*"))
        assert "use 1" in sentence(first)

    def test_what_is_better_is_confirmed_even_at_the_twelfth_use(self, tmp_path: Path) -> None:
        """The level of a late use is small, and a clear difference reaches it all the same."""
        names = [name for name, *_ in TALES for _ in range(4)]
        golden = GoldenSet(
            "tales",
            tuple(Question(f"q{at}", f"What is number {at}?", "detail", "sealed", {f"{name}.md": 1}) for at, name in enumerate(names)),
        )
        workshop, subject = lab.subject(tmp_path / "data", golden)
        log = tmp_path / "log.jsonl"
        everything, one = (configure({"keyword": "off", "top_k": top_k}, lab.BASE) for top_k in (50, 1))
        found = [confirm(workshop, subject, everything, one, "recall@top_k", report=silent, log=log) for _ in range(12)]
        assert [each.use for each in found] == list(range(1, 13))
        assert found[0].confirmed
        assert found[-1].level == confirmation_level(12)
        assert found[-1].p > 0

    def test_a_use_that_was_stopped_counts(self, tales: tuple[Workshop, Subject, Path]) -> None:
        """Otherwise one could look and stop."""
        workshop, subject, log = tales

        def stop(stage: str, done: int, _total: int) -> None:
            if stage == "evaluate" and done == 5:
                raise Cancelled(expected="to finish", got="a request to stop", remedy="")

        with pytest.raises(Cancelled):
            confirm(workshop, subject, lab.BASE, configure({"top_k": 3}, lab.BASE), "recall@1", report=stop, log=log)
        (begun,) = uses(log)
        assert (begun.use, begun.n, begun.confirmed) == (1, 0, False)
        assert confirm(workshop, subject, lab.BASE, configure({"top_k": 3}, lab.BASE), "recall@1", report=silent, log=log).use == 2

    def test_what_cannot_be_confirmed(self, tales: tuple[Workshop, Subject, Path]) -> None:
        """One configuration with itself, a set without sealed questions, a log that was tampered with."""
        workshop, subject, log = tales
        with pytest.raises(InvalidInput, match="two configurations"):
            confirm(workshop, subject, lab.BASE, lab.BASE, "recall@1", report=silent, log=log)
        opened = Subject(subject.corpus, GoldenSet("open", (Question("q", "lake", "detail", "open", {"lake.md": 1}),)), "open.yaml")
        with pytest.raises(InvalidInput, match="at least one question"):
            confirm(workshop, opened, lab.BASE, configure({"top_k": 3}, lab.BASE), "recall@1", report=silent, log=log)
        assert uses(log) == []
        log.write_text("nonsense\n")
        with pytest.raises(StoreError, match="uses so far"):
            uses(log)
