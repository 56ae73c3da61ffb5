"""Answers in the background: one at a time in a conversation, logged when they end whether or not anybody looks, priced beforehand."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sitt_core import notes
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Busy, IndexMissing, InvalidInput
from sitt_core.settings import ModelSettings, Settings
from sitt_core.surfaces import desk
from sitt_core.surfaces.desk import Desk, Writing
from sitt_core.types import Filters
from tests.fakes import corpora
from tests.fakes.openai import FakeOpenAI

QUESTION = "Which giant left footprints beside the river?"


@pytest.fixture
def openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as service:
        yield service


@pytest.fixture
def workshop(tmp_path: Path, openai: FakeOpenAI) -> Workshop:
    """A store of the tales and a server that speaks OpenAI's protocol."""
    models = ModelSettings(base_urls={"custom": f"{openai.url}/v1"}, idle_timeout=30)
    made = Workshop(Settings(tmp_path, models=models))
    corpora.publish(tmp_path / "store", made_from=made.recipe(configure({"embedder": "hash"}), language="english"))
    return made


def start(workshop: Workshop, model: str = "fake", question: str = QUESTION, **options: str) -> tuple[Desk, Writing]:
    made = Desk()
    return made, begin(made, workshop, model, question, **options)


def begin(made: Desk, workshop: Workshop, model: str = "fake", question: str = QUESTION, conversation: str = "c") -> Writing:
    configuration = configure({"embedder": "hash", "answer.provider": "custom", "answer.model": model})
    return made.start(
        workshop,
        question,
        conversation=conversation,
        corpus=corpora.NAME,
        configuration=configuration,
        filters=Filters(region=("Americas",)),
    )


def test_an_answer_is_logged_when_it_ends(workshop: Workshop) -> None:
    """With question, configuration, filters and citations, by the work itself: no page has to be there."""
    made, writing = start(workshop)
    outcome = writing.task.result()
    assert outcome.logged is not None
    (kept,) = notes.conversation_answers(workshop.settings.notes_dir, "c")
    assert kept.id == outcome.logged.id
    assert (kept.record["question"], kept.corpus, kept.filters) == (QUESTION, corpora.NAME, {"region": ["Americas"]})
    assert kept.fields["answer.model"] == "fake"
    assert kept.record["citations"]
    assert outcome.sent
    made.take("c")
    assert made.writing("c") is None


def test_a_conversation_waits_for_its_answer(workshop: Workshop) -> None:
    """A second question is refused by name while the first is being answered; another conversation is not in its way."""
    made, writing = start(workshop, "fake-stall")
    with pytest.raises(Busy, match="one question at a time"):
        begin(made, workshop)
    assert begin(made, workshop, conversation="d").task.result().answer.text
    made.take("c")
    assert made.writing("c") is writing  # what is still being written is not forgotten
    writing.task.cancel()
    assert writing.task.result().answer.stop == "stopped"
    assert begin(made, workshop).task.result().answer.stop == "end"


def test_a_stopped_answer_is_kept_as_far_as_it_came(workshop: Workshop, openai: FakeOpenAI) -> None:
    """The log holds the partial text, marked as stopped."""
    _, writing = start(workshop, "fake-stall")
    while not ((now := writing.so_far) and now.text):
        writing.task.wait(0.02)
    writing.task.cancel()
    assert writing.task.result().answer.text
    (kept,) = notes.conversation_answers(workshop.settings.notes_dir, "c")
    assert (kept.record["stop"], bool(kept.record["text"])) == ("stopped", True)


def test_a_model_is_told_what_was_said_before(workshop: Workshop, openai: FakeOpenAI) -> None:
    """Earlier questions and answers of the conversation go along, not those that were refused or of other conversations."""
    made, writing = start(workshop)
    first = writing.task.result().answer
    begin(made, workshop, question="zzyzx qqq?").task.result()
    begin(made, workshop, question="And which bird crossed the sky?").task.result()
    roles = [(message["role"], message["content"]) for message in openai.bodies[-1]["messages"]]
    assert ("user", QUESTION) in roles
    assert ("assistant", first.text) in roles
    assert desk.turns(workshop.settings.notes_dir, "none") == ()


