"""A site's sitemap becomes documents, politely and within limits; whatever goes wrong is named and loses nothing else."""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput, SourceError
from sitt_core.plan import plan_update
from sitt_core.sources import sitemap
from sitt_core.sources.fetch import Limits
from sitt_core.sources.sitemap import MAX_SITEMAP, Entry, lastmod_end, parse_place, parse_sitemap, read_sitemap
from sitt_core.store.reading import open_corpus
from sitt_core.types import Listing
from tests.fakes.corpora import recipe, update
from tests.fakes.site import Clock, FakeSite, Reply, article, fetcher
from tests.fakes.site import sitemap as sitemap_of

URL = "https://example.org/sitemap.xml"
WORDS = "In the cold lakes of the north something long is said to swim, and there are stories about it."
HTML = {"Content-Type": "text/html"}


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """A site with three pages and a sitemap of them."""
    with FakeSite() as fake:
        for name in ("lake", "moor", "sky"):
            fake.page(f"/{name}", article(name.title(), f"{WORDS} This is the {name}."))
        fake.put("/sitemap.xml", fake.sitemap("/lake", "/moor", "/sky"))
        yield fake


def read(
    site: FakeSite, path: str = "/sitemap.xml", *, stored: Listing | None = None, clock: Clock | None = None, **changes: object
) -> Listing:
    with fetcher(clock or Clock(), **changes) as door:
        return read_sitemap(parse_place(site.url + path), fetcher=door, stored=stored.documents if stored else ())


def names(site: FakeSite, listing: Listing) -> list[str]:
    return [document.id.removeprefix(site.host) for document in listing.documents]


def reasons(site: FakeSite, listing: Listing) -> dict[str, str]:
    return {failure.id.removeprefix(site.host): failure.reason for failure in listing.failures}


# -- what a sitemap says


def entries(*paths: str, lastmod: str = "") -> tuple[Entry, ...]:
    return tuple(Entry(f"https://example.org{path}", lastmod) for path in paths)


PLAIN = sitemap_of("https://example.org/a", "https://example.org/b")
ITEMS = PLAIN.decode().split('9">')[1].replace("</urlset>", "")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PLAIN, id="as the protocol has it"),
        pytest.param(gzip.compress(PLAIN), id="gzip"),
        pytest.param(gzip.compress(gzip.compress(PLAIN)), id="gzip in gzip"),
        pytest.param(gzip.compress(PLAIN) + b"\0garbage" * 9, id="gzip with garbage after it"),
        pytest.param(gzip.compress(PLAIN[:80]) + gzip.compress(PLAIN[80:]), id="gzip in two parts"),
        pytest.param(b"\xef\xbb\xbf\n \n" + PLAIN, id="byte order mark and blank lines before"),
        pytest.param(PLAIN.decode().replace("UTF-8", "UTF-16").encode("utf-16"), id="UTF-16"),
        pytest.param(f"<urlset>{ITEMS}</urlset>".encode(), id="no namespace"),
        pytest.param(PLAIN.replace(b"http://www.sitemaps", b"https://www.sitemaps"), id="https namespace"),
        pytest.param(f'<s:urlset xmlns:s="x">{ITEMS.replace("<", "<s:").replace("<s:/", "</s:")}</s:urlset>'.encode(), id="prefixed"),
        pytest.param(f"<!DOCTYPE urlset><urlset><!-- x -->{ITEMS}</urlset>".encode(), id="doctype and comment"),
        pytest.param(
            f"<urlset>{ITEMS}</urlset>".replace(
                "</url>", "<image:image xmlns:image='y'><image:loc>https://x.example/i.png</image:loc></image:image></url>"
            ).encode(),
            id="images",
        ),
        pytest.param(f"<urlset>{ITEMS}</urlset>".replace("/a<", "/a\n <").replace("b<", "b#part<").encode(), id="white space, fragment"),
        pytest.param(f"<urlset>{ITEMS}</urlset>".replace("https://example.org/a", "/a").encode(), id="relative"),
        pytest.param(f"<urlset>{ITEMS}<url><loc>mailto:a@example.org</loc></url><url/></urlset>".encode(), id="other schemes, empty"),
        pytest.param(b"https://example.org/a\r\nhttps://example.org/b\r\n", id="a plain list"),
    ],
)
def test_every_kind_of_sitemap_is_read(data: bytes) -> None:
    """By its first bytes and its elements' local names, whatever it is called."""
    found = parse_sitemap(data, url=URL)
    assert (found.is_index, found.entries, found.problem) == (False, entries("/a", "/b"), "")


