"""From a site and a GitHub account to a question's answer: plan, publish, ask, and the attribution that comes along."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Literal

import pytest

from sitt_core.build import read_source
from sitt_core.pipeline import Asking
from sitt_core.plan import plan_update
from sitt_core.settings import Settings, SourceSettings
from sitt_core.store.reading import Corpus, open_corpus
from sitt_core.types import Answer, AnswerPart, CitationPart, DonePart, Prompt, Source, TextPart, Usage
from tests.fakes import corpora
from tests.fakes.github import MIT, TOKEN, FakeGitHub
from tests.fakes.site import FakeSite, article

CC = '<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'


class FirstExcerpt:
    """A provider that answers with the last sentence of the best passage, and cites it."""

    name = "first"
    model = "first-1"
    citing: Literal["native"] = "native"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        excerpt = prompt.excerpts[0]
        yield TextPart(excerpt.blocks[-1])
        yield CitationPart(excerpt.id, excerpt.blocks[-1])
        yield DonePart("end", Usage(), self.model)

    def as_sent(self, prompt: Prompt) -> str:
        return prompt.question


def ask(corpus: Corpus, question: str) -> Answer:
    return asyncio.run(Asking(question, corpora.engine(corpus), FirstExcerpt()).run())


@pytest.fixture
def site() -> Iterator[FakeSite]:
    with FakeSite() as fake:
        fake.page("/kraken", article("Kraken", "The kraken pulls ships under with arms as long as masts.", head=CC))
        fake.page("/moth", article("Moth", "A grey moth as tall as a man sits on the bridge at night."))
        fake.put("/sitemap.xml", fake.sitemap("/kraken", "/moth"))
        yield fake


@pytest.fixture
def hub() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        fake.account["bio"] = "Keeps records."
        fake.add("sonar", "# Sonar\n\nPings the loch every minute to count serpents.", license=MIT)
        yield fake


def settings(tmp_path: Path, hub: FakeGitHub) -> Settings:
    return Settings(tmp_path, sources=SourceSettings(interval=0, allow_private=True, github_url=hub.url))


def test_a_site_and_an_account_in_one_corpus_answer_with_their_attribution(
    site: FakeSite, hub: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer's citation carries the page's title, address and licence, and stands in the document word by word."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    made = settings(tmp_path, hub)
    for spec in (f"sitemap:{site.url}/sitemap.xml", "github:octocat"):
        listing, place = read_source(spec, settings=made)
        assert (place, listing.failures, listing.complete) == (spec, (), True)
        corpora.update(made.store_dir, listing, corpora.recipe(), name="web")
    corpus = open_corpus(made.store_dir, "web")
    assert len(corpus.documents) == 4
    for question, source, license_ in (
        ("What pulls ships under?", f"{site.url}/kraken", "CC BY 4.0"),
        ("Who sits on the bridge?", f"{site.url}/moth", "not stated"),
        ("What pings the loch to count serpents?", "https://github.com/Octocat/sonar", "MIT"),
    ):
        (citation,) = ask(corpus, question).citations
        assert (citation.verdict, citation.source.url, citation.source.license) == ("quoted", source, license_)
        document = corpus.document(citation.document_id)
        assert citation.span is not None
        assert document.text[citation.span.start : citation.span.end] == citation.quote
        assert document.fetched_at
    assert hub.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert TOKEN.encode() not in kept and base64.b64encode(TOKEN.encode()) not in kept


def test_a_source_is_read_again_and_what_changed_is_planned(site: FakeSite, hub: FakeGitHub, tmp_path: Path) -> None:
    """One page changed, one gone, one new: the plan says so, and the others are asked for by their ETag."""
    made = settings(tmp_path, hub)
    spec = f"sitemap:{site.url}/sitemap.xml"
    listing, _ = read_source(spec, settings=made)
    corpora.update(made.store_dir, listing, corpora.recipe(), name="web")
    corpus = open_corpus(made.store_dir, "web")
    site.asked.clear()
    unchanged = plan_update(corpus, read_source(spec, corpus, settings=made)[0])
    assert unchanged.is_empty and len(unchanged.unchanged) == 2
    assert all("if-none-match" in asked.headers for asked in site.asked if asked.path != "/robots.txt")
    site.page("/kraken", article("Kraken", "The kraken was only a squid, says the harbour master now.", head=CC))
    site.page("/ice", article("Ice", "The man in the ice has thawed and was seen walking north."))
    site.put("/sitemap.xml", site.sitemap("/kraken", "/ice"))
    plan = plan_update(corpus, read_source(spec, corpus, settings=made)[0])
    found = [[id_.removeprefix(site.host) for id_ in ids] for ids in (plan.added, plan.changed, plan.removed)]
    assert found == [["/ice"], ["/kraken"], ["/moth"]]


def test_a_source_that_is_published_says_where_it_is_from(site: FakeSite, hub: FakeGitHub, tmp_path: Path) -> None:
    """Every document of both kinds: title, absolute address, a licence or that none is stated, a time, its source."""
    made = settings(tmp_path, hub)
    for spec, origin in ((f"sitemap:{site.url}/", f"sitemap:{site.host}"), ("github:Octocat?forks=yes", "github:octocat")):
        listing, place = read_source(spec, settings=made)
        assert (listing.origin, place) == (origin, spec)
        for document in listing.documents:
            assert isinstance(document.source, Source)
            assert document.title and document.source.title and document.source.license
            assert document.source.url.startswith(("http://", "https://"))
            assert document.fetched_at and document.revision and document.origin == origin
