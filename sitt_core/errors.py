"""Every failure a user can cause or meet, as one tree.

SittError
├── InvalidInput          a value somebody gave: a field, a question, a filter, a path
├── NotFound              a corpus, document or job that is not there
│   └── IndexMissing      the configuration's index has not been built yet
├── SourceError           a source that cannot be read, or a listing that is not whole
│   └── PartlyApplied     an update that is published although some of its documents, or sources, could not be read
├── RecallFell            an update that finds less than before, and is not published for that
├── ModelError            weights missing or altered, a model that returns nonsense
├── ProviderError         a language model that cannot be reached, declines the request, or breaks off
│   ├── KeyMissing        a provider that needs a key which is not set
│   └── BadAnswer         a judge whose answer is not of the form asked for
├── BudgetSpent           what the next paid call could cost is more than is left
├── StoreError            a store file that cannot be read or written
│   ├── FingerprintError  an index made by another embedder, chunker or tokenizer
│   └── Busy              another process is writing the same thing
├── PortTaken             the dashboard's port is in use
└── Cancelled             the user stopped a long piece of work
"""

import re

MAX_SHOWN = 120
_CREDENTIALS = re.compile(r"(?<=://)[^/\s?#]*@")


def without_credentials(text: str) -> str:
    """A text without what stands for a user and a password in its addresses: it may go into a log."""
    return _CREDENTIALS.sub("…@", text)


def shown(value: object) -> str:
    """A value as an error may show it: its `repr` without passwords in addresses, cut at `MAX_SHOWN` characters."""
    text = without_credentials(repr(value))
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


class SittError(Exception):
    """A named failure: what was expected, what came, and what to do about it."""

    exit_code = 1
    """What a command that fails so ends with."""

    def __init__(self, *, expected: str, got: str, remedy: str) -> None:
        self.expected, self.got, self.remedy = expected, got, remedy
        super().__init__(f"expected {expected}; got {got}. {remedy}")

    @property
    def kind(self) -> str:
        """The class's name, as JSON answers and tests use it."""
        return type(self).__name__

    def to_json(self) -> dict[str, dict[str, str]]:
        """The one shape every surface returns a failure in: `{"error": {...}}`."""
        return {
            "error": {
                "kind": self.kind,
                "message": str(self),
                "expected": self.expected,
                "got": self.got,
                "remedy": self.remedy,
            }
        }


class InvalidInput(SittError):
    """A value somebody gave that cannot be used."""


class NotFound(SittError):
    """A corpus, document or job that is not there."""


class IndexMissing(NotFound):
    """The configuration's index has not been built in the current generation."""


class SourceError(SittError):
    """A source that cannot be read, or whose listing is not whole."""


class PartlyApplied(SourceError):
    """An update that is published although some documents or sources could not be read; these stay as they were."""

    exit_code = 3


class RecallFell(SittError):
    """An update under which the golden questions find less than before; it is not published."""

    exit_code = 4


class ModelError(SittError):
    """Weights that are missing or altered, or a model that returned something impossible."""


class ProviderError(SittError):
    """A language model that cannot be reached, declines the request, or breaks off."""


class KeyMissing(ProviderError):
    """A provider that needs a key which is not set."""


class BadAnswer(ProviderError):
    """A model's answer that is not of the form it was asked for."""


class BudgetSpent(SittError):
    """What the next paid call could cost is more than the budget has left."""


class StoreError(SittError):
    """A store file that cannot be read or written."""


class FingerprintError(StoreError):
    """An index made by another embedder, chunker or tokenizer than the one that asks."""


class Busy(StoreError):
    """Another process holds the lock of what this one wants to write."""


class PortTaken(SittError):
    """The port that the dashboard wants is in use."""


class Cancelled(SittError):
    """The user stopped a long piece of work; what was finished is kept."""
