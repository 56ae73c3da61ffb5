"""The README says what the code does."""

import re
from pathlib import Path

import pytest

from scripts.readme import README, with_table

ROOT = Path(__file__).resolve().parents[1]
TEXT = README.read_text(encoding="utf-8")


def test_the_table_of_fields_is_the_code_s() -> None:
    """python -m scripts.readme would change nothing."""
    assert with_table(TEXT) == TEXT


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT))))
def test_every_link_leads_somewhere(target: str) -> None:
    """Files that the README names are there."""
    assert (ROOT / target).exists()


def test_it_opens_with_a_picture_and_the_two_commands() -> None:
    """A stranger sees the product and how to start it first."""
    assert TEXT.index("![") < TEXT.index("make run") < TEXT.index("make test") < TEXT.index("\n## ")
