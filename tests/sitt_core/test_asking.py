"""A question on its way to its answer: over real loopback services, and with providers that do as they are told."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pytest

from sitt_core.background import Background
from sitt_core.errors import InvalidInput, KeyMissing, ProviderError, StoreError
from sitt_core.pipeline import Asking
from sitt_core.providers.claude import Claude
from sitt_core.providers.openai_compatible import OpenAICompatible
from sitt_core.store.reading import Corpus
from sitt_core.types import REFUSAL, Answer, AnswerPart, CitationPart, Document, DonePart, Filters, Prompt, TextPart, Turn, Usage
from tests.fakes import corpora
from tests.fakes.claude import FakeClaude
from tests.fakes.openai import FakeOpenAI

QUESTION = "Which giant left footprints beside the river?"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The tales, which no test of this module writes to."""
    return corpora.publish(tmp_path_factory.mktemp("store"))


@pytest.fixture
def claude() -> Iterator[FakeClaude]:
    with FakeClaude() as service:
        yield service


@pytest.fixture
def openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as service:
        yield service


@dataclass
class Told:
    """A provider that says what it is told to, and keeps the prompts that it was given."""

    parts: Callable[[Prompt], Sequence[AnswerPart | ProviderError | threading.Event]]
    prompts: list[Prompt] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    name: str = "told"
    model: str = "told-1"
    citing: Literal["native"] = "native"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        self.prompts.append(prompt)
        try:
            for part in self.parts(prompt):
                if isinstance(part, ProviderError):
                    raise part
                if isinstance(part, threading.Event):
                    part.set()
                    await asyncio.Event().wait()
                else:
                    yield part
        finally:
            self.closed.set()

    def as_sent(self, prompt: Prompt) -> str:
        return prompt.question


@dataclass(frozen=True)
class Damaged:
    """A corpus whose passages are found and whose documents cannot be read."""

    corpus: Corpus
    error: StoreError

    def __getattr__(self, name: str) -> object:
        return getattr(self.corpus, name)

    def document(self, _: str) -> Document:
        raise self.error


DONE = DonePart("end", Usage(10, 5), "told-1")


def run(corpus: Corpus, provider: object, question: str = QUESTION, **options: object) -> Answer:
    return asyncio.run(Asking(question, corpora.engine(corpus), provider, **options).run())  # type: ignore[arg-type]


def first_sentence(prompt: Prompt) -> list[AnswerPart]:
    excerpt = prompt.excerpts[0]
    return [TextPart(excerpt.blocks[-1]), CitationPart(excerpt.id, excerpt.blocks[-1]), DONE]


def test_an_answer_is_what_the_design_says(corpus: Corpus) -> None:
    """The question verbatim, passages in rank order, the text, checked citations, every stage of the trace, what it took."""
    provider = Told(first_sentence)
    answer = run(corpus, provider, f"  {QUESTION} ")
    (prompt,) = provider.prompts
    assert prompt.question == answer.question == QUESTION
    assert [excerpt.text for excerpt in prompt.excerpts] == [passage.chunk.text for passage in answer.passages]
    (citation,) = answer.citations
    assert citation.verdict == "quoted"
    assert citation.span is not None
    document = corpus.document(citation.document_id)
    assert document.text[citation.span.start : citation.span.end] == citation.quote
    assert citation.sha256 == document.sha256
    assert (answer.stop, answer.problem, answer.refused) == ("end", "", False)
    assert (answer.provider, answer.model, answer.usage) == ("told", "told-1", Usage(10, 5))
    assert [stage.name for stage in answer.trace.stages][-2:] == ["passages", "answer"]
    assert answer.trace.milliseconds >= answer.trace.stages[-1].started


def test_every_part_is_told_as_it_comes_and_what_has_come_can_be_looked_at(corpus: Corpus) -> None:
    """`told` hears the provider's parts in order; `so_far` is nothing before the passages, then the text up to now."""
    seen: list[tuple[str, str | None]] = []
    asking = Asking(QUESTION, corpora.engine(corpus), Told(lambda _: [TextPart("One. "), TextPart("Two."), DONE]))
    assert asking.so_far() is None

    def hear(part: AnswerPart) -> None:
        now = asking.so_far()
        seen.append((type(part).__name__, now.text if now else None))

    asyncio.run(asking.run(hear))
    assert seen == [("TextPart", "One. "), ("TextPart", "One. Two."), ("DonePart", "One. Two.")]


