"""The Explore page in a real browser, on a real server, over a real store."""

import re
import shutil
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, quote_plus, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect

from sitt_core.configuration import FIELDS
from tests.dashboard.conftest import command, served, settle, window

pytestmark = pytest.mark.browser

MANITOBA = "Which lake monster is said to live in Manitoba?"


def open_page(page: Page, url: str, **parameters: str) -> None:
    """Opens a link and waits for its first card."""
    page.goto(f"{url}/?" + "&".join(f"{name.replace('__', '.')}={quote_plus(value)}" for name, value in parameters.items()))
    page.locator(".sl-card").first.wait_for()
    settle(page)


def titles(page: Page) -> list[str]:
    """The cards' titles, top to bottom."""
    return page.locator(".sl-card h2").all_inner_texts()


def segment(page: Page, label: str, value: str) -> Locator:
    """One choice of a control of the sidebar."""
    return page.get_by_test_id("stSidebar").get_by_role("radiogroup", name=label).get_by_role("radio", name=value, exact=True)


def parameters(page: Page) -> dict[str, list[str]]:
    """What the address holds."""
    return parse_qs(urlsplit(page.url).query)


def test_a_question_brings_cards_with_attribution_ranks_and_place(page: Page, url: str) -> None:
    """Asking in the box shows passages from the right entry, each with its source, licence, ranks and place."""
    page.goto(url)
    box = page.get_by_label("Question")
    box.fill(MANITOBA)
    box.press("Enter")
    first = page.locator(".sl-card").first
    expect(first).to_contain_text("Manipogo")
    expect(first).to_contain_text("SITT Lab field guide: Manipogo · data/field_guide/manipogo.md · CC BY-SA 4.0")
    expect(first.locator("mark").first).to_be_visible()
    for stage in ("dense", "keyword", "fused"):
        expect(first.locator(f".sl-bar-{stage}")).to_have_count(1)
    expect(first).to_contain_text("#1 · cosine")
    expect(first.locator(".sl-place i")).to_be_visible()
    expect(page.locator(".sl-card")).to_have_count(5)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)


def test_an_example_asks_its_question(page: Page, url: str) -> None:
    """A click on an example fills the box and shows its result."""
    page.goto(url)
    page.get_by_role("button", name="Who was Lisbeth Vefall?").click()
    expect(page.locator(".sl-card").first).to_contain_text("Vefall")
    expect(page.get_by_label("Question")).to_have_value("Who was Lisbeth Vefall?")


def test_results_follow_a_switch_without_a_button(page: Page, url: str) -> None:
    """Turning dense off leaves the keyword ranking, turning it on again brings the fusion back; the page tells what each brings."""
    open_page(page, url, q="Who was Lisbeth Vefall?")
    both = titles(page)
    expect(page.locator(".sl-found")).to_contain_text("Dense alone")
    segment(page, "Dense: vectors", "off").click()
    expect(page.locator(".sl-found")).to_have_count(0)
    settle(page)
    assert parameters(page)["dense"] == ["off"]
    expect(page.locator(".sl-card").first).not_to_contain_text("cosine")
    alone = titles(page)
    assert alone != both
    segment(page, "Dense: vectors", "exact").click()
    expect(page.locator(".sl-found")).to_be_visible()
    settle(page)
    assert titles(page) == both


def test_top_k_shows_as_many_passages(page: Page, url: str) -> None:
    """The slider's K is the number of cards."""
    open_page(page, url, q=MANITOBA, top_k="3")
    expect(page.locator(".sl-card")).to_have_count(3)
    page.get_by_test_id("stSidebar").get_by_role("slider").press("ArrowRight")
    expect(page.locator(".sl-card")).to_have_count(4)


