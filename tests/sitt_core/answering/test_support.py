import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.answering.support import proper_words, unsupported
from sitt_core.retrieval.words import tokenize

EVIDENCE = "On 15 November 1966 Roger Scarberry and Steve Mallette saw a grey figure 2.1 metres tall near Point Pleasant."


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        pytest.param("Roger Scarberry saw a grey figure on 15 November 1966.", (), id="all there"),
        pytest.param("On November 15, 1966, Scarberry saw a figure.", (), id="another way to write the date"),
        pytest.param("On the 15th of November 1966 Mallette saw a figure.", (), id="an ordinal"),
        pytest.param("On 1966-11-15 Mallette saw a figure.", (), id="an ISO date"),
        pytest.param("On 16 November 1966 Scarberry saw a figure.", ("16 November",), id="another day"),
        pytest.param("On 15 December 1966 Scarberry saw a figure.", ("15 December",), id="another month"),
        pytest.param("On 15 November 1967 Scarberry saw a figure.", ("1967",), id="another year"),
        pytest.param("Scarberry saw a figure 2.2 metres tall.", ("2.2",), id="another number"),
        pytest.param("Scarberry saw a figure in Ohio.", ("Ohio",), id="another place"),
        pytest.param("Roger Mallory saw a grey figure.", ("Mallory",), id="another name"),
        pytest.param("The SCARBERRYS saw a figure, said Roger's friend.", (), id="case, plural and possessive aside"),
        pytest.param("Seven people saw a grey figure.", ("Seven",), id="a number in words"),
        pytest.param("One of them saw a grey figure.", (), id="one is a pronoun"),
        pytest.param("Witnesses saw a figure.", (), id="a capital at the beginning makes no name"),
        pytest.param("- **Point Pleasant:** A grey figure.", (), id="nor after a mark"),
        pytest.param("A grey figure flew over the villages.", (), id="half of the words are enough"),
        pytest.param("A moth flew over burning villages.", ("moth", "flew", "burning", "villages"), id="none are not"),
        pytest.param("It was there.", (), id="a sentence of stop words asks for nothing"),
    ],
)
def test_what_a_quote_does_not_hold_is_named(sentence: str, missing: tuple[str, ...]) -> None:
    """Numbers, dates and names all have to be there; of the other words half."""
    assert unsupported(sentence, EVIDENCE, frozenset(), tokenize) == missing


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("It holds 1,200 sheep.", "It holds 1200 sheep."),
        ("It holds 1\u202f200 sheep.", "It holds 1,200 sheep."),
        ("Twelve sheep died.", "12 sheep died."),
        ("12 sheep died.", "Twelve sheep died."),
        ("Forty-six people died.", "46 people died."),
        ("The Storsjo monster is named.", "The Storsjö monster is named."),
        ("It was seen on 3 May.", "It was seen on 2–3 May."),
        ("It was seen on the 3rd.", "It was seen on 3 May."),
        ("Sheep 07 died.", "Sheep 7 died."),
        ("He met Zuiyo-maru sailors.", "He met sailors of the Zuiyo Maru."),
        ("The meeting was on 5 Dec. 1966.", "The meeting was on December 5th, 1966."),
    ],
)
def test_the_same_written_differently_is_the_same(sentence: str, evidence: str) -> None:
    """Separators, words for numbers, diacritics, ranges of days."""
    assert unsupported(sentence, evidence, frozenset(), tokenize) == ()


@pytest.mark.parametrize(
    ("sentence", "evidence", "missing"),
    [
        ("It holds 200 sheep.", "It holds 1,200 sheep.", ("200",)),
        ("It holds 1.5 sheep.", "It holds 1,500 sheep.", ("1.5",)),
        ("It weighs 19 sheep.", "In 1966 it weighs sheep.", ("19",)),
        ("It was seen on 12 November by sheep.", "Seen on 15 November and 12 December by sheep.", ("12 November",)),
    ],
)
def test_a_number_is_no_part_of_another(sentence: str, evidence: str, missing: tuple[str, ...]) -> None:
    """Nor is a date put together from two."""
    assert unsupported(sentence, evidence, frozenset(), tokenize) == missing


def test_a_name_at_the_beginning_is_known_from_the_passages() -> None:
    """A word that they always write with a capital, inside their sentences too."""
    proper = proper_words(["There Mansi took it. Witnesses spoke.", "Then Radford came; many witnesses spoke. Later on."])
    assert proper == {"mansi", "radford"}
    assert unsupported("Radford took the one picture.", "Mansi took the one picture.", proper, tokenize) == ("Radford",)
    assert unsupported("Witnesses took the one picture.", "Mansi took the one picture.", proper, tokenize) == ()


def test_what_is_missing_is_named_once_in_order() -> None:
    """As the sentence writes it."""
    assert unsupported("Ohio, 1970: in Ohio lived Keel.", "Nothing.", frozenset({"ohio"}), tokenize) == ("Ohio", "1970", "lived", "Keel")


@given(st.text(max_size=200))
def test_a_sentence_supports_itself(sentence: str) -> None:
    """Whatever it is: a quote that is the sentence lacks nothing of it."""
    assert unsupported(sentence, sentence, proper_words([sentence]), tokenize) == ()
