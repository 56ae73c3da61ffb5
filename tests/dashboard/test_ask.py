"""The Ask page in a real browser: answers that stream, break off, are stopped, lie or are declined, and what is kept of them."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect

from sitt_core import notes
from sitt_core.background import Background
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.pipeline import Asking
from sitt_core.settings import Settings
from sitt_core.store.reading import open_corpus
from sitt_core.types import Answer
from tests.dashboard.conftest import WAIT, served, settle, window
from tests.dashboard.test_explore import MANITOBA, parameters, segment
from tests.fakes.claude import FakeClaude

pytestmark = pytest.mark.browser

OFF_TOPIC = "How do I file my taxes in Portugal?"


@dataclass(frozen=True)
class Lab:
    """A server with Claude standing on loopback, its data folder, and the service."""

    url: str
    data_dir: Path
    claude: FakeClaude


@pytest.fixture(scope="module")
def lab(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A store of its own, so that what is logged is these tests' own; a word of the model's takes a twentieth of a second."""
    data_dir = tmp_path_factory.mktemp("ask") / "data"
    shutil.copytree(store / "store", data_dir / "store")
    with FakeClaude(delay=0.05) as claude:
        variables = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": claude.url, "LLM_PROVIDER": "extractive", "LLM_IDLE_TIMEOUT": "5"}
        with served(data_dir, variables=variables) as url:
            yield Lab(url, data_dir, claude)


def open_ask(page: Page, lab: Lab, model: str = "", **fields: str) -> None:
    """Comes to the page by its link, with a model of the service's or without any: a deep link brings Streamlit's own 404s."""
    asked = {"answer.provider": "claude", "answer.model": model} if model else {}
    page.goto(f"{lab.url}/?{urlencode({**asked, **fields})}")
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="Ask", exact=True)).to_be_visible()
    page.get_by_placeholder("Ask the corpus …").wait_for()
    settle(page)


def put(page: Page, question: str) -> None:
    """Types a question and sends it."""
    box = page.get_by_placeholder("Ask the corpus …")
    expect(box).to_be_enabled()
    box.fill(question)
    expect(page.get_by_role("button", name="Send message")).to_be_enabled()
    box.press("Enter")


def ended(page: Page, count: int = 1) -> Locator:
    """Waits until so many answers are done, and returns the last."""
    details = page.get_by_test_id("stMainBlockContainer").locator("[class*=st-key-turn-]")
    expect(details).to_have_count(count)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    settle(page)
    return details.last


def kept(lab: Lab, question: str) -> notes.Logged:
    """The last answer to a question in the log."""
    folder = lab.data_dir / "notes"
    answers = [each for listed in notes.conversations(folder) for each in notes.conversation_answers(folder, listed.id)]
    return max((each for each in answers if each.record["question"] == question), key=lambda each: each.asked)


def test_without_a_model_the_passages_answer(page: Page, lab: Lab) -> None:
    """The default answers in the sources' sentences and says that; a chip opens the very characters of the document."""
    open_ask(page, lab)
    expect(page.get_by_test_id("stMainBlockContainer")).to_contain_text("no key, no cost")
    page.get_by_role("button", name=MANITOBA).click()
    turn = ended(page)
    expect(turn).to_contain_text("No language model wrote this")
    expect(turn.locator(".text")).to_contain_text("Manitoba")
    chip = turn.locator("button.chip").first
    expect(chip).to_have_attribute("aria-expanded", "false")
    chip.click()
    expect(chip).to_have_attribute("aria-expanded", "true")
    citation = kept(lab, MANITOBA).record["citations"][0]
    document = open_corpus(lab.data_dir / "store", "field-guide").document(citation["document_id"])
    cited = document.text[citation["span"]["start"] : citation["span"]["end"]]
    expect(turn.locator(".place mark")).to_have_text(cited)
    expect(turn.locator(".place")).to_contain_text("CC BY-SA 4.0 · fetched 20")
    chip.click()
    expect(turn.locator(".place")).to_have_count(0)


def test_a_question_beyond_the_corpus_is_refused(page: Page, lab: Lab) -> None:
    """A refusal looks like one, cites nothing and is marked nowhere."""
    open_ask(page, lab)
    put(page, OFF_TOPIC)
    turn = ended(page)
    expect(turn.locator(".refusal")).to_have_text("The corpus does not say.")
    expect(turn.locator("button.chip")).to_have_count(0)
    expect(turn.locator(".flag")).to_have_count(0)


