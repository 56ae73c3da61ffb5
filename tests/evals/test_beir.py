"""BEIR folders: any of them is read as questions, any of ours is written so that nothing is lost."""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import published
from evals import beir
from evals.beir import Collection, missing_documents, read_collection, write_collection
from evals.golden import GoldenSet, Question, Quote, load_questions, with_named
from evals.metrics import NO_RELEVANT, Gold, parse_metric, score_retrieval
from sitt_core.build import read_source
from sitt_core.errors import InvalidInput, NotFound
from sitt_core.sources import beir as source
from sitt_core.text import normalise, sha256_text
from sitt_core.types import Document, Source
from tests.fakes.command_line import environment
from tests.fakes.corpora import tales

QUERIES = (
    {"_id": "q1", "text": "Who?"},
    {"_id": "q2", "text": " Where ? ", "metadata": {"split": "train"}},
    {"_id": "q3", "text": "When?"},
)
HEADER = "query-id\tcorpus-id\tscore\n"


def make(folder: Path, queries: Sequence[object] = QUERIES, **qrels: str | bytes) -> Path:
    """A folder of those queries (bytes as they are, anything else as JSON) and files of judgements."""
    (folder / "qrels").mkdir(parents=True)
    lines = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in queries]
    (folder / "queries.jsonl").write_bytes(b"\n".join(lines))
    for split, rows in qrels.items():
        (folder / "qrels" / f"{split}.tsv").write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    return folder


def read(tmp_path: Path, rows: str | bytes, queries: Sequence[object] = QUERIES) -> Collection:
    return read_collection(make(tmp_path / "tales", queries, test=rows), split="test")


def grades(collection: Collection) -> dict[str, dict[str, int]]:
    return {question.id: dict(question.grades) for question in collection.golden.questions}


def question(id_: str = "q", **changes: object) -> Question:
    return replace(Question(id_, "Who?", "detail", grades={"d": 1}), **changes)  # type: ignore[arg-type]


def document(id_: str, text: str = "A giant.", title: str = "") -> Document:
    return Document(id_, title, Source(title, "", ""), text, (), (), sha256_text(text))


def test_the_judged_queries_are_the_questions(tmp_path: Path) -> None:
    """Ids and texts as given, in the order of the queries; the kind is the split, what a foreign metadata says of splits is not ours."""
    collection = read(tmp_path, HEADER + "q2\td1\t2\nq1\td1\t1\nq2\td2\t0\nq2\td3\t-1\n")
    assert collection.golden == GoldenSet(
        "tales",
        (
            Question("q1", "Who?", "test", "open", {"d1": 1}),
            Question("q2", " Where ? ", "test", "open", {"d1": 2, "d2": 0, "d3": -1}),
        ),
        drops_own_id=True,
    )
    assert collection.notes == ("1 of 3 queries has no judgement in test and is left out.",)


def test_splits_are_told_apart(tmp_path: Path) -> None:
    """Each has its own questions, of its own kind, or of kind test where its name means something else here."""
    folder = make(tmp_path / "tales", dev="q1\td\t1\n", named="q2\td\t1\n", unanswerable="q3\td\t1\n")
    kinds = {
        split: [each.kind for each in read_collection(folder, split=split).golden.questions] for split in ("dev", "named", "unanswerable")
    }
    assert kinds == {"dev": ["dev"], "named": ["test"], "unanswerable": ["test"]}
    for split in ("test", "../qrels/dev", "", "dev.tsv"):
        with pytest.raises(NotFound, match="a split of tales: dev, named, unanswerable"):
            read_collection(folder, split=split)


