"""Failures as a page says them."""

from sitt_core.errors import SittError
from sitt_core.surfaces.dashboard.plain import plain_label

LONGEST = 2000


def told(error: SittError) -> str:
    """A named failure for `st.error` and its like, which read Markdown; a folder's name may hold any."""
    return plain_label(f"Expected {error.expected}; got {error.got}. {error.remedy}", length=LONGEST)
