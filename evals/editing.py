"""A corpus's golden set as people change it: the bundled questions, their own beside them, and what is wrong with each.

The bundled questions are part of the program and are never written. People's own stand in `notes/questions/CORPUS.yaml`, in the
same format; that file is only ever replaced whole, while no other process changes it. What a sealed question says leaves this
module in `load_all`, `own_questions` and the shelf alone: no row, finding that is shown, or export holds it, nor its id.
"""

import contextlib
import functools
import hashlib
import json
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from evals.golden import (
    FIELD_GUIDE,
    FLOOR,
    NGRAM,
    SPLITS,
    UNANSWERABLE,
    Finding,
    GoldenSet,
    Question,
    Quote,
    check_questions,
    containment,
    evidence_places,
    finder,
    load_questions,
    overlap,
    places_of,
    question_entry,
    read_questions,
    with_named,
    write_questions,
)
from sitt_core import notes
from sitt_core.errors import Busy, InvalidInput, NotFound, SittError, StoreError, shown
from sitt_core.quotes import check_quote, find_loosely
from sitt_core.settings import DEFAULT_CORPUS, Settings
from sitt_core.store.layout import check_corpus_name
from sitt_core.store.reading import Corpus
from sitt_core.text import check_question
from sitt_core.types import Document

FOLDER = "questions"
LOCK_SECONDS = 5.0
MAX_READ_WHOLE = 2000
"""The most documents of a corpus that are read to check questions; of a larger one, those that questions name."""
MAX_OWN = 5000
MAX_ANSWER = 4000
MAX_KIND = 40
MAX_PLACES = 20
"""How many places of a quotation are told; a word may stand everywhere."""
AROUND = 160
"""Characters of the document shown before and after a quotation."""
NEAR_ENOUGH = 0.4
"""The least share of words in common, in order, at which a passage is offered as what a quotation has become."""
MAX_SEARCHED, MAX_COMPARED = 2_000_000, 200
"""How many characters of a document, and how many words of a quotation, are looked at to find the nearest passage."""
GAP = 0.25
"""What a word that only one of two aligned passages has takes off, in matches."""

Whose = Literal["bundled", "own", "generated"]

_ID = re.compile(r"\w[\w.:-]{0,99}")
_SCRIPT_WITHOUT_SPACES = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_SCRIPT_WITHOUT_SPACES}]|[^\W{_SCRIPT_WITHOUT_SPACES}]+")
_SENTENCE_END = re.compile(r"[.!?\n]")
_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Shelf:
    """The questions of a corpus by whose they are; `trouble` says why one's own cannot be read, and then there are none."""

    corpus: str
    bundled: tuple[Question, ...] = ()
    own: tuple[Question, ...] = ()
    generated: tuple[Question, ...] = ()
    judgements: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    trouble: SittError | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """All of them, the generated ones last."""
        return (*self.bundled, *self.own, *self.generated)

    @property
    def ids(self) -> frozenset[str]:
        """Every id that is in use."""
        return frozenset(question.id for question in self.questions)


@dataclass(frozen=True, slots=True)
class Row:
    """A question in the list; of a sealed one `question` holds the kind, the side and a number in place of the id.

    `version` changes with anything the question says. `shared` is the share of its wording that its evidence holds, None where it
    has no evidence or is sealed.
    """

    question: Question
    whose: Whose
    version: str
    findings: tuple[Finding, ...] = ()
    shared: float | None = None

    @property
    def sealed(self) -> bool:
        """Whether what it says stays hidden."""
        return self.question.split == "sealed"


@dataclass(frozen=True, slots=True)
class Review:
    """Every question with what is wrong with it; `others` belong to none, such as a judgement of a question that is not there."""

    rows: tuple[Row, ...]
    others: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """A quotation in its surroundings: `text[start:end]` of the document, the section it is in, what stands before and after."""

    start: int
    end: int
    section: str
    before: str
    quote: str
    after: str
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class LookUp:
    """Where a quotation stands: `state` is found (once, or at the occurrence it names), several, absent, or missing (no such document).

    `sights` holds the first places of `count`; `nearest` is the passage that an absent one is most like, if any is like it.
    """

    quote: Quote
    title: str
    state: Literal["found", "several", "absent", "missing"]
    count: int = 0
    sights: tuple[Sight, ...] = ()
    nearest: Sight | None = None


