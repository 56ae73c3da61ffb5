"""The Compare page in a real browser: a question through several configurations, what they share, their answers, and on to the Lab."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.conftest import pick, settle, window

pytestmark = pytest.mark.browser

QUESTION = "Which lake monster is said to live in Manitoba?"


def open_compare(page: Page, url: str, query: str, name: str = "Compare") -> None:
    page.goto(f"{url}/{query}")
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    settle(page)


def choose(page: Page, label: str, value: str) -> None:
    pick(page.get_by_role("combobox", name=label), page.get_by_role("option", name=value, exact=True))


def test_a_question_through_two_configurations_and_on_to_the_lab(page: Page, url: str) -> None:
    """One switch flipped: passages side by side with the others' ranks, the overlap, both answers; the Lab gets both configurations."""
    open_compare(page, url, f"?q={QUESTION}")
    expect(page.get_by_text("Add a configuration")).to_be_visible()
    choose(page, "Switch", "Dense")
    choose(page, "to", "off")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("^B · .*keyword"))).to_be_visible()
    settle(page)
    assert page.locator(".sl-side").count() == 10
    expect(page.locator(".sl-side").first).to_contain_text(re.compile("also B|only here"))
    expect(page.locator(".sl-matrix")).to_contain_text("%")
    page.get_by_role("button", name="Answer under each").click()
    expect(page.get_by_text("no model was asked")).to_have_count(2)
    require_accessible(page, 1280)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("is among them already")).to_be_visible()
    page.get_by_role("button", name="Send to the Lab").click()
    expect(page.get_by_role("heading", name="Lab", exact=True)).to_be_visible()
    expect(page.get_by_text("2 configurations").first).to_be_visible()


def add(page: Page, switch: str, value: str, letter: str) -> None:
    """One more configuration: A with one switch flipped."""
    choose(page, "Switch", switch)
    choose(page, "to", value)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile(f"^{letter} · "))).to_be_visible()
    settle(page)


def test_three_and_four_configurations_with_their_shared_passages_linked(page: Page, url: str) -> None:
    """Every rank elsewhere is a link that the keyboard follows; the same passage is marked in every column that has it."""
    open_compare(page, url, f"?q={QUESTION}&top_k=3")
    add(page, "Dense", "off", "B")
    add(page, "Keyword", "rank-bm25", "C")
    expect(page.locator(".sl-side")).to_have_count(9)
    assert page.locator(".sl-matrix tbody tr").count() == 3
    add(page, "Fusion", "convex", "D")
    expect(page.locator(".sl-side")).to_have_count(12)
    assert page.locator(".sl-matrix tbody td").all_inner_texts().count("–") == 4
    expect(page.get_by_role("button", name="Add", exact=True)).to_have_count(0)
    first = page.locator("#passage-a-1")
    links = first.get_by_role("link")
    assert [text[0] for text in links.all_inner_texts()] == ["B", "C", "D"]
    for link in page.locator(".sl-side b a").all():  # each leads to a passage that leads back
        there = page.locator(str(link.get_attribute("href")))
        back = f"#{link.evaluate('link => link.closest(`.sl-side`).id')}"
        assert there.locator(f'a[href="{back}"]').count() == 1
    links.nth(2).focus()
    page.keyboard.press("Enter")
    target = page.locator(str(links.nth(2).get_attribute("href")))
    expect(target).to_be_focused()
    expect(target).to_be_in_viewport()
    same = f".{next(name for name in str(first.get_attribute('class')).split() if name.startswith('sl-same-'))}"
    assert page.locator(same).count() == 4
    page.mouse.move(1, 1)
    assert set(page.locator(".sl-side").evaluate_all(MARKED)) == set(page.locator(same).evaluate_all("all => all.map(each => each.id)"))
    expect(page.locator(".sl-side")).to_have_count(12)  # following a link has changed nothing
    require_accessible(page, 1280)
    page.get_by_role("button", name="Leave out").nth(1).click()
    expect(page.locator(".sl-side")).to_have_count(9)
    expect(page.get_by_role("heading", name=re.compile("^C · "))).to_be_visible()


MARKED = "all => all.filter(each => getComputedStyle(each).backgroundColor !== 'rgba(0, 0, 0, 0)').map(each => each.id)"


def test_hostile_text_shows_as_text_and_the_page_is_accessible(profile: BrowserContext, url: str) -> None:
    """Whatever a document holds is shown, not run; no violation that axe can find, and nothing wider than the window."""
    page = window(profile, 390, "dark")
    open_compare(page, url, "?corpus=hostile&q=script+alert+monster")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("^B · "))).to_be_visible()
    settle(page)
    assert page.evaluate("window.hacked") is None
    require_accessible(page, 390)
    page.close()


def require_accessible(page: Page, width: int) -> None:
    """No violation of WCAG A and AA that axe can find, and nothing wider than the window."""
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
