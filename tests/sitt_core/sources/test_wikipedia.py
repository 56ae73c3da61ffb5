"""Wikipedia's articles become documents, politely; every odd case of its answers is right, and every failure is named."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sitt_core.build import read_source
from sitt_core.errors import Cancelled, InvalidInput, ModelError, SourceError
from sitt_core.pipeline import search
from sitt_core.plan import plan_update
from sitt_core.settings import Settings, SourceSettings
from sitt_core.sources.fetch import Fetcher, Limits, user_agent
from sitt_core.sources.wikipedia import DEFAULT_LIST, Wanted, parse_wanted, read_wikipedia
from sitt_core.store.reading import open_corpus
from sitt_core.types import Document, Listing
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder
from tests.fakes.site import Handler
from tests.fakes.wikipedia import LIST, FakeWikipedia, WikiPage, article, beasts, link, list_page, page_html, row

CONTACT = "me@example.org"
CC = "CC BY-SA 4.0, https://creativecommons.org/licenses/by-sa/4.0/deed.en"
Read = Callable[..., Listing]


@pytest.fixture
def wiki() -> Iterator[FakeWikipedia]:
    with FakeWikipedia() as found:
        yield found


@pytest.fixture
def read(wiki: FakeWikipedia, tmp_path: Path) -> Read:
    """Reads the fake wiki by its clock, each time as a new process does."""

    def reading(what: str = "", *, stored: tuple[Document, ...] = (), cache: str = "cache", **changes: Any) -> Listing:
        made = {"user_agent": user_agent(CONTACT), "retries": 2, "limits": Limits(total=30), "allow_private": True, **changes}
        with Fetcher(cache_dir=tmp_path / cache, clock=wiki.clock, sleep=wiki.clock.sleep, **made) as fetcher:
            return read_wikipedia(parse_wanted(what), fetcher=fetcher, base_url=wiki.url, stored=stored)

    return reading


def one_group(*rows: str, **changes: Any) -> WikiPage:
    return list_page({"Winged": rows}, **changes)


def by_id(listing: Listing) -> dict[str, Document]:
    return {document.id.removeprefix("wikipedia:"): document for document in listing.documents}


def reasons(listing: Listing) -> dict[str, str]:
    return {failure.id.removeprefix("wikipedia:"): failure.reason for failure in listing.failures}


def removed(before: Listing, after: Listing) -> set[str]:
    """The names that a complete listing no longer has."""
    gone = {document.id for document in before.documents} - {each.id for each in (*after.documents, *after.failures)}
    return {id_.removeprefix("wikipedia:") for id_ in gone} if after.complete else set()


class TestTheWholeList:
    def test_140_articles_politely(self, wiki: FakeWikipedia, read: Read) -> None:
        """With throttling and slow answers every article arrives once, in series, a second apart, by name, batch queries first."""
        wiki.wiki, wiki.slow = beasts(), 0.4
        left = [40, 90]

        def sometimes(handler: Handler) -> None:
            if left and len(wiki.asked) >= left[0]:
                wiki.throttled += left.pop(0) // 40
            wiki.answer(handler)

        wiki.otherwise, wiki.lagging = sometimes, 1
        listing = read()
        assert (len(listing.documents), listing.failures, listing.complete) == (140, (), True)
        assert listing.notices == ("140 rows of List of cryptids: 140 articles, 0 rows without one that say enough to be documents",)
        assert min(wiki.times()) >= 1
        asked = wiki.articles_asked()
        assert len(asked) == 141 + 3  # the list, the articles, and three that were throttled
        assert sorted(set(asked)) == sorted(wiki.wiki)
        assert wiki.queries() == 4 + 1  # the list, three batches of 50, and one that was lagged
        assert {asked.headers["user-agent"].split(" requests/")[0] for asked in wiki.asked} == {f"SITTLab/0.1 ({CONTACT})"}
        waited = [after - before for before, after in zip([0.0, *wiki.clock.waits], wiki.clock.waits, strict=False)]
        assert waited  # it waited by the clock, not by the wall
        assert sum(each >= 7 for each in wiki.times()) == 3
        assert sum(5 <= each < 7 for each in wiki.times()) == 1

    def test_a_second_check_is_cheap(self, wiki: FakeWikipedia, read: Read) -> None:
        """Nothing changed: the batch queries alone are asked, and the documents are the same ones."""
        wiki.wiki = beasts()
        first = read()
        wiki.asked.clear()
        assert read() == first
        assert (wiki.queries(), wiki.articles_asked()) == (4, [])
        assert read(stored=first.documents, cache="lost") == first
        assert wiki.articles_asked() == [LIST]  # without a cache it is what the corpus holds that spares the articles

    def test_only_what_changed_is_fetched(self, wiki: FakeWikipedia, read: Read) -> None:
        """A new revision is fetched, and its document is another; one that says the same is the same."""
        wiki.wiki = beasts(12)
        first = read()
        wiki.asked.clear()
        wiki.wiki["Who?"] = article("Who?", "It was an owl.", revision=7)
        wiki.wiki["A+B"] = replace(wiki.wiki["A+B"], revision=8)
        second = read(stored=first.documents)
        assert wiki.articles_asked() == ["Who?", "A+B"]
        old, new = by_id(first), by_id(second)
        assert {title for title in new if new[title].sha256 != old[title].sha256} == {"Who?"}
        assert new["Who?"].text.startswith("It was an owl.")
        assert new["Who?"].revision == f"{wiki.url}/w/index.php?oldid=7"

    def test_what_a_document_carries(self, wiki: FakeWikipedia, read: Read) -> None:
        """Title, canonical address, licence, revision, time, category, region and names, and a text without what is around it."""
        wiki.wiki = beasts(3)
        document = by_id(read())["AC/DC beast"]
        assert document.source.url == "https://en.wikipedia.org/wiki/AC/DC_beast"
        assert document.source.license == CC
        assert document.source.title.endswith(": AC/DC beast")
        assert document.revision == f"{wiki.url}/w/index.php?oldid=1"
        assert document.fetched_at.startswith("2026-11-30T12:00")
        assert (document.category, document.region, document.aliases) == ("Aquatic or semi-aquatic", "Lake 0", ("Old AC/DC beast",))
        assert document.text == (
            "The story of AC/DC beast, number 0.\n\n## Infobox\n\n- AC/DC beast\n- Country: Scotland\n\n## History\n\nFirst seen in 1933."
        )
        assert [section.heading_path for section in document.sections] == [(), ("Infobox",), ("History",)]

    def test_becomes_a_corpus(self, wiki: FakeWikipedia, read: Read, tmp_path: Path) -> None:
        """A plan adds every article, publishing keeps their attribution and times, and the next plan is empty."""
        wiki.wiki = beasts(12)
        listing = read()
        corpora.update(tmp_path / "store", listing, corpora.recipe())
        corpus = open_corpus(tmp_path / "store", corpora.NAME)
        stored = {document.id: document for document in corpus.all_documents()}
        assert stored == {document.id: document for document in listing.documents}
        plan = plan_update(corpus, read(stored=tuple(stored.values())))
        assert (plan.is_empty, len(plan.unchanged)) == (True, 12)
        best = search("the story of Storsjöodjuret", corpora.engine(corpus)).passages[0]
        assert best.source == stored["wikipedia:Storsjöodjuret"].source

    def test_a_build_that_failed_is_tried_again(
        self, wiki: FakeWikipedia, read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """When the embedder is down nothing counts as read: the next check plans everything again, and fetches nothing again."""
        wiki.wiki = beasts(12)

        def down(*_: object, **__: object) -> None:
            raise ModelError(expected="an embedder", got="none", remedy="Wait.")

        with monkeypatch.context() as broken:
            broken.setattr(HashEmbedder, "embed_passages", down)
            with pytest.raises(ModelError):
                corpora.update(tmp_path / "store", read(), corpora.recipe())
        wiki.asked.clear()
        listing = read()
        assert len(plan_update(None, listing).added) == 12
        assert wiki.articles_asked() == []
        corpora.update(tmp_path / "store", listing, corpora.recipe())
        assert len(open_corpus(tmp_path / "store", corpora.NAME).documents) == 12


class TestRows:
    def test_redirects_are_one_document_with_several_names(self, wiki: FakeWikipedia, read: Read) -> None:
        """Names that lead to one article, by redirect, to a section or twice in the list, are its aliases."""
        wiki.wiki = {
            LIST: one_group(
                row(link("Champ"), "", "In the lake", "Vermont"),
                row(link("Champ (folklore)", "Old Champ")),
                row(link("Cadborosaurus"), "Caddy, Cad (old), “Sea, serpent”", "", "Canada"),
            ),
            "Champ": WikiPage(redirect="Champ (folklore)"),
            "Cadborosaurus": WikiPage(redirect="Champ (folklore)#Relatives"),
            "Champ (folklore)": article("Champ (folklore)"),
        }
        listing = read()
        (document,) = listing.documents
        assert (document.id, document.region) == ("wikipedia:Champ (folklore)", "Vermont")
        assert document.aliases == ("Champ", "Old Champ", "Cadborosaurus", "Caddy", "Cad (old)", "“Sea, serpent”")
        assert wiki.articles_asked() == [LIST, "Champ (folklore)"]

    @pytest.mark.parametrize("hops", [1, 9], ids=["the query stops", "the query goes on"])
    def test_a_double_redirect(self, hops: int, wiki: FakeWikipedia, read: Read) -> None:
        """Where the wiki resolves it the article is read; where it does not, the failure says what it is. Never a stub."""
        wiki.hops = hops
        wiki.wiki = {
            LIST: one_group(row(link("One"), "", "x"), row(link("Yeti"), "", "y")),
            "One": WikiPage(redirect="Two"),
            "Two": WikiPage(redirect="Three"),
            "Three": article("Three"),
            "Yeti": article("Yeti"),
        }
        listing = read()
        if hops == 1:
            assert set(by_id(listing)) == {"Yeti"}
            assert "double redirect" in reasons(listing)["Two"]
        else:
            assert by_id(listing)["Three"].aliases == ("One", "Two")

    def test_an_article_that_has_just_become_a_redirect(self, wiki: FakeWikipedia, read: Read) -> None:
        """The stub that the wiki sends with status 200 is not taken for an article."""
        wiki.wiki = {LIST: one_group(row(link("Yeti"))), "Yeti": article("Yeti")}
        stub = page_html("Yeti", WikiPage(redirect="Abominable Snowman"))
        told = json.dumps({"title": "Yeti", "latest": {"id": 2}, "content_model": "wikitext", "html": stub})
        wiki.pages = {"/w/rest.php/v1/page/Yeti/with_html": told}
        listing = read()
        assert listing.documents == ()
        assert "a redirect to Abominable Snowman" in reasons(listing)["Yeti"]

    def test_redirects_in_a_circle(self, wiki: FakeWikipedia, read: Read) -> None:
        """A circle ends, and is named."""
        wiki.wiki = {LIST: one_group(row(link("A"))), "A": WikiPage(redirect="B"), "B": WikiPage(redirect="A")}
        assert "circle" in reasons(read())["A"]

    def test_red_and_unlinked_rows(self, wiki: FakeWikipedia, read: Read) -> None:
        """With a description they are small documents marked as list rows, at the list's address; without one they are none."""
        wiki.wiki = {
            LIST: one_group(
                row(link("Red beast", red=True), "Reddy", "A red one.", "Peru"),
                row(link("Red shadow", red=True)),
                row('Plain beast<sup class="mw-ref reference">[9]</sup>', "", "It sings<br/>at night.", ""),
                row('Plain shadow<sup class="noprint Inline-Template">[citation needed]</sup>'),
                row(link("Yeti"), "", "A white one."),
                row("", "", "no name"),
            ),
            "Yeti": article("Yeti"),
        }
        listing = read()
        found = by_id(listing)
        assert set(found) == {"Red beast", "Plain beast", "Yeti"}
        assert found["Red beast"].text == "Red beast\n\nA red one.\n\nOther names: Reddy\n\nLocation: Peru"
        assert found["Plain beast"].text == "Plain beast\n\nIt sings; at night."
        assert found["Red beast"].source.title.endswith("List of cryptids (list row: Red beast)")
        assert found["Red beast"].source.url == "https://en.wikipedia.org/wiki/List_of_cryptids"
        assert (found["Red beast"].source.license, found["Red beast"].category) == (CC, "Winged")
        for document in listing.documents:
            assert [document.text[block.start : block.end] for block in document.blocks] == document.text.split("\n\n")[
                : len(document.blocks)
            ] or (document.id == "wikipedia:Yeti")
        assert listing.notices == (
            "5 rows of List of cryptids: 1 articles, 2 rows without one that say enough to be documents",
            "Rows with neither an article nor a description, which are no documents: Red shadow, Plain shadow",
        )
        assert listing.failures == ()

    @pytest.mark.parametrize("later", ["Plain beast", "Plain beast (cryptid)"])
    def test_an_article_takes_its_row_s_place(self, later: str, wiki: FakeWikipedia, read: Read) -> None:
        """Once somebody writes the article, the document under the same id is that article."""
        wiki.wiki = {LIST: one_group(row("Plain beast", "", "It sings."))}
        first = read()
        wiki.wiki = {LIST: one_group(row(link(later, "Plain beast"), "", "It sings."), revision=2), later: article(later)}
        (document,) = read(stored=first.documents).documents
        assert document.id == first.documents[0].id == "wikipedia:Plain beast"
        assert document.title == later
        (again,) = read(stored=(document,)).documents
        assert again == document

    def test_a_name_that_is_another_s_title(self, wiki: FakeWikipedia, read: Read) -> None:
        """A row called like another row's article keeps its own id, and no two documents have one."""
        wiki.wiki = {
            LIST: one_group(
                row(link("Bigfoot (film)", "Yeti"), "", "A film."), row(link("Yeti"), "", "A beast."), row("yeti", "", "A word.")
            ),
            "Bigfoot (film)": article("Bigfoot (film)"),
            "Yeti": article("Yeti"),
        }
        first = read()
        assert set(by_id(first)) == {"Bigfoot (film)", "Yeti", "yeti"}
        assert read(stored=first.documents) == first

    def test_links_that_are_no_articles(self, wiki: FakeWikipedia, read: Read) -> None:
        """Links to the list itself, files, categories, templates and other wikis are none; those of other cells are not looked at."""
        wiki.wiki = {
            LIST: one_group(
                row(link(LIST, "Self")),
                row(link("Cryptids"), "", "By a redirect to the list."),
                row(link("File:Beast.jpg", "Picture")),
                row(link("Category:Beasts", "Kinds")),
                row(link("Template:Beast", "Frame")),
                row(
                    '<a rel="mw:WikiLink/Interwiki" href="https://de.wikipedia.org/wiki/Elwetritsch">Elwetritsch</a>',
                    "",
                    "",
                    link("Germany"),
                ),
                row(link("Portal beast"), "", "Of another namespace."),
                row(link("Yeti")),
            ),
            "Cryptids": WikiPage(redirect=f"{LIST}#Winged"),
            "Portal beast": WikiPage("<p>x</p>", namespace=100),
            "Germany": article("Germany"),
            "Yeti": article("Yeti"),
        }
        assert set(by_id(read())) == {"Yeti", "Cryptids", "Portal beast"}
        assert wiki.articles_asked() == [LIST, "Yeti"]

    def test_a_name_for_several_rows(self, wiki: FakeWikipedia, read: Read) -> None:
        """A cell that spans rows names one subject; what the rows say of it is joined."""
        spanning = f'<tr><td rowspan="2">{link("Yeti")}</td><td>Meh-Teh</td><td>White</td><td>Nepal</td></tr><tr><td>Kang</td><td>Tall</td><td>Tibet</td></tr>'
        wiki.wiki = {LIST: one_group(spanning, row(link("Kraken"), "", "", "Norway")), "Yeti": article("Yeti"), "Kraken": article("Kraken")}
        found = by_id(read())
        assert (found["Yeti"].aliases, found["Yeti"].region) == (("Meh-Teh", "Kang"), "Nepal; Tibet")
        assert found["Kraken"].region == "Norway"


