"""Question sets as BEIR folders hold them, queries.jsonl and qrels/SPLIT.tsv: any of them read, any of ours written.

What BEIR has no place for (kind, side, evidence, answer …) stands in a query's "metadata", where other readers overlook it.
"""

import csv
import json
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.golden import FLOOR, MAX_LISTED, SPLITS, UNANSWERABLE, GoldenSet, Question, Quote, question_entry
from sitt_core.errors import InvalidInput, NotFound, shown
from sitt_core.text import normalise
from sitt_core.types import Document

CORPUS_FILE = "corpus.jsonl"
QUERIES_FILE = "queries.jsonl"
QRELS_DIR = "qrels"
TEST = "test"
MAX_LINE = 5_000_000
MAX_ID = 4096
"""The longest line of corpus.jsonl, in bytes, and the longest id that sitt_core.sources.beir reads."""
EXAMPLES = 3

_HEADER = ("query-id", "corpus-id", "score")
_NAMES = (
    {"queryid", "qid", "query", "topicid", "topic"},
    {"corpusid", "documentid", "docid", "docno", "pid", "document"},
    {"score", "relevance", "rel", "grade", "label", "judgement", "judgment"},
)
"""What the header of a file of judgements calls its columns, letters and digits alone."""
_ITERATION = re.compile(r"\s*Q?\d+(?:\.\d+)?\s*", re.ASCII | re.IGNORECASE)
_GRADE = re.compile(r"\s*([+-]?\d{1,9})(?:\.0*)?\s*", re.ASCII)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SPLIT_NAME = re.compile(r"\w[\w.-]{0,63}")

_Columns = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Collection:
    """The questions of a BEIR folder; `notes` say in plain sentences what was left out or looks odd."""

    golden: GoldenSet
    notes: tuple[str, ...] = ()


def read_collection(folder: Path, *, split: str) -> Collection:
    """The questions with a judgement in qrels/SPLIT.tsv, in the order of queries.jsonl, named like the folder.

    Their kind is the split unless their metadata says otherwise. A question whose judgements are all ≤ 0 is kept and noted:
    no metric is defined for it (trec_eval counts it as 0). A query without any judgement whose metadata says the kind is
    "unanswerable" is a question of every split. Of what is given twice the first counts. Raises NotFound for a folder or a
    split that is not there, InvalidInput with everything that is wrong with the files at once.
    """
    place = _place(folder)
    reader = _Reader(place, split)
    questions = reader.questions(reader.grades())
    reader.finish()
    golden = GoldenSet(place.name, tuple(questions), reader.judgements, drops_own_id=reader.drops_own_id)
    return Collection(golden, tuple(reader.notes))


def missing_documents(golden: GoldenSet, document_ids: Iterable[str]) -> tuple[str, ...]:
    """The documents that are relevant to a question and not among `document_ids`, each once, in the questions' order."""
    known = set(document_ids)
    return tuple(dict.fromkeys(id_ for question in golden.questions for id_ in question.documents if id_ not in known))


def write_collection(folder: Path, documents: Sequence[Document], golden: GoldenSet, *, split: str = TEST, sealed: bool = False) -> None:
    """Makes a BEIR folder of a corpus and its questions, the sealed ones only with `sealed`; all of it or nothing.

    `read_collection`, given the split, and the source beir:PATH read the same questions, grades and texts back. An
    unanswerable question stands in queries.jsonl alone. Raises InvalidInput for a folder that is not empty or cannot be
    written, and with everything at once that could not be read back.
    """
    place = _place(folder)
    questions = [question for question in golden.questions if sealed or question.split != "sealed"]
    _require_free(place)
    _require_readable(documents, questions, golden, split)
    with _new_folder(place) as made:
        (made / QRELS_DIR).mkdir()
        with (made / CORPUS_FILE).open("wb") as file:
            file.writelines(_line(_document_entry(document)) for document in documents)
        with (made / QUERIES_FILE).open("wb") as file:
            file.writelines(_line(_query_entry(question, golden)) for question in questions)
        with (made / QRELS_DIR / f"{split}.tsv").open("w", encoding="utf-8", newline="") as file:
            file.write("\t".join(_HEADER) + "\n")
            for question in questions:
                file.writelines(f"{_cell(question.id)}\t{_cell(id_)}\t{grade:d}\n" for id_, grade in question.grades.items())


