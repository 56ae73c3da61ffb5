"""What people leave behind on this machine: presets, recent questions, answers with what was thought of them, drafts of questions.

Presets, recent questions and drafts are a JSON file each; a conversation is a file of JSON lines that is only appended to.
Safe from several processes.
"""

import contextlib
import json
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError, shown
from sitt_core.types import Answer, Usage

KEPT_RECENT = 50
MAX_PRESETS = 100
MAX_NAME = 60
LOCK_SECONDS = 5.0
MAX_NOTE = 2000
FROM_PASSAGES = "explore"
"""The origin of drafts whose evidence was chosen from passages; others name the answer that they were made of."""
FROM_A_MODEL = "a passage, drafted by"
"""How the origin of drafts by a language model begins; the model's name follows."""
_ALL = 1_000_000_000
_PRESETS, _RECENT, _DRAFTS, _ANSWERS = "presets.json", "recent.json", "drafts.json", "answers"
_ID = re.compile(r"[0-9a-z-]{1,64}")

Fields = Mapping[str, str | int | float]
"""A configuration's fields by dotted name."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A question with the fields and filters it was last asked under, and when (seconds since 1970)."""

    question: str
    fields: Fields
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: float = 0.0


Thumb = Literal["up", "down", ""]


@dataclass(frozen=True, slots=True)
class Logged:
    """An answer as it was given: `record` is `record_of` it, with what it was asked under; `thumb` and `note` came later."""

    id: str
    conversation: str
    asked: float
    corpus: str
    fields: Fields
    filters: Mapping[str, Sequence[str]]
    record: Mapping[str, Any]
    thumb: Thumb = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in the list: its first question, its corpus, how many answers it has and when the last one came."""

    id: str
    corpus: str
    question: str
    answers: int
    last: float


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that might join the golden set, with the spans of documents that would be its evidence; waits for review.

    `kind` is what whoever drafted it takes it for, "" when that is not said.
    """

    id: str
    corpus: str
    question: str
    reference: str
    evidence: Sequence[Mapping[str, Any]]
    made: float
    origin: str = ""
    kind: str = ""


def check_preset_name(name: str) -> str:
    """The name without white space around it; raises InvalidInput."""
    wanted = name.strip()
    if not wanted or len(wanted) > MAX_NAME or not wanted.isprintable():
        raise InvalidInput(
            expected=f"a name of 1 to {MAX_NAME} printable characters", got=shown(name), remedy='Choose a name such as "keyword only".'
        )
    return wanted


def presets(notes_dir: Path) -> dict[str, Fields]:
    """The saved configurations by name, in the order of their names; raises StoreError."""
    return dict(sorted(_read(notes_dir / _PRESETS).items(), key=lambda item: (item[0].casefold(), item[0])))


def save_preset(notes_dir: Path, name: str, fields: Fields) -> None:
    """Keeps the fields under a name, in place of what had it; raises InvalidInput, StoreError or Busy."""
    wanted = check_preset_name(name)
    with _editing(notes_dir / _PRESETS) as held:
        if wanted not in held and len(held) >= MAX_PRESETS:
            raise InvalidInput(expected=f"at most {MAX_PRESETS} presets", got="one more", remedy="Delete one that is no longer used.")
        held[wanted] = dict(fields)


def delete_preset(notes_dir: Path, name: str) -> None:
    """Forgets a preset; raises NotFound, StoreError or Busy."""
    with _editing(notes_dir / _PRESETS) as held:
        if name not in held:
            raise NotFound(expected="the name of a preset", got=shown(name), remedy="It may have been deleted in another window.")
        del held[name]


def recent(notes_dir: Path, corpus: str) -> tuple[Recent, ...]:
    """The questions lately asked of a corpus, the latest first; raises StoreError."""
    return tuple(_recents(_read(notes_dir / _RECENT), corpus))


