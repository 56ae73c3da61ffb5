"""Golden questions: how they are written down, what is wrong with them, and where in a corpus their evidence stands."""

import contextlib
import functools
import hashlib
import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from evals.metrics import Gold
from sitt_core.errors import InvalidInput, NotFound, shown
from sitt_core.quotes import find_folded
from sitt_core.types import Document, Place

QUESTIONS_DIR = Path(__file__).parent / "questions"
FIELD_GUIDE = "field-guide"
JUDGEMENTS_FILE = "judgements.yaml"

KINDS = ("named", "thematic", "alias", "described", "detail", "combined", "unanswerable")
"""What the field guide's questions are; other sets may have kinds of their own."""
FLOOR = "named"
"""The generated kind: it stands apart, as the least that is to be expected."""
UNANSWERABLE = "unanswerable"
SPLITS = ("open", "sealed")
SEALED_SHARE = 0.40
MAX_CONTAINMENT = 0.15
"""The most of a question's word 3-grams that its evidence may hold: copied wording flatters keyword search."""
CHECKED_FOR_WORDING = ("thematic", "described", "detail")
NGRAM = 3
MAX_LISTED = 20
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of evidence: words of a document, the `occurrence`-th of them (1-based) where they repeat, 0 where they do not."""

    document: str
    quote: str
    occurrence: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what answers it.

    `grades` says how relevant documents are, those above 0 being expected, the first of them the primary one. `evidence`
    holds needs, all of which are wanted, each with alternatives, any of which suffices. `about` names the documents that
    an unanswerable question seems to be about; without any it is off the corpus's topic.
    """

    id: str
    text: str
    kind: str
    split: str = "open"
    grades: Mapping[str, int] = field(default_factory=dict)
    evidence: tuple[tuple[Quote, ...], ...] = ()
    about: tuple[str, ...] = ()
    answer: str = ""
    facts: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents that are expected, the primary one first."""
        return tuple(document for document, grade in self.grades.items() if grade > 0)

    @property
    def primary(self) -> str:
        """What the question belongs to: its first expected document, else the first that it is about, else itself."""
        return next(iter((*self.documents, *self.about)), self.id)

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds an answer."""
        return self.kind != UNANSWERABLE


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Questions in order; `judgements` says yes or no for every document of the questions that were judged against all.

    `drops_own_id`: a document that has the question's own id is no hit (some BEIR collections ask with their documents).
    """

    name: str
    questions: tuple[Question, ...]
    judgements: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    drops_own_id: bool = False

    @property
    def sha256(self) -> str:
        """The identity of the questions and everything that is known of them."""
        rows = [question_entry(question) | {"split": question.split} for question in self.questions]
        return hashlib.sha256(json.dumps([rows, self.drops_own_id]).encode()).hexdigest()  # in order: the first document is the primary one


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a question: `kind` is one word for it, `message` says it in full; `other` is a question that it names."""

    question: str
    kind: str
    message: str
    other: str = ""


def load_questions(place: str) -> GoldenSet:
    """The set of that name (a bundled one) or path: a YAML file, or a folder of them with judgements.yaml beside.

    Raises NotFound, or InvalidInput with everything that is wrong with the files at once.
    """
    bundled = sorted(each.name for each in QUESTIONS_DIR.iterdir() if each.is_dir())
    path = QUESTIONS_DIR / place if place in bundled else Path(place)
    files: list[Path] = []
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # what the system does not take for a path, and ~name of nobody
        path = path.expanduser().resolve()
        files = sorted(path.glob("*.yaml")) if path.is_dir() else [path] if path.is_file() else []
    if not files or not place:
        raise NotFound(
            expected=f"a golden set: {', '.join(bundled)}, or the path of a YAML file or a folder of them",
            got=shown(place),
            remedy="Check the name or the path.",
        )
    reader = _Reader()
    questions = [question for file in files if file.name != JUDGEMENTS_FILE for question in reader.questions(file)]
    judgements = reader.judgements(path / JUDGEMENTS_FILE) if path.is_dir() and (path / JUDGEMENTS_FILE).is_file() else {}
    reader.unique(questions)
    reader.finish(path)
    return GoldenSet(path.stem, tuple(questions), judgements)


