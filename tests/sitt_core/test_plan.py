"""What an update would do, before it does it: what is withheld, what is elsewhere, which sections and lines differ."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.errors import InvalidInput, SourceError
from sitt_core.plan import SectionChange, changed_spans, digest_of, plan_update, plan_updates, require_removals_allowed, sections_touched
from sitt_core.store.reading import Corpus, open_corpus
from sitt_core.types import Document, Failure, Listing, Source
from tests.fakes import corpora

OTHER = "wikipedia:titles"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A dozen tales, two of them with an address."""
    documents = [*corpora.tales()[:10], *map(at_address, corpora.tales()[10:])]
    return corpora.publish(tmp_path_factory.mktemp("store"), documents)


def at_address(document: Document) -> Document:
    return replace(document, source=Source(document.title, f"https://example.org/{document.id}", "CC BY-SA 4.0"))


def listing(documents: list[Document], **changes: object) -> Listing:
    return replace(corpora.listing(documents), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("complete", "why", "told"),
    [
        pytest.param(False, "the sitemap /b.xml could not be read", "the sitemap /b.xml could not be read", id="with its reason"),
        pytest.param(False, "", "the source could not be read as a whole", id="without one"),
    ],
)
def test_an_incomplete_listing_removes_nothing_and_says_why(corpus: Corpus, complete: bool, why: str, told: str) -> None:
    """Not even with permission, which is for what is gone; what it brings is taken."""
    stored = list(corpus.all_documents())
    fresh = corpora.document("fen.md", "# The fen light\n\nA lamp.")
    plan = plan_update(corpus, listing([*stored[1:], fresh], complete=complete, why_incomplete=why), allow_removals=12)
    assert (plan.added, plan.removed, plan.withheld, plan.why_withheld) == (("fen.md",), (), (stored[0].id,), told)


@pytest.mark.parametrize(("there", "allowed", "removed"), [(9, 0, 0), (9, 2, 0), (9, 3, 3), (9, 12, 3), (10, 0, 2), (0, 12, 0)])
def test_below_four_fifths_nothing_goes_without_its_number(corpus: Corpus, there: int, allowed: int, removed: int) -> None:
    """9 of 12 are 75 %; 3 may go when 3 are allowed. A listing of nothing removes nothing whatever is allowed."""
    plan = plan_update(corpus, listing(list(corpus.all_documents())[:there]), allow_removals=allowed)
    assert len(plan.removed) == removed
    assert len(plan.withheld) == (12 - there if not removed else 0)


def test_what_could_not_be_read_was_listed(corpus: Corpus) -> None:
    """7 read and 4 failed of 12 are a whole listing: the one that it does not name goes, the failed ones stay."""
    stored = list(corpus.all_documents())
    failures = tuple(Failure(each.id, "404") for each in stored[7:11])
    plan = plan_update(corpus, listing(stored[:7], failures=failures))
    assert (plan.removed, len(plan.failed), plan.withheld) == ((stored[11].id,), 4, ())