def remember(notes_dir: Path, corpus: str, question: str, fields: Fields, filters: Mapping[str, Sequence[str]] | None = None) -> None:
    """Puts a question first among those of its corpus; asked before, it moves there with what it is asked under now.

    Nothing is written when it stands there already. Raises StoreError or Busy.
    """
    newest = Recent(question, dict(fields), {name: list(values) for name, values in (filters or {}).items()}, time.time())
    if _same(next(iter(recent(notes_dir, corpus)), None), newest):
        return
    with _editing(notes_dir / _RECENT) as held:
        others = [other for other in _recents(held, corpus) if other.question != question]
        held[corpus] = [asdict(each) for each in [newest, *others][:KEPT_RECENT]]


def forget(notes_dir: Path, corpus: str, question: str | None = None) -> None:
    """Deletes one recent question of a corpus, or all of them; raises StoreError or Busy."""
    with _editing(notes_dir / _RECENT) as held:
        kept = [asdict(other) for other in _recents(held, corpus) if question is not None and other.question != question]
        held.pop(corpus, None)
        if kept:
            held[corpus] = kept


def move_corpus(notes_dir: Path, old: str, new: str) -> None:
    """Puts the drafts, recent questions and conversations of a corpus under its new name, before any that are there.

    A conversation is only ever appended to: a line says the new name of what stands above it. Raises StoreError or Busy.
    """
    if (notes_dir / _DRAFTS).exists():
        with _editing(notes_dir / _DRAFTS) as held:
            for each in held.values():
                if each["corpus"] == old:
                    each["corpus"] = new
    if (notes_dir / _RECENT).exists():
        with _editing(notes_dir / _RECENT) as held:
            kept = [*held.pop(old, []), *held.get(new, [])][:KEPT_RECENT]
            held |= {new: kept} if kept else {}
    for each in conversations(notes_dir, most=_ALL):
        if any(answer.corpus == old for answer in conversation_answers(notes_dir, each.id)):
            file = _conversation_file(notes_dir, each.id)
            written = _last_written(file)
            _append(file, {"renamed": {"corpus": old, "to": new, "at": time.time()}})
            with contextlib.suppress(OSError):
                os.utime(file, (written, written))  # its place in the list is that of its last answer


_UNTOLD: Mapping[str, Any] = {
    **dict.fromkeys(("sentences", "citations", "marks", "passages", "stages"), ()),
    **dict.fromkeys(("problem", "provider", "model", "prompt_version", "provider_note"), ""),
    **{"milliseconds": 0.0, "refused": False, "stop": "end", "usage": asdict(Usage(dollars=None))},
}
"""What stands for the parts of an answer that the version which kept it did not know."""


def record_of(answer: Answer) -> dict[str, Any]:
    """An answer as the log keeps it: everything but the passages' texts, which the store has; plain JSON."""
    return {
        "question": answer.question,
        "text": answer.text,
        "sentences": [asdict(sentence) for sentence in answer.sentences],
        "citations": [asdict(citation) for citation in answer.citations],
        "marks": [asdict(mark) for mark in answer.marks],
        "passages": [
            {
                "rank": passage.rank,
                "document": passage.chunk.document_id,
                "title": passage.title,
                "heading_path": list(passage.chunk.heading_path),
                "start": passage.chunk.start,
                "end": passage.chunk.end,
                "source": asdict(passage.source),
            }
            for passage in answer.passages
        ],
        "milliseconds": answer.trace.milliseconds,
        "stages": [{"name": stage.name, "milliseconds": stage.milliseconds, "note": stage.note} for stage in answer.trace.stages],
        "refused": answer.refused,
        "stop": answer.stop,
        "problem": answer.problem,
        "provider": answer.provider,
        "model": answer.model,
        "usage": asdict(answer.usage),
        "prompt_version": answer.prompt_version,
        "provider_note": answer.note,
    }


