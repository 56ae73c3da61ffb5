"""The answers that this process is writing, by conversation: started by a page, logged when they end, whether or not it still looks."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sitt_core import notes
from sitt_core.background import Background
from sitt_core.build import Workshop
from sitt_core.configuration import Configuration
from sitt_core.costs import estimate, prompt_tokens
from sitt_core.errors import Busy, NotFound, SittError
from sitt_core.pipeline import Asking, Engine
from sitt_core.types import Answer, Filters, Turn

REMEMBERED_TURNS = 6
"""How many earlier answers of a conversation a model is shown."""
STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an answer ended: as it is kept, or with why it could not be kept."""

    answer: Answer
    logged: notes.Logged | None
    trouble: str = ""
    sent: str = ""


@dataclass(frozen=True, slots=True)
class Writing:
    """An answer on its way."""

    asking: Asking
    task: Background[Outcome]

    @property
    def kept(self) -> bool:
        """Whether it has ended and stands in the log."""
        try:
            return self.task.done and self.task.result().logged is not None
        except BaseException:  # it ended otherwise
            return False

    @property
    def so_far(self) -> Answer | None:
        """What has come of it."""
        return self.asking.so_far()


class Desk:
    """Safe from many threads; one answer at a time in a conversation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writing: dict[str, Writing] = {}

    def start(
        self, workshop: Workshop, question: str, *, conversation: str, corpus: str, configuration: Configuration, filters: Filters
    ) -> Writing:
        """Begins to answer; raises what `Workshop.engine` and `Asking` raise, Busy while the conversation waits for another answer."""
        notes_dir = workshop.settings.notes_dir
        engine = workshop.engine(workshop.corpus(corpus), configuration)
        history = turns(notes_dir, conversation)
        asking = Asking(question, engine, workshop.provider(engine), filters=filters, history=history)

        async def work() -> Outcome:
            answer = await asking.run()
            return keep(notes_dir, conversation, answer, corpus=corpus, configuration=configuration, filters=filters, sent=asking.sent)

        with self._lock:
            held = self._writing.get(conversation)
            if held is not None and not held.task.done:
                raise Busy(expected="one question at a time", got="another that is being answered", remedy="Wait for it, or stop it.")
            for other, writing in list(self._writing.items()):
                if writing.task.done and writing.kept:  # its page has gone, and the log has it
                    del self._writing[other]
            self._writing[conversation] = Writing(asking, Background(work, name="answer"))
            return self._writing[conversation]

    def writing(self, conversation: str) -> Writing | None:
        """The conversation's answer that is on its way, or that has ended and not been taken."""
        with self._lock:
            return self._writing.get(conversation)

    def drop(self, conversation: str) -> None:
        """Stops the conversation's answer, if one is being written, and waits for it: what follows may delete the conversation."""
        with self._lock:
            held = self._writing.pop(conversation, None)
        if held is not None:
            held.task.cancel()
            held.task.wait(STOP_SECONDS)

    def take(self, conversation: str) -> None:
        """Forgets an answer that has ended: it is in the log."""
        with self._lock:
            held = self._writing.get(conversation)
            if held is not None and held.task.done:
                del self._writing[conversation]


def turns(notes_dir: Path, conversation: str) -> tuple[Turn, ...]:
    """The last questions of a conversation that were answered, for a model to know what is talked about; raises InvalidInput or StoreError."""
    try:
        answers = notes.conversation_answers(notes_dir, conversation)
    except NotFound:  # it begins now
        return ()
    records = [each.record for each in answers]
    said = [each for each in records if each["text"].strip() and not each["refused"] and each["stop"] != "refusal"]
    return tuple(Turn(each["question"], each["text"]) for each in said[-REMEMBERED_TURNS:])


def filters_of(filters: Filters) -> Mapping[str, Sequence[str]]:
    """The filters that are set, as notes keep them."""
    return {name: values for name in ("category", "region", "origin") if (values := getattr(filters, name))}


def keep(
    notes_dir: Path, conversation: str, answer: Answer, *, corpus: str, configuration: Configuration, filters: Filters, sent: str = ""
) -> Outcome:
    """The answer, logged; one that cannot be logged is still shown."""
    try:
        logged = notes.log_answer(
            notes_dir, conversation, answer, corpus=corpus, fields=configuration.to_dict(), filters=filters_of(filters)
        )
    except SittError as error:
        return Outcome(answer, None, f"This answer could not be kept. {error}", sent)
    return Outcome(answer, logged, sent=sent)


def price_line(workshop: Workshop, engine: Engine) -> str:
    """What a question can cost under a configuration, in words, before it is asked; nothing where nothing is charged."""
    configuration, models = engine.configuration, workshop.settings.models
    if configuration.answer_provider == "extractive":
        return ""
    sent = prompt_tokens(configuration.top_k, each=engine.index.mean_tokens)
    dollars = estimate(workshop.price(configuration), input_tokens=sent, most_output_tokens=models.max_tokens)
    cost = "its price is not known here" if dollars is None else "no charge" if dollars == 0 else f"about {money(dollars)} at that length"
    return f"{configuration.answer_model}: about {sent:,} tokens to read (and the last answers, if any), at most {models.max_tokens:,} to write; {cost}."


def money(dollars: float) -> str:
    """An amount in US dollars, with as many digits as a small one needs."""
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def usage_line(record: Mapping[str, Any]) -> str:
    """What an answer took, in words; `record` as `notes.record_of` keeps it."""
    usage = record["usage"]
    if record["provider"] == "extractive":
        return "no model was asked"
    cost = "cost not known" if usage["dollars"] is None else "no charge" if usage["dollars"] == 0 else money(usage["dollars"])
    cached = f" ({usage['cached_tokens']:,} from its cache)" if usage["cached_tokens"] else ""
    return f"{record['model']}: {usage['input_tokens']:,} tokens read{cached}, {usage['output_tokens']:,} written; {cost}"