def own_file(settings: Settings, corpus: str) -> Path:
    """Where people's own questions about a corpus are; raises InvalidInput for what is no corpus name."""
    return settings.notes_dir / FOLDER / f"{check_corpus_name(corpus)}.yaml"


def own_questions(settings: Settings, corpus: str) -> tuple[Question, ...]:
    """People's own questions about a corpus, in the order they were added; raises InvalidInput or StoreError."""
    return _read(own_file(settings, corpus))


def _read(file: Path) -> tuple[Question, ...]:
    try:
        state = file.stat()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(file, error) from error
    try:
        return _read_once(file, state.st_ino, state.st_mtime_ns, state.st_size)
    except NotFound:  # deleted by hand since
        return ()


@functools.lru_cache(maxsize=16)
def _read_once(file: Path, _inode: int, _modified: int, _size: int) -> tuple[Question, ...]:
    """The questions of a file, parsed once as long as it is the same file: YAML takes its time."""
    return load_questions(str(file)).questions


def _unreadable(file: Path, error: OSError) -> StoreError:
    return StoreError(expected=f"to read {file.name}", got=str(error), remedy="Check the permissions of the notes folder.")


@functools.cache
def bundled_set(corpus: str) -> GoldenSet:
    """The questions that come with the program for that corpus: none for any but the field guide. Read once a process.

    Raises InvalidInput when the program's own files are damaged.
    """
    return load_questions(FIELD_GUIDE) if corpus == DEFAULT_CORPUS else GoldenSet(corpus, ())


def open_shelf(settings: Settings, corpus: str, documents: Sequence[tuple[str, str]] = ()) -> Shelf:
    """The questions of a corpus, with a generated one for each document (id, title).

    Raises nothing of one's own file: why it cannot be read is the shelf's `trouble`.
    """
    bundled = bundled_set(corpus)
    trouble: SittError | None = None
    own: tuple[Question, ...] = ()
    try:
        own = own_questions(settings, corpus)
    except SittError as error:
        trouble = error
    named = with_named(GoldenSet(corpus, (*bundled.questions, *own)), documents).questions[len(bundled.questions) + len(own) :]
    return Shelf(corpus, bundled.questions, own, named, bundled.judgements, trouble)


def load_all(settings: Settings, corpus: str, documents: Sequence[tuple[str, str]] = ()) -> GoldenSet:
    """All questions about a corpus as one set, for a run: bundled, own, and a generated one for each document (id, title) given.

    Raises InvalidInput when one's own cannot be read, or naming every id that is given twice; StoreError.
    """
    held = open_shelf(settings, corpus, documents)
    if held.trouble:
        raise held.trouble
    twice = [id_ for id_, count in Counter(question.id for question in held.questions).items() if count > 1]
    if twice:
        raise InvalidInput(
            expected=f"every question of {corpus} to have an id of its own",
            got=f"{len(twice)} given twice: {', '.join(map(shown, twice[:20]))}",
            remedy="Change the ids of your own questions on the Questions page.",
        )
    return GoldenSet(corpus, held.questions, held.judgements)


def version(question: Question) -> str:
    """Names what a question says now, in 16 hexadecimal digits: another one means that somebody has changed it."""
    entry = [question_entry(question), list(question.grades)]
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:16]


def add_questions(settings: Settings, corpus: str, questions: Sequence[Question]) -> None:
    """Puts questions behind one's own, all of them or none.

    Raises InvalidInput with everything that is wrong with them, their ids being in use among it, StoreError or Busy.
    """
    bundled = bundled_set(corpus)
    with _writing(own_file(settings, corpus)) as held:
        taken = {question.id for question in (*bundled.questions, *held)}
        problems = [problem for _, problem in problems_of_all(questions, taken)]
        problems += [f"{shown(id_)} is given twice" for id_, count in Counter(each.id for each in questions).items() if count > 1]
        if len(held) + len(questions) > MAX_OWN:
            problems.append(f"there may be at most {MAX_OWN:,} questions of one's own")
        _refuse(problems)
        held += questions


def change_question(settings: Settings, corpus: str, id_: str, seen: str, question: Question) -> None:
    """Puts a question in the place of one's own of that id, whose version was `seen`.

    Raises NotFound or InvalidInput when it has been deleted or changed meanwhile; InvalidInput, StoreError or Busy as adding does.
    """
    bundled = bundled_set(corpus)
    with _writing(own_file(settings, corpus)) as held:
        place = _place_of(held, id_, seen)
        _refuse(problems_of(question, {each.id for each in (*bundled.questions, *held[:place], *held[place + 1 :])}))
        held[place] = question