def test_an_index_and_dates() -> None:
    """An index is told from a sitemap; dates are kept as written."""
    found = parse_sitemap(b"<sitemapindex><sitemap><lastmod> 2026-11-01 </lastmod><loc>/x.gz</loc></sitemap></sitemapindex>", url=URL)
    assert (found.is_index, found.entries) == (True, entries("/x.gz", lastmod="2026-11-01"))


BOMB = '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'


@pytest.mark.parametrize(
    ("data", "got"),
    [
        pytest.param(BOMB.encode(), "declares entities", id="entities"),
        pytest.param(BOMB.replace('"x"', 'SYSTEM "file:///etc/passwd"').encode(), "declares entities", id="an entity from outside"),
        pytest.param(gzip.compress(b" " * (MAX_SITEMAP + 1), 1), "once unpacked", id="gzip bomb"),
        pytest.param(b"\x1f\x8b" + b"x" * 50, "cannot be unpacked", id="no gzip after all"),
        pytest.param(b"", "an empty answer", id="empty"),
        pytest.param(b"<!DOCTYPE html><html><body><p>Not found<br></body>", "a page of HTML", id="a page"),
        pytest.param(b"<rss><channel/></rss>", "<rss>", id="a feed"),
        pytest.param(b'{"message": "no"}', "message", id="JSON"),
        pytest.param(b"<urlset" * 3, "no XML", id="no XML"),
        pytest.param(b"<urlset>" + b"<a>" * 200, "in one another", id="endless nesting"),
        pytest.param(b'<?xml version="1.0" encoding="klingon"?><urlset/>', "no XML", id="an unknown encoding"),
    ],
)
def test_what_is_no_sitemap_is_refused(data: bytes, got: str) -> None:
    """Named by what came instead."""
    with pytest.raises(SourceError) as caught:
        parse_sitemap(data, url=URL)
    assert got in caught.value.got


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PLAIN[:-30], id="XML that breaks off"),
        pytest.param(PLAIN.replace(b"</urlset>", b"<url><loc>https://example.org/?a&b</loc></url></urlset>"), id="a bare ampersand"),
        pytest.param(gzip.compress(PLAIN)[:-9], id="gzip that breaks off"),
        pytest.param(b"".join([gzip.compress(PLAIN), *([gzip.compress(b"")] * 100)]), id="gzip in too many parts"),
    ],
)
def test_what_came_before_the_damage_is_read(data: bytes) -> None:
    """And it is said that there may be more."""
    found = parse_sitemap(data, url=URL)
    assert found.entries[:1] == entries("/a")
    assert found.problem


@settings(max_examples=150)
@given(
    st.binary(max_size=200)
    | st.tuples(st.integers(0, 60), st.binary(max_size=9)).map(lambda at: PLAIN[: at[0] * 4] + at[1] + PLAIN[at[0] * 4 :])
)
def test_any_bytes_are_a_sitemap_or_a_named_error(data: bytes) -> None:
    """Nothing else comes out of them, packed or not."""
    for form in (data, gzip.compress(data), gzip.compress(data)[:-5]):
        try:
            found = parse_sitemap(form, url=URL)
        except SourceError:
            continue
        assert all(entry.url.startswith(("http://", "https://")) for entry in found.entries)


