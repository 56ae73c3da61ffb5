"""A corpus from Wikipedia's list through what goes wrong with lists, networks and processes: nothing is lost, nothing is paid for twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sitt_core import build, journal
from sitt_core.store.layout import current_generation
from sitt_core.store.reading import Corpus, open_corpus
from tests.fakes.command_line import Run, as_json, environment, named
from tests.fakes.wikipedia import GROUPS, LIST, FakeWikipedia, article, beasts, link, list_page, row

UPDATE = ("update", "--corpus", "beasts", "--yes", "--json")
FIRST = (*UPDATE, "--source", f"wikipedia:list={LIST}")
COUNT = 40
WORKER = """
import sys
from pathlib import Path
from sitt_core import build, ingest
from sitt_core.surfaces import cli
from tests.fakes.embedder import HashEmbedder

LEDGER = sys.argv[1]

class Paid(HashEmbedder):
    def embed_passages(self, texts):
        with open(LEDGER, "a", encoding="utf-8") as ledger:
            ledger.write("".join(f"{text!r}\\n" for text in texts))
        return super().embed_passages(texts)

ingest.EMBED_BATCH = 4
build.EMBEDDERS["minilm"] = lambda **_: Paid()
sys.argv = ["sitt_core", *sys.argv[2:]]
cli.main()
"""


@pytest.fixture
def wiki(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeWikipedia]:
    """A wiki of 40 beasts that this machine's settings name; nobody sleeps for it."""
    with FakeWikipedia(wiki=beasts(COUNT)) as found:
        for name, value in variables(found).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(build, "_wait", lambda _seconds, *, report: report("waiting", 0, 1))
        yield found


def variables(wiki: FakeWikipedia) -> dict[str, str]:
    return {
        "SITT_WIKIPEDIA_URL": wiki.url,
        "SITT_CONTACT": "me@example.org",
        "SITT_FETCH_INTERVAL": "0",
        "SITT_ALLOW_PRIVATE": "yes",
    }


@pytest.fixture
def made(run: Run, wiki: FakeWikipedia, data_dir: Path) -> Run:
    """`run`, with the corpus made, and the wiki's memory of it wiped."""
    told = as_json(run(*FIRST))
    assert len(told["updates"][0]["plan"]["added"]) == COUNT
    wiki.asked.clear()
    return run


def stored(data_dir: Path) -> Corpus:
    return open_corpus(data_dir / "store", "beasts")


def titles(corpus: Corpus) -> set[str]:
    return {document.title for document in corpus.documents}


def relist(wiki: FakeWikipedia, names: list[str], **changes: Any) -> None:
    """The list as it is edited: a new revision with those rows."""
    rows = {GROUPS[0]: [row(link(name), f"Old {name}", "Seen.", "Lake") for name in names]}
    wiki.wiki[LIST] = list_page(rows, revision=wiki.wiki[LIST].revision + 1, **changes)


def articles(wiki: FakeWikipedia) -> list[str]:
    return [title for title in wiki.wiki if title != LIST]


