"""Questions of one's own out of files and into them: YAML or a zipped BEIR folder, checked whole before any is taken.

What a sealed question says is in no finding and in no export.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from evals import beir, beir_zip, editing
from evals.editing import Shelf
from evals.golden import FLOOR, Finding, GoldenSet, Question, read_questions, write_questions
from sitt_core.errors import SittError, StoreError, shown
from sitt_core.types import Document

MAX_IMPORT = 1_000_000
"""The most bytes of a YAML file that are taken: some 3,000 questions."""
ZIP_BEGINS = b"PK"


@dataclass(frozen=True, slots=True)
class Import:
    """What a file would add; with any of `problems` nothing of it can be taken.

    `findings` are what would be marked, `notes` what is left out or read otherwise than another tool would.
    """

    questions: tuple[Question, ...]
    problems: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def read_import(shelf: Shelf, data: bytes, documents: Sequence[Document]) -> Import:
    """What a YAML file, or a zipped BEIR folder, would add to one's own questions, and everything that stands against it.

    `documents` are the corpus's, with their texts. Raises nothing: what is wrong is among the import's `problems`.
    """
    return _read_beir(shelf, data, documents) if data.startswith(ZIP_BEGINS) else _read_yaml(shelf, data, documents)


def _read_yaml(shelf: Shelf, data: bytes, documents: Sequence[Document]) -> Import:
    if len(data) > MAX_IMPORT:
        return Import((), (f"expected a file of at most {MAX_IMPORT:,} bytes, got {len(data):,}",))
    aliases = _aliases(data)
    if aliases:
        return Import((), (aliases,))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "upload.yaml"
        file.write_bytes(data)
        questions, told = read_questions(file)
    return _checked_import(shelf, questions, documents, problems=[problem.replace(file.name, "the file", 1) for problem in told])


def _checked_import(
    shelf: Shelf, questions: Sequence[Question], documents: Sequence[Document], *, problems: Sequence[str] = (), told: Sequence[str] = ()
) -> Import:
    """Questions that were read, with every problem, or else with what would be marked."""
    found = [*problems, *(f"{shown(id_)}: {problem}" for id_, problem in editing.problems_of_all(questions, shelf.ids))]
    if not questions and not found:
        found.append("the file holds no question that can be taken")
    if len(shelf.own) + len(questions) > editing.MAX_OWN:
        found.append(f"expected at most {editing.MAX_OWN:,} questions of one's own, got {len(shelf.own) + len(questions):,} with these")
    if found:
        return Import((), tuple(found), notes=tuple(told))
    return Import(tuple(questions), (), tuple(_findings_of_new(shelf, questions, documents)), tuple(told))


def _read_beir(shelf: Shelf, data: bytes, documents: Sequence[Document]) -> Import:
    try:
        read = beir_zip.read_zip(data, name=shelf.corpus)
    except SittError as error:
        return Import((), (f"expected {error.expected}, got {error.got}. {error.remedy}",))
    questions = [editing.tidied(each) for each in read.golden.questions if each.kind != FLOOR and (each.documents or not each.answerable)]
    return _checked_import(shelf, questions, documents, told=[*read.notes, *_beir_notes(shelf, read.golden, questions, documents)])


def _beir_notes(shelf: Shelf, golden: GoldenSet, taken: Sequence[Question], documents: Sequence[Document]) -> Iterator[str]:
    """What of a BEIR collection is left out here, or means something else than there."""
    known = {document.id for document in documents}
    yield f"Its documents are not taken: its questions would be asked of {shelf.corpus}."
    if generated := sum(each.kind == FLOOR for each in golden.questions):
        yield f"{_counted(generated, 'generated question')} left out: {shelf.corpus} has its own."
    if without := sum(each.answerable and not each.documents for each in golden.questions):
        yield f"{without:,} question{'s' * (without > 1)} to which no document is relevant {'are' if without > 1 else 'is'} left out."
    expected = {id_ for each in taken for id_ in each.documents}
    if gone := expected - known:
        yield f"Of {len(expected):,} relevant documents {len(gone):,} {'are' if len(gone) > 1 else 'is'} not in {shelf.corpus}: no search can find them."
    grades = [grade for each in taken for grade in each.grades.values()]
    if graded := sum(grade not in (0, 1) for grade in grades):
        said = f"{graded:,} of {len(grades):,} judgements {'are' if graded > 1 else 'is'} graded, from {min(grades)} to {max(grades)}"
        yield f"{said}: every document above 0 is expected, and a higher grade counts more in nDCG."
    if golden.drops_own_id and any(each.id in each.grades or each.id in known for each in taken):
        yield "Some questions have the id of a document. BEIR leaves that document out of what is found; here it counts."
    if golden.judgements:
        yield "Where a question was judged against every document, only the relevant ones are kept."


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s are' if count > 1 else ' is'}"


def _findings_of_new(shelf: Shelf, questions: Sequence[Question], documents: Sequence[Document]) -> Iterator[Finding]:
    """What would be marked of questions if they joined one's own."""
    new = {question.id for question in questions}
    sealed = {question.id for question in (*shelf.questions, *questions) if question.split != "open"}
    names = editing.sealed_names(questions, own=True)
    for each in editing.findings_of_own(replace(shelf, own=(*shelf.own, *questions)), documents):
        if each.question in new:
            hidden = each.question in sealed or each.other in sealed
            yield editing.kept_quiet(each, names.get(each.question, "")) if hidden else each


def _aliases(data: bytes) -> str:
    """What to say of a file that refers to parts of itself: ten such lines can stand for more than a memory holds."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):  # the reader tells what is wrong with it
        for event in yaml.parse(data, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 0
                return f"line {line}: expected every part written out, got the alias *{event.anchor}"
    return ""


def export_yaml(questions: Iterable[Question]) -> str:
    """Open questions as the text of a YAML file that `load_questions` reads; sealed ones are left out."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.yaml"
        write_questions(file, [question for question in questions if question.split == "open"])
        return file.read_text(encoding="utf-8")


def export_beir(shelf: Shelf, documents: Sequence[Document]) -> bytes:
    """The corpus and its open questions, the generated ones too, as a zipped BEIR folder; raises InvalidInput or StoreError."""
    golden = GoldenSet(shelf.corpus, shelf.questions, shelf.judgements)
    try:
        with tempfile.TemporaryDirectory() as folder:
            beir.write_collection(Path(folder) / shelf.corpus, documents, golden)
            return Path(shutil.make_archive(f"{folder}/{shelf.corpus}", "zip", folder, shelf.corpus)).read_bytes()
    except OSError as error:
        raise StoreError(expected="to write the collection", got=str(error), remedy="Check the free space for temporary files.") from error
