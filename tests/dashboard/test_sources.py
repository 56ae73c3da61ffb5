"""The Corpus page and the network, in a real browser: corpora made from every kind of source, and updates that are looked at before they are published."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from evals.editing import add_questions
from evals.golden import Question, Quote
from sitt_core.settings import Settings
from sitt_core.store.layout import current_generation
from tests.dashboard.conftest import command, served, settle, window
from tests.dashboard.test_corpus import BARE, choose, fill, open_corpus, open_section
from tests.fakes import site as sites
from tests.fakes.github import MIT, FakeGitHub
from tests.fakes.once import shared_folder
from tests.fakes.site import FakeSite
from tests.fakes.wikipedia import LIST, FakeWikipedia, article, link, list_page, row

pytestmark = pytest.mark.browser

CC = '<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'
BEASTS = ("Storsjöodjuret", "Yeti", "Mothman")
MOTHMAN = "/w/rest.php/v1/page/Mothman/with_html"
BEAR = "The tracks were made by a bear, says the museum."
SAID = "The Yeti was said to leave footprints as long as an oar."


@dataclass(frozen=True)
class Web:
    """A server whose sources are stand-ins on loopback, and the store that it serves."""

    url: str
    settings: Settings
    variables: dict[str, str]
    wiki: FakeWikipedia
    site: FakeSite
    hub: FakeGitHub


def fill_wiki(wiki: FakeWikipedia) -> None:
    """Three articles in two groups."""
    wiki.wiki = {
        LIST: list_page(
            {
                "Aquatic": [row(link(BEASTS[0]), "The great lake monster", "A serpent", "Sweden")],
                "Terrestrial": [row(link(each)) for each in BEASTS[1:]],
            }
        ),
        **{each: article(each, f"{each} is one of the beasts of the list.") for each in BEASTS},
        BEASTS[1]: article(BEASTS[1], SAID, "Climbers look for it every spring."),
    }


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """Tests that change something make a corpus of their own, and leave the sites as they were."""
    data_dir = tmp_path_factory.mktemp("data")
    models = shared_folder(tmp_path_factory) / "models"  # converted once for the whole run, whoever comes first
    models.mkdir(exist_ok=True)
    (data_dir / "models").symlink_to(models)
    with ExitStack() as stack:
        wiki, site, hub = (stack.enter_context(fake) for fake in (FakeWikipedia(), FakeSite(), FakeGitHub()))
        fill_wiki(wiki)
        site.page("/kraken", sites.article("Kraken", "The kraken pulls ships under with arms as long as masts.", head=CC))
        site.page("/moth", sites.article("Moth", "A grey moth as tall as a man sits on the bridge at night."))
        site.put("/sitemap.xml", site.sitemap("/kraken", "/moth"))
        hub.account["bio"] = "Keeps records."
        hub.add("sonar", "# Sonar\n\nPings the loch every minute to count serpents.", license=MIT)
        variables = {
            "SITT_CONTACT": "lab@example.org",
            "SITT_WIKIPEDIA_URL": wiki.url,
            "GITHUB_API_URL": hub.url,
            "SITT_FETCH_INTERVAL": "0",
            "SITT_ALLOW_PRIVATE": "yes",
        }
        url = stack.enter_context(served(data_dir, *BARE, variables=variables))
        yield Web(url, Settings(data_dir), variables, wiki, site, hub)


def check(page: Page) -> None:
    """Looks at what is chosen, and waits for what is found."""
    page.get_by_role("button", name="Check for changes").click()
    page.locator(".sl-buckets").first.wait_for()
    settle(page)


def publish(page: Page) -> None:
    """Publishes what was found, and waits until it is served."""
    page.get_by_role("button", name="Update and publish").click()
    page.get_by_text("is served now").wait_for()
    settle(page)


def look_over(page: Page) -> None:
    """No violation of WCAG A and AA that axe can find, and nothing wider than the window."""
    settle(page)
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def ask(page: Page, question: str, *said: str) -> None:
    """Asks on Explore, where the first card says all of that."""
    page.get_by_role("link", name="Explore").first.click()
    box = page.get_by_label("Question", exact=True)
    box.fill(question)
    box.press("Enter")
    card = page.locator(".sl-card").first
    for part in said:
        expect(card).to_contain_text(part)


def test_a_corpus_of_wikipedias_list_a_site_and_an_account_answers_from_each(page: Page, web: Web) -> None:
    """Made on the page without any corpus before, two sources added, nothing asked of the network before a button: each answer says where it is from. One is taken away."""
    page.goto(web.url)
    page.get_by_role("link", name="Corpus").click()
    choose(page, "Kind of source", "Wikipedia: the articles of a list")
    expect(page.get_by_test_id("stMain")).to_contain_text("SITT_CONTACT goes with each")
    fill(page, "Name", "beasts")
    assert web.wiki.asked == []
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Generation 000001 is served now: 3 documents")
    choose(page, "What to look at", "another source")
    choose(page, "Kind of source", "a website by its sitemap")
    fill(page, "Address", "nowhere")
    page.get_by_role("button", name="Check for changes").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("the address of a sitemap")
    fill(page, "Address", f"{web.site.url}/sitemap.xml")
    check(page)
    expect(page.locator(".sl-buckets")).to_contain_text("2added")
    publish(page)
    choose(page, "What to look at", "another source")
    choose(page, "Kind of source", "a GitHub account")
    fill(page, "Account", "Octocat")
    check(page)
    publish(page)
    expect(page.get_by_test_id("stMain")).to_contain_text("7 documents")
    yeti = ("https://en.wikipedia.org/wiki/Yeti", "CC BY-SA 4.0", "this revision", "fetched 20")
    ask(page, "Who leaves footprints as long as an oar?", SAID, *yeti)
    ask(page, "What pulls ships under?", f"{web.site.url}/kraken", "CC BY 4.0", "fetched 20")
    ask(page, "Who sits on the bridge at night?", f"{web.site.url}/moth", "licence not stated")
    ask(page, "What pings the loch every minute?", "https://github.com/Octocat/sonar", "MIT")
    page.get_by_role("link", name="Corpus").first.click()
    open_section(page, "Rebuild")
    page.get_by_text("Take a source away").click()
    choose(page, "Which one", "website")
    page.get_by_role("button", name="Take it away").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Generation 000004 is served now: 5 documents")


def test_an_update_is_looked_at_refused_published_anyway_and_taken_back(page: Page, profile: BrowserContext, web: Web) -> None:
    """A changed article with its section, diff and the question that rests on it; one that fails is tried again once it is there.

    What was found and refused is still there in another window, narrow and dark, which publishes it.
    """
    command(["update", "--source", f"wikipedia:list={LIST}", "--corpus", "changing", "--yes"], web.settings.data_dir, **web.variables)
    document = "wikipedia:Yeti"
    question = Question(
        "yeti", "Whose footprints are as long as an oar?", "lookup", grades={document: 1}, evidence=((Quote(document, SAID),),)
    )
    add_questions(web.settings, "changing", [question])
    web.wiki.wiki[BEASTS[1]] = article(BEASTS[1], BEAR, "Climbers look for it every spring.", revision=2)
    web.wiki.wiki[BEASTS[2]] = article(BEASTS[2], "Mothman has been seen again.", revision=2)
    web.wiki.pages[MOTHMAN] = lambda handler: handler.send(404, "<h1>Not Found</h1>")
    open_corpus(page, web.url, "changing", "Rebuild")
    main = page.get_by_test_id("stMain")
    check(page)
    expect(main.locator(".sl-buckets")).to_contain_text("1changed0removed1unchanged1failed")
    expect(main.locator(".sl-sections")).to_contain_text("the beginning changed")
    expect(main.locator(".sl-diff")).to_contain_text(f"-{SAID}")
    expect(main.locator(".sl-diff")).to_contain_text(f"+{BEAR}")
    expect(main).to_contain_text("1 open question, 1 of which loses words")
    expect(main.locator(".sl-lost")).to_have_text("its words are gone")
    look_over(page)
    page.get_by_role("button", name="Update and publish").click()
    expect(main).to_contain_text("Nothing was published: the open questions would find less.")
    assert current_generation(web.settings.store_dir / "changing") == "000001"
    expect(main.locator(".sl-recall")).to_contain_text("open questions11.00.000 ↓")
    other = window(profile, 390, "dark")
    open_corpus(other, web.url, "changing", "Rebuild")
    expect(other.locator(".sl-recall")).to_contain_text("open questions11.00.000 ↓")
    look_over(other)
    other.get_by_role("button", name="Publish anyway").click()
    expect(other.get_by_test_id("stMain")).to_contain_text("Generation 000002 is served now: 3 documents.")
    other.close()
    open_section(page, "Contents")
    open_section(page, "Rebuild")
    expect(main).to_contain_text("Generation 000002 is served now: 3 documents.")
    expect(main).to_contain_text("Not read: 1")
    expect(main).to_contain_text("404")

    del web.wiki.pages[MOTHMAN]
    page.get_by_role("button", name="Try again").first.click()
    expect(main.locator(".sl-diff")).to_contain_text("+Mothman has been seen again.")
    publish(page)
    expect(main).to_contain_text("Generation 000003 is served now: 3 documents.")
    open_section(page, "Versions")
    page.get_by_role("button", name="Roll back to 000001").click()
    expect(page.get_by_role("button", name="Go forward to 000003")).to_be_visible()
