import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from sitt_core import notes
from sitt_core.configuration import Configuration
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError
from sitt_core.types import Answer, Chunk, Citation, Hit, Mark, Passage, Sentence, Source, Span, Trace, Usage

FIELDS = Configuration().to_dict()


def questions(folder: Path, corpus: str = "tales") -> list[str]:
    return [each.question for each in notes.recent(folder, corpus)]


def test_presets_are_saved_replaced_listed_and_deleted(tmp_path: Path) -> None:
    """Every field under the name, the latest under a name counts, listed without regard to case."""
    folder = tmp_path / "notes"
    assert notes.presets(folder) == {}
    for name, top_k in (("wide", 20), (" Deep ", 9), ("wide", 30)):
        notes.save_preset(folder, name, {**FIELDS, "top_k": top_k})
    assert [(name, fields["top_k"]) for name, fields in notes.presets(folder).items()] == [("Deep", 9), ("wide", 30)]
    assert notes.presets(folder)["Deep"].keys() == FIELDS.keys()
    notes.delete_preset(folder, "Deep")
    assert list(notes.presets(folder)) == ["wide"]
    with pytest.raises(NotFound, match="deleted in another window"):
        notes.delete_preset(folder, "Deep")


@pytest.mark.parametrize(
    "name", ["", "  ", "x" * 61, "a\nb", "a\x00b", "a\ud800b"], ids=["empty", "blank", "long", "line", "NUL", "surrogate"]
)
def test_a_name_that_cannot_be_used_is_named(tmp_path: Path, name: str) -> None:
    """Refused before anything is written."""
    with pytest.raises(InvalidInput, match="a name of 1 to 60 printable characters"):
        notes.save_preset(tmp_path, name, FIELDS)
    assert list(tmp_path.iterdir()) == []


def test_there_is_an_end_to_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One above the limit is refused; one in place of another is not."""
    monkeypatch.setattr(notes, "MAX_PRESETS", 2)
    for name in ("a", "b", "a"):
        notes.save_preset(tmp_path, name, FIELDS)
    with pytest.raises(InvalidInput, match="at most 2 presets"):
        notes.save_preset(tmp_path, "c", FIELDS)
    assert list(notes.presets(tmp_path)) == ["a", "b"]


def test_recent_questions_come_latest_first_once_each_by_corpus(tmp_path: Path) -> None:
    """Asked again, a question moves up with the configuration and filters of this time; corpora do not mix."""
    notes.remember(tmp_path, "tales", "who?", FIELDS)
    notes.remember(tmp_path, "tales", "where?", FIELDS)
    notes.remember(tmp_path, "tales", "who?", {**FIELDS, "top_k": 9}, {"category": ("winged",)})
    notes.remember(tmp_path, "other", "what?", FIELDS)
    assert questions(tmp_path) == ["who?", "where?"]
    assert questions(tmp_path, "other") == ["what?"]
    latest = notes.recent(tmp_path, "tales")[0]
    assert (latest.fields["top_k"], latest.filters) == (9, {"category": ["winged"]})
    assert latest.asked > 0


def test_the_latest_fifty_are_kept(tmp_path: Path) -> None:
    """The oldest goes when another comes."""
    for at in range(notes.KEPT_RECENT + 3):
        notes.remember(tmp_path, "tales", f"question {at}", FIELDS)
    assert questions(tmp_path) == [f"question {at}" for at in range(notes.KEPT_RECENT + 2, 2, -1)]


def test_asking_the_same_again_writes_nothing(tmp_path: Path) -> None:
    """A page that draws itself again leaves the file alone."""
    notes.remember(tmp_path, "tales", "who?", FIELDS, {"region": ("Asia",)})
    before = (tmp_path / "recent.json").stat()
    notes.remember(tmp_path, "tales", "who?", FIELDS, {"region": ("Asia",)})
    after = (tmp_path / "recent.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_recent_questions_can_be_forgotten(tmp_path: Path) -> None:
    """One, or all of a corpus; nothing of them stays in the folder."""
    for question in ("who?", "a secret", "where?"):
        notes.remember(tmp_path, "tales", question, FIELDS)
    notes.remember(tmp_path, "other", "what?", FIELDS)
    notes.forget(tmp_path, "tales", "a secret")
    assert questions(tmp_path) == ["where?", "who?"]
    notes.forget(tmp_path, "tales")
    notes.forget(tmp_path, "tales")
    assert questions(tmp_path) == []
    assert questions(tmp_path, "other") == ["what?"]
    kept = "".join(path.read_text(encoding="utf-8") for path in tmp_path.iterdir())
    assert "secret" not in kept
    assert "who?" not in kept


@pytest.mark.parametrize("held", ["{", "[]", '{"tales": [{"question": "who?"}]}', '{"tales": 7}'], ids=["half", "list", "entry", "number"])
def test_a_damaged_file_is_a_named_error_and_stays(tmp_path: Path, held: str) -> None:
    """It is neither read as empty nor written over."""
    path = tmp_path / "recent.json"
    path.write_text(held, encoding="utf-8")
    with pytest.raises(StoreError, match=r"recent\.json to hold notes"):
        notes.recent(tmp_path, "tales")
    with pytest.raises(StoreError, match="or move it away"):
        notes.remember(tmp_path, "tales", "where?", FIELDS)
    assert path.read_text(encoding="utf-8") == held


def test_a_folder_that_cannot_be_made_is_a_named_error(tmp_path: Path) -> None:
    """Where a file stands in the way."""
    (tmp_path / "notes").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match=r"to write presets\.json"):
        notes.save_preset(tmp_path / "notes", "a", FIELDS)


def test_a_write_that_fails_leaves_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the old file stays whole and no half file remains."""
    notes.save_preset(tmp_path, "a", FIELDS)

    def full(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "write_text", full)
        with pytest.raises(StoreError, match="No space left"):
            notes.save_preset(tmp_path, "b", FIELDS)
    assert list(notes.presets(tmp_path)) == ["a"]
    assert list(tmp_path.glob("*.part")) == []