class TestTheList:
    def test_comes_back_empty(self, made: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """A vandalised list, with its tables or without them: a named error, the corpus as it was, and a line that it failed."""
        for page in (list_page({GROUPS[0]: []}, revision=2), replace(wiki.wiki[LIST], body="<p>Deleted.</p>", revision=3)):
            wiki.wiki[LIST] = page
            named(made(*UPDATE, "--allow-removals", "99"), "SourceError")
            assert len(stored(data_dir).documents) == COUNT
            assert journal.entries(data_dir)[0].outcome == "failed"

    def test_comes_back_half(self, made: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """Half of it removes nothing, and says so; what changed in the half that is there is published. Back whole, all is well."""
        whole = wiki.wiki[LIST]
        there = articles(wiki)[: COUNT // 2]
        relist(wiki, there)
        wiki.wiki[there[0]] = article(there[0], "It was an otter.", revision=5)
        result = made(*UPDATE)
        told = json.loads(result.stdout)
        plan = told["updates"][0]["plan"]
        assert (result.exit_code, plan["removed"], len(plan["withheld"])) == (3, [], COUNT // 2)
        assert f"wikipedia:{there[0]}" in plan["changed"]
        assert "less than 80%" in plan["why_withheld"]
        assert (len(stored(data_dir).documents), told["generation"]) == (COUNT, "000002")
        wiki.wiki[LIST] = replace(whole, revision=9)
        assert as_json(made(*UPDATE))["updates"][0]["plan"]["withheld"] == []

    def test_is_really_shorter(self, made: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """Once somebody has looked, the number lets them go, and restore brings them back."""
        relist(wiki, articles(wiki)[: COUNT // 2])
        told = as_json(made(*UPDATE, "--allow-removals", str(COUNT // 2), "--max-recall-drop", "1"))
        assert len(told["updates"][0]["plan"]["removed"]) == COUNT // 2
        gone = [document.id for document, _ in stored(data_dir).retired_documents()]
        assert len(gone) == COUNT // 2
        assert as_json(made("restore", gone[0], "--corpus", "beasts", "--json"))["restored"] == gone[:1]

    def test_has_other_columns(self, made: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """Called otherwise, they no longer say where and what else: the documents keep what they said, and a notice says so."""
        places = {document.id: document.region for document in stored(data_dir).documents}
        body = wiki.wiki[LIST].body
        for old, new in (("Name", "Creature"), ("Other names", "AKA-ish"), ("Purported location", "Haunt")):
            body = body.replace(f"<th>{old}</th>", f"<th>{new}</th>")
        wiki.wiki[LIST] = replace(wiki.wiki[LIST], body=body, revision=2)
        told = as_json(made(*UPDATE))
        assert len(told["updates"][0]["plan"]["unchanged"]) == COUNT
        assert any("says where they are or what else they are called any more" in notice for notice in told["updates"][0]["notices"])
        assert {document.id: document.region for document in stored(data_dir).documents} == places
        assert all(places.values())
        assert current_generation(data_dir / "store" / "beasts") == "000001"


class TestArticles:
    def test_one_that_cannot_be_had_stays_and_is_tried_again(self, made: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """A 404 for an article that the wiki says it has: a failure with its reason, exit code 3, and the next update takes it."""
        title = articles(wiki)[3]
        wiki.wiki[title] = article(title, "It was an eel.", revision=5)
        whole = wiki.otherwise

        def missing(handler: Any) -> None:
            if title.replace(" ", "_").replace("Ä", "") and "/with_html" in handler.path and title in wiki_title(handler.path):
                handler.send(404, "{}", {"Content-Type": "application/json"})
            else:
                whole(handler)

        wiki.otherwise = missing
        result = made(*UPDATE)
        (failure,) = json.loads(result.stdout)["updates"][0]["plan"]["failed"]
        assert (result.exit_code, failure["id"], "404" in failure["reason"]) == (3, f"wikipedia:{title}", True)
        assert "It was an eel" not in stored(data_dir).document(f"wikipedia:{title}").text
        assert journal.entries(data_dir)[0].sources[f"wikipedia:{LIST}"].failures[0][0] == f"wikipedia:{title}"
        wiki.otherwise = whole
        assert as_json(made(*UPDATE))["updates"][0]["plan"]["changed"] == [f"wikipedia:{title}"]
        assert "It was an eel" in stored(data_dir).document(f"wikipedia:{title}").text

    def test_the_network_dies_half_way(self, run: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """The articles that came are published, the others are failures; the next update asks for those alone."""
        whole, served = wiki.otherwise, Counter[str]()

        def dying(handler: Any) -> None:
            if "/with_html" in handler.path:
                served["articles"] += 1
                if served["articles"] > COUNT // 2:
                    handler.close_connection = True
                    handler.connection.close()
                    return
            whole(handler)

        wiki.otherwise = dying
        result = run(*FIRST)
        told = json.loads(result.stdout)
        plan = told["updates"][0]["plan"]
        assert (result.exit_code, len(plan["added"]), len(plan["failed"])) == (3, COUNT // 2 - 1, COUNT // 2 + 1)
        assert "not asked for: 5 articles in a row" in plan["failed"][-1]["reason"]
        wiki.otherwise = whole
        wiki.asked.clear()
        told = as_json(run(*UPDATE))
        assert len(told["updates"][0]["plan"]["added"]) == COUNT // 2 + 1
        assert len(wiki.articles_asked()) == COUNT // 2 + 1
        assert len(stored(data_dir).documents) == COUNT

    def test_a_check_asks_for_nothing_that_it_knows(self, made: Run, wiki: FakeWikipedia, data_dir: Path) -> None:
        """No article is fetched, nothing is written to the store, and nothing is embedded."""
        before = {path: path.stat().st_mtime_ns for path in (data_dir / "store").rglob("*")}
        told = as_json(made("update", "--corpus", "beasts", "--dry-run", "--json"))
        assert len(told["updates"][0]["plan"]["unchanged"]) == COUNT
        assert wiki.articles_asked() == []
        assert {path: path.stat().st_mtime_ns for path in (data_dir / "store").rglob("*")} == before


def wiki_title(path: str) -> str:
    from urllib.parse import unquote

    return unquote(path.split("/")[5]).replace("_", " ")


def kills(wiki: FakeWikipedia, data_dir: Path, tmp_path: Path, *, times: int, seed: int) -> None:
    """Updates that are killed at random points, then one that is not: whole, each article fetched and each text paid for once."""
    chance, ledger = random.Random(seed), tmp_path / "ledger.txt"
    command = [sys.executable, "-c", WORKER, str(ledger), *FIRST]
    told = {**os.environ, **environment(data_dir), **variables(wiki)}
    root = Path(__file__).parents[3]

    def progress() -> int:
        return len(wiki.asked) + (len(ledger.read_text(encoding="utf-8").splitlines()) if ledger.exists() else 0)

    killed = 0
    for _ in range(times):
        begun, aim = progress(), chance.randrange(1, 12)
        process = subprocess.Popen(command, cwd=root, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while process.poll() is None and progress() - begun < aim:
            assert time.monotonic() < deadline
            time.sleep(0.005)  # between two looks at how far it is
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
        if (data_dir / "store" / "beasts" / "CURRENT").exists():
            assert len(stored(data_dir).documents) == COUNT  # whole or not at all
    done = subprocess.run(command, cwd=root, env=told, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert killed >= times // 2
    corpus = stored(data_dir)
    assert titles(corpus) == set(articles(wiki))
    fetched = Counter(wiki.articles_asked())
    assert sum(fetched.values()) <= COUNT + 1 + killed  # an article whose answer was under way is asked for again
    paid = Counter(ledger.read_text(encoding="utf-8").splitlines())
    again = sum(count - 1 for count in paid.values())
    assert again <= 4 * killed  # the batch that was under way
    index = corpus.indexes()[0]
    assert int(index.meta["chunks"]) == len(paid)


def test_killed_at_random_points(wiki: FakeWikipedia, data_dir: Path, tmp_path: Path) -> None:
    """Three times in a row; `make soak` does it twenty times with other seeds."""
    kills(wiki, data_dir, tmp_path, times=3, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_points_twenty_times_in_a_row(wiki: FakeWikipedia, data_dir: Path, tmp_path: Path, seed: int) -> None:
    """While it reads, chunks, embeds, writes or publishes: whatever it was doing, the next one goes on from there."""
    kills(wiki, data_dir, tmp_path, times=20, seed=seed)