def test_more_entries_than_the_protocol_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first are read, in XML and in a plain list."""
    monkeypatch.setattr(sitemap, "MAX_ENTRIES", 1)
    for data in (PLAIN, b"https://example.org/a\nhttps://example.org/b"):
        found = parse_sitemap(data, url=URL)
        assert (found.entries, "first 1" in found.problem) == (entries("/a"), True)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026", datetime(2027, 1, 1, 12, tzinfo=UTC)),
        ("2026-12", datetime(2027, 1, 1, 12, tzinfo=UTC)),
        ("2026-02", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-11-30", datetime(2026, 12, 1, 12, tzinfo=UTC)),
        ("2026-11-30T10:00Z", datetime(2026, 11, 30, 10, 1, tzinfo=UTC)),
        ("2026-11-30T10:00:05Z", datetime(2026, 11, 30, 10, 0, 6, tzinfo=UTC)),
        ("2026-11-30T10:00:05.123456789+02:00", datetime(2026, 11, 30, 8, 0, 6, tzinfo=UTC)),
        ("2026-11-30t10:00:05-0500", datetime(2026, 11, 30, 15, 0, 6, tzinfo=UTC)),
        (" 2026-11-30 10:00:05 ", datetime(2026, 11, 30, 22, 0, 6, tzinfo=UTC)),
        ("", None),
        ("yesterday", None),
        ("30.11.2026", None),
        ("2026-13-01", None),
        ("2026-02-30", None),
        ("9999-12-31", None),
        ("0000-01-01", None),
        ("٢٠٢٦-11-30", None),
    ],
)
def test_lastmod(text: str, end: datetime | None) -> None:
    """W3C dates and times, each until the last moment at which it may still stand; anything else is unknown."""
    assert lastmod_end(text) == end


# -- a site, read whole


def test_a_site_becomes_documents(site: FakeSite) -> None:
    """Each page by host and path, with title, address, licence, time; robots.txt first, then one request a page, a second apart."""
    clock = Clock()
    listing = read(site, clock=clock)
    assert (names(site, listing), listing.failures, listing.complete) == (["/lake", "/moor", "/sky"], (), True)
    document = listing.documents[0]
    assert (document.title, document.source.url, document.source.license) == ("Lake", f"{site.url}/lake", "not stated")
    assert (document.origin, document.fetched_at) == (f"sitemap:{site.host}/sitemap.xml", "2026-11-30T12:00:02+00:00")
    assert site.paths() == ["/robots.txt", "/sitemap.xml", "/lake", "/moor", "/sky"]
    assert clock.waits == [1.0] * 4


def test_an_index_of_all_kinds_of_sitemaps(site: FakeSite) -> None:
    """Packed whatever its name, nested once more, one that names itself and its index: each page once."""
    site.put("/sitemap.xml", site.index("/a.xml.gz", "/b.xml", "/deeper.xml", "/sitemap.xml"))
    site.put("/a.xml.gz", site.sitemap("/lake"), content_type="application/gzip")
    site.put("/b.xml", gzip.compress(site.sitemap("/moor", "/lake")) + b"\0\0\0")
    site.put("/deeper.xml", site.index("/c.xml", "/deeper.xml"))
    site.put("/c.xml", site.sitemap("/sky"))
    listing = read(site)
    assert (names(site, listing), listing.failures, listing.complete) == (["/lake", "/moor", "/sky"], (), True)
    assert len(site.paths()) == len(set(site.paths()))


def test_a_sitemap_that_fails_is_a_warning_and_nothing_is_removed(site: FakeSite) -> None:
    """Its pages are missing from the listing, which says so: a plan removes none of them."""
    site.put("/sitemap.xml", site.index("/a.xml", "/b.xml", "/c.xml", "/d.xml", "/e.xml"))
    site.put("/a.xml", site.sitemap("/lake", "/sky"))
    site.put("/b.xml", site.sitemap("/moor"))
    whole = read(site)
    site.put("/b.xml", b"", status=500)
    site.page("/c.xml", "<html>Not found</html>")
    site.put("/d.xml", gzip.compress(site.sitemap("/sky"))[:-12])
    site.put("/e.xml", b"x" * 1000, mode="reset")
    broken = read(site)
    assert names(site, broken) == ["/lake", "/sky"]
    assert list(reasons(site, broken)) == ["/b.xml", "/c.xml", "/d.xml", "/e.xml"]
    assert (whole.complete, broken.complete) == (False, False)  # the first has no /c.xml
    assert whole.why_incomplete == "; ".join(f"the sitemap /{name}.xml could not be read" for name in "cde")
    assert broken.why_incomplete == (
        "the sitemap /b.xml could not be read; the sitemap /c.xml could not be read; "
        "the sitemap /d.xml could not be read to its end; and 1 more"
    )


def test_depth_and_number_of_sitemaps_are_limited(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless nesting ends at the third level, an endless index at a number."""
    for level in range(5):
        site.put(f"/{level}.xml", site.index(f"/{level + 1}.xml"))
    listing = read(site, "/0.xml")
    assert (site.paths(), listing.complete) == (["/robots.txt", "/0.xml", "/1.xml", "/2.xml"], False)
    assert "3 deep" in reasons(site, listing)["/3.xml"]
    assert listing.why_incomplete.startswith("the sitemap /3.xml could not be read; ")
    monkeypatch.setattr(sitemap, "MAX_SITEMAPS", 2)
    site.put("/many.xml", site.index(*(f"/{number}.xml" for number in "abc")))
    site.put("/a.xml", site.sitemap("/lake"))
    listing = read(site, "/many.xml")
    assert (names(site, listing), listing.complete) == (["/lake"], False)
    assert listing.why_incomplete == "the sitemap /b.xml could not be read; the sitemap /c.xml could not be read"


