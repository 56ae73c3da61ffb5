"""The Questions page: what it shows as text, and a person's way through it in a real browser."""

import html
import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from evals import editing
from evals.editing import Row, Shelf
from evals.exchange import Import
from evals.golden import Finding, Question, Quote
from sitt_core import notes
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.settings import Settings
from sitt_core.surfaces.dashboard import questions, questions_edit, questions_html
from sitt_core.types import Document
from tests.dashboard.conftest import HOSTILE, served, settle, window
from tests.dashboard.test_corpus import BARE, choose, fill, open_section
from tests.fakes.claude import FakeClaude
from tests.fakes.corpora import NAME, document, publish, tales

EVIL = "<img src=x onerror=alert(1)> **b** :smile: [x](javascript:alert(1)) <b>"
LAKE = tales()[0]
RISING = Quote("lake.md", "A long neck rose from the cold lake at dawn.")


def a_row(question: Question, *findings: Finding, whose: editing.Whose = "own") -> Row:
    return Row(question, whose, "v", findings)


class TestHtml:
    def test_nothing_that_people_wrote_is_markup(self) -> None:
        """In a question, its findings, its evidence, a draft, an import: every < is text."""
        evil = document("evil.md", f"# {EVIL}\n\nBefore {EVIL} after.")
        quote = Quote("evil.md", f"Before {EVIL}")
        question = Question(
            EVIL, EVIL, EVIL, grades={EVIL: 2, "evil.md": 1}, evidence=((quote, Quote(EVIL, EVIL)),), answer=EVIL, facts=(EVIL,)
        )
        finding = Finding(EVIL, EVIL, EVIL)
        needs = [
            [editing.look_up(quote, evil), editing.look_up(Quote(EVIL, EVIL), None), editing.look_up(Quote("evil.md", f"x{EVIL} y"), evil)]
        ]
        draft = notes.Draft(EVIL, NAME, EVIL, EVIL, (), 0.0, EVIL)
        record = {"provider": EVIL, "refused": False}
        logged = notes.Logged("a", "c", 0.0, NAME, {}, {}, record, "down", EVIL)
        drawn = [
            questions_html.question_html(a_row(question, finding), needs, {EVIL: EVIL}),
            questions_html.question_html(a_row(Question(EVIL, EVIL, "unanswerable", about=(EVIL,))), [], {}),
            questions_html.draft_html(draft, None, needs),
            questions_html.draft_html(draft, logged, needs),
            questions_html.import_html(Import((), (EVIL,))),
            questions_html.import_html(Import((question,), (), (finding,))),
            questions_html.verdict_html([EVIL], [], question, side="open"),
            questions_html.verdict_html([], [finding], question, side="open"),
            questions_html.summary_html(Shelf(EVIL), editing.Review(())),
        ]
        for each in drawn:
            assert "<img" not in each
        assert all(html.escape(EVIL) in each for each in drawn)

    def test_a_sealed_question_shows_that_it_is_there_and_what_kind_of_thing_is_wrong(self) -> None:
        """With a line saying why it says no more, and how one's own can be changed all the same."""
        sealed = Question("secret-lake", "A secret?", "detail", "sealed", {"lake.md": 1}, ((RISING,),), answer="Secretly.")
        shelf = Shelf(NAME, own=(sealed,))
        (row,) = editing.review(shelf, [], [Finding("secret-lake", "stale", "secret words are not in lake.md")]).rows
        card, line = questions_html.question_html(row, [], {}), questions.table_row(row)
        for told in (card, repr(line)):
            assert "ecret" not in told
            assert "lake" not in told
        assert "stay hidden" in card
        assert "file in the notes folder" in card
        assert (line["check"], line["question"], line["id"]) == (
            *("✗ stale", "your sealed detail 1: its text stays hidden", "your sealed detail 1"),
        )
        assert "Your sealed detail 1" in card

    def test_a_row_says_in_words_what_is_wrong(self) -> None:
        """Each kind once; a question without findings says that as well."""
        question = Question("q", "Where?", "detail", grades={"lake.md": 1}, evidence=((RISING,),))
        stale = Finding("q", "stale", "a"), Finding("q", "stale", "b"), Finding("q", "wording", "c")
        assert questions.table_row(a_row(question, *stale))["check"] == "✗ stale, wording"
        assert questions.table_row(a_row(question))["check"] == "✓ fine"
        assert "Nothing is wrong with it." in questions_html.question_html(a_row(question), [], {})

    @pytest.mark.parametrize(
        ("quote", "held", "said"),
        [
            (RISING, LAKE, "Found at characters 20–64 of The lake serpent, before the first heading"),
            (Quote("lake.md", "e"), LAKE, "times in The lake serpent: say which is meant. The first 3 are shown."),
            (Quote("lake.md", "A long throat rose from the cold lake at dawn."), LAKE, "<b>Nearest text</b>, 90% of the words in common"),
            (Quote("lake.md", "a LONG neck"), LAKE, "the same but for case or typography"),
            (Quote("lake.md", "nothing whatever like this"), LAKE, "Nothing there is like it."),
            (Quote("gone.md", "words"), None, "gone.md is not in the corpus"),
            (Quote("lake.md", "iron", 2), LAKE, "Not in The lake serpent 2 times; it is there 1 times."),
        ],
        ids=["found", "several", "near", "case", "nothing", "missing", "occurrence"],
    )
    def test_evidence_says_where_it_stands(self, quote: Quote, held: Document | None, said: str) -> None:
        """Or what became of it."""
        assert said in questions_html.look_up_html(editing.look_up(quote, held))

    def test_found_evidence_is_marked_in_its_context(self) -> None:
        """Word for word."""
        drawn = questions_html.look_up_html(editing.look_up(Quote("lake.md", "traps of iron"), LAKE))
        assert "Fishermen set <mark>traps of iron</mark>." in drawn

    @pytest.mark.parametrize(
        ("thumb", "note", "said"), [("up", "", "Thumbs up"), ("down", "wrong lake", "wrong lake"), ("", "", "No thumb")]
    )
    def test_a_draft_shows_what_was_thought_of_its_answer(self, thumb: Any, note: str, said: str) -> None:
        """Beside the answer; one whose answer has gone says so."""
        draft = notes.Draft("d", NAME, "Q?", "It is.", (), 0.0, "c/1")
        logged = notes.Logged("1", "c", 0.0, NAME, {}, {}, {"provider": "extractive", "refused": False}, thumb, note)
        assert said in questions_html.draft_html(draft, logged, [])
        assert "no longer kept" in questions_html.draft_html(draft, None, [])
        chosen = questions_html.draft_html(notes.Draft("d", NAME, "Q?", "", (), 0.0, notes.FROM_PASSAGES), None, [])
        assert "from passages on Explore" in chosen
        drafted = questions_html.draft_html(notes.Draft("d", NAME, "Q?", "", (), 0.0, f"{notes.FROM_A_MODEL} m-1"), None, [])
        assert "from a passage, drafted by m-1" in drafted
        assert "humb" not in chosen + drafted
        assert "from elsewhere" in questions_html.draft_html(notes.Draft("d", NAME, "Q?", "", (), 0.0, "elsewhere"), None, [])

    def test_a_question_on_the_wrong_side_is_told_before_it_is_kept(self) -> None:
        """Where the others about its primary document are."""
        question = Question("q", "Where?", "detail", "open", {"lake.md": 1})
        assert "are sealed: so should this one be" in questions_html.verdict_html([], [], question, side="sealed")
        assert "so should" not in questions_html.verdict_html([], [], question, side="open")

    def test_kinds_come_in_the_order_of_the_field_guide(self) -> None:
        """Kinds of one's own behind them."""
        rows = [a_row(Question(kind, "?", kind)) for kind in ("mine", "named", "detail", "thematic")]
        assert questions.kinds_of(editing.Review(tuple(rows))) == ["thematic", "detail", "named", "mine"]

    def test_the_beginning_of_a_known_kind_is_that_kind(self) -> None:
        """Typed and entered, it would become one more; what begins two of them, or none, is taken as it is."""
        known = ("detail", "described", "unanswerable")
        assert [questions_edit.meant_kind(typed, known) for typed in ("Unans", "de", " mine ", "detail", "")] == [
            *("unanswerable", "de", "mine", "detail", ""),
        ]