class TestTheListPage:
    @pytest.mark.parametrize("level", [2, 3, 4, 5])
    def test_groups_under_any_heading(self, level: int, wiki: FakeWikipedia, read: Read) -> None:
        """The category is the heading above the table, whichever level it has; columns are found by their names."""
        page = list_page(
            {"Winged": [row("Peru", "A tall one.", link("Yeti"), "Yo, Yeh")]},
            level=level,
            columns=("Region", "DESCRIPTION", "Cryptid ", "Other Names"),
        )
        wiki.wiki = {LIST: page, "Yeti": article("Yeti")}
        document = by_id(read())["Yeti"]
        assert (document.category, document.region, document.aliases) == ("Winged", "Peru", ("Yo", "Yeh"))

    def test_any_list(self, wiki: FakeWikipedia, read: Read) -> None:
        """A list of something else, whose columns are called otherwise, is read by the first; one table needs no group."""
        table = '<table class="wikitable"><tr><th>Peak</th><th>Metres</th></tr><tr><td>{}</td><td>1345</td></tr></table>'
        wiki.wiki = {"List of peaks": WikiPage(table.format(link("Ben Nevis"))), "Ben Nevis": article("Ben Nevis")}
        listing = read("list=List of peaks")
        assert (listing.origin, by_id(listing)["Ben Nevis"].category) == ("wikipedia:List of peaks", "")

    @pytest.mark.parametrize(
        "page",
        [
            pytest.param(WikiPage("<p>Nothing here.</p>"), id="no table"),
            pytest.param(WikiPage("<table class='infobox'><tr><th>Name</th><td>x</td></tr></table>"), id="only an infobox"),
            pytest.param(WikiPage("<table class='wikitable'><tr><th>Name</th><th>Location</th></tr></table>"), id="no rows"),
            pytest.param(WikiPage("<h2>See also</h2><table><tr><th>Name</th></tr><tr><td>x</td></tr></table>"), id="only in what is cut"),
            pytest.param(WikiPage(" "), id="empty"),
        ],
    )
    def test_no_rows_is_an_error(self, page: WikiPage, wiki: FakeWikipedia, read: Read) -> None:
        """A list that cannot be read is never an empty taxonomy."""
        wiki.wiki = {LIST: page}
        with pytest.raises(SourceError, match="column of names"):
            read()

    def test_rows_that_say_nothing(self, wiki: FakeWikipedia, read: Read) -> None:
        """Rows without articles and descriptions are named, the first of them; a list of nothing else is an error."""
        bare = [row(f"Beast {number}") for number in range(23)]
        wiki.wiki = {LIST: one_group(row(link("Yeti")), *bare), "Yeti": article("Yeti")}
        assert read().notices[1].endswith("Beast 18, Beast 19 and 3 more")
        wiki.wiki = {LIST: one_group(*bare, revision=2)}
        with pytest.raises(SourceError, match="23 rows with neither"):
            read()

    def test_a_list_that_is_not_there(self, wiki: FakeWikipedia, read: Read) -> None:
        """A missing list, and one that is a stub of a redirect, are named; nothing is searched for."""
        with pytest.raises(SourceError, match=r"the list List of yetis; got no such page"):
            read("list=List of yetis")
        wiki.wiki, wiki.hops = {"A": WikiPage(redirect="B"), "B": WikiPage(redirect="C"), "C": one_group()}, 1
        with pytest.raises(SourceError, match="double redirect"):
            read("list=A")

    def test_a_list_that_lost_most_of_its_rows(self, wiki: FakeWikipedia, read: Read) -> None:
        """3 of 12 rows were read to the end: whether the others are gone is for whoever knows all listings before."""
        wiki.wiki = beasts(12)
        first = read()
        wiki.wiki[LIST] = one_group(*(row(link(title)) for title in list(wiki.wiki)[1:4]), revision=2)
        second = read(stored=first.documents)
        assert (len(second.documents), second.complete, second.why_incomplete) == (3, True, "")