@pytest.mark.parametrize("before", [[], [TextPart("It is ")]], ids=["before the first word", "after it"])
def test_a_failure_ends_the_answer_and_keeps_what_has_come(corpus: Corpus, before: list[AnswerPart]) -> None:
    """The problem is told in words, and the text up to it stays."""
    error = ProviderError(expected="an answer", got="status 529", remedy="Try again.")
    asking = Asking(QUESTION, corpora.engine(corpus), Told(lambda _: [*before, error]))
    answer = asyncio.run(asking.run())
    assert answer.text == ("It is " if before else "")
    assert (answer.stop, answer.problem) == ("error", str(error))
    assert asking.failure is error
    assert answer.usage.dollars is None


def test_a_cited_document_that_cannot_be_read_ends_the_answer_and_keeps_what_has_come(corpus: Corpus) -> None:
    """A failure of the store while the answer is written is told as the provider's would be, and the provider is closed."""
    error = StoreError(expected="a document", got="a damaged file", remedy="Restore it.")
    provider = Told(first_sentence)
    asking = Asking(QUESTION, replace(corpora.engine(corpus), corpus=Damaged(corpus, error)), provider)  # type: ignore[arg-type]
    answer = asyncio.run(asking.run())
    assert answer.text == provider.prompts[0].excerpts[0].blocks[-1]
    assert (answer.stop, answer.problem, answer.citations) == ("error", str(error), ())
    assert asking.failure is error
    assert provider.closed.is_set()


def test_stopping_closes_the_provider_at_once_and_keeps_what_has_come(corpus: Corpus) -> None:
    """Cancelled while the provider is silent: its stream is closed, the answer ends as stopped, tokens are counted here."""
    silent = threading.Event()
    provider = Told(lambda _: [TextPart("It is said to be "), silent])
    asking = Asking(QUESTION, corpora.engine(corpus), provider)
    running = Background(asking.run, name="test")
    assert silent.wait(30)
    running.cancel()
    answer = running.result()
    assert provider.closed.is_set()
    assert (answer.stop, answer.text, answer.problem) == ("stopped", "It is said to be ", "")
    assert answer.usage.output_tokens > 0
    assert answer.usage.dollars is None
    assert "counted here" in answer.note


def test_what_no_terminal_and_no_file_should_get_is_taken_out(corpus: Corpus) -> None:
    """Control characters are gone, lone surrogates are seen, for whoever listens as well."""
    heard: list[AnswerPart] = []
    asking = Asking(QUESTION, corpora.engine(corpus), Told(lambda _: [TextPart("A\x1b[31m \ud83d"), CitationPart("x", "b\x07"), DONE]))
    answer = asyncio.run(asking.run(heard.append))
    assert answer.text == "A[31m \ufffd"
    assert answer.citations[0].quote == "b"
    assert heard == [TextPart("A[31m \ufffd"), CitationPart("x", "b"), DONE]


def test_what_a_provider_does_not_count_is_counted_here(corpus: Corpus) -> None:
    """Its tokens; its money as far as the provider knows it."""
    for dollars in (None, 0.0):
        told = DonePart("end", Usage(dollars=dollars), "m")
        usage = run(corpus, Told(lambda _, told=told: [TextPart("It walked."), told])).usage  # type: ignore[misc]
        assert min(usage.input_tokens, usage.output_tokens) > 0
        assert usage.dollars == dollars


def test_what_a_provider_counted_stays_however_it_ended(corpus: Corpus) -> None:
    """Also when it stopped for a reason that we do not know."""
    answer = run(corpus, Told(lambda _: [TextPart("It"), DonePart("end", Usage(7, 8, dollars=0.5), "m", "stop reason pause_turn")]))
    assert (answer.stop, answer.usage) == ("end", Usage(7, 8, dollars=0.5))


def test_without_a_key_nothing_was_taken(corpus: Corpus) -> None:
    """Neither tokens nor money: nobody was asked."""
    missing = KeyMissing(expected="a key", got="none", remedy="Set it.")
    assert run(corpus, Told(lambda _: [missing])).usage == Usage()


def test_nobody_is_asked_when_nothing_was_found(corpus: Corpus) -> None:
    """Without a passage the answer is a refusal that costs nothing, and the provider hears of nothing."""
    provider = Told(first_sentence)
    asking = Asking("zzyzx", corpora.engine(corpus, corpora.recipe(dense="off")), provider)
    answer = asyncio.run(asking.run())
    assert provider.prompts == []
    assert (answer.refused, answer.text, answer.citations, answer.usage) == (True, REFUSAL, (), Usage())


def test_a_refusal_cites_nothing(corpus: Corpus) -> None:
    """What a provider cites for saying that the corpus does not say is dropped."""
    answer = run(corpus, Told(lambda prompt: [TextPart(REFUSAL), CitationPart(prompt.excerpts[0].id, prompt.excerpts[0].text), DONE]))
    assert (answer.refused, answer.citations) == (True, ())