def test_a_held_lock_is_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits too long is told that another process is writing."""
    monkeypatch.setattr(notes, "LOCK_SECONDS", 0.0)
    with FileLock(tmp_path / "presets.lock"), ThreadPoolExecutor(1) as another, pytest.raises(Busy, match="another process"):
        another.submit(notes.save_preset, tmp_path, "a", FIELDS).result()


WRITER = "import sys; from pathlib import Path; from sitt_core import notes\nfor at in range(20): notes.save_preset(Path(sys.argv[1]), f'{sys.argv[2]} {at}', {'top_k': at})"


def test_two_processes_lose_nothing_of_each_others(tmp_path: Path) -> None:
    """What both save at once is all there, and a reader meets whole files only."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("one", "two")]
    while any(writer.poll() is None for writer in writers):
        notes.presets(tmp_path)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(notes.presets(tmp_path)) == 40
    assert json.loads((tmp_path / "presets.json").read_text(encoding="utf-8")).keys() == notes.presets(tmp_path).keys()


def an_answer(question: str = "What is it?", text: str = "A lake monster.") -> Answer:
    source = Source("Guide: Loch", "data/loch.md", "CC BY-SA 4.0")
    chunk = Chunk("c1", "loch.md", 10, 25, "A lake monster.", ("Loch",), 4)
    passage = Passage(1, chunk, "Loch", source, Hit("c1", 0.03), 100)
    citation = Citation(1, "loch.md", "Loch", Span(10, 25), "A lake monster.", "quoted", source, "r1", "ab" * 32, 1, 1)
    sentence = Sentence(Span(0, len(text)), (1,), (), "supported")
    return Answer(
        question=question,
        text=text,
        sentences=(sentence,),
        citations=(citation,),
        marks=(Mark(len(text), 1),),
        passages=(passage,),
        trace=Trace((), 12.5),
        refused=False,
        stop="end",
        problem="",
        provider="extractive",
        model="minilm",
        usage=Usage(10, 5),
        prompt_version="v1",
    )


