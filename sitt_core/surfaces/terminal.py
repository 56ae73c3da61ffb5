"""What all commands share: their options, how they ask, what they print, and how a failure is told."""

import codecs
import contextlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from sitt_core import jobs
from sitt_core.configuration import FIELDS, Configuration, configure
from sitt_core.errors import Cancelled, InvalidInput, SittError, shown
from sitt_core.settings import Settings, load_settings
from sitt_core.surfaces.progress import terminal_report
from sitt_core.types import Report

FIELD_HELP = "; ".join(f"{field.name}={field.allowed}" for field in FIELDS)

CorpusOption = Annotated[str, typer.Option("--corpus", help="Which corpus.", show_default=True)]
SetOption = Annotated[list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help=f"Flip a switch; may be repeated. {FIELD_HELP}")]
IndexOption = Annotated[
    list[str] | None,
    typer.Option("--index", metavar="KEY", help="Also build this index of the corpus, by its key in status; may be repeated; all for all."),
]
CategoryOption = Annotated[list[str] | None, typer.Option("--category", help="Only documents of this category; may be repeated.")]
RegionOption = Annotated[list[str] | None, typer.Option("--region", help="Only documents of this region; may be repeated.")]
FromOption = Annotated[list[str] | None, typer.Option("--from", help="Only documents of this source; may be repeated.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
JobOption = Annotated[Path | None, typer.Option("--job", hidden=True, exists=True, file_okay=False)]


def settings_of(set_: Sequence[str] | None) -> tuple[Settings, Configuration]:
    """Settings, and their default configuration with the --set options applied; raises InvalidInput."""
    settings = load_settings()
    changes: dict[str, object] = {}
    for pair in set_ or []:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInput(expected="--set FIELD=VALUE", got=shown(pair), remedy="For example --set top_k=8")
        changes[name.strip()] = value.strip()
    return settings, configure(changes, settings.defaults)


@contextlib.contextmanager
def named_failures(as_json: bool) -> Iterator[dict[str, Any]]:
    """A named failure becomes one line on standard error and its exit code; as JSON it joins what the yielded answer holds by then."""
    told: dict[str, Any] = {}
    try:
        yield told
    except SittError as error:
        if as_json:
            print_json({**told, **error.to_json()})
        print(f"{error.kind}: {' '.join(str(error).split())}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        if as_json:
            stopped = Cancelled(expected="to finish", got="a request to stop", remedy="What was finished is kept.")
            print_json({**told, **stopped.to_json()})
        print("Cancelled: stopped by you; what was finished is kept.", file=sys.stderr)
        raise typer.Exit(1) from None


INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


@contextlib.contextmanager
def ended_quietly(as_json: bool) -> Iterator[dict[str, Any]]:
    """`named_failures`; Ctrl-C, at a question too, ends without a word: what was finished is kept, nothing else is left half done."""
    with named_failures(as_json) as told:
        try:
            yield told
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except typer.Abort as aborted:
            if isinstance(aborted.__context__, KeyboardInterrupt):  # what typer makes of Ctrl-C at its prompt
                raise typer.Exit(INTERRUPTED) from None
            raise


def reporting(job: Path | None, *, quiet: bool = False) -> contextlib.AbstractContextManager[Report]:
    """Where long work reports to: its job's folder, or this terminal; `quiet` says nothing where nobody watches."""
    if job:
        return jobs.running(job)
    return contextlib.nullcontext(_nowhere if quiet and not sys.stderr.isatty() else terminal_report())


def _nowhere(stage: str, done: int, total: int) -> None:
    """A report that nobody reads."""


def confirm(question: str, *, as_json: bool) -> None:
    """Asks at a terminal; anywhere else the answer must have come with --yes."""
    _require_terminal(as_json)
    typer.confirm(question, abort=True)


def confirm_by_typing(word: str, question: str, *, as_json: bool) -> None:
    """Asks at a terminal for a word to be typed; anywhere else the answer must have come with --yes."""
    _require_terminal(as_json)
    typed = typer.prompt(question, default="", show_default=False)
    if typed.strip() != word:
        raise InvalidInput(expected=f"{shown(word)} to be typed", got=shown(typed), remedy="Nothing was removed.")


def _require_terminal(as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise InvalidInput(expected="--yes where nobody can be asked", got="no --yes", remedy="Add --yes to go ahead.")


def parse_age(text: str) -> timedelta:
    """A duration such as 12h, 30d or 8w; raises InvalidInput."""
    found = re.fullmatch(r"([0-9]{1,5})([hdw])", text.strip())
    if not found:
        raise InvalidInput(expected="an age in hours, days or weeks", got=shown(text), remedy="Write it as 12h, 30d or 8w.")
    return timedelta(**{{"h": "hours", "d": "days", "w": "weeks"}[found[2]]: int(found[1])})


def answer(as_json: bool, value: dict[str, Any], line: str) -> None:
    """The result of a command: JSON or a line."""
    if as_json:
        print_json(value)
    else:
        print(line)


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def on_one_line(text: str) -> str:
    """A text of a source as a terminal may show it: what would move its cursor, colour it or turn it round stands there escaped."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    # A terminal that lacks a character would show it by Python's escapes, which JSON does not know.
    whole = sys.stdout is None or codecs.lookup(sys.stdout.encoding).name == "utf-8"
    print(json.dumps(value, ensure_ascii=not whole, indent=2, allow_nan=False))
