"""What an update touches, what it does to Recall@5, and that a fall is not published unless somebody wants it."""

import functools
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evals import preflight, results
from evals.editing import add_questions, bundled_set, load_all, own_file
from evals.golden import FIELD_GUIDE, SPLITS, Question, Quote
from evals.grid import Grid
from evals.preflight import Preflight, Recall, Touch, Touched, checking, from_json, measure, preflight_json, summary_lines, touched
from evals.results import Asked, Manifest, Writer
from evals.run import Selection, choose_metrics, execute, plan_run, start
from evals.subject import OWN, Subject
from evals.summary import HEADLINE, summarise
from sitt_core import ingest, notes
from sitt_core.build import Workshop
from sitt_core.configuration import Configuration, configure
from sitt_core.errors import Cancelled, InvalidInput, RecallFell, StoreError
from sitt_core.plan import Update, plan_updates
from sitt_core.store.reading import Corpus
from sitt_core.types import Answer, Citation, Document, Source, Span, Trace, Usage
from tests.fakes import corpora, lab, runs
from tests.fakes.corpora import silent

LAKE = "# The lake serpent\n\nA long neck rose from the cold lake at dawn.\n\n## Traps\n\nFishermen set traps of iron."
NECK = Question(
    "neck", "What rose from the cold lake?", "detail", grades={"lake.md": 1}, evidence=((Quote("lake.md", "A long neck rose"),),)
)
SKY = Question("sky", "How wide is the bird?", "detail", grades={"sky.md": 1}, evidence=((Quote("sky.md", "as wide as a barn"),),))
WHOLE = Question("whole", "Which worm spits acid?", "detail", grades={"desert.md": 1})
TAX = Question("tax", "What is the tax on tin?", "unanswerable", about=("mine.md",))
HIDDEN = Question("hidden-one", "What sleeps under the orchard's trees?", "detail", "sealed", {"orchard.md": 1})
QUESTIONS = {
    question.id: question
    for question in (
        NECK,
        SKY,
        WHOLE,
        Question("lost", "Which little men knock on the walls?", "detail", grades={"mine.md": 1}),
        Question("found", "Who tames the kraken?", "detail", grades={"island.md": 1}),
        replace(NECK, id="stale", text="What did an update remove?", evidence=((Quote("lake.md", "an update removed this"),),)),
        replace(NECK, id="stays", text="Of what are traps?", evidence=((Quote("lake.md", "traps of iron"),),)),
        TAX,
    )
}
EMBEDDERS: dict[Any, Any] = {}
"""Shared by all workshops here."""


@dataclass
class Place:
    """A data folder with the tales, published."""

    workshop: Workshop
    corpus: Corpus

    def updates(self, documents: Sequence[Document]) -> list[Update]:
        return plan_updates(self.corpus, [(corpora.listing(documents), corpora.ORIGIN)], allow_removals=12)

    def touched(self, documents: Sequence[Document]) -> Touched:
        return touched(self.workshop.settings, self.corpus, self.updates(documents))

    def own(self, *questions: Question) -> None:
        add_questions(self.workshop.settings, corpora.NAME, questions)

    def apply(self, documents: Sequence[Document], check: ingest.Check | None) -> None:
        recipe, updates = self.workshop.recipe(lab.BASE, language="english"), self.updates(documents)
        ingest.apply_update(self.corpus.folder.parent, self.corpus, updates, recipe=recipe, report=silent, allow_removals=12, check=check)

    def measured(self, documents: Sequence[Document], *configurations: Configuration) -> list[Preflight]:
        """The pre-flights, one for each configuration, of an update that is published."""
        found: list[Preflight] = []
        seen = self.touched(documents)

        def check(after: Corpus) -> None:
            found.extend(measure(self.workshop, self.corpus, after, each, seen, report=silent) for each in configurations or [lab.BASE])

        self.apply(documents, check)
        return found


@functools.cache
def a_store(folder: Path) -> Path:
    made = lab.workshop(folder)
    made._embedders = EMBEDDERS
    recipe = made.recipe(lab.BASE, language="english")
    corpora.update(made.settings.store_dir, corpora.listing(corpora.tales()), recipe)
    return made.settings.store_dir