def delete_question(settings: Settings, corpus: str, seen: str) -> None:
    """Deletes one's own question whose version is `seen`: all that the page knows of a sealed one.

    Raises NotFound when it has been deleted or changed meanwhile, StoreError or Busy.
    """
    with _writing(own_file(settings, corpus)) as held:
        place = next((at for at, each in enumerate(held) if version(each) == seen), None)
        if place is None:
            raise NotFound(
                expected="a question of your own as you saw it",
                got="none that is still the same",
                remedy="It may have been changed or deleted in another window: look at it again.",
            )
        del held[place]


def accept_draft(settings: Settings, corpus: str, draft_id: str, question: Question) -> None:
    """Makes a question of a draft, which is gone then; it stays where the question cannot be added.

    Raises NotFound for a draft that is gone, InvalidInput with everything that is wrong with the question, StoreError or Busy.
    """
    with notes.accepting_draft(settings.notes_dir, draft_id):
        add_questions(settings, corpus, [question])


def _place_of(held: Sequence[Question], id_: str, seen: str) -> int:
    found = [at for at, each in enumerate(held) if each.id == id_]
    if not found:
        raise NotFound(expected="a question of your own", got=shown(id_), remedy="It may have been deleted in another window.")
    if version(held[found[0]]) != seen:
        raise InvalidInput(
            expected=f"{shown(id_)} as it was when you opened it",
            got="another wording, kept meanwhile in another window",
            remedy="Open it again; what you typed is lost only when you leave it.",
        )
    return found[0]


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise InvalidInput(
            expected="questions that can be kept",
            got=f"{len(problems)} problem{'s' * (len(problems) > 1)}: {'; '.join(problems)}",
            remedy="Correct them; docs/golden-sets.md describes the format.",
        )