class TestWhatChangesItsPlace:
    """Articles that are deleted, renamed or merged while the list, or the titles, still name them."""

    @pytest.mark.parametrize("what", ["", "titles=A|B"], ids=["list", "titles"])
    def test_an_article_that_is_not_there(self, what: str, wiki: FakeWikipedia, read: Read) -> None:
        """The wiki names it and answers 404: a failure with its reason, and what is stored stays."""
        wiki.wiki = {LIST: one_group(row(link("A"), "", "Tall."), row(link("B"))), "A": article("A"), "B": article("B")}
        first = read(what)
        wiki.wiki["A"].revision = 2
        wiki.pages = {"/w/rest.php/v1/page/A/with_html": lambda handler: handler.send(404, "gone")}
        second = read(what, stored=first.documents)
        assert (set(by_id(second)), second.complete) == ({"B"}, True)
        assert "404" in reasons(second)["A"]
        assert removed(first, second) == set()

    @pytest.mark.parametrize("description", ["Tall.", ""], ids=["a row that says something", "a row that does not"])
    @pytest.mark.parametrize("what", ["", "titles=A|B"], ids=["list", "titles"])
    def test_a_deleted_article(self, what: str, description: str, wiki: FakeWikipedia, read: Read) -> None:
        """No such page any more: a failure too. Once the list has no link either, the row takes the article's place, or it goes."""
        wiki.wiki = {LIST: one_group(row(link("A"), "", description), row(link("B"))), "A": article("A"), "B": article("B")}
        first = read(what)
        del wiki.wiki["A"]
        second = read(what, stored=first.documents)
        assert (set(by_id(second)), list(reasons(second)), second.complete) == ({"B"}, ["A"], True)
        assert "no such page" in reasons(second)["A"]
        assert removed(first, second) == set()
        if not what:
            wiki.wiki[LIST] = one_group(row("A", "", description), row(link("B")), revision=2)
            third = read(stored=first.documents)
            assert removed(first, third) == (set() if description else {"A"})
            assert third.failures == ()

    @pytest.mark.parametrize("what", ["", "titles=Old A|B"], ids=["list", "titles"])
    def test_a_deleted_redirect(self, what: str, wiki: FakeWikipedia, read: Read) -> None:
        """The name that led to an article leads nowhere: the document of that article stays."""
        wiki.wiki = {LIST: one_group(row(link("Old A")), row(link("B"))), "A": article("A"), "B": article("B")}
        wiki.wiki["Old A"] = WikiPage(redirect="A")
        first = read(what)
        assert set(by_id(first)) == {"A", "B"}
        del wiki.wiki["Old A"]
        second = read(what, stored=first.documents)
        assert (list(reasons(second)), removed(first, second)) == (["A"], set())

    def test_redirects_that_lead_nowhere(self, wiki: FakeWikipedia, read: Read) -> None:
        """An article that has become part of a circle, or of two redirects in a row, keeps its document."""
        wiki.wiki = {LIST: one_group(row(link("A")), row(link("B"))), "A": article("A"), "B": article("B")}
        first = read()
        wiki.hops = 1
        wiki.wiki |= {"A": WikiPage(redirect="C"), "C": WikiPage(redirect="A")}
        wiki.wiki |= {"B": WikiPage(redirect="D"), "D": WikiPage(redirect="E"), "E": article("E")}
        second = read(stored=first.documents)
        assert (set(reasons(second)), second.documents, removed(first, second)) == ({"A", "B"}, (), set())

    @pytest.mark.parametrize("what", ["", "titles=A|B"], ids=["list", "titles"])
    def test_a_renamed_article(self, what: str, wiki: FakeWikipedia, read: Read) -> None:
        """Its old name redirects to the new one: the document keeps its id under the new title, also when the list follows."""
        wiki.wiki = {LIST: one_group(row(link("A")), row(link("B"))), "A": article("A"), "B": article("B")}
        first = read(what)
        wiki.wiki |= {"A": WikiPage(redirect="Great A"), "Great A": article("Great A")}
        second = read(what, stored=first.documents)
        assert (set(by_id(second)), removed(first, second)) == ({"A", "B"}, set())
        assert (by_id(second)["A"].title, by_id(second)["A"].aliases) == ("Great A", ("A",))
        wiki.wiki[LIST] = one_group(row(link("Great A")), row(link("B")), revision=2)
        third = read(what.replace("A|", "Great A|"), stored=second.documents)
        assert {id_: document.title for id_, document in by_id(third).items()} == {"A": "Great A", "B": "B"}

    @pytest.mark.parametrize("what", ["", "titles=A|B|C"], ids=["list", "titles"])
    def test_merged_articles(self, what: str, wiki: FakeWikipedia, read: Read) -> None:
        """Two rows that lead to one article are one document; the other is gone, and the listing is whole."""
        wiki.wiki = {LIST: one_group(*(row(link(title)) for title in "ABC")), **{title: article(title) for title in "ABC"}}
        first = read(what)
        wiki.wiki["A"] = WikiPage(redirect="B#A")
        second = read(what, stored=first.documents)
        assert (set(by_id(second)), second.failures, second.complete) == ({"B", "C"}, (), True)
        assert by_id(second)["B"].aliases == ("A",)
        assert removed(first, second) == {"A"}
        wiki.pages = {"/w/rest.php/v1/page/B/with_html": "<p>down"}
        wiki.wiki["B"].revision = 2
        assert removed(first, read(what, stored=first.documents)) == {"A"}


