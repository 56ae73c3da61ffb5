"""A GitHub account becomes documents, within its rate limit; READMEs are read whatever they are called and as they are written."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput, SourceError
from sitt_core.sources import github
from sitt_core.sources.github import Account, Readme, outlined, parse_account, read_github
from sitt_core.types import Document, Listing
from tests.fakes.github import MIT, OTHER, TOKEN, FakeGitHub
from tests.fakes.site import Clock, Handler, Reply, fetcher

README = "# Lake\n\nIt counts monsters in a lake.\n\n## Use\n\nRun it at dawn."


@pytest.fixture
def hub() -> Iterator[FakeGitHub]:
    """An account with a profile README and three repositories of its own, a fork and an archived one."""
    with FakeGitHub() as fake:
        fake.account |= {"name": "Mona Lisa", "bio": "Looks for what is in the trees.", "location": "Loch Ness", "blog": ""}
        fake.add("lake", README, description="Counts monsters", license=MIT, topics=("cryptid", "lake"), language="Python")
        fake.add("octocat", "Hello from the lake.", license=OTHER)
        fake.add("notes", None, description="Only a description")
        fake.add("empty")
        fake.add("copy", "# Copy", fork=True)
        fake.add("old", "# Old", archived=True)
        yield fake


def read(
    hub: FakeGitHub, place: str = "octocat", *, stored: Listing | None = None, clock: Clock | None = None, **changes: object
) -> Listing:
    clock = clock or Clock()
    own = {name: changes.pop(name) for name in ("token", "report") if name in changes}
    with fetcher(clock, interval=0, **changes) as door:
        documents = stored.documents if stored else ()
        return read_github(
            parse_account(place),
            fetcher=door,
            api_url=hub.url,
            stored=documents,
            clock=clock,
            sleep=clock.sleep,
            **own,  # type: ignore[arg-type]
        )


def by_name(listing: Listing) -> dict[str, Document]:
    return {document.id.removeprefix("github.com/"): document for document in listing.documents}


def readme(hub: FakeGitHub, data: str | bytes, path: str = "README.md") -> Document:
    hub.repositories = []
    hub.add("lake", data, readme_path=path)
    return by_name(read(hub))["Octocat/lake"]


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_an_account_becomes_documents(hub: FakeGitHub) -> None:
    """The profile with its README, each repository with its description and README; what has nothing to read is none."""
    listing = read(hub)
    found = by_name(listing)
    assert (list(found), listing.failures, listing.complete) == (["Octocat", "Octocat/lake", "Octocat/notes"], (), True)
    profile, lake = found["Octocat"], found["Octocat/lake"]
    assert profile.text == "Looks for what is in the trees.\n\nLocation: Loch Ness\n\nHello from the lake."
    assert (profile.title, profile.source.url) == ("Mona Lisa (Octocat)", "https://github.com/Octocat")
    assert profile.source.license == "Other (see the repository)"
    assert lake.text == f"Counts monsters\n\nTopics: cryptid, lake\nLanguage: Python\n\n{README}"
    assert (lake.title, lake.source.url, lake.source.license) == ("Octocat/lake", "https://github.com/Octocat/lake", "MIT")
    assert [section.heading_path for section in lake.sections] == [(), ("Lake",), ("Lake", "Use")]
    assert "".join(lake.text[section.start : section.end] for section in lake.sections) == lake.text
    assert (lake.origin, lake.fetched_at) == ("github:octocat", "2026-11-30T12:00:00+00:00")
    sha = hashlib.sha1(README.encode()).hexdigest()
    assert lake.revision.startswith(f"{hub.url}/repos/Octocat/lake/git/blobs/{sha}#")
    assert found["Octocat/notes"].source.license == "not stated"
    assert listing.notices == ("GitHub's rate limit: 54 of 60 requests are left until 2026-11-30 12:50:00 UTC.",)


def test_forks_and_archived_repositories_are_read_when_asked_for(hub: FakeGitHub) -> None:
    """They say what they are."""
    found = by_name(read(hub, "octocat?forks=yes&archived=yes"))
    assert list(found) == ["Octocat", "Octocat/lake", "Octocat/notes", "Octocat/copy", "Octocat/old"]
    assert (found["Octocat/copy"].text, found["Octocat/old"].text) == ("# Copy", "# Old")


@pytest.mark.parametrize("path", ["README.md", "readme.MD", "docs/README.markdown", ".github/ReadMe.mkd"])
def test_markdown_readmes(hub: FakeGitHub, path: str) -> None:
    """Of any name and place, as Markdown."""
    assert blocks(readme(hub, README, path))[0] == ("heading", "# Lake")


@pytest.mark.parametrize("path", ["README.rst", "README.org", "README.txt", "README", "readme.adoc"])
def test_other_readmes_are_paragraphs(hub: FakeGitHub, path: str) -> None:
    """In a markup that is not read, a line that begins with # is no heading."""
    document = readme(hub, "\n# Lake\n====\n\n   indented\n\n\n- last  \n", path)
    assert blocks(document) == [("paragraph", "# Lake\n===="), ("paragraph", "indented"), ("paragraph", "- last")]
    assert [section.heading_path for section in document.sections] == [()]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"\xef\xbb\xbf# Lake\r\n\r\ntext", "# Lake\n\ntext", id="byte order mark, line ends of Windows"),
        pytest.param("# Lac\n\ndéjà".encode("cp1252"), "# Lac\n\ndéjà", id="Windows-1252"),
        pytest.param("# Lac\n\ndéjà".encode("utf-16"), "# Lac\n\ndéjà", id="UTF-16"),
        pytest.param(b"\xef\xbb\xbf---\ntitle: x\nlicense: stolen\n---\n\n# Lake", "# Lake", id="front matter"),
        pytest.param(b"---\ntitle: [\n---\n# Lake", "---\ntitle: [\n---\n# Lake", id="broken front matter"),
    ],
)
def test_encodings_and_front_matter(hub: FakeGitHub, data: bytes, text: str) -> None:
    """The text is whole; front matter is none of it and attributes nothing."""
    document = readme(hub, data)
    assert (document.text, document.source.license, document.title) == (text, "not stated", "Octocat/lake")


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(["# A", "text", "", "  ", "---", "title: x", "- a", "| a |", "|---|", "```", "> q", "===="]), max_size=12),
    st.sampled_from(["README.md", "README.rst"]),
    st.sampled_from([(), ("About",), ("About", "Topics: a\nLanguage: b")]),
)
def test_whatever_a_readme_holds_the_outline_is_exact(lines: list[str], path: str, lead: tuple[str, ...]) -> None:
    """Sections partition the text; blocks come in order with nothing but white space between them."""
    text = "\n".join(lines).rstrip()
    whole, sections, found = outlined(lead, Readme(path, text, "") if text else None)
    assert "".join(whole[section.start : section.end] for section in sections) == whole
    edges = [0, *(edge for block in found for edge in (block.start, block.end)), len(whole)]
    assert edges == sorted(edges)
    assert all(whole[start:end].strip() == "" for start, end in zip(edges[::2], edges[1::2], strict=True))


