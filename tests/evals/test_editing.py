"""Golden sets as people change them: nothing is lost or half written, nothing sealed is told, everything is checked."""

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from evals import beir, drafting, editing, exchange
from evals.editing import Shelf
from evals.golden import FIELD_GUIDE, Finding, GoldenSet, Question, Quote, load_questions
from sitt_core import notes
from sitt_core.build import read_source
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError
from sitt_core.settings import Settings
from sitt_core.store import admin
from sitt_core.store.layout import corpus_names
from sitt_core.surfaces.renaming import rename_corpus
from sitt_core.types import Document
from tests.fakes.corpora import NAME, document, publish, tales

ROOT = Path(__file__).parents[2]
LAKE = document(
    "lake.md",
    "# The lake serpent\n\nA long neck rose from the cold lake at dawn. Nobody spoke.\n\n## Traps\n\nFishermen set traps of iron. "
    "The lake was quiet.\n\n### Later\n\nThe lake was quiet. Years passed, and the traps rusted.",
)
DOCUMENTS = [LAKE, *(each for each in tales() if each.id != "lake.md")]
BY_ID = {each.id: each for each in DOCUMENTS}
RISING = Quote("lake.md", "A long neck rose from the cold lake at dawn.")
SEALED = Question(
    "sealed-moor", "Which beast trails walkers at night?", "described", "sealed", {"moor.md": 1},
    ((Quote("moor.md", "follows travellers"),),), answer="The hound, secretly.", facts=("a secret fact",),
)  # fmt: skip
BUNDLED = (Question("open-lake", "What came out of the water?", "described", "open", {"lake.md": 1}, ((RISING,),)), SEALED)
SECRETS = ("trails walkers", "follows travellers", "secretly", "a secret fact", "moor.md")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "data")


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> GoldenSet:
    """Two bundled questions about the tales, one of them sealed."""
    made = GoldenSet(NAME, BUNDLED)
    monkeypatch.setattr(editing, "bundled_set", lambda _corpus: made)
    return made


def a_question(id_: str = "own-traps", text: str = "What did the fishermen lay out?", **others: Any) -> Question:
    evidence = ((Quote("lake.md", "Fishermen set traps of iron."),),)
    return Question(id_, text, "detail", **{"grades": {"lake.md": 1}, "evidence": evidence, **others})


def own(settings: Settings) -> list[str]:
    return [question.id for question in editing.own_questions(settings, NAME)]


def shelf_of(*questions: Question) -> Shelf:
    return Shelf(NAME, BUNDLED, questions)


def kinds(findings: Sequence[Finding]) -> list[str]:
    return [finding.kind for finding in findings]