class TestTitles:
    def test_by_exact_titles(self, wiki: FakeWikipedia, read: Read) -> None:
        """Each title is the page it names, redirects followed and told; a missing one is a failure, nothing is guessed."""
        wiki.wiki = {"Yeti": article("Yeti"), "Abominable Snowman": WikiPage(redirect="Yeti"), "Kip": article("Kip")}
        listing = read("titles=yeti|Abominable_Snowman|Kap|Bad[title|Yeti")
        (document,) = listing.documents
        assert (listing.origin, document.id, document.aliases) == ("wikipedia:titles", "wikipedia:Yeti", ("Abominable Snowman",))
        assert reasons(listing) == {"Kap": "Kap: no such page", "Bad[title": "Bad[title: no title that a page can have"}
        assert not any("search" in asked.path for asked in wiki.asked)

    def test_plain_text(self, wiki: FakeWikipedia, read: Read) -> None:
        """format=extract takes the wiki's own plain text, with headings, licence and revision; again it is from the cache."""
        wiki.wiki = {"Dungeons & Dragons": article("Dungeons & Dragons", "A\u200b game.", revision=5)}
        listing = read("titles=Dungeons & Dragons&format=extract")
        (document,) = listing.documents
        assert document.text == "A game.\n\n## History\n\nFirst seen in 1933."
        assert (document.source.license, document.revision) == (CC, f"{wiki.url}/w/index.php?oldid=5#extract")
        assert listing.notices == ("Invisible characters left out: 1 × U+200B",)
        wiki.asked.clear()
        assert read("titles=Dungeons & Dragons&format=extract").documents == listing.documents
        assert [asked.path for asked in wiki.asked if "extracts" in asked.path] == []
        wiki.wiki["Dungeons & Dragons"] = article("Dungeons & Dragons", "A board game.", revision=6)
        assert read("titles=Dungeons & Dragons&format=extract").documents[0].text.startswith("A board game.")

    def test_the_other_form_of_what_is_stored(self, wiki: FakeWikipedia, read: Read) -> None:
        """An article that is stored as HTML is read anew as plain text, and the other way round, whatever the cache holds."""
        wiki.wiki = {"Yeti": article("Yeti")}
        html = read("titles=Yeti")
        extract = read("titles=Yeti&format=extract", stored=html.documents, cache="lost")
        assert "Infobox" in html.documents[0].text
        assert "Infobox" not in extract.documents[0].text
        assert read("titles=Yeti", stored=extract.documents, cache="lost too").documents[0].text == html.documents[0].text

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("", Wanted(list=DEFAULT_LIST)),
            ("list=List_of  peaks", Wanted(list="List of peaks")),
            ("titles=A|B| A |C", Wanted(titles=("A", "B", "C"))),
            ("titles=R&B|a=b&format=extract", Wanted(titles=("R&B", "a=b"), extract=True)),
            ("titles=A&format=html", Wanted(titles=("A",))),
        ],
    )
    def test_how_it_is_named(self, text: str, wanted: Wanted) -> None:
        """What stands behind wikipedia: is read, and named again so that it reads the same."""
        assert parse_wanted(text) == wanted
        assert parse_wanted(wanted.place.removeprefix("wikipedia:")) == wanted

    @pytest.mark.parametrize("text", ["list=", "list=A|B", "titles=", "titles=|", "Yeti", "title=Yeti", "titles=A&format=pdf", "&format=x"])
    def test_what_is_no_source(self, text: str) -> None:
        """Anything else is refused with what there is."""
        with pytest.raises(InvalidInput):
            parse_wanted(text)