class _Reader:
    """Reads the files of a folder and gathers what is wrong with them, and what is odd, so that it is told at once."""

    def __init__(self, folder: Path, split: str) -> None:
        splits = _splits(folder)
        if split not in splits:
            raise NotFound(expected=f"a split of {folder.name}: {', '.join(splits)}", got=shown(split), remedy="Choose one of those.")
        self.folder, self.split = folder, split
        self.qrels = f"{QRELS_DIR}/{split}.tsv"
        self.notes: list[str] = []
        self.judgements: dict[str, dict[str, bool]] = {}
        self.drops_own_id = True
        self._problems: list[str] = []
        self._count = 0
        self._odd: dict[str, list[str]] = {}

    def grades(self) -> dict[str, dict[str, int]]:
        """The judgements by question and document."""
        grades: dict[str, dict[str, int]] = {}
        repeated, contradicted = [], []
        header: list[str] = []
        for at, (number, cells) in enumerate(self._rows()):
            if at == 0 and _columns(cells):
                header = cells
                continue
            try:
                query, document, grade = _judgement(cells, header)
            except ValueError as error:
                self._problem(f"{self.qrels}, line {number}: {error}")
                continue
            judged = grades.setdefault(query, {})
            if document not in judged:
                judged[document] = grade
            elif judged[document] == grade:
                repeated.append(f"{shown(query)} and {shown(document)}")
            else:
                contradicted.append(f"{shown(query)} and {shown(document)} ({judged[document]}, then {grade})")
        self._note(f"{self.qrels} repeats a judgement", repeated)
        self._note(f"{self.qrels} gives two grades to the same question and document, and the first counts", contradicted)
        return grades

    def questions(self, grades: Mapping[str, Mapping[str, int]]) -> list[Question]:
        """The judged questions and those known to be unanswerable."""
        made: list[Question] = []
        seen: set[str] = set()
        twice: list[str] = []
        for number, entry in self._objects():
            id_ = _written(entry.get("_id"))
            where = f"{QUERIES_FILE}, line {number}"
            if not id_ or _SURROGATE.search(id_):
                self._problem(f"{where}: expected an _id, a text or a number, got {shown(entry.get('_id'))}")
            elif id_ in seen:
                twice.append(shown(id_))
            else:
                seen.add(id_)
                about = entry.get("metadata")
                about = about if isinstance(about, dict) else {}
                if id_ in grades or about.get("kind") == UNANSWERABLE:
                    made += self._question(id_, entry, about, grades.get(id_, {}), f"{where} ({shown(id_)})")
        self._note(f"{QUERIES_FILE} gives an id more than once, and the first line counts", twice)
        unknown = [shown(id_) for id_ in grades if id_ not in seen]
        self._note(f"{self.qrels} judges questions that {QUERIES_FILE} does not hold, which are left out", unknown)
        if unjudged := len(seen) - sum(id_ in seen for id_ in grades) - sum(not question.grades for question in made):
            has, is_ = ("has", "is") if unjudged == 1 else ("have", "are")
            self.notes.append(f"{unjudged:,} of {len(seen):,} queries {has} no judgement in {self.split} and {is_} left out.")
        without = [shown(question.id) for question in made if question.answerable and not question.documents]
        self._note("No document is relevant to some questions, so no metric is defined for them (trec_eval counts 0)", without)
        for key, ids in self._odd.items():
            self._note(f"metadata.{key} has another form than ours and is left out", ids)
        return made

    def finish(self) -> None:
        """Raises InvalidInput when something was wrong."""
        if self._count:
            raise _refused(f"{self.folder.name} to be a BEIR folder that can be read", self._problems, self._count)

    def _problem(self, problem: str) -> None:
        self._count += 1
        if self._count <= MAX_LISTED:
            self._problems.append(problem)

    def _note(self, what: str, cases: Sequence[str]) -> None:
        if cases:
            more = f" and {len(cases) - EXAMPLES:,} more" if len(cases) > EXAMPLES else ""
            self.notes.append(f"{what}: {', '.join(cases[:EXAMPLES])}{more}.")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of the rows that are not blank, by the number of their first line."""
        with self._reading(self.qrels), (self.folder / self.qrels).open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, delimiter="\t", strict=True)
            while True:
                number = rows.line_num + 1
                try:
                    cells = next(rows)
                except StopIteration:
                    return
                except csv.Error as error:
                    self._problem(f"{self.qrels}, line {number}: {error}")
                    continue
                if any(cell.strip() for cell in cells):
                    yield number, cells if len(cells) > 1 else cells[0].split()

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of queries.jsonl, by their line."""
        with self._reading(QUERIES_FILE), (self.folder / QUERIES_FILE).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    entry = json.loads(line.decode("utf-8-sig"), parse_float=str, parse_constant=str)
                except json.JSONDecodeError as error:
                    self._problem(f"{QUERIES_FILE}, line {number}: no JSON: {error.msg} at character {error.pos + 1:,}")
                except (ValueError, RecursionError) as error:
                    self._problem(f"{QUERIES_FILE}, line {number}: {error}")
                else:
                    if isinstance(entry, dict):
                        yield number, entry
                    else:
                        self._problem(f"{QUERIES_FILE}, line {number}: expected an object with _id and text, got {shown(entry)}")

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Notes as a problem what ends the reading of a file."""
        try:
            yield
        except UnicodeDecodeError:
            self._problem(f"{name}: expected UTF-8")
        except OSError as error:
            self._problem(f"{name}: {error.strerror or type(error).__name__}")

    def _question(
        self, id_: str, entry: Mapping[str, Any], about: Mapping[str, Any], grades: Mapping[str, int], where: str
    ) -> list[Question]:
        """The question, or nothing when something is wrong with it."""
        before = self._count
        text = _written(entry.get("text"))
        if not text.strip() or _SURROGATE.search(text):
            self._problem(f"{where}: expected a text in valid Unicode, got {shown(entry.get('text'))}")
        told = {key: made for key, read in _TOLD.items() if (made := self._told(about, key, read, id_))}
        kind = told.pop("kind", TEST if self.split in (FLOOR, UNANSWERABLE) else self.split)
        split = about["split"] if about.get("split") in SPLITS else SPLITS[0]
        question = Question(id_, text, kind, split, grades, **told)
        if not question.answerable and question.documents:
            self._problem(f"{where}: an unanswerable question has no relevant documents, got {shown(question.documents[0])}")
        judged = self._told(about, "judgements", _judged, id_)
        if judged is not None:
            self.judgements[id_] = judged
        self.drops_own_id = self.drops_own_id and about.get("drops_own_id") is not False
        return [question] if self._count == before else []

    def _told(self, about: Mapping[str, Any], key: str, read: Callable[[Any], Any], id_: str) -> Any:
        """What metadata says under a key; None, noted, when it is written as ours never is."""
        if about.get(key) is None:
            return None
        try:
            return read(about[key])
        except (TypeError, ValueError, KeyError, AttributeError):
            self._odd.setdefault(key, []).append(shown(id_))
            return None


def _refused(expected: str, problems: Sequence[str], count: int) -> InvalidInput:
    more = f"; and {count - MAX_LISTED:,} more" if count > MAX_LISTED else ""
    return InvalidInput(
        expected=expected,
        got=f"{count:,} problem{'s' * (count > 1)}: " + "; ".join(problems[:MAX_LISTED]) + more,
        remedy="Correct them, and try again.",
    )


def _place(folder: Path) -> Path:
    try:
        return folder.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, ~name of nobody, a NUL
        raise InvalidInput(expected="the path of a folder", got=shown(str(folder)), remedy="Check the path.") from error


def _splits(folder: Path) -> list[str]:
    """The names of the files of judgements; raises NotFound for what is no BEIR folder."""
    try:
        splits = sorted(file.stem for file in (folder / QRELS_DIR).glob("*.tsv") if file.is_file())
        missing = "no judgements" if not splits else "" if (folder / QUERIES_FILE).is_file() else f"no {QUERIES_FILE}"
    except OSError as error:
        splits, missing = [], error.strerror or type(error).__name__
    if missing:
        raise NotFound(
            expected=f"a BEIR folder: {QUERIES_FILE} with a question a line, and judgements in {QRELS_DIR}/SPLIT.tsv",
            got=f"{shown(str(folder))}: {missing}",
            remedy="Check the path; give the unpacked folder, not the archive or a file in it.",
        )
    return splits


def _columns(cells: Sequence[str]) -> _Columns | None:
    """Where a header has question, document and grade; None for what is no header."""
    names = [re.sub(r"[\W_]", "", cell.casefold()) for cell in cells]
    found = [next((at for at, name in enumerate(names) if name in known), -1) for known in _NAMES]
    return None if -1 in found else (found[0], found[1], found[2])


def _judgement(cells: Sequence[str], header: Sequence[str]) -> tuple[str, str, int]:
    """Question, document and grade of a row; raises ValueError for one that is neither as the header says, nor BEIR's, nor TREC's."""
    width = len(header) or 3
    while len(cells) > width and not cells[-1].strip():
        cells = cells[:-1]
    columns = _columns(header)
    if columns is None:
        columns = (0, 2, 3) if len(cells) == 4 and _ITERATION.fullmatch(cells[1]) else (0, 1, 2)
        width = columns[-1] + 1
    if len(cells) != width:
        raise ValueError(f"expected {', '.join(header or _HEADER)}, got {shown(list(cells))}")
    query, document, score = (cells[at] for at in columns)
    grade = _GRADE.fullmatch(score)
    if not grade:
        raise ValueError(f"expected a whole number as score, got {shown(score)}")
    if not query or not document:
        raise ValueError(f"expected a {'document' if query else 'question'}'s id, got an empty one")
    return query, document, int(grade[1])


def _written(value: object) -> str:
    """A text as it is, a whole number as it is written; empty for anything else."""
    return str(value) if isinstance(value, str) or type(value) is int else ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise TypeError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(_text, value))


def _evidence(value: Any) -> tuple[tuple[Quote, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(need, list) for need in value):
        raise TypeError
    return tuple(tuple(map(_quote, need)) for need in value)


def _quote(value: Any) -> Quote:
    occurrence = value.get("occurrence", 0)
    if type(occurrence) is not int:
        raise TypeError
    return Quote(_text(value["document"]), _text(value["quote"]), occurrence)


def _judged(value: Any) -> dict[str, bool]:
    return {document: key == "yes" for key in ("yes", "no") for document in _texts(value[key])}


_TOLD: dict[str, Callable[[Any], Any]] = {"kind": _text, "answer": _text, "about": _texts, "facts": _texts, "evidence": _evidence}
"""What a query's metadata may say of its question, and how it is read."""


