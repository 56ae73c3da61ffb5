"""Golden sets: what may be written, what is told when it is wrong, and where evidence stands."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.golden import (
    CHECKED_FOR_WORDING,
    FIELD_GUIDE,
    KINDS,
    MAX_CONTAINMENT,
    MAX_LISTED,
    SEALED_SHARE,
    GoldenSet,
    Question,
    Quote,
    check_questions,
    containment,
    load_questions,
    places_of,
    resolve,
    sealed_shares,
    with_named,
    write_questions,
)
from evals.metrics import Gold
from sitt_core.build import read_source
from sitt_core.errors import InvalidInput, NotFound
from sitt_core.types import Document, Place, Source

LEAST = {"thematic": 40, "alias": 20, "described": 50, "detail": 80, "combined": 20, "unanswerable": 25}
"""How many questions of each kind the field guide is to have at least."""
LOCH = "The Loch\n\nNess monster lives in a lake.  The lake is deep. The lake is deep.\nNobody saw it in Storsj\u00f6n."
NFD = normalize("NFD", "Many have seen the Storsj\u00f6 monster \u2013 in the lake Storsj\u00f6n.")
TEXTS = {"loch.md": LOCH, "nfd.md": NFD}


def fold(text: str) -> str:
    return " ".join(normalize("NFC", text).split())


def a_document(id_: str, text: str = "") -> Document:
    return Document(id_, id_.title(), Source(id_, "", ""), text, (), (), "")


def a_question(id_: str = "q", text: str = "Where is it?", kind: str = "detail", **others: Any) -> Question:
    return Question(id_, text, kind, **{"grades": {"loch.md": 1}, **others})


def quoted(*quotes: str, document: str = "loch.md") -> tuple[Quote, ...]:
    """A need with each of the quotations as an alternative."""
    return tuple(Quote(document, quote) for quote in quotes)


def an_entry(**changes: Any) -> dict[str, Any]:
    """A question as a file holds it, nothing wrong with it; a change to None leaves a key out."""
    quote = {"document": "loch.md", "quote": "in a lake"}
    entry = {"id": "q", "kind": "detail", "text": "Where?", "documents": ["loch.md"], "evidence": [[quote]]} | changes
    return {key: value for key, value in entry.items() if value is not None}


def a_set(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def loaded(folder: Path, *entries: Any) -> tuple[Question, ...]:
    return load_questions(str(a_set(folder, questions=yaml.safe_dump(list(entries))) / "questions.yaml")).questions


def problems(place: Path) -> list[str]:
    """What is told to be wrong with a set."""
    with pytest.raises(InvalidInput) as caught:
        load_questions(str(place))
    count, _, listed = caught.value.got.partition(": ")
    told = re.split(r"; (?=\w+\.yaml|'\w+': \d)", listed)
    assert count == f"{len(told)} problem{'s' * (len(told) > 1)}"
    assert "docs/golden-sets.md" in caught.value.remedy
    return told


@pytest.fixture(scope="module")
def documents() -> tuple[Document, ...]:
    return read_source("field-guide")[0].documents


@pytest.fixture(scope="module")
def golden(documents: Sequence[Document]) -> GoldenSet:
    return with_named(load_questions(FIELD_GUIDE), [(document.id, document.title) for document in documents])


class TestTheFieldGuide:
    def test_nothing_is_wrong(self, golden: GoldenSet, documents: Sequence[Document]) -> None:
        """Evidence, wording, splits and judgements: no finding."""
        assert check_questions(golden, documents) == []

    def test_there_are_enough_of_every_kind(self, golden: GoldenSet, documents: Sequence[Document]) -> None:
        """300 in all, the least of each kind, exactly one generated question for each entry, and no other kind."""
        counts = Counter(question.kind for question in golden.questions)
        assert len(golden.questions) >= 300
        assert set(counts) == set(KINDS)
        assert {kind: counts[kind] for kind, least in LEAST.items() if counts[kind] < least} == {}
        assert Counter(question.primary for question in golden.questions if question.kind == "named") == Counter(
            document.id for document in documents
        )

    def test_ids_are_unique(self, golden: GoldenSet) -> None:
        """The generated questions' too."""
        assert [id_ for id_, count in Counter(question.id for question in golden.questions).items() if count > 1] == []

    def test_answers_are_written_down(self, golden: GoldenSet) -> None:
        """At least 80 questions have both an answer and the facts that it has to name."""
        assert sum(bool(question.answer and question.facts) for question in golden.questions) >= 80

    def test_two_of_five_are_sealed(self, golden: GoldenSet) -> None:
        """Of every kind, 35 to 45 percent."""
        shares = sealed_shares(golden)
        assert set(shares) == set(KINDS)
        assert {kind: share for kind, share in shares.items() if not 0.35 <= share <= 0.45} == {}

    def test_thematic_questions_are_judged_against_every_entry(self, golden: GoldenSet, documents: Sequence[Document]) -> None:
        """Every one of them and no other; what is relevant is what was answered yes, and some documents are not."""
        thematic = {question.id: question for question in golden.questions if question.kind == "thematic"}
        assert golden.judgements.keys() == thematic.keys()
        entries = {document.id for document in documents}
        for id_, judged in golden.judgements.items():
            assert judged.keys() == entries
            assert {document for document, yes in judged.items() if yes} == set(thematic[id_].documents)
            assert not all(judged.values())

    def test_wording_is_not_copied(self, golden: GoldenSet) -> None:
        """At most 15 % of the word 3-grams of a question are in its evidence, where an answer is described in other words."""
        assert MAX_CONTAINMENT == 0.15
        assert set(CHECKED_FOR_WORDING) == {"thematic", "described", "detail"}
        checked = [question for question in golden.questions if question.kind in CHECKED_FOR_WORDING]
        assert [question.id for question in checked if containment(question) > MAX_CONTAINMENT] == []

    def test_combined_questions_need_several_documents(self, golden: GoldenSet) -> None:
        """Their evidence stands in two at least."""
        combined = [question for question in golden.questions if question.kind == "combined"]
        assert [question.id for question in combined if len({quote.document for need in question.evidence for quote in need}) < 2] == []

    def test_no_document_answers_a_combined_question_alone(self, golden: GoldenSet) -> None:
        """None of them has an alternative of every need."""
        combined = [question for question in golden.questions if question.kind == "combined"]
        alone = {
            question.id: set.intersection(*({quote.document for quote in need} for need in question.evidence)) for question in combined
        }
        assert {id_: documents for id_, documents in alone.items() if documents} == {}

    def test_unanswerable_questions_are_near_misses_or_off_topic(self, golden: GoldenSet) -> None:
        """Both are there on either side; none has a document or evidence."""
        unanswerable = [question for question in golden.questions if not question.answerable]
        assert {(bool(question.about), question.split) for question in unanswerable} == set(
            itertools.product((True, False), ("open", "sealed"))
        )
        assert [question.id for question in unanswerable if question.documents or question.evidence] == []

    def test_hand_written_answerable_questions_have_evidence(self, golden: GoldenSet) -> None:
        """Every one of them, the thematic ones for their documents."""
        written = [question for question in golden.questions if question.answerable and question.kind != "named"]
        assert [question.id for question in written if not question.evidence] == []

    def test_every_quote_is_where_it_is_said_to_be(self, golden: GoldenSet, documents: Sequence[Document]) -> None:
        """No question is stale, and every alternative of every need is one span, whose text is the quote but for form and white space."""
        texts = {document.id: document.text for document in documents}
        count = 0
        for question in golden.questions:
            gold = resolve(question, texts.get)
            assert not gold.stale
            for places, need in zip(gold.needs, question.evidence, strict=True):
                for place, quote in zip(places, need, strict=True):
                    assert place.document_id == quote.document
                    assert fold(texts[quote.document][place.start : place.end]) == fold(quote.quote)
                    count += 1
        assert count >= 200

    def test_it_is_written_as_it_is_read(self, golden: GoldenSet, tmp_path: Path) -> None:
        """Writing and reading every fifth question changes nothing."""
        write_questions(tmp_path / "some.yaml", golden.questions[::5])
        assert load_questions(str(tmp_path / "some.yaml")).sha256 == replace(golden, questions=golden.questions[::5]).sha256