class TestSeveralSources:
    def test_a_document_of_another_source_stays_with_it(self, corpus: Corpus) -> None:
        """The same address under the same name is the same document: it is told, not taken, and not a clash."""
        stored = {document.id: document for document in corpus.all_documents()}
        shared, own = stored["island.md"], at_address(corpora.document("fen.md", "# The fen light\n\nA lamp."))
        plan = plan_update(corpus, replace(listing([replace(shared, sha256="other"), own]), origin=OTHER))
        assert (plan.elsewhere, plan.added, plan.changed) == (("island.md",), ("fen.md",), ())

    def test_another_address_is_a_clash(self, corpus: Corpus) -> None:
        """A document of that name from elsewhere would overwrite the stored one: refused, naming it."""
        elsewhere = replace(corpora.document("island.md", "# Another"), source=Source("x", "https://other.example/island", ""))
        with pytest.raises(SourceError, match=r"island\.md"):
            plan_update(corpus, replace(listing([elsewhere]), origin=OTHER))

    @pytest.mark.parametrize("turned", [False, True], ids=["the list first", "the titles first"])
    def test_what_one_source_drops_another_may_take_over(self, corpus: Corpus, tmp_path: Path, turned: bool) -> None:
        """In one update, in either order: retired by the list and found by title, the document stays, as that source has it."""
        recipe = corpora.recipe()
        corpora.update(tmp_path, corpora.listing(list(corpus.all_documents())), recipe)
        before = open_corpus(tmp_path, corpora.NAME)
        stored = list(before.all_documents())
        island = next(document for document in stored if document.id == "island.md")
        one = (listing([each for each in stored if each.id != "island.md"]), "tales")
        two = (Listing(OTHER, (replace(island, origin=OTHER),)), "titles")
        updates = plan_updates(before, [two, one] if turned else [one, two])
        expected = [((), ("island.md",)), (("island.md",), ())]
        assert [(each.plan.added, each.plan.removed) for each in updates] == (expected[::-1] if turned else expected)
        corpora.ingest.apply_update(before.folder.parent, before, updates, recipe=recipe, report=corpora.silent)
        after = open_corpus(tmp_path, corpora.NAME)
        assert after.document("island.md").origin == OTHER
        assert after.retired_documents() == ()
        assert {name: place for name, place in after.meta.items() if name.startswith("source:")} == {
            f"source:{corpora.ORIGIN}": "tales",
            f"source:{OTHER}": "titles",
        }

    def test_a_new_document_that_both_have_comes_from_the_first(self, corpus: Corpus) -> None:
        """Nothing is stored twice."""
        new = at_address(corpora.document("fen.md", "# The fen light\n\nA lamp."))
        both = [(replace(listing([new]), origin=origin), origin) for origin in ("sitemap:a", "sitemap:b")]
        one, two = plan_updates(corpus, both)
        assert (one.plan.added, two.plan.added, two.plan.elsewhere) == (("fen.md",), (), ("fen.md",))

    def test_they_share_what_is_allowed(self, tmp_path: Path) -> None:
        """5 allowed removals let 3 of one source go, and then not 3 of the next."""
        recipe = corpora.recipe()
        both = {
            origin: [corpora.document(f"{origin}-{number:02}.md", f"# {number}\n\nTale {number}.", origin=origin) for number in range(12)]
            for origin in "ab"
        }
        for origin, documents in both.items():
            corpora.update(tmp_path, corpora.listing(documents, origin=origin), recipe)
        stored = open_corpus(tmp_path, corpora.NAME)
        shorter = [(corpora.listing(documents[3:], origin=origin), origin) for origin, documents in both.items()]
        assert [len(each.plan.removed) for each in plan_updates(stored, shorter, allow_removals=5)] == [3, 0]
        assert [len(each.plan.removed) for each in plan_updates(stored, shorter, allow_removals=6)] == [3, 3]
        whole = [(corpora.listing(documents[2:], origin=origin), origin) for origin, documents in both.items()]  # 10 of 12: believed
        plans = [each.plan for each in plan_updates(stored, whole)]
        with pytest.raises(InvalidInput, match=r"at most 1 .*--allow-removals 4"):
            require_removals_allowed(plans, 3)
        require_removals_allowed(plans, 4)

    def test_digest(self, corpus: Corpus) -> None:
        """The digest of a single plan is its own; that of several depends on each, and permission does not change it."""
        stored = list(corpus.all_documents())
        one, two = plan_updates(corpus, [(listing(stored), ""), (Listing(OTHER, ()), "")])
        assert digest_of([one]) == one.plan.digest
        other = plan_updates(corpus, [(listing(stored[:11]), ""), (Listing(OTHER, ()), "")])
        assert digest_of([one, two]) != digest_of(other)
        few = listing(stored[:3])
        assert plan_update(corpus, few).digest == plan_update(corpus, few, allow_removals=9).digest


def test_sections_touched() -> None:
    """By heading path, sub-sections for themselves, in the new document's order; what only moved is not touched."""
    old = corpora.document("a.md", "# A\n\nOne.\n\n## B\n\nTwo.\n\n### C\n\nThree.\n\n## D\n\nFour.\n\n## E\n\nFive.")
    new = corpora.document("a.md", "# A\n\nOne.\n\n## E\n\nFive.\n\n## B\n\nTwo.\n\n### C\n\n3.\n\n## F\n\nSix.")
    assert sections_touched(old, new) == (
        SectionChange(("A", "B", "C"), "changed"),
        SectionChange(("A", "F"), "added"),
        SectionChange(("A", "D"), "removed"),
    )
    assert sections_touched(old, old) == ()
    assert {each.how for each in sections_touched(None, new)} == {"added"}
    assert {each.how for each in sections_touched(old, None)} == {"removed"}


@given(old=st.text(alphabet="ab \n", max_size=40), new=st.text(alphabet="ab \n", max_size=40))
def test_changed_spans_are_the_lines_that_are_gone(old: str, new: str) -> None:
    """Each span is a line of the old text that is none of the new; every other line of the old is one of the new, or blank."""
    spans = changed_spans(old, new)
    lines = [old[span.start : span.end] for span in spans]
    assert not set(lines) & set(new.split("\n"))
    left = [line for line in old.split("\n") if line.strip() and line not in new.split("\n")]
    assert lines == left
    assert changed_spans(old, old) == []