@dataclass(frozen=True)
class Lab:
    """A server on a store with the tales and a hostile corpus, and its settings."""

    url: str
    settings: Settings


STALE = ((Quote("sky.md", "A bird as broad as a barn crossed the evening sky."),),)
KEPT = (
    Question("own-fine", "What came out of the water?", "detail", grades={"lake.md": 1}, evidence=((RISING,),)),
    Question("own-stale", "Which bird is huge?", "detail", grades={"sky.md": 1}, evidence=STALE),
    Question("own-secret-moor", "A secret about the moor?", "detail", "sealed", {"moor.md": 1}),
)
"""Questions of one's own about every copy of the tales: a fine one, a stale one and a sealed one."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The tales under a name for each test that changes their questions."""
    settings = Settings(tmp_path_factory.mktemp("data"))
    publish(settings.store_dir)
    publish(
        settings.store_dir, tales(), made_from=Workshop(settings).recipe(configure({"embedder": "hash"}), language="english"), name="drafts"
    )
    editing.add_questions(settings, "drafts", KEPT)
    for name in ("adding", "mending", "looks"):
        shutil.copytree(settings.store_dir / NAME, settings.store_dir / name)
        editing.add_questions(settings, name, KEPT)
    evil = [document(path.name, path.read_text(encoding="utf-8")) for path in sorted(HOSTILE.glob("*.md"))]
    publish(settings.store_dir, evil, name="hostile")
    with FakeClaude(script=drafting) as claude:
        variables = {
            **{"SITT_EMBEDDER": "hash", "ANTHROPIC_API_KEY": "sk-none", "ANTHROPIC_BASE_URL": claude.url},
            **{"JUDGE_MODEL": "claude-fake-draft", "JUDGE_PRICE_INPUT": "1", "JUDGE_PRICE_OUTPUT": "5"},
        }
        with served(settings.data_dir, *BARE, variables=variables) as url:
            yield Lab(url, settings)


