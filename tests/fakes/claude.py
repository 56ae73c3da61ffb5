"""A stand-in for Anthropic's Messages API, version 2026-10-21, on loopback: answers from the search results it is sent."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.judge import Script
from tests.fakes.language_model import PAGE, REFUSAL, SLOW, FakeHandler, FakeService, best_blocks, words

Block = dict[str, Any]
MODEL = "claude-fake"
_KINDS = {
    **{400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error"},
    **{404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"},
}


class ClaudeHandler(FakeHandler):
    prefix = MODEL

    def answer(self, body: Mapping[str, Any], mode: str) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not key or "anthropic-version" not in self.headers:
            return self.refuse(401, "Authorization: Bearer and anthropic-version are required")
        complaint = complain(body)
        if complaint:
            return self.refuse(400, complaint)
        if mode == "json-200":
            return self.send(200, {"error": {"message": f"The key {key} has no such model."}})
        if mode == "html-200":
            return self.send(200, PAGE, {"Content-Type": "text/html; charset=utf-8"})
        if mode == "dead":
            return self.never()
        if mode == "garbage" and not body.get("stream"):
            return self.send(200, "{not json")
        if mode == "echo":
            return self.refuse(400, f"the key {key} cannot be used with this model")
        if mode == "long":
            return self.refuse(400, "prompt is too long: 210000 tokens > 200000 maximum")
        if mode == "drop" and self.refuses_this_time():
            return self.hang_up()
        if mode.isdigit() or (mode == "once" and self.refuses_this_time()):
            return self.refuse(429 if mode == "once" else int(mode), f"refused, as {body['model']} was asked to")
        message = scripted(body, mode, self.service.script) if "output_config" in body else compose(body, mode)
        return self.stream(message, mode) if body.get("stream") else self.send(200, message)

    def refuse(self, status: int, message: str) -> None:
        wait = {"Retry-After": self.service.retry_after} if status in (429, 529) and self.service.retry_after else {}
        error = {"type": _KINDS.get(status, "api_error"), "message": message}
        self.send(status, {"type": "error", "error": error, "request_id": "req_fake"}, wait)

    def stream(self, message: Block, mode: str) -> None:
        self.begin_events(chunked=mode != "cut")
        delay = max(self.service.delay, SLOW) if mode == "slow" else self.service.delay
        for event in events_of(message):
            self.pause(delay if event["type"] == "content_block_delta" else 0)
            self.send_event(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")
            if event.get("delta", {}).get("type") == "text_delta" and mode in ("cut", "torn", "stall", "error", "garbage"):
                return self.break_off(mode)
        return self.end_events()

    def break_off(self, mode: str) -> None:
        """What goes wrong after the first word."""
        if mode == "error":
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            self.send_event(f"event: error\ndata: {json.dumps(error)}\n\n")
            return self.end_events()
        if mode == "garbage":
            self.send_event("event: content_block_delta\ndata: {not json\n\n")
        while mode == "stall" and not self.service.stopping:
            self.send_event('event: ping\ndata: {"type": "ping"}\n\n')
            self.pause(0.02)
        return self.hang_up()


class FakeClaude(FakeService):
    """The service; a model named `claude-fake-…` asks for what goes wrong, any other is answered."""

    handler = ClaudeHandler


def complain(body: Mapping[str, Any]) -> str:
    """What the API would answer 400 for, or ""."""
    sampling = [name for name in ("temperature", "top_p", "top_k") if name in body]
    if sampling:
        return f"{', '.join(sampling)}: not supported in this API version"
    if not body.get("max_tokens"):
        return "max_tokens: field required"
    roles = [message["role"] for message in body["messages"]]
    if roles != [("user", "assistant")[at % 2] for at in range(len(roles))] or len(roles) % 2 == 0:
        return "messages: roles must alternate and end with user"
    for block in texts_of(body):
        if not block.strip():
            return "messages: text content blocks must contain non-whitespace text"
    cited = {result.get("citations", {}).get("enabled", False) for result in results_of(body)}
    if "output_config" in body and (True in cited or not closed(body["output_config"]["format"]["schema"])):
        return "output_config.format: a schema of closed objects, and no citations"
    if len(cited) > 1:
        return "citations must be enabled for all search results or for none"
    return ""


def blocks_of(body: Mapping[str, Any]) -> Iterator[Block]:
    for message in body["messages"]:
        content = message["content"]
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def results_of(body: Mapping[str, Any]) -> list[Block]:
    return [block for block in blocks_of(body) if block["type"] == "search_result"]


def texts_of(body: Mapping[str, Any]) -> Iterator[str]:
    for block in blocks_of(body):
        yield from [block["text"]] if block["type"] == "text" else [each["text"] for each in block["content"]]


def compose(body: Mapping[str, Any], mode: str) -> Block:
    """The whole message: a text block and its citation for each block of a source that shares words with the question."""
    results = results_of(body)
    passages = [[each["text"] for each in result["content"]] for result in results]
    question = [block["text"] for block in blocks_of(body) if block["type"] == "text"][-1]
    content: list[Block] = [
        {"type": "text", "text": passages[source][at].strip() + " ", "citations": [locate(results, source, at, mode)]}
        for source, at in best_blocks(question, passages)
    ]
    if mode == "refusal":
        content = []
    elif not content:
        content = [{"type": "text", "text": REFUSAL, "citations": None}]
    if mode == "liar" and results:
        content += [{"type": "text", "text": "And more. ", "citations": lies(results)}]
    stop = {"refusal": "refusal", "max-tokens": "max_tokens", "unknown-stop": "pause_turn"}.get(mode, "end_turn")
    details = {"type": "refusal", "category": "bio", "explanation": None} if mode == "refusal" else None
    said = sum(len(str(block["text"]).split()) for block in content)
    read = sum(len(text.split()) for text in texts_of(body))
    return {
        **{"id": "msg_fake", "type": "message", "role": "assistant", "model": body["model"], "content": content},
        **{"stop_reason": stop, "stop_sequence": None, "stop_details": details},
        "usage": {"input_tokens": read, "output_tokens": said, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0},
    }


def closed(schema: object) -> bool:
    """Whether every object of a schema is closed and wants all of its properties, as the API demands."""
    if isinstance(schema, list):
        return all(map(closed, schema))
    if not isinstance(schema, dict):
        return True
    whole = schema.get("type") != "object" or (
        schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(schema.get("properties", {}))
    )
    return whole and all(map(closed, schema.values()))


def scripted(body: Mapping[str, Any], mode: str, script: Script) -> Block:
    """A message in JSON, as its schema asks for."""
    prompt = "\n".join(texts_of(body))
    text = script(prompt, mode)
    message = compose({**body, "messages": [{"role": "user", "content": "nothing"}]}, mode)
    content = [{"type": "text", "text": text, "citations": None}] if text else []
    usage = {**message["usage"], "input_tokens": len(prompt.split()), "output_tokens": len(text.split())}
    return {**message, "content": [] if mode == "refusal" else content, "usage": usage}


def locate(results: list[Block], source: int, at: int, mode: str) -> Block:
    """A citation of one block, or of one that begins elsewhere than it says."""
    result = results[source]
    return {
        **{"type": "search_result_location", "search_result_index": source, "source": result["source"], "title": result["title"]},
        "cited_text": result["content"][at]["text"] + (" and more" if mode == "liar" else ""),
        **{"start_block_index": at, "end_block_index": at + 1},
    }


def lies(results: list[Block]) -> list[Block]:
    """Citations of what is not there: an index beyond the last, a source nobody sent, a type nobody knows."""
    true = locate(results, 0, 0, "")
    return [
        {**true, "search_result_index": len(results) + 4, "source": "nowhere"},
        {**true, "source": "https://example.org/other"},
        {"type": "hearsay_location", "cited_text": "they say so", "speaker": "somebody"},
    ]


def events_of(message: Block) -> Iterator[Block]:
    """The events that stream a message: some thinking, a ping, each text block word by word.

    A block's citations come before its words, as the real service has been seen to send them; every other block's come after.
    """
    usage = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_details": None, "usage": usage}}
    yield {"type": "ping"}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me see."}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2lnbmVk"}}
    yield {"type": "content_block_stop", "index": 0}
    for index, block in enumerate(message["content"], start=1):
        place = {"index": index}
        yield {"type": "content_block_start", **place, "content_block": {"type": "text", "text": "", "citations": None}}
        said = [{"type": "text_delta", "text": word} for word in words(block["text"])]
        cited = [{"type": "citations_delta", "citation": citation} for citation in block["citations"] or ()]
        for delta in [*cited, *said] if index % 2 else [*said, *cited]:
            yield {"type": "content_block_delta", **place, "delta": delta}
        yield {"type": "content_block_stop", **place}
    stop = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}
