"""Comparison, *Why not?* and word weights as HTML, and labels that are text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.configuration import Configuration
from sitt_core.retrieval.compare import Change, compare
from sitt_core.retrieval.weights import WordWeight, asked_as
from sitt_core.surfaces.dashboard import cards, pin, whynot
from sitt_core.surfaces.dashboard.plain import plain_label
from sitt_core.types import Chunk, Hit, Passage, Source
from sitt_core.whynot import Explanation, Fate, Standing


def passage(rank: int, name: str, heading: str = "Accounts") -> Passage:
    chunk = Chunk(name, f"{name}.md", 0, 5, "A lake", (heading,), 2)
    return Passage(rank, chunk, name, Source("", "", ""), Hit(name, 1.0), 9)


def pinned(*passages: Passage, question: str = "who?") -> pin.Pinned:
    return pin.Pinned("guide", question, Configuration(), passages)


def test_a_comparison_names_everything_with_its_ranks() -> None:
    """Entered, left, moved and how many stayed; the other question only when it differs, the rule only when it applies."""
    before = (passage(1, "a"), passage(2, "b"), passage(3, "c"))
    found = compare(before, [passage(1, "a"), passage(2, "c"), passage(3, "d")], same_cut=True)
    html = pin.comparison_html(found, pinned(*before), question="who?", same_cut=True)
    for said in ("d › Accounts (#3)", "b › Accounts (was #2)", "c › Accounts (#3 → #2)", "<dt>stayed</dt><dd>1</dd>"):
        assert said in html
    assert "“who?”" not in html
    assert "Cut differently" not in html
    other = pin.comparison_html(found, pinned(*before), question="where?", same_cut=False)
    assert "“who?”" in other
    assert "share at least 50% of the shorter one" in other


@pytest.mark.parametrize(
    ("before", "sign", "meaning"),
    [(None, ">new<", "not in A"), (5, ">▲2<", "up 2, from rank 5 in A"), (1, ">▼2<", "down 2, from rank 1 in A"), (3, "", "")],
    ids=["new", "up", "down", "stayed"],
)
def test_a_badge_is_a_sign_with_a_meaning(before: int | None, sign: str, meaning: str) -> None:
    """What stayed has none; the others are read out in words."""
    html = pin.badge_html(Change(passage(3, "a"), before))
    assert sign in html
    assert meaning in html
    assert bool(html) is bool(sign)


STANDINGS = (
    Standing("dense", 143, 541, 0.21, 50, 0.43, False),
    Standing("keyword", None, 88, None, 50, 2.1, False),
    Standing("shown", 2, 70, 0.03, 5, 0.0301, True),
)


def fate(name: str) -> Fate:
    return Fate(passage(1, name).chunk, STANDINGS, None, f"lost with {name}.")


def test_a_fate_is_a_table_of_stages() -> None:
    """Rank of how many, score, that of the last that went on, and the outcome in a word."""
    html = whynot.fate_html(fate("a"), {"a.md": "Lake <b>"})
    assert "Lake &lt;b&gt; › Accounts" in html
    assert "<td>143 of 541</td><td>0.21</td><td>#50: 0.43</td><td>✗ stops</td>" in html
    assert "<td>– of 88</td><td>–</td><td>#50: 2.10</td><td>✗ not in it</td>" in html
    assert "<td>2 of 70</td><td>0.0300</td><td>#5: 0.0301</td><td>✓ shown</td>" in html
    assert "lost with a." in html
    assert "lost with a." not in whynot.fate_html(fate("a"), {}, said=True)


def test_many_chunks_are_folded_after_the_first_few() -> None:
    """All of them are there."""
    names = "abcde"
    html = whynot.explanation_html(Explanation("It is <lost>.", tuple(map(fate, names))), {})
    assert "<p>It is &lt;lost&gt;.</p>" in html
    assert html.index("lost with c.") < html.index("<summary>2 more chunks</summary>") < html.index("lost with d.")
    assert "<details>" not in whynot.explanation_html(Explanation("Nowhere."), {})


def test_words_say_what_each_adds_and_which_are_missing() -> None:
    """The line adds up; shares are of the sum; what is not here and what is nowhere are told apart."""
    weights = (WordWeight("manitoba", 2, 6, 3.0), WordWeight("monster", 1, 138, 1.0))
    asked = {"manitoba": "manitoba", "monster": "monsters", "live": "lives", "zzyzx": "zzyzx"}
    html = cards.why_html(weights, asked, ["zzyzx"], chunks=541)
    assert "Words: manitoba 3.00 · monsters 1.00 (=\u00a04.00)" in html
    assert '<th scope="row">manitoba</th><td>2×</td><td>6 of 541</td><td>3.00</td><td>75%</td>' in html
    assert "not in this passage: lives" in html
    assert "nowhere in the corpus: zzyzx" in html
    assert "No word of the question stands here." in cards.why_html((), asked, [], chunks=541)


def test_words_of_no_weight_do_not_fail() -> None:
    """BM25Okapi gives a word of half the chunks nothing: its share is none."""
    assert "<td>0.00</td><td>0%</td>" in cards.why_html((WordWeight("lake", 1, 2, 0.0),), {"lake": "lake"}, [], chunks=4)


@pytest.mark.parametrize(
    ("question", "written"),
    [
        pytest.param("Which “Creatures” glow?", {"creatur": "creatures", "glow": "glow"}, id="stems and punctuation"),
        pytest.param("Nessie's bat-like", {"nessi": "nessie's", "bat": "bat", "batlik": "batlik"}, id="possessive and hyphen"),
        pytest.param("of the", {}, id="stop words"),
    ],
)
def test_words_are_shown_as_they_were_asked(question: str, written: dict[str, str]) -> None:
    """A stem by the word it came from; parts of a compound as they are searched."""
    assert {word: form for word, form in asked_as(question, "english").items() if word in written} == written


@given(st.text(max_size=60))
def test_a_label_has_no_markdown_left(text: str) -> None:
    """Every special character is escaped, every colon defused, all on one line."""
    label = plain_label(text)
    assert "\n" not in label
    assert label.count(":") == label.count(":\u2060")
    for at, character in enumerate(label):
        if character in "*_[]`$<>#":
            assert label[:at].endswith("\\")


def test_a_long_label_is_cut() -> None:
    """With an ellipsis at its length."""
    assert plain_label("a" * 50, length=10) == "a" * 9 + "…"