def read_questions(file: Path) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The questions of a YAML file that can be read, and everything that is wrong with it; for what is not to be taken yet."""
    reader = _Reader()
    questions = reader.questions(file)
    reader.unique(questions)
    return tuple(questions), tuple(reader.problems)


class _Loader(yaml.SafeLoader):
    """As safe as its base; a key that is given twice is an error, where the base keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        twice = [key for key, count in keys.items() if count > 1]
        if twice:
            raise yaml.MarkedYAMLError(problem=f"{shown(twice[0])} is given twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep=deep)


class _Reader:
    """Reads entries and gathers what is wrong with them, so that it is told at once."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def questions(self, file: Path) -> list[Question]:
        """The questions of a file that can be read."""
        entries = self._yaml(file)
        if not isinstance(entries, list):
            self.problems.append(f"{file.name}: expected a list of questions, got {_form(entries)}")
            return []
        read = [self._question(entry, f"{file.name}, entry {number}") for number, entry in enumerate(entries, start=1)]
        return [question for question in read if question]

    def judgements(self, file: Path) -> dict[str, dict[str, bool]]:
        """What judgements.yaml says, by question and document."""
        entries = self._yaml(file)
        judged: dict[str, dict[str, bool]] = {}
        if entries and not isinstance(entries, dict):
            self.problems.append(f"{file.name}: expected a mapping from questions to yes and no, got {_form(entries)}")
        for id_, answers in entries.items() if isinstance(entries, dict) else ():
            if not isinstance(answers, dict) or set(answers) != {"yes", "no"}:
                self.problems.append(f"{file.name}: {shown(str(id_))}: expected the keys yes and no, both in quotation marks")
                continue
            named = [(document, key == "yes") for key in ("yes", "no") for document in self._texts(answers[key], f"{file.name}: {id_}")]
            twice = [document for document, count in Counter(document for document, _ in named).items() if count > 1]
            if twice:
                self.problems.append(f"{file.name}: {shown(str(id_))}: judged twice: {', '.join(map(shown, twice[:3]))}")
            judged[str(id_)] = dict(named)
        return judged

    def unique(self, questions: Sequence[Question]) -> None:
        """Notes ids that are given twice."""
        for id_, count in Counter(question.id for question in questions).items():
            if count > 1:
                self.problems.append(f"{shown(id_)}: {count} questions have this id")

    def finish(self, path: Path) -> None:
        """Raises InvalidInput when something was wrong."""
        if self.problems:
            more = f"; and {len(self.problems) - MAX_LISTED} more" if len(self.problems) > MAX_LISTED else ""
            raise InvalidInput(
                expected=f"{path.name} to hold golden questions",
                got=f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)}: " + "; ".join(self.problems[:MAX_LISTED]) + more,
                remedy="Correct them; docs/golden-sets.md describes the format.",
            )

    def _yaml(self, file: Path) -> Any:
        try:
            return yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
        # Besides YAMLError, what PyYAML lets through of malformed tags and of deep nesting.
        except (OSError, ValueError, LookupError, AttributeError, RecursionError, yaml.YAMLError) as error:
            self.problems.append(f"{file.name}: {' '.join(str(error).split())}")
            return []

    def _question(self, entry: object, where: str) -> Question | None:
        if not isinstance(entry, dict):
            self.problems.append(f"{where}: expected a question with id, text and kind, got {shown(str(entry))}")
            return None
        where = f"{where} ({shown(str(entry['id']))})" if "id" in entry else where
        before = len(self.problems)
        unknown = sorted(map(str, set(entry) - {*_TEXT_KEYS, *_LIST_KEYS, "documents", "evidence"}))
        if unknown:
            self.problems.append(f"{where}: unknown keys {', '.join(unknown)}")
        texts = {key: self._text(entry.get(key, _TEXT_KEYS[key]), f"{where}: {key}") for key in _TEXT_KEYS}
        for key in ("id", "text", "kind"):
            if not texts[key]:
                self.problems.append(f"{where}: {key} is missing or empty")
        if texts["split"] not in SPLITS:
            self.problems.append(f"{where}: expected split to be {' or '.join(SPLITS)}, got {shown(texts['split'])}")
        about, facts = (tuple(self._texts(entry.get(key, []), f"{where}: {key}")) for key in _LIST_KEYS)
        grades = self._grades(entry.get("documents", []), where)
        evidence = self._evidence(entry.get("evidence", []), where)
        question = Question(**texts, grades=grades, evidence=evidence, about=about, facts=facts)
        self._together(question, where)
        return question if len(self.problems) == before else None

    def _together(self, question: Question, where: str) -> None:
        """The rules between keys."""
        if question.answerable and not question.documents:
            self.problems.append(f"{where}: expected documents that answer it, or kind unanswerable")
        if not question.answerable and (question.documents or question.evidence):
            self.problems.append(
                f"{where}: an unanswerable question has neither documents nor evidence; about names what it seems to be about"
            )
        outside = {quote.document for need in question.evidence for quote in need} - set(question.documents)
        if outside:
            self.problems.append(f"{where}: evidence in {', '.join(sorted(outside))}, which is not among its documents")

    def _text(self, value: object, where: str) -> str:
        if isinstance(value, str):
            return value.strip()
        self.problems.append(f"{where}: expected text, got {shown(str(value))}; put it between quotation marks")
        return ""

    def _texts(self, value: object, where: str) -> list[str]:
        if isinstance(value, list):
            return [self._text(each, where) for each in value]
        self.problems.append(f"{where}: expected a list, got {shown(str(value))}")
        return []

    def _grades(self, value: object, where: str) -> dict[str, int]:
        """A list of documents (grade 1 each) or a mapping from document to grade."""
        if not isinstance(value, dict):
            return dict.fromkeys(self._texts(value, f"{where}: documents"), 1)
        wrong = [document for document, grade in value.items() if not isinstance(document, str) or type(grade) is not int]
        if wrong:
            self.problems.append(f"{where}: documents: expected whole numbers as grades, of {', '.join(map(str, wrong))}")
        return {document: grade for document, grade in value.items() if document not in wrong}

    def _evidence(self, value: object, where: str) -> tuple[tuple[Quote, ...], ...]:
        if not isinstance(value, list) or not all(isinstance(need, list) and need for need in value):
            self.problems.append(f"{where}: evidence: expected a list of needs, each a list of alternatives")
            return ()
        return tuple(tuple(quote for each in need if (quote := self._quote(each, where))) for need in value)

    def _quote(self, value: object, where: str) -> Quote | None:
        if not isinstance(value, dict) or not {"document", "quote"} <= set(value) <= {"document", "quote", "occurrence"}:
            self.problems.append(f"{where}: evidence: expected document, quote and perhaps occurrence, got {shown(str(value))}")
            return None
        occurrence = value.get("occurrence", 0)
        if type(occurrence) is not int or occurrence < 0 or (occurrence == 0 and "occurrence" in value):
            self.problems.append(f"{where}: evidence: expected occurrence to be a whole number from 1, got {shown(str(occurrence))}")
            return None
        return Quote(self._text(value["document"], where), self._text(value["quote"], where), occurrence)


def _form(value: object) -> str:
    """What YAML calls a value of that kind."""
    names = ((type(None), "nothing"), (dict, "a mapping"), (list, "a list"), (str, "a text"))
    return next((name for type_, name in names if isinstance(value, type_)), f"the value {shown(value)}")


_TEXT_KEYS = {"id": "", "text": "", "kind": "", "split": "open", "answer": ""}
_LIST_KEYS = ("about", "facts")


def question_entry(question: Question) -> dict[str, Any]:
    """A question as the YAML files hold it, without what is empty."""
    plain = all(grade == 1 for grade in question.grades.values())
    entry: dict[str, Any] = {
        "id": question.id,
        "kind": question.kind,
        "split": question.split if question.split != "open" else "",
        "text": question.text,
        "documents": list(question.grades) if plain else dict(question.grades),
        "about": list(question.about),
        "evidence": [[_quote_entry(quote) for quote in need] for need in question.evidence],
        "answer": question.answer,
        "facts": list(question.facts),
    }
    return {key: value for key, value in entry.items() if value}


def _quote_entry(quote: Quote) -> dict[str, Any]:
    entry: dict[str, Any] = {"document": quote.document, "quote": quote.quote}
    return entry | {"occurrence": quote.occurrence} if quote.occurrence else entry


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """Writes questions as `load_questions` reads them."""
    entries = [question_entry(question) for question in questions]
    entries_text = json.dumps(entries, ensure_ascii=False)
    # PyYAML writes U+0085 as it is where it may, and reads it as the end of a line.
    text = yaml.safe_dump(entries, allow_unicode="\x85" not in entries_text, sort_keys=False, width=140)
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def with_named(golden: GoldenSet, documents: Iterable[tuple[str, str]]) -> GoldenSet:
    """The set with a question "Tell me about X" for every document (id, title), on the side where its other questions are."""
    sides = {question.primary: question.split for question in golden.questions}
    made = [
        Question(f"{FLOOR}-{id_.removesuffix('.md')}", f"Tell me about {title}", FLOOR, sides.get(id_) or _side(id_), {id_: 1})
        for id_, title in documents
    ]
    return GoldenSet(golden.name, (*golden.questions, *made), golden.judgements, golden.drops_own_id)


def _side(document_id: str) -> str:
    """The split of a document that no hand-written question is about: the same on every machine."""
    return "sealed" if int(hashlib.sha256(document_id.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF < SEALED_SHARE else "open"


def places_of(quote: Quote, text: str) -> list[Place]:
    """Where a quotation stands in its document's text: the one place meant, or every place when it repeats and none is named."""
    places = [Place(quote.document, span.start, span.end) for span in find_folded(text, quote.quote)]
    return places[quote.occurrence - 1 : quote.occurrence] if quote.occurrence else places


def resolve(question: Question, text_of: Callable[[str], str | None]) -> Gold:
    """The question's gold in a corpus, `text_of` giving the text of a document or None.

    An alternative that is not found, or is found at several places, is left out; a need that is left without any makes the question stale.
    """
    needs, lost = [], []
    for need in question.evidence:
        found = [(quote, places_of(quote, text_of(quote.document) or "")) for quote in need]
        places = tuple(places[0] for _, places in found if len(places) == 1)
        if places:
            needs.append(places)
        else:
            lost.append(f"{shown(need[0].quote)} is {_trouble(need[0], len(found[0][1]))} {need[0].document}")
    if lost:
        return Gold(question.grades, answerable=question.answerable, stale="stale evidence: " + "; ".join(lost))
    return Gold(question.grades, tuple(needs), answerable=question.answerable)


def _trouble(quote: Quote, count: int) -> str:
    if count:
        return f"{count} times in"
    return f"not {quote.occurrence} times in" if quote.occurrence else "not in"


Finder = Callable[[Quote], Sequence[Place]]
"""Says where a quotation stands."""


def finder(texts: Mapping[str, str]) -> Finder:
    """`places_of` any quotation in the texts, by document; each is looked for once, however often it is asked about."""
    return functools.cache(lambda quote: tuple(places_of(quote, texts.get(quote.document, ""))))


def check_questions(golden: GoldenSet, documents: Sequence[Document]) -> list[Finding]:
    """Everything that is wrong with a set against the corpus it asks: one finding after the other, by what is checked."""
    texts = {document.id: document.text for document in documents}
    find = finder(texts)
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: _unknown_documents(golden, texts),
        lambda: _unresolved(golden, find),
        lambda: _copied_wording(golden),
        lambda: _same_text(golden),
        lambda: _split_apart(golden, find),
        lambda: _unjudged(golden, texts),
    )
    return [finding for check in checks for finding in check()]


