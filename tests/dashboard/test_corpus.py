"""The Corpus page in a real browser: looking into a corpus, and changing it."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from sitt_core.store.reading import open_corpus as open_store
from tests.dashboard.conftest import HOSTILE, command, pick, served, settle, window
from tests.fakes.once import shared_folder

pytestmark = pytest.mark.browser

SECTIONS = ("Contents", "Chunks", "Lengths", "Map", "Rebuild", "Versions", "Indexes", "Corpora")
BARE = ("-c", "import os; from sitt_core.surfaces import serve; serve.serve(serve.ROOT / 'app.py', int(os.environ['SITT_PORT']))")
"""The launcher without the field guide, which would take a minute to build."""
ANIMALS = ("adder", "badger", "curlew", "dormouse", "eel", "fox", "gannet", "heron", "ibis", "jackdaw", "kite", "lynx")


def write_notes(folder: Path, names: tuple[str, ...] = ANIMALS) -> Path:
    """A folder of short notes in three categories, each with two sections of a few sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    for at, name in enumerate(names):
        told = " ".join(f"The {name} was seen on day {day}, near the old bridge, and left before dusk." for day in range(1, 13))
        text = f"---\ncategory: {('water', 'wood', 'air')[at % 3]}\n---\n# The {name}\n\n{told}\n\n## Habits\n\nThe {name} keeps to itself. {told}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Notes:
    """A server on a store with two small corpora, `notes` and `hostile`, and where that store is."""

    url: str
    data_dir: Path


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notes]:
    """Tests that change something make a corpus of their own beside the two."""
    data_dir = tmp_path_factory.mktemp("data")
    models = shared_folder(tmp_path_factory) / "models"  # converted once for the whole run, whoever comes first
    models.mkdir(exist_ok=True)
    (data_dir / "models").symlink_to(models)
    folder = write_notes(tmp_path_factory.mktemp("sources") / "animals")
    command(["update", "--source", f"markdown:{folder}", "--corpus", "notes", "--yes"], data_dir)
    command(["update", "--source", f"markdown:{HOSTILE}", "--corpus", "hostile", "--yes"], data_dir)
    with served(data_dir, *BARE) as url:
        yield Notes(url, data_dir)


def open_section(page: Page, name: str) -> None:
    """Clicks a section's tab and waits for what is in it; a run that ends meanwhile may take the click, so it is made again."""
    tab = page.get_by_role("tab", name=name, exact=True)
    for _ in range(20):
        settle(page)
        tab.click()
        with contextlib.suppress(AssertionError):
            expect(tab).to_have_attribute("aria-selected", "true", timeout=3000)
            settle(page)
            return
    pytest.fail(f"the section never opened: {name}")


def open_corpus(page: Page, url: str, corpus: str, section: str = "", *, question: str = "") -> None:
    """Comes to the page by its link: a deep link makes the browser's console report Streamlit's own 404s.

    With a question, Explore searches and draws before it is left: only for what shows the question.
    """
    page.goto(f"{url}/?corpus={corpus}&q={question}")
    page.get_by_role("link", name="Corpus").click()
    page.get_by_role("tab", name="Contents").wait_for()
    settle(page)
    if section:
        open_section(page, section)


def choose(page: Page, label: str, option: str) -> None:
    """Picks an option of a select box by typing it, as the keyboard does."""
    box = page.get_by_test_id("stMain").get_by_role("combobox", name=label)
    pick(box, page.get_by_role("option", name=re.compile(re.escape(option))), typed=option)


def fill(page: Page, label: str, text: str) -> None:
    """Writes into a box and leaves it."""
    box = page.get_by_test_id("stMain").get_by_label(label, exact=True)
    box.fill(text)
    box.press("Tab")
    settle(page)


def test_links_between_pages_keep_the_address_and_the_controls(page: Page, notes: Notes) -> None:
    """Explore to Corpus and back, by link and by the browser's history: question, K and controls stay what they were."""
    page.goto(f"{notes.url}/?corpus=notes&q=heron&top_k=3&keyword=rank-bm25")
    page.locator(".sl-card").first.wait_for()
    page.get_by_role("link", name="Corpus").click()
    page.get_by_role("tab", name="Contents").wait_for()
    settle(page)
    held = parse_qs(urlsplit(page.url).query)
    assert urlsplit(page.url).path == "/corpus"
    assert (held["q"], held["top_k"], held["keyword"]) == (["heron"], ["3"], ["rank-bm25"])
    slider = page.get_by_test_id("stSidebar").get_by_role("slider")
    expect(slider).to_have_value("3")
    page.go_back()
    expect(page.locator(".sl-card")).to_have_count(3)
    expect(page.get_by_label("Question")).to_have_value("heron")
    page.go_forward()
    page.get_by_role("tab", name="Contents").wait_for()
    page.get_by_role("link", name="Explore").click()
    expect(page.locator(".sl-card")).to_have_count(3)
    expect(page.get_by_label("Question")).to_have_value("heron")
    expect(slider).to_have_value("3")
    assert parse_qs(urlsplit(page.url).query) == held


