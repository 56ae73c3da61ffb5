"""What is said of judged answers in sentences and in lines of tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from evals import judged, verdicts
from evals.statistics import Interval
from evals.verdicts import Agreement, Noise
from tests.fakes.runs import GOOD, HALF, a_run, columns, entry, with_verdicts

NOISE = Noise("groundedness", 3, 40, 0.01, 0.02, 0.3)
AGREED = Agreement("groundedness", 30, 20, Interval(0.8, 0.6, 0.9, 30, 30, "Wilson"), 0.5, 0.9)


@pytest.mark.parametrize(
    ("noise", "beyond", "said"),
    [
        (NOISE, True, "In every metric the configurations differ by more than repeats alone bring about."),
        (replace(NOISE, difference=0.05), False, "none of these differences means anything"),
        (replace(NOISE, judge=None, generator=None), None, "In every metric"),
    ],
    ids=["more than noise", "noise", "not tried"],
)
def test_differences_beside_noise(noise: Noise, beyond: bool | None, said: str) -> None:
    """2√2 of the larger deviation is what repeats alone bring about: here .057."""
    assert verdicts.noise_row(noise)["beyond noise"] is beyond
    assert said in verdicts.noise_sentence([noise])


def test_noise_in_some_metrics() -> None:
    """Those are named; nothing is said of nothing."""
    said = verdicts.noise_sentence([NOISE, replace(NOISE, metric="faithfulness", difference=0.01)])
    assert said == "In faithfulness the configurations differ by no more than repeats alone bring about: those differences mean nothing."
    assert verdicts.noise_sentence([]) == ""


def test_agreement_in_words() -> None:
    """The metric that agrees most often; few thumbs say nothing yet."""
    assert "groundedness agrees with people the most often: .80 of 30" in verdicts.agreement_sentence([AGREED])
    assert "5 thumbs are too few" in verdicts.agreement_sentence([replace(AGREED, n=5)])
    assert verdicts.agreement_sentence([]) == ""


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