def a_place(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    workshop = lab.workshop(folder)
    workshop._embedders = EMBEDDERS
    shutil.copytree(a_store(tmp_path_factory.getbasetemp() / "preflight"), workshop.settings.store_dir)
    return Place(workshop, workshop.corpus(corpora.NAME))


@pytest.fixture
def place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return a_place(tmp_path, tmp_path_factory)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Preflight, ...]:
    """The pre-flights of an update that changes what `QUESTIONS` find, under several configurations; the first is the default."""
    place = a_place(tmp_path_factory.mktemp("changed"), tmp_path_factory)
    place.own(*QUESTIONS.values())
    alike = [corpora.document(f"x{at}.md", "# Little men\n\nWhich little men knock on the walls? " + "These. " * at) for at in range(6)]
    changes = {
        "lake.md": LAKE.replace("A long neck rose", "Two long necks rose"),
        "sky.md": "# The sky bird\n\nA bird as wide as a barn crossed the sky.\n\nIt is as wide as a barn.",
        "desert.md": None,
        "island.md": "# The island eel\n\nWho tames the kraken of Norway? An eel.",
    }
    varied = [{}, {"dense": "off"}, {"keyword": "off"}, {"fusion": "convex"}]
    return tuple(place.measured(edited(changes, *alike), *(configure({**lab.EMBEDDER, **each}) for each in varied)))