def test_a_sites_address_is_enough_when_robots_txt_names_its_sitemaps(site: FakeSite) -> None:
    """Else /sitemap.xml is tried."""
    assert names(site, read(site, "")) == ["/lake", "/moor", "/sky"]
    site.put("/robots.txt", f"Sitemap: {site.url}/own.xml\nSitemap: /gone.xml", content_type="text/plain")
    site.put("/own.xml", site.sitemap("/sky"))
    listing = read(site, "/")
    assert (names(site, listing), list(reasons(site, listing)), listing.complete) == (["/sky"], ["/gone.xml"], False)


def test_robots_txt_is_obeyed(site: FakeSite) -> None:
    """A page that it closes is not asked for, nor one that an open page redirects to; it goes by our own name.

    Such a page is left out, with a notice, and is a failure only where it is stored: otherwise every update would fail.
    """
    whole = read(site)
    site.asked.clear()
    site.put("/robots.txt", "User-agent: *\nDisallow: /\n\nUser-agent: sittlab\nDisallow: /m*r$", content_type="text/plain")
    site.redirect("/sky", "/moor")
    listing = read(site)
    assert names(site, listing) == ["/lake"]
    assert list(reasons(site, listing)) == ["/sky"]
    assert "robots.txt" in reasons(site, listing)["/sky"]
    assert listing.notices == ("Pages that robots.txt closes to programs were left out: 1.",)
    assert site.paths() == ["/robots.txt", "/sitemap.xml", "/lake", "/sky"]
    assert list(reasons(site, read(site, stored=whole))) == ["/moor", "/sky"]
    assert site.asked[0].headers["user-agent"].startswith("SITTLab/")


@pytest.mark.parametrize(
    ("reply", "readable"),
    [
        (Reply(b"", 404), True),
        (Reply(b"<html>Forbidden</html>", 403), True),
        (Reply(b"", 429), False),
        (Reply(b"", 500), False),
        (Reply(b"User-agent: *", mode="reset"), False),
        (Reply(b"User-agent: *\nDisallow: /a\n" + b"#" * 600_000), True),
    ],
    ids=["404", "403", "429", "500", "reset", "600 kB"],
)
def test_a_robots_txt_that_cannot_be_read(site: FakeSite, reply: Reply, readable: bool) -> None:
    """None there means that all may be read; a server in trouble means that nothing may, and the source fails by name."""
    site.pages["/robots.txt"] = reply
    if readable:
        assert len(read(site).documents) == 3
        return
    with pytest.raises(SourceError, match=r"robots\.txt"):
        read(site)
    assert set(site.paths()) == {"/robots.txt"}


def test_a_site_keeps_to_its_own_host_unless_others_are_allowed(site: FakeSite) -> None:
    """Pages, sitemaps and redirects elsewhere are named and not asked for; allowed hosts are read under their own robots.txt."""
    with FakeSite() as other:
        other.page("/cave", article("Cave", WORDS))
        other.put("/robots.txt", "User-agent: *\nDisallow: /closed", content_type="text/plain")
        site.put("/sitemap.xml", site.index("/own.xml", "/more.xml"))
        site.put("/own.xml", site.sitemap("/lake", "/moved", "/closed", f"{other.url}/cave"))
        site.put("/more.xml", sitemap_of(f"{other.url}/cave", f"{other.url}/closed"))
        site.redirect("/moved", f"{other.url}/cave?x", status=301)
        site.redirect("/closed", f"{other.url}/closed")
        other.page("/cave?x", article("Cave x", WORDS))
        alone = read(site)
        assert (names(site, alone), other.paths()) == (["/lake"], [])
        assert list(reasons(site, alone)) == ["/moved", "/closed"]
        assert f"3 of {other.host}" in alone.notices[0]
        both = read(site, f"/sitemap.xml#hosts={other.host}")
        assert [document.title for document in both.documents] == ["Lake", "Cave x", "Cave"]
        assert other.paths() == ["/robots.txt", "/cave?x", "/cave"]


