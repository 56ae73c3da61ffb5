"""The command that answers: streamed to a terminal with its footnotes below, or one JSON document."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sitt_core import build, notes
from sitt_core.settings import DEFAULT_CORPUS
from sitt_core.surfaces import answer_view, as_json, desk
from sitt_core.surfaces.terminal import (
    CategoryOption,
    CorpusOption,
    FromOption,
    JsonOption,
    RegionOption,
    SetOption,
    named_failures,
    print_json,
    settings_of,
)
from sitt_core.text import check_question
from sitt_core.types import Answer, AnswerPart, CitationPart, Filters, TextPart

if TYPE_CHECKING:
    from sitt_core.pipeline import Asking

COMMANDS = typer.Typer()
INTERRUPTED = 130
"""The exit code of a command that Ctrl-C stopped, as shells have it."""


@COMMANDS.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    corpus: CorpusOption = DEFAULT_CORPUS,
    conversation: Annotated[str, typer.Option("--conversation", metavar="ID", help="Go on with this conversation.")] = "",
    category: CategoryOption = None,
    region: RegionOption = None,
    origin: FromOption = None,
    set_: SetOption = None,
    as_json_: JsonOption = False,
) -> None:
    """Answer a question from the corpus, with citations that are checked."""
    from sitt_core.pipeline import Asking

    with named_failures(as_json_) as told:
        settings, configuration = settings_of(set_)
        check_question(question)  # before a model is loaded for it
        workshop = build.Workshop(settings)
        engine = workshop.engine(workshop.corpus(corpus), configuration)
        filters = Filters(tuple(category or ()), tuple(region or ()), tuple(origin or ()))
        conversation = conversation or notes.new_conversation()
        history = desk.turns(settings.notes_dir, conversation)
        asking = Asking(question, engine, workshop.provider(engine), filters=filters, history=history)
        if price := desk.price_line(workshop, engine):
            print(price, file=sys.stderr)
        answer = asyncio.run(asking.run(lambda _: None) if as_json_ else asking.run(_Terminal(asking).hear))
        told |= {**as_json.answer_json(configuration, answer), "conversation": conversation}
        if not as_json_:
            _print_end(answer, f"{configuration.slug} · conversation {conversation}")
        kept = desk.keep(settings.notes_dir, conversation, answer, corpus=corpus, configuration=configuration, filters=filters)
        if kept.trouble:
            print(kept.trouble, file=sys.stderr)
        if asking.failure is not None:
            raise asking.failure
        if answer.stop == "stopped":
            raise typer.Exit(INTERRUPTED)
        if as_json_:
            print_json(told)


class _Terminal:
    """Prints an answer as it comes, each citation's number where it belongs."""

    def __init__(self, asking: "Asking") -> None:
        self._asking, self._shown, self._held = asking, 0, ""

    def hear(self, part: AnswerPart) -> None:
        """Prints what a part adds."""
        if isinstance(part, TextPart):
            text = self._held + part.text
            self._held = text[len(text.rstrip()) :]  # a number stands before the white space after its sentence
            print(text.rstrip(), end="", flush=True)
        elif isinstance(part, CitationPart) and (answer := self._asking.so_far()):
            for mark in answer.marks[self._shown :]:
                print(f" [{mark.marker}]", end="", flush=True)
            self._shown = len(answer.marks)


def _print_end(answer: Answer, slug: str) -> None:
    """What stands below the text: how it ended, footnotes, sentences without a citation, what it took."""
    record = notes.record_of(answer)
    print("\n")
    for line in answer_view.footnotes(record):
        print(line)
    if answer.citations:
        print()
    if ending := answer_view.ending(record):
        print(f"note: {ending}")
    for line in answer_view.doubts(record):
        print(f"note: {line}")
    print(f"{slug} · {desk.usage_line(record)} · {answer.trace.milliseconds:.0f} ms")