def published(documents: Sequence[Document], tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A generation of other documents, to compare the tales with."""
    folder = tmp_path_factory.mktemp("other")
    recipe = a_place(folder / "tales", tmp_path_factory).workshop.recipe(lab.BASE, language="english")
    return corpora.publish(folder / "store", documents, made_from=recipe)


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A generation that has none of the tales."""
    return published([corpora.document("z.md", "# Z\n\nNothing.")], tmp_path_factory)


@pytest.fixture(scope="module")
def without_lake(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A generation without the lake, and with a document more."""
    return published(edited({"lake.md": None}, corpora.document("z.md", "# Z\n\nNothing.")), tmp_path_factory)


def edited(changes: Mapping[str, str | None], *added: Document) -> list[Document]:
    """The tales with other texts by document, None for one that is gone."""
    kept = [replace(each, sha256=each.sha256) for each in corpora.tales() if changes.get(each.id, "") is not None]
    return [*(corpora.document(each.id, changes[each.id] or "") if each.id in changes else each for each in kept), *added]


def written(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file under a folder, with when it was written and what it holds."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()}


def log(place: Place, *cited: tuple[str, str], corpus: str = corpora.NAME, conversation: str = "c-1", **changes: Any) -> str:
    """Puts an answer that cites those quotes of those documents into the log, and returns its id."""
    citations = []
    for marker, (document_id, quote) in enumerate(cited, start=1):
        stored = place.corpus.document(document_id)
        at = stored.text.find(quote)
        span = Span(at, at + len(quote)) if at >= 0 else None
        made = Citation(marker, document_id, "", span, quote, "quoted", Source("", "", ""), "", stored.sha256, 1)
        citations.append(replace(made, **changes))
    answer = Answer("Who?", "It.", (), tuple(citations), (), (), Trace((), 0.0), False, "end", "", "extractive", "", Usage(), "1")
    return notes.log_answer(place.workshop.settings.notes_dir, conversation, answer, corpus=corpus, fields={}).id


def keep_run(
    place: Place, *answers: tuple[str, str, str], number: int = 1, corpus: str = corpora.NAME, metric: str = "refused", text: str = ""
) -> str:
    """A run whose answers to the questions of those ids each cite a quote of a document."""
    entry = runs.entry()
    manifest = Manifest(
        id=f"20260101-000000-{number:04x}",
        name="",
        started=0.0,
        corpus=corpus,
        corpus_sha256="",
        golden="",
        golden_place="",
        golden_sha256="",
        metrics=(metric,),
        configurations=(entry,),
    )
    asked = [Asked(id_, text or f"{id_}?", "detail", document) for id_, document, _ in answers]
    run = results.create(place.workshop.settings.runs_dir, manifest, asked)
    with results.writing(run):
        writer = Writer(run)
        for q, (_, document, quote) in enumerate(answers):
            at = place.corpus.document(document).text.find(quote)
            cited = [[document, at, at + len(quote), "quoted"], [document, 0, 0, "absent"], ["junk"], None]
            writer.append({"c": 0, "q": q, metric: 0.0, "error": "", "answer": {"text": "It.", "citations": cited}})
        writer.close(failures={})
    return manifest.id


class TestQuestions:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param(None, ("removed", True), id="removed"),
            pytest.param(LAKE.replace("A long neck rose", "Two long necks rose"), ("changed", True), id="its sentence"),
            pytest.param(LAKE.replace("at dawn", "at dusk"), ("changed", False), id="its paragraph"),
            pytest.param(LAKE.replace("A long neck rose", "A long neck\nrose"), ("changed", False), id="white space in it"),
            pytest.param(LAKE + "\n\nA long neck rose again.", ("changed", False), id="the same words once more"),
            pytest.param(LAKE.replace("of iron", "of rope"), None, id="elsewhere"),
            pytest.param(LAKE.replace("## Traps", "Nobody knows.\n\n## Traps"), None, id="a paragraph more"),
            pytest.param("# The lake serpent\n\nFishermen set traps.\n\nA long neck rose from the cold lake at dawn.", None, id="moved"),
        ],
    )
    def test_evidence(self, place: Place, text: str | None, expected: tuple[str, bool] | None) -> None:
        """Touched by what changes its lines or how it is found, lost where its words stand nowhere any more."""
        place.own(NECK)
        found = place.touched(edited({"lake.md": text}))
        assert [(touch.how, touch.lost) for touch in found.touches] == ([expected] if expected else [])
        assert all(touch == Touch("question", "neck", NECK.text, "lake.md", touch.how, touch.lost) for touch in found.touches)
        assert (found.counts["question"], found.lost["question"]) == (expected is not None, expected is not None and expected[1])
        assert found.questions == ({"neck"} if expected else set())

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param(None, ("removed", True), id="removed"),
            pytest.param("# The desert worm\n\nIt sleeps.", ("changed", False), id="changed"),
            pytest.param("# The desert worm\n\nA red worm spits acid from the sand.\n\nIt sleeps.", None, id="only added to"),
        ],
    )
    def test_without_evidence_the_expected_document_counts(self, place: Place, text: str | None, expected: tuple[str, bool] | None) -> None:
        """As a whole: any line of it that is no longer there."""
        place.own(WHOLE)
        assert [(touch.how, touch.lost) for touch in place.touched(edited({"desert.md": text})).touches] == ([expected] if expected else [])

    def test_other_facts_of_a_document_touch_nothing(self, place: Place) -> None:
        """A plan calls a document changed when its category is another; its passages are as they were."""
        place.own(NECK, WHOLE)
        documents = [replace(each, category="winged", sha256="0" * 64) for each in corpora.tales()]
        assert len(place.updates(documents)[0].plan.changed) == len(documents)
        assert place.touched(documents) == Touched()

    def test_what_counts(self, place: Place) -> None:
        """A question once however many documents of its are touched; none for what an unanswerable one is about; none for what is added."""
        needs = ((Quote("forest.md", "left footprints"), Quote("ice.md", "footprints of a giant")),)
        place.own(replace(NECK, id="prints", grades={"forest.md": 1, "ice.md": 1}, evidence=needs), TAX)
        found = place.touched(edited({"forest.md": None, "ice.md": "# The ice man\n\nNothing.", "mine.md": None}))
        assert {(touch.document_id, touch.how) for touch in found.touches} == {("forest.md", "removed"), ("ice.md", "changed")}
        assert (found.counts["question"], found.lost["question"]) == (1, 1)
        assert place.touched([*corpora.tales(), corpora.document("new.md", "# New\n\nA long neck rose.")]) == Touched()

    def test_a_document_that_another_source_brings_back(self, place: Place) -> None:
        """Nothing is removed that the same update adds as it was; what it adds in other words is changed."""
        place.own(NECK, SKY)
        moved = [corpora.document("lake.md", LAKE, category="aquatic", region="Europe"), corpora.document("sky.md", "# Sky\n\nNothing.")]
        first = (corpora.listing(edited({"lake.md": None, "sky.md": None})), corpora.ORIGIN)
        second = (corpora.listing([replace(each, origin="") for each in moved], origin="markdown:other"), "markdown:other")
        updates = plan_updates(place.corpus, [first, second], allow_removals=12)
        assert (updates[0].plan.removed, updates[1].plan.added) == (("lake.md", "sky.md"), ("lake.md", "sky.md"))
        found = touched(place.workshop.settings, place.corpus, updates)
        assert [(touch.document_id, touch.how, touch.lost) for touch in found.touches] == [("sky.md", "changed", True)]

    def test_bundled_questions(self, tmp_path: Path) -> None:
        """Those of the field guide count in its corpus; of the sealed ones there is no trace."""
        workshop, golden = lab.workshop(tmp_path), bundled_set(FIELD_GUIDE)
        open_, sealed = (next(each.primary for each in golden.questions if each.split == split and each.evidence) for split in SPLITS)
        documents = [corpora.document(id_, f"# {id_}\n\nNothing.") for id_ in (open_, sealed, "zz.md")]
        recipe = workshop.recipe(lab.BASE, language="english")
        corpora.update(workshop.settings.store_dir, corpora.listing(documents), recipe, name=FIELD_GUIDE)
        corpus = workshop.corpus(FIELD_GUIDE)
        updates = plan_updates(corpus, [(corpora.listing(documents[-1:]), corpora.ORIGIN)], allow_removals=2)
        assert updates[0].plan.removed == tuple(sorted((open_, sealed)))
        found = touched(workshop.settings, corpus, updates)
        split = {question.id: question.split for question in golden.questions}
        assert {split[id_] for id_ in found.questions} == {"open"}

    def test_own_questions_that_cannot_be_read(self, place: Place) -> None:
        """Are a note; everything else is looked at."""
        file = own_file(place.workshop.settings, corpora.NAME)
        file.parent.mkdir(parents=True)
        file.write_text("- 7", encoding="utf-8")
        log(place, ("lake.md", "long neck"))
        found = place.touched(edited({"lake.md": None}))
        assert "your own questions could not be read" in found.note
        assert found.counts["citation"] == 1

    def test_a_file_that_is_damaged_betrays_no_sealed_question(self, place: Place, nothing: Corpus) -> None:
        """Neither in what cannot be read, nor in a kept answer to what may be one."""
        place.own(HIDDEN)
        keep_run(place, (HIDDEN.id, "lake.md", "long neck rose"), text=HIDDEN.text)
        file = own_file(place.workshop.settings, corpora.NAME)
        file.write_text(f"{file.read_text(encoding='utf-8')}- {HIDDEN.text!r}\n- id: {HIDDEN.id}\n", encoding="utf-8")
        seen = place.touched(edited({"lake.md": None}))
        measured = measure(place.workshop, place.corpus, nothing, lab.BASE, seen, report=silent)
        said = json.dumps([seen.to_json(), measured.to_json()])
        assert (file.name in seen.note, file.name in measured.note) == (True, True)
        assert not any(words in said for words in (HIDDEN.text, HIDDEN.id))


class TestCitations:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param(None, [("removed", True)], id="removed"),
            pytest.param(LAKE.replace("long neck", "short neck"), [("changed", True)], id="the quoted words"),
            pytest.param(LAKE.replace("at dawn", "at dusk"), [("changed", False)], id="its paragraph"),
            pytest.param(LAKE.replace("of iron", "of rope"), [], id="elsewhere"),
        ],
    )
    @pytest.mark.parametrize("sha256", ["", "older"])
    def test_a_quote(self, place: Place, text: str | None, expected: list[tuple[str, bool]], sha256: str) -> None:
        """As evidence is; in an answer from before another update it is looked for by its words."""
        id_ = log(place, ("lake.md", "long neck rose"), **({"sha256": sha256, "span": Span(0, 3)} if sha256 else {}))
        found = place.touched(edited({"lake.md": text}))
        assert found.touches == tuple(
            Touch("citation", f"{id_}:1", "long neck rose", "lake.md", how, lost, "c-1")  # type: ignore[arg-type]
            for how, lost in expected
        )
        assert found.counts["citation"] == len(expected)

    def test_what_does_not_count(self, place: Place) -> None:
        """Answers about another corpus, quotes that stood nowhere, quotes that an earlier update has lost, what is no line of a log."""
        log(place, ("lake.md", "long neck"), corpus="other")
        log(place, ("lake.md", "no such words"), conversation="c-2")
        log(place, ("lake.md", "long neck"), conversation="c-2", corpus="other")
        log(place, ("lake.md", "words of once"), conversation="c-2", sha256="older", span=Span(0, 3))
        file = place.workshop.settings.notes_dir / "answers" / "c-2.jsonl"
        answer = {"id": "x", "asked": 0.0, "corpus": corpora.NAME, "fields": {}, "filters": {}}
        for citations in ("many", [7, {"document_id": "lake.md"}, {"document_id": ["lake.md"]}, None]):
            line = {"answer": answer | {"record": {"question": "Who?", "text": "It.", "citations": citations}}}
            file.write_text(file.read_text(encoding="utf-8") + json.dumps(line) + "\n", encoding="utf-8")
        file.write_text(file.read_text(encoding="utf-8") + '{"answer": {"torn', encoding="utf-8")
        assert place.touched(edited({"lake.md": None})).touches == ()

    def test_older_conversations_are_counted(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        """The newest are read, however many others there are about another corpus."""
        monkeypatch.setattr(preflight, "MOST_CONVERSATIONS", 2)
        for number in range(5):
            log(place, ("lake.md", "long neck"), conversation=f"c-{number}", corpus="other" if number == 4 else corpora.NAME)
            os.utime(place.workshop.settings.notes_dir / "answers" / f"c-{number}.jsonl", (number, number))
        found = place.touched(edited({"lake.md": None}))
        assert {touch.where for touch in found.touches} == {"c-3", "c-2"}
        assert (found.counts["citation"], found.unread["conversations"]) == (2, 2)

    def test_a_log_that_cannot_be_read_is_a_note(self, place: Place) -> None:
        """Questions are still told."""
        place.own(NECK)
        (place.workshop.settings.notes_dir / "answers" / "c-1.jsonl").mkdir(parents=True)
        found = place.touched(edited({"lake.md": None}))
        assert "the answers log could not be read" in found.note
        assert found.questions == {"neck"}

    def test_so_many_are_told_and_all_are_counted(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those that are lost first."""
        monkeypatch.setattr(preflight, "MOST_TOLD", 2)
        log(place, ("lake.md", "cold lake"), ("lake.md", "long neck"), ("sky.md", "as a barn"), ("lake.md", "at dawn"))
        changes = {"lake.md": LAKE.replace("at dawn", "at dusk"), "sky.md": None}
        found = place.touched(edited(changes))
        assert [touch.text for touch in found.touches] == ["as a barn", "at dawn"]
        assert (found.counts["citation"], found.lost["citation"]) == (4, 2)


class TestAnswersOfRuns:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param(None, [("removed", True)], id="removed"),
            pytest.param(LAKE.replace("long neck", "short neck"), [("changed", True)], id="the quoted words"),
            pytest.param(LAKE.replace("at dawn", "at dusk"), [("changed", False)], id="its paragraph"),
            pytest.param(LAKE.replace("of iron", "of rope"), [], id="elsewhere"),
        ],
    )
    def test_a_kept_answer(self, place: Place, text: str | None, expected: list[tuple[str, bool]]) -> None:
        """Is touched where a quote of it is; other corpora's runs, runs without answers and damaged ones are passed over."""
        id_ = keep_run(place, ("who", "lake.md", "long neck rose"), ("what", "sky.md", "a barn"))
        keep_run(place, ("who", "lake.md", "long neck rose"), number=2, corpus="other")
        keep_run(place, ("who", "lake.md", "long neck rose"), number=3, metric="recall@5")
        damaged = place.workshop.settings.runs_dir / keep_run(place, ("who", "lake.md", "long neck rose"), number=4)
        (damaged / results.TABLE).write_bytes(b"no Parquet")
        unreadable = place.workshop.settings.runs_dir / keep_run(place, ("who", "lake.md", "long neck rose"), number=5)
        (unreadable / results.MANIFEST).write_text("{", encoding="utf-8")
        found = place.touched(edited({"lake.md": text}))
        key = runs.entry().key
        assert found.touches == tuple(
            Touch("answer", f"{key}:who", "who?", "lake.md", how, lost, id_)  # type: ignore[arg-type]
            for how, lost in expected
        )
        assert found.counts["answer"] == len(expected)

    def test_older_runs_are_counted(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        """The newest with answers are read."""
        monkeypatch.setattr(preflight, "MOST_RUNS", 1)
        ids = [keep_run(place, ("who", "lake.md", "long neck"), number=number) for number in (1, 2, 3)]
        found = place.touched(edited({"lake.md": None}))
        assert ([touch.where for touch in found.touches], found.unread["runs"]) == (ids[-1:], 2)


class TestRecall:
    def test_it_is_what_runs_find_before_and_after(self, place: Place) -> None:
        """The headline of a run over either generation, and its figure for the generated questions."""
        place.own(NECK, SKY, WHOLE, TAX, HIDDEN)
        other = [corpora.document(f"x{at}.md", f"# X {at}\n\nThe cold lake rose: what a lake, what a worm.") for at in range(6)]
        documents = edited({"sky.md": "# Sky\n\nSomething as wide as a barn.", "ice.md": None}, *other)
        before = self._run(place)
        (found,) = place.measured(documents)
        after = self._run(Place(place.workshop, place.workshop.corpus(corpora.NAME)))
        assert (found.all.questions, found.all.before, found.all.after) == (3, before[0], after[0])
        assert found.generated.before == before[1]
        assert found.left_out == 0

    def _run(self, place: Place) -> tuple[float | None, float | None]:
        titles = [(each.id, each.title) for each in place.corpus.documents if each.id != "ice.md"]
        golden = load_all(place.workshop.settings, corpora.NAME, [each for each in titles if each[0][0] != "x"])
        subject = Subject(place.corpus, golden, OWN)
        plan = plan_run(place.workshop, subject, Selection(), Grid((lab.BASE,)), choose_metrics([HEADLINE]))
        (result,) = summarise(execute(place.workshop, start(place.workshop, subject, plan), subject, report=silent))
        return result.metrics[HEADLINE].mean, result.kinds["named"][HEADLINE].mean

    @pytest.mark.parametrize(
        ("id_", "before", "after", "touched_", "why"),
        [
            pytest.param("neck", 1.0, 0.0, True, "its evidence is no longer in the corpus", id="words that go"),
            pytest.param(
                "sky", 1.0, 0.0, True, "its evidence can no longer be told: it stands at several places", id="words that come again"
            ),
            pytest.param("whole", 1.0, 0.0, True, "no document that it expects is in the corpus any more", id="a document that goes"),
            pytest.param("lost", 1.0, 0.0, False, "now at rank 7, before at 1", id="others that come before it"),
            pytest.param("found", 0.0, 1.0, True, "now at rank 1, before at 9", id="words that are asked for"),
        ],
    )
    def test_a_question_that_turns(
        self, changed: tuple[Preflight, ...], id_: str, before: float, after: float, touched_: bool, why: str
    ) -> None:
        """With its evidence, which counts 0 where it can no longer be told though the document is found, or by its rank."""
        (turned,) = (each for each in changed[0].turned if each.id == id_)
        assert (turned.before, turned.after, turned.touched, turned.why) == (before, after, touched_, why)

    def test_the_figures(self, changed: tuple[Preflight, ...]) -> None:
        """Over all open questions and over those that are touched; what was stale before is left out, and counted."""
        found = changed[0]
        assert [each.id for each in found.turned if each.id in QUESTIONS][-1] == "found"
        assert (found.all, found.touched, found.left_out) == (Recall(6, 5 / 6, 2 / 6), Recall(4, 0.75, 0.25), 1)
        assert (found.all.drop, found.fell) == (0.5, True)
        assert "Left out: 1 question that could not be asked before either." in found.lines()

    def test_any_retrieval(self, changed: tuple[Preflight, ...]) -> None:
        """One that needs no vector of a question, no words of one, or other sums."""
        assert [(found.all.questions, found.left_out) for found in changed] == [(6, 1)] * 4
        assert all({"neck", "sky", "whole"} <= {each.id for each in found.turned} for found in changed)

    def test_generated_questions(self, place: Place, without_lake: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ask for documents that are there before and after; where nobody has written any they are all there is."""

        def found() -> Preflight:
            return measure(place.workshop, place.corpus, without_lake, lab.BASE, Touched(), report=silent)

        golden = load_all(place.workshop.settings, corpora.NAME, [(each.id, each.title) for each in place.corpus.documents])
        expected = [question for question in golden.questions if question.split == "open" and question.primary != "lake.md"]
        assert found().all == found().generated
        assert found().generated.questions == len(expected) > 3
        assert "the generated ones were" in found().note
        monkeypatch.setattr(preflight, "MOST_GENERATED", 3)
        assert 1 < found().generated.questions <= 3

    @pytest.mark.parametrize(
        ("why", "note"),
        [
            ("none", "no open question"),
            ("sealed", "no open question"),
            ("unreadable", "cannot be read"),
            ("index", "cannot be searched"),
            ("first", "no earlier generation"),
        ],
    )
    def test_without_figures(self, place: Place, nothing: Corpus, why: str, note: str) -> None:
        """A note says why, and that is no fall: no open question, none that can be read, no index or no generation before."""
        configuration = configure({**lab.EMBEDDER, "chunking.size": 60, "chunking.overlap": 0}) if why == "index" else lab.BASE
        if why in ("sealed", "index"):
            place.own(HIDDEN if why == "sealed" else NECK)
        if why == "unreadable":
            file = own_file(place.workshop.settings, corpora.NAME)
            file.parent.mkdir(parents=True)
            file.write_text("- 7", encoding="utf-8")
        before = None if why == "first" else place.corpus
        found = measure(place.workshop, before, nothing, configuration, Touched(), report=silent)
        assert note in found.note
        assert found == Preflight(note=found.note, unreadable=why == "unreadable")
        assert (found.fell, found.drop) == (False, 0.0)

    def test_a_drop_is_no_larger_than_it_is(self) -> None:
        """1 − .95 is .05, not a little more."""
        assert 1.0 - 0.95 > 0.05
        assert Recall(20, 1.0, 0.95).drop == 0.05
        assert Recall(20, 0.95, 1.0).drop == -0.05
        assert Recall().drop == 0.0


def nobody(_found: Preflight) -> None:
    """Is told and says nothing."""


class TestChecking:
    def check(self, place: Place, documents: Sequence[Document], **options: Any) -> ingest.Check:
        given = {"max_drop": 0.0, "confirm": None, "tell": nobody, "report": silent, **options}
        return checking(place.workshop, place.corpus, place.updates(documents), lab.BASE, **given)

    def state(self, place: Place) -> tuple[str, list[str]]:
        folder = place.corpus.folder.parent
        kept = [path.name for path in folder.iterdir() if path.is_dir() and path.name != "vectors"]
        return (folder / "CURRENT").read_text(encoding="ascii").strip(), sorted(kept)

    @pytest.mark.parametrize(
        ("max_drop", "answer", "published"),
        [
            pytest.param(0.49, None, False, id="above the limit"),
            pytest.param(0.5, None, True, id="at the limit"),
            pytest.param(1.0, False, False, id="nobody confirms"),
            pytest.param(0.0, True, True, id="confirmed"),
        ],
    )
    def test_a_fall(self, place: Place, max_drop: float, answer: bool | None, published: bool) -> None:
        """Is told in any case; refused, nothing that is served changes, and nothing is left behind."""
        place.own(NECK, SKY)
        documents = edited({"lake.md": None})
        told: list[Preflight] = []
        asked: list[Preflight] = []

        def confirm(found: Preflight) -> bool:
            asked.append(found)
            return bool(answer)

        check = self.check(place, documents, max_drop=max_drop, confirm=None if answer is None else confirm, tell=told.append)
        if published:
            place.apply(documents, check)
            assert self.state(place) == ("000002", ["000001", "000002"])
        else:
            with pytest.raises(RecallFell):
                place.apply(documents, check)
            assert self.state(place) == ("000001", ["000001"])
        assert [found.all for found in told] == [Recall(2, 1.0, 0.5)]
        assert asked == ([] if answer is None else told)

    def test_no_fall_asks_nobody(self, place: Place) -> None:
        """An update that loses nothing, and one of which nothing can be said."""
        place.own(NECK)

        def never(_found: Preflight) -> bool:
            raise AssertionError("asked")

        documents = edited({"lake.md": LAKE.replace("of iron", "of rope")})
        place.apply(documents, self.check(place, documents, confirm=never))
        assert self.state(place)[0] == "000002"

    def test_what_is_touched_can_be_given(self, place: Place, without_lake: Corpus) -> None:
        """Whoever has shown it need not have it looked up again."""
        place.own(NECK, SKY)
        told: list[Preflight] = []
        given = Touched((Touch("question", "sky", SKY.text, "sky.md", "changed", False),))
        self.check(place, edited({"lake.md": None}), max_drop=1.0, touched=given, tell=told.append)(without_lake)
        assert told[0].touched == Recall(1, 1.0, 1.0)

    def test_the_generated_questions_must_not_fall_either(self, place: Place) -> None:
        """However few questions are written by hand: a document that its own name no longer finds is a fall."""
        place.own(SKY)
        alike = [corpora.document(f"x{at}.md", f"# Tell me about the lake serpent {at}\n\nThe lake serpent.") for at in range(9)]
        documents = edited({"lake.md": "# The lake serpent\n\nNothing " + "of it " * 90}, *alike)
        told: list[Preflight] = []
        with pytest.raises(RecallFell, match="generated questions before the update"):
            place.apply(documents, self.check(place, documents, tell=told.append))
        assert (told[0].all.drop, told[0].drop) == (0.0, told[0].generated.drop)

    def test_a_fall_of_those_that_are_touched(self, place: Place, nothing: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        """Is a fall to ask about, though others rise as much; without anybody to ask, all open questions decide."""
        found = Preflight(all=Recall(2, 0.5, 0.5), touched=Recall(1, 1.0, 0.0))
        monkeypatch.setattr(preflight, "measure", lambda *_, **__: found)
        assert found.fell
        with pytest.raises(RecallFell, match=r"1\.00 on 1 touched question before"):
            self.check(place, [], confirm=lambda _: False)(nothing)
        self.check(place, [])(nothing)

    def test_the_message(self, place: Place, without_lake: Corpus) -> None:
        """Both figures, how many turned, some of them, and what to do."""
        place.own(NECK, SKY, WHOLE, *(replace(NECK, id=f"n{at}", text=f"Which neck rose, {at}?") for at in range(4)))
        with pytest.raises(RecallFell) as caught:
            self.check(place, edited({"lake.md": None}))(without_lake)
        message = str(caught.value)
        assert "Recall@5, 1.00 on 7 open questions before the update, to fall by at most 0; got .286 after it" in message
        assert "5 questions lost and 0 found" in message
        assert f"{NECK.text} (its evidence is no longer in the corpus)" in message
        assert "; and 2 more" in message
        assert message.endswith("--max-recall-drop 0.715")
        assert caught.value.exit_code == 4

    @pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf])
    def test_an_impossible_limit(self, place: Place, value: float) -> None:
        """Is refused before anything is built."""
        with pytest.raises(InvalidInput, match="from 0 to 1"):
            self.check(place, [], max_drop=value)

    def test_a_stop_publishes_nothing(self, place: Place) -> None:
        """Between two questions."""
        place.own(NECK, SKY)

        def stop(stage: str, done: int, _total: int) -> None:
            if (stage, done) == ("ask questions", 1):
                raise Cancelled(expected="to go on", got="a stop", remedy="")

        documents = edited({"lake.md": None})
        with pytest.raises(Cancelled):
            place.apply(documents, self.check(place, documents, max_drop=1.0, report=stop))
        assert self.state(place) == ("000001", ["000001"])

    def test_nothing_is_written_and_nothing_stays_open(self, place: Place) -> None:
        """No file of the store, the notes or the runs is another after a look and a measurement."""
        place.own(NECK, SKY, HIDDEN)
        log(place, ("lake.md", "long neck"))
        keep_run(place, ("who", "lake.md", "long neck"))
        documents = edited({"lake.md": None})
        data = place.workshop.settings.data_dir
        check = self.check(place, documents, max_drop=1.0)
        same: list[bool] = []

        def checked(after: Corpus) -> None:
            before = written(data)
            check(after)
            same.append(written(data) == before)

        place.apply(documents, checked)
        assert same == [True]
        if sys.platform == "linux":
            held = [str(each.resolve()) for each in Path("/proc/self/fd").iterdir()]
            assert [path for path in held if path.startswith(str(data)) and "000001" not in path] == []


def test_nothing_of_a_sealed_question_is_told(place: Place, nothing: Corpus) -> None:
    """Neither its text nor its id, from the questions, from runs that it was once asked in, or from figures and words about them."""
    evidence = ((Quote("orchard.md", "sleeps in the orchard"),),)
    place.own(NECK, replace(HIDDEN, evidence=evidence), replace(HIDDEN, id="hidden-two", text="Which hidden cat is as large as a hound?"))
    keep_run(place, ("hidden-one", "orchard.md", "black cat"), number=1)
    keep_run(place, ("once", "orchard.md", "black cat"), number=2, text=HIDDEN.text)
    seen = place.touched([corpora.document("z.md", "# Z\n\nNothing.")])
    found = measure(place.workshop, place.corpus, nothing, lab.BASE, seen, report=silent)
    told = json.dumps(preflight_json(seen, found)) + "".join(summary_lines(seen, found)) + repr((seen, found))
    assert "orchard" not in told
    assert "hidden" not in told
    assert (seen.counts, found.all.questions, found.touched.questions) == ({"question": 1, "citation": 0, "answer": 0}, 1, 1)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, without_lake: Corpus) -> tuple[Touched, Preflight]:
    """A look and a measurement with something of everything."""
    place = a_place(tmp_path_factory.mktemp("both"), tmp_path_factory)
    place.own(NECK, SKY)
    log(place, ("lake.md", "long neck"), ("sky.md", "a barn"))
    sky = "# The sky bird\n\nA bird as wide as a barn crossed the morning sky."
    seen = place.touched(edited({"lake.md": None, "sky.md": sky}))
    return seen, measure(place.workshop, place.corpus, without_lake, lab.BASE, seen, report=silent)


class TestTelling:
    def test_json_is_read_back_as_it_was(self, both: tuple[Touched, Preflight]) -> None:
        """Through a file, before anything is measured, and after."""
        seen, found = both
        assert seen.touches
        assert found.turned
        for value in ((seen, found), (seen, None), (Touched(), Preflight(note="nothing"))):
            assert from_json(json.loads(json.dumps(preflight_json(*value)))) == value

    @pytest.mark.parametrize(
        "change", [lambda told: told.pop("touched"), lambda told: told.update(preflight=7)], ids=["a part missing", "another form"]
    )
    def test_other_json_is_refused(self, both: tuple[Touched, Preflight], change: Callable[[dict[str, Any]], object]) -> None:
        """As what a job of another version left."""
        told = preflight_json(*both)
        change(told)
        with pytest.raises(StoreError, match="a pre-flight as it is kept"):
            from_json(told)

    def test_in_words(self, both: tuple[Touched, Preflight]) -> None:
        """What is touched, both figures, what turned."""
        seen, found = both
        lines = summary_lines(seen, found)
        assert lines[0] == "Touches 2 open questions, of which 1 loses what it rests on: in lake.md, sky.md."
        assert lines[1] == "Touches 2 citations of past answers, of which 1 loses what it rests on: in lake.md, sky.md."
        assert "Recall@5 on all open questions (2): 1.00 before, .500 after." in lines
        assert "Recall@5 on those that are touched (2): 1.00 before, .500 after." in lines
        assert f"lost: {NECK.text} (its evidence is no longer in the corpus)" in lines

    def test_nothing_in_words(self) -> None:
        """Nothing touched, nothing measured; and what was not looked through."""
        assert Touched().lines() == ["Touches no open question, no citation of past answers and no kept answer of runs."]
        assert Preflight(note="no index").lines() == ["Note: no index"]
        unread = Touched(unread={"conversations": 1, "runs": 12}, note="damaged").lines()
        assert unread[1:] == ["Not looked through: 1 conversation and 12 runs, older than those that were.", "Note: damaged"]