def test_another_host_in_trouble_is_asked_once(site: FakeSite) -> None:
    """Its robots.txt cannot be read: its pages are named, the site's own are read."""
    with FakeSite() as other:
        other.pages["/robots.txt"] = Reply(b"", 500)
        site.put("/sitemap.xml", site.sitemap("/lake", *(f"{other.url}/{name}" for name in "abc")))
        listing = read(site, f"/sitemap.xml#hosts={other.host}", retries=0)
        assert (names(site, listing), [failure.id for failure in listing.failures]) == (
            ["/lake"],
            [f"{other.host}/{name}" for name in "abc"],
        )
        assert other.paths() == ["/robots.txt"]


def test_a_redirect_to_an_address_in_plain_utf_8_is_followed(site: FakeSite) -> None:
    """As servers send them, though HTTP has only Latin-1."""
    site.redirect("/moor", "/m\xc3\xb8r", status=301)
    site.page("/m%C3%B8r", article("Mør", WORDS))
    assert "Mør" in [document.title for document in read(site).documents]


def test_private_networks_are_refused_unless_allowed(site: FakeSite) -> None:
    """A site on this very machine is a trap for any other."""
    with pytest.raises(SourceError, match="private network"):
        read(site, allow_private=False)
    assert site.asked == []


def test_a_redirect_for_good_gives_one_document_and_another_keeps_what_is_stored(site: FakeSite) -> None:
    """A page that moved to another of the list is that one; a site under repair that sends everybody home loses nothing."""
    before = read(site)
    site.redirect("/moor", "/lake", status=301)
    site.redirect("/sky", "/lake", status=302)
    after = read(site, stored=before)
    assert (names(site, after), list(reasons(site, after)), after.complete) == (["/lake"], ["/sky"], True)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(Reply(mode="bomb", headers=HTML), "at most 5,000,000 bytes", id="gzip bomb"),
        pytest.param(Reply(mode="large", headers=HTML), "200,000,000 bytes", id="200 MB"),
        pytest.param(Reply(mode="endless", headers=HTML), "at most 5,000,000 bytes", id="a body that never ends"),
        pytest.param(Reply(mode="trickle", headers=HTML), "still sending", id="a body that never ends, slowly"),
        pytest.param(Reply(b"<p>" + b"x" * 5000, mode="reset", headers=HTML), "broke off", id="reset in mid-body"),
        pytest.param(Reply(b"", 302, {"Location": "/moor?again"}), "redirects", id="endless redirects"),
        pytest.param(Reply(b"", 302), "nowhere", id="a redirect to nowhere"),
        pytest.param(Reply(article("404 Not Found", WORDS).encode(), headers=HTML), "error page", id="an error page with status 200"),
        pytest.param(Reply(b"<html><body></body></html>", headers=HTML), "main text", id="no main text"),
        pytest.param(Reply(b"%PDF-1.7", headers={"Content-Type": "application/pdf"}), "application/pdf", id="no HTML"),
        pytest.param(Reply(b"", 404), "status 404", id="404"),
        pytest.param(Reply(b"<h1>Gone</h1>", 410), "status 410", id="410"),
        pytest.param(Reply(b"<html>no</html>", 403), "403", id="403"),
        pytest.param(Reply(b"", 503), "503", id="503"),
        pytest.param(Reply(b"<div>" * 100_000, headers=HTML), "elements", id="endless nesting"),
    ],
)
def test_a_page_that_goes_wrong_is_named_and_the_others_are_read(site: FakeSite, reply: Reply, reason: str) -> None:
    """Whatever a server does with one page, within limits, and what is stored of it stays."""
    site.pages["/moor"] = reply
    site.redirect("/moor?again", "/moor")
    listing = read(site, limits=Limits(total=1 if reply.mode == "trickle" else 20))
    assert names(site, listing) == ["/lake", "/sky"]
    assert reason in reasons(site, listing)["/moor"]
    assert (listing.complete, listing.why_incomplete) == (True, "")