def new_conversation() -> str:
    """The id of a conversation that begins now; ids sort by when they were made."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:8]}"


def log_answer(
    notes_dir: Path,
    conversation: str,
    answer: Answer,
    *,
    corpus: str,
    fields: Fields,
    filters: Mapping[str, Sequence[str]] | None = None,
) -> Logged:
    """Appends an answer to its conversation and returns it as kept; raises InvalidInput, StoreError or Busy."""
    logged = Logged(
        id=uuid.uuid4().hex[:12],
        conversation=_check_id(conversation),
        asked=time.time(),
        corpus=corpus,
        fields=dict(fields),
        filters={name: list(values) for name, values in (filters or {}).items()},
        record=record_of(answer),
    )
    kept = asdict(logged)
    del kept["thumb"], kept["note"], kept["conversation"]
    _append(_conversation_file(notes_dir, conversation), {"answer": kept})
    return logged


def rate(notes_dir: Path, conversation: str, answer_id: str, thumb: Thumb, note: str = "") -> None:
    """Keeps what a reader thought of an answer, in place of what they thought before; raises InvalidInput, NotFound, StoreError or Busy."""
    if thumb not in ("up", "down", "") or len(note) > MAX_NOTE:
        raise InvalidInput(
            expected=f"up, down or nothing, and a note of at most {MAX_NOTE:,} characters",
            got=f"{shown(thumb)} and {len(note):,} characters",
            remedy="Shorten the note.",
        )
    if answer_id not in {each.id for each in conversation_answers(notes_dir, conversation)}:
        raise NotFound(expected="the id of an answer", got=shown(answer_id), remedy="It may have been deleted in another window.")
    _append(_conversation_file(notes_dir, conversation), {"rating": {"answer": answer_id, "thumb": thumb, "note": note, "at": time.time()}})


def conversation_answers(notes_dir: Path, conversation: str) -> tuple[Logged, ...]:
    """The answers of a conversation in order, each with the last thumb and note it got; raises InvalidInput, NotFound or StoreError."""
    file = _conversation_file(notes_dir, conversation)
    lines = _lines(file)
    ratings = {line["rating"].get("answer"): line["rating"] for line in lines if isinstance(line.get("rating"), dict)}
    return tuple(
        replace(each, thumb=rating.get("thumb", ""), note=rating.get("note", "")) if (rating := ratings.get(each.id)) else each
        for each in _renamed(lines, conversation)
    )


def _renamed(lines: Sequence[Mapping[str, Any]], conversation: str) -> list[Logged]:
    """The answers of a conversation's lines, of a corpus by the name that it was given later."""
    found: list[Logged] = []
    for line in lines:
        if (answer := _logged(line.get("answer"), conversation)) is not None:
            found.append(answer)
        elif isinstance(renamed := line.get("renamed"), dict):
            old, new = renamed.get("corpus"), renamed.get("to")
            found = [replace(each, corpus=str(new)) if new and each.corpus == old else each for each in found]
    return found


def _logged(kept: object, conversation: str) -> Logged | None:
    """An answer as a line of the log has it, whichever version wrote it; None for a line that holds none."""
    with contextlib.suppress(TypeError, KeyError, AttributeError):
        if isinstance(kept, dict) and {"question", "text"} <= kept["record"].keys():
            named = {name: kept[name] for name in ("id", "asked", "corpus", "fields", "filters")}
            return Logged(**named, conversation=conversation, record={**_UNTOLD, **kept["record"]})
    return None


def conversations(notes_dir: Path, *, corpus: str | None = None, most: int = 50) -> tuple[Conversation, ...]:
    """The latest conversations, of one corpus or all, the latest first; raises StoreError."""
    found: list[Conversation] = []
    for file in sorted((notes_dir / _ANSWERS).glob("*.jsonl"), key=_last_written, reverse=True):
        try:
            answers = conversation_answers(notes_dir, file.stem)
        except (InvalidInput, NotFound):  # not one of ours, or deleted in another window since it was listed
            continue
        if answers and corpus in (None, answers[0].corpus):
            first, last = answers[0], answers[-1]
            found.append(Conversation(file.stem, first.corpus, first.record["question"], len(answers), last.asked))
        if len(found) == most:
            break
    return tuple(found)


