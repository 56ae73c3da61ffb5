"""What is said of judged answers in sentences and in lines of tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evals import judged, verdicts
from evals.results import Run, open_run
from evals.statistics import Interval
from evals.verdicts import Agreement, Noise, Spread
from sitt_core.notes import Logged
from tests.fakes.runs import GOOD, HALF, QUESTIONS, a_run, columns, entry, with_verdicts

NOISE = Noise("groundedness", 3, 40, 2, Spread(0.01, 4), Spread(0.02, 4), 0.3)
AGREED = Agreement("groundedness", 30, 20, Interval(0.8, 0.6, 0.9, 30, 30, "Wilson"), 0.5, 0.9)


@pytest.mark.parametrize(
    ("noise", "beyond", "said"),
    [
        (NOISE, True, "In every metric the configurations differ by more than repeats alone bring about."),
        (replace(NOISE, difference=0.078), False, "In every metric the configurations differ by no more"),
        (replace(NOISE, difference=0.079), True, "by more than"),
        (replace(NOISE, judge=None, generator=None), None, "Nothing can be said of groundedness"),
        (replace(NOISE, configurations=1, difference=0.0), None, "Nothing can be said of groundedness"),
    ],
    ids=["more than noise", "noise", "just beyond", "not tried", "one configuration"],
)
def test_differences_beside_noise(noise: Noise, beyond: bool | None, said: str) -> None:
    """Tukey's table has 3.93 for two means and four degrees of freedom: times the larger deviation, .0785."""
    assert verdicts.noise_row(noise)["beyond noise"] is beyond
    assert said in verdicts.noise_sentence([noise])
    assert (verdicts.repeats_alone(noise) is None) == (beyond is None)


def test_noise_in_some_metrics() -> None:
    """Those are named, each for what is known of it; nothing is said of nothing."""
    rows = [NOISE, replace(NOISE, metric="faithfulness", difference=0.01), replace(NOISE, metric="rouge-l", judge=None, generator=None)]
    assert verdicts.noise_sentence(rows) == (
        "In groundedness the configurations differ by more than repeats alone bring about. "
        "In faithfulness the configurations differ by no more than repeats alone bring about: that may be noise. "
        "Nothing can be said of rouge-l: it takes two configurations and repeats of them."
    )
    assert verdicts.noise_sentence([]) == ""


@pytest.mark.parametrize("configurations", [2, 6, 24])
@pytest.mark.parametrize("writing", [False, True], ids=["judged again", "written again too"])
def test_equal_configurations_seldom_differ_beyond_noise(configurations: int, writing: bool) -> None:
    """In 5 % of 1,000 draws at most, give or take what 1,000 draws can show, however many configurations there are."""
    random, repeats, questions = np.random.default_rng(configurations), 3, 10
    true = random.uniform(0.2, 0.8, questions)

    def drawn(spread: float) -> list[dict[int, list[float]]]:
        scores = true[None, :, None] + spread * random.standard_normal((configurations, questions, repeats))
        return [dict(enumerate(each)) for each in scores.tolist()]

    beyond = 0
    for _ in range(1_000):
        anew = drawn(0.2) if writing else [{}] * configurations
        again = drawn(0.1)
        for first, other in zip(again, anew, strict=True):
            for q in other:  # the first writing is the one that is judged again
                first[q] = [other[q][0] + value - first[q][0] for value in first[q]]
        found = verdicts._noise_of("groundedness", again, anew)
        assert found is not None
        beyond += bool(verdicts.noise_row(found)["beyond noise"])
    assert beyond <= 65  # 5 % and twice its standard error