def test_a_notice_that_every_page_shows_replaces_none(site: FakeSite) -> None:
    """A site under repair sends it with status 200: what is stored stays, of new pages none is made; two twins are two documents."""
    first = read(site)
    notice = article("Back soon", WORDS)
    for name in ("lake", "moor", "sky"):
        site.page(f"/{name}", notice)
    listing = read(site, stored=first)
    assert (listing.documents, set(reasons(site, listing))) == ((), {"/lake", "/moor", "/sky"})
    assert "the text of 2 other pages too" in reasons(site, listing)["/lake"]
    assert len(read(site).documents) == 3  # so few may be alike, when nothing else is known of them
    site.put("/sitemap.xml", site.sitemap(*(f"/{number}" for number in range(6)), "/fen"))
    for number in range(6):
        site.page(f"/{number}", notice)
    site.page("/fen", article("Fen", f"{WORDS} This is the fen."))
    assert names(site, read(site)) == ["/fen"]
    site.page("/moor", notice)
    site.page("/sky", article("Sky", f"{WORDS} This is the sky."))
    site.put("/sitemap.xml", site.sitemap("/lake", "/moor", "/sky"))
    assert names(site, read(site, stored=first)) == ["/lake", "/moor", "/sky"]


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        pytest.param("Nahuelito schläft — déjà".encode("cp1252"), "utf-8", id="wrong charset in the header"),
        pytest.param("Nahuelito schläft — déjà".encode(), "iso-8859-1", id="UTF-8 called Latin-1"),
        pytest.param("Nahuelito schläft — déjà".encode("utf-8-sig"), "klingon", id="an encoding that there is not"),
    ],
)
def test_wrong_charsets(site: FakeSite, data: bytes, declared: str) -> None:
    """No character is lost to a wrong declaration."""
    page = b"<html><body><article><p>" + data + b" and more words of this kind</p></article></body></html>"
    site.put("/moor", page, content_type=f"text/html; charset={declared}")
    texts = {document.id.rpartition("/")[2]: document.text for document in read(site).documents}
    assert texts["moor"].startswith("Nahuelito schläft — déjà and")


def test_a_site_that_stops_answering_is_left_alone(site: FakeSite) -> None:
    """After ten pages in a row the rest is not asked for, and the listing is not whole; pages that are merely gone do not count."""
    site.put("/sitemap.xml", site.sitemap("/lake", *(f"/gone{n}" for n in range(12)), *(f"/down{n}" for n in range(12)), "/sky"))
    site.pages |= {f"/down{n}": Reply(b"", 503) for n in range(12)}
    listing = read(site, retries=0)
    assert (names(site, listing), listing.complete) == (["/lake"], False)
    assert "3 more were not asked for" in reasons(site, listing)["stopped"]
    assert listing.why_incomplete == "10 pages in a row could not be fetched"
    assert "/down9" in site.paths() and "/down10" not in site.paths()


def test_the_number_of_pages_is_limited(site: FakeSite) -> None:
    """The first are read, and the listing is not whole."""
    listing = read(site, "/sitemap.xml#limit=2")
    assert (names(site, listing), listing.complete) == (["/lake", "/moor"], False)
    assert "names 3" in reasons(site, listing)["limit"]
    assert listing.why_incomplete == "the limit of 2 pages was met"