def test_an_answer_that_cannot_be_kept_is_still_there(workshop: Workshop) -> None:
    """A log that cannot be written is told beside the answer, and the answer stays whole."""
    workshop.settings.notes_dir.mkdir()
    (workshop.settings.notes_dir / "answers").write_text("in the way")
    _, writing = start(workshop)
    outcome = writing.task.result()
    assert outcome.logged is None
    assert outcome.answer.text
    assert "could not be kept" in outcome.trouble


def test_what_cannot_be_asked_starts_nothing(workshop: Workshop) -> None:
    """A blank question or a missing index is told at once."""
    made = Desk()
    with pytest.raises(InvalidInput):
        begin(made, workshop, question="  ")
    with pytest.raises(IndexMissing):
        made.start(workshop, QUESTION, conversation="c", corpus=corpora.NAME, configuration=configure({}), filters=Filters())
    assert made.writing("c") is None


@pytest.mark.parametrize(
    ("changes", "models", "said"),
    [
        pytest.param({}, {}, "", id="extractive"),
        pytest.param(
            {"answer.provider": "claude"},
            {},
            "claude-sonnet-5-5: about 5\\d\\d tokens to read .*, at most 4,096 to write; about \\$0\\.04",
            id="a list price",
        ),
        pytest.param({"answer.provider": "ollama"}, {}, "llama3.2: .*no charge", id="on this machine"),
        pytest.param({"answer.provider": "custom"}, {}, "default: .*its price is not known here", id="no price"),
        pytest.param(
            {"answer.provider": "custom"}, {"price_input": 1000.0, "price_output": 2000.0}, ".*about \\$8\\.", id="a price of one's own"
        ),
    ],
)
def test_the_price_is_told_before(workshop: Workshop, changes: dict[str, object], models: dict[str, float], said: str) -> None:
    """Tokens and dollars at most, from the length of the corpus's chunks and the limits; nothing where nothing is asked."""
    configuration = configure({"embedder": "hash", **changes})
    settings = replace(workshop.settings, defaults=configuration, models=replace(workshop.settings.models, **models))
    engine = workshop.engine(workshop.corpus(corpora.NAME), configuration)
    assert re.fullmatch(f"{said}.*" if said else "", desk.price_line(Workshop(settings), engine))


def test_a_price_of_ones_own_is_that_models_alone(workshop: Workshop) -> None:
    """LLM_PRICE_INPUT and LLM_PRICE_OUTPUT say nothing of another model that is chosen meanwhile."""
    settings = replace(workshop.settings, models=replace(workshop.settings.models, price_input=1000.0, price_output=2000.0))
    assert Workshop(settings).price(configure({"answer.provider": "custom"})) is None


def test_a_deleted_conversation_stays_deleted(workshop: Workshop) -> None:
    """What is being written for it is stopped and forgotten before its file goes."""
    made, writing = start(workshop, "fake-stall")
    while not ((now := writing.so_far) and now.text):
        writing.task.wait(0.02)
    made.drop("c")
    assert writing.task.done
    assert made.writing("c") is None
    notes.delete_conversation(workshop.settings.notes_dir, "c")
    assert notes.conversations(workshop.settings.notes_dir) == ()
    made.drop("c")  # nothing left to stop


def test_what_its_page_has_left_is_let_go_of(workshop: Workshop) -> None:
    """An answer that is in the log is forgotten when the next one begins, whoever asks."""
    made, writing = start(workshop)
    writing.task.result()
    begin(made, workshop, conversation="d").task.result()
    assert made.writing("c") is None


def test_money_shows_the_digits_that_matter() -> None:
    """Small amounts to a hundredth of a cent."""
    assert (desk.money(0.00126), desk.money(1.5)) == ("$0.0013", "$1.50")
