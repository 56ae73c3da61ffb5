"""What Explore keeps, explains and takes back: pin, *Why not?*, words, undo and redo, presets, recent questions."""

import json
import re
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from sitt_core import notes
from tests.dashboard.conftest import ROOT, pick, settle, window
from tests.dashboard.test_explore import MANITOBA, open_page, parameters, segment

pytestmark = pytest.mark.browser


def sidebar_button(page: Page, name: str) -> None:
    """Clicks a button of the sidebar."""
    page.get_by_test_id("stSidebar").get_by_role("button", name=name, exact=True).click()


def more_passages(page: Page, count: int) -> None:
    """Turns Top K up by one and waits for that many cards."""
    page.get_by_test_id("stSidebar").get_by_role("slider").press("ArrowRight")
    expect(page.locator(".sl-card")).to_have_count(count)
    settle(page)


def open_whynot(page: Page) -> None:
    """Unfolds the panel."""
    page.get_by_text("Why not …?").click()
    page.get_by_role("combobox", name="A document").wait_for()


def choose_document(page: Page, document_id: str) -> None:
    """Types a document's id into the panel's list and takes the one it offers; a run that ends meanwhile closes the list, so again."""
    pick(page.get_by_role("combobox", name="A document"), page.get_by_role("option").filter(has_text=document_id), typed=document_id)


def test_a_pinned_result_shows_what_every_change_did(page: Page, url: str) -> None:
    """Against A: what entered and left by name, badges on the cards, nothing after unpinning."""
    open_page(page, url, q="creature with glowing red eyes on a bridge")
    expect(page.locator(".sl-badge")).to_have_count(0)
    page.get_by_role("button", name="Pin as A").click()
    pinned = page.locator(".sl-pinned")
    expect(pinned).to_contain_text("stayed5")
    expect(page.locator(".sl-badge")).to_have_count(0)
    segment(page, "Dense: vectors", "off").click()
    expect(pinned).not_to_contain_text("stayed5")
    settle(page)
    assert parameters(page)["dense"] == ["off"]
    new, moved = (page.locator(".sl-badge").filter(has_text=sign) for sign in ("new", re.compile("[▲▼]")))
    entered, left, went = (pinned.locator("dd").nth(at).inner_text() for at in range(3))
    assert entered.count("(#") == left.count("(was #") == new.count() > 0
    assert went.count("→") == moved.count()
    for card in page.locator(".sl-card").filter(has=page.locator(".sl-badge", has_text="new")).all():
        assert str(card.locator("h2").text_content())[1:].removesuffix("new") in entered
    page.get_by_role("button", name="Unpin A").click()
    expect(pinned).to_have_count(0)
    expect(page.locator(".sl-badge")).to_have_count(0)


def test_a_pinned_result_is_compared_with_another_question_and_corpus(page: Page, url: str) -> None:
    """Another question says what A was asked; another corpus has nothing to compare."""
    open_page(page, url, q=MANITOBA)
    page.get_by_role("button", name="Pin as A").click()
    page.get_by_role("button", name="Gimlin", exact=True).click()
    expect(page.locator(".sl-pinned")).to_contain_text(MANITOBA)
    page.get_by_test_id("stSidebar").get_by_role("combobox", name="Corpus").click()
    page.get_by_role("option", name="hostile").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("is of the corpus field-guide")
    expect(page.locator(".sl-pinned")).to_have_count(0)


def test_why_not_follows_a_document_and_a_quotation(page: Page, url: str) -> None:
    """A document from the list and words of one: where they stand at every stage, and where they were lost; flips count at once."""
    open_page(page, url, q=MANITOBA)
    open_whynot(page)
    choose_document(page, "manipogo.md")
    told = page.locator(".sl-why")
    expect(told).to_contain_text("shown at rank 1")
    first = told.locator("table").first
    expect(first).to_contain_text("✓ shown")
    assert [row.split()[0] for row in first.locator("tbody tr").all_inner_texts()] == ["dense", "keyword", "fused", "one", "shown"]
    choose_document(page, "yeti.md")
    expect(told).to_contain_text("Yeti, the best of its")
    expect(told).to_contain_text("below the 50 candidates")
    segment(page, "Dense: vectors", "off").click()
    expect(told).to_contain_text("dense is off")
    quote = page.get_by_label("or a quotation from one")
    quote.fill("no such words as these <b>anywhere</b>")
    quote.press("Control+Enter")
    expect(told).to_contain_text("These words are in no document of field-guide")
    quote.fill("MANIPOGO   provincial\npark")
    quote.press("Control+Enter")
    expect(told).to_contain_text("found with case, white space and typography aside in Manipogo")
    expect(told).to_contain_text("shown at rank")
    quote.fill("…!")
    quote.press("Control+Enter")
    expect(page.get_by_test_id("stAlert")).to_contain_text("a quotation with a letter or digit")