SQUIRTS = "A red worm spits acid from the sand."


def drafting(prompt: str, _mode: str) -> str:
    """A language model that has a question about the worm alone."""
    quote = SQUIRTS if SQUIRTS in prompt else ""
    told = {"question": "What squirts acid?" if quote else "", "quote": quote, "answer": quote, "kind": "detail" if quote else ""}
    return json.dumps(told)


def open_questions(page: Page, lab: Lab, corpus: str, section: str = "") -> None:
    """Comes to the page by its link: a deep link makes the browser's console report Streamlit's own 404s."""
    page.goto(f"{lab.url}/?corpus={corpus}")
    page.get_by_role("link", name="Questions").click()
    page.get_by_role("tab", name="Drafts").wait_for()
    settle(page)
    if section:
        open_section(page, section)


def tick(page: Page, row: int) -> None:
    """Opens a row of the table."""
    page.get_by_test_id("stDataFrame").click(position={"x": 16, "y": 38 + 17 + 35 * row})
    page.locator(".sl-card").wait_for()
    settle(page)


@pytest.mark.browser
def test_a_question_is_added_with_evidence_that_was_looked_up_and_deleted_again(page: Page, lab: Lab) -> None:
    """A misquoted sentence is found by its nearest text, taken with a click, kept with the question; deleting asks first."""
    open_questions(page, lab, "adding")
    page.get_by_role("button", name="Add a question").click()
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("Before it can be kept")
    fill(page, "Question", "Who lay in wait with iron?")
    choose(page, "From the document", "lake.md")
    fill(page, "Quotation", "The fishermen set traps of steel.")
    page.get_by_role("button", name="Take the nearest text").click()
    expect(page.get_by_label("Quotation", exact=True)).to_have_value("Fishermen set traps of iron.")
    expect(main).to_contain_text("in section Traps")
    page.get_by_role("button", name="Add this evidence").click()
    expect(main).to_contain_text("Nothing is wrong with it; it would be kept as own-who-lay-in-wait-with-iron")
    page.get_by_role("button", name="Keep it").click()
    card = page.locator(".sl-card")
    expect(card.locator("mark")).to_have_text("Fishermen set traps of iron.")
    *_, kept = editing.own_questions(lab.settings, "adding")
    assert kept.evidence == ((Quote("lake.md", "Fishermen set traps of iron."),),)
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("button", name="Delete it").click()
    expect(card).to_have_count(0)
    assert editing.own_questions(lab.settings, "adding") == KEPT