def test_an_answer_streams_and_its_chips_work_meanwhile(page: Page, lab: Lab) -> None:
    """The price stands there before; words come one by one; a chip opened while they come stays open; a flip does not disturb."""
    open_ask(page, lab, "claude-fake-slow")
    expect(page.get_by_test_id("stMainBlockContainer")).to_contain_text(re.compile(r"claude-fake-slow: about [\d,]+ tokens to read"))
    put(page, MANITOBA)
    text = page.locator(".answer .text")
    expect(text).to_contain_text(re.compile(r"\w+ \w+"))
    expect(page.get_by_placeholder("Ask the corpus …")).to_be_disabled()
    chip = page.locator("button.chip").first
    chip.click()
    expect(page.locator(".place mark")).to_be_visible()
    grown = len(text.inner_text())
    flipped = segment(page, "Keyword: BM25", "rank-bm25")
    for _ in range(20):  # the page is drawn anew all the while, which may take a click
        flipped.click()
        with contextlib.suppress(AssertionError):
            expect(page).to_have_url(re.compile("keyword=rank-bm25"), timeout=2000)
            break
    expect(page.locator(".answer[aria-busy=true]")).to_have_count(1)
    page.wait_for_function("n => document.querySelector('.stApp').innerText.length > n", arg=grown)
    turn = ended(page)
    assert parameters(page)["keyword"] == ["rank-bm25"]
    assert kept(lab, MANITOBA).fields["keyword"] == "bm25s"
    assert len(turn.locator(".text").inner_text()) >= grown
    turn.get_by_text("claude-fake-slow: ").click()
    expect(turn).to_contain_text("The prompt as it was sent")
    expect(turn).to_contain_text("search_result")


def test_stop_keeps_what_arrived_and_closes_the_service(page: Page, lab: Lab) -> None:
    """A service that fell silent is let go of at once; the text stays, marked as stopped, and can be asked again."""
    open_ask(page, lab, "claude-fake-slow")
    put(page, MANITOBA)
    expect(page.locator(".answer .text")).to_contain_text(re.compile(r"\w+ \w+"))
    page.get_by_role("button", name="Stop", exact=True).click()
    turn = ended(page)
    expect(turn).to_contain_text("Stopped by you")
    expect(turn.get_by_role("button", name="Ask again")).to_be_visible()
    assert kept(lab, MANITOBA).record["stop"] == "stopped"
    assert "claude-fake-slow" in lab.claude.closed_early


@pytest.mark.parametrize(
    ("model", "told", "partly"),
    [
        pytest.param("claude-fake-cut", "ended before", True, id="cut"),
        pytest.param("claude-fake-stall", "silence for 5 s", True, id="stalled"),
        pytest.param("claude-fake-dead", "silence for 5 s", False, id="dead"),
        pytest.param("claude-fake-529", "overloaded", False, id="overloaded"),
        pytest.param("claude-fake-401", "ANTHROPIC_API_KEY", False, id="key refused"),
    ],
)
def test_what_breaks_is_told_and_keeps_what_came(page: Page, lab: Lab, model: str, told: str, partly: bool) -> None:
    """Never a hang: the answer ends with what went wrong in words, the partial text kept, and a button to ask again."""
    open_ask(page, lab, model)
    put(page, MANITOBA)
    turn = ended(page)
    expect(turn.locator(".ending").last).to_contain_text(told)
    expect(turn.get_by_role("button", name="Ask again")).to_be_visible()
    assert bool(turn.locator(".text").inner_text().strip()) == partly


def test_a_model_that_cites_what_is_not_there_is_shown_up(page: Page, lab: Lab) -> None:
    """Its chips carry a sign, and opened say what is wrong; the sentence is marked for checking."""
    open_ask(page, lab, "claude-fake-liar")
    put(page, MANITOBA)
    turn = ended(page)
    wrong = turn.locator("button.chip:not(.quoted)").first
    expect(wrong).to_contain_text("!")
    wrong.click()
    expect(turn.locator(".words:not(.quoted)")).to_be_visible()
    expect(turn.locator(".flag")).not_to_have_count(0)
    expect(turn.locator(".weak-flag").first).to_have_text("check")


def test_follow_ups_keep_their_own_citations(page: Page, lab: Lab) -> None:
    """Each answer's chips count from one and open their own places; the conversation is listed, found again and deleted."""
    open_ask(page, lab)
    put(page, "Who was Lisbeth Vefall?")
    ended(page, 1)
    put(page, MANITOBA)
    ended(page, 2)
    turns = page.locator("[class*=st-key-turn-]")
    for at in range(2):
        turns.nth(at).locator("button.chip").first.click()
    quotes = [turns.nth(at).locator(".place mark").inner_text() for at in range(2)]
    assert len(set(quotes)) == 2
    page.get_by_role("button", name="New conversation").click()
    expect(turns).to_have_count(0)
    page.get_by_role("button", name="Conversations").click()
    page.get_by_role("button", name=re.compile("Who was Lisbeth Vefall.*· 2")).click()
    expect(turns).to_have_count(2)
    for at in range(2):
        turns.nth(at).locator("button.chip").first.click()
        expect(turns.nth(at).locator(".place mark")).to_have_text(quotes[at])


