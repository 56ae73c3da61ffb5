"""What a pretend judge answers: a rule so simple that its verdicts can be worked out by hand, and the ways in which judges fail.

A statement is supported when it stands word for word in the text it is held against; statements are the sentences of a text;
a passage helps when it holds the first sentence of the reference; the question made from an answer is the answer itself.
The question drafted from a passage names the long words of its first sentence backwards, and is answered by that sentence.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Script = Callable[[str, str], str]
"""What a judge answers, from the prompt and the mode that its model's name asks for."""

MODES = ("few", "five", "prose", "nothing", "half", "draft")
_INPUT = re.compile(r"\ninput: (\{.*\})\nOutput: *$", re.DOTALL)
_PART = re.compile(r"^\[([^·\]]+) · (\w+)\]\n([\s\S]*?)\n\[end of \1 · \2\]$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?]+[.!?]+|[^.!?]+$")


def sentences(text: str) -> list[str]:
    return [" ".join(each[0].split()) for each in _SENTENCE.finditer(text) if each[0].strip()]


def holds(text: str, statement: str) -> int:
    return int(_plain(statement) in _plain(text))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def parts_of(prompt: str) -> dict[str, str]:
    """The fenced texts of one of our own prompts by their names."""
    return {name.strip(): text for name, _, text in _PART.findall(prompt)}


def verdict(prompt: str, mode: str = "") -> str:
    """The answer of a judge; `mode` spoils it."""
    if mode == "prose":
        return "I think that the answer is rather good."
    if mode == "nothing":
        return ""
    found = _INPUT.search(prompt)
    answer = _of_ragas(json.loads(found[1])) if found else _of_ours(parts_of(prompt))
    text = json.dumps(_spoilt(answer, mode))
    return text[: len(text) // 2] if mode == "half" else text


def _of_ragas(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Told apart by what RAGAS's prompts are given."""
    given = set(asked)
    if given == {"context", "statements"}:
        return {
            "statements": [
                {"statement": each, "reason": "as it stands", "verdict": holds(asked["context"], each)} for each in asked["statements"]
            ]
        }
    if given in ({"question", "answer"}, {"question", "text"}):
        return {"statements": sentences(asked.get("answer") or asked.get("text") or "")}
    if given == {"response", "atomicity", "coverage"}:
        return {"claims": sentences(asked["response"])}
    if given == {"response"}:
        return {"question": asked["response"], "noncommittal": 0}
    if given == {"question", "context", "answer"}:
        # Precision asks about one passage, recall about all: the form asked for is not in the input, so both are answered.
        stated = [
            {"statement": each, "reason": "as it stands", "attributed": holds(asked["context"], each)}
            for each in sentences(asked["answer"])
        ]
        return {"classifications": stated, "verdict": holds(asked["context"], sentences(asked["answer"])[0]), "reason": "as it stands"}
    raise AssertionError(f"no prompt of RAGAS's: {given}")


def _of_ours(parts: Mapping[str, str]) -> dict[str, Any]:
    if "passage" in parts:
        return drafted(parts["passage"])
    passages = [text for name, text in parts.items() if name.startswith("passage")]
    if "sentences" in parts:
        return {"sentences": [_claims(number, line, passages) for number, line in enumerate(parts["sentences"].splitlines(), start=1)]}
    wanted = sentences(parts.get("reference answer", parts["answer"]))
    faithful = [any(holds(text, each) for text in passages) for each in sentences(parts["answer"])]
    complete = [holds(parts["answer"], each) for each in wanted]
    return {
        "faithfulness": {"score": round(10 * sum(faithful) / len(faithful)), "reason": "counted"},
        "completeness": {"score": round(10 * sum(complete) / len(complete)), "reason": "counted"},
        "relevance": {"score": 10, "reason": "it is"},
    }


def drafted(passage: str) -> dict[str, str]:
    """A question about the first sentence that is no heading; nothing where there is none."""
    line = next((line for line in passage.splitlines() if line.strip() and not line.startswith("#")), "")
    if not line:
        return dict.fromkeys(("question", "quote", "answer", "kind"), "")
    quote = _SENTENCE.findall(line)[0].strip()
    named = [word for word in reversed(re.findall(r"\w+", quote)) if len(word) > 4]
    return {"question": f"What is told of {' or '.join(named[:5])}?", "quote": quote, "answer": quote, "kind": "detail"}


def _claims(number: int, line: str, passages: list[str]) -> dict[str, Any]:
    claim = line.partition(". ")[2]
    at = [place for place, text in enumerate(passages, start=1) if holds(text, claim)]
    return {"sentence": number, "claims": [{"claim": claim, "supported": int(bool(at)), "passages": at, "reason": "as it stands"}]}


def _spoilt(answer: dict[str, Any], mode: str) -> dict[str, Any]:
    listed = next((name for name in ("statements", "sentences", "classifications") if isinstance(answer.get(name), list)), "")
    judged = listed and not all(isinstance(each, str) for each in answer[listed])
    if mode == "few" and judged:
        return answer | {listed: answer[listed][:-1]}
    if mode == "five":
        for each in answer[listed] if judged else ():
            for claim in each.get("claims", [each]):
                claim |= {name: 5 for name in ("verdict", "attributed", "supported") if name in claim}
        return answer | ({"verdict": 5} if "verdict" in answer else {}) | ({"noncommittal": 5} if "noncommittal" in answer else {})
    return answer