@pytest.mark.browser
def test_rows_check_themselves_and_are_found_by_filters(page: Page, lab: Lab) -> None:
    """A stale question shows the nearest text and is mended in its form; a sealed one says nothing, also not to a search."""
    open_questions(page, lab, "mending")
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("15 questions about mending, 1 with findings.")
    main.get_by_text("With findings only").click()
    expect(main).to_contain_text("1 of 15 questions")
    tick(page, 0)
    expect(page.locator(".sl-card")).to_contain_text("91% of the words in common")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Take the nearest text").click()
    expect(main).to_contain_text("Nothing is wrong with it")
    page.get_by_role("button", name="Keep it").click()
    expect(main).to_contain_text("0 with findings.")
    search = main.get_by_role("textbox", name="Search")
    search.fill("secret moor")
    search.press("Enter")
    expect(main).to_contain_text("No question is like that.")
    search.fill("own-secret-moor")
    search.press("Enter")
    expect(main).to_contain_text("No question is like that.")
    search.fill("your sealed")
    search.press("Enter")
    expect(main).to_contain_text("1 of 15 questions")
    tick(page, 0)
    expect(page.locator(".sl-card")).to_contain_text("Your sealed detail 1")
    drawn = main.inner_html().casefold()  # with the table's cells, which stand beside its canvas
    assert "sealed detail 1" in drawn
    assert [told for told in ("secret", "moor.md") if told in drawn] == []


