"""An answer as a page draws it: its text in pieces with the state of each sentence, and its citations with what stands around them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sitt_core.errors import NotFound, SittError
from sitt_core.types import Document

SHOWN = 80
AROUND = 240
"""Characters of the document shown before and after a quote."""

VERDICTS = {
    "quoted": "Stands in the source word for word.",
    "misattributed": "Stands in the corpus, but not where the answer said.",
    "stitched": "Put together from pieces that do not stand together in the source.",
    "absent": "These words are nowhere in the passages.",
}
NOTHING_CAME = "No answer came."
STOPS = {
    "max_tokens": "The answer was cut at its limit of tokens. LLM_MAX_TOKENS raises it.",
    "refusal": "The model declined to answer.",
    "stopped": "Stopped by you: this is what had arrived.",
    "error": "The answer broke off.",
}

Record = Mapping[str, Any]
"""An answer as `notes.record_of` keeps it."""


def answer_view(record: Record, document: Callable[[str], Document], *, running: bool = False) -> dict[str, Any]:
    """What the answer's component is given, as plain JSON; while it is `running`, its last sentence may still get a citation."""
    return {
        "running": running,
        "refused": record["refused"],
        "pieces": list(_pieces(record, running=running)),
        "citations": [_citation(citation, document) for citation in record["citations"]],
        "ending": "" if running else ending(record),
        "problem": record["problem"],
    }


def ending(record: Record) -> str:
    """How an answer ended, in words, where it did not end by itself."""
    nothing = record["stop"] == "error" and not record["text"].strip()
    return NOTHING_CAME if nothing else STOPS.get(record["stop"], "")


def _pieces(record: Record, *, running: bool) -> Iterator[dict[str, Any]]:
    """The text cut at sentences and citation marks: `{"text", "state", "why"}` or `{"chip": number}`, in order."""
    text, sentences = record["text"], [] if record["refused"] else record["sentences"]
    last = sentences[-1] if running and sentences else None
    states = [(each["span"]["start"], each["span"]["end"], *_state(each, open_=each is last)) for each in sentences]
    marks = sorted((mark["at"], number, mark["marker"]) for number, mark in enumerate(record["marks"]))
    edges = sorted({0, len(text), *(edge for start, end, *_ in states for edge in (start, end)), *(at for at, *_ in marks)})
    chips = {at: [marker for place, _, marker in marks if place == at] for at, *_ in marks}
    for start, end in zip(edges, [*edges[1:], None], strict=True):
        yield from ({"chip": marker} for marker in chips.get(start, ()))
        if end is not None:
            state, why = next(((state, why) for first, last_, state, why in states if first <= start < last_), ("", ""))
            yield {"text": text[start:end], "state": state, "why": why}


def _state(sentence: Record, *, open_: bool) -> tuple[str, str]:
    """How a sentence is marked, and why, in words."""
    if sentence["support"] == "uncited":
        return ("", "") if open_ else ("uncited", "No citation: nothing shows where this is from.")
    if sentence["support"] == "weak":
        missing = ", ".join(sentence["missing"])
        return "weak", f"Not in what it cites: {missing}." if missing else "What it cites could not be found where it says."
    return "supported", ""


def _citation(citation: Record, document: Callable[[str], Document]) -> dict[str, Any]:
    """A citation with its quote in its surroundings; those of a document that has changed since are not shown."""
    span, source = citation["span"], citation["source"]
    shown = {
        "marker": citation["marker"],
        "verdict": citation["verdict"],
        "words": VERDICTS[citation["verdict"]],
        "title": citation["title"],
        "document": citation["document_id"],
        "quote": citation["quote"],
        "before": "",
        "after": "",
        "start": span["start"] if span else None,
        "end": span["end"] if span else None,
        "source": source["title"],
        "url": source["url"],
        "license": source["license"],
        "revision": citation.get("revision", ""),
        "fetched": "",
        "changed": "",
    }
    if not span:
        return shown
    try:
        held = document(citation["document_id"])
    except NotFound:
        return {**shown, "changed": "The document is no longer in the corpus; this is what it said then."}
    except SittError:
        return {**shown, "changed": "The corpus cannot be read now; this is what it said then."}
    if held.sha256 != citation["sha256"]:
        return {**shown, "changed": "The document has changed since this answer; this is what it said then."}
    before, after = held.text[max(0, span["start"] - AROUND) : span["start"]], held.text[span["end"] : span["end"] + AROUND]
    return {
        **shown,
        "fetched": held.fetched_at[:16].replace("T", " "),
        "before": f"… {before.partition(' ')[2]}" if span["start"] > AROUND else before.lstrip(),  # from a whole word on
        "after": f"{after.rpartition(' ')[0]} …" if span["end"] + AROUND < len(held.text) else after.rstrip(),
    }


def footnotes(record: Record) -> Iterator[str]:
    """A line per citation for a terminal: its number, the quote, where it stands, and what checking found where that is not well."""
    for citation in record["citations"]:
        span = citation["span"]
        place = f"{citation['document_id']}:{span['start']}-{span['end']}" if span else citation["document_id"] or "no source"
        warning = "" if citation["verdict"] == "quoted" else f" — {citation['verdict'].upper()}: {VERDICTS[citation['verdict']]}"
        yield f"[{citation['marker']}] “{' '.join(citation['quote'].split())}” {citation['title']}, {place} ({citation['source']['license']}){warning}"


def marked_text(record: Record) -> str:
    """The text with its citation numbers in it, for a terminal."""
    return "".join(f" [{piece['chip']}]" if "chip" in piece else piece["text"] for piece in _pieces(record, running=False))


WEAK = "weak match"
"""How the note of an extractive answer begins that may be beside the question (`providers.extractive.WEAK`)."""


def is_weak(record: Record) -> bool:
    """Whether an answer of the passages' own sentences is one that its score does not vouch for."""
    return bool(record["provider"] == "extractive" and record["provider_note"].startswith(WEAK))


def doubts(record: Record) -> Iterator[str]:
    """A line for an answer that may be beside the question, and one per sentence that cites nothing or is not carried by what it cites."""
    if is_weak(record):
        yield str(record["provider_note"]).partition(";")[0]
    for sentence in [] if record["refused"] else record["sentences"]:
        state, why = _state(sentence, open_=False)
        if state in ("uncited", "weak"):
            said = " ".join(record["text"][sentence["span"]["start"] : sentence["span"]["end"]].split())
            yield f"{state}: “{said if len(said) <= SHOWN else said[: SHOWN - 1] + '…'}” {why}"