class TestAnswers:
    def test_what_is_logged_comes_back(self, tmp_path: Path) -> None:
        """Question, configuration, filters, passages' spans, text, citations with their spans and usage; no passage's text."""
        conversation = notes.new_conversation()
        kept = notes.log_answer(
            tmp_path, conversation, an_answer("Why\u2028so?"), corpus="c", fields={"top_k": 5}, filters={"region": ("Africa",)}
        )
        (back,) = notes.conversation_answers(tmp_path, conversation)
        assert back == replace(kept, record=json.loads(json.dumps(kept.record)))
        assert back.record["question"] == "Why\u2028so?"
        assert back.record["passages"] == [
            {
                "rank": 1,
                "document": "loch.md",
                "title": "Loch",
                "heading_path": ["Loch"],
                "start": 10,
                "end": 25,
                "source": {"title": "Guide: Loch", "url": "data/loch.md", "license": "CC BY-SA 4.0"},
            }
        ]
        assert back.record["citations"][0]["span"] == {"start": 10, "end": 25}
        assert back.record["citations"][0]["sha256"] == "ab" * 32
        assert back.record["usage"] == {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 0, "dollars": 0.0}
        assert (back.fields, back.filters, back.thumb, back.note) == ({"top_k": 5}, {"region": ["Africa"]}, "", "")

    def test_conversations_are_listed_by_their_last_answer(self, tmp_path: Path) -> None:
        """The latest first, each named by its first question; another corpus's are left out when one is named."""
        for number, corpus in enumerate(["a", "b", "a"]):
            id_ = f"2026-{number}"
            notes.log_answer(tmp_path, id_, an_answer(f"first {number}"), corpus=corpus, fields={})
            os.utime(tmp_path / "answers" / f"{id_}.jsonl", (1000 + number, 1000 + number))
        notes.log_answer(tmp_path, "2026-0", an_answer("second"), corpus="a", fields={})
        listed = notes.conversations(tmp_path)
        assert [(each.id, each.question, each.answers) for each in listed] == [
            ("2026-0", "first 0", 2),
            ("2026-2", "first 2", 1),
            ("2026-1", "first 1", 1),
        ]
        assert [each.id for each in notes.conversations(tmp_path, corpus="b")] == ["2026-1"]
        assert len(notes.conversations(tmp_path, most=2)) == 2
        assert notes.conversations(tmp_path / "none") == ()

    def test_the_last_rating_counts(self, tmp_path: Path) -> None:
        """A thumb and a note can be given, changed and taken back; an answer that is not there is a named failure."""
        kept = notes.log_answer(tmp_path, "c", an_answer(), corpus="a", fields={})
        for thumb, note in (("up", ""), ("down", "wrong lake"), ("", "")):
            notes.rate(tmp_path, "c", kept.id, thumb, note)  # type: ignore[arg-type]
            (back,) = notes.conversation_answers(tmp_path, "c")
            assert (back.thumb, back.note) == (thumb, note)
        with pytest.raises(NotFound, match="the id of an answer"):
            notes.rate(tmp_path, "c", "nope", "up")
        with pytest.raises(InvalidInput, match="a note of at most 2,000 characters"):
            notes.rate(tmp_path, "c", kept.id, "up", "x" * 2001)

    def test_a_torn_line_costs_only_itself(self, tmp_path: Path) -> None:
        """What a killed process left half written is passed over, and what comes after it is whole."""
        notes.log_answer(tmp_path, "c", an_answer("one"), corpus="a", fields={})
        file = tmp_path / "answers" / "c.jsonl"
        with file.open("ab") as out:
            out.write(b'{"answer": {"id": "torn", "reco')
        notes.log_answer(tmp_path, "c", an_answer("two"), corpus="a", fields={})
        assert [each.record["question"] for each in notes.conversation_answers(tmp_path, "c")] == ["one", "two"]

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param('{"answer": {"id": "torn", "record": "é'.encode()[:-1], id="torn within a character"),
            pytest.param(b'{"answer": null}', id="null"),
            pytest.param(b'{"answer": {"id": "x"}}', id="no record"),
            pytest.param(b'{"answer": {"id": "x", "record": []}}', id="another kind of record"),
            pytest.param(b'{"rating": {"stars": 5}}', id="another kind of rating"),
            pytest.param(b'{"rating": null}', id="no rating"),
            pytest.param(b'{"from": "the future"}', id="another kind of line"),
            pytest.param(b"[1]", id="no object"),
        ],
    )
    def test_a_line_that_is_no_answer_hides_no_other(self, tmp_path: Path, line: bytes) -> None:
        """Neither in its conversation nor in the list of all."""
        notes.log_answer(tmp_path, "c", an_answer("one"), corpus="a", fields={})
        file = tmp_path / "answers" / "c.jsonl"
        file.write_bytes(line + b"\n" + file.read_bytes())
        assert [each.record["question"] for each in notes.conversation_answers(tmp_path, "c")] == ["one"]
        assert [each.question for each in notes.conversations(tmp_path)] == ["one"]

    def test_an_answer_of_another_version_is_shown(self, tmp_path: Path) -> None:
        """What it did not know is filled in, what is not known here is passed over."""
        notes.log_answer(tmp_path, "c", an_answer("one"), corpus="a", fields={})
        file = tmp_path / "answers" / "c.jsonl"
        kept = json.loads(file.read_text(encoding="utf-8"))
        del kept["answer"]["record"]["provider_note"], kept["answer"]["record"]["usage"]
        kept["answer"]["stars"] = 5
        file.write_text(json.dumps(kept) + "\n", encoding="utf-8")
        (back,) = notes.conversation_answers(tmp_path, "c")
        assert back.record.keys() == notes.record_of(an_answer()).keys()
        assert (back.record["provider_note"], back.record["usage"]["dollars"]) == ("", None)

    def test_what_is_no_conversation_is_not_listed(self, tmp_path: Path) -> None:
        """A file somebody else put there."""
        notes.log_answer(tmp_path, "c", an_answer("one"), corpus="a", fields={})
        (tmp_path / "answers" / "Copy of c.jsonl").write_bytes((tmp_path / "answers" / "c.jsonl").read_bytes())
        assert [each.id for each in notes.conversations(tmp_path)] == ["c"]

    def test_many_at_once(self, tmp_path: Path) -> None:
        """Answers logged by eight threads are all there."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: notes.log_answer(tmp_path, "c", an_answer(str(n)), corpus="a", fields={}), range(40)))
        assert sorted(int(each.record["question"]) for each in notes.conversation_answers(tmp_path, "c")) == list(range(40))

    @pytest.mark.parametrize("id_", ["../x", "", "A", "a/b", "a" * 65, "x\x00"], ids=repr)
    def test_an_id_is_never_a_path(self, tmp_path: Path, id_: str) -> None:
        """What is no id is refused before any file is touched."""
        for action in (notes.conversation_answers, notes.delete_conversation):
            with pytest.raises(InvalidInput, match="the id of a conversation"):
                action(tmp_path, id_)

    def test_a_conversation_can_be_forgotten(self, tmp_path: Path) -> None:
        """Deleted, it is neither listed nor found."""
        notes.log_answer(tmp_path, "c", an_answer(), corpus="a", fields={})
        notes.delete_conversation(tmp_path, "c")
        assert notes.conversations(tmp_path) == ()
        for action in (notes.conversation_answers, notes.delete_conversation):
            with pytest.raises(NotFound, match="a conversation"):
                action(tmp_path, "c")

    def test_answers_follow_a_corpus_to_its_new_name(self, tmp_path: Path) -> None:
        """Also those in a conversation that began about another; what is answered afterwards keeps its own, the order of the list stays."""
        for conversation, corpora in (("first", ["tales"]), ("second", ["guide", "tales"]), ("third", ["guide"])):
            for corpus in corpora:
                notes.log_answer(tmp_path, conversation, an_answer(), corpus=corpus, fields={})
        notes.move_corpus(tmp_path, "tales", "stories")
        notes.log_answer(tmp_path, "first", an_answer(), corpus="tales", fields={})
        held = {each: [answer.corpus for answer in notes.conversation_answers(tmp_path, each)] for each in ("first", "second", "third")}
        assert held == {"first": ["stories", "tales"], "second": ["guide", "stories"], "third": ["guide"]}
        assert [each.id for each in notes.conversations(tmp_path, corpus="stories")] == ["first"]
        notes.move_corpus(tmp_path, "guide", "book")
        assert [each.id for each in notes.conversations(tmp_path, corpus="book")] == ["third", "second"]

    def test_a_folder_that_may_not_be_written(self, tmp_path: Path) -> None:
        """A file where the folder should be is a named failure."""
        (tmp_path / "answers").write_text("in the way")
        with pytest.raises(StoreError, match=r"to write c\.jsonl"):
            notes.log_answer(tmp_path, "c", an_answer(), corpus="a", fields={})


class TestDrafts:
    def test_kept_replaced_and_deleted(self, tmp_path: Path) -> None:
        """A draft keeps its evidence; the same question of a corpus is one draft; each can be deleted once."""
        evidence = [{"document": "loch.md", "start": 10, "end": 25, "quote": "A lake monster."}]
        first = notes.save_draft(tmp_path, corpus="a", question="Q?", evidence=evidence)
        assert notes.drafts(tmp_path) == (first,)
        again = notes.save_draft(tmp_path, corpus="a", question="Q?", reference="It is.", evidence=evidence, origin="c/1")
        other = notes.save_draft(tmp_path, corpus="b", question="Q?")
        assert notes.drafts(tmp_path) == (again, other)
        assert notes.drafts(tmp_path, "b") == (other,)
        notes.delete_draft(tmp_path, again.id)
        assert notes.drafts(tmp_path) == (other,)
        with pytest.raises(NotFound, match="the id of a draft"):
            notes.delete_draft(tmp_path, again.id)

    def test_quotations_from_passages_gather_in_one_draft(self, tmp_path: Path) -> None:
        """Each once; a draft of an answer to the same question stands beside it, and neither takes the other's place."""
        one, two = ({"document": "lake.md", "start": at, "end": at + 5, "quote": "words"} for at in (0, 9))
        for evidence in (one, two, one):
            gathered = notes.add_to_draft(tmp_path, corpus="a", question="Q?", evidence=evidence)
        assert (gathered.evidence, gathered.origin) == ([one, two], notes.FROM_PASSAGES)
        answered = notes.save_draft(tmp_path, corpus="a", question="Q?", reference="It is.", origin="c/1")
        assert notes.drafts(tmp_path) == (gathered, answered)
        elsewhere = notes.add_to_draft(tmp_path, corpus="b", question="Q?", evidence=one)
        assert notes.drafts(tmp_path, "b") == (elsewhere,)