def test_words_of_a_passage_become_a_draft_of_a_golden_question(page: Page, url: str, store: Path) -> None:
    """Selected with the mouse in a card, or pasted into the dialog: both join one draft, which waits on Questions as those of Ask do."""
    open_page(page, url, q=MANITOBA)
    text = page.locator(".sl-card", has_text="Ogopogo").first.locator(".sl-text").first
    text.click(click_count=3)
    page.get_by_role("button", name="Make a golden question of this").click()
    dialog = page.get_by_role("dialog")
    quote = dialog.get_by_role("textbox", name="Quotation")
    expect(quote).to_have_value(re.compile("^Ogopogo is .*animal[.]$"))
    expect(dialog.get_by_role("textbox", name="Question")).to_have_value(MANITOBA)
    selected = quote.input_value()
    expect(dialog.locator("mark")).to_have_text(selected)
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    dialog.get_by_role("button", name="Keep as a draft").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Golden question", exact=True).click()
    expect(dialog.get_by_role("button", name="Keep as a draft")).to_be_disabled()
    quote.fill("on the eastern shore of Lake Manitoba")
    quote.press("Control+Enter")
    expect(dialog).to_contain_text("These words are not in Manipogo")
    dialog.get_by_role("button", name="Take the nearest text").click()
    expect(dialog.locator("mark")).to_contain_text("shore of Lake Manitoba")
    dialog.get_by_role("button", name="Keep as a draft").click()
    expect(dialog).to_have_count(0)
    (draft,) = notes.drafts(store / "notes", "field-guide")
    first, second = draft.evidence
    held = {name: (ROOT / "data" / "field_guide" / name).read_text(encoding="utf-8") for name in ("ogopogo.md", "manipogo.md")}
    assert (draft.question, first["document"], first["quote"], second["document"]) == (MANITOBA, "ogopogo.md", selected, "manipogo.md")
    assert all(each["quote"] in held[each["document"]] for each in draft.evidence)
    page.get_by_role("link", name="Questions", exact=True).click()
    page.get_by_role("button", name="Review 1 draft").click()
    expect(page.locator("[data-draft]")).to_contain_text("from passages on Explore")
    expect(page.locator("[data-draft] mark")).to_have_count(2)
    notes.delete_draft(store / "notes", draft.id)


def test_a_card_says_why_each_word_matched(page: Page, url: str) -> None:
    """The words' weights add up to the card's BM25 score; words that are nowhere are named."""
    open_page(page, url, q="Which lake monster lives in Manitoba, zzyzx?", dense="off")
    card = page.locator(".sl-card").first
    details = card.locator("details").filter(has_text="Words:")
    line = details.locator("summary").inner_text()
    assert "manitoba" in line
    details.locator("summary").click()
    weights = [float(row.split("\t")[3]) for row in details.locator("tbody tr").all_inner_texts()]
    total = float(line.split("=")[1].strip(" \u00a0)"))
    assert sum(weights) == pytest.approx(total, abs=0.01 * len(weights))
    expect(card.locator(".sl-scores")).to_contain_text(f"BM25 {total:.2f}")
    expect(details).to_contain_text("nowhere in the corpus: zzyzx")