def test_a_model_that_declines_has_not_said_that_the_corpus_does_not(corpus: Corpus) -> None:
    """How it ended says that it declined; `refused` is about the corpus."""
    answer = run(corpus, Told(lambda _: [TextPart("I can"), DonePart("refusal", Usage(1, 1), "m", "category: x")]))
    assert (answer.refused, answer.stop, answer.note) == (False, "refusal", "category: x")


@pytest.mark.parametrize("question", ["", " ", "?!", "x" * 4001, "a\x00b"], ids=["empty", "blank", "punctuation", "long", "NUL"])
def test_what_cannot_be_asked_costs_nothing(corpus: Corpus, question: str) -> None:
    """Refused before anything is looked up or sent."""
    with pytest.raises(InvalidInput):
        Asking(question, corpora.engine(corpus), Told(first_sentence))


def test_filters_and_earlier_turns_reach_the_prompt(corpus: Corpus) -> None:
    """Only passages that pass the filters are shown, and the conversation so far is."""
    provider = Told(first_sentence)
    history = (Turn("Who?", "A giant."),)
    answer = run(corpus, provider, filters=Filters(category=("hominid",)), history=history)
    assert provider.prompts[0].history == history
    categories = {document.id: document.category for document in corpus.documents}
    assert {categories[passage.chunk.document_id] for passage in answer.passages} == {"hominid"}


@pytest.mark.parametrize("mode", ["", "-liar"], ids=["honest", "liar"])
@pytest.mark.parametrize("service", ["claude", "openai"])
def test_over_real_services_only_what_stands_there_is_quoted(
    corpus: Corpus, claude: FakeClaude, openai: FakeOpenAI, service: str, mode: str
) -> None:
    """An honest model's citations slice the documents; a liar's are told apart, and never shown as quoted where they are not."""
    answer = run(corpus, provider_of(service, claude, openai, mode))
    assert answer.text
    assert answer.problem == ""
    verdicts = [citation.verdict for citation in answer.citations]
    assert verdicts
    for citation in answer.citations:
        if citation.span is not None:
            text = corpus.document(citation.document_id).text
            assert text[citation.span.start : citation.span.end] == citation.quote
    assert (set(verdicts) == {"quoted"}) == (mode == "")


@pytest.mark.parametrize("service", ["claude", "openai"])
@pytest.mark.parametrize("mode", ["cut", "dead", "stall", "529", "error", "401"])
def test_over_real_services_a_failure_is_told_and_never_hangs(
    corpus: Corpus, claude: FakeClaude, openai: FakeOpenAI, service: str, mode: str
) -> None:
    """A cut stream, a dead provider, a stalled one, an overloaded one, a refused key: each a named problem, the text kept."""
    answer = run(corpus, provider_of(service, claude, openai, f"-{mode}"))
    assert answer.stop == "error"
    assert answer.problem.startswith("expected ")
    assert bool(answer.text) == (mode in ("cut", "stall", "error"))


def provider_of(service: str, claude: FakeClaude, openai: FakeOpenAI, mode: str) -> Claude | OpenAICompatible:
    timeouts = {"connect_timeout": 5.0, "idle_timeout": 0.5 if mode in ("-dead", "-stall") else 30.0, "retries": 0}
    if service == "claude":
        return Claude(model=f"claude-fake{mode}", api_key="k", base_url=claude.url, **timeouts)  # type: ignore[arg-type]
    return OpenAICompatible("openai", f"fake{mode}", api_key="k", base_url=f"{openai.url}/v1", **timeouts)  # type: ignore[arg-type]


def test_a_stopped_answer_closes_the_service(corpus: Corpus, claude: FakeClaude) -> None:
    """The service sees its connection closed within two seconds, silent as it is."""
    asking = Asking(QUESTION, corpora.engine(corpus), Claude(model="claude-fake-stall", api_key="k", base_url=claude.url))
    running = Background(asking.run, name="test")
    deadline = time.monotonic() + 30
    while not ((now := asking.so_far()) and now.text) and time.monotonic() < deadline:
        running.wait(0.02)
    running.cancel()
    stopped = time.monotonic()
    assert running.result().stop == "stopped"
    while not claude.closed_early and time.monotonic() < stopped + 2:
        running.wait(0.02)
        time.sleep(0.02)  # between two looks at the condition
    assert claude.closed_early == ["claude-fake-stall"]


def test_answers_at_once(corpus: Corpus, openai: FakeOpenAI) -> None:
    """Eight answers in eight threads do not get in each other's way."""
    provider = OpenAICompatible("openai", "fake", api_key="k", base_url=f"{openai.url}/v1")
    asked = [Asking(QUESTION, corpora.engine(corpus), provider) for _ in range(8)]
    running = [Background(each.run, name="test") for each in asked]
    assert len({each.result().text for each in running}) == 1
