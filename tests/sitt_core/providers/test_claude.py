import asyncio
import json
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.costs import Price
from sitt_core.errors import KeyMissing, ProviderError
from sitt_core.providers import asking
from sitt_core.providers.claude import Claude, citation_part, without_blanks
from sitt_core.types import CitationPart, Excerpt, TextPart
from tests.fakes.claude import FakeClaude
from tests.fakes.language_model import REFUSAL
from tests.sitt_core.providers.asking import (
    KEY,
    LONG,
    PROMPT,
    WITH_HISTORY,
    cancel_while_waiting,
    citations_of,
    closed_port,
    deaf_port,
    done_of,
    heard_before,
    leave_after_first_word,
    parts_of,
    soon,
    text_of,
)


@pytest.fixture
def service() -> Iterator[FakeClaude]:
    with FakeClaude() as fake:
        yield fake


def claude(service: FakeClaude, mode: str = "", **changes: Any) -> Claude:
    made = Claude(model=f"claude-fake-{mode}".rstrip("-"), api_key=KEY, base_url=service.url, connect_timeout=5.0, idle_timeout=5.0)
    return replace(made, retries=0, **changes) if "retries" not in changes else replace(made, **changes)


class TestAnswers:
    def test_text_and_citations_come_in_their_order(self, service: FakeClaude) -> None:
        """Each text is followed by the citation of the very block it rests on, blank blocks joined; the end comes last."""
        parts = parts_of(claude(service, price=Price(1.0, 10.0, 0.5)))
        first, second = PROMPT.excerpts[0].blocks[0] + " \n", PROMPT.excerpts[1].blocks[1]
        assert {(part.excerpt, part.quote) for part in citations_of(parts)} == {("p-7f3a", first), ("p-91cc", second)}
        for cited, quote in (("p-7f3a", first), ("p-91cc", second)):
            at = parts.index(CitationPart(cited, quote))
            before = parts[: at + 1]
            assert text_of(before).endswith(f"{quote.strip()} ")
        done = done_of(parts)
        assert (done.stop, done.model, done.note) == ("end", "claude-fake", "")
        read, said = done.usage.input_tokens - 7, done.usage.output_tokens
        assert done.usage.cached_tokens == 7
        assert done.usage.dollars == pytest.approx((read * 1.0 + 7 * 0.5 + said * 10.0) / 1e6)

    @pytest.mark.parametrize("mode", ["", "liar"])
    def test_a_stream_has_the_citations_of_the_whole_message(self, service: FakeClaude, mode: str) -> None:
        """Citations that arrive as deltas are those of the same message asked for at once."""
        body = {**json.loads(claude(service, mode).as_sent(PROMPT)), "stream": False}
        headers = {"Authorization": f"Bearer {KEY}", "anthropic-version": "2026-10-21"}
        request = urllib.request.Request(f"{service.url}/v1/messages", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as response:
            whole = json.load(response)
        claimed = [citation for block in whole["content"] for citation in block["citations"] or ()]
        assert citations_of(parts_of(claude(service, mode))) == [citation_part(SimpleNamespace(**each)) for each in claimed]

    def test_a_claim_about_what_is_not_there_is_passed_on(self, service: FakeClaude) -> None:
        """An index out of range, another source, words that were altered and a type nobody knows are claims for the checker."""
        cited = citations_of(parts_of(claude(service, "liar")))
        assert CitationPart("p-91cc", f"{PROMPT.excerpts[1].blocks[1]} and more") in cited
        true = PROMPT.excerpts[0].blocks[0] + " \n"
        assert cited[-3:] == [
            CitationPart("nowhere", true),
            CitationPart("https://example.org/other", true),
            CitationPart("", "they say so"),
        ]

    def test_what_the_passages_do_not_say_is_not_cited(self, service: FakeClaude) -> None:
        """A refusal in words is an answer without citations."""
        parts = parts_of(claude(service), replace(PROMPT, question="Xylophones?"))
        assert (text_of(parts), citations_of(parts)) == (REFUSAL, [])

    @pytest.mark.parametrize(
        ("mode", "stop", "note"),
        [
            pytest.param("max-tokens", "max_tokens", "", id="cut at its limit"),
            pytest.param("refusal", "refusal", "declined as bio", id="declined"),
            pytest.param("unknown-stop", "end", "stop reason pause_turn", id="for a reason nobody knows"),
        ],
    )
    def test_why_it_ended(self, service: FakeClaude, mode: str, stop: str, note: str) -> None:
        """An answer cut at its limit or declined says so; a reason that is not known is named."""
        done = done_of(parts_of(claude(service, mode)))
        assert (done.stop, done.note) == (stop, note)

    def test_one_provider_serves_several_event_loops(self, service: FakeClaude) -> None:
        """Each stream has a client of its own."""
        provider = claude(service)
        assert parts_of(provider) == parts_of(provider)

    def test_an_unknown_price_is_none(self, service: FakeClaude) -> None:
        """Dollars that are not known are not zero."""
        assert done_of(parts_of(claude(service))).usage.dollars is None


class TestRequest:
    def test_what_is_sent(self, service: FakeClaude) -> None:
        """Search results with citations on, the question verbatim behind them, nothing that steers sampling; as_sent shows it whole."""
        provider = claude(service, max_tokens=77)
        parts_of(provider)
        (request,) = service.requests
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert request.body == json.loads(provider.as_sent(PROMPT))
        assert request.body.keys() == {"model", "max_tokens", "system", "messages", "stream"}
        assert (request.body["system"], request.body["max_tokens"]) == (PROMPT.system, 77)
        (message,) = request.body["messages"]
        *results, question = message["content"]
        assert question == {"type": "text", "text": PROMPT.question}
        assert [(each["source"], each["title"], each["citations"]) for each in results] == [
            (excerpt.id, excerpt.title, {"enabled": True}) for excerpt in PROMPT.excerpts
        ]
        assert ["".join(block["text"] for block in each["content"]) for each in results] == [each.text for each in PROMPT.excerpts]

    def test_earlier_turns_alternate(self, service: FakeClaude) -> None:
        """A turn without an answer is left out, since the API refuses empty text."""
        parts_of(claude(service), WITH_HISTORY)
        messages = service.bodies[0]["messages"]
        assert [(each["role"], each["content"]) for each in messages[:-1]] == [
            ("user", "Who lives there?"),
            ("assistant", "A serpent."),
            ("user", "Where?"),
            ("assistant", "In the lake."),
        ]

    def test_an_excerpt_without_text_is_not_sent(self, service: FakeClaude) -> None:
        """Neither empty blocks nor empty results reach the API; an excerpt without a title goes under its id."""
        excerpts = (Excerpt("p-blank", "Blank", (" ", "\n")), Excerpt("p-1", " ", ("\n", "The serpent sleeps.")))
        parts = parts_of(claude(service), replace(PROMPT, system=" ", excerpts=excerpts))
        assert citations_of(parts) == [CitationPart("p-1", "\nThe serpent sleeps.")]
        (result, _) = service.bodies[0]["messages"][0]["content"]
        assert (result["source"], result["title"]) == ("p-1", "p-1")
        assert "system" not in service.bodies[0]

    @given(st.lists(st.text(alphabet=" \nab.", max_size=4)))
    def test_blank_blocks_join_their_neighbours(self, blocks: list[str]) -> None:
        """No block is blank, and joined they are the same text, unless all of it is blank."""
        merged = without_blanks(blocks)
        assert all(block.strip() for block in merged)
        assert "".join(merged) == ("".join(blocks) if "".join(blocks).strip() else "")


class TestKey:
    def test_without_a_key_nothing_is_asked(self, service: FakeClaude) -> None:
        """The error names the variable and what to do."""
        for key in ("", "  "):
            _, error = heard_before(claude(service, api_key=key), KeyMissing)
            assert "ANTHROPIC_API_KEY is not set" in str(error)
        assert service.requests == []

    def test_a_key_that_no_header_can_carry_is_named(self, service: FakeClaude) -> None:
        """A line break inside it would otherwise end up in the package's own message."""
        _, error = heard_before(claude(service, api_key="sk-one\nsk-two"), ProviderError)
        assert "ANTHROPIC_API_KEY" in str(error)
        assert "sk-" not in str(error)
        assert service.requests == []

    @pytest.mark.parametrize("mode", ["echo", "401", "429", "error", "garbage", "cut", "json-200", "html-200"])
    def test_the_key_is_in_no_error(self, service: FakeClaude, mode: str) -> None:
        """Not even when the service repeats it, nor in what the error was raised from."""
        provider = claude(service, mode)
        _, error = heard_before(provider, ProviderError)
        assert isinstance(error, ProviderError)
        assert KEY not in "".join([str(error), repr(error), json.dumps(error.to_json()), repr(provider), provider.as_sent(PROMPT)])
        assert error.__cause__ is None
        assert error.__context__ is None


class TestFaults:
    @pytest.mark.parametrize(
        ("mode", "said"),
        [
            ("long", ["a prompt that claude-fake-long can hold", "prompt is too long: 210000 tokens", "top_k"]),
            ("400", ["Claude to accept the request", "refused, as claude-fake-400 was asked to"]),
            ("401", ["accept the key", "got status 401.", "ANTHROPIC_API_KEY"]),
            ("402", ["credit with Claude", "Add credit"]),
            ("403", ["ANTHROPIC_API_KEY to be allowed to use claude-fake-403"]),
            ("404", ["to know the model 'claude-fake-404'"]),
            ("413", ["a prompt that claude-fake-413 can hold"]),
            ("429", ["room for the request", "asks to wait 90 s", "in 90 s", "rate limit"]),
            ("500", ["Claude to answer", "status 500"]),
            ("529", ["room for the request", "overloaded"]),
            ("garbage", ["something that is no JSON", "ANTHROPIC_BASE_URL"]),
            ("error", ["overloaded_error within the answer: 'Overloaded'", "overloaded for everybody"]),
            ("json-200", ["Claude to answer with a stream", "status 200: 'The key [key] has no such model.'", "ANTHROPIC_BASE_URL"]),
            ("html-200", ["Claude to answer with a stream", "'text/html' instead of a stream", "ANTHROPIC_BASE_URL"]),
            ("cut", ["the stream ended before the answer did"]),
            ("torn", ["the stream ended before the answer did"]),
        ],
    )
    def test_every_fault_has_a_name(self, service: FakeClaude, mode: str, said: list[str]) -> None:
        """Each says what was expected, what came and what to do; what was written before it stays."""
        service.retry_after = "90"
        heard, error = heard_before(claude(service, mode), ProviderError)
        assert [words for words in said if words not in str(error)] == []
        assert [type(part) for part in heard] == ([TextPart] if mode in ("garbage", "error", "cut", "torn") else [])
        assert len(service.requests) == 1

    def test_a_service_that_never_answers_is_given_up(self, service: FakeClaude) -> None:
        """The error says how long it was silent."""
        heard, error = heard_before(claude(service, "dead", idle_timeout=1.0), ProviderError)
        assert heard == []
        assert "silence for 1 s while waiting for the first word" in str(error)
        assert soon(lambda: service.closed_early == ["claude-fake-dead"])

    def test_pings_are_no_sign_of_life(self, service: FakeClaude) -> None:
        """A stream that goes on with pings alone has stalled."""
        heard, error = heard_before(claude(service, "stall", idle_timeout=0.6), ProviderError)
        assert text_of(heard).strip() in PROMPT.excerpts[0].text + PROMPT.excerpts[1].text
        assert "silence for 0.6 s while waiting for the rest of the answer" in str(error)
        assert soon(lambda: service.closed_early == ["claude-fake-stall"])

    def test_each_word_starts_the_clock_again(self, service: FakeClaude) -> None:
        """An answer that takes longer than the time-out arrives whole while its words keep coming, however slow its reader."""
        service.delay = 0.05
        provider = claude(service, idle_timeout=0.6)

        async def listen() -> float:
            began = asyncio.get_running_loop().time()
            async for part in provider.stream(PROMPT):
                if isinstance(part, CitationPart):
                    await asyncio.sleep(0.7)
            return asyncio.get_running_loop().time() - began

        assert asyncio.run(listen()) > 2.0

    def test_a_refused_connection_is_named(self) -> None:
        """With the address, which is all that is known."""
        with closed_port() as port:
            provider = Claude("m", KEY, base_url=f"http://user:pass@127.0.0.1:{port}", retries=0)
            _, error = heard_before(provider, ProviderError)
        assert f"Claude to answer at 127.0.0.1:{port}" in str(error)
        assert "ANTHROPIC_BASE_URL" in str(error)
        assert "pass" not in str(error)

    def test_a_name_that_does_not_resolve_is_named(self) -> None:
        """A host that does not exist is a fault of the network or the address."""
        _, error = heard_before(Claude("m", KEY, base_url="http://no-such-host.invalid", retries=0), ProviderError)
        assert "Claude to answer at no-such-host.invalid" in str(error)

    def test_a_connection_that_is_not_taken_is_given_up(self) -> None:
        """The error says within which time."""
        with deaf_port() as port:
            provider = Claude("m", KEY, base_url=f"http://127.0.0.1:{port}", connect_timeout=0.2, retries=0)
            _, error = heard_before(provider, ProviderError)
        assert "to take the connection within 0.2 s" in str(error)

    @pytest.mark.parametrize("url", ["no-scheme", "ftp://host", "http://", "http://host:port"])
    def test_an_address_that_is_none_is_named(self, url: str) -> None:
        """Before anything is sent."""
        _, error = heard_before(Claude("m", KEY, base_url=url), ProviderError)
        assert "ANTHROPIC_BASE_URL to be an address" in str(error)


class TestRetries:
    def test_a_rate_limit_is_waited_out(self, service: FakeClaude) -> None:
        """A second try after the wait that was asked for gives the answer."""
        assert done_of(parts_of(claude(service, "once", retries=1))).stop == "end"
        assert len(service.requests) == 2

    def test_a_connection_that_is_dropped_before_the_first_word_is_made_again(
        self, service: FakeClaude, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A fault of the connection is tried again as well."""
        monkeypatch.setattr(asking, "FIRST_WAIT", 0.0)
        assert done_of(parts_of(claude(service, "drop", retries=1))).stop == "end"
        service.refused_once = False
        _, error = heard_before(claude(service, "drop"), ProviderError)
        assert "Claude to answer at 127.0.0.1" in str(error)

    @pytest.mark.parametrize("mode", ["429", "529"])
    def test_there_is_an_end_to_tries(self, service: FakeClaude, mode: str) -> None:
        """After as many as were allowed the error comes."""
        heard_before(claude(service, mode, retries=2), ProviderError)
        assert len(service.requests) == 3

    @pytest.mark.parametrize("mode", ["400", "401", "402", "403", "404", "413"])
    def test_what_would_fail_again_is_not_tried_again(self, service: FakeClaude, mode: str) -> None:
        """One request."""
        heard_before(claude(service, mode, retries=2), ProviderError)
        assert len(service.requests) == 1

    @pytest.mark.parametrize("mode", ["cut", "torn", "error", "stall"])
    def test_nothing_is_tried_again_after_the_first_word(self, service: FakeClaude, mode: str) -> None:
        """A reader never sees an answer begin twice."""
        heard_before(claude(service, mode, retries=2, idle_timeout=0.6), ProviderError)
        assert len(service.requests) == 1

    def test_a_long_wait_is_left_to_the_reader(self, service: FakeClaude) -> None:
        """More than 30 s is not waited for."""
        service.retry_after = "31"
        _, error = heard_before(claude(service, "429", retries=2), ProviderError)
        assert "31 s" in str(error)
        assert len(service.requests) == 1


class TestLeaving:
    def test_closing_the_stream_closes_the_connection(self, service: FakeClaude) -> None:
        """The service sees it within two seconds, however much it had left to say."""
        leave_after_first_word(claude(service, "slow"))
        assert soon(lambda: service.closed_early == ["claude-fake-slow"])

    @pytest.mark.parametrize("mode", ["slow", "dead", "stall"])
    def test_cancelling_the_task_closes_the_connection(self, service: FakeClaude, mode: str) -> None:
        """Whatever the service was doing."""
        cancel_while_waiting(claude(service, mode), lambda: bool(service.requests))
        assert soon(lambda: service.closed_early == [f"claude-fake-{mode}"])

    def test_two_answers_at_once(self, service: FakeClaude) -> None:
        """Two streams of one provider in one loop do not disturb each other."""

        async def both() -> list[int]:
            provider = claude(service)

            async def count() -> int:
                return len([part async for part in provider.stream(LONG)])

            return await asyncio.gather(count(), count())

        first, second = asyncio.run(both())
        assert first == second > 2


def test_the_names() -> None:
    """What the configuration and the prompt go by."""
    provider = Claude("claude-opus-5-5", KEY)
    assert (provider.name, provider.model, provider.citing) == ("claude", "claude-opus-5-5", "native")