class TestReading:
    def test_everything_that_a_question_may_hold(self, tmp_path: Path) -> None:
        """All keys, texts without white space around them, alternatives and needs in order."""
        quote = {"document": "loch.md", "quote": " The lake\nis deep ", "occurrence": 2}
        other = {"document": "nfd.md", "quote": "Many"}
        entry = an_entry(
            id=" q ",
            split="sealed",
            documents=["loch.md", "nfd.md"],
            evidence=[[quote, other], [other]],
            about=["nfd.md"],
            answer="Deep.",
            facts=["deep", "lake"],
        )
        assert loaded(tmp_path, entry) == (
            Question(
                id="q",
                text="Where?",
                kind="detail",
                split="sealed",
                grades={"loch.md": 1, "nfd.md": 1},
                evidence=((Quote("loch.md", "The lake\nis deep", 2), Quote("nfd.md", "Many")), (Quote("nfd.md", "Many"),)),
                about=("nfd.md",),
                answer="Deep.",
                facts=("deep", "lake"),
            ),
        )

    def test_the_least_that_a_question_holds(self, tmp_path: Path) -> None:
        """Without a split it is open; a kind of its own is allowed; an unanswerable one needs no document."""
        entry = {"id": "a", "text": "Where?", "kind": "riddle", "documents": ["loch.md"]}
        nothing = {"id": "b", "text": "Why?", "kind": "unanswerable"}
        assert loaded(tmp_path, entry, nothing) == (
            Question("a", "Where?", "riddle", grades={"loch.md": 1}),
            Question("b", "Why?", "unanswerable"),
        )

    def test_grades_are_a_mapping(self, tmp_path: Path) -> None:
        """In their order, the first above 0 being the primary one; those at or below 0 are not expected."""
        (question,) = loaded(
            tmp_path, an_entry(documents=None, evidence=None) | {"documents": {"z.md": 0, "b.md": 1, "a.md": 3, "c.md": -1}}
        )
        assert question.grades == {"z.md": 0, "b.md": 1, "a.md": 3, "c.md": -1}

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            pytest.param({"id": None}, ["id is missing or empty"], id="no id"),
            pytest.param({"id": " "}, ["id is missing or empty"], id="blank id"),
            pytest.param({"text": None}, ["text is missing or empty"], id="no text"),
            pytest.param({"kind": ""}, ["kind is missing or empty"], id="empty kind"),
            pytest.param({"id": 7}, ["id: expected text, got '7'; put it between quotation marks", "id is missing"], id="number as id"),
            pytest.param({"text": True}, ["text: expected text, got 'True'", "text is missing"], id="yes as text"),
            pytest.param({"text": ["a"]}, ["text: expected text, got \"['a']\"", "text is missing"], id="list as text"),
            pytest.param({"answer": 1977}, ["answer: expected text, got '1977'"], id="year as answer"),
            pytest.param({"facts": ["a", 1977]}, ["facts: expected text, got '1977'"], id="year as fact"),
            pytest.param({"facts": "a"}, ["facts: expected a list, got 'a'"], id="text as facts"),
            pytest.param({"about": {"a": 1}}, ["about: expected a list"], id="mapping as about"),
            pytest.param({"split": "closed"}, ["expected split to be open or sealed, got 'closed'"], id="unknown split"),
            pytest.param({"split": False}, ["split: expected text", "expected split to be open or sealed, got ''"], id="no as split"),
            pytest.param({"evidnce": 1, "aswer": ""}, ["unknown keys aswer, evidnce"], id="unknown keys"),
            pytest.param({7: 1}, ["unknown keys 7"], id="unknown key that is no text"),
            pytest.param(
                {"documents": "loch.md", "evidence": None},
                ["documents: expected a list, got 'loch.md'", "expected documents that answer it"],
                id="text as documents",
            ),
            pytest.param({"documents": ["loch.md", 7]}, ["documents: expected text, got '7'"], id="number as document"),
            pytest.param(
                {"documents": {"loch.md": 1, "a.md": "high"}}, ["documents: expected whole numbers as grades, of a.md"], id="word as grade"
            ),
            pytest.param({"documents": {"loch.md": 1, "a.md": 0.5}}, ["whole numbers as grades, of a.md"], id="half a grade"),
            pytest.param({"documents": {"loch.md": 1, "a.md": True}}, ["whole numbers as grades, of a.md"], id="yes as grade"),
            pytest.param({"documents": {"loch.md": 1, 7: 1}}, ["whole numbers as grades, of 7"], id="number as graded document"),
            pytest.param({"documents": None, "evidence": None}, ["expected documents that answer it"], id="no document"),
            pytest.param({"documents": [], "evidence": []}, ["expected documents that answer it"], id="empty documents"),
            pytest.param({"documents": {"loch.md": 0}, "evidence": None}, ["expected documents that answer it"], id="no document above 0"),
            pytest.param({"kind": "unanswerable", "evidence": None}, ["has neither documents nor evidence"], id="unanswerable, documents"),
            pytest.param({"kind": "unanswerable", "documents": None}, ["has neither", "evidence in loch.md"], id="unanswerable, evidence"),
            pytest.param({"documents": ["a.md"]}, ["evidence in loch.md, which is not among its documents"], id="evidence elsewhere"),
            pytest.param({"documents": {"a.md": 1, "loch.md": 0}}, ["evidence in loch.md, which"], id="evidence where none is expected"),
            pytest.param({"evidence": "in a lake"}, ["evidence: expected a list of needs"], id="text as evidence"),
            pytest.param({"evidence": [{"document": "loch.md", "quote": "x"}]}, ["expected a list of needs"], id="a quote as need"),
            pytest.param({"evidence": [[]]}, ["expected a list of needs, each a list of alternatives"], id="a need without alternative"),
            pytest.param(
                {"evidence": [["in a lake"]]}, ["expected document, quote and perhaps occurrence, got 'in a lake'"], id="text as quote"
            ),
            pytest.param({"evidence": [[{"quote": "in a lake"}]]}, ["expected document, quote and perhaps"], id="a quote of nowhere"),
            pytest.param({"evidence": [[{"document": "loch.md"}]]}, ["expected document, quote and perhaps"], id="no quote"),
            pytest.param(
                {"evidence": [[{"document": "loch.md", "quote": "x", "page": 3}]]}, ["expected document, quote and perhaps"], id="a page"
            ),
            pytest.param({"evidence": [[{"document": "loch.md", "quote": 7}]]}, ["expected text, got '7'"], id="number as quote"),
        ],
    )
    def test_what_is_wrong_is_told(self, tmp_path: Path, changes: Mapping[str, Any], told: list[str]) -> None:
        """With the file, the entry's number and its id, everything that is wrong with it and nothing else."""
        entry = an_entry(**{key: value for key, value in changes.items() if isinstance(key, str)})
        entry |= {key: value for key, value in changes.items() if not isinstance(key, str)}
        file = a_set(tmp_path, set=yaml.safe_dump([an_entry(id="right"), entry])) / "set.yaml"
        found = problems(file)
        where = f"set.yaml, entry 2 ({str(entry['id'])!r}): " if "id" in entry else "set.yaml, entry 2: "
        assert len(found) == len(told)
        for problem, each in zip(found, told, strict=True):
            assert problem.startswith(where)
            assert each in problem

    @pytest.mark.parametrize("occurrence", [0, -1, 1.0, "1", True, None], ids=repr)
    def test_an_occurrence_counts_from_one(self, tmp_path: Path, occurrence: object) -> None:
        """Anything but a whole number from 1 is told, since 0 would stand for none."""
        quote = {"document": "loch.md", "quote": "lake", "occurrence": occurrence}
        file = a_set(tmp_path, set=yaml.safe_dump([an_entry(evidence=[[quote]])])) / "set.yaml"
        assert problems(file) == [
            f"set.yaml, entry 1 ('q'): evidence: expected occurrence to be a whole number from 1, got {str(occurrence)!r}"
        ]

    @pytest.mark.parametrize("entry", ["Where?", None, 7, ["id", "q"]], ids=repr)
    def test_an_entry_is_a_mapping(self, tmp_path: Path, entry: object) -> None:
        """Anything else is told with what it is."""
        file = a_set(tmp_path, set=yaml.safe_dump([entry])) / "set.yaml"
        assert problems(file) == [f"set.yaml, entry 1: expected a question with id, text and kind, got {str(entry)!r}"]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            pytest.param("- id: [q\n", "while parsing a flow sequence", id="a bracket too few"),
            pytest.param("- id: q\n  text: Where: there\n", "mapping values are not allowed here", id="a colon"),
            pytest.param("- id: *q\n", "undefined alias", id="an alias of nothing"),
            pytest.param("- !!python/object/apply:os.getcwd []\n", "could not determine a constructor", id="an object of Python"),
            pytest.param("- id: a\x00b\n", "special characters are not allowed", id="NUL"),
            pytest.param("- id: 2026-13-45\n", "month must be in 1..12", id="a date that is none"),
            pytest.param("- id: q\n--- \n- id: r\n", "expected a single document", id="two documents"),
            pytest.param("", "expected a list of questions, got nothing", id="empty"),
            pytest.param("# nothing yet\n", "expected a list of questions, got nothing", id="a remark"),
            pytest.param("id: q\n", "expected a list of questions, got a mapping", id="one question"),
            pytest.param("Where?", "expected a list of questions, got a text", id="text"),
        ],
    )
    def test_a_file_that_is_no_list_is_told(self, tmp_path: Path, text: str, told: str) -> None:
        """In one line, under its name."""
        (found,) = problems(a_set(tmp_path, set=text) / "set.yaml")
        assert found.startswith("set.yaml: ")
        assert told in found
        assert "\n" not in found

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("- !!int ''", id="IndexError"),
            pytest.param("- !!bool maybe", id="KeyError"),
            pytest.param("- !!timestamp today", id="AttributeError"),
            pytest.param("[" * 500, id="RecursionError"),
        ],
    )
    def test_a_file_that_the_library_breaks_on_is_told(self, tmp_path: Path, text: str) -> None:
        """Whatever the parser raises is a problem of that file."""
        (found,) = problems(a_set(tmp_path, set=text) / "set.yaml")
        assert found.startswith("set.yaml: ")

    def test_bytes_that_are_no_text_are_told(self, tmp_path: Path) -> None:
        """A file that is not UTF-8 is one problem among the others."""
        a_set(tmp_path, b="id: q")
        (tmp_path / "a.yaml").write_bytes(b"- id: Storsj\xf6n\n")
        first, second = problems(tmp_path)
        assert first.startswith("a.yaml: 'utf-8' codec can't decode byte 0xf6")
        assert second.startswith("b.yaml: expected a list")

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            pytest.param(
                "set",
                "- id: q\n  kind: detail\n  text: Where?\n  documents: [a.md]\n  facts: [deep]\n  facts: [cold]\n",
                id="in a question",
            ),
            pytest.param("judgements", "q: {'yes': [a.md], 'no': []}\nq: {'yes': [], 'no': [a.md]}\n", id="a question judged twice"),
        ],
    )
    def test_a_key_that_is_given_twice_is_told(self, tmp_path: Path, name: str, text: str) -> None:
        """Nothing that was written down is passed over."""
        a_set(tmp_path, first=yaml.safe_dump([an_entry(id="other")]), **{name: text})
        assert "twice" in " ".join(problems(tmp_path))

    def test_everything_is_told_at_once(self, tmp_path: Path) -> None:
        """Several problems of one entry, of several entries, of several files and of the judgements in one error."""
        a_set(
            tmp_path,
            a=yaml.safe_dump([an_entry(text=7, split="shut", documents="x"), an_entry(id="same")]),
            b=yaml.safe_dump([an_entry(id="same"), "Where?"]),
            c="- [",
            judgements="q: 7\n",
        )
        told = "; ".join(problems(tmp_path))
        for each in (
            "text: expected text",
            "expected split",
            "documents: expected a list",
            "b.yaml, entry 2",
            "c.yaml: ",
            "judgements.yaml",
        ):
            assert each in told
        assert "'same': 2 questions have this id" in told

    def test_a_long_list_of_problems_is_cut(self, tmp_path: Path) -> None:
        """The first 20 and how many more there are."""
        a_set(tmp_path, set=yaml.safe_dump([7] * (MAX_LISTED + 3)))
        with pytest.raises(InvalidInput, match=f"got {MAX_LISTED + 3} problems: .*entry {MAX_LISTED}: .*; and 3 more") as caught:
            load_questions(str(tmp_path))
        assert f"entry {MAX_LISTED + 1}:" not in str(caught.value)

    def test_ids_are_unique_over_the_files(self, tmp_path: Path) -> None:
        """An id that two files use is told with how many there are, once."""
        a_set(tmp_path, a=yaml.safe_dump([an_entry(), an_entry(id="r")]), b=yaml.safe_dump([an_entry(), an_entry()]))
        assert problems(tmp_path) == ["'q': 3 questions have this id"]

    def test_a_folder_is_one_set(self, tmp_path: Path) -> None:
        """Its files in the order of their names, judgements apart; what is no YAML file is passed over."""
        a_set(tmp_path, b=yaml.safe_dump([an_entry(id="2")]), a=yaml.safe_dump([an_entry(id="1")]))
        a_set(tmp_path, judgements="'1':\n  'yes': [loch.md]\n  'no': [a.md, b.md]\n")
        (tmp_path / "notes.txt").write_text("7")
        golden = load_questions(str(tmp_path))
        assert [question.id for question in golden.questions] == ["1", "2"]
        assert golden.judgements == {"1": {"loch.md": True, "a.md": False, "b.md": False}}
        assert golden.name == tmp_path.name
        assert not golden.drops_own_id

    def test_a_file_is_a_set_without_judgements(self, tmp_path: Path) -> None:
        """Those beside it belong to the folder; it is named like the file."""
        a_set(tmp_path, mine=yaml.safe_dump([an_entry()]), judgements="q: 7")
        golden = load_questions(str(tmp_path / "mine.yaml"))
        assert (golden.name, len(golden.questions), golden.judgements) == ("mine", 1, {})

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            pytest.param("q: [a.md]", "'q': expected the keys yes and no", id="a list"),
            pytest.param("q: {'yes': [a.md]}", "'q': expected the keys yes and no", id="no without yes"),
            pytest.param("q: {'yes': [], 'no': [], maybe: []}", "'q': expected the keys yes and no", id="maybe"),
            pytest.param("q: {'yes': a.md, 'no': []}", "q: expected a list, got 'a.md'", id="text"),
            pytest.param("q: {'yes': [7], 'no': []}", "q: expected text, got '7'", id="number"),
            pytest.param("q: {'yes': [a.md], 'no': [b.md, a.md]}", "'q': judged twice: 'a.md'", id="yes and no"),
            pytest.param("q: {'yes': [], 'no': [b.md, b.md]}", "'q': judged twice: 'b.md'", id="no and no"),
            pytest.param("q: {", "while parsing a flow node", id="broken"),
        ],
    )
    def test_what_is_wrong_with_judgements_is_told(self, tmp_path: Path, text: str, told: str) -> None:
        """Under the file's name, with the question."""
        a_set(tmp_path, set=yaml.safe_dump([an_entry()]), judgements=text)
        found = "; ".join(problems(tmp_path))
        assert found.startswith("judgements.yaml: ")
        assert told in found

    @pytest.mark.parametrize("text", ["- q\n", "yes and no", "7"], ids=["list", "text", "number"])
    def test_judgements_are_a_mapping(self, tmp_path: Path, text: str) -> None:
        """A file of judgements that holds anything else is told."""
        a_set(tmp_path, set=yaml.safe_dump([an_entry()]), judgements=text)
        assert "judgements.yaml: expected" in problems(tmp_path)[0]

    def test_a_bare_yes_is_told_so_that_it_can_be_corrected(self, tmp_path: Path) -> None:
        """YAML reads yes and no as true and false: the error says to put them between quotation marks."""
        a_set(tmp_path, set=yaml.safe_dump([an_entry()]), judgements="q: {yes: [loch.md], no: []}")
        assert "quotation marks" in problems(tmp_path)[0]

    @pytest.mark.parametrize("place", ["field-giude", "", "/nowhere/set.yaml", "field-guide/none", "a\x00b", "\ud800"], ids=ascii)
    def test_a_set_that_is_not_there_names_the_bundled_ones(self, place: str) -> None:
        """NotFound with what was asked for and the names that there are."""
        with pytest.raises(NotFound) as caught:
            load_questions(place)
        assert caught.value.got == repr(place)
        assert "field-guide" in caught.value.expected
        assert "path" in caught.value.expected

    def test_a_folder_without_questions_is_not_there(self, tmp_path: Path) -> None:
        """Neither an empty one nor one with other files."""
        (tmp_path / "notes.txt").write_text("7")
        with pytest.raises(NotFound):
            load_questions(str(tmp_path))

    def test_a_path_that_the_system_refuses_is_not_there(self) -> None:
        """A name of 300 characters, for one."""
        with pytest.raises(NotFound):
            load_questions("x" * 300)

    def test_the_folder_one_is_in_is_a_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A dot names it, as for any other command."""
        a_set(tmp_path, set=yaml.safe_dump([an_entry()]))
        monkeypatch.chdir(tmp_path)
        golden = load_questions(".")
        assert (golden.name, len(golden.questions)) == (tmp_path.name, 1)

    def test_the_home_folder_is_known(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tilde stands for it."""
        a_set(tmp_path, set=yaml.safe_dump([an_entry()]))
        monkeypatch.setenv("HOME", str(tmp_path))
        assert len(load_questions("~/set.yaml").questions) == 1