def test_neither_retriever_is_a_named_outcome(page: Page, url: str) -> None:
    """With both retrievers off the page says what to turn on, with the buttons that do it."""
    page.goto(f"{url}/?q=yeti&dense=off&keyword=off")
    expect(page.locator(".sl-notice")).to_contain_text("Turn on dense or keyword")
    page.get_by_role("button", name="Turn on keyword").click()
    expect(page.locator(".sl-card").first).to_contain_text("Yeti")


def test_a_link_holds_everything_and_reproduces_the_page_on_a_new_server(page: Page, url: str, store: Path) -> None:
    """Every field stands in the address, and the address on another server, just started, shows the same passages."""
    open_page(page, url, q=MANITOBA, top_k="7", keyword="rank-bm25", region="North America", fusion__k="10")
    held = parameters(page)
    assert held.keys() >= {field.name for field in FIELDS} | {"q", "corpus", "region", "v"}
    shown = titles(page)
    assert len(shown) == 7
    with served(store) as another:
        page.goto(page.url.replace(url, another))
        page.locator(".sl-card").nth(6).wait_for()
        settle(page)
        assert titles(page) == shown
        assert parameters(page) == held
        page.goto("about:blank")


def test_a_bad_link_keeps_its_good_fields_and_says_what_it_dropped(page: Page, url: str) -> None:
    """Unknown and impossible values are told by name, the others count."""
    open_page(page, url, q=MANITOBA, top_k="999", keyword="rank-bm25", nonsense="1")
    told = page.locator(".sl-problem p").all_inner_texts()
    assert any("top_k" in text and "from 1 to 100" in text for text in told)
    assert any("nonsense" in text for text in told)
    assert parameters(page)["keyword"] == ["rank-bm25"]
    assert parameters(page)["top_k"] == ["5"]
    page.get_by_role("button", name="Gimlin").click()
    expect(page.locator(".sl-problem")).to_have_count(0)


@pytest.mark.parametrize("name", ["top_k", "corpus", "category"])
def test_a_link_can_bring_no_markdown_into_the_page(page: Page, url: str, name: str) -> None:
    """What is told about a link's impossible value shows the value as text: no picture is fetched, nothing becomes a link."""
    picture = f"{url}/picture.png"
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if request.url == picture else None)
    page.goto(f"{url}/?q=yeti&{name}=" + quote_plus(f"![x]({picture}) [l]({url})"))
    expect(page.locator(".sl-problem")).to_contain_text(f"![x]({picture})"[:30])
    assert page.locator(".sl-problem").locator("img, a").count() == 0
    assert fetched == []


def test_a_link_with_a_filter_value_that_no_document_has_keeps_the_others(page: Page, url: str) -> None:
    """The unknown value is told and leaves the address; the known one filters."""
    open_page(page, url, q="red eyes", category="nonesuch", region="North America")
    expect(page.locator(".sl-problem")).to_contain_text("no document here has 'nonesuch'")
    assert "category" not in parameters(page)
    assert parameters(page)["region"] == ["North America"]


def test_a_link_to_a_corpus_that_is_gone_offers_those_that_are_there(page: Page, url: str) -> None:
    """The page names the corpora and opens one at a click."""
    page.goto(f"{url}/?corpus=gone&q=kelpie")
    expect(page.locator(".sl-notice")).to_contain_text("'gone'")
    page.get_by_role("button", name="Open hostile").click()
    expect(page.locator(".sl-card").first).to_contain_text("kelpie")


def test_back_and_forward_flip_the_switch_back_and_forth(page: Page, url: str) -> None:
    """The browser's history is the history of flips, controls included."""
    open_page(page, url, q=MANITOBA)
    page.get_by_test_id("stSidebar").get_by_role("slider").press("ArrowRight")
    expect(page.locator(".sl-card")).to_have_count(6)
    settle(page)
    page.go_back()
    expect(page.locator(".sl-card")).to_have_count(5)
    expect(page.get_by_test_id("stSidebar").get_by_role("slider")).to_have_value("5")
    page.go_forward()
    expect(page.locator(".sl-card")).to_have_count(6)