def test_undo_and_redo_walk_the_flips(page: Page, url: str) -> None:
    """Each button is dead when there is nothing; a question and a reset are steps too; the browser's back is an undo."""
    open_page(page, url, q=MANITOBA)
    undo, redo = (page.get_by_test_id("stSidebar").get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    expect(undo).to_be_disabled()
    expect(redo).to_be_disabled()
    more_passages(page, 6)
    more_passages(page, 7)
    undo.click()
    expect(page.locator(".sl-card")).to_have_count(6)
    expect(page.get_by_test_id("stSidebar").get_by_role("slider")).to_have_value("6")
    settle(page)
    assert parameters(page)["top_k"] == ["6"]
    redo.click()
    expect(page.locator(".sl-card")).to_have_count(7)
    expect(redo).to_be_disabled()
    sidebar_button(page, "Reset")
    expect(page.locator(".sl-card")).to_have_count(5)
    undo.click()
    expect(page.locator(".sl-card")).to_have_count(7)
    page.get_by_role("button", name="Gimlin", exact=True).click()
    expect(page.get_by_label("Question")).to_have_value("Gimlin")
    expect(redo).to_be_disabled()
    undo.click()
    expect(page.get_by_label("Question")).to_have_value(MANITOBA)


def test_the_browsers_back_is_an_undo(page: Page, url: str) -> None:
    """After going back, redo leads forward again."""
    open_page(page, url, q=MANITOBA)
    more_passages(page, 6)
    page.go_back()
    expect(page.locator(".sl-card")).to_have_count(5)
    settle(page)
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Undo", exact=True)).to_be_disabled()
    sidebar_button(page, "Redo")
    expect(page.locator(".sl-card")).to_have_count(6)


def test_a_preset_is_saved_applied_and_deleted(page: Page, url: str, store: Path) -> None:
    """Under its name on this machine; applying it is one step of undo; a bad name is told."""
    open_page(page, url, q=MANITOBA, top_k="3", keyword="off")
    sidebar_button(page, "Presets")
    name = page.get_by_label("Save what is set now as")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("a name of 1 to 60 printable characters")
    name.fill("three by meaning")
    name.press("Enter")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("dense·k3")
    settle(page)
    assert json.loads((store / "notes" / "presets.json").read_text(encoding="utf-8"))["three by meaning"]["top_k"] == 3
    open_page(page, url, q=MANITOBA)
    sidebar_button(page, "Presets")
    pick(page.get_by_role("combobox", name="Preset"), page.get_by_role("option", name="three by meaning"))
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator(".sl-card")).to_have_count(3)
    settle(page)
    assert (parameters(page)["top_k"], parameters(page)["keyword"]) == (["3"], ["off"])
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Apply", exact=True)).to_be_disabled()
    assert "three by meaning" not in (store / "notes" / "presets.json").read_text(encoding="utf-8")
    page.keyboard.press("Escape")
    sidebar_button(page, "Undo")
    expect(page.locator(".sl-card")).to_have_count(5)


def test_a_recent_question_comes_back_with_its_configuration(page: Page, url: str, store: Path) -> None:
    """Listed with what it was asked under; whatever it holds is text; each can be forgotten."""
    odd = "**yeti** :material/home: <b>kelpie</b> $x$ [a](b)"
    open_page(page, url, q=odd, top_k="4", corpus="hostile")
    open_page(page, url, q="kelpie", corpus="hostile")
    page.get_by_role("button", name="Recent").click()
    listed = page.get_by_test_id("stPopoverBody")
    expect(listed.get_by_role("button").first).to_have_text("kelpie")
    again = listed.get_by_role("button").nth(2)
    assert again.inner_text().replace("\u2060", "") == odd
    again.click()
    expect(page.get_by_label("Question")).to_have_value(odd)
    settle(page)
    assert parameters(page)["top_k"] == ["4"]
    page.get_by_role("button", name="Recent").click()
    settle(page)  # opening the list runs the page, in which a click would be lost
    forget = listed.get_by_role("button", name="Forget", exact=True)
    expect(forget.nth(1)).to_be_visible()
    there = forget.count()  # other tests may have asked this corpus too
    forget.last.click()
    expect(forget).to_have_count(there - 1)
    listed.get_by_role("button", name="Forget them all").click()
    expect(listed).to_contain_text("will be listed here")
    settle(page)
    assert "hostile" not in json.loads((store / "notes" / "recent.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")], ids=["wide and light", "narrow and dark"])
def test_everything_unfolded_is_accessible_and_fits(
    profile: BrowserContext, url: str, scheme: Literal["light", "dark"], width: int
) -> None:
    """With a pinned result, a panel of reasons and the words' table open: no violation axe can find, nothing wider than the window."""
    page = window(profile, width, scheme)
    open_page(page, url, q=MANITOBA)
    page.get_by_role("button", name="Pin as A").click()
    page.locator(".sl-pinned").wait_for()
    settle(page)
    page.get_by_role("button", name="Gimlin", exact=True).click()
    page.locator(".sl-badge").first.wait_for()
    open_whynot(page)
    choose_document(page, "yeti.md")
    page.locator(".sl-why table").first.wait_for()
    settle(page)
    page.locator(".sl-card summary").filter(has_text="Words:").first.click()
    page.locator(".js-plotly-plot").nth(1).wait_for()
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for wide in page.locator(".sl-why table, .sl-card table").all():
        assert wide.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth + 1")
    page.close()