@pytest.mark.parametrize(
    "rows",
    [
        HEADER + "q1\td 1\t1\n",
        "\ufeff" + HEADER + "q1\td 1\t1",
        "\ufeffq1\td 1\t1\n",
        HEADER.replace("\n", "\r\n") + "q1\td 1\t1\r\n\r\n",
        "Query_ID\tCorpus ID\tRelevance\nq1\td 1\t1.0\n",
        "score\tcorpus-id\tquery-id\n1\td 1\tq1\n",
        "qid\titer\tdocno\trel\nq1\tx\td 1\t1\n",
        "q1\td 1\t+1\n",
        "q1\td 1\t1\t\t\n",
        "q1\t0\td 1\t1\n",
        "q1\tQ0\td 1\t 1 \n",
        "q1\t4.5\td 1\t1\n",
        '"q1"\t"d 1"\t"1"\n',
    ],
    ids=[
        *("beir", "bom", "bom-no-header", "crlf", "other-names", "other-order", "trec-header", "no-header", "trailing-tabs"),
        *("trec", "trec-q0", "trec-round", "quoted"),
    ],
)
def test_judgements_are_read_however_they_are_written(tmp_path: Path, rows: str) -> None:
    """With and without a header, BEIR's three columns and TREC's four."""
    assert grades(read(tmp_path, rows)) == {"q1": {"d 1": 1}}


@pytest.mark.parametrize("rows", ["q1 0 d1 1\nq2   0 d1 -1\n", "query-id corpus-id score\nq1 d1 1\nq2 d1 -1"], ids=["trec", "beir"])
def test_columns_may_be_apart_by_spaces(tmp_path: Path, rows: str) -> None:
    """As trec_eval reads them."""
    assert grades(read(tmp_path, rows)) == {"q1": {"d1": 1}, "q2": {"d1": -1}}


def test_ids_that_are_numbers_are_texts(tmp_path: Path) -> None:
    """As they are written, so that they meet those of the judgements."""
    queries = [b'{"_id": 7, "text": 1984}', b'{"_id": 1.50, "text": "x"}', b'{"_id": -0.0, "text": "y"}']
    found = read(tmp_path, "7\t1\t1\n1.50\t1\t1\n-0.0\t1\t1", queries)
    assert [(each.id, each.text) for each in found.golden.questions] == [("7", "1984"), ("1.50", "x"), ("-0.0", "y")]


def test_what_is_odd_is_noted(tmp_path: Path) -> None:
    """Everything left out or counted once has its sentence, with examples, and the first of its kind counts."""
    queries = [*QUERIES, {"_id": "q1", "text": "Again?"}, *({"_id": f"u{number}", "text": "x"} for number in range(2000))]
    unknown = "".join(f"x{number}\td\t1\n" for number in range(5))
    found = read(tmp_path, "q1\ta\t1\nq1\ta\t1\nq1\tb\t0\nq1\tb\t2\nq2\ta\t0\nq2\tb\t-1\n" + unknown, queries)
    assert [each.text for each in found.golden.questions] == ["Who?", " Where ? "]
    assert grades(found)["q1"] == {"a": 1, "b": 0}
    assert found.notes == (
        "qrels/test.tsv repeats a judgement: 'q1' and 'a'.",
        "qrels/test.tsv gives two grades to the same question and document, and the first counts: 'q1' and 'b' (0, then 2).",
        "queries.jsonl gives an id more than once, and the first line counts: 'q1'.",
        "qrels/test.tsv judges questions that queries.jsonl does not hold, which are left out: 'x0', 'x1', 'x2' and 2 more.",
        "2,001 of 2,003 queries have no judgement in test and are left out.",
        "No document is relevant to some questions, so no metric is defined for them (trec_eval counts 0): 'q2'.",
    )


def test_a_question_without_a_relevant_document_is_kept_and_has_no_score(tmp_path: Path) -> None:
    """Its metrics are undefined, with the reason, instead of 0."""
    (kept,) = read(tmp_path, "q1\ta\t0\n").golden.questions
    metric = parse_metric("document-ndcg@10")
    assert score_retrieval([metric], Gold(kept.grades, answerable=kept.answerable), [])[metric.name].undefined == NO_RELEVANT