class TestNoiseOfARun:
    """Who has which repeats decides what is compared."""

    @pytest.fixture
    def run(self, tmp_path: Path) -> Run:
        return a_run(tmp_path, [entry(), entry(keyword="off"), entry(top_k=3)], columns(GOOD, GOOD, GOOD))

    def judged_run(self, run: Run, metric: str, scores: dict[tuple[int, int, int, int], float]) -> Run:
        """The run with those scores by (configuration, question, writing, judging)."""
        made = with_verdicts(run, {metric: [[None]]}, repeats=3)
        for (c, q, a, j), value in scores.items():
            line: dict[str, Any] = {"c": c, "q": q, "a": a, "j": j, "scores": {metric: value}, "why": {}, "errors": {}, "details": {}}
            judged.append(made.folder, judged.ROWS, line)
        return made

    def test_difference_and_deviation_are_over_the_same_questions(self, run: Run) -> None:
        """A judging that stopped has judged some questions once: those count for neither, and nor does a configuration without any."""
        whole = {(c, q, 0, j): 0.5 + c / 10 - j / 100 for c in (0, 1) for q in range(20) for j in range(3)}
        once = {(c, q, 0, 0): float(c == 0) for c in (0, 1, 2) for q in range(20, QUESTIONS)}
        (found,) = verdicts.noise(self.judged_run(run, "groundedness", whole | once))
        assert (found.questions, found.configurations, found.difference) == (20, 2, pytest.approx(0.1))
        assert found.judge == Spread(pytest.approx(0.01), 4)
        assert found.generator is None

    def test_a_question_that_one_has_not_counts_for_no_other(self, run: Run) -> None:
        """Means over other questions differ without any noise."""
        hard = {q: 0.0 if q < 30 else 1.0 for q in range(QUESTIONS)}
        scores = {(c, q, 0, j): hard[q] for c in range(3) for q in range(QUESTIONS) for j in range(3) if c != 1 or q >= 30}
        (found,) = verdicts.noise(self.judged_run(run, "groundedness", scores))
        assert (found.questions, found.configurations, found.difference) == (30, 3, 0.0)
        assert verdicts.noise_row(found)["beyond noise"] is False

    def test_only_the_headline_s_questions_count(self, tmp_path: Path) -> None:
        """As in the charts."""
        run = a_run(tmp_path, [entry(), entry(top_k=3)], columns(GOOD, GOOD), kinds=("detail", "unanswerable"))
        made = with_verdicts(run, {"groundedness": columns([1.0, 0.0] * 30, [1.0, 1.0] * 30)}, repeats=3)
        (found,) = verdicts.noise(made)
        assert (found.questions, found.difference) == (30, 0.0)

    def test_what_nobody_judges_varies_only_with_the_answer(self, run: Run) -> None:
        """By code an answer has the same score each time: that is no noise of a judge, and none of extractive answers."""
        again = {(c, q, 0, j): 0.5 for c in (0, 1) for q in range(20) for j in range(3)}
        made = self.judged_run(run, "rouge-l", again)
        assert verdicts.noise(made) == []
        for q in range(20):
            for a in (1, 2):
                line: dict[str, Any] = {"c": 1, "q": q, "a": a, "j": 0, "scores": {"rouge-l": 0.5 + a / 10}}
                judged.append(made.folder, judged.ROWS, line)
        (found,) = verdicts.noise(made)
        assert (found.judge, found.generator) == (None, Spread(pytest.approx(0.1), 2))


def test_agreement_in_words() -> None:
    """The metric that agrees most often; few thumbs say nothing yet."""
    assert "groundedness agrees with people the most often: .80 of 30" in verdicts.agreement_sentence([AGREED])
    assert "5 thumbs are too few" in verdicts.agreement_sentence([replace(AGREED, n=5)])
    assert verdicts.agreement_sentence([]) == ""


@pytest.mark.parametrize(
    ("scores", "thumbs", "kappa"),
    [
        (HALF, "ud", 1.0),
        (HALF, "du", -1.0),
        (HALF, "u", None),
        (GOOD, "ud", None),
        (GOOD, "u", None),
    ],
    ids=["always agree", "never agree", "people never differ", "the judge never differs", "neither differs"],
)
def test_kappa_needs_both_to_differ(tmp_path: Path, scores: list[float], thumbs: str, kappa: float | None) -> None:
    """Where either always says the same there is nothing beyond chance to find, and 0 would look like a judge that guesses."""
    made = with_verdicts(a_run(tmp_path, [entry()], columns(GOOD)), {"groundedness": columns(scores)})
    for q in range(20):
        judged.set_thumb(made.folder, 0, q, {"u": "up", "d": "down"}[thumbs[q % len(thumbs)]])
    (found,) = verdicts.agreements(made)
    assert found.kappa == kappa


