"""An answer as a page and a terminal show it: pieces in order, what each sentence rests on, and where each quote stands."""

from dataclasses import replace
from typing import Any

import pytest

from sitt_core import notes
from sitt_core.errors import NotFound, StoreError
from sitt_core.surfaces.answer_view import AROUND, answer_view, doubts, footnotes, marked_text
from sitt_core.text import sha256_text
from sitt_core.types import Answer, Citation, Document, Mark, Sentence, Source, Span, Trace, Usage

SOURCE = Source("Guide: Loch", "https://example.org/loch", "CC BY-SA 4.0")
TEXT = "Before it. " * 40 + "A neck rose from the lake in 1933." + " After it." * 40
START = TEXT.index("A neck")
SPAN = Span(START, START + len("A neck rose from the lake in 1933."))
LOCH = Document("loch.md", "Loch", SOURCE, TEXT, (), (), sha256_text(TEXT), fetched_at="2026-11-30T12:30:59+00:00")


def document(id_: str) -> Document:
    if id_ == "unreadable.md":
        raise StoreError(expected="a corpus", got="a damaged file", remedy="")
    if id_ != "loch.md":
        raise NotFound(expected="a document", got=id_, remedy="")
    return LOCH


def cited(marker: int = 1, **changes: Any) -> Citation:
    made = Citation(
        marker, "loch.md", "Loch", SPAN, TEXT[SPAN.start : SPAN.end], "quoted", SOURCE, "https://example.org/?oldid=7", LOCH.sha256, 1, 1
    )
    return replace(made, **changes)


def record(text: str = "A neck rose. It was 1934. Nobody saw it.", **changes: Any) -> dict[str, Any]:
    sentences = (
        Sentence(Span(0, 12), (1,), (), "supported"),
        Sentence(Span(13, 25), (1,), ("1934",), "weak"),
        Sentence(Span(26, 40), (), (), "uncited"),
    )
    answer = Answer(
        "Q?", text, sentences, (cited(),), (Mark(12, 1), Mark(25, 1)), (), Trace((), 1.0), False, "end", "", "told", "m", Usage(), "v1"
    )
    return notes.record_of(replace(answer, **changes))


def test_pieces_give_the_text_with_chips_after_what_they_stand_for() -> None:
    """Joined, the pieces are the text; each chip follows its sentence; every sentence has its state and, in words, why."""
    pieces = answer_view(record(), document)["pieces"]
    assert "".join(piece.get("text", "") for piece in pieces) == "A neck rose. It was 1934. Nobody saw it."
    assert [piece.get("chip") or piece["text"] for piece in pieces] == ["A neck rose.", 1, " ", "It was 1934.", 1, " ", "Nobody saw it."]
    states = {piece["text"]: (piece["state"], piece["why"]) for piece in pieces if piece.get("state")}
    assert states == {
        "A neck rose.": ("supported", ""),
        "It was 1934.": ("weak", "Not in what it cites: 1934."),
        "Nobody saw it.": ("uncited", "No citation: nothing shows where this is from."),
    }


def test_the_last_sentence_of_a_running_answer_may_still_be_cited() -> None:
    """While an answer is written, what has no citation yet is not held against its last sentence."""
    pieces = answer_view(record(), document, running=True)["pieces"]
    assert pieces[-1] == {"text": "Nobody saw it.", "state": "", "why": ""}


def test_a_refusal_is_not_uncited() -> None:
    """What says that the corpus does not say needs no citation."""
    pieces = answer_view(record(refused=True, marks=(), citations=()), document)["pieces"]
    assert {piece["state"] for piece in pieces} == {""}


def test_a_quote_is_shown_in_its_place() -> None:
    """What stands around it comes from the document, from whole words, with an ellipsis where more follows."""
    (citation,) = answer_view(record(), document)["citations"]
    assert (citation["quote"], citation["start"], citation["end"]) == (TEXT[SPAN.start : SPAN.end], SPAN.start, SPAN.end)
    assert citation["before"].startswith("… ")
    assert citation["before"].removeprefix("… ") in TEXT[: SPAN.start]
    assert TEXT[: SPAN.start].endswith(citation["before"].removeprefix("… "))
    assert TEXT[SPAN.end :].startswith(citation["after"].removesuffix(" …"))
    assert citation["after"].endswith(" …")
    assert max(len(citation["before"]), len(citation["after"])) <= AROUND + 2
    assert (citation["url"], citation["license"], citation["changed"]) == (SOURCE.url, SOURCE.license, "")
    assert (citation["revision"], citation["fetched"]) == (cited().revision, "2026-11-30 12:30")


@pytest.mark.parametrize(
    ("citation", "told"),
    [
        pytest.param(cited(sha256="0" * 64), "has changed since this answer", id="another revision"),
        pytest.param(cited(document_id="gone.md"), "no longer in the corpus", id="gone"),
        pytest.param(cited(document_id="unreadable.md"), "cannot be read now", id="unreadable"),
    ],
)
def test_a_quote_of_what_has_changed_stays_without_surroundings(citation: Citation, told: str) -> None:
    """The words that were quoted are in the record; what stands around them now is another text's."""
    (shown,) = answer_view(record(citations=(citation,)), document)["citations"]
    assert told in shown["changed"]
    assert (shown["before"], shown["after"], shown["quote"]) == ("", "", citation.quote)


@pytest.mark.parametrize("verdict", ["misattributed", "stitched", "absent"])
def test_what_is_wrong_with_a_citation_is_said(verdict: str) -> None:
    """In words beside the chip, and in capitals below the answer on a terminal."""
    span = SPAN if verdict == "misattributed" else None
    wrong = record(citations=(cited(verdict=verdict, span=span),))
    assert answer_view(wrong, document)["citations"][0]["words"]
    (line,) = footnotes(wrong)
    assert verdict.upper() in line


def test_a_terminal_gets_numbers_footnotes_and_doubts() -> None:
    """Numbers in the text, a line per citation with place and licence, a line per sentence that is not carried."""
    assert marked_text(record()) == "A neck rose. [1] It was 1934. [1] Nobody saw it."
    assert list(footnotes(record())) == [f"[1] “A neck rose from the lake in 1933.” Loch, loch.md:{SPAN.start}-{SPAN.end} (CC BY-SA 4.0)"]
    assert list(doubts(record())) == [
        "weak: “It was 1934.” Not in what it cites: 1934.",
        "uncited: “Nobody saw it.” No citation: nothing shows where this is from.",
    ]
    assert list(doubts(record(refused=True))) == []


@pytest.mark.parametrize(
    ("stop", "told"), [("max_tokens", "LLM_MAX_TOKENS"), ("stopped", "Stopped by you"), ("error", "broke off"), ("end", "")]
)
def test_how_it_ended_is_said(stop: str, told: str) -> None:
    """An answer that did not end by itself says so, once it has ended."""
    ended = record(stop=stop, problem="expected x; got y. z" if stop == "error" else "")
    assert told in answer_view(ended, document)["ending"]
    assert answer_view(ended, document, running=True)["ending"] == ""