def _last_written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # deleted in another window since it was listed
        return 0.0


def delete_conversation(notes_dir: Path, conversation: str) -> None:
    """Forgets a conversation and what was thought of it; raises InvalidInput, NotFound or StoreError."""
    file = _conversation_file(notes_dir, conversation)
    try:
        file.unlink()
    except FileNotFoundError as error:
        raise NotFound(expected="a conversation", got=shown(conversation), remedy="It may have been deleted in another window.") from error
    except OSError as error:
        raise StoreError(expected=f"to delete {file.name}", got=str(error), remedy="Check the permissions of the notes folder.") from error


def save_draft(
    notes_dir: Path,
    *,
    corpus: str,
    question: str,
    reference: str = "",
    evidence: Sequence[Mapping[str, Any]] = (),
    origin: str = "",
    kind: str = "",
) -> Draft:
    """Keeps a draft of a golden question made of an answer, in place of one made of another answer to the same question.

    Raises StoreError or Busy.
    """
    made = Draft(uuid.uuid4().hex[:12], corpus, question, reference, [dict(each) for each in evidence], time.time(), origin, kind)
    with _editing(notes_dir / _DRAFTS) as held:
        for id_, other in list(held.items()):
            if (other["corpus"], other["question"]) == (corpus, question) and other["origin"] != FROM_PASSAGES:
                del held[id_]
        held[made.id] = asdict(made)
    return made


def add_to_draft(notes_dir: Path, *, corpus: str, question: str, evidence: Mapping[str, Any]) -> Draft:
    """Puts a quotation that somebody chose from a passage into the draft of that question, which is made where there is none.

    `evidence` names a document, start, end and quote. What is there already is not added again. Raises StoreError or Busy.
    """
    with _editing(notes_dir / _DRAFTS) as held:
        wanted = (corpus, question, FROM_PASSAGES)
        kept = next((each for each in held.values() if (each["corpus"], each["question"], each["origin"]) == wanted), None)
        if kept is None:
            kept = asdict(Draft(uuid.uuid4().hex[:12], corpus, question, "", [], time.time(), FROM_PASSAGES))
            held[kept["id"]] = kept
        if dict(evidence) not in kept["evidence"]:
            kept["evidence"].append(dict(evidence))
        return Draft(**kept)


def drafts(notes_dir: Path, corpus: str | None = None) -> tuple[Draft, ...]:
    """The drafts of golden questions, of one corpus or all, the oldest first; raises StoreError."""
    try:
        found = [Draft(**each) for each in _read(notes_dir / _DRAFTS).values()]
    except TypeError as error:
        raise _damaged(_DRAFTS, str(error)) from error
    return tuple(sorted((each for each in found if corpus in (None, each.corpus)), key=lambda each: each.made))


def delete_draft(notes_dir: Path, draft_id: str) -> None:
    """Forgets a draft; raises NotFound, StoreError or Busy."""
    with _editing(notes_dir / _DRAFTS) as held:
        if draft_id not in held:
            raise NotFound(expected="the id of a draft", got=shown(draft_id), remedy="It may have been reviewed in another window.")
        del held[draft_id]


@contextlib.contextmanager
def accepting_draft(notes_dir: Path, draft_id: str) -> Iterator[Draft]:
    """The draft, to be made into a question while nobody else reviews it: gone when the block ends, kept when it raises.

    Raises NotFound, StoreError or Busy.
    """
    with _editing(notes_dir / _DRAFTS) as held:
        if draft_id not in held:
            raise NotFound(expected="the id of a draft", got=shown(draft_id), remedy="It may have been reviewed in another window.")
        try:
            accepted = Draft(**held[draft_id])
        except TypeError as error:
            raise _damaged(_DRAFTS, str(error)) from error
        yield accepted
        del held[draft_id]