def test_what_is_told_apart(tmp_path: Path) -> None:
    """The judge first; then per metric the best, and how many cannot be told from it, or why nothing is comparable."""
    some = [*GOOD[:30], *["the answer refuses"] * 30]
    run = a_run(tmp_path, [entry(), entry(keyword="off")], columns(GOOD, HALF))
    made = with_verdicts(run, {"groundedness": columns(GOOD, HALF), "faithfulness": columns(GOOD, some)})
    said = verdicts.verdict_findings(made)
    assert said[0] == "Answers were judged by claude claude-fake-judge at http://127.0.0.1:9, which wrote some of the answers itself."
    assert "groundedness: the highest is Keyword bm25s, 1.00; it is distinguishable from every other." in said
    assert any(each.startswith("faithfulness: Keyword bm25s 1.00; Keyword off is not comparable: defined for") for each in said)


def test_an_answer_with_the_passages_it_was_made_from(tmp_path: Path) -> None:
    """As many as the configuration shows; none of a row that kept none."""
    made = with_verdicts(a_run(tmp_path, [entry()], columns(GOOD)), {"groundedness": columns(GOOD)})
    (view,) = verdicts.answer_views(made, 3, [0])
    assert (view.passages, view.scores, view.problem) == ((), {"groundedness": 1.0}, "")
    judged.set_thumb(made.folder, 0, 3, "up")
    assert verdicts.thumbs_of(made) == {(0, 3): "up"}


def test_thumbs_on_ask_count_under_another_name_of_the_corpus(tmp_path: Path) -> None:
    """For the same question and the very same answer; not for an answer that failed, which is no text."""
    run = a_run(tmp_path, [entry(), entry(top_k=3)], columns(GOOD, GOOD))
    lines = [{"c": 0, "q": 0, "error": "", "answer": {"text": "A serpent."}}, {"c": 1, "q": 0, "error": "", "answer": {"text": ""}}]
    made = with_rows(run, lines)
    given = [
        Logged(str(at), "c", 0.0, "renamed", {}, {}, {"question": "Question  0?", "text": text}, thumb)
        for at, (text, thumb) in enumerate([("A serpent.", "up"), ("", "down"), ("Another.", "down")])
    ]
    assert verdicts.thumbs_of(made, given) == {(0, 0): "up"}


def with_rows(run: Run, lines: list[dict[str, Any]]) -> Run:
    """The run with those fields of its rows replaced."""
    path = run.folder / "rows.jsonl"
    (run.folder / "rows.parquet").unlink()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    told = {(line["c"], line["q"]): line for line in lines}
    path.write_text("".join(f"{json.dumps(row | told.get((row['c'], row['q']), {}))}\n" for row in rows))
    return open_run(run.folder.parent, run.manifest.id)


def test_numbers_of_one_and_of_more(tmp_path: Path) -> None:
    """One verdict, one answer, one of the others; and the reason that most of them have."""
    names = [entry(), entry(keyword="off"), entry(top_k=3)]
    one = [*GOOD[:59], None]
    made = with_verdicts(a_run(tmp_path, names, columns(GOOD, GOOD, HALF)), {"groundedness": columns(one, GOOD, HALF)})
    said = " ".join(verdicts.verdict_findings(made))
    assert "1 verdict failed, for example: the judge said nothing Going on asks for it again." in said
    assert "1 of the other 2 cannot be told from it." in said
    lines = [json.loads(line) for line in (made.folder / judged.ROWS).read_text().splitlines()]
    for left, wanted in ((1, "judged yet: 1 answer of a configuration waits."), (2, "up to 2 answers of a configuration wait.")):
        (made.folder / judged.ROWS).write_text(
            "".join(f"{json.dumps(line)}\n" for line in lines if (line["c"], line["q"]) not in {(0, q) for q in range(left)})
        )
        assert wanted in " ".join(verdicts.verdict_findings(made))