def test_markup_stays_as_it_is_written(hub: FakeGitHub) -> None:
    """Badges, raw HTML, relative links and a table of a thousand rows are text, verbatim."""
    rows = "\n".join(f"| lake {number} | {number} m |" for number in range(1000))
    text = f'[![ci](https://x.example/b.svg)](./ci)\n\n<p align="center"><img src="logo.png"></p>\n\nSee [more](docs/a.md).\n\n| Lake | Depth |\n|---|---|\n{rows}'
    document = readme(hub, text)
    assert document.text == text
    assert [kind for kind, _ in blocks(document)] == ["paragraph", "html", "paragraph", "table"]


def test_a_readme_above_a_megabyte_is_asked_for_raw(hub: FakeGitHub) -> None:
    """Its description comes without content; above five megabytes it is a failure."""
    long = "# Lake\n\n" + "Something long is said to swim in it.\n" * 30_000
    assert readme(hub, long).text == long.rstrip()
    hub.add("huge", "x" * 5_000_001)
    listing = read(hub)
    assert [failure.id for failure in listing.failures] == ["github.com/Octocat/huge"]
    assert "Octocat/lake" in by_name(listing)


def test_repositories_come_page_by_page(hub: FakeGitHub) -> None:
    """By the Link header, as long as there is a next page, which must be the API's own."""
    hub.repositories = []
    for number in range(7):
        hub.add(f"r{number}", description=f"Number {number}")
    hub.page_size = 3
    listing = read(hub)
    assert (len(listing.documents), listing.complete) == (8, True)
    assert [path for path in hub.paths() if "/repos?" in path][1:] == [
        f"/users/Octocat/repos?per_page=100&sort=pushed&page={page}" for page in (2, 3)
    ]
    hub.fault = lambda asked: Reply(b"[]", headers={"Link": '<https://evil.example/x>; rel="next"'}) if "/repos?" in asked.path else None
    listing = read(hub, token=TOKEN)
    assert not listing.complete
    assert "evil.example" in listing.failures[0].reason