def test_a_filter_keeps_to_its_documents(page: Page, url: str) -> None:
    """Only entries of the chosen category answer."""
    open_page(page, url, q="red eyes", category="winged")
    page.locator(".sl-card").first.wait_for()
    shown = set(page.locator(".sl-card").evaluate_all("cards => cards.map(card => card.dataset.document)"))
    assert shown <= {
        path.name for path in (Path("data/field_guide")).glob("*.md") if "\ncategory: winged\n" in path.read_text(encoding="utf-8")
    }


def test_hostile_text_shows_as_text(page: Page, url: str) -> None:
    """Markup, scripts, Markdown, giant words and right-to-left text in a document are text in the page, and nothing runs."""
    open_page(page, url, corpus="hostile", q="kelpie note", top_k="10")
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text(
        "<script>window.pwned = 1</script> <b>bold</b> **stars** [link](javascript:window.pwned=1) :material/home: $x^2$ &amp; &lt;"
    )
    expect(main).to_contain_text("</div></article><style>body{display:none}</style>")
    expect(main).to_contain_text("<|endoftext|>")
    assert page.evaluate("window.pwned") is None
    assert page.locator(".sl-card img, .sl-card script, .sl-card style, .sl-card b").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    wide = page.locator(".sl-card").evaluate_all("cards => cards.filter(card => card.scrollWidth > card.clientWidth + 1).length")
    assert wide == 0


def test_a_missing_index_is_built_with_estimate_progress_and_result(page: Page, url: str) -> None:
    """A strategy without an index says what it takes; the button builds it, and the result follows by itself."""
    page.goto(f"{url}/?corpus=hostile&q=kelpie&chunking.strategy=sentence")
    panel = page.get_by_test_id("stMain")
    expect(panel).to_contain_text("has no index yet")
    expect(panel).to_contain_text("vectors cached")
    page.get_by_role("button", name="Build this index").click()
    expect(page.locator(".sl-card").first).to_contain_text("kelpie")


def test_controls_wake_when_they_matter(page: Page, url: str) -> None:
    """Alpha and k of fusion take turns, the graph's numbers need hnsw, and the selection stays where it was put."""
    open_page(page, url, q=MANITOBA)
    sidebar = page.get_by_test_id("stSidebar")
    sidebar.get_by_text("Fusion, stop words, HNSW and long texts").click()
    alpha = sidebar.get_by_role("slider", name="Convex alpha")
    k, ef = sidebar.get_by_role("spinbutton", name="RRF k"), sidebar.get_by_role("spinbutton", name="HNSW ef search")
    expect(k).to_be_enabled()
    expect(k).to_have_value("60")
    expect(alpha).to_be_disabled()
    expect(ef).to_be_disabled()
    segment(page, "Fusion", "convex").click()
    expect(alpha).to_be_enabled()
    expect(k).to_be_disabled()
    alpha.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"fusion=convex&fusion\.alpha=0\.55&"))
    segment(page, "Dense: vectors", "hnsw").click()
    expect(ef).to_be_enabled()
    expect(segment(page, "Fusion", "convex")).to_be_checked()
    expect(segment(page, "Dense: vectors", "hnsw")).to_be_checked()


def test_semantic_chunking_brings_its_own_controls(page: Page, url: str) -> None:
    """Breakpoint and its embedder are there while it is chosen; its index is built and shown, and whole greys the sizes."""
    open_page(page, url, corpus="hostile", q="kelpie")
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar.get_by_label("Breakpoint", exact=True)).to_have_count(0)
    sidebar.get_by_role("radiogroup", name="Chunking").get_by_text("semantic").click()
    expect(sidebar.get_by_label("Breakpoint", exact=True)).to_have_value("90")
    expect(sidebar.get_by_label("Breakpoint embedder", exact=True)).to_have_value("minilm")
    page.get_by_role("button", name="Build this index").click()
    expect(page.locator(".sl-card").first).to_contain_text("kelpie")
    sidebar.get_by_role("radiogroup", name="Chunking").get_by_text("whole").click()
    expect(sidebar.get_by_role("spinbutton", name="Size, tokens")).to_be_disabled()
    expect(sidebar.get_by_label("Breakpoint", exact=True)).to_have_count(0)


