"""A corpus under another name, with what people wrote about it: the store knows its documents alone."""

from evals import editing
from sitt_core import journal, notes
from sitt_core.settings import Settings
from sitt_core.store import admin


def rename_corpus(settings: Settings, old: str, new: str) -> None:
    """Gives a corpus another name; its own questions, drafts and what was asked for them, conversations and recent questions go along.

    Raises InvalidInput, also where questions of an earlier corpus of the new name would be lost; NotFound, Busy (also while
    questions about it are being drafted) or StoreError.
    """
    from evals.drafting import moving_ledger  # with pydantic, which other commands do not wait for

    with editing.moving_own(settings, old, new), moving_ledger(settings, old, new):
        admin.rename_corpus(settings.store_dir, old, new)
    notes.move_corpus(settings.notes_dir, old, new)
    journal.rename(settings.data_dir, old, new)