class TestKeeping:
    def test_own_questions_are_added_changed_and_deleted(self, settings: Settings) -> None:
        """In the order they came; the file is what `load_questions` reads, also when the last one has gone."""
        assert own(settings) == []
        first, second = a_question("a"), a_question("b", "Who set them?", answer="Fishermen.", facts=("fishermen",))
        editing.add_questions(settings, NAME, [first])
        editing.add_questions(settings, NAME, [second])
        file = editing.own_file(settings, NAME)
        assert load_questions(str(file)).questions == (first, second)
        changed = replace(first, id="c", text="What was laid out?")
        editing.change_question(settings, NAME, "a", editing.version(first), changed)
        assert editing.own_questions(settings, NAME) == (changed, second)
        for each in (changed, second):
            editing.delete_question(settings, NAME, editing.version(each))
        assert own(settings) == []
        assert load_questions(str(file)).questions == ()
        assert sorted(path.name for path in file.parent.iterdir()) == [f"{NAME}.lock", f"{NAME}.yaml"]

    def test_what_another_window_did_meanwhile_is_never_written_over(self, settings: Settings) -> None:
        """Changing or deleting wants the version that was seen; one that has gone is named."""
        seen = a_question()
        editing.add_questions(settings, NAME, [seen])
        theirs = replace(seen, text="What was laid out by them?")
        editing.change_question(settings, NAME, seen.id, editing.version(seen), theirs)
        mine = replace(seen, text="My own words?")
        with pytest.raises(InvalidInput, match="kept meanwhile in another window"):
            editing.change_question(settings, NAME, seen.id, editing.version(seen), mine)
        with pytest.raises(NotFound, match="changed or deleted in another window"):
            editing.delete_question(settings, NAME, editing.version(seen))
        assert editing.own_questions(settings, NAME) == (theirs,)
        editing.delete_question(settings, NAME, editing.version(theirs))
        with pytest.raises(NotFound, match="deleted in another window"):
            editing.change_question(settings, NAME, seen.id, editing.version(theirs), mine)

    @pytest.mark.parametrize(
        "change",
        [{"text": "Else?"}, {"split": "sealed"}, {"kind": "alias"}, {"grades": {"lake.md": 2}}, {"answer": "x"}, {"facts": ("x",)},
         {"grades": {"lake.md": 1, "sky.md": 1}}, {"evidence": ()}, {"evidence": ((replace(RISING, occurrence=1),),)}],
        ids=lambda change: "-".join(change),
    )  # fmt: skip
    def test_a_version_changes_with_all_that_a_question_says(self, change: dict[str, Any]) -> None:
        """Also with the order of its documents: the first is the primary one."""
        question = a_question()
        assert editing.version(replace(question, **change)) != editing.version(question)
        two = {"lake.md": 1, "sky.md": 1}
        turned = dict(reversed(two.items()))
        assert editing.version(replace(question, grades=two)) != editing.version(replace(question, grades=turned))

    def test_many_writers_lose_nothing(self, settings: Settings) -> None:
        """Threads of this process and two others add at once: every question is there, once."""
        script = (
            "import sys\nfrom pathlib import Path\nfrom evals import editing\nfrom evals.golden import Question\n"
            "from sitt_core.settings import Settings\nsettings = Settings(Path(sys.argv[1]))\nfor at in range(6):\n"
            "    question = Question(f'{sys.argv[2]}-{at}', f'Question {at} of {sys.argv[2]}?', 'detail', grades={'lake.md': 1})\n"
            f"    editing.add_questions(settings, {NAME!r}, [question])\n"
        )
        others = [subprocess.Popen([sys.executable, "-c", script, str(settings.data_dir), name], cwd=ROOT) for name in ("x", "y")]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda at: editing.add_questions(settings, NAME, [a_question(f"t-{at}", f"Which one is {at}?")]), range(12)))
        assert [each.wait(60) for each in others] == [0, 0]
        assert sorted(own(settings)) == sorted([*(f"t-{at}" for at in range(12)), *(f"{name}-{at}" for name in "xy" for at in range(6))])

    def test_a_kill_between_writing_and_renaming_leaves_the_old_file(self, settings: Settings) -> None:
        """What was kept is whole, and the next write goes through."""
        editing.add_questions(settings, NAME, [a_question("before")])
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom evals import editing\nfrom evals.golden import Question\n"
            "from sitt_core.settings import Settings\nreplace = Path.replace\nPath.replace = lambda path, to: os._exit(9) if path.parent.name == 'questions' else replace(path, to)\n"
            f"editing.add_questions(Settings(Path(sys.argv[1])), {NAME!r}, [Question('lost', 'Lost?', 'detail', grades={{'lake.md': 1}})])\n"
        )
        assert subprocess.run([sys.executable, "-c", script, str(settings.data_dir)], cwd=ROOT, check=False).returncode == 9
        assert own(settings) == ["before"]
        assert editing.own_file(settings, NAME).with_suffix(".part").is_file()
        editing.add_questions(settings, NAME, [a_question("after", "And then?")])
        assert own(settings) == ["before", "after"]

    def test_a_writer_that_waits_too_long_is_told(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """While another process holds the lock."""
        monkeypatch.setattr(editing, "LOCK_SECONDS", 0.05)
        file = editing.own_file(settings, NAME)
        file.parent.mkdir(parents=True)
        with FileLock(file.with_suffix(".lock")), pytest.raises(Busy, match="another process is writing it"):
            editing.add_questions(settings, NAME, [a_question()])

    def test_a_folder_that_cannot_be_made_is_a_named_error(self, settings: Settings) -> None:
        """Where a file stands in the way."""
        settings.data_dir.mkdir(parents=True)
        settings.notes_dir.write_text("a file", encoding="utf-8")
        with pytest.raises(StoreError, match=r"to write tales\.yaml"):
            editing.add_questions(settings, NAME, [a_question()])

    @pytest.mark.parametrize("name", ["../escape", "a/b", "", "Tales", "a\x00b"])
    def test_a_name_that_is_no_corpus_makes_no_file(self, settings: Settings, name: str) -> None:
        """It would become a path."""
        with pytest.raises(InvalidInput, match="a corpus name"):
            editing.add_questions(settings, name, [a_question()])
        assert not settings.data_dir.exists()

    @pytest.mark.parametrize("held", ["{", "text", "- id: a\n", "- [" * 3000], ids=["half", "scalar", "entry", "deep"])
    @pytest.mark.usefixtures("bundled")
    def test_a_damaged_file_is_told_and_stays(self, settings: Settings, held: str) -> None:
        """The bundled questions are still there; nothing is written over what could not be read."""
        file = editing.own_file(settings, NAME)
        file.parent.mkdir(parents=True)
        file.write_text(held, encoding="utf-8")
        shelf = editing.open_shelf(settings, NAME)
        assert shelf.bundled == BUNDLED
        assert shelf.own == ()
        assert "golden questions" in str(shelf.trouble)
        with pytest.raises(InvalidInput, match=r"tales\.yaml"):
            editing.load_all(settings, NAME)
        with pytest.raises(InvalidInput, match=r"docs/golden-sets\.md"):
            editing.add_questions(settings, NAME, [a_question()])
        assert file.read_text(encoding="utf-8") == held

    def test_there_is_an_end_to_them(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """One above the limit is refused with the others of its batch."""
        monkeypatch.setattr(editing, "MAX_OWN", 1)
        with pytest.raises(InvalidInput, match="at most 1 questions"):
            editing.add_questions(settings, NAME, [a_question("a"), a_question("b")])
        assert own(settings) == []


class TestMoving:
    def test_what_people_wrote_follows_a_corpus_to_its_new_name(self, settings: Settings) -> None:
        """Questions, drafts and recent questions; a deleted corpus leaves them for one of its name."""
        publish(settings.store_dir)
        editing.add_questions(settings, NAME, [a_question()])
        draft = notes.save_draft(settings.notes_dir, corpus=NAME, question="Q?")
        notes.remember(settings.notes_dir, NAME, "Asked?", {})
        ledger = settings.notes_dir / drafting.FOLDER / f"{NAME}.jsonl"
        ledger.parent.mkdir()
        ledger.write_text(json.dumps({"passage": "p", "outcome": "kept", "at": 1.0}))
        ledger.with_name("stories.jsonl").write_text(json.dumps({"passage": "q", "outcome": "nothing", "at": 1.0}))
        rename_corpus(settings, NAME, "stories")
        assert drafting.asked_before(settings, "stories") == {"p", "q"}
        assert drafting.asked_before(settings, NAME) == frozenset()
        assert [each.id for each in editing.own_questions(settings, "stories")] == ["own-traps"]
        assert [each.id for each in notes.drafts(settings.notes_dir, "stories")] == [draft.id]
        assert [each.question for each in notes.recent(settings.notes_dir, "stories")] == ["Asked?"]
        assert (own(settings), notes.drafts(settings.notes_dir, NAME), notes.recent(settings.notes_dir, NAME)) == ([], (), ())
        admin.delete_corpus(settings.store_dir, "stories")
        publish(settings.store_dir, name="stories")
        assert [each.id for each in editing.own_questions(settings, "stories")] == ["own-traps"]

    def test_questions_about_an_earlier_corpus_of_the_new_name_are_not_lost(self, settings: Settings) -> None:
        """The corpus keeps its name, and both files what they hold; one of which nothing was written takes the new name."""
        publish(settings.store_dir)
        editing.add_questions(settings, "stories", [a_question("theirs")])
        editing.add_questions(settings, NAME, [a_question("mine")])
        with pytest.raises(InvalidInput, match=r"nobody has questions of their own.*stories\.yaml"):
            rename_corpus(settings, NAME, "stories")
        assert corpus_names(settings.store_dir) == (NAME,)
        assert own(settings) == ["mine"]
        editing.delete_question(settings, NAME, editing.version(a_question("mine")))
        rename_corpus(settings, NAME, "stories")
        assert [each.id for each in editing.own_questions(settings, "stories")] == ["theirs"]

    def test_a_corpus_that_cannot_be_renamed_keeps_its_questions(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where the new name is taken, or somebody is writing them."""
        publish(settings.store_dir)
        publish(settings.store_dir, name="stories")
        editing.add_questions(settings, NAME, [a_question()])
        with pytest.raises(InvalidInput, match="a name that no corpus has"):
            rename_corpus(settings, NAME, "stories")
        assert own(settings) == ["own-traps"]
        monkeypatch.setattr(editing, "LOCK_SECONDS", 0.05)
        with FileLock(editing.own_file(settings, NAME).with_suffix(".lock")), pytest.raises(Busy, match="to move tales"):
            rename_corpus(settings, NAME, "other")
        monkeypatch.setattr(drafting, "LOCK_SECONDS", 0.05)
        (settings.notes_dir / drafting.FOLDER).mkdir()
        with FileLock(settings.notes_dir / drafting.FOLDER / f"{NAME}.lock"), pytest.raises(Busy, match="drafts questions about it"):
            rename_corpus(settings, NAME, "other")
        assert sorted(corpus_names(settings.store_dir)) == ["stories", NAME]


class TestRules:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"id": ""}, "an id has 1 to 100"),
            ({"id": "a b"}, "an id has 1 to 100"),
            ({"id": "<b>"}, "an id has 1 to 100"),
            ({"id": "../x"}, "an id has 1 to 100"),
            ({"id": "x" * 101}, "an id has 1 to 100"),
            ({"id": "taken"}, "the id 'taken' is in use"),
            ({"id": "named-lake"}, "named is for the generated"),
            ({"kind": "named"}, "named is for the generated"),
            ({"kind": ""}, "kind is missing"),
            ({"kind": "k" * 41}, "at most 40"),
            ({"text": ""}, "text is missing"),
            ({"text": "?!"}, "letter or digit"),
            ({"text": "a\x00b"}, "no text"),
            ({"text": "a\ud800b"}, "no text"),
            ({"text": "a\x1b[31mb"}, "no text"),
            ({"answer": "x" * 4001}, "more than 4,000"),
            ({"split": "secret"}, "open or sealed"),
            ({"grades": {}}, "expected documents"),
            ({"kind": "unanswerable"}, "neither documents nor evidence"),
            ({"grades": {"sky.md": 1}}, "not among its documents"),
            ({"evidence": ((Quote("lake.md", " - "),),)}, "no letter or digit"),
            ({"evidence": ((Quote("lake.md", "x" * 4001),),)}, "too long"),
            ({"text": " spaces "}, "read back"),
        ],
        ids=str,
    )
    def test_what_cannot_be_kept_is_said(self, settings: Settings, change: dict[str, Any], said: str) -> None:
        """By the form before it is kept, and by whatever adds or changes."""
        question = replace(a_question(), **change)
        assert any(said in problem for problem in editing.problems_of(question, {"taken"}))
        if change != {"id": "taken"}:
            with pytest.raises(InvalidInput):
                editing.add_questions(settings, NAME, [question])
            assert not editing.own_file(settings, NAME).exists()

    def test_nothing_is_kept_when_one_of_several_is_wrong(self, settings: Settings) -> None:
        """And everything that is wrong is told at once."""
        with pytest.raises(InvalidInput, match=r"2 problems: .*'a' is given twice"):
            editing.add_questions(settings, NAME, [a_question("a"), a_question("a", "Else?"), a_question("b", "")])
        assert own(settings) == []

    @hypothesis_settings(max_examples=150)
    @given(
        text=st.text(max_size=30),
        quote=st.text(max_size=30),
        answer=st.text(max_size=30),
        id_=st.text(max_size=12),
        kind=st.text(max_size=8),
    )
    def test_any_texts_are_refused_or_kept_as_they_are(
        self, tmp_path_factory: pytest.TempPathFactory, text: str, quote: str, answer: str, id_: str, kind: str
    ) -> None:
        """There is nothing between: what has no problem is read back equal."""
        settings = Settings(tmp_path_factory.mktemp("data"))
        evidence = ((Quote("lake.md", quote),),)
        question = editing.tidied(Question(id_, text, kind, grades={"lake.md": 1}, evidence=evidence, answer=answer, facts=(answer,)))
        if editing.problems_of(question):
            with pytest.raises(InvalidInput):
                editing.add_questions(settings, NAME, [question])
        else:
            editing.add_questions(settings, NAME, [question])
            assert editing.own_questions(settings, NAME) == (question,)

    def test_the_sets_of_the_program_keep_to_the_rules(self) -> None:
        """A copy of any bundled question can be kept."""
        for question in editing.bundled_set(FIELD_GUIDE).questions:
            assert editing.problems_of(question) == []

    def test_ids_are_made_of_the_first_words(self) -> None:
        """And are never in use."""
        text = "Where does Java's giant bat sleep by day, and why?"
        assert editing.new_id(text, ()) == "own-where-does-java-s-giant-bat"
        assert editing.new_id(text, {"own-where-does-java-s-giant-bat"}) == "own-where-does-java-s-giant-bat-2"
        assert editing.new_id("何処?", ()) == "own-question"
        assert editing.problems_of(editing.copy_of(SEALED, ())) == []


class TestShelf:
    @pytest.mark.usefixtures("bundled")
    def test_bundled_own_and_generated_questions_stand_together(self, settings: Settings) -> None:
        """A generated question for each document, on the side where the others about it are."""
        editing.add_questions(settings, NAME, [a_question()])
        golden = editing.load_all(settings, NAME, [(each.id, each.title) for each in DOCUMENTS])
        assert [question.id for question in golden.questions[:3]] == ["open-lake", "sealed-moor", "own-traps"]
        assert len(golden.questions) == 3 + len(DOCUMENTS)
        sides = {question.primary: question.split for question in golden.questions if question.kind == "named"}
        assert (sides["lake.md"], sides["moor.md"]) == ("open", "sealed")
        assert golden.name == NAME
        assert editing.load_all(settings, NAME).questions == golden.questions[:3]

    def test_an_id_that_is_given_twice_is_named(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """The program may bring a question with the id of one's own: it is marked in the list, and a run refuses the set."""
        editing.add_questions(settings, NAME, [a_question("open-lake"), a_question("fine", "Else?")])
        monkeypatch.setattr(editing, "bundled_set", lambda _corpus: GoldenSet(NAME, BUNDLED))
        with pytest.raises(InvalidInput, match="1 given twice: 'open-lake'"):
            editing.load_all(settings, NAME)
        shelf = editing.open_shelf(settings, NAME)
        assert [(each.question, each.kind) for each in editing.findings_of_own(shelf, DOCUMENTS)] == [("open-lake", "id")]

    def test_the_field_guide_alone_has_bundled_questions(self, settings: Settings) -> None:
        """They are read once, and a corpus of one's own begins empty."""
        assert len(editing.open_shelf(settings, "field-guide").bundled) > 250
        assert editing.bundled_set("field-guide") is editing.bundled_set("field-guide")
        assert editing.open_shelf(settings, NAME).questions == ()

    def test_a_large_corpus_is_not_read_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only the documents that a question names come with their text."""

        class Large:
            documents = DOCUMENTS

            def document(self, id_: str) -> Document:
                return BY_ID[id_]

        monkeypatch.setattr(editing, "MAX_READ_WHOLE", 3)
        found = editing.documents_for(Large(), Shelf(NAME, own=(a_question(),)))  # type: ignore[arg-type]
        assert {each.id for each in found if each.text} == {"lake.md"}
        assert len(found) == len(DOCUMENTS)


class TestReview:
    def test_every_row_has_what_is_wrong_with_it(self) -> None:
        """Own questions first; a question's findings are its own, with the share of copied wording."""
        stale = a_question("stale", "Where?", evidence=((Quote("lake.md", "words that are nowhere"),),))
        many = a_question("many", "How quiet?", evidence=((Quote("lake.md", "The lake was quiet."),),))
        gone = a_question("gone", "What else?", grades={"nowhere.md": 1}, evidence=())
        copied = a_question("copied", "Who: fishermen set traps of iron?")
        again = a_question("again", "WHAT came out of the water")
        shelf = shelf_of(stale, many, gone, copied, again, a_question())
        review = editing.review(shelf, editing.findings_of_bundled(shelf, DOCUMENTS), editing.findings_of_own(shelf, DOCUMENTS))
        found = {row.question.id: kinds(row.findings) for row in review.rows}
        assert found == {
            "stale": ["stale"], "many": ["stale"], "gone": ["document"], "copied": ["wording"], "again": ["duplicate"],
            "own-traps": [], "open-lake": [], "sealed described 1": [],
        }  # fmt: skip
        assert [row.whose for row in review.rows] == ["own"] * 6 + ["bundled"] * 2
        shared = {row.question.id: row.shared for row in review.rows}
        assert shared["copied"] == 0.75  # of who-fishermen-set, fishermen-set-traps, set-traps-of, traps-of-iron three
        assert (shared["gone"], shared["sealed described 1"]) == (None, None)

    def test_sides_are_checked_both_ways(self) -> None:
        """An open question about a sealed document, a sealed one about an open document, and an open one with sealed evidence."""
        evidence = ((Quote("moor.md", "eyes follows travellers on"),),)
        about_moor = Question("own-moor", "What trails people?", "detail", grades={"moor.md": 1}, evidence=evidence)
        shares = replace(about_moor, id="own-shares", text="What is trailing?", grades={"sky.md": 1, "moor.md": 1})
        sealed_lake = a_question("own-sealed", split="sealed", text="What did they lay?")
        found = editing.findings_of_own(shelf_of(about_moor, shares, sealed_lake), DOCUMENTS)
        assert {(each.question, each.kind) for each in found} == {("own-moor", "split"), ("own-shares", "split"), ("own-sealed", "split")}
        assert sum("shares evidence with a sealed question" in each.message for each in found) == 2

    def test_what_is_sealed_is_in_no_row(self) -> None:
        """Neither its words, its documents nor its id, whatever is wrong with it: of the bundled ones, and of one's own."""
        mine = replace(SEALED, id="mine-moor")
        shelf = shelf_of(mine)
        for documents in (DOCUMENTS, []):
            review = editing.review(shelf, editing.findings_of_bundled(shelf, documents), editing.findings_of_own(shelf, documents))
            told = repr([row for row in review.rows if row.sealed]) + repr(review.others)
            assert not [secret for secret in (*SECRETS, "mine-moor", "sealed-moor") if secret in told]
            assert [row.question.id for row in review.rows if row.sealed] == ["your sealed described 1", "sealed described 1"]
        assert kinds(review.rows[0].findings) == ["document", "stale", "duplicate"]

    def test_an_open_question_does_not_name_the_sealed_one_that_it_repeats(self) -> None:
        """In the list, in the form before it is kept, in a file before it is taken, and on the command line."""
        again = a_question("again", SEALED.text)
        shelf = shelf_of(again)
        found = editing.findings_of_own(shelf, DOCUMENTS)
        told = [finding for row in editing.review(shelf, [], found).rows for finding in row.findings]
        told += editing.findings_of_one(shelf_of(), again, DOCUMENTS)
        told += exchange.read_import(shelf_of(), exchange.export_yaml([again]).encode(), DOCUMENTS).findings
        told += editing.without_sealed(found, GoldenSet(NAME, shelf.questions))
        assert told == [Finding("again", "duplicate", editing.QUIET["duplicate"])] * 4

    def test_a_list_without_sealed_questions_is_as_it_was(self) -> None:
        """Findings name the questions; the sealed ones among them have a number for each kind, in an order that says nothing."""
        sealed = [replace(SEALED, id=f"s{at}", text=f"Which {at}?", kind=kind) for at, kind in enumerate(("detail", "detail", "alias"))]
        found = [Finding(id_, "stale", f"moor.md {id_}") for id_ in ("s0", "s1", "s2", "open-lake")]
        told = editing.without_sealed(found, GoldenSet(NAME, (*BUNDLED[:1], *sealed)))
        assert {each.question for each in told[:2]} == {"sealed detail 1", "sealed detail 2"}
        assert told[2:] == [Finding("sealed alias 1", "stale", editing.QUIET["stale"]), found[3]]
        turned = editing.sealed_names(reversed(sealed))
        assert turned == editing.sealed_names(sealed)
        assert list(editing.sealed_names(sealed, own=True).values()) == [
            f"your sealed {each}" for each in ("detail 1", "detail 2", "alias 1")
        ]

    def test_no_sealed_question_of_the_field_guide_is_in_any_row_or_export(self, settings: Settings) -> None:
        """Text, evidence, id, and in its row any document: with its own corpus, and with one in which everything is stale."""
        documents = read_source("field-guide")[0].documents
        shelf = editing.open_shelf(settings, FIELD_GUIDE, [(each.id, each.title) for each in documents])
        hidden = [question for question in shelf.questions if question.split == "sealed"]
        words = [text for each in hidden for text in (each.text, *(quote.quote for need in each.evidence for quote in need))]
        assert len(words) > 200
        with zipfile.ZipFile(io.BytesIO(exchange.export_beir(shelf, documents[:0]))) as archive:
            told = "".join(archive.read(name).decode() for name in archive.namelist() if not name.endswith("/"))
        told += exchange.export_yaml(shelf.questions)
        rows = []
        for held in (documents, documents[:3]):
            review = editing.review(shelf, editing.findings_of_bundled(shelf, held), [])
            rows += [row for row in review.rows if row.sealed]
            told += repr(review)
        assert [text for text in words if text in told] == []
        assert {each.id for each in hidden} & set(re.findall(r"[\w.:-]+", told)) == set()
        assert [each.id for each in documents if each.id.removesuffix(".md") in repr(rows)] == []
        assert {row.question.id for row in rows} >= {"sealed detail 1", "sealed named 1"}

    def test_rows_are_selected_by_what_may_be_seen(self) -> None:
        """Words anywhere in a row, kind, whose, findings; the words of a sealed question find nothing."""
        shelf = shelf_of(a_question("stale", "Where?", evidence=((Quote("lake.md", "nowhere at all"),),)))
        rows = editing.review(shelf, [], editing.findings_of_own(shelf, DOCUMENTS)).rows

        def ids(**asked: Any) -> list[str]:
            return [row.question.id for row in editing.selected(rows, **asked)]

        assert ids() == ["stale", "open-lake", "sealed described 1"]
        assert ids(search="WATER lake.md") == ["open-lake"]
        assert ids(search="stale") == ["stale"]
        assert ids(search="trails walkers") == []
        assert ids(search="moor.md") == []
        assert ids(kinds=["described"]) == ["open-lake", "sealed described 1"]
        assert ids(search="sealed-moor") == []
        assert ids(whose=["own"]) == ids(only_findings=True) == ["stale"]

    def test_a_judgement_of_no_question_belongs_to_none(self) -> None:
        """It is told beside the rows."""
        shelf = replace(shelf_of(), judgements={"gone": {"lake.md": True}})
        review = editing.review(shelf, editing.findings_of_bundled(shelf, DOCUMENTS), [])
        assert [(each.question, each.kind) for each in review.others] == [("gone", "judgement")]

    def test_a_question_is_checked_before_it_is_kept(self) -> None:
        """Against all others, but not against what it replaces."""
        first = a_question()
        shelf = shelf_of(first)
        assert kinds(editing.findings_of_one(shelf, replace(first, id="copy"), DOCUMENTS)) == ["duplicate"]
        assert editing.findings_of_one(shelf, replace(first, id="renamed"), DOCUMENTS, instead_of=first.id) == []
        assert kinds(editing.findings_of_one(shelf, replace(SEALED, id="x", split="open"), DOCUMENTS)) == ["duplicate", "split", "split"]


class TestLookingUp:
    def test_a_quotation_is_shown_where_it_stands(self) -> None:
        """Its place, its section and what stands around it in its paragraph."""
        found = editing.look_up(Quote("lake.md", "Fishermen  set\ntraps of iron."), LAKE)
        (sight,) = found.sights
        assert (found.state, found.count, found.title) == ("found", 1, "The lake serpent")
        assert LAKE.text[sight.start : sight.end] == sight.quote == "Fishermen set traps of iron."
        assert (sight.section, sight.before, sight.after) == ("Traps", "", " The lake was quiet.")
        (lead,) = editing.look_up(RISING, LAKE).sights
        assert lead.section == ""

    def test_one_that_repeats_says_how_often_and_where(self) -> None:
        """Until it says which is meant."""
        repeated = Quote("lake.md", "The lake was quiet.")
        found = editing.look_up(repeated, LAKE)
        assert (found.state, found.count) == ("several", 2)
        assert [sight.section for sight in found.sights] == ["Traps", "Traps › Later"]
        second = editing.look_up(replace(repeated, occurrence=2), LAKE)
        assert (second.state, second.sights) == ("found", found.sights[1:])
        assert (editing.look_up(replace(repeated, occurrence=3), LAKE).state) == "absent"
        assert editing.look_up(Quote("gone.md", "x"), None).state == "missing"

    def test_a_stretch_of_a_document_becomes_a_quotation_that_is_found_there(self) -> None:
        """With its occurrence where its words repeat, without white space around it."""
        at = LAKE.text.index("The lake was quiet. Years")
        assert editing.quote_at(LAKE, at - 1, at + 20) == Quote("lake.md", "The lake was quiet.", 2)
        assert editing.quote_at(LAKE, LAKE.text.index("A long"), LAKE.text.index(" Nobody")) == RISING

    @pytest.mark.parametrize(
        ("quote", "near", "least"),
        [
            ("a LONG neck — rose from the “cold” lake at dawn.", None, 0),
            ("a LONG neck rose from the *cold* lake at dawn", "A long neck rose from the cold lake at dawn", 1),
            ("A long throat rose from the icy lake at dawn.", "A long neck rose from the cold lake at dawn.", 0.75),
            ("A long neck rose out of the cold lake", "A long neck rose from the cold lake", 0.8),
            ("Two fishermen set traps of steel and waited", "Fishermen set traps of iron", 0.5),
            ("the parliament postponed its vote on parking", None, 0),
            ("...", None, 0),
        ],
        ids=["typography within words", "case and marks", "two words", "other length", "ends changed", "nothing like it", "no word"],
    )
    def test_the_nearest_passage_of_a_lost_quotation(self, quote: str, near: str | None, least: float) -> None:
        """Whole words of the document, with how much it has in common; nothing where nothing is like it."""
        found = editing.nearest(LAKE, quote)
        if near is None and least == 0 and found is not None:
            assert found.share >= editing.NEAR_ENOUGH
            assert LAKE.text[found.start : found.end] == found.quote
        else:
            assert (found.quote if found else None) == near
        if found and near:
            assert found.share >= least
            assert editing.look_up(editing.quote_at(LAKE, found.start, found.end), LAKE).state == "found"

    @given(quote=st.text(alphabet="abc lake dawn.\n“”—é何", max_size=60), text=st.text(alphabet="abc lake dawn.\n“”—é何", max_size=200))
    def test_what_is_nearest_is_of_the_document(self, quote: str, text: str) -> None:
        """Whatever is asked of whatever text."""
        found = editing.nearest(replace(LAKE, text=text), quote)
        if found is not None:
            assert text[found.start : found.end] == found.quote != ""
            assert 0 < found.share <= 1

    def test_scripts_without_spaces_have_nearest_passages_too(self) -> None:
        """Characters count as words there."""
        text = "昔、湖に大きな蛇が住んでいた。誰も近づかなかった。"
        found = editing.nearest(replace(LAKE, text=text), "湖に小さな蛇が住んでいる")
        assert found is not None
        assert "蛇が住んでい" in found.quote


class TestDrafts:
    def draft(self, settings: Settings, *evidence: dict[str, Any], question: str = "What rose?", reference: str = "A neck.") -> notes.Draft:
        return notes.save_draft(settings.notes_dir, corpus=NAME, question=question, reference=reference, evidence=evidence, origin="c/1")

    def test_spans_become_verbatim_quotations(self, settings: Settings) -> None:
        """Each a need, once; a span that names no words takes the document's, one whose words have changed keeps its own."""
        start = LAKE.text.index("A long neck")
        rising = {"document": "lake.md", "start": start, "end": start + len(RISING.quote)}
        late = LAKE.text.index("The lake was quiet. Years")
        draft = self.draft(
            settings,
            {**rising, "quote": RISING.quote},
            rising,
            {"document": "lake.md", "start": late, "end": late + 19, "quote": "The lake  was quiet."},
            {"document": "sky.md", "start": 0, "end": 10, "quote": "words of an older version"},
            {"document": "gone.md", "start": 0, "end": 5, "quote": "gone words"},
            {"document": "lake.md", "start": 5, "end": 2},
            {"start": "x"},
        )
        made = editing.question_from_draft(draft, BY_ID.get, shelf_of())
        assert [need for (need,) in made.evidence] == [
            RISING, Quote("lake.md", "The lake was quiet.", 2), Quote("sky.md", "words of an older version"), Quote("gone.md", "gone words"),
        ]  # fmt: skip
        assert (made.kind, made.documents, made.answer, made.id) == (
            "combined",
            ("lake.md", "sky.md", "gone.md"),
            "A neck.",
            "own-what-rose",
        )

    def test_a_refusal_and_a_sealed_document_are_known(self, settings: Settings) -> None:
        """The one is taken for unanswerable, the other puts the question on the side of its document."""
        refused = editing.question_from_draft(self.draft(settings, reference=""), BY_ID.get, shelf_of(), refused=True)
        assert (refused.kind, refused.split, editing.problems_of(refused)) == ("unanswerable", "open", [])
        moor = self.draft(settings, {"document": "moor.md", "quote": "burning eyes"})
        assert editing.question_from_draft(moor, BY_ID.get, shelf_of()).split == "sealed"

    def test_accepting_adds_the_question_and_takes_the_draft(self, settings: Settings) -> None:
        """Once: a second window is told; a question that cannot be added leaves the draft where it is."""
        draft = self.draft(settings, {"document": "lake.md", "quote": RISING.quote})
        made = editing.question_from_draft(draft, BY_ID.get, shelf_of())
        with pytest.raises(InvalidInput):
            editing.accept_draft(settings, NAME, draft.id, replace(made, text=""))
        assert notes.drafts(settings.notes_dir) == (draft,)
        editing.accept_draft(settings, NAME, draft.id, made)
        assert notes.drafts(settings.notes_dir) == ()
        assert editing.own_questions(settings, NAME) == (made,)
        with pytest.raises(NotFound, match="reviewed in another window"):
            editing.accept_draft(settings, NAME, draft.id, replace(made, id="twice"))
        assert own(settings) == [made.id]

    def test_a_damaged_draft_is_a_named_error(self, settings: Settings) -> None:
        """And the file stays."""
        settings.notes_dir.mkdir(parents=True)
        file = settings.notes_dir / "drafts.json"
        file.write_text('{"x": {"id": "x"}}', encoding="utf-8")
        with pytest.raises(StoreError, match=r"drafts\.json"):
            editing.accept_draft(settings, NAME, "x", a_question())
        assert file.read_text(encoding="utf-8") == '{"x": {"id": "x"}}'

    @pytest.mark.parametrize("origin", ["", "explore", "../x/1", "none/1", "/"])
    def test_the_answer_behind_a_draft_may_be_unknown(self, settings: Settings, origin: str) -> None:
        """From elsewhere, deleted, or never there."""
        draft = notes.Draft("d", NAME, "Q?", "", (), 0.0, origin)
        assert notes.answer_behind(settings.notes_dir, draft) is None


class TestForm:
    def test_evidence_is_added_changed_joined_and_removed(self) -> None:
        """Values over values: an empty need goes, and a new quotation's document is expected from then on."""
        question = Question("q", "Q?", "detail")
        sky = Quote("sky.md", "as wide as a barn")
        question = editing.with_need(editing.with_need(question, RISING), sky)
        assert question.evidence == ((RISING,), (sky,))
        assert question.documents == ("lake.md", "sky.md")
        assert editing.with_need(question, sky, need=0).evidence == ((RISING, sky), (sky,))
        assert editing.with_joined(question, 1).evidence == ((RISING, sky),)
        assert editing.with_quote(question, 0, 0, None).evidence == ((sky,),)
        assert editing.with_quote(question, 1, 0, RISING).evidence == ((RISING,), (RISING,))

    def test_documents_that_go_take_their_evidence_along(self) -> None:
        """Known grades stay, new documents have 1, the first is primary."""
        question = Question("q", "Q?", "detail", grades={"lake.md": 2, "sky.md": 0}, evidence=((RISING, Quote("sky.md", "barn")),))
        changed = editing.with_documents(question, ["sky.md", "lake.md", "ice.md"])
        assert changed.grades == {"sky.md": 1, "lake.md": 2, "ice.md": 1}
        assert editing.with_documents(question, ["sky.md"]).evidence == ((Quote("sky.md", "barn"),),)

    def test_an_unanswerable_question_is_about_what_it_expected(self) -> None:
        """And back."""
        there = editing.with_kind(a_question(), "unanswerable")
        assert (there.about, there.grades, there.evidence) == (("lake.md",), {}, ())
        back = editing.with_kind(there, "detail")
        assert (back.documents, back.about) == (("lake.md",), ())
        assert editing.with_kind(a_question(), "alias") == replace(a_question(), kind="alias")

    def test_texts_are_tidied(self) -> None:
        """White space at their ends goes, and with it what is empty."""
        untidy = a_question(id_=" a ", text=" Where? ", facts=(" x ", " "), evidence=((replace(RISING, quote=f" {RISING.quote}\n"),), ()))
        assert editing.tidied(untidy) == a_question(id_="a", text="Where?", facts=("x",), evidence=((RISING,),))


class TestImportAndExport:
    def text(self, *questions: Question) -> bytes:
        return exchange.export_yaml(questions).encode()

    def test_what_is_exported_can_be_imported(self, settings: Settings) -> None:
        """The same questions, findings told before they are taken."""
        questions = (a_question(), a_question("stale", "Where?", evidence=((Quote("lake.md", "nowhere at all"),),)))
        found = exchange.read_import(shelf_of(), self.text(*questions), DOCUMENTS)
        assert found.questions == questions
        assert (found.problems, [(each.question, each.kind) for each in found.findings]) == ((), [("stale", "stale")])
        editing.add_questions(settings, NAME, found.questions)
        assert editing.own_questions(settings, NAME) == questions

    def test_everything_that_stands_against_a_file_is_told_at_once(self) -> None:
        """Ids in use among it; nothing of it can be taken then."""
        entries = [
            {"id": "open-lake", "kind": "detail", "text": "Again?", "documents": ["lake.md"]},
            {"id": "named-x", "kind": "named", "text": "Tell me about X", "documents": ["lake.md"]},
            {"id": "twice", "kind": "detail", "text": "One?", "documents": ["lake.md"]},
            {"id": "twice", "kind": "detail", "text": "Two?", "documents": ["lake.md"]},
            {"id": "nothing", "kind": "detail", "text": "", "colour": "red"},
        ]
        found = exchange.read_import(shelf_of(), yaml.safe_dump(entries).encode(), DOCUMENTS)
        assert found.questions == ()
        for said in ("'open-lake' is in use", "generated", "2 questions have this id", "unknown keys colour", "text is missing"):
            assert any(said in problem for problem in found.problems), said

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"", "expected a list"),
            (b"[]", "no question"),
            (b"just text", "expected a list"),
            (b"\xff\xfe\x00", "utf-8"),
            (b"- [" * 5000, "the file"),
            (b"!!python/object/apply:os.system [id]", "the file"),
            (b"- &a [x, x]\n- [*a, *a]\n", "the alias *a"),
            (b"# " + b"x" * exchange.MAX_IMPORT, "at most 1,000,000 bytes"),
        ],
        ids=["empty", "no entry", "text", "no utf-8", "deep", "tag", "alias", "large"],
    )
    def test_what_is_no_file_of_questions_is_told(self, data: bytes, said: str) -> None:
        """In a sentence, whatever it is."""
        found = exchange.read_import(shelf_of(), data, DOCUMENTS)
        assert found.questions == ()
        assert any(said in problem for problem in found.problems)

    def test_a_small_file_that_unfolds_to_a_huge_one_is_refused_at_once(self) -> None:
        """Aliases of aliases: written out, this would have 10¹² entries."""
        lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"- &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 12)]
        found = exchange.read_import(shelf_of(), "\n".join(lines).encode(), DOCUMENTS)
        assert found.problems == ("line 2: expected every part written out, got the alias *a0",)

    def test_findings_about_sealed_questions_say_nothing_of_them(self) -> None:
        """Also before they are taken."""
        sealed = yaml.safe_dump([{"id": "s", "kind": "detail", "split": "sealed", "text": "A secret?", "documents": ["gone.md"]}])
        found = exchange.read_import(shelf_of(), sealed.encode(), DOCUMENTS)
        assert [(each.kind, each.message) for each in found.findings] == [("document", editing.QUIET["document"])]

    def test_sealed_questions_leave_in_no_file(self, tmp_path: Path) -> None:
        """Neither as YAML nor in a BEIR folder, which the reader of such folders reads back."""
        shelf = shelf_of(a_question(), replace(SEALED, id="mine"))
        whole = exchange.export_yaml(shelf.questions)
        data = exchange.export_beir(shelf, DOCUMENTS)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(tmp_path)
            told = whole + archive.read(f"{NAME}/queries.jsonl").decode() + archive.read(f"{NAME}/qrels/test.tsv").decode()
        assert [secret for secret in SECRETS if secret in told] == []
        assert [each["id"] for each in yaml.safe_load(whole)] == ["open-lake", "own-traps"]
        read = beir.read_collection(tmp_path / NAME, split="test").golden
        assert {question.id: question.evidence for question in read.questions} == {
            "open-lake": ((RISING,),), "own-traps": a_question().evidence,
        }  # fmt: skip
        assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_the_example_in_the_documentation_is_a_question(tmp_path: Path) -> None:
    """With every key but `split` and `about`, and nothing wrong with it beside the entry that it is about."""
    documented = (ROOT / "docs" / "golden-sets.md").read_text(encoding="utf-8")
    file = tmp_path / "example.yaml"
    file.write_text(documented.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    (question,) = load_questions(str(file)).questions
    ahool = document("ahool.md", (ROOT / "data" / "field_guide" / "ahool.md").read_text(encoding="utf-8"))
    found = [editing.look_up(quote, ahool).state for need in question.evidence for quote in need]
    assert found == ["found"] * 3
    assert all(f"`{word}`" in documented for word in editing.QUIET)
    assert editing.problems_of(question) == []