def answer_behind(notes_dir: Path, draft: Draft) -> Logged | None:
    """The answer that a draft was made from, with the thumb and note it has now; None where its origin names none, or it is gone."""
    conversation, _, answer_id = draft.origin.partition("/")
    try:
        return next((each for each in conversation_answers(notes_dir, conversation) if each.id == answer_id), None)
    except (InvalidInput, NotFound):
        return None


def _conversation_file(notes_dir: Path, conversation: str) -> Path:
    return notes_dir / _ANSWERS / f"{_check_id(conversation)}.jsonl"


def _check_id(conversation: str) -> str:
    """The id as it is: it becomes a file's name. Raises InvalidInput."""
    if not _ID.fullmatch(conversation):
        raise InvalidInput(expected="the id of a conversation", got=shown(conversation), remedy="Choose one of the list.")
    return conversation


def _append(file: Path, line: Mapping[str, Any]) -> None:
    """Adds a line in one write, after a line end if a killed process left a torn one."""
    data = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=LOCK_SECONDS), file.open("a+b") as out:
            if out.tell() and _last_byte(out.fileno(), out.tell()) != b"\n":
                data = b"\n" + data
            out.write(data)
    except Timeout as error:
        raise Busy(expected=f"to write {file.name}", got="another process is writing it", remedy="Try again in a moment.") from error
    except OSError as error:
        raise StoreError(
            expected=f"to write {file.name}", got=str(error), remedy="Check the free space and the permissions of the notes folder."
        ) from error


def _last_byte(descriptor: int, size: int) -> bytes:
    return os.pread(descriptor, 1, size - 1)


def _lines(file: Path) -> list[dict[str, Any]]:
    """The lines of a file of JSON lines; one that a killed process left torn is passed over."""
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(expected="a conversation", got=shown(file.stem), remedy="It may have been deleted in another window.") from error
    except OSError as error:
        raise StoreError(expected=f"to read {file.name}", got=str(error), remedy="Check the permissions of the notes folder.") from error
    found = []
    for line in data.split(b"\n"):  # as bytes: a line may be torn within a character
        with contextlib.suppress(ValueError):
            parsed = json.loads(line.decode("utf-8"))
            if isinstance(parsed, dict):
                found.append(parsed)
    return found


def _same(one: Recent | None, other: Recent) -> bool:
    return one is not None and (one.question, one.fields, one.filters) == (other.question, other.fields, other.filters)


def _recents(held: Mapping[str, Any], corpus: str) -> list[Recent]:
    try:
        return [Recent(each["question"], each["fields"], each["filters"], each["asked"]) for each in held.get(corpus, [])]
    except (TypeError, KeyError) as error:
        raise _damaged(_RECENT, f"an entry without {error}") from error


def _read(path: Path) -> dict[str, Any]:
    """What a file of notes holds; nothing when there is none."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _damaged(path.name, str(error)) from error
    except OSError as error:
        raise StoreError(expected=f"to read {path.name}", got=str(error), remedy="Check the permissions of the notes folder.") from error
    if not isinstance(held, dict):
        raise _damaged(path.name, shown(held))
    return held


def _damaged(name: str, got: str) -> StoreError:
    return StoreError(expected=f"{name} to hold notes", got=got, remedy=f"Repair {name} in the notes folder, or move it away.")


@contextlib.contextmanager
def _editing(path: Path) -> Iterator[dict[str, Any]]:
    """What a file holds, to be changed; written whole at the end, while no other process changes it."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS):
            held = _read(path)
            yield held
            part.write_text(json.dumps(held, ensure_ascii=False, indent=1), encoding="utf-8")
            part.replace(path)
    except Timeout as error:
        raise Busy(expected=f"to write {path.name}", got="another process is writing it", remedy="Try again in a moment.") from error
    except OSError as error:
        raise StoreError(
            expected=f"to write {path.name}", got=str(error), remedy="Check the free space and the permissions of the notes folder."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