def test_contents_can_be_filtered_and_a_document_opens_below(page: Page, notes: Notes) -> None:
    """The filter counts what it leaves; ticking a row opens that document with its attribution, and from there its chunks."""
    open_corpus(page, notes.url, "notes")
    expect(page.get_by_test_id("stMain")).to_contain_text("12 of 12 documents")
    fill(page, "Filter", "wood")
    expect(page.get_by_test_id("stMain")).to_contain_text("4 of 12 documents")
    expect(page.get_by_test_id("stDataFrame")).to_have_count(1)  # the table before the filter has gone
    page.get_by_test_id("stDataFrame").click(position={"x": 16, "y": 38 + 17})
    card = page.locator(".sl-card")
    expect(card).to_contain_text("The badger")
    expect(card).to_contain_text("not stated")
    page.get_by_role("button", name="See its chunks").click()
    expect(page.get_by_role("tab", name="Chunks")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".sl-chunks").first).to_contain_text("The badger keeps to itself.")


def test_two_chunkings_of_one_document_stand_side_by_side(page: Page, notes: Notes) -> None:
    """Each side has a strategy, a size and an overlap; chunks are told apart, and cuts that only one side makes are marked."""
    open_corpus(page, notes.url, "notes", "Chunks")
    choose(page, "Document", "eel.md")
    sides = page.locator(".sl-chunks")
    expect(sides).to_have_count(2)
    left, right = sides.nth(0), sides.nth(1)
    expect(left.locator(".sl-cut")).to_have_count(1)  # two sections
    expect(right.locator(".sl-cut").first).to_be_attached()
    tops = sides.evaluate_all("sides => sides.map(side => side.getBoundingClientRect().top)")
    assert tops[0] == tops[1]
    choose(page, "Chunking, right", "sentence")
    fill_number(page, "Size, characters", "400")
    fill_number(page, "Overlap, characters", "100")
    expect(right.locator(".sl-both").first).to_be_visible()
    expect(right.locator(".sl-alone").first).to_be_visible()
    expect(page.locator(".sl-counts").nth(1)).to_contain_text("only here")
    assert "header: The eel" in str(right.locator(".sl-odd").first.get_attribute("title"))
    fill_number(page, "Overlap, characters", "400")
    expect(page.get_by_test_id("stAlert")).to_contain_text("chunking.overlap below chunking.size")
    choose(page, "Chunking, right", "whole")
    expect(right.locator(".sl-cut")).to_have_count(0)
    choose(page, "Chunking, right", "semantic")
    expect(page.get_by_test_id("stMain").get_by_label("Breakpoint, percentile", exact=True)).to_have_value("90")
    expect(right.locator(".sl-odd").first).to_be_visible()
    page.get_by_role("button", name="Use this chunking").nth(1).click()
    expect(page).to_have_url(re.compile("chunking.strategy=semantic"))


def fill_number(page: Page, label: str, text: str) -> None:
    box = page.get_by_test_id("stMain").get_by_label(label, exact=True)
    box.fill(text)
    box.press("Enter")
    settle(page)


def test_lengths_are_held_against_the_embedders_limit(page: Page, notes: Notes) -> None:
    """A histogram per side in the embedder's tokens with its limit; what is longer is counted."""
    open_corpus(page, notes.url, "notes", "Lengths")
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.locator(".js-plotly-plot").first).to_contain_text("minilm reads 254")
    expect(page.get_by_test_id("stMain")).to_contain_text("24 chunks; ")
    choose(page, "Chunking, right", "whole")
    expect(page.get_by_test_id("stMain")).to_contain_text("12 chunks; 12 longer than the limit: embedded in windows")