def test_an_embedder_is_typed_by_name(page: Page, url: str) -> None:
    """What is no model is refused beside the controls and changes nothing; a model that is not there is told on the page."""
    open_page(page, url, corpus="hostile", q="kelpie")
    box = page.get_by_test_id("stSidebar").get_by_label("Embedder", exact=True)
    box.fill("nonsense")
    box.press("Enter")
    expect(page.get_by_test_id("stSidebar").locator(".sl-notice")).to_contain_text("st:NAME; got 'nonsense'")
    expect(box).to_have_value("minilm")
    box.fill("st:nobody/no-such-model")
    box.press("Enter")
    expect(page.get_by_test_id("stMain").get_by_test_id("stAlert")).to_contain_text("nobody/no-such-model")
    expect(box).to_have_value("st:nobody/no-such-model")
    settle(page)
    assert parameters(page)["embedder"] == ["st:nobody/no-such-model"]


def test_a_build_can_be_cancelled_and_goes_on_from_there(page: Page, url: str, store: Path, tmp_path: Path) -> None:
    """Cancel stops the build and says what is kept; building again ends with the result."""
    for path in sorted(Path("data/field_guide").glob("*.md"))[-30:]:  # enough that it is not built before Cancel is clicked
        shutil.copy(path, tmp_path)
    command(["update", "--source", f"markdown:{tmp_path}", "--corpus", "thirty", "--yes"], store, SITT_EMBEDDER="hash")
    page.goto(f"{url}/?corpus=thirty&q=yeti&chunking.strategy=fixed&chunking.size=128")
    page.get_by_role("button", name="Build this index").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Stopped. What was embedded is kept")
    page.get_by_role("button", name="Build this index").click()
    expect(page.locator(".sl-card").first).to_contain_text("Yeti", timeout=180_000)


def test_a_build_that_cannot_be_started_says_so(page: Page, url: str, store: Path) -> None:
    """Where the jobs' folder cannot be made the page stays, with the reason and the button."""
    jobs, aside = store / "jobs", store / "jobs aside"
    if jobs.exists():
        jobs.rename(aside)
    jobs.write_text("a file in the way", encoding="utf-8")
    try:
        page.goto(f"{url}/?q=yeti&chunking.strategy=fixed&chunking.size=77")
        page.get_by_role("button", name="Build this index").click()
        expect(page.locator(".sl-problem")).to_contain_text("could not be started")
        expect(page.get_by_role("button", name="Build this index")).to_be_visible()
    finally:
        jobs.unlink()
        if aside.exists():
            aside.rename(jobs)


def test_an_empty_store_offers_the_field_guide(page: Page, tmp_path: Path) -> None:
    """Without any corpus the page says what to do next, with the button that does it."""
    with served(tmp_path, "-m", "streamlit", "run", "app.py", variables={"SITT_EMBEDDER": "hash"}) as bare:  # built in a moment
        page.goto(bare)
        page.get_by_role("button", name="Build the field guide").click()
        expect(page.get_by_test_id("stMain")).to_contain_text("Type a question, or take one of the examples", timeout=180_000)
        page.goto("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_offer_to_build_is_accessible(profile: BrowserContext, url: str, scheme: Literal["light", "dark"]) -> None:
    """The button in the accent, and what is told above it, can be read in both schemes."""
    page = window(profile, 1280, scheme)
    page.goto(f"{url}/?q=yeti&chunking.strategy=fixed&chunking.size=99&nonsense=1")
    page.get_by_role("button", name="Build this index").wait_for()
    settle(page)
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    page.close()