def test_thumbs_notes_and_drafts_are_kept(page: Page, lab: Lab) -> None:
    """What a reader thinks of an answer is in the log; a draft holds the question with its quotes."""
    open_ask(page, lab)
    question = "Who reported the Mongolian death worm?"
    put(page, question)
    turn = ended(page)
    turn.get_by_test_id("stFeedback").get_by_role("radio").last.click()
    settle(page)
    turn.get_by_role("button", name="Note").click()
    note = page.get_by_label("What is right or wrong with it?")
    note.fill("names the right man")
    note.press("Control+Enter")
    settle(page)
    expect.set_options(timeout=WAIT)
    turn.get_by_role("button", name="Make this a golden question").click(force=True)
    expect(page.get_by_test_id("stToast")).to_contain_text("Kept as a draft")
    rated = kept(lab, question)
    assert (rated.thumb, rated.note) == ("down", "names the right man")
    (draft,) = [each for each in notes.drafts(lab.data_dir / "notes") if each.question == question]
    corpus = open_corpus(lab.data_dir / "store", "field-guide")
    assert draft.evidence
    for each in draft.evidence:
        assert corpus.document(each["document"]).text[each["start"] : each["end"]] == each["quote"]


def test_hostile_text_shows_as_text(page: Page, lab: Lab) -> None:
    """What a document or a question holds is never markup, in the answer or in the cited place."""
    open_ask(page, lab, corpus="hostile")
    put(page, "<img src=x onerror=alert(1)> **What** does the $kelpie$ do?")
    turn = ended(page)
    expect(turn.locator(".sl-asked")).to_have_text("<img src=x onerror=alert(1)> **What** does the $kelpie$ do?")
    expect(page.locator("img[src=x]")).to_have_count(0)
    for chip in turn.locator("button.chip").all():
        chip.click()
    expect(turn.locator("script, iframe, img")).to_have_count(0)


def test_a_missing_key_says_what_is_needed(page: Page, lab: Lab) -> None:
    """Named before anything is asked."""
    open_ask(page, lab, **{"answer.provider": "openai"})
    expect(page.get_by_test_id("stMainBlockContainer")).to_contain_text("openai needs OPENAI_API_KEY")


def test_the_conversation_stays_while_something_must_be_built(page: Page, lab: Lab) -> None:
    """A flip to a configuration without an index offers to build it; the answer that is being written stays, with its Stop."""
    open_ask(page, lab, "claude-fake-slow")
    put(page, MANITOBA)
    expect(page.locator(".answer .text")).to_contain_text(re.compile(r"\w+ \w+"))
    page.get_by_test_id("stSidebar").get_by_role("radiogroup", name="Chunking").get_by_text("sentence").click()
    expect(page.get_by_role("button", name="Build this index")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    turn = ended(page)
    expect(turn.locator("button.chip").first).to_be_visible()
    expect(page.get_by_placeholder("Ask the corpus …")).to_be_disabled()


ANSWERED = (
    MANITOBA,
    "Who was Lisbeth Vefall?",
    "How many people died when the Silver Bridge collapsed?",
    "Who took the 1977 photograph of Champ?",
    "Which owl could explain the Ahool?",
    "What do the almas look like?",
    "Where does the name Mothman come from?",
    "Who told the public about the Owlman?",
)
REFUSED = (
    OFF_TOPIC,
    "Who is Taylor Swift?",
    "Which dentist invented the electric toothbrush?",
    "Who was Lisbeth Salander?",
    "How do I bake sourdough bread?",
    "How many moons does Saturn have?",
    "When was the Eiffel Tower finished?",
    "How do I calibrate an oscilloscope?",
)
"""Beyond the corpus. What is near a subject of it, such as a film about the Yeti, is answered with a warning: no score tells it apart."""


def test_eight_questions_are_answered_and_eight_refused(store: Path) -> None:
    """By the default configuration over the field guide: every quote slices its document, and a refusal cites nothing."""
    workshop = Workshop(Settings(store))
    corpus = workshop.corpus("field-guide")
    engine = workshop.engine(corpus, configure({}))
    provider = workshop.provider(engine)

    def answer(question: str) -> Answer:
        return Background(Asking(question, engine, provider).run, name="test").result()

    for question in ANSWERED:
        given = answer(question)
        assert not given.refused, (question, given.note)
        assert given.citations
        for citation in given.citations:
            assert citation.span is not None
            assert corpus.document(citation.document_id).text[citation.span.start : citation.span.end] == citation.quote
        assert {sentence.support for sentence in given.sentences} == {"supported"}
    for question in REFUSED:
        given = answer(question)
        assert (given.refused, given.citations) == (True, ()), (question, given.note)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")], ids=["wide and dark", "narrow and light"])
def test_the_page_is_accessible_and_fits(profile: BrowserContext, lab: Lab, width: int, scheme: Literal["light", "dark"]) -> None:
    """No violation of WCAG A and AA that axe can find, with a place open, and nothing wider than the window."""
    page = window(profile, width, scheme)
    open_ask(page, lab, "claude-fake-liar")
    put(page, MANITOBA)
    turn = ended(page)
    turn.locator("button.chip").first.click()
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