class TestFailures:
    def test_one_that_is_always_throttled(self, wiki: FakeWikipedia, read: Read) -> None:
        """The second of three articles fails with its status, whatever HTML came with it; the others are read and nothing is removed."""
        wiki.wiki = {title: article(title) for title in ("A", "B", "C")}
        wiki.pages = {"/w/rest.php/v1/page/B/with_html": lambda handler: handler.send(429, "<h1>Slow down</h1>", {"Retry-After": "2"})}
        listing = read("titles=A|B|C")
        assert set(by_id(listing)) == {"A", "C"}
        assert "429 Too Many Requests: 'Slow down', 3 times" in reasons(listing)["B"]

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            pytest.param(
                lambda h: h.send(200, "<html><title>Log in</title></html>"),
                r"got text/html that is none, with status 200",
                id="page with 200",
            ),
            pytest.param(
                lambda h: h.send(200, '{"error": "x"}', {"Content-Type": "application/json"}),
                "without them: \\['error'\\]",
                id="JSON error",
            ),
            pytest.param(lambda h: h.send(200, '{"message": "sorry"}'), "without them: 'sorry'", id="message"),
            pytest.param(lambda h: h.send(200, "[1]"), "to be a JSON object", id="a list"),
            pytest.param(lambda h: h.send(200, '{"latest": {"id": "1"}, "html": "<p>x"}'), "without them", id="no revision"),
            pytest.param(lambda h: h.send(200, "{" * 100_000), "JSON from 127", id="braces without end"),
            pytest.param(
                lambda h: h.send(200, '{"latest": {"id": 1}, "html": "caf\xe9"}'.encode("latin-1")), "JSON from 127", id="wrong charset"
            ),
            pytest.param(
                lambda h: h.send(200, '{"latest": {"id": 1}, "content_model": "json", "html": "x"}'), "a page of 'json'", id="no article"
            ),
            pytest.param(
                lambda h: h.send(200, '{"latest": {"id": 1}, "html": "<table class=navbox><td>x"}'),
                "got none but what surrounds",
                id="chrome",
            ),
            pytest.param(lambda h: h.cut({"Content-Length": "200000000"}), r"at most 10,000,000 bytes", id="200 MB"),
            pytest.param(lambda h: h.cut({"Content-Length": "10"}), "broke off, 3 times", id="broken off"),
            pytest.param(
                lambda h: h.send(404, '{"httpReason": "Not Found"}', {"Content-Type": "application/json"}), "404 Not Found", id="gone"
            ),
            pytest.param(lambda h: h.send(403, "<p>Please set a user-agent"), "403 Forbidden: 'Please set a user-agent'", id="forbidden"),
            pytest.param(
                lambda h: h.send(200, json.dumps({"latest": {"id": 1}, "html": "<div>" * 5000 + "deep"})),
                "200 deep; got more",
                id="too deep",
            ),
        ],
    )
    def test_a_reply_that_cannot_be_used(self, answer: Callable[[Handler], None], reason: str, wiki: FakeWikipedia, read: Read) -> None:
        """Each is named, keeps what is stored as it was, and leaves the other articles alone."""
        wiki.wiki = {title: article(title) for title in ("A", "B")}
        first = read("titles=A|B")
        wiki.wiki["A"].revision = 2
        wiki.pages = {"/w/rest.php/v1/page/A/with_html": answer}
        listing = read("titles=A|B", stored=first.documents)
        (failure,) = listing.failures
        assert failure.id == "wikipedia:A"
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(failure.reason)
        assert set(by_id(listing)) == {"B"}
        wiki.pages = {}
        assert set(by_id(read("titles=A|B"))) == {"A", "B"}  # what could not be used is not kept

    @pytest.mark.parametrize(
        "query",
        [
            {"normalized": None},
            {"normalized": [{}]},
            {"redirects": ["x"]},
            {"pages": [{"title": []}]},
            {"pages": [{"title": "A", "pageid": 1, "ns": None}]},
            {"pages": [{"title": "A", "pageid": 1, "lastrevid": "x"}]},
            {"pages": [{"title": "A", "pageid": 1, "revisions": 5}]},
        ],
        ids=["no list", "no names", "a redirect", "a title", "a namespace", "a revision", "revisions"],
    )
    def test_a_query_answered_in_another_shape(self, query: dict[str, Any], wiki: FakeWikipedia, read: Read) -> None:
        """A named error, whatever stands where something else is expected; of plain text as well."""
        wiki.wiki = {"A": article("A")}
        told = json.dumps({"query": query})
        wiki.pages = {"/w/api.php": lambda h: h.send(200, told, {"Content-Type": "application/json"})}
        with pytest.raises(SourceError, match="as MediaWiki's API gives it"):
            read("titles=A")
        wiki.pages["/w/api.php"] = lambda h: (
            wiki.answer(h) if "extracts" not in h.path else h.send(200, json.dumps({"query": {"pages": [{"revisions": 5}]}}))
        )
        (failure,) = read("titles=A&format=extract").failures
        assert "as MediaWiki's API gives it" in failure.reason

    def test_an_entity_bomb(self, wiki: FakeWikipedia, read: Read) -> None:
        """Entities that a page declares are words, not a billion of them."""
        bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]><p>said &c; loudly &amp; &lt;often&gt;</p>'
        wiki.wiki = {"A": WikiPage(bomb)}
        assert "said &c; loudly & <often>" in by_id(read("titles=A"))["A"].text

    def test_many_in_a_row_end_the_asking(self, wiki: FakeWikipedia, read: Read) -> None:
        """When five articles in a row fail the others are not asked for, and all of them are named."""
        wiki.wiki = {f"A{number}": article("A") for number in range(9)}
        wiki.pages = {f"/w/rest.php/v1/page/A{number}/with_html": "<p>down" for number in range(9)}
        listing = read("titles=" + "|".join(wiki.wiki))
        assert (len(listing.failures), len(wiki.articles_asked())) == (9, 5)
        assert "not asked for" in listing.failures[-1].reason
        assert (listing.complete, listing.why_incomplete) == (False, "5 articles in a row could not be fetched")

    @pytest.mark.parametrize(("lagging", "found"), [(2, 1), (9, 0)])
    def test_a_lagged_wiki(self, lagging: int, found: int, wiki: FakeWikipedia, read: Read) -> None:
        """maxlag comes with status 200 and Retry-After: it is waited for, and in the end named."""
        wiki.wiki, wiki.lagging = {"A": article("A")}, lagging
        if found:
            assert len(read("titles=A").documents) == 1
            assert wiki.times()[:2] == [5.0, 5.0]
        else:
            with pytest.raises(SourceError, match="asks to come again later, 3 times"):
                read("titles=A")

    def test_a_wiki_that_is_away(self, wiki: FakeWikipedia, read: Read) -> None:
        """When the batch query fails the whole reading fails: there is no listing that could remove anything."""
        wiki.pages = {"/w/api.php": lambda handler: handler.send(500, "<p>Our servers")}
        with pytest.raises(SourceError, match="500 Internal Server Error: 'Our servers'"):
            read()

    def test_an_error_of_the_query(self, wiki: FakeWikipedia, read: Read) -> None:
        """An error with status 200 is shown in the wiki's own words."""
        told = {"error": {"code": "readapidenied", "info": "You need read permission"}}
        wiki.pages = {"/w/api.php": lambda handler: handler.send(200, json.dumps(told))}
        with pytest.raises(SourceError, match="'readapidenied': 'You need read permission'"):
            read("titles=A")