def _unknown_documents(golden: GoldenSet, texts: Mapping[str, str]) -> Iterator[Finding]:
    for question in golden.questions:
        for document in (*question.documents, *question.about):
            if document not in texts:
                yield Finding(question.id, "document", f"{shown(document)} is not in the corpus")


def _unresolved(golden: GoldenSet, find: Finder) -> Iterator[Finding]:
    for question in golden.questions:
        for quote in itertools.chain.from_iterable(question.evidence):
            count = len(find(quote))
            if count != 1:
                hint = "; say which by occurrence" if count else ""
                yield Finding(question.id, "stale", f"{shown(quote.quote)} is {_trouble(quote, count)} {quote.document}{hint}")


def _copied_wording(golden: GoldenSet) -> Iterator[Finding]:
    for question in golden.questions:
        share = containment(question)
        if question.kind in CHECKED_FOR_WORDING and share > MAX_CONTAINMENT:
            yield Finding(
                question.id, "wording", f"{share:.0%} of its word {NGRAM}-grams are in its evidence, at most {MAX_CONTAINMENT:.0%} may be"
            )


def containment(question: Question) -> float:
    """The share of the question's word 3-grams that its evidence holds (case and form folded); 0 for a shorter question."""
    asked = _ngrams(question.text)
    held = {gram for need in question.evidence for quote in need for gram in _ngrams(quote.quote)}
    return sum(gram in held for gram in asked) / len(asked) if asked else 0.0


