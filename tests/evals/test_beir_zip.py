"""Zipped BEIR folders that somebody brings: read as the folder is, whatever else is in them; tricks are refused by name."""

import io
import json
import stat
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from evals import beir_zip, editing, exchange
from evals.beir_zip import read_zip
from evals.editing import Shelf
from evals.golden import Finding, GoldenSet, Question, Quote
from sitt_core.errors import InvalidInput, NotFound
from sitt_core.settings import Settings
from tests.fakes.corpora import NAME, tales

RISING = Quote("lake.md", "A long neck rose from the cold lake at dawn.")
LAKE = Question("open-lake", "What came out of the water?", "described", "open", {"lake.md": 1}, ((RISING,),))
QUERIES = "\n".join(json.dumps({"_id": id_, "text": text}) for id_, text in (("1", "Which bird is wide?"), ("2", "Which hound is black?")))
QRELS = "query-id\tcorpus-id\tscore\n1\tsky.md\t2\n1\tice.md\t0\n2\tmoor.md\t1\n"
GOOD = {"queries.jsonl": QUERIES, "qrels/test.tsv": QRELS}


def zipped(files: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


class TestReading:
    @pytest.mark.parametrize(
        "files",
        [
            GOOD,
            {f"scifact/{name}": text for name, text in GOOD.items()},
            {**GOOD, "corpus.jsonl": "no JSON", "README": "?", "__MACOSX/queries.jsonl": "?", "deep/er/queries.jsonl": "?"},
            {"queries.jsonl": QUERIES, "qrels/dev.tsv": QRELS},
            {**GOOD, "qrels/train.tsv": "?"},
        ],
        ids=["at the top", "in a folder", "with others", "another split", "several splits"],
    )
    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_questions_and_judgements_are_found(self, files: dict[str, str], compression: int) -> None:
        """At the top or in a folder, however they are packed; of several splits the test one."""
        golden = read_zip(zipped(files, compression), name=NAME).golden
        assert golden.name == NAME
        assert {each.id: dict(each.grades) for each in golden.questions} == {"1": {"sky.md": 2, "ice.md": 0}, "2": {"moor.md": 1}}

    @pytest.mark.parametrize("name", ["../queries.jsonl", "a/../../x", "/etc/passwd", "..\\x", "C:/x", "C:\\x", "a\\..\\b"])
    def test_a_name_that_leads_outside_is_refused(self, name: str) -> None:
        """Also of a file that nobody would read."""
        with pytest.raises(InvalidInput, match="files within the archive"):
            read_zip(zipped({**GOOD, name: "x"}), name=NAME)

    def test_a_link_is_refused(self) -> None:
        """It might stand for any file of the machine."""
        link = zipfile.ZipInfo("corpus.jsonl")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        out = io.BytesIO(zipped(GOOD))
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr(link, "/etc/passwd")
        with pytest.raises(InvalidInput, match="a link to another"):
            read_zip(out.getvalue(), name=NAME)

    def test_a_bomb_is_refused_before_it_is_unpacked(self) -> None:
        """A megabyte of zeros packs to a kilobyte; one file may unpack to so much and no more, whatever the archive says it will."""
        bomb = zipped({**GOOD, "queries.jsonl": b" " * (beir_zip.MAX_UNPACKED + 1)})
        assert len(bomb) < 100_000
        with pytest.raises(InvalidInput, match=r"at most 10,000,000 bytes.*queries\.jsonl"):
            read_zip(bomb, name=NAME)
        told = (beir_zip.MAX_UNPACKED + 1).to_bytes(4, "little")
        with pytest.raises(InvalidInput, match=r"queries\.jsonl"):
            read_zip(bomb.replace(told, (100).to_bytes(4, "little")), name=NAME)

    def test_an_archive_has_its_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In bytes and in files."""
        with pytest.raises(InvalidInput, match="at most 1,000 files"):
            read_zip(zipped({**GOOD, **{f"x{at}": "" for at in range(1000)}}), name=NAME)
        monkeypatch.setattr(beir_zip, "MAX_ZIP", 100)
        with pytest.raises(InvalidInput, match="at most 100 bytes"):
            read_zip(zipped(GOOD), name=NAME)

    @pytest.mark.parametrize(
        ("break_it", "said"),
        [
            (lambda _: b"PK\x03\x04 and then nothing", "a zip archive"),
            (lambda data: data[: len(data) // 2], "a zip archive"),
            (lambda data: data.replace(data[40:60], b"\xff" * 20, 1), "can be unpacked"),
            (lambda data: data.replace(b"\x00\x00\x08\x00", b"\x01\x00\x08\x00"), "it is encrypted"),
            (lambda data: data.replace(b"\x00\x00\x08\x00", b"\x00\x00\x55\x00"), "can be unpacked"),
            (lambda _: zipped({"a/queries.jsonl": "", "b/queries.jsonl": ""}), "one queries.jsonl"),
            (lambda _: zipped({"a/b/queries.jsonl": ""}), "one queries.jsonl"),
            (lambda _: zipped({"queries.jsonl": QUERIES}), "qrels/test.tsv, or one other"),
            (lambda _: zipped({"queries.jsonl": QUERIES, "qrels/a.tsv": "", "qrels/b.tsv": ""}), "got 'a', 'b'"),
            (lambda _: zipped({"queries.jsonl": QUERIES, "qrels/…\n.tsv": ""}), "qrels/test.tsv"),
            (lambda _: zipped({**GOOD, "queries.jsonl": "{"}), "no JSON"),
        ],
        ids=["begun", "cut", "altered", "encrypted", "unknown packing", "two", "deep", "unjudged", "two splits", "odd name", "no JSON"],
    )
    def test_what_is_no_zipped_beir_folder_is_told(self, break_it: Callable[[bytes], bytes], said: str) -> None:
        """In a named error."""
        with pytest.raises((InvalidInput, NotFound), match=said):
            read_zip(break_it(zipped(GOOD)), name=NAME)

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_a_file_that_is_there_twice_is_refused(self) -> None:
        """Readers differ in which they take."""
        out = io.BytesIO(zipped(GOOD))
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr("queries.jsonl", "")
        with pytest.raises(InvalidInput, match="more than once"):
            read_zip(out.getvalue(), name=NAME)


class TestImporting:
    def test_what_a_collection_means_here_is_told_before_it_is_taken(self) -> None:
        """Unknown documents, repeated and graded judgements, questions that are asked already or have no document; then it is kept."""
        queries = [
            ("1", "Which bird is wide?"),
            ("2", "What came out of the water?"),
            ("2", "Else?"),
            ("3", "Nothing?"),
            ("lake.md", "Lost?"),
        ]
        rows = "1\tsky.md\t2\n1\tice.md\t0\n1\tsky.md\t2\n2\tlake.md\t1\n3\tmoor.md\t0\nlake.md\tgone.md\t1\n"
        text = "\n".join(json.dumps({"_id": id_, "text": asked}) for id_, asked in queries)
        data = zipped({"queries.jsonl": text, "qrels/test.tsv": f"query-id\tcorpus-id\tscore\n{rows}"})
        found = exchange.read_import(Shelf(NAME, own=(LAKE,)), data, tales())
        assert found.problems == ()
        assert [(each.id, each.kind, dict(each.grades)) for each in found.questions] == [
            ("1", "test", {"sky.md": 2, "ice.md": 0}), ("2", "test", {"lake.md": 1}), ("lake.md", "test", {"gone.md": 1}),
        ]  # fmt: skip
        assert [(each.question, each.kind) for each in found.findings] == [("lake.md", "document"), ("2", "duplicate")]
        for said in (
            "repeats a judgement", "an id more than once", "documents are not taken", "1 question to which no document is relevant",
            "Of 3 relevant documents 1 is not in tales", "1 of 4 judgements is graded, from 0 to 2", "have the id of a document",
        ):  # fmt: skip
            assert any(said in note for note in found.notes), said

    def test_an_export_of_another_set_can_be_imported(self) -> None:
        """With its evidence and answers; generated questions are left out, and those whose ids are in use are refused."""
        question = replace(LAKE, id="theirs", text="What rose at dawn?", answer="A neck.", facts=("a neck",))
        named = Question("named-lake", "Tell me about it", "named", grades={"lake.md": 1})
        none = Question("none", "Who wrote it?", "unanswerable", about=("sky.md",))
        data = exchange.export_beir(Shelf("theirs", own=(question, none), generated=(named,)), tales())
        found = exchange.read_import(Shelf(NAME), data, tales())
        assert (found.questions, found.problems, found.findings) == ((question, none), (), ())
        assert any("1 generated question is left out" in note for note in found.notes)
        again = exchange.read_import(Shelf(NAME, own=(question,)), data, tales())
        assert again.questions == ()
        assert again.problems == ("'theirs': the id 'theirs' is in use",)

    def test_ids_that_could_not_be_kept_and_too_many_questions_are_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing of it is taken then."""
        monkeypatch.setattr(editing, "MAX_OWN", 1)
        text = "\n".join(json.dumps({"_id": id_, "text": f"Asked {id_}?"}) for id_ in ("a b", "c"))
        found = exchange.read_import(
            Shelf(NAME), zipped({"queries.jsonl": text, "qrels/test.tsv": "a b\tsky.md\t1\nc\tsky.md\t1\n"}), tales()
        )
        assert found.questions == ()
        first, second = found.problems
        assert first.startswith("'a b': an id has 1 to 100")
        assert second == "expected at most 1 questions of one's own, got 2 with these"

    def test_findings_about_sealed_questions_say_nothing_of_them(self) -> None:
        """An archive may hold them, exported with --sealed."""
        sealed = Question("secret-moor", "A secret?", "detail", "sealed", {"moor.md": 1}, ((Quote("moor.md", "nowhere"),),))
        golden = GoldenSet("theirs", (sealed,))
        queries = json.dumps(
            {
                "_id": sealed.id,
                "text": sealed.text,
                "metadata": {"kind": "detail", "split": "sealed", "evidence": [[{"document": "moor.md", "quote": "nowhere"}]]},
            }
        )
        found = exchange.read_import(
            Shelf(NAME), zipped({"queries.jsonl": queries, "qrels/test.tsv": "secret-moor\tmoor.md\t1\n"}), tales()
        )
        assert found.questions == golden.questions
        assert found.findings == (Finding("your sealed detail 1", "stale", editing.QUIET["stale"]),)

    def test_a_thousand_questions_are_kept(self, tmp_path: Path) -> None:
        """Checked and written in one go, each read back as it is."""
        settings = Settings(tmp_path)
        text = "\n".join(json.dumps({"_id": str(at), "text": f"Which one is {at}?"}) for at in range(1000))
        rows = "\n".join(f"{at}\tsky.md\t1" for at in range(1000))
        found = exchange.read_import(Shelf(NAME), zipped({"queries.jsonl": text, "qrels/test.tsv": rows}), tales())
        editing.add_questions(settings, NAME, found.questions)
        assert len(editing.own_questions(settings, NAME)) == 1000