@contextlib.contextmanager
def _writing(file: Path) -> Iterator[list[Question]]:
    """One's own questions, to be changed; written whole at the end, while no other process changes them."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=LOCK_SECONDS):
            held = list(load_questions(str(file)).questions) if file.exists() else []  # what is written over is read anew
            yield held
            write_questions(file, held)  # aside, then renamed: a kill leaves the old file, or the new one
    except Timeout as error:
        raise Busy(expected=f"to write {file.name}", got="another process is writing it", remedy="Try again in a moment.") from error
    except OSError as error:
        raise StoreError(
            expected=f"to write {file.name}", got=str(error), remedy="Check the free space and the permissions of the notes folder."
        ) from error


@contextlib.contextmanager
def moving_own(settings: Settings, old: str, new: str) -> Iterator[None]:
    """Puts one's own questions about a corpus under its new name when the block has renamed it; nobody writes either file meanwhile.

    Raises InvalidInput, before the block, where there are questions about an earlier corpus of the new name; StoreError or Busy.
    """
    here, there = own_file(settings, old), own_file(settings, new)
    if here == there or not here.exists():
        yield
        return
    try:
        with contextlib.ExitStack() as locks:
            for file in sorted((here, there)):  # always in the same order, or two renamings could wait for each other
                locks.enter_context(FileLock(file.with_suffix(".lock"), timeout=LOCK_SECONDS))
            if _holds(there) and _holds(here):
                raise InvalidInput(
                    expected="a name under which nobody has questions of their own",
                    got=f"{shown(new)}: those about an earlier corpus of that name are in {there}",
                    remedy="Choose another name, or move that file out of the notes folder.",
                )
            yield
            if not _holds(there):
                here.replace(there)
    except Timeout as error:
        raise Busy(expected=f"to move {here.name}", got="another process is writing it", remedy="Try again in a moment.") from error
    except OSError as error:
        raise StoreError(
            expected=f"to move {here.name} to {there.name}", got=str(error), remedy="Check the permissions of the notes folder."
        ) from error


def _holds(file: Path) -> bool:
    """Whether somebody has written something there, be it damaged."""
    try:
        return bool(_read(file))
    except SittError:
        return True


def problems_of(question: Question, taken: Collection[str] = ()) -> list[str]:
    """Why a question cannot be kept as one's own, in sentences: the format's rules, those of ids and texts, and `taken` ids."""
    return _rule_problems(question, taken) or _format_problems(question)


def problems_of_all(questions: Sequence[Question], taken: Collection[str]) -> list[tuple[str, str]]:
    """Every problem of every question, as (id, problem)."""
    found = [(each.id, problem) for each in questions for problem in _rule_problems(each, taken)]
    if found or _read_back(questions) != tuple(questions):  # written and read together, since one by one it takes minutes
        wrong = {id_ for id_, _ in found}
        found += [(each.id, problem) for each in questions if each.id not in wrong for problem in _format_problems(each)]
    return found


def _rule_problems(question: Question, taken: Collection[str]) -> list[str]:
    problems = [*_odd_texts(question)]
    if not _ID.fullmatch(question.id):
        problems.append("an id has 1 to 100 letters, digits, dots, colons, hyphens or underscores, and begins with a letter or digit")
    if question.id in taken:
        problems.append(f"the id {shown(question.id)} is in use")
    if question.kind == FLOOR or question.id.startswith(f"{FLOOR}-"):
        problems.append(f"{FLOOR} is for the generated questions: choose another kind, or an id that does not begin with {FLOOR}-")
    return problems


def _read_back(questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions as they are read after they were written; none where they cannot be written, or something is wrong with them."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(UnicodeError):
        file = Path(folder) / "questions.yaml"
        write_questions(file, questions)
        read, problems = read_questions(file)
        return () if problems else read
    return ()


def _odd_texts(question: Question) -> Iterator[str]:
    """What could be written and read back, and then neither be asked nor be shown."""
    quotes = [quote for need in question.evidence for quote in need]
    texts = {"text": question.text, "kind": question.kind, "answer": question.answer}
    texts |= {f"fact {at}": fact for at, fact in enumerate(question.facts, start=1)}
    texts |= {f"quote {at}": quote.quote for at, quote in enumerate(quotes, start=1)}
    for name, text in texts.items():
        if any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in text):
            yield f"{name} holds characters that are no text; paste it again as plain text"
    try:
        check_question(question.text or "?1")  # an empty one is the format's to say
    except InvalidInput as error:
        yield f"text: expected {error.expected}, got {error.got}"
    for at, quote in enumerate(quotes, start=1):
        with contextlib.suppress(InvalidInput):
            check_quote(quote.quote)
            continue
        yield f"quote {at} has no letter or digit, or is too long"
    if len(question.kind) > MAX_KIND or "\n" in question.kind:
        yield f"kind: expected a word or two, at most {MAX_KIND} characters"
    if sum(map(len, (question.answer, *question.facts))) > MAX_ANSWER:
        yield f"answer and facts have more than {MAX_ANSWER:,} characters together"


def _format_problems(question: Question) -> list[str]:
    """What `load_questions` would say of it: it is written, and read again."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "question.yaml"
        try:
            write_questions(file, [question])
        except UnicodeError as error:
            return [f"it holds what is no Unicode: {error}"]
        read, problems = read_questions(file)
    where = f"{file.name}, entry 1 ({shown(question.id)}): "
    if not problems and read != (question,):
        return ["it would not be read back as it is: remove white space at the ends of its texts"]
    return [problem.removeprefix(where) for problem in problems]


def tidied(question: Question) -> Question:
    """The question without white space at the ends of its texts, and without empty needs and facts."""
    needs = (tuple(replace(quote, quote=quote.quote.strip()) for quote in need if quote.quote.strip()) for need in question.evidence)
    return replace(
        question,
        id=question.id.strip(),
        text=question.text.strip(),
        kind=question.kind.strip(),
        answer=question.answer.strip(),
        facts=tuple(fact.strip() for fact in question.facts if fact.strip()),
        evidence=tuple(need for need in needs if need),
    )


def new_id(text: str, taken: Collection[str]) -> str:
    """An id made of a question's first six words, and a number where that is in use."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    words = [word for word in _SLUG.split(plain) if word][:6]
    stem = f"own-{'-'.join(words)[:60].strip('-') or 'question'}"
    number = 1
    while (id_ := stem if number == 1 else f"{stem}-{number}") in taken:
        number += 1
    return id_


def copy_of(question: Question, taken: Collection[str]) -> Question:
    """A question as one of one's own, under a new id."""
    return replace(question, id=new_id(question.text, taken))


def side_of(shelf: Shelf, documents: Sequence[str]) -> str:
    """On which side questions about the first of those documents are: open unless there are sealed ones."""
    primary = documents[0] if documents else ""
    return next((each.split for each in (*shelf.bundled, *shelf.own) if each.primary == primary), SPLITS[0])


