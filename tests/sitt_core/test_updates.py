"""What an update may remove, shows, carries along and brings back."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core import ingest
from sitt_core.configuration import configure
from sitt_core.errors import Busy, InvalidInput, NotFound
from sitt_core.ingest import apply_update, build_index, chosen_to_carry, needs_building
from sitt_core.plan import diff, free_removals, last_listed, plan_update, plan_updates, restored_ids
from sitt_core.store.layout import generations
from sitt_core.store.reading import Corpus, open_corpus
from sitt_core.types import Document, Failure
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder


def notes(count: int) -> list[Document]:
    return [corpora.document(f"{number:03}.md", f"# Note {number}\n\nA tale of creature {number}.") for number in range(count)]


def ids(corpus: Corpus) -> set[str]:
    return {document.id for document in corpus.documents}


def reopened(corpus: Corpus) -> Corpus:
    return open_corpus(corpus.folder.parents[1], corpus.name)


def apply(corpus: Corpus, documents: list[Document], *, allow_removals: int = 0, failures: tuple[Failure, ...] = ()) -> Corpus:
    """Publishes a listing as it is, with just as many removals allowed."""
    found = corpora.listing(documents, failures=failures)
    apply_update(
        corpus.folder.parent,
        corpus,
        plan_updates(corpus, [(found, found.origin)], allow_removals=allow_removals),
        recipe=corpora.recipe(),
        report=corpora.silent,
        allow_removals=allow_removals,
    )
    return reopened(corpus)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return corpora.publish(tmp_path)


class TestRemovals:
    @pytest.mark.parametrize(
        ("documents", "free"),
        [(0, 1), (1, 1), (3, 1), (19, 1), (20, 2), (94, 9), (199, 19), (200, 20), (201, 20), (10_000, 20)],
    )
    def test_how_many_are_free(self, documents: int, free: int) -> None:
        """A tenth of the source's documents, rounded down, at least 1 and at most 20."""
        assert free_removals(documents) == free

    @pytest.mark.parametrize(
        ("gone", "allowed", "passes"), [(2, 0, True), (3, 0, False), (3, 2, False), (3, 3, True), (3, 9, True), (25, 25, True)]
    )
    def test_more_need_permission(self, tmp_path: Path, gone: int, allowed: int, passes: bool) -> None:
        """Above that, publishing needs a number of at least as many; without it nothing is written and the number is named."""
        corpus = corpora.publish(tmp_path, notes(29))
        if passes:
            assert len(apply(corpus, notes(29)[gone:], allow_removals=allowed).retired_documents()) == gone
        else:
            with pytest.raises(InvalidInput, match=rf"at most {max(2, allowed)} .*got 3 .*--allow-removals 3"):
                apply(corpus, notes(29)[gone:], allow_removals=allowed)
            assert generations(corpus.folder.parent) == ("000001",)

    def test_a_list_page_that_shows_3_of_138(self, tmp_path: Path) -> None:
        """What looks whole and is a small part of last time retires nothing, whatever else it brings; unless so many are allowed."""
        corpus = corpora.publish(tmp_path, notes(138))
        after = apply(corpus, [*notes(138)[:3], *notes(140)[138:]], allow_removals=134)
        assert len(after.documents) == 140
        assert len(apply(after, notes(138)[:3], allow_removals=137).documents) == 3

    def test_what_the_last_complete_listing_named_counts(self, tmp_path: Path) -> None:
        """Of 20 that were listed 12 could not be read: 10 readable ones a week later are half of the listing, not more than all."""
        corpora.publish(tmp_path, notes(20)[:8])
        failures = tuple(Failure(f"{number:03}.md", "404") for number in range(8, 20))
        corpus = open_corpus(tmp_path, corpora.NAME)
        assert last_listed(corpus, corpora.ORIGIN) == 8
        corpus = apply(corpus, notes(21)[:7] + notes(21)[20:], failures=(*failures, Failure("007.md", "404")))
        assert last_listed(corpus, corpora.ORIGIN) == 21
        plan = plan_update(corpus, corpora.listing(notes(7)))
        assert (plan.removed, plan.withheld) == ((), ("007.md", "020.md"))
        assert plan.why_withheld == "the source named 7 documents, less than 80% of the 21 of its last complete listing"
        assert last_listed(apply(corpus, [*notes(6), *notes(31)[30:]]), corpora.ORIGIN) == 21

    @pytest.mark.parametrize("complete", [True, False])
    def test_a_source_without_documents_removes_nothing(self, corpus: Corpus, complete: bool) -> None:
        """Even if its listing claims to be whole."""
        plan = plan_update(corpus, corpora.listing([], complete=complete))
        assert (plan.removed, plan.is_empty) == ((), True)

    def test_the_share_is_of_the_source_alone(self, tmp_path: Path) -> None:
        """Documents of other sources do not make more removals free."""
        corpora.publish(tmp_path, notes(100))
        two = [corpora.document(f"x{number}.md", f"# X {number}\n\nText {number}.") for number in range(3)]
        corpora.update(tmp_path, corpora.listing(two, origin="markdown:x"), corpora.recipe())
        corpus = open_corpus(tmp_path, corpora.NAME)
        assert plan_update(corpus, corpora.listing(two[:1], origin="markdown:x")).free_removals == 1
        assert plan_update(corpus, corpora.listing(notes(100))).free_removals == 10