def test_only_what_was_pushed_to_is_asked_for_again(hub: FakeGitHub, tmp_path: Path) -> None:
    """The list says what changed; it is asked for by its ETag."""
    first = read(hub, cache_dir=tmp_path)
    hub.asked.clear()
    again = read(hub, stored=first, cache_dir=tmp_path)
    assert again.documents == first.documents
    assert all("if-none-match" in each.headers for each in hub.asked[:2])
    assert [path for path in hub.paths() if path.endswith("/readme")] == ["/repos/Octocat/empty/readme"]
    hub.repositories[0].readme, hub.repositories[0].pushed_at = b"# Lake\n\nAnew.", "2026-11-29T10:00:00Z"
    hub.repositories[2].description = "Another"
    changed = by_name(read(hub, stored=first))
    assert changed["Octocat/lake"].text.endswith("Anew.")
    assert changed["Octocat/notes"].text == "Another"


# -- the rate limit


def test_a_limit_that_ends_late_stops_and_keeps_what_was_read(hub: FakeGitHub) -> None:
    """By name, with the time and what would help; the listing is not whole. The next reading goes on where this one ended."""
    hub.remaining = 4  # the account, its repositories, two READMEs
    first = read(hub)
    assert list(by_name(first)) == ["Octocat", "Octocat/lake"]
    assert (first.complete, first.why_incomplete) == (False, "GitHub's rate limit was reached before 2 of 4 were read")
    assert first.failures[0].id == "rate limit"
    assert "12:50:00 UTC" in first.failures[0].reason and "GITHUB_TOKEN" in first.failures[0].reason
    assert [failure.id for failure in first.failures[1:]] == ["github.com/Octocat/notes", "github.com/Octocat/empty"]
    assert len(hub.asked) == 4  # nothing is sent that is known to be refused
    hub.remaining = 4
    second = read(hub, stored=first)
    assert list(by_name(second)) == ["Octocat", "Octocat/lake", "Octocat/notes"]
    assert second.complete


def test_a_limit_that_ends_soon_is_waited_for(hub: FakeGitHub) -> None:
    """And the wait is told."""
    clock, told = Clock(), list[str]()

    def report(stage: str, _done: int, _total: int) -> None:
        told.append(stage)

    hub.remaining, hub.reset = 3, int(clock.now) + 40

    def renew(_: Handler) -> None:
        if clock.now >= hub.reset:
            hub.remaining = 60

    hub.fault = renew
    listing = read(hub, clock=clock, report=report)
    assert (len(listing.documents), listing.complete) == (3, True)
    assert clock.waits == [40.0]
    assert "wait for GitHub's rate limit to end at 2026-11-30 12:00:40 UTC" in told


@pytest.mark.parametrize(
    ("reply", "waits"),
    [
        pytest.param(Reply(b"", 429, {"Retry-After": "7"}), [7.0], id="429 with seconds"),
        pytest.param(Reply(b'{"message": "secondary rate limit"}', 403, {"Retry-After": "9"}), [9.0], id="403 with seconds"),
        pytest.param(Reply(b'{"message": "You have exceeded a secondary rate limit."}', 403), [60.0], id="403 that says so"),
        pytest.param(Reply(b"<html>Whoa there!</html>", 429), [60.0], id="429 of HTML"),
    ],
)
def test_secondary_limits(hub: FakeGitHub, reply: Reply, waits: list[float]) -> None:
    """Too many requests at once: GitHub's own time, or a minute."""
    clock, answers = Clock(), [reply]
    hub.fault = lambda asked: answers.pop() if answers and asked.path.endswith("/readme") else None
    listing = read(hub, clock=clock)
    assert (len(listing.documents), listing.complete, clock.waits) == (3, True, waits)


def test_a_limit_that_comes_back_again_and_again_ends_the_reading(hub: FakeGitHub) -> None:
    """Waiting is not for ever."""
    hub.fault = lambda asked: Reply(b"", 429, {"Retry-After": "7"}) if asked.path.endswith("/readme") else None
    clock = Clock()
    listing = read(hub, clock=clock)
    assert (listing.documents, listing.complete, len(clock.waits)) == ((), False, 4)
    assert "times in a row" in listing.failures[0].reason
    assert listing.why_incomplete == "GitHub's rate limit was reached before 4 of 4 were read"