@pytest.mark.browser
def test_a_draft_is_accepted_and_files_are_taken_whole_or_not(page: Page, lab: Lab, tmp_path: Path) -> None:
    """Drafted at a known price, it waits until it is kept; a file with an id in use is refused with its reason, a good one is added."""
    folder = lab.settings.notes_dir
    open_questions(page, lab, "drafts", "Drafts")
    main = page.get_by_test_id("stMain")
    main.get_by_text("Draft questions by a language model").click()
    expect(main).to_contain_text("11 passages of 11 documents, by claude claude-fake-draft.")
    start = page.get_by_role("button", name="Draft questions", exact=True)
    expect(start).to_be_disabled()
    main.get_by_text("Spend that: $0.0").click()
    start.click()
    expect(main).to_contain_text("1 draft kept; 10 nothing to ask about.")
    expect(main).to_contain_text("from a passage, drafted by claude-fake-draft")
    main.get_by_text("Draft questions by a language model").click()
    expect(main).to_contain_text("No passage is left to ask about. 11 passages asked about before.")
    expect(main).not_to_contain_text("humb")
    (draft,) = notes.drafts(folder, "drafts")
    page.get_by_role("button", name="Accept …").click()
    expect(page.get_by_label("Question", exact=True)).to_have_value("What squirts acid?")
    assert notes.drafts(folder, "drafts") == (draft,)
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator(".sl-card mark")).to_have_text(SQUIRTS)
    assert notes.drafts(folder, "drafts") == ()
    open_section(page, "Import and export")
    for id_, said in (("own-fine", "the id 'own-fine' is in use"), ("from-a-file", "1 question can be taken.")):
        file = tmp_path / f"{id_}.yaml"
        file.write_text(
            json.dumps([{"id": id_, "kind": "alias", "text": "Which hound is black?", "documents": ["moor.md"]}]), encoding="utf-8"
        )
        page.locator("input[type=file]").set_input_files(file)
        expect(main).to_contain_text(said)
    main.get_by_text("Take them with what would be marked").click()  # the moor is on the sealed side
    page.get_by_role("button", name="Add 1 question").click()
    expect(page.get_by_role("tab", name="Questions")).to_have_attribute("aria-selected", "true")
    assert editing.own_questions(lab.settings, "drafts")[-1].id == "from-a-file"
    open_section(page, "Import and export")
    files = {
        "queries.jsonl": json.dumps({"_id": "from-beir", "text": "Which bird is wide?"}),
        "qrels/test.tsv": "from-beir\tsky.md\t2\nfrom-beir\tgone.md\t1\n",
    }
    with zipfile.ZipFile(tmp_path / "collection.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    page.locator("input[type=file]").set_input_files(tmp_path / "collection.zip")
    expect(main).to_contain_text("1 of 2 judgements is graded, from 1 to 2")
    expect(main).to_contain_text("'gone.md' is not in the corpus")
    main.get_by_text("Take them with what would be marked").click()
    page.get_by_role("button", name="Add 1 question").click()
    expect(page.get_by_role("tab", name="Questions")).to_have_attribute("aria-selected", "true")
    assert editing.own_questions(lab.settings, "drafts")[-1].grades == {"sky.md": 2, "gone.md": 1}


@pytest.mark.browser
def test_hostile_texts_are_shown_as_text(page: Page, lab: Lab) -> None:
    """Documents, questions and drafts of the worst kind: nothing of them becomes markup, and the form takes them as they are."""
    held = document("markup.md", (HOSTILE / "markup.md").read_text(encoding="utf-8"))
    quote = editing.quote_at(held, 0, min(300, len(held.text)))
    evil = Question("own-evil", EVIL, "detail", grades={"markup.md": 1}, evidence=((quote,),), answer=EVIL, facts=(EVIL,))
    editing.add_questions(lab.settings, "hostile", [evil])
    notes.save_draft(lab.settings.notes_dir, corpus="hostile", question=EVIL, reference=EVIL, origin=EVIL)
    open_questions(page, lab, "hostile")
    tick(page, 0)
    expect(page.locator(".sl-card h2")).to_have_text(EVIL)
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(EVIL)
    page.get_by_role("button", name="Leave without keeping").click()
    open_section(page, "Drafts")
    expect(page.get_by_test_id("stMain")).to_contain_text(EVIL)
    assert page.locator("[data-testid=stMain] img").count() == 0


@pytest.mark.browser
def test_the_page_is_accessible_and_fits(profile: BrowserContext, lab: Lab) -> None:
    """No violation of WCAG A and AA that axe can find, and nothing wider than the window, in every section and the form."""
    notes.save_draft(lab.settings.notes_dir, corpus="looks", question="Lost?", evidence=[{"document": "sky.md", "quote": "lost words"}])
    page = window(profile, 390, "dark")
    open_questions(page, lab, "looks")

    def look() -> None:
        found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
        assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    tick(page, 1)
    look()
    open_section(page, "Drafts")
    page.get_by_text("Draft questions by a language model").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("has no index yet")  # which drafts would be tried out on
    look()
    page.get_by_role("button", name="Accept …").click()
    page.get_by_role("button", name="Keep it").wait_for()
    look()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")  # our own colours follow with the next run
    page.get_by_role("button", name="Leave without keeping").click()
    open_section(page, "Import and export")
    look()
    open_section(page, "Questions")
    look()
    page.close()