def test_metadata_of_ours_is_read_and_that_of_others_left_alone(tmp_path: Path) -> None:
    """Kind, side, evidence, answer and facts come back; the same keys in another form are noted, other keys overlooked."""
    ours = {"kind": "detail", "split": "sealed", "answer": "Yes.", "facts": ["f"], "about": ["b"], "more": 1}
    ours |= {"evidence": [[{"document": "d", "quote": "a giant", "occurrence": 2}], [{"document": "d", "quote": "x"}]]}
    theirs = {"kind": 7, "split": ["test"], "answer": ["Yes."], "facts": "f", "evidence": ["x"], "judgements": {"yes": []}}
    queries = [{"_id": "q1", "text": "x", "metadata": ours}, {"_id": "q2", "text": "y", "metadata": theirs}]
    found = read(tmp_path, "q1\td\t1\nq2\td\t1\n", [*queries, {"_id": "q3", "text": "z", "metadata": []}])
    evidence = ((Quote("d", "a giant", 2),), (Quote("d", "x"),))
    assert found.golden.questions == (
        Question("q1", "x", "detail", "sealed", {"d": 1}, evidence, ("b",), "Yes.", ("f",)),
        Question("q2", "y", "test", "open", {"d": 1}),
    )
    assert [note for note in found.notes if "metadata" in note] == [
        f"metadata.{key} has another form than ours and is left out: 'q2'." for key in ("kind", "answer", "facts", "evidence", "judgements")
    ]


def test_queries_known_to_be_unanswerable_are_questions(tmp_path: Path) -> None:
    """Without a judgement and with that kind in their metadata, they belong to every split."""
    queries = [*QUERIES, {"_id": "u", "text": "Why?", "metadata": {"kind": "unanswerable", "about": ["d1"]}}]
    found = read(tmp_path, "q1\td1\t1\n", queries)
    assert found.golden.questions[1] == Question("u", "Why?", "unanswerable", about=("d1",))
    assert found.notes == ("2 of 4 queries have no judgement in test and are left out.",)


@pytest.mark.parametrize(
    ("rows", "queries", "words"),
    [
        ("q1\td\n", QUERIES, r"qrels/test.tsv, line 1: expected query-id, corpus-id, score, got \['q1', 'd'\]"),
        ("q1\td\t1\t5\n", QUERIES, r"expected query-id, corpus-id, score, got \['q1', 'd', '1', '5'\]"),
        (HEADER + "q1\t0\td\t1\n", QUERIES, "line 2: expected query-id, corpus-id, score"),
        ("q1\td\tyes\n", QUERIES, "a whole number as score, got 'yes'"),
        ("q1\td\t0.5\n", QUERIES, "got '0.5'"),
        ("q1\td\t1_0\n", QUERIES, "got '1_0'"),
        ("\td\t1\n", QUERIES, "a question's id"),
        ("q1\t\t1\n", QUERIES, "a document's id"),
        ('q1\td\t1\nq1\t"d\t1\nq2\td\t1\n', QUERIES, "line 2: unexpected end of data"),
        (b"q1\t\xff\t1\n", QUERIES, "qrels/test.tsv: expected UTF-8"),
        ("q1\td\t1\n", [b"{"], "queries.jsonl, line 1: no JSON"),
        ("q1\td\t1\n", [b'{"_id": "\xff"}'], "queries.jsonl, line 1: 'utf-8' codec"),
        ("q1\td\t1\n", [b"[" * 100_000], "line 1: maximum recursion"),
        ("q1\td\t1\n", [b'{"_id": ' + b"1" * 5000 + b"}"], "line 1: Exceeds the limit"),
        ("q1\td\t1\n", ["x"], "an object with _id and text, got 'x'"),
        ("q1\td\t1\n", [{"text": "x"}], "an _id, a text or a number, got None"),
        ("q1\td\t1\n", [{"_id": True}], "got True"),
        ("q1\td\t1\n", [{"_id": "q1"}], r"line 1 \('q1'\): expected a text in valid Unicode, got None"),
        ("q1\td\t1\n", [{"_id": "q1", "text": " \n"}], "a text in valid Unicode"),
        ("q1\td\t1\n", [rb'{"_id": "q1", "text": "\ud800"}'], "a text in valid Unicode"),
        ("q1\td\t1\n", [{"_id": "q1", "text": "x", "metadata": {"kind": "unanswerable"}}], "no relevant documents, got 'd'"),
    ],
)
def test_what_cannot_be_read_is_told_by_line(tmp_path: Path, rows: str | bytes, queries: Sequence[object], words: str) -> None:
    """Nothing is guessed where two meanings are possible, and nothing dropped in silence."""
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, rows, queries)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Those of both files, 20 at most, with the number of the others."""
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, "q1\td\tx\n" * 30, [b"{"] * 30)
    assert caught.value.got.startswith("60 problems: qrels/test.tsv, line 1")
    assert caught.value.got.endswith("; and 40 more")
    (tmp_path / "tales" / "qrels" / "test.tsv").write_text("q1\td\tx\n" * 2)
    with pytest.raises(InvalidInput, match=r"qrels/test.tsv, line 2.*queries.jsonl, line 18: [^;]*; and 12 more"):
        read_collection(tmp_path / "tales", split="test")


def test_unjudged_queries_may_be_anything_with_an_id(tmp_path: Path) -> None:
    """An empty text that nobody asks is no problem."""
    assert list(grades(read(tmp_path, "q1\td\t1\n", [*QUERIES, {"_id": "x", "text": ""}]))) == ["q1"]


@pytest.mark.parametrize("place", ["none", "file", "empty", "x" * 300, "a\x00b"], ids=["missing", "file", "empty", "long", "nul"])
def test_what_is_no_collection_is_a_named_error(tmp_path: Path, place: str) -> None:
    """The error says what a BEIR folder holds, or that this is no path."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises((NotFound, InvalidInput), match=r"a BEIR folder: queries\.jsonl|the path of a folder"):
        read_collection(tmp_path / place, split="test")