def documents_for(corpus: Corpus, shelf: Shelf) -> tuple[Document, ...]:
    """A corpus's documents; of a large one only those that a question names come with their text. Raises StoreError."""
    if len(corpus.documents) <= MAX_READ_WHOLE:
        return corpus.all_documents()
    named = {document for question in (*shelf.bundled, *shelf.own) for document in question.documents}
    return tuple(
        corpus.document(each.id) if each.id in named else Document(each.id, each.title, each.source, "", (), (), each.sha256)
        for each in corpus.documents
    )


def findings_of_bundled(shelf: Shelf, documents: Sequence[Document]) -> list[Finding]:
    """What is wrong with the bundled questions in a corpus, the sealed ones told in full: for `review`, not to be shown."""
    return check_questions(GoldenSet(shelf.corpus, shelf.bundled, shelf.judgements), documents)


def findings_of_own(shelf: Shelf, documents: Sequence[Document]) -> list[Finding]:
    """What is wrong with one's own questions, among themselves and beside the bundled ones that they could clash with.

    Sealed ones are told in full: for `review`, not to be shown.
    """
    own = {question.id: question for question in shelf.own}
    bundled = {question.id for question in shelf.bundled}
    clashing = [Finding(id_, "id", "a question of the program has this id; give yours another") for id_ in own if id_ in bundled]
    related = _related(shelf, own.values())
    found = check_questions(GoldenSet(shelf.corpus, (*related, *shelf.own)), documents)
    return [*clashing, *(each for each in found if each.question in own), *_shared_with_sealed(related, shelf.own, documents)]


def _related(shelf: Shelf, own: Iterable[Question]) -> list[Question]:
    """The bundled questions about the same documents or in the same words: checking them all takes seconds."""
    listed = list(own)
    ids = {question.id for question in listed}
    primaries = {question.primary for question in listed}
    touched = {document for question in listed for document in question.documents} | primaries
    words = {_words(question.text) for question in listed}
    return [
        each for each in shelf.bundled if each.id not in ids and (touched & {*each.documents, each.primary} or _words(each.text) in words)
    ]


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _shared_with_sealed(related: Sequence[Question], own: Sequence[Question], documents: Sequence[Document]) -> Iterator[Finding]:
    """Open ones of one's own whose evidence a sealed bundled question has too; the check tells that of the sealed one alone."""
    find = finder({document.id: document.text for document in documents})
    sealed = [place for question in related if question.split == "sealed" for place in evidence_places(question, find)]
    for question in own:
        if question.split == "open" and any(overlap(one, other) for one in evidence_places(question, find) for other in sealed):
            yield Finding(question.id, "split", "shares evidence with a sealed question: seal it too, or choose other evidence")


def findings_of_one(shelf: Shelf, question: Question, documents: Sequence[Document], *, instead_of: str = "") -> list[Finding]:
    """What would be wrong with a question of one's own if it stood there now, in the place of the one with the id `instead_of`.

    Empty when nothing would be; a finding that another question gives cause to names it unless that is sealed.
    """
    others = tuple(each for each in shelf.own if each.id not in (instead_of, question.id))
    related = _related(replace(shelf, bundled=(*shelf.bundled, *others)), [question])
    beside = replace(shelf, bundled=tuple(related), own=(question,))
    found = [each for each in findings_of_own(beside, documents) if each.question == question.id]
    sealed = {each.id for each in related if each.split != "open"}
    return [kept_quiet(each) if each.other in sealed else each for each in found]


def review(shelf: Shelf, findings: Iterable[Finding], own_findings: Iterable[Finding]) -> Review:
    """The rows of the list: one's own, the bundled and the generated ones, of each the sealed last, which say only that they are there.

    `findings` are of the bundled questions, `own_findings` of one's own. What belongs to no question is among the review's `others`.
    """
    sealed = {question.id for question in shelf.questions if question.split != "open"}
    told: Mapping[Whose, Mapping[str, list[Finding]]]
    told = {"bundled": _by_question(findings), "own": _by_question(own_findings), "generated": {}}
    of: Mapping[Whose, Sequence[Question]] = {"own": shelf.own, "bundled": shelf.bundled, "generated": shelf.generated}
    rows: list[Row] = []
    for whose, questions in of.items():
        names = sealed_names(questions, own=whose == "own")
        shown_first = [question for question in questions if question.split == "open"]
        rows += [_row(question, whose, told[whose].get(question.id, ()), sealed) for question in shown_first]
        rows += [_sealed_row(question, whose, told[whose].get(question.id, ()), names) for question in _in_order(questions, names)]
    known = {question.id for question in shelf.bundled}
    return Review(tuple(rows), tuple(each for id_, found in told["bundled"].items() if id_ not in known for each in found))