def _ngrams(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return list(zip(*(words[at:] for at in range(NGRAM)), strict=False))


def _same_text(golden: GoldenSet) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for question in golden.questions:
        text = " ".join(_WORD.findall(question.text.casefold()))
        if text in seen:
            yield Finding(question.id, "duplicate", f"asks the same as {seen[text]}", seen[text])
        seen.setdefault(text, question.id)


def _split_apart(golden: GoldenSet, find: Finder) -> Iterator[Finding]:
    """What is on both sides: a primary document, or a piece of evidence."""
    sides: dict[str, str] = {}
    for question in golden.questions:
        if question.split != sides.setdefault(question.primary, question.split):
            yield Finding(question.id, "split", f"is {question.split}, while another question about {question.primary} is not")
    open_, sealed = (
        [(question.id, place) for question in golden.questions if question.split == side for place in evidence_places(question, find)]
        for side in SPLITS
    )
    for id_, place in sealed:
        shared = next((other for other, theirs in open_ if overlap(place, theirs)), None)
        if shared:
            message = f"is sealed and shares evidence in {place.document_id} with {shared}, which is open"
            yield Finding(id_, "split", message, shared)


def evidence_places(question: Question, find: Finder) -> list[Place]:
    """Every place where a quotation of the question's evidence stands."""
    return [place for need in question.evidence for quote in need for place in find(quote)]


def overlap(one: Place, other: Place) -> bool:
    """Whether two places have a character in common."""
    return one.document_id == other.document_id and one.start < other.end and other.start < one.end


def _unjudged(golden: GoldenSet, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Where judgements.yaml and the questions disagree, or the corpus has grown."""
    by_id = {question.id: question for question in golden.questions}
    for id_, judged in golden.judgements.items():
        if id_ not in by_id:
            yield Finding(id_, "judgement", "is judged, and there is no such question")
            continue
        missing, gone = sorted(texts.keys() - judged.keys()), sorted(judged.keys() - texts.keys())
        if missing:
            yield Finding(id_, "unjudged", f"{len(missing)} documents are not judged: {', '.join(missing[:5])}{', …' * (len(missing) > 5)}")
        if gone:
            yield Finding(id_, "judgement", f"judged documents are not in the corpus: {', '.join(gone[:5])}")
        yes = {document for document, answer in judged.items() if answer}
        if yes != set(by_id[id_].documents):
            yield Finding(
                id_, "judgement", f"its documents and its yes answers differ: {', '.join(sorted(yes ^ set(by_id[id_].documents)))}"
            )


def sealed_shares(golden: GoldenSet) -> dict[str, float]:
    """The share of sealed questions, by kind."""
    counts = Counter(question.kind for question in golden.questions)
    sealed = Counter(question.kind for question in golden.questions if question.split == "sealed")
    return {kind: sealed[kind] / count for kind, count in counts.items()}