HOSTILE = [
    *(
        "yes",
        "no",
        "~",
        "null",
        "1",
        "1e3",
        "0x1f",
        "2026-01-01",
        "=",
        "<<",
        "|",
        ">",
        "?",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#b",
        "&a",
        "*a",
        "!a",
    ),
    *("'", '"', "\\", "{}", "[]", "%a", "@a", "`a`", "---", "...", "a\nb", "a\n\n  b", "a\n\tb", "a\r\nb", "a\rb", "a " * 90 + "b"),
    *("\x00", "\x1b[31m", "\u2028", "a\u2029b", "\ufeffa", "\ud800", "\U0001f47e", "e\u0301", "\u202eabc", "<b>&amp;</b>", "x" * 300),
]
PLAIN = st.text(st.characters(exclude_characters="\x85", exclude_categories=[]), max_size=20)
WRITTEN = (PLAIN | st.sampled_from(HOSTILE) | st.lists(st.sampled_from(HOSTILE), max_size=3).map(" ".join)).map(str.strip)
FILLED = WRITTEN.filter(bool)


@st.composite
def questions_of_any_kind(draw: st.DrawFn) -> Question:
    """A question that obeys the rules, its texts being anything."""
    held: dict[str, Any] = {"kind": "unanswerable", "about": draw(st.lists(WRITTEN, max_size=2).map(tuple))}
    if draw(st.booleans()):
        wanted = draw(st.dictionaries(FILLED, st.integers(1, 3), min_size=1, max_size=3))
        others = draw(st.dictionaries(FILLED.filter(lambda id_: id_ not in wanted), st.integers(-1, 0), max_size=2))
        quotes = st.builds(Quote, st.sampled_from(sorted(wanted)), WRITTEN, st.integers(0, 3))
        needs = st.lists(st.lists(quotes, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple)
        order = draw(st.permutations([*wanted.items(), *others.items()]))
        held = {"kind": draw(FILLED.filter(lambda kind: kind != "unanswerable")), "grades": dict(order), "evidence": draw(needs)}
    return Question(
        id=draw(FILLED),
        text=draw(FILLED),
        split=draw(st.sampled_from(["open", "sealed"])),
        answer=draw(WRITTEN),
        facts=draw(st.lists(WRITTEN, max_size=2).map(tuple)),
        **held,
    )


class TestWriting:
    @settings(max_examples=40)
    @given(st.lists(questions_of_any_kind(), max_size=3, unique_by=lambda question: question.id))
    def test_what_is_written_is_read(self, tmp_path_factory: pytest.TempPathFactory, questions: list[Question]) -> None:
        """Whatever the texts are: the same questions in the same order, their documents too."""
        path = tmp_path_factory.getbasetemp() / "written.yaml"
        write_questions(path, questions)
        read = load_questions(str(path)).questions
        assert read == tuple(questions)
        assert [list(question.grades) for question in read] == [list(question.grades) for question in questions]

    def test_a_line_end_of_another_kind_is_read(self, tmp_path: Path) -> None:
        """U+0085, which is what Windows-1252's dots become when they are read as Latin-1."""
        write_questions(tmp_path / "written.yaml", [a_question(text="Where\x85Here?")])
        assert load_questions(str(tmp_path / "written.yaml")).questions == (a_question(text="Where\x85Here?"),)

    def test_a_file_is_easily_read(self, tmp_path: Path) -> None:
        """Letters as they are, keys in the order of the bundled files, nothing that is empty, and no other file left behind."""
        write_questions(tmp_path / "set.yaml", [a_question(text="What of Storsj\u00f6n?", evidence=(quoted("deep"),))])
        assert (tmp_path / "set.yaml").read_text(encoding="utf-8") == (
            "- id: q\n  kind: detail\n  text: What of Storsj\u00f6n?\n  documents:\n  - loch.md\n"
            "  evidence:\n  - - document: loch.md\n      quote: deep\n"
        )
        assert [path.name for path in tmp_path.iterdir()] == ["set.yaml"]

    def test_a_write_that_fails_leaves_what_was(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The old file stays whole."""
        write_questions(tmp_path / "set.yaml", [a_question()])

        def full(path: Path, *_: object, **__: object) -> None:
            path.touch()
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(Path, "write_text", full)
            with pytest.raises(OSError, match="No space left"):
                write_questions(tmp_path / "set.yaml", [])
        assert load_questions(str(tmp_path / "set.yaml")).questions == (a_question(),)


class TestAQuestion:
    @pytest.mark.parametrize(
        ("question", "documents", "primary"),
        [
            pytest.param(a_question(grades={"b": 1, "a": 1}), ("b", "a"), "b", id="in their order"),
            pytest.param(a_question(grades={"z": 0, "b": 1, "c": -1, "a": 3}), ("b", "a"), "b", id="above 0, whatever the grade"),
            pytest.param(a_question(grades={"b": 1}, about=("a",)), ("b",), "b", id="expected before about"),
            pytest.param(Question("q", "?", "unanswerable", about=("b", "a")), (), "b", id="about"),
            pytest.param(Question("q", "?", "unanswerable"), (), "q", id="off-topic"),
            pytest.param(Question("q", "?", "test", grades={"a": 0}), (), "q", id="nothing relevant"),
        ],
    )
    def test_what_it_belongs_to(self, question: Question, documents: tuple[str, ...], primary: str) -> None:
        """Its first expected document, else the first that it is about, else itself."""
        assert (question.documents, question.primary) == (documents, primary)

    def test_what_is_answerable(self) -> None:
        """Every kind but one."""
        assert [kind for kind in KINDS if not Question("q", "?", kind).answerable] == ["unanswerable"]


class TestIdentity:
    BASE = a_question(evidence=(quoted("in a lake", "deep"), quoted("Ness")), answer="Deep.", facts=("deep", "cold"), about=("a", "b"))

    @pytest.mark.parametrize(
        "changes",
        [
            {"id": "r"},
            {"text": "Where is it"},
            {"kind": "alias"},
            {"split": "sealed"},
            {"grades": {"loch.md": 2}},
            {"grades": {"loch.md": 1, "nfd.md": 0}},
            {"grades": {"nfd.md": 1}},
            {"evidence": ()},
            {"evidence": (quoted("in a lake"), quoted("deep"), quoted("Ness"))},
            {"evidence": (quoted("deep", "in a lake"), quoted("Ness"))},
            {"evidence": (quoted("Ness"), quoted("in a lake", "deep"))},
            {"evidence": (quoted("in a lake", "deep"), (Quote("loch.md", "Ness", 1),))},
            {"evidence": (quoted("in a lake", "deep"), quoted("Ness", document="nfd.md"))},
            {"about": ("b", "a")},
            {"about": ()},
            {"answer": ""},
            {"facts": ("deep",)},
            {"facts": ("deep, cold",)},
        ],
        ids=str,
    )
    def test_any_change_of_a_question_is_another_set(self, changes: dict[str, Any]) -> None:
        """Every field counts, and the order of what is in order."""
        assert GoldenSet("g", (replace(self.BASE, **changes),)).sha256 != GoldenSet("g", (self.BASE,)).sha256

    @pytest.mark.parametrize(
        "grades",
        [{"lake.md": 1, "sky.md": 1}, {"lake.md": 2, "sky.md": 1}, {"lake.md": 1, "sky.md": 1, "moor.md": 1}],
        ids=["plain", "graded", "three"],
    )
    def test_another_primary_document_is_another_set(self, grades: dict[str, int]) -> None:
        """The order of the documents says which one a question belongs to."""
        turned = dict(reversed(grades.items()))
        assert a_question(grades=grades).primary != a_question(grades=turned).primary
        assert GoldenSet("g", (a_question(grades=grades),)).sha256 != GoldenSet("g", (a_question(grades=turned),)).sha256

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(GoldenSet("g", (a_question("a"),)), id="one fewer"),
            pytest.param(GoldenSet("g", (a_question("b"), a_question("a"))), id="another order"),
            pytest.param(GoldenSet("g", (a_question("a"), a_question("b"), a_question("c"))), id="one more"),
            pytest.param(GoldenSet("g", (a_question("a"), a_question("b")), drops_own_id=True), id="another meaning of a hit"),
        ],
    )
    def test_other_questions_are_another_set(self, other: GoldenSet) -> None:
        """Which there are, their order, and whether a question's own document counts."""
        assert other.sha256 != GoldenSet("g", (a_question("a"), a_question("b"))).sha256

    def test_nothing_else_changes_it(self, tmp_path: Path) -> None:
        """Neither the name nor being made or read again; a mark in a text's form does."""
        again = replace(self.BASE, grades=dict(self.BASE.grades), evidence=tuple(tuple(need) for need in self.BASE.evidence))
        assert GoldenSet("h", (again,)).sha256 == GoldenSet("g", (self.BASE,)).sha256
        files = [a_set(tmp_path, **{name: yaml.safe_dump([an_entry()])}) / f"{name}.yaml" for name in ("a", "b")]
        assert len({load_questions(str(file)).sha256 for file in files}) == 1
        assert len({GoldenSet("g", (a_question(text=normalize(form, "Storsj\u00f6n?")),)).sha256 for form in ("NFC", "NFD")}) == 2

    def test_a_text_that_no_encoding_holds_has_one(self) -> None:
        """A lone surrogate is a text like another."""
        assert GoldenSet("g", (a_question(text="\ud800"),)).sha256 != GoldenSet("g", (a_question(text="\ud801"),)).sha256


class TestResolving:
    @pytest.mark.parametrize(
        ("quote", "found"),
        [
            pytest.param(Quote("loch.md", "The Loch Ness monster"), ["The Loch\n\nNess monster"], id="other white space in the text"),
            pytest.param(Quote("loch.md", "in\n  a\tlake."), ["in a lake."], id="other white space in the quote"),
            pytest.param(Quote("loch.md", normalize("NFD", "in Storsj\u00f6n")), ["in Storsj\u00f6n"], id="a decomposed quote"),
            pytest.param(Quote("nfd.md", "the Storsj\u00f6  monster"), ["the Storsjo\u0308 monster"], id="a decomposed text"),
            pytest.param(Quote("nfd.md", "Storsj\u00f6n."), ["Storsjo\u0308n."], id="at the end of a decomposed text"),
            pytest.param(Quote("loch.md", "The lake is deep."), ["The lake is deep."] * 2, id="repeated, none named"),
            pytest.param(Quote("loch.md", "The lake is deep.", 2), ["The lake is deep."], id="repeated, one named"),
            pytest.param(Quote("loch.md", "in a lake", 1), ["in a lake"], id="the first of one"),
            pytest.param(Quote("loch.md", "The lake is deep.", 3), [], id="the third of two"),
            pytest.param(Quote("loch.md", "in a lake", 2), [], id="the second of one"),
            pytest.param(Quote("loch.md", "the loch ness monster"), [], id="another case"),
            pytest.param(Quote("loch.md", "in a pond"), [], id="nowhere"),
            pytest.param(Quote("loch.md", ""), [], id="empty"),
        ],
    )
    def test_where_a_quote_stands(self, quote: Quote, found: list[str]) -> None:
        """Every place where none is named, else the named one; slices of the text as it stands."""
        text = TEXTS[quote.document]
        places = places_of(quote, text)
        assert [text[place.start : place.end] for place in places] == found
        assert {place.document_id for place in places} <= {quote.document}

    def test_the_named_occurrence_is_meant(self) -> None:
        """The first and the second of two are the first and the second place."""
        first, second = places_of(Quote("loch.md", "The lake is deep."), LOCH)
        assert first.end < second.start
        assert places_of(Quote("loch.md", "The lake is deep.", 1), LOCH) == [first]
        assert places_of(Quote("loch.md", "The lake is deep.", 2), LOCH) == [second]

    def test_evidence_becomes_spans(self) -> None:
        """Needs and alternatives in their order, with the grades and whether there is an answer."""
        question = a_question(grades={"loch.md": 2, "nfd.md": 0}, evidence=(quoted("Loch Ness", "deep.\nNobody"), quoted("Storsj\u00f6n")))
        assert resolve(question, TEXTS.get) == Gold(
            {"loch.md": 2, "nfd.md": 0},
            tuple(
                tuple(Place("loch.md", LOCH.index(text), LOCH.index(text) + len(text)) for text in need)
                for need in (("Loch\n\nNess", "deep.\nNobody"), ("Storsj\u00f6n",))
            ),
        )

    def test_a_question_without_evidence_is_not_stale(self) -> None:
        """It has documents alone; an unanswerable one has nothing."""
        assert resolve(a_question(), TEXTS.get) == Gold({"loch.md": 1})
        assert resolve(Question("q", "?", "unanswerable", about=("gone.md",)), TEXTS.get) == Gold({}, answerable=False)

    @pytest.mark.parametrize(
        "lost",
        [
            pytest.param(Quote("loch.md", "in a pond"), id="not found"),
            pytest.param(Quote("loch.md", "The lake is deep."), id="found twice"),
            pytest.param(Quote("loch.md", "The lake is deep.", 3), id="an occurrence too far"),
            pytest.param(Quote("gone.md", "in a lake"), id="a document that is gone"),
        ],
    )
    def test_one_alternative_suffices(self, lost: Quote) -> None:
        """What cannot be used is left out wherever it stands; a need of nothing else makes the question stale, others or not."""
        kept = Quote("loch.md", "in a lake")
        place = Place("loch.md", LOCH.index("in a lake"), LOCH.index("in a lake") + len("in a lake"))
        for need in ((kept, lost), (lost, kept)):
            assert resolve(a_question(evidence=(need,)), TEXTS.get) == Gold({"loch.md": 1}, ((place,),))
        gold = resolve(a_question(evidence=((kept,), (lost, lost))), TEXTS.get)
        assert gold.needs == ()
        assert gold.stale.startswith("stale evidence: ")
        assert repr(lost.quote) in gold.stale
        assert lost.document in gold.stale

    def test_every_lost_need_is_named(self) -> None:
        """With what is wrong with it: gone, or found so many times."""
        question = a_question(evidence=(quoted("in a pond"), quoted("in a lake"), quoted("lake"), quoted("Ness", document="gone.md")))
        assert resolve(question, TEXTS.get).stale == (
            "stale evidence: 'in a pond' is not in loch.md; 'lake' is 3 times in loch.md; 'Ness' is not in gone.md"
        )

    def test_an_occurrence_too_far_is_told_as_such(self) -> None:
        """The quote is there, and the reason does not deny it."""
        question = a_question(evidence=((Quote("loch.md", "The lake is deep.", 3),),))
        assert "is not in" not in resolve(question, TEXTS.get).stale
        (finding,) = check_questions(GoldenSet("g", (question,)), [a_document("loch.md", LOCH)])
        assert "is not in" not in finding.message


def a_sealed(*questions: Question) -> tuple[Question, ...]:
    return tuple(replace(question, split="sealed") for question in questions)


DOCUMENTS = [a_document("loch.md", LOCH), a_document("nfd.md", NFD)]
ASKED = "How do all the local people here call it by name"
"""Ten words, so eight 3-grams."""


class TestChecking:
    RIGHT = (
        a_question("a", "Where is it?", evidence=(quoted("Loch Ness monster", "in a lake"),)),
        a_question("b", "Is it cold?", evidence=(quoted("in Storsj\u00f6n"),)),
        *a_sealed(
            a_question("c", "Who saw it?", grades={"nfd.md": 1}, evidence=((Quote("nfd.md", "Many have"),),)),
            Question("d", "What colour is it?", "unanswerable", about=("nfd.md",)),
            Question("e", "What is a kettle?", "unanswerable"),
        ),
    )
    JUDGED: Mapping[str, Mapping[str, bool]] = {"a": {"loch.md": True, "nfd.md": False}}

    def test_nothing_is_wrong(self) -> None:
        """A set that obeys every rule has no finding, nor has an empty one."""
        assert check_questions(GoldenSet("g", self.RIGHT, self.JUDGED), DOCUMENTS) == []
        assert check_questions(GoldenSet("g", ()), []) == []

    @pytest.mark.parametrize(
        ("question", "found"),
        [
            pytest.param(a_question("x", "W?", grades={"gone.md": 1}), [("document", "'gone.md' is not in the corpus")], id="document"),
            pytest.param(
                Question("x", "W?", "unanswerable", about=("gone.md",)), [("document", "'gone.md' is not in the corpus")], id="about"
            ),
            pytest.param(a_question("x", "W?", grades={"loch.md": 1, "gone.md": 0}), [], id="a document that is not expected"),
            pytest.param(a_question("x", "W?", evidence=(quoted("in a pond"),)), [("stale", "'in a pond' is not in loch.md")], id="stale"),
            pytest.param(
                a_question("x", "W?", evidence=(quoted("in a lake", "in a pond"),)),
                [("stale", "'in a pond' is not in loch.md")],
                id="one of two alternatives",
            ),
            pytest.param(
                a_question("x", "W?", grades={"loch.md": 1, "gone.md": 1}, evidence=(quoted("Ness", document="gone.md"),)),
                [("document", "'gone.md' is not in the corpus"), ("stale", "'Ness' is not in gone.md")],
                id="evidence in a document that is gone",
            ),
            pytest.param(
                a_question("x", "W?", evidence=(quoted("The lake is deep."),)),
                [("stale", "'The lake is deep.' is 2 times in loch.md; say which by occurrence")],
                id="ambiguous",
            ),
            pytest.param(a_question("x", "W?", evidence=((Quote("loch.md", "The lake is deep.", 2),),)), [], id="which of two is said"),
        ],
    )
    def test_what_the_corpus_does_not_hold_is_found(self, question: Question, found: list[tuple[str, str]]) -> None:
        """Documents and evidence, each with its question and in full."""
        findings = check_questions(GoldenSet("g", (*self.RIGHT, question)), DOCUMENTS)
        assert [(finding.kind, finding.message) for finding in findings] == found
        assert {finding.question for finding in findings} <= {"x"}

    @pytest.mark.parametrize("kind", [*KINDS, "riddle"])
    def test_copied_wording_is_found(self, kind: str) -> None:
        """In the three kinds that ask in words of their own."""
        others = {"evidence": (), "grades": {}} if kind == "unanswerable" else {"evidence": (quoted("The Loch Ness monster lives"),)}
        question = a_question("x", "the loch ness monster, what of it", kind, **others)
        findings = check_questions(GoldenSet("g", (question,)), DOCUMENTS)
        # the loch ness | loch ness monster | ness monster what | monster what of | what of it
        expected = ["40% of its word 3-grams are in its evidence, at most 15% may be"] if kind in CHECKED_FOR_WORDING else []
        assert [finding.message for finding in findings if finding.kind == "wording"] == expected
        assert [finding for finding in findings if finding.kind != "wording"] == []

    @pytest.mark.parametrize(
        ("asked", "evidence", "share"),
        [
            pytest.param(ASKED, (quoted("how do all, the"),), 2 / 9, id="two of nine"),
            pytest.param(ASKED, (quoted("HOW DO\nALL", "do all the"), quoted("all the local")), 3 / 9, id="over alternatives and needs"),
            pytest.param(ASKED, (quoted("how do", "all the"),), 0.0, id="pieces below three words"),
            pytest.param("a b c a b c", (quoted("a b c"),), 2 / 4, id="each as often as it is asked"),
            pytest.param("Stra\u00dfe \uff21 \u00bd", (quoted("STRASSE a 1\u20442"),), 1.0, id="case and form"),
            pytest.param("where now", (quoted("where now"),), 0.0, id="too short"),
            pytest.param("", (quoted("a b c"),), 0.0, id="empty"),
            pytest.param(ASKED, (), 0.0, id="no evidence"),
        ],
    )
    def test_how_much_is_copied(self, asked: str, evidence: tuple[tuple[Quote, ...], ...], share: float) -> None:
        """The share of the question's 3-grams that any quote holds, by counting them."""
        assert containment(a_question(text=asked, evidence=evidence)) == pytest.approx(share)

    @pytest.mark.parametrize(("words", "found"), [(22, False), (21, True)], ids=["3 of 20", "3 of 19"])
    def test_the_limit_itself_is_allowed(self, words: int, found: bool) -> None:
        """15 % may be copied, and not more."""
        asked = " ".join(f"w{at}" for at in range(words))
        question = a_question(text=asked, evidence=(quoted("w0 w1 w2 w3 w4"),))
        findings = check_questions(GoldenSet("g", (question,)), [a_document("loch.md", "w0 w1 w2 w3 w4")])
        assert [finding.kind for finding in findings] == ["wording"] * found

    @pytest.mark.parametrize("text", ["Where is it?", "where  IS it", "Where is it\u2026 \u2013 !"], ids=["same", "case", "punctuation"])
    def test_the_same_question_is_found(self, text: str) -> None:
        """Whatever its case and punctuation; the later one is told and names the earlier."""
        findings = check_questions(GoldenSet("g", (*self.RIGHT, a_question("x", text), a_question("y", text))), DOCUMENTS)
        assert [(each.question, each.kind, each.message) for each in findings] == [
            ("x", "duplicate", "asks the same as a"),
            ("y", "duplicate", "asks the same as a"),
        ]

    @pytest.mark.parametrize(
        ("question", "primary"),
        [
            pytest.param(a_question("x", "W?"), "loch.md", id="its first document"),
            pytest.param(a_question("x", "W?", grades={"nfd.md": 0, "loch.md": 1}), "loch.md", id="its first that is expected"),
            pytest.param(Question("x", "W?", "unanswerable", about=("loch.md", "nfd.md")), "loch.md", id="what it is about"),
        ],
    )
    def test_a_primary_document_on_both_sides_is_found(self, question: Question, primary: str) -> None:
        """The question that is on another side than the first about its document."""
        (finding,) = check_questions(GoldenSet("g", (*self.RIGHT, *a_sealed(question))), DOCUMENTS)
        assert (finding.question, finding.kind) == ("x", "split")
        assert finding.message == f"is sealed, while another question about {primary} is not"

    def test_each_quotation_is_looked_for_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many checks want its place, and however many questions quote it: looking is what takes the time."""
        asked: list[Quote] = []
        monkeypatch.setattr("evals.golden.places_of", lambda quote, text: asked.append(quote) or places_of(quote, text))
        again = [replace(each, id=f"{each.id} again", text=f"{each.text} Again") for each in self.RIGHT]
        check_questions(GoldenSet("g", (*self.RIGHT, *again)), DOCUMENTS)
        quotes = {quote for question in self.RIGHT for need in question.evidence for quote in need}
        assert (len(asked), set(asked)) == (len(quotes), quotes)

    def test_other_documents_may_be_on_both_sides(self) -> None:
        """Only the primary one counts, and off-topic questions share nothing."""
        both = a_question("x", "W?", grades={"loch.md": 1, "nfd.md": 1})
        off = Question("y", "Which kettle?", "unanswerable")
        assert check_questions(GoldenSet("g", (*self.RIGHT, both, off)), DOCUMENTS) == []

    @pytest.mark.parametrize(
        ("quote", "found"),
        [
            pytest.param(Quote("loch.md", "Loch Ness monster"), True, id="the same"),
            pytest.param(Quote("loch.md", "monster lives"), True, id="overlapping"),
            pytest.param(Quote("loch.md", "Ness"), True, id="within"),
            pytest.param(Quote("loch.md", "lake."), True, id="an alternative, and repeated elsewhere"),
            pytest.param(Quote("loch.md", "lives"), False, id="between two"),
            pytest.param(Quote("loch.md", "The Loch", 1), True, id="overlapping by a word"),
            pytest.param(Quote("nfd.md", "Many"), False, id="in another document"),
        ],
    )
    def test_evidence_on_both_sides_is_found(self, quote: Quote, found: bool) -> None:
        """A sealed question that shares a character of any alternative with an open one; it names both and the document."""
        sealed = a_question("x", "W?", grades={"nfd.md": 1, "loch.md": 1}, evidence=((Quote("nfd.md", "in the"), quote),), split="sealed")
        findings = check_questions(GoldenSet("g", (sealed, *self.RIGHT)), DOCUMENTS)
        expected = [("x", "split", "is sealed and shares evidence in loch.md with a, which is open")]
        assert [(each.question, each.kind, each.message) for each in findings if each.kind == "split"] == expected * found

    def test_evidence_that_touches_is_not_shared(self) -> None:
        """Where one ends and the other begins."""
        text = "abcdef"
        one = a_question("a", "One?", evidence=(quoted("abc"),))
        other = a_question("b", "Other?", grades={"b.md": 1, "loch.md": 1}, evidence=(quoted("def"),), split="sealed")
        documents = [a_document("loch.md", text), a_document("b.md")]
        assert check_questions(GoldenSet("g", (one, other)), documents) == []
        overlapping = replace(other, evidence=(quoted("cdef"),))
        assert [finding.kind for finding in check_questions(GoldenSet("g", (one, overlapping)), documents)] == ["split"]

    @pytest.mark.parametrize(
        ("judgements", "found"),
        [
            pytest.param({"z": {}}, [("z", "judgement", "is judged, and there is no such question")], id="an unknown question"),
            pytest.param({"a": {"loch.md": True}}, [("a", "unjudged", "1 documents are not judged: nfd.md")], id="a document that is new"),
            pytest.param(
                {"a": {"loch.md": True, "nfd.md": False, "gone.md": False}},
                [("a", "judgement", "judged documents are not in the corpus: gone.md")],
                id="a document that is gone",
            ),
            pytest.param(
                {"a": {"loch.md": False, "nfd.md": True}},
                [("a", "judgement", "its documents and its yes answers differ: loch.md, nfd.md")],
                id="the other way round",
            ),
            pytest.param(
                {"a": {"loch.md": True, "nfd.md": True}},
                [("a", "judgement", "its documents and its yes answers differ: nfd.md")],
                id="one yes too many",
            ),
            pytest.param(
                {"d": {"loch.md": False, "nfd.md": False}, "a": {"loch.md": False, "nfd.md": False}},
                [("a", "judgement", "its documents and its yes answers differ: loch.md")],
                id="one yes too few",
            ),
        ],
    )
    def test_judgements_that_disagree_are_found(
        self, judgements: Mapping[str, Mapping[str, bool]], found: list[tuple[str, str, str]]
    ) -> None:
        """With the questions, with the corpus, or with what the questions say is relevant."""
        findings = check_questions(GoldenSet("g", self.RIGHT, judgements), DOCUMENTS)
        assert [(each.question, each.kind, each.message) for each in findings] == found

    def test_many_new_documents_are_counted(self) -> None:
        """The first five by name and how many there are."""
        golden = GoldenSet("g", self.RIGHT[:1], {"a": {"loch.md": True}})
        documents = [DOCUMENTS[0], *(a_document(f"new-{at}.md") for at in (3, 1, 2, 6, 5, 4))]
        (finding,) = check_questions(golden, documents)
        listed = ", ".join(f"new-{at}.md" for at in range(1, 6))
        assert finding.message == f"6 documents are not judged: {listed}, …"

    def test_everything_is_found_at_once(self) -> None:
        """A question may have several findings, of several kinds."""
        wrong = a_question("x", "Where is it?", evidence=(quoted("where is it"),), grades={"gone.md": 1, "loch.md": 1})
        findings = check_questions(GoldenSet("g", (*self.RIGHT, wrong), {"x": {}}), DOCUMENTS)
        assert [finding.kind for finding in findings] == ["document", "stale", "wording", "duplicate", "unjudged", "judgement"]
        assert {finding.question for finding in findings} == {"x"}


class TestNamed:
    def test_every_document_is_asked_for(self) -> None:
        """By its title, with the document as the one that is expected; everything else of the set stays."""
        golden = GoldenSet("g", (a_question(),), {"q": {"loch.md": True}}, drops_own_id=True)
        made = with_named(golden, [("loch.md", "Loch Ness"), ("nfd.md", "Storsj\u00f6")])
        assert made.questions[0] == golden.questions[0]
        assert [(each.id, each.text, each.kind, each.grades, each.evidence) for each in made.questions[1:]] == [
            ("named-loch", "Tell me about Loch Ness", "named", {"loch.md": 1}, ()),
            ("named-nfd", "Tell me about Storsj\u00f6", "named", {"nfd.md": 1}, ()),
        ]
        assert (made.name, made.judgements, made.drops_own_id) == ("g", {"q": {"loch.md": True}}, True)

    @pytest.mark.parametrize("split", ["open", "sealed"])
    def test_the_side_is_that_of_the_other_questions(self, split: str) -> None:
        """Those whose primary document it is: no document is on both sides."""
        ids = [f"{at}.md" for at in range(50)]
        others = tuple(a_question(id_, f"W{id_}?", grades={id_: 1}, split=split) for id_ in ids)
        made = with_named(GoldenSet("g", others), [(id_, id_) for id_ in ids])
        assert {question.split for question in made.questions} == {split}
        assert check_questions(made, [a_document(id_) for id_ in ids]) == []

    def test_the_side_is_that_of_the_near_misses_too(self) -> None:
        """A document that only unanswerable questions are about is on their side, as check_questions wants it."""
        ids = [f"{at}.md" for at in range(50)]
        others = tuple(Question(id_, f"W{id_}?", "unanswerable", "sealed", about=(id_,)) for id_ in ids)
        made = with_named(GoldenSet("g", others), [(id_, id_) for id_ in ids])
        assert check_questions(made, [a_document(id_) for id_ in ids]) == []

    def test_the_side_is_else_a_matter_of_the_id(self) -> None:
        """The same in any set and order, and two of five are sealed."""
        ids = [f"document {at}.md" for at in range(1000)]
        made = with_named(GoldenSet("g", ()), [(id_, "A") for id_ in ids])
        again = with_named(GoldenSet("h", (a_question(grades={"loch.md": 1, ids[0]: 1}),)), [(id_, "B") for id_ in reversed(ids)])
        sides = {question.primary: question.split for question in made.questions}
        assert {question.primary: question.split for question in again.questions[1:]} == sides
        assert sealed_shares(made)["named"] == pytest.approx(SEALED_SHARE, abs=0.04)

    def test_a_side_is_the_same_on_every_machine(self) -> None:
        """By the first 32 bits of the id's SHA-256: 0x11dd… for "b.md" and 0x1f16… for "g.md" are below two fifths, 0x70df… for "d.md" is not."""
        made = with_named(GoldenSet("g", ()), [(f"{letter}.md", letter) for letter in "abcdefgh"])
        assert "".join(question.id[-1] for question in made.questions if question.split == "sealed") == "bg"

    def test_documents_of_two_folders_have_questions_of_their_own(self) -> None:
        """Ids are unique, as they are in files."""
        made = with_named(GoldenSet("g", ()), [("lakes/index.md", "A"), ("seas/index.md", "B"), ("index.md", "C")])
        assert len({question.id for question in made.questions}) == 3


def test_shares_are_by_kind() -> None:
    """Sealed questions of a kind / questions of that kind."""
    questions = (a_question("a"), a_question("b"), *a_sealed(a_question("c")), a_question("d", kind="alias"))
    assert sealed_shares(GoldenSet("g", questions)) == {"detail": 1 / 3, "alias": 0.0}
    assert sealed_shares(GoldenSet("g", ())) == {}