class TestTheQuery:
    def test_answers_in_parts(self, wiki: FakeWikipedia, read: Read) -> None:
        """An answer that goes on is asked for to its end, with all that it says to send back."""
        wiki.wiki, wiki.continued = beasts(12), True
        listing = read()
        assert (len(listing.documents), listing.failures) == (12, ())

    def test_long_titles_go_in_more_queries(self, wiki: FakeWikipedia, read: Read) -> None:
        """Addresses stay below what servers take, whatever the script."""
        titles = [f"{'雪' * 60}{number}" for number in range(40)]
        wiki.wiki = {title: article(title) for title in titles}
        assert len(read("titles=" + "|".join(titles)).documents) == 40
        assert max(len(asked.path) for asked in wiki.asked) < 8000

    def test_a_licence_that_is_not_stated(self, wiki: FakeWikipedia, read: Read) -> None:
        """A wiki that names no licence has none made up for it."""
        wiki.wiki, wiki.license = {"A": article("A")}, None
        assert read("titles=A").documents[0].source.license == "not stated"


class TestAsASource:
    def settings(self, wiki: FakeWikipedia, folder: Path, **changes: Any) -> Settings:
        asked = {"contact": CONTACT, "wikipedia_url": wiki.url, "interval": 0, "allow_private": True, **changes}
        return Settings(folder, sources=SourceSettings(**asked))

    def test_by_name(self, wiki: FakeWikipedia, tmp_path: Path) -> None:
        """`wikipedia:` is read by the settings, told about as it goes, and named again."""
        wiki.wiki = beasts(3)
        told: list[tuple[str, int, int]] = []
        listing, place = read_source("wikipedia:", settings=self.settings(wiki, tmp_path), report=lambda *each: told.append(each))
        assert (len(listing.documents), place) == (3, "wikipedia:list=List of cryptids")
        assert told[0] == ("read the list", 0, 1)
        assert told[-1] == ("fetch articles", 3, 3)
        assert (tmp_path / "fetched" / "replies").is_dir()

    def test_a_long_wait_is_shown_and_can_be_stopped(self, wiki: FakeWikipedia, tmp_path: Path) -> None:
        """Whoever waits for a site sees why and how long, and a stop takes effect within the wait."""
        wiki.wiki, wiki.throttled, wiki.retry_after = beasts(3), 1, "100"
        told: list[str] = []

        def stop(stage: str, done: int, total: int) -> None:
            told.append(stage)
            if (stage, total) == ("waiting for the site", 100) or (stage, total) == ("waiting for the site", 99):
                raise Cancelled(expected="a", got="b", remedy="c")

        with pytest.raises(Cancelled):
            read_source("wikipedia:", settings=self.settings(wiki, tmp_path), report=stop)
        assert any("waiting 100 s before asking" in stage and "429" in stage for stage in told)
        assert len(wiki.asked) == 1

    @pytest.mark.parametrize("contact", ["", "nobody"])
    def test_nobody_is_asked_without_a_contact(self, contact: str, wiki: FakeWikipedia, tmp_path: Path) -> None:
        """Who does not say who asks is refused before the first request."""
        with pytest.raises(InvalidInput, match="SITT_CONTACT"):
            read_source("wikipedia:titles=Yeti", settings=self.settings(wiki, tmp_path, contact=contact))
        assert wiki.asked == []