def test_a_limit_at_the_very_beginning_is_an_error(hub: FakeGitHub) -> None:
    """There is nothing to keep."""
    hub.remaining = 0
    with pytest.raises(SourceError, match=r"rate limit is reached until .* GITHUB_TOKEN"):
        read(hub)


# -- the token


def test_the_token_is_sent_and_seen_nowhere(hub: FakeGitHub, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As a bearer to the API alone; not in what is kept on disk, in documents, failures, errors or logs."""
    hub.fault = lambda asked: Reply(b'{"message": "no ' + TOKEN.encode() + b'"}', 403) if "notes" in asked.path else None
    listing = read(hub, token=TOKEN, cache_dir=tmp_path)
    assert {asked.headers["authorization"] for asked in hub.asked} == {f"Bearer {TOKEN}"}
    kept = b"".join(file.read_bytes() + str(file).encode() for file in tmp_path.rglob("*") if file.is_file())
    assert len(kept) > 1000
    assert TOKEN not in kept.decode("utf-8", "replace") + repr(listing) + caplog.text
    assert "no …" in listing.failures[0].reason


def test_a_token_that_github_does_not_know(hub: FakeGitHub) -> None:
    """Is named as that, and not shown."""
    with pytest.raises(SourceError, match="GITHUB_TOKEN") as caught:
        read(hub, token="github_pat_wrong")
    assert "github_pat_wrong" not in str(caught.value)


def test_a_redirect_to_another_host_does_not_get_the_token(hub: FakeGitHub) -> None:
    """A renamed repository is followed; the token stays at the API."""
    with FakeGitHub() as other:
        hub.fault = lambda asked: Reply(b"", 301, {"Location": f"{other.url}/moved"}) if "lake" in asked.path else None
        other.put("/moved", json.dumps({"path": "README", "encoding": "base64", "content": "aGVsbG8="}), content_type="application/json")
        read(hub, token=TOKEN)
        assert other.paths() == ["/moved"]
        assert "authorization" not in other.asked[0].headers


# -- what goes wrong


@pytest.mark.parametrize(
    ("reply", "got"),
    [
        pytest.param(Reply(b"", 404), "octocat", id="no such account"),
        pytest.param(Reply(b"<html>Unicorn</html>"), "Unicorn", id="a page of HTML with 200"),
        pytest.param(Reply(b'{"message": "Service unavailable"}'), "Service unavailable", id="an error with 200"),
        pytest.param(Reply(b'["login"]'), "login", id="another shape"),
        pytest.param(Reply(b"[" * 100_000), "[[[", id="brackets without end"),
        pytest.param(Reply(b'{"message": "blocked"}', 403), "403: 'blocked'", id="403 that is no limit"),
        pytest.param(Reply(b"", 500), "500", id="500"),
        pytest.param(Reply(b"{}" * 1000, mode="reset"), "broke off", id="reset"),
    ],
)
def test_an_account_that_cannot_be_read_is_an_error(hub: FakeGitHub, reply: Reply, got: str) -> None:
    """Status first, then the shape; GitHub's own words where there are any."""
    hub.fault = lambda _: reply
    with pytest.raises(SourceError) as caught:
        read(hub)
    assert got in caught.value.got


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(b"", 503), id="503"),
        pytest.param(Reply(b"{}"), id="no README"),
        pytest.param(Reply(b'{"path": "README", "encoding": "base64", "content": "x"}'), id="no base64"),
        pytest.param(Reply(b'{"path": "README", "encoding": "base64", "content": "AAAA"}'), id="no text"),
        pytest.param(Reply(mode="endless"), id="a body that never ends"),
        pytest.param(Reply(mode="bomb"), id="gzip bomb"),
        pytest.param(Reply(b"x" * 5000, mode="reset"), id="reset in mid-body"),
        pytest.param(Reply(b"", 302, {"Location": "/repos/Octocat/lake/readme"}), id="endless redirects"),
    ],
)
def test_a_readme_that_goes_wrong_is_named_and_the_others_are_read(hub: FakeGitHub, reply: Reply) -> None:
    """What is stored of that repository stays."""
    hub.fault = lambda asked: reply if "lake" in asked.path else None
    listing = read(hub)
    assert list(by_name(listing)) == ["Octocat", "Octocat/notes"]
    assert ([failure.id for failure in listing.failures], listing.complete) == (["github.com/Octocat/lake"], True)