def test_a_mark_of_the_map_opens_its_document(page: Page, notes: Notes) -> None:
    """The map says how much of the variance it keeps and where the question is; a click on a mark opens the document."""
    open_corpus(page, notes.url, "notes", "Map", question="eel")
    expect(page.get_by_test_id("stMain")).to_contain_text("of the variance")
    plot = page.locator(".js-plotly-plot")
    expect(plot).to_contain_text("the question")
    x, y, wanted = plot.evaluate(
        """plot => { const layout = plot._fullLayout, trace = plot._fullData[0];
        return [layout.xaxis._offset + layout.xaxis.c2p(trace.x[0]), layout.yaxis._offset + layout.yaxis.c2p(trace.y[0]), trace.customdata[0][0]] }"""
    )
    plot.locator(".nsewdrag").hover(force=True)
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.click(box["x"] + x, box["y"] + y)
    expect(page.locator(".sl-card")).to_have_attribute("data-document", re.compile(r".+\.md"))
    opened = page.locator(".sl-card").get_attribute("data-document")
    same_category = plot.evaluate("plot => plot._fullData[0].customdata.map(row => row[0])")
    assert wanted in same_category
    assert opened in plot.evaluate("plot => plot._fullData.flatMap(trace => (trace.customdata || []).map(row => row[0]))")
    expect(plot).to_contain_text("this document")


def test_hostile_text_shows_as_text(profile: BrowserContext, notes: Notes) -> None:
    """Markup in a document is text in the contents, in the chunks and on the map; nothing runs, nothing is wider than the window."""
    page = window(profile, 390)
    open_corpus(page, notes.url, "hostile", "Chunks")
    for name, told in (
        (
            "markup.md",
            "<script>window.pwned = 1</script> <b>bold</b> **stars** [link](javascript:window.pwned=1) :material/home: $x^2$ &amp; &lt;",
        ),
        ("special.md", "<|endoftext|> and [SEP]"),
        ("right-to-left.md", "قيل إن kelpie"),
        ("long-word.md", "LlanfairpwllgwyngyllLlanfairpwllgwyngyll"),
    ):
        choose(page, "Document", name)
        expect(page.locator(".sl-chunks").first).to_contain_text(told)
        assert page.locator(".sl-chunks :is(img, script, style, a)").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        wide = page.locator(".sl-chunks").evaluate_all("sides => sides.filter(side => side.scrollWidth > side.clientWidth + 1).length")
        assert wide == 0
    for section in ("Contents", "Lengths", "Map"):
        open_section(page, section)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("window.pwned") is None
    page.close()


def test_a_folder_of_ones_own_from_making_to_rolling_back(page: Page, notes: Notes, tmp_path: Path) -> None:
    """Done when: point it at a folder, compare two chunkings, switch the embedder, edit a file, see the diff, rebuild, roll back."""
    folder = write_notes(tmp_path / "my diary", ANIMALS[:4])
    open_corpus(page, notes.url, "notes", "Corpora", question="eel")
    fill(page, "Name", "diary")
    fill(page, "Folder", str(folder))
    page.get_by_role("button", name="Make it").click()
    page.get_by_role("button", name="Open diary").last.click()
    expect(page).to_have_url(re.compile("corpus=diary"))

    open_section(page, "Chunks")
    choose(page, "Document", "curlew.md")
    choose(page, "Chunking, right", "sentence")
    expect(page.locator(".sl-chunks")).to_have_count(2)
    expect(page.locator(".sl-alone").first).to_be_visible()

    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name="Embedder")
    box.click()
    box.fill("hash")  # not among the choices: it has no model to load
    box.press("Enter")
    expect(page.locator(".sl-counts").first).to_contain_text("longer than hash’s")
    open_section(page, "Map")
    page.get_by_role("button", name="Build this index").click()
    expect(page.locator(".js-plotly-plot")).to_contain_text("the question")
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("structural-500·minilm")

    note = folder / "curlew.md"
    note.write_text(note.read_text(encoding="utf-8").replace("keeps to itself", "sings at night"), encoding="utf-8")
    open_section(page, "Rebuild")
    page.get_by_role("button", name="Check for changes").click()
    expect(page.locator(".sl-buckets")).to_contain_text("1changed")
    expect(page.locator(".sl-diff")).to_contain_text("+The curlew sings at night.")
    expect(page.locator(".sl-diff")).to_contain_text("-The curlew keeps to itself.")
    page.get_by_role("button", name="Update and publish").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Generation 000002 is served now: 4 documents")
    page.get_by_role("button", name="Check for changes").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Nothing to do: the corpus is as its source.")

    open_section(page, "Chunks")
    choose(page, "Document", "curlew.md")
    expect(page.locator(".sl-chunks").first).to_contain_text("sings at night")
    open_section(page, "Versions")
    page.get_by_role("button", name="Roll back to 000001").click()
    expect(page.get_by_role("button", name="Go forward to 000002")).to_be_visible()
    open_section(page, "Chunks")
    expect(page.locator(".sl-chunks").first).to_contain_text("keeps to itself")