def _by_question(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    by_id: dict[str, list[Finding]] = {}
    for finding in findings:
        by_id.setdefault(finding.question, []).append(finding)
    return by_id


def _row(question: Question, whose: Whose, findings: Sequence[Finding], sealed: Collection[str]) -> Row:
    kept = tuple(kept_quiet(each) if each.other in sealed else each for each in findings)
    return Row(question, whose, version(question), kept, containment(question) if question.evidence else None)


def _sealed_row(question: Question, whose: Whose, findings: Sequence[Finding], names: Mapping[str, str]) -> Row:
    seen = Question(names[question.id], "", question.kind, question.split)
    return Row(seen, whose, version(question), tuple(kept_quiet(each, names[question.id]) for each in findings))


def sealed_names(questions: Iterable[Question], *, own: bool = False) -> dict[str, str]:
    """What stands for each sealed question, by its id, which may name a document or its first words: its kind and a number.

    One's own are numbered in their order, so that their author finds them; others in an order that says nothing.
    """
    sealed = [question for question in questions if question.split != "open"]
    counts: Counter[str] = Counter()
    names = {}
    for question in sealed if own else sorted(sealed, key=version):
        counts[question.kind] += 1
        names[question.id] = f"{'your ' * own}sealed {question.kind} {counts[question.kind]}"
    return names


def _in_order(questions: Iterable[Question], names: Mapping[str, str]) -> list[Question]:
    """The sealed ones by kind, then by their number."""
    places = {id_: place for place, id_ in enumerate(names)}
    return sorted((each for each in questions if each.split != "open"), key=lambda each: (each.kind, places[each.id]))


QUIET = {
    "stale": "a quotation of its evidence is not found, or found several times",
    "document": "it names a document that is not in the corpus",
    "wording": f"more of its word {NGRAM}-grams are in its evidence than may be",
    "duplicate": "another question asks the same",
    "split": "what it is about, or its evidence, is on the open side as well",
    "unjudged": "some documents have not been judged for it",
    "judgement": "its documents and its judgements do not agree",
    "id": "another question has its id",
}
"""What a finding says of a sealed question: the message names its words and documents."""


def without_sealed(findings: Iterable[Finding], golden: GoldenSet) -> list[Finding]:
    """The findings with a sealed question's words, documents and id left out, in its own and in those that name it."""
    names = sealed_names(golden.questions)
    return [
        kept_quiet(each, names.get(each.question, each.question)) if each.question in names or each.other in names else each
        for each in findings
    ]


def kept_quiet(finding: Finding, name: str = "") -> Finding:
    """The finding with its kind alone, of the question as it is, or under another name."""
    return Finding(name or finding.question, finding.kind, QUIET.get(finding.kind, "something is wrong with it"))


def selected(
    rows: Iterable[Row], *, search: str = "", kinds: Collection[str] = (), whose: Collection[str] = (), only_findings: bool = False
) -> list[Row]:
    """The rows that hold every word of the search, are of those kinds and of those people (all when empty), and have findings if asked."""
    words = search.casefold().split()
    return [
        row
        for row in rows
        if (not kinds or row.question.kind in kinds)
        and (not whose or row.whose in whose)
        and (row.findings or not only_findings)
        and all(word in _searched(row) for word in words)
    ]


def _searched(row: Row) -> str:
    question = row.question
    held = (
        question.id,
        question.text,
        question.kind,
        question.split,
        row.whose,
        *question.documents,
        *(each.kind for each in row.findings),
    )
    return " ".join(held).casefold()


def look_up(quote: Quote, document: Document | None) -> LookUp:
    """Where a quotation stands in its document, at most `MAX_PLACES` places of it; of one that does not, the nearest passage.

    Without a document it is missing; nothing is raised.
    """
    if document is None:
        return LookUp(quote, quote.document, "missing")
    places = places_of(replace(quote, occurrence=0), document.text)
    meant = places[quote.occurrence - 1 : quote.occurrence] if quote.occurrence else places
    if not meant:
        return LookUp(quote, document.title, "absent", len(places), nearest=nearest(document, quote.quote))
    sights = tuple(sight(document, place.start, place.end) for place in meant[:MAX_PLACES])
    return LookUp(quote, document.title, "found" if len(meant) == 1 else "several", len(places), sights)


def sight(document: Document, start: int, end: int, *, share: float = 1.0) -> Sight:
    """`text[start:end]` of a document in its surroundings: at most `AROUND` characters either side, whole words of the same paragraph."""
    before, after = document.text[max(0, start - AROUND) : start], document.text[end : end + AROUND]
    if start > AROUND and "\n\n" not in before and " " in before:
        before = f"… {before.partition(' ')[2]}"
    if end + AROUND < len(document.text) and "\n\n" not in after and " " in after:
        after = f"{after.rpartition(' ')[0]} …"
    before, after = before.rpartition("\n\n")[2], after.partition("\n\n")[0]
    return Sight(start, end, section_at(document, start), before, document.text[start:end], after, share)


def section_at(document: Document, at: int) -> str:
    """The headings above a place of a document, without its title; empty before the first of them."""
    path = next((each.heading_path for each in reversed(document.sections) if each.start <= at < each.end), ())
    return " › ".join(path[1:] if path[:1] == (document.title,) else path)


def quote_at(document: Document, start: int, end: int) -> Quote:
    """`text[start:end]` of a document as evidence, white space at its ends aside: its words, and the occurrence (from 1) where they repeat."""
    text = document.text[start:end]
    start, text = start + len(text) - len(text.lstrip()), text.strip()
    starts = [place.start for place in places_of(Quote(document.id, text), document.text)]
    occurrence = starts.index(start) + 1 if len(starts) > 1 and start in starts else 0
    return Quote(document.id, text, occurrence)


def nearest(document: Document, quote: str) -> Sight | None:
    """The passage of a document that a quotation is most like, whole words of it; None when nothing is like it.

    The same but for case and typography counts as 1; else the share of words in common, in order: 2 · common / (of both). The
    place is where a window as long as the quotation holds most of its words, rare ones counting more.
    """
    text = document.text[:MAX_SEARCHED]
    for span in find_loosely(text, quote):
        return sight(document, span.start, span.end)
    wanted = [word.casefold() for word in _WORD.findall(quote)][:MAX_COMPARED]
    words = [(found.group().casefold(), found.start(), found.end()) for found in _WORD.finditer(text)]
    if not wanted or not words:
        return None
    at = _best_window([word for word, _, _ in words], wanted)
    around = words[max(0, at - len(wanted) // 2) : at + len(wanted) + len(wanted) // 2 + 1]
    common, (first_wanted, first), (last_wanted, last) = _aligned(wanted, [word for word, _, _ in around])
    if not common:
        return None
    first = _reach(around, text, first, by=-1, most=first_wanted)
    last = _reach(around, text, last, by=1, most=len(wanted) - 1 - last_wanted)
    share = 2 * common / (len(wanted) + last + 1 - first)
    if share < NEAR_ENOUGH:
        return None
    start, end = around[first][1], around[last][2]
    if quote.rstrip()[-1:] in (".", "!", "?") and text[end : end + 1] == quote.rstrip()[-1:]:
        end += 1
    return sight(document, start, end, share=share)


def _best_window(words: Sequence[str], wanted: Sequence[str]) -> int:
    """Where a window of as many words as are wanted holds most of them, each word weighing less the more often it stands there."""
    need, counts = Counter(wanted), Counter(words)
    held: Counter[str] = Counter()
    best, score, best_score = 0, 0.0, -1.0
    for at, word in enumerate(words):
        if word in need:
            held[word] += 1
            score += (held[word] <= need[word]) / counts[word]
        leaving = at - len(wanted)
        if leaving >= 0 and words[leaving] in need:
            score -= (held[words[leaving]] <= need[words[leaving]]) / counts[words[leaving]]
            held[words[leaving]] -= 1
        if score > best_score + 1e-12:
            best, best_score = max(0, leaving + 1), score
    return best


def _aligned(wanted: Sequence[str], words: Sequence[str]) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """The best local alignment (Smith and Waterman, 1981) of two rows of words, a word that only one has costing a quarter of a match.

    Returns how many words both have, and the first and the last of them as places in `wanted` and `words`.
    """
    nothing = (0.0, 0, (0, 0), (0, 0))
    best, above = nothing, [nothing] * (len(words) + 1)
    for row, word in enumerate(wanted):
        line = [nothing]
        for column, other in enumerate(words):
            if word == other:
                score, common, first, _ = above[column]
                here = (score + 1, common + 1, first if common else (row, column), (row, column))
            else:
                score, common, first, last = max(above[column + 1], line[column], above[column])
                here = (score - GAP, common, first, last) if score > GAP else nothing
            line.append(here)
            best = max(best, here, key=lambda cell: cell[0])
        above = line
    return best[1], best[2], best[3]


def _reach(words: Sequence[tuple[str, int, int]], text: str, at: int, *, by: int, most: int) -> int:
    """From a word as far as `most` others of the same sentence: what replaced the words at the quotation's end."""
    for _ in range(most):
        other = at + by
        if not 0 <= other < len(words):
            break
        gap = text[words[min(at, other)][2] : words[max(at, other)][1]]
        if _SENTENCE_END.search(gap):
            break
        at = other
    return at


def question_from_draft(draft: notes.Draft, document: Callable[[str], Document | None], shelf: Shelf, *, refused: bool = False) -> Question:
    """What a draft would be as a question of one's own: its spans as verbatim quotations, each a need.

    A span that its document no longer holds keeps the draft's own words, for its reader to look at. A draft of an answer that
    `refused` is taken for unanswerable.
    """
    quotes: list[Quote] = []
    for each in draft.evidence:
        quote = _draft_quote(each, document)
        if quote is not None and quote not in quotes:
            quotes.append(quote)
    documents = tuple(dict.fromkeys(quote.document for quote in quotes))
    kind = UNANSWERABLE if refused and not documents else "combined" if len(documents) > 1 else draft.kind or "detail"
    return Question(
        new_id(draft.question, shelf.ids),
        draft.question.strip(),
        kind,
        side_of(shelf, documents),
        dict.fromkeys(documents, 1),
        tuple((quote,) for quote in quotes),
        answer=draft.reference.strip(),
    )


def _draft_quote(entry: Mapping[str, Any], document: Callable[[str], Document | None]) -> Quote | None:
    """A draft's evidence as a quotation; None for what names neither words nor a place."""
    id_, start, end = str(entry.get("document", "")), entry.get("start"), entry.get("end")
    said = str(entry.get("quote", "") or "").strip()
    held = document(id_) if id_ else None
    if held is not None and type(start) is int and type(end) is int and 0 <= start < end <= len(held.text):
        there = held.text[start:end].strip()
        if there and (not said or there.split() == said.split()):
            return quote_at(held, start, end)
    return Quote(id_, said) if id_ and said else None


def with_need(question: Question, quote: Quote, *, need: int | None = None) -> Question:
    """The question with one more piece of evidence: a need of its own, or an alternative in the need of that place, from 0."""
    if need is None:
        evidence = (*question.evidence, (quote,))
    else:
        evidence = tuple((*each, quote) if at == need else each for at, each in enumerate(question.evidence))
    grades = question.grades if quote.document in question.documents else {**question.grades, quote.document: 1}
    return replace(question, evidence=evidence, grades=grades)


def with_quote(question: Question, need: int, place: int, quote: Quote | None) -> Question:
    """The question with another quotation at that place of a need (both from 0), or without it for None; a need that is left empty goes."""
    changed = tuple(
        tuple(kept for number, each in enumerate(quotes) if (kept := quote if (at, number) == (need, place) else each) is not None)
        for at, quotes in enumerate(question.evidence)
    )
    return replace(question, evidence=tuple(quotes for quotes in changed if quotes))


def with_joined(question: Question, need: int) -> Question:
    """The question with a need's quotations as alternatives of the need before it; `need` counts from 0 and has one before it."""
    needs = list(question.evidence)
    needs[need - 1 : need + 1] = [(*needs[need - 1], *needs[need])]
    return replace(question, evidence=tuple(needs))


def with_documents(question: Question, documents: Sequence[str]) -> Question:
    """The question with those documents expected, the first of them primary; evidence in others goes, known grades stay."""
    evidence = (tuple(quote for quote in need if quote.document in documents) for need in question.evidence)
    grades = {id_: question.grades.get(id_, 0) or 1 for id_ in documents}
    return replace(question, grades=grades, evidence=tuple(need for need in evidence if need))


def with_kind(question: Question, kind: str) -> Question:
    """The question as one of another kind; what only answerable ones have becomes what an unanswerable one is about, and back."""
    if kind == UNANSWERABLE and question.answerable:
        return replace(question, kind=kind, grades={}, evidence=(), about=question.documents or question.about)
    if kind != UNANSWERABLE and not question.answerable:
        return replace(question, kind=kind, grades=dict.fromkeys(question.about, 1), about=())
    return replace(question, kind=kind)