def _document_entry(document: Document) -> dict[str, Any]:
    source = document.source
    return {
        "_id": document.id,
        "title": document.title if document.title != document.id else "",
        "text": document.text,
        "metadata": {"url": source.url, "license": source.license, "attribution": source.title},
    }


def _query_entry(question: Question, golden: GoldenSet) -> dict[str, Any]:
    about = {key: value for key, value in question_entry(question).items() if key not in ("id", "text", "documents")}
    judged = golden.judgements.get(question.id)
    if judged is not None:
        about["judgements"] = {name: [id_ for id_, yes in judged.items() if yes == (name == "yes")] for name in ("yes", "no")}
    if not golden.drops_own_id:
        about["drops_own_id"] = False
    return {"_id": question.id, "text": question.text, "metadata": about}


def _line(entry: Mapping[str, Any]) -> bytes:
    """The entry as a line of JSON in UTF-8; raises UnicodeEncodeError for a lone surrogate."""
    return json.dumps(entry, ensure_ascii=False).encode("utf-8") + b"\n"


def _cell(text: str) -> str:
    """The text as a cell of tab-separated values, between quotation marks where csv readers need them."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in '\t\r\n"') else text


def _require_free(place: Path) -> None:
    try:
        taken = any(place.iterdir()) if place.is_dir() else place.exists()
    except OSError:
        taken = True
    if taken:
        raise InvalidInput(
            expected="a new or an empty folder",
            got=f"{shown(str(place))}, which is neither",
            remedy="Choose another; nothing is written over.",
        )


def _require_readable(documents: Sequence[Document], questions: Sequence[Question], golden: GoldenSet, split: str) -> None:
    """Raises InvalidInput with all that would be read back as something else, or not at all."""
    problems = [] if _SPLIT_NAME.fullmatch(split) else [f"the split {shown(split)}: expected letters, digits, hyphens, dots, at most 64"]
    for what, entries in (("document", documents), ("question", questions)):
        repeated = [id_ for id_, count in Counter(entry.id for entry in entries).items() if count > 1]
        problems += [f"{shown(id_)}: more than one {what} has this id" for id_ in repeated]
    problems += [f"document {shown(document.id)}: {problem}" for document in documents for problem in _document_problems(document)]
    problems += [f"question {shown(question.id)}: {problem}" for question in questions for problem in _question_problems(question, golden)]
    if problems:
        raise _refused("documents and questions that a BEIR folder can hold", problems, len(problems))


def _document_problems(document: Document) -> Iterator[str]:
    if not 0 < len(document.id) <= MAX_ID:
        yield f"expected an id of 1 to {MAX_ID:,} characters, got {len(document.id):,}"
    if not document.text.strip() or normalise(document.text) != document.text:
        yield "expected a text in its canonical form"
    try:
        if len(_line(_document_entry(document))) > MAX_LINE:
            yield f"expected at most {MAX_LINE:,} bytes a line, got more"
    except UnicodeEncodeError:
        yield "expected valid Unicode, got a lone surrogate"


def _question_problems(question: Question, golden: GoldenSet) -> Iterator[str]:
    if not question.text.strip() or not question.kind or question.split not in SPLITS:
        yield f"expected a text, a kind and a split ({' or '.join(SPLITS)})"
    if question.answerable and not question.grades:
        yield f"expected a judgement, or kind {UNANSWERABLE}"
    if not question.answerable and question.documents:
        yield f"expected no relevant documents, since its kind is {UNANSWERABLE}"
    if not all(0 < len(id_) <= MAX_ID for id_ in (question.id, *question.grades)):
        yield f"expected ids of 1 to {MAX_ID:,} characters, its own and its documents'"
    if not all(type(grade) is int and abs(grade) < 10**9 for grade in question.grades.values()):
        yield "expected whole numbers of at most 9 digits as grades"
    try:
        _line(_query_entry(question, golden))
        "".join(question.grades).encode("utf-8")
    except UnicodeEncodeError:
        yield "expected valid Unicode, got a lone surrogate"


@contextmanager
def _new_folder(place: Path) -> Iterator[Path]:
    """A folder that takes that place when the block ends well, and is gone when it does not."""
    building = place.with_name(f".{uuid.uuid4().hex}.part")
    try:
        building.mkdir(parents=True)
        yield building
        if place.is_dir():
            place.rmdir()  # empty, or this fails
        building.rename(place)
    except OSError as error:
        raise InvalidInput(
            expected="a folder that can be written",
            got=f"{shown(str(place))}: {error.strerror or type(error).__name__}",
            remedy="Check the path, its permissions and the disk.",
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