class TestDiff:
    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            pytest.param(
                lambda old: replace(old, text=old.text.replace("A hairy giant", "Two hairy giants")),
                ["-A hairy giant left footprints beside the river.", "+Two hairy giants left footprints beside the river."],
                id="text",
            ),
            pytest.param(lambda old: replace(old, category="reptile"), ["-category: hominid", "+category: reptile"], id="attribute"),
            pytest.param(lambda old: replace(old, aliases=("Big Foot",)), ["+aliases: Big Foot"], id="new attribute"),
            pytest.param(lambda old: old, [], id="unchanged"),
        ],
    )
    def test_a_changed_document(self, corpus: Corpus, change: Callable[[Document], Document], expected: list[str]) -> None:
        """The lines that went and came, of its attributes and its text."""
        found = corpora.listing([change(document) if document.id == "forest.md" else document for document in corpora.tales()])
        lines = diff(corpus, found, "forest.md")
        assert [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")] == expected

    def test_an_added_and_a_removed_document(self, corpus: Corpus) -> None:
        """What is new has only added lines, what is gone only removed ones."""
        found = corpora.listing([corpora.document("new.md", "# New\n\nNew.")])
        assert {line[0] for line in diff(corpus, found, "new.md")[3:]} == {"+"}
        assert {line[0] for line in diff(corpus, found, "lake.md")[3:]} == {"-"}
        assert "+# New" in diff(None, found, "new.md")

    def test_an_unknown_document(self, corpus: Corpus) -> None:
        """A name that neither knows is a named error."""
        with pytest.raises(NotFound, match=r"got 'nope\.md'"):
            diff(corpus, corpora.listing(corpora.tales()), "nope.md")

    @given(st.lists(st.sampled_from(["a", "b", "", "- c", "+ d"]), max_size=8), st.lists(st.sampled_from(["a", "b", "", "e"]), max_size=8))
    def test_both_texts_are_in_it(self, old: list[str], new: list[str]) -> None:
        """Without the added lines it tells the stored text, without the removed ones the new text, up to unchanged parts far off."""
        base = corpora.document("x.md", "# X\n\ntext")
        corpus = Corpus.__new__(Corpus)  # a diff reads nothing but this document
        corpus.documents = (base,)  # type: ignore[assignment]
        corpus.document = lambda _: replace(base, text="\n".join(old))  # type: ignore[method-assign]
        lines = diff(corpus, corpora.listing([replace(base, text="\n".join(new))]), "x.md")[2:]
        body = [line for line in lines if not line.startswith("@@")]
        for text, gone in ((old, "+"), (new, "-")):
            told = [line[1:] for line in body if line[0] != gone]
            assert "\n".join(told) in "\n".join(["title: X", "source: X, x.md, not stated", "", *"\n".join(text).split("\n")])


class TestRestore:
    @pytest.fixture
    def without_lake(self, corpus: Corpus) -> Corpus:
        return apply(corpus, corpora.tales()[1:])

    def restored(self, corpus: Corpus, *document_ids: str) -> Corpus:
        ingest.restore_documents(corpus, document_ids, recipe=corpora.recipe(), report=corpora.silent)
        return reopened(corpus)

    def test_it_is_as_it_was(self, without_lake: Corpus) -> None:
        """A restored document is active with its old text and found again; nothing is embedded twice."""
        embedder = HashEmbedder()
        ingest.restore_documents(without_lake, ["lake.md"], recipe=corpora.recipe(embedder), report=corpora.silent)
        after = reopened(without_lake)
        assert (embedder.embedded, after.retired_documents()) == ([], ())
        assert replace(after.document("lake.md"), fetched_at="") == corpora.tales()[0]
        index = after.index(configure({}).index_key, fingerprint=corpora.recipe().fingerprint)
        assert "lake.md" in {after.documents[at].id for at in index.document_at}

    def test_no_update_retires_it_again(self, without_lake: Corpus) -> None:
        """Its source still does not have it: the plan says that it is kept, and it is."""
        back = self.restored(without_lake, "lake.md")
        plan = plan_update(back, corpora.listing(corpora.tales()[1:]))
        assert (plan.kept, plan.removed, plan.is_empty) == (("lake.md",), (), True)
        after = apply(back, [*corpora.tales()[1:], *notes(1)])
        assert "lake.md" in ids(after)
        assert plan_update(after, corpora.listing([*corpora.tales()[1:], *notes(1)])).kept == ("lake.md",)

    def test_its_source_takes_it_over_again(self, without_lake: Corpus) -> None:
        """Once an update has found it in its source it is a document like any other, and goes when it goes there."""
        lake = replace(corpora.tales()[0], text="# Lake\n\nNew.", sha256="new")
        after = apply(self.restored(without_lake, "lake.md"), [lake, *corpora.tales()[1:]])
        assert restored_ids(after) == ()
        assert plan_update(after, corpora.listing(corpora.tales()[1:])).removed == ("lake.md",)

    def test_it_can_be_retired_by_hand(self, without_lake: Corpus) -> None:
        """Retiring is the way back: it is gone, kept among the retired, and no longer spared."""
        back = self.restored(without_lake, "lake.md")
        ingest.retire_documents(back, ["lake.md", "lake.md"], recipe=corpora.recipe(), report=corpora.silent)
        after = reopened(back)
        assert "lake.md" not in ids(after)
        assert [document.id for document, _ in after.retired_documents()] == ["lake.md"]
        assert restored_ids(after) == ()

    def test_a_source_brings_back_what_was_retired_by_hand(self, corpus: Corpus) -> None:
        """Its next plan says so: added."""
        ingest.retire_documents(corpus, ["lake.md"], recipe=corpora.recipe(), report=corpora.silent)
        assert plan_update(reopened(corpus), corpora.listing(corpora.tales())).added == ("lake.md",)

    def test_what_cannot_be(self, without_lake: Corpus) -> None:
        """An unknown or an active name, all documents at once, a generation that is no longer current: named, and nothing is published."""
        for wrong in ("nope.md", "sky.md"):
            with pytest.raises(NotFound, match=wrong):
                self.restored(without_lake, "lake.md", wrong)
        with pytest.raises(NotFound, match=r"lake\.md"):
            ingest.retire_documents(without_lake, ["lake.md"], recipe=corpora.recipe(), report=corpora.silent)
        with pytest.raises(InvalidInput, match="at least one document"):
            ingest.retire_documents(without_lake, sorted(ids(without_lake)), recipe=corpora.recipe(), report=corpora.silent)
        assert reopened(without_lake).generation == without_lake.generation
        self.restored(without_lake, "lake.md")
        with pytest.raises(Busy, match="generation"):
            self.restored(without_lake, "lake.md")


class TestCost:
    def test_one_edited_entry_embeds_only_its_new_texts(self, tmp_path: Path) -> None:
        """Of a long document of which one paragraph changed, the embedder gets the chunks that hold it and no other text."""
        embedder = HashEmbedder()
        recipe = corpora.recipe(embedder, chunking__size=20, chunking__overlap=0)
        paragraphs = [f"Paragraph {number} tells of creature {number} in the wood." for number in range(30)]
        long = corpora.document("long.md", "# Long\n\n" + "\n\n".join(paragraphs))
        corpora.update(tmp_path, corpora.listing([*corpora.tales(), long]), recipe)
        before = list(embedder.embedded)
        paragraphs[12] = "Paragraph 12 tells of something else."
        edited = corpora.document("long.md", "# Long\n\n" + "\n\n".join(paragraphs))
        built = corpora.update(tmp_path, corpora.listing([*corpora.tales(), edited]), recipe)
        new = embedder.embedded[len(before) :]
        assert (len(new), built.embedded) == (1, 1)
        assert "something else" in new[0]
        assert built.chunks > 40


class TestCarrying:
    FIXED = configure({"chunking.strategy": "fixed"})
    SENTENCE = configure({"chunking.strategy": "sentence"})

    @pytest.fixture
    def with_three(self, corpus: Corpus) -> Corpus:
        for strategy in ("fixed", "sentence"):
            build_index(corpus, recipe=corpora.recipe(chunking__strategy=strategy), report=corpora.silent)
        return corpus

    def test_what_is_not_carried_needs_building(self, with_three: Corpus, tmp_path: Path) -> None:
        """An update builds the default index and the chosen ones; the others are listed until they are built, however many updates follow."""
        fixed = corpora.recipe(chunking__strategy="fixed")
        built = corpora.update(tmp_path, corpora.listing([*corpora.tales(), *notes(1)]), corpora.recipe(), carry=[fixed, fixed])
        after = reopened(with_three)
        assert [each.index_key for each in built.carried] == [self.FIXED.index_key]
        assert {info.key for info in after.indexes()} == {configure({}).index_key, self.FIXED.index_key}
        assert needs_building(after) == [self.SENTENCE]
        corpora.update(tmp_path, corpora.listing([*corpora.tales(), *notes(2)]), corpora.recipe())
        later = reopened(with_three)
        assert {each.index_key for each in needs_building(later)} == {self.FIXED.index_key, self.SENTENCE.index_key}
        assert build_index(later, recipe=corpora.recipe(chunking__strategy="sentence"), report=corpora.silent).embedded <= 2
        assert needs_building(later) == [self.FIXED]

    @pytest.mark.usefixtures("with_three")
    def test_stages_name_their_index(self, tmp_path: Path) -> None:
        """With several indexes every stage is told once for each, from nothing to its end."""
        seen: dict[str, list[tuple[int, int]]] = {}
        corpora.update(
            tmp_path,
            corpora.listing([*corpora.tales(), *notes(1)]),
            corpora.recipe(),
            carry=[corpora.recipe(chunking__strategy="fixed")],
            report=lambda *at: seen.setdefault(at[0], []).append(at[1:]),
        )
        assert len([stage for stage in seen if stage.startswith("embed, ")]) == 2
        assert any(self.FIXED.index_key in stage for stage in seen)
        assert all(points[0][0] == 0 and points == sorted(points) and points[-1][0] == points[-1][1] for points in seen.values())
        assert list(seen)[-1] == "publish"

    def test_choosing(self, with_three: Corpus) -> None:
        """By key, or all; a key that the corpus has never had is named with those it has."""
        everything = chosen_to_carry(with_three, ["all"])
        assert {each.index_key for each in everything} == {configure({}).index_key, self.FIXED.index_key, self.SENTENCE.index_key}
        assert chosen_to_carry(with_three, [self.FIXED.index_key] * 2) == [self.FIXED]
        with pytest.raises(NotFound, match=rf"{self.FIXED.index_key} \(fixed-256.*got 'abc'"):
            chosen_to_carry(with_three, ["abc"])
        with pytest.raises(NotFound, match="it has none"):
            chosen_to_carry(None, ["abc"])

    def test_an_index_tells_its_configuration(self, with_three: Corpus) -> None:
        """As JSON of every field: enough to name it, and to build it again."""
        found = {info.key: info for info in with_three.indexes()}
        assert json.loads(found[self.FIXED.index_key].meta["configuration"]) == self.FIXED.to_dict()
        assert found[self.FIXED.index_key].configuration == self.FIXED
        assert int(found[self.FIXED.index_key].meta["chunks"]) > 0

    @pytest.mark.parametrize("content", [b"", b"garbage", None], ids=["empty", "garbage", "cut"])
    def test_a_spoilt_index_is_listed_without_its_facts(self, with_three: Corpus, content: bytes | None) -> None:
        """It has a key and a size, no configuration, and cannot be carried."""
        (path,) = with_three.folder.glob(f"{self.FIXED.index_key}.*.duckdb")
        path.write_bytes(path.read_bytes()[:5000] if content is None else content)
        (info,) = [info for info in with_three.indexes() if info.key == self.FIXED.index_key]
        assert (info.configuration, info.meta, info.size) == (None, {}, path.stat().st_size)
        assert self.FIXED not in ingest.index_configurations(with_three)


class TestDigest:
    def test_it_names_the_plan(self, corpus: Corpus) -> None:
        """The same source and corpus give it again; another text, another removal or another generation do not."""
        tales = corpora.tales()
        same = {plan_update(corpus, corpora.listing(documents)).digest for documents in (tales, tales[::-1])}
        others = [
            plan_update(corpus, corpora.listing([replace(tales[0], sha256="new"), *tales[1:]])).digest,
            plan_update(corpus, corpora.listing(tales[1:])).digest,
            plan_update(corpus, corpora.listing(tales[1:], complete=False)).digest,
            plan_update(None, corpora.listing(tales)).digest,
            plan_update(apply(corpus, [*tales, *notes(1)]), corpora.listing(tales)).digest,
        ]
        assert len(same) == 1
        assert len({*same, *others}) == 6
