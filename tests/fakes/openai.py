"""A stand-in for a server that speaks OpenAI's chat protocol, on loopback: answers from the numbered sources it is sent."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.judge import Script
from tests.fakes.language_model import PAGE, REFUSAL, SLOW, FakeHandler, FakeService, best_blocks, words

MODEL = "fake"
_SOURCE = re.compile(r"^\[source (\d+) · (\w+)\] .*\n([\s\S]*?)\n\[end of source \1 · \2\]$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?]+[.!?]+\s*|[^.!?]+$")
_CODES = {400: "invalid_value", 401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_STOPS = {"refusal": "content_filter", "max-tokens": "length", "unknown-stop": "eos"}


class OpenAIHandler(FakeHandler):
    prefix = MODEL

    def answer(self, body: Mapping[str, Any], mode: str) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not key:
            return self.refuse(401, "Missing bearer authentication")
        if mode == "json-200":
            return self.send(200, {"error": {"message": f"The key {key} has no such model."}})
        if mode == "html-200":
            return self.send(200, PAGE, {"Content-Type": "text/html; charset=utf-8"})
        if mode == "dead":
            return self.never()
        if mode == "echo":
            return self.refuse(400, f"the key {key} cannot be used with this model")
        if mode == "long":
            return self.refuse(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded")
        if mode == "quota":
            return self.refuse(429, "You exceeded your current quota.", code="insufficient_quota")
        if body["model"] in (f"{MODEL}-plain", f"{MODEL}-strict") and "stream_options" in body:
            status = 400 if body["model"] == f"{MODEL}-plain" else 422
            return self.refuse(status, "Unrecognized request argument supplied: stream_options")
        if body["model"] == f"{MODEL}-no-json" and "response_format" in body:
            return self.refuse(400, "Unrecognized request argument supplied: response_format")
        if mode == "drop" and self.refuses_this_time():
            return self.hang_up()
        if mode.isdigit() or (mode == "once" and self.refuses_this_time()):
            return self.refuse(429 if mode == "once" else int(mode), f"refused, as {body['model']} was asked to")
        return self.stream(body, mode)

    def refuse(self, status: int, message: str, *, code: str = "") -> None:
        wait = {"Retry-After": self.service.retry_after} if status in (429, 503) and self.service.retry_after else {}
        error = {"message": message, "type": "requests", "param": None, "code": code or _CODES.get(status)}
        self.send(status, {"error": error}, wait)

    def stream(self, body: Mapping[str, Any], mode: str) -> None:
        self.begin_events(chunked=mode != "cut")
        delay = max(self.service.delay, SLOW) if mode == "slow" else self.service.delay
        for at, chunk in enumerate(chunks_of(body, mode, self.service.script)):
            self.pause(delay)
            self.send_event(f"data: {json.dumps(chunk)}\n\n")
            if at == 3 and mode in ("cut", "torn", "stall", "error", "garbage"):
                return self.break_off(mode)
        self.send_event("data: [DONE]\n\n")
        return self.end_events()

    def break_off(self, mode: str) -> None:
        """What goes wrong after the first words."""
        if mode == "error":
            error = {"error": {"message": "The server had an error.", "type": "server_error", "code": None}}
            self.send_event(f"data: {json.dumps(error)}\n\n")
            return self.end_events()
        if mode == "garbage":
            self.send_event("data: {not json\n\n")
        while mode == "stall" and not self.service.stopping:
            self.send_event(": keep-alive\n\n")
            self.pause(0.02)
        return self.hang_up()


class FakeOpenAI(FakeService):
    """The service; a model named `fake-…` asks for what goes wrong, any other is answered."""

    handler = OpenAIHandler


def compose(prompt: str, mode: str) -> str:
    """The answer's text, a mark behind each sentence it takes; `liar` marks what is not so."""
    sources = [[sentence[0] for sentence in _SENTENCE.finditer(found[3])] for found in _SOURCE.finditer(prompt)]
    question = _SOURCE.sub("", prompt).strip()
    taken = [(source, sources[source][at].strip()) for source, at in best_blocks(question, sources)]
    if mode == "liar" and taken:
        return " ".join([*(_marked(source, text, source + 1) for source, text in taken), *_lies(taken, len(sources))])
    return " ".join(_marked(source, text, source + 1) for source, text in taken) or REFUSAL


def _marked(source: int, text: str, number: int) -> str:
    escaped = text.replace('"', '\\"')
    return f'{text} [[{number}: "{escaped}"]]'


def _lies(taken: list[tuple[int, str]], sources: int) -> list[str]:
    """Sentences whose marks invent a quotation, stitch two together, cite the wrong source, or one that was never sent."""
    (first, text), (_, other) = taken[0], taken[-1]
    head, tail = text.split()[:2], other.split()[-2:]
    return [
        f'It is certain. [[{first + 1}: "as every child knows by now"]]',
        f'It fits. [[{first + 1}: "{" ".join(head + tail)}"]]',
        _marked(first, text, (first + 1) % max(sources, 1) + 1),
        f'So they say. [[{sources + 5}: "they say so"]]',
    ]


def chunks_of(body: Mapping[str, Any], mode: str, script: Script) -> Iterator[dict[str, Any]]:
    """The chunks that stream an answer: the role, some thinking, the text word by word, why it ended, what it took."""
    head = {"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": dict(delta), "finish_reason": reason}], "usage": None}

    prompt = body["messages"][-1]["content"]
    scripted = "response_format" in body or body["model"] == f"{MODEL}-no-json"
    written = script(prompt, mode) if scripted else compose(prompt, mode)
    text = "I cannot help with that." if mode == "refusal" else written
    if mode.startswith("think"):
        text = f"\n<think>Is it so?{'' if mode == 'think-on' else '</think>'}\n\n{text}"
    yield chunk({"role": "assistant", "content": ""})
    yield chunk({"reasoning_content": "Let me see."})
    for word in words(text):
        yield chunk({"refusal": word} if mode == "refusal" else {"content": word})
    yield chunk({}, _STOPS.get(mode, "stop"))
    if body.get("stream_options", {}).get("include_usage"):
        read = sum(len(message["content"].split()) for message in body["messages"])
        usage = {"prompt_tokens": read, "completion_tokens": len(text.split()), "prompt_tokens_details": {"cached_tokens": 3}}
        yield {**head, "choices": [], "usage": {**usage, "total_tokens": read + len(text.split())}}