@pytest.mark.parametrize("reply", [Reply(b"[]"), Reply(b"", 502), Reply(b'{"message": "x"}'), Reply(b'[{"full_name": 1}, 2]')])
def test_a_list_of_repositories_that_is_not_whole_removes_none(hub: FakeGitHub, reply: Reply) -> None:
    """GitHub counts six of them: fewer in the list are not the truth."""
    hub.fault = lambda asked: reply if "/repos?" in asked.path else None
    listing = read(hub)
    assert (list(by_name(listing)), listing.complete) == (["Octocat"], False)
    assert listing.failures[0].id == "repositories"
    assert re.search("the list of repositories could not be read|counts 6 repositories and lists 0", listing.why_incomplete)


def test_topics_of_another_shape_are_none(hub: FakeGitHub) -> None:
    """The repository is read all the same."""
    hub.add("moor", description="A moor")
    listed = {"name": "moor", "full_name": "Octocat/moor", "description": "A moor", "topics": 5}
    hub.fault = lambda asked: Reply(json.dumps([listed]).encode()) if "/repos?" in asked.path else None
    assert "Topics" not in by_name(read(hub))["Octocat/moor"].text


def test_a_later_page_that_fails_or_is_not_asked_for_removes_none(hub: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pages before named is read; a rate limit, a fault or our own limit in between leaves the listing incomplete."""
    hub.page_size = 2
    whole = read(hub)
    assert (len(whole.documents), whole.complete, whole.why_incomplete) == (3, True, "")
    hub.fault = lambda asked: Reply(b"", 502) if "page=2" in asked.path else None
    broken = read(hub)
    assert broken.why_incomplete == "a page of the list of repositories could not be read"
    hub.fault = lambda asked: Reply(b"", 429, {"Retry-After": "900"}) if "page=2" in asked.path else None
    limited = read(hub)
    assert limited.why_incomplete == "GitHub's rate limit was reached before the repositories were listed"
    hub.fault = lambda _: None
    monkeypatch.setattr(github, "MAX_PAGES", 1)
    cut = read(hub)
    assert cut.why_incomplete == "the limit of 1 pages of the list of repositories was met"
    assert [listing.complete for listing in (broken, limited, cut)] == [False] * 3


def test_a_readme_that_is_gone_leaves_what_github_says_of_the_repository(hub: FakeGitHub) -> None:
    """A 404 there is GitHub's way to say that there is none: no failure. Without a description there is nothing left to read."""
    hub.add("told", "# Told", description="A told one.")
    hub.add("untold", "# Untold")
    before = read(hub)
    for repository in hub.repositories[-2:]:
        repository.readme, repository.pushed_at = None, "2026-11-29T10:00:00Z"
    after = read(hub, stored=before)
    assert (set(by_name(before)) - set(by_name(after)), after.failures, after.complete) == ({"Octocat/untold"}, (), True)
    assert by_name(after)["Octocat/told"].text == "A told one."


def test_a_repository_that_is_gone_is_not_in_the_listing(hub: FakeGitHub) -> None:
    """It is no failure; the listing is whole, so that the document can go."""
    before = read(hub)
    hub.repositories = [each for each in hub.repositories if each.name != "lake"]
    after = read(hub, stored=before)
    assert (set(by_name(before)) - set(by_name(after)), after.failures, after.complete) == ({"Octocat/lake"}, (), True)


@pytest.mark.parametrize(
    ("text", "account"),
    [
        ("octocat", Account("octocat")),
        (" @Octo-Cat?forks=yes ", Account("Octo-Cat", forks=True)),
        ("https://github.com/octocat/?archived=yes&forks=no", Account("octocat", archived=True)),
        ("mona_corp", Account("mona_corp")),
    ],
)
def test_accounts(text: str, account: Account) -> None:
    """A name or a profile's address, then options."""
    assert parse_account(text) == account


@pytest.mark.parametrize(
    "text", ["", "octocat/lake", "-x", "a b", "x" * 40, "octocat?stars=yes", "octocat?forks=perhaps", "https://example.org/x", "../x"]
)
def test_accounts_that_are_none(text: str) -> None:
    """Each is told what was expected."""
    with pytest.raises(InvalidInput):
        parse_account(text)