def test_a_sitemap_of_more_entries_than_are_read(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first are, and the listing is not whole."""
    monkeypatch.setattr(sitemap, "MAX_ENTRIES", 2)
    listing = read(site)
    assert (names(site, listing), listing.complete) == (["/lake", "/moor"], False)
    assert listing.why_incomplete == "the sitemap /sitemap.xml could not be read to its end"


def test_a_site_none_of_whose_pages_can_be_read_is_not_whole(site: FakeSite) -> None:
    """All pages are failures, and nothing of the site is removed, whatever else the corpus has of it."""
    site.pages |= {path: Reply(b"", 404) for path in ("/lake", "/moor", "/sky")}
    listing = read(site)
    assert (listing.documents, len(listing.failures), listing.complete) == ((), 3, False)
    assert listing.why_incomplete == "none of the pages could be read"


def test_a_sitemap_without_pages_is_an_error_and_no_empty_site(site: FakeSite) -> None:
    """An empty list is never taken for the truth."""
    for data in (site.sitemap(), sitemap_of("https://other.example/")):
        site.put("/sitemap.xml", data)
        with pytest.raises(SourceError, match="names pages of its site"):
            read(site)
    site.put("/sitemap.xml", b"", status=404)
    with pytest.raises(SourceError):
        read(site)


# -- again


def test_only_what_may_have_changed_is_asked_for(site: FakeSite, tmp_path: Path) -> None:
    """The same lastmod, past when the page was read: no request. Changed, unreadable or of that very day: asked, by ETag."""
    site.put("/sitemap.xml", site.sitemap("/lake", lastmod="2026-11-01"))
    first = read(site)
    site.asked.clear()
    again = read(site, stored=first)
    assert (again.documents, site.paths()) == (first.documents, ["/robots.txt", "/sitemap.xml"])
    for lastmod in ("2026-11-02", "last week", "", "2026-11-30"):
        site.put("/sitemap.xml", site.sitemap("/lake", lastmod=lastmod))
        stored = read(site, cache_dir=tmp_path)
        site.asked.clear()
        again = read(site, stored=stored, cache_dir=tmp_path)
        asked = [each for each in site.asked if each.path == "/lake"]
        settled = lastmod == "2026-11-02"
        assert ([("if-none-match" in each.headers) for each in asked], again.documents) == ([] if settled else [True], stored.documents)


def test_a_change_under_the_same_day_is_seen(site: FakeSite) -> None:
    """A page that was read on the day of its lastmod may have been changed later that day."""
    site.put("/sitemap.xml", site.sitemap("/lake", lastmod="2026-11-30"))
    first = read(site)
    site.page("/lake", article("Lake", f"{WORDS} Since noon it has been seen again."))
    again = read(site, stored=first, clock=Clock(Clock().now + 3600))
    assert again.documents[0].sha256 != first.documents[0].sha256


def test_the_same_bytes_are_not_parsed_again(site: FakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came as it was is the stored document."""
    first = read(site)
    monkeypatch.setattr(sitemap, "read_page", lambda *_, **__: pytest.fail("parsed"))
    assert read(site, stored=first).documents == first.documents


# -- places


@pytest.mark.parametrize(
    ("text", "origin", "hosts", "limit"),
    [
        ("https://Example.org/sitemap.xml", "sitemap:example.org/sitemap.xml", (), 1000),
        ("http://example.org:8080/s?id=1#limit=5", "sitemap:example.org:8080/s?id=1", (), 5),
        (
            "https://example.org:443/#hosts=Docs.example.org,b.example:81&hosts=c",
            "sitemap:example.org",
            ("docs.example.org", "b.example:81", "c"),
            1000,
        ),
    ],
)
def test_places(text: str, origin: str, hosts: tuple[str, ...], limit: int) -> None:
    """An address with options after #, which no site is sent."""
    place = parse_place(text)
    assert (place.origin, place.hosts, place.limit) == (origin, hosts, limit)


@pytest.mark.parametrize(
    "text",
    [
        *("", "example.org", "ftp://example.org/", "https://", "https://a:b@example.org/", "https://[", "https://e.org:99999/"),
        *("https://e.org/#limit=0", "https://e.org/#x=1", "https://e.org/#hosts=https://a.example"),
        *(f"https://e.org/{'a' * 5000}", "https://e.org/\x00"),
    ],
)
def test_places_that_are_none(text: str) -> None:
    """Each is told what was expected."""
    with pytest.raises(InvalidInput):
        parse_place(text)


# -- in a corpus


def test_an_incomplete_listing_removes_nothing_from_a_corpus(site: FakeSite, tmp_path: Path) -> None:
    """Three pages, then a sitemap of two that fails to name one, incomplete: the corpus keeps all; whole, it goes."""
    update(tmp_path, read(site), recipe(), name="sites")
    corpus = open_corpus(tmp_path, "sites")
    site.put("/sitemap.xml", site.index("/a.xml", "/b.xml"))
    site.put("/a.xml", site.sitemap("/lake", "/moor"))
    assert plan_update(corpus, read(site)).removed == ()
    site.put("/b.xml", site.sitemap("/moor"))
    assert plan_update(corpus, read(site)).removed == (f"{site.host}/sky",)