def test_many_removals_want_their_number_and_can_be_taken_back(page: Page, notes: Notes, tmp_path: Path) -> None:
    """A quarter that is missing stays until its number is typed, and then goes; what was retired is restored by name."""
    folder = write_notes(tmp_path / "shrinking")
    command(["update", "--source", f"markdown:{folder}", "--corpus", "shrinking", "--yes"], notes.data_dir)
    for name in ANIMALS[:3]:
        (folder / f"{name}.md").unlink()
    open_corpus(page, notes.url, "shrinking", "Rebuild")
    page.get_by_role("button", name="Check for changes").click()
    expect(page.locator(".sl-buckets")).to_contain_text("3withheld")
    expect(page.get_by_test_id("stMain")).to_contain_text(
        "less than 80% of the 12 of its last complete listing: what is missing from it stays."
    )
    publish = page.get_by_role("button", name="Update and publish")
    expect(publish).to_be_disabled()
    fill(page, "How many documents go", "2")
    expect(publish).to_be_disabled()
    fill(page, "How many documents go", "3")
    publish.click()
    expect(page.get_by_test_id("stMain")).to_contain_text("is served now: 9 documents")
    open_section(page, "Versions")
    box = page.get_by_test_id("stMain").get_by_role("combobox", name="Restore")
    box.click()
    page.get_by_role("option", name=re.compile("badger")).click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Restore and publish").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("10 documents, 2 retired")


def test_what_cannot_be_made_is_said_and_makes_nothing(page: Page, notes: Notes, tmp_path: Path) -> None:
    """A bad name, a folder that is not there, and an empty one are named errors."""
    open_corpus(page, notes.url, "notes", "Corpora")
    (tmp_path / "![x](y) :smile: **b**").mkdir()
    for name, folder, said in (
        ("Not A Name", str(tmp_path), "a corpus name of lower-case letters"),
        ("fresh", str(tmp_path / "nowhere"), "nowhere"),
        ("fresh", str(tmp_path / "![x](y) :smile: **b**"), "**b**"),
        ("notes", str(tmp_path), "a name that no corpus has"),
    ):
        fill(page, "Name", name)
        fill(page, "Folder", folder)
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_test_id("stAlert")).to_contain_text(said)
    assert not (notes.data_dir / "store" / "fresh").exists()


def test_a_corpus_is_renamed_and_deleted_by_typing_its_name(page: Page, notes: Notes, tmp_path: Path) -> None:
    """The page follows a new name; deleting waits until the name is typed, and opens another corpus."""
    folder = write_notes(tmp_path / "short-lived", ANIMALS[:2])
    command(["update", "--source", f"markdown:{folder}", "--corpus", "short-lived", "--yes"], notes.data_dir)
    open_corpus(page, notes.url, "short-lived", "Corpora")
    fill(page, "New name", "renamed")
    page.get_by_role("button", name="Rename", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Delete renamed")
    expect(page).to_have_url(re.compile("corpus=renamed"))
    delete = page.get_by_role("button", name="Delete for good")
    fill(page, "Type renamed to delete it", "renam")
    expect(delete).to_be_disabled()
    fill(page, "Type renamed to delete it", "renamed")
    delete.click()
    expect(page.get_by_test_id("stMain")).not_to_contain_text("Delete renamed")
    settle(page)
    assert not (notes.data_dir / "store" / "renamed").exists()
    assert folder.is_dir()


def test_an_index_that_needs_building_is_built_on_the_page(page: Page, notes: Notes) -> None:
    """Indexes lists what is built, with size and graph, and offers the sidebar's configuration when it has none."""
    page.goto(f"{notes.url}/?corpus=notes&chunking.strategy=sentence&chunking.size=300")
    page.get_by_role("link", name="Corpus").click()
    open_section(page, "Indexes")
    expect(page.get_by_test_id("stMain")).to_contain_text("has no index yet")
    page.get_by_role("button", name="Build this index").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Nothing: the configuration in the sidebar has its index")


def test_an_empty_store_takes_a_folder_of_ones_own(page: Page, tmp_path: Path) -> None:
    """Without any corpus the page offers the field guide and the form; what the form makes can be opened."""
    folder = write_notes(tmp_path / "first", ANIMALS[:2])
    with served(tmp_path / "data", *BARE) as url:
        page.goto(url)
        page.get_by_role("link", name="Corpus").click()
        expect(page.get_by_role("button", name="Build the field guide")).to_be_visible()
        fill(page, "Name", "first")
        fill(page, "Folder", str(folder))
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_test_id("stMain")).to_contain_text("Generation 000001 is served now: 2 documents")
        open_section(page, "Contents")
        expect(page.get_by_test_id("stMain")).to_contain_text("2 of 2 documents")
        page.goto(f"{url}/?q=adder")  # an address that names no corpus takes the one that is there
        expect(page.locator(".sl-card").first).to_contain_text("adder")
        page.goto(f"{url}/?q=adder&corpus=field-guide")
        expect(page.get_by_test_id("stMain")).to_contain_text("there is no field-guide here; first is shown")
        page.goto("about:blank")