def test_missing_documents_are_the_relevant_ones_that_are_not_there() -> None:
    """Each once, in order; what is judged as not relevant does not count."""
    golden = GoldenSet("g", (question("a", grades={"x": 1, "y": 0}), question("b", grades={"z": 2, "x": 1, "w": 1})))
    assert missing_documents(golden, iter(["w", "v"])) == ("x", "z")


hostile = st.text(st.sampled_from("\t\n\r\"' \\\x00\x85\u2028\ufeffaбé😀") | st.characters(codec="utf-8"), min_size=1, max_size=8)
words = hostile.filter(lambda text: bool(text.strip()))
canonical = words.map(normalise).filter(lambda text: bool(text.strip()))
quotes = st.builds(Quote, hostile, hostile, st.integers(0, 3))
questions = st.builds(
    Question,
    hostile,
    words,
    st.sampled_from(["detail", "test"]) | words.filter(lambda kind: kind != "unanswerable"),
    st.sampled_from(["open", "sealed"]),
    st.dictionaries(hostile, st.integers(-999, 999), min_size=1, max_size=3),
    st.lists(st.lists(quotes, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
    st.lists(hostile, max_size=2).map(tuple),
    st.just("") | hostile,
    st.lists(hostile, max_size=2).map(tuple),
)
unanswerable = st.builds(Question, hostile, words, st.just("unanswerable"), about=st.lists(hostile, max_size=2).map(tuple))
golden_sets = st.builds(
    GoldenSet,
    st.just("made"),
    st.lists(questions | unanswerable, max_size=4, unique_by=lambda each: each.id).map(tuple),
    drops_own_id=st.booleans(),
)
documents = st.lists(st.builds(document, hostile, canonical, st.just("") | words), max_size=4, unique_by=lambda each: each.id)


@given(golden_sets, documents, st.booleans())
@settings(max_examples=150)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, golden: GoldenSet, texts: list[Document], judged: bool
) -> None:
    """The same questions with all that is known of them, grades in order, texts under their ids, whatever characters they are of."""
    if judged:
        golden = replace(golden, judgements={each.id: {id_: grade > 0 for id_, grade in each.grades.items()} for each in golden.questions})
    folder = tmp_path_factory.mktemp("round") / "made"
    write_collection(folder, texts, golden, sealed=True)
    found = read_collection(folder, split="test").golden
    assert (found.questions, found.judgements) == (golden.questions, golden.judgements)
    assert [list(each.grades) for each in found.questions] == [list(each.grades) for each in golden.questions]
    assert found.drops_own_id == (golden.drops_own_id or not golden.questions)
    if texts:
        read_back = source.read_beir(folder, origin="beir:made")
        assert [(each.id, each.text) for each in read_back.documents] == [(each.id, each.text) for each in texts]


def test_beirs_own_reader_understands_what_is_written(tmp_path: Path) -> None:
    """Its loader takes the judgements by csv with tabs, the first row left out, and the corpus by _id, title and text."""
    asked = question('q\t"1"', grades={"d\n1": 2, "d2": -1})
    write_collection(tmp_path / "made", [document("d\n1", title="T")], GoldenSet("g", (asked,)), split="dev")
    with (tmp_path / "made" / "qrels" / "dev.tsv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL))[1:] == [['q\t"1"', "d\n1", "2"], ['q\t"1"', "d2", "-1"]]
    (line,) = (json.loads(line) for line in (tmp_path / "made" / "corpus.jsonl").read_text().splitlines())
    assert (line["_id"], line["title"], line["text"]) == ("d\n1", "T", "A giant.")


def test_plain_ids_are_written_plainly(tmp_path: Path) -> None:
    """Quotation marks stand only where they must, since not every tool knows them."""
    write_collection(tmp_path / "made", [], GoldenSet("g", (question("q 1", grades={"<d'1>": 1}),)))
    assert (tmp_path / "made" / "qrels" / "test.tsv").read_bytes() == b"query-id\tcorpus-id\tscore\nq 1\t<d'1>\t1\n"


def test_the_field_guide_survives_the_journey(tmp_path: Path) -> None:
    """Its set with its identity, and its documents with their attribution, are the same after an export."""
    listing, _ = read_source("field-guide")
    golden = with_named(load_questions("field-guide"), [(each.id, each.title) for each in listing.documents])
    write_collection(tmp_path / "field-guide", listing.documents, golden, sealed=True)
    found = read_collection(tmp_path / "field-guide", split="test")
    assert (found.golden.questions, found.golden.judgements, found.golden.sha256) == (golden.questions, golden.judgements, golden.sha256)
    assert found.notes == ()
    again, _ = read_source(f"beir:{tmp_path / 'field-guide'}")
    facts: Callable[[Document], object] = lambda each: (each.id, each.title, each.text, each.source, each.sections, each.blocks)  # noqa: E731
    assert list(map(facts, again.documents)) == list(map(facts, listing.documents))


def test_sealed_questions_stay_unless_asked_for(tmp_path: Path) -> None:
    """Neither they nor what is judged of them is in any file."""
    golden = GoldenSet("g", (question("a"), question("b", text="Secret?", split="sealed", grades={"hidden": 1})), {"b": {"hidden": True}})
    write_collection(tmp_path / "open", [], golden)
    assert [each.id for each in read_collection(tmp_path / "open", split="test").golden.questions] == ["a"]
    written = b"".join(file.read_bytes() for file in (tmp_path / "open").rglob("*") if file.is_file())
    assert b"Who?" in written
    assert b"hidden" not in written
    assert b"Secret" not in written
    write_collection(tmp_path / "all", [], golden, sealed=True)
    assert read_collection(tmp_path / "all", split="test").golden.questions == golden.questions


@pytest.mark.parametrize(
    ("texts", "asked", "split", "words"),
    [
        ([document("d"), document("d")], [], "test", "'d': more than one document"),
        ([document("")], [], "test", "an id of 1 to 4,096 characters, got 0"),
        ([document("d", " ")], [], "test", "document 'd': expected a text in its canonical form"),
        ([document("d", "a\r\nb")], [], "test", "canonical form"),
        ([document("d", "x" * 5_000_000)], [], "test", "at most 5,000,000 bytes a line"),
        ([document("\ud800")], [], "test", "lone surrogate"),
        ([], [question("a"), question("a")], "test", "'a': more than one question"),
        ([], [question("")], "test", "ids of 1 to 4,096"),
        ([], [question(text=" ")], "test", "question 'q': expected a text, a kind and a split"),
        ([], [question(split="test")], "test", "open or sealed"),
        ([], [question(grades={})], "test", "a judgement, or kind unanswerable"),
        ([], [question(kind="unanswerable")], "test", "no relevant documents"),
        ([], [question(grades={"d": True})], "test", "whole numbers"),
        ([], [question(grades={"d": 10**9})], "test", "at most 9 digits"),
        ([], [question(grades={"\ud800": 1})], "test", "lone surrogate"),
        ([], [question(answer="\ud800")], "test", "lone surrogate"),
        ([], [], "../x", "the split '../x'"),
    ],
)
def test_what_would_not_be_read_back_is_not_written(
    tmp_path: Path, texts: list[Document], asked: list[Question], split: str, words: str
) -> None:
    """It is refused before there is a folder, everything at once."""
    with pytest.raises(InvalidInput, match=words):
        write_collection(tmp_path / "made", texts, GoldenSet("g", tuple(asked)), split=split, sealed=True)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """A new or an empty folder is taken, parents are made; one that holds something, or a file, is left as it is."""
    golden = GoldenSet("g", (question(),))
    (tmp_path / "empty").mkdir()
    for place in ("empty", "a/b/new"):
        write_collection(tmp_path / place, [], golden)
        assert {each.name for each in (tmp_path / place).iterdir()} == {"corpus.jsonl", "queries.jsonl", "qrels"}
    (tmp_path / "file").write_text("x")
    for place in ("empty", "file", "file/under"):
        with pytest.raises(InvalidInput):
            write_collection(tmp_path / place, [document("d")], golden)
    assert (tmp_path / "empty" / "corpus.jsonl").read_bytes() == b""
    assert {each.name for each in tmp_path.iterdir()} == {"empty", "a", "file"}


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks off leaves nothing behind."""

    def fail(_: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(beir, "_cell", fail)
    with pytest.raises(InvalidInput, match="No space left"):
        write_collection(tmp_path / "made", [document("d")], GoldenSet("g", (question(),)))
    assert list(tmp_path.iterdir()) == []


def test_writer_and_reader_know_the_same_limits() -> None:
    """What may be written is what a source reads; the two may not import each other."""
    assert (beir.MAX_LINE, beir.MAX_ID, beir.CORPUS_FILE) == (source.MAX_LINE, source.MAX_ID, source.CORPUS_FILE)


class TestPublished:
    def test_a_collection_is_asked_as_the_published_figures_were_made(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """BM25 and MiniLM beside what is given as published, and the hybrid; the same figures when it is asked again."""
        for name, value in environment(tmp_path / "data").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("SITT_BENCH_DIR", str(tmp_path / "bench"))
        asked = [("serpent of the cold lake", "lake"), ("what crossed the evening sky", "sky"), ("traps made of iron", "lake")]
        questions = tuple(question(f"q{at}", text=text, grades={f"{name}.md": 1}) for at, (text, name) in enumerate(asked))
        folder = tmp_path / "tiny"
        write_collection(folder, tales(), GoldenSet("tiny", questions))
        for _ in range(2):
            published.main([str(folder), "--published", "tiny=1.0,-"])
            assert (
                capsys.readouterr().out
                == "tiny, 3 questions: BM25 1.000 (published 1.000, +0.000); MiniLM 1.000 (published –); hybrid 1.000\n"
            )

    @pytest.mark.parametrize(
        ("ours", "theirs", "said"),
        [
            (0.689, 0.687, "BM25 0.689 (published 0.687, +0.002)"),
            (0.6801, 0.687, "BM25 0.680 (published 0.687, -0.007, more than 0.005 off)"),
            (0.5, None, "BM25 0.500 (published –)"),
        ],
    )
    def test_a_figure_says_how_far_it_is_off(self, ours: float, theirs: float | None, said: str) -> None:
        """Beside the published one, where there is one."""
        figures = {"BM25": ours, "MiniLM": 0.0, "hybrid": 0.0}
        assert published.line("x", 1, figures, (theirs, None)) == f"x, 1 question: {said}; MiniLM 0.000 (published –); hybrid 0.000"

    def test_without_a_folder_it_says_what_it_wants(self, capsys: pytest.CaptureFixture[str]) -> None:
        """And does not fail: make bench runs it with the others."""
        published.main([])
        assert "FOLDER" in capsys.readouterr().out