@pytest.mark.parametrize(
    ("width", "scheme", "sections"), [(1280, "light", SECTIONS[::4]), (390, "dark", SECTIONS)], ids=["wide and light", "narrow and dark"]
)
def test_every_section_is_accessible_and_fits(
    profile: BrowserContext, notes: Notes, width: int, scheme: Literal["light", "dark"], sections: tuple[str, ...]
) -> None:
    """No violation of WCAG A and AA that axe can find, and nothing wider than the window: all narrow and dark, every fourth the other way."""
    page = window(profile, width, scheme)
    open_corpus(page, notes.url, "notes", question="eel")
    for section in sections:
        open_section(page, section)
        if section == "Rebuild":
            page.get_by_role("button", name="Check for changes").click()
            page.locator(".sl-buckets").wait_for()
            settle(page)
        found = Axe().run(page, options={"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa"]}})
        told = [(section, v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found.response["violations"]]
        assert told == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_another_embedder_and_a_graph_are_built_on_the_page(page: Page, notes: Notes) -> None:
    """A second real embedder with an HNSW graph: built at a click, its recall listed, and the question answered through it at once."""
    page.goto(f"{notes.url}/?corpus=notes&embedder=static-minilm&dense=hnsw&q=heron")
    page.get_by_role("link", name="Corpus").click()
    open_section(page, "Indexes")
    page.get_by_role("button", name="Build this index").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Nothing: the configuration in the sidebar has its index")
    (built,) = [info.meta for info in open_store(notes.data_dir / "store", "notes").indexes() if info.meta.get("hnsw")]
    assert built["embedder"].startswith("static-minilm;")
    assert float(built["hnsw_recall"]) == 1.0
    page.get_by_role("link", name="Explore").click()
    expect(page.locator(".sl-card").first).to_contain_text("heron")
    expect(page.get_by_test_id("stSidebar")).to_contain_text("hnsw: ef_search 320, recall 1.00 against exact")


def test_two_dashboards_and_a_command_line_on_one_store(page: Page, profile: BrowserContext, notes: Notes, tmp_path: Path) -> None:
    """What the command line publishes, both dashboards serve at their next click; neither has to be told or restarted.

    The first request of the second is a link to the page, whose controls say what the link says, whatever is clicked at once.
    """
    folder = write_notes(tmp_path / "shared", ANIMALS[:3])
    command(["update", "--source", f"markdown:{folder}", "--corpus", "shared", "--yes"], notes.data_dir)
    other = window(profile, 1280)
    with served(notes.data_dir, *BARE) as url:
        other.goto(f"{url}/corpus?corpus=notes&chunking.strategy=sentence&chunking.size=600&top_k=7")
        for section in ("Chunks", "Versions"):  # no waiting: each click interrupts the run of the one before
            other.get_by_role("tab", name=section, exact=True).click()
        open_section(other, "Indexes")
        sidebar = other.get_by_test_id("stSidebar")
        expect(sidebar.get_by_label("Size, characters", exact=True)).to_have_value("600")
        expect(sidebar.get_by_role("slider")).to_have_value("7")
        expect(other.get_by_test_id("stMain")).to_contain_text("Needs building")
        pages = ((page, notes.url), (other, url))
        for each, address in pages:
            open_corpus(each, address, "shared", "Contents")
            expect(each.get_by_test_id("stMain")).to_contain_text("3 of 3 documents")
        write_notes(folder, ANIMALS[:4])
        command(["update", "--source", f"markdown:{folder}", "--corpus", "shared", "--yes"], notes.data_dir)
        for each, _ in pages:
            open_section(each, "Versions")
            open_section(each, "Contents")
            expect(each.get_by_test_id("stMain")).to_contain_text("4 of 4 documents")
        other.close()
    command(["delete", "shared", "--yes"], notes.data_dir)
