"""Passages and questions are cut into the same words, whatever the script, the case and the punctuation."""

import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.retrieval.words import LANGUAGES, fold, tokenize, words_language

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "0_㐀",
                "a_ʼs",
                "怪\u0301物",
                "Yeti’s",
                "dobhar-chú",
                "Störsjö",
                "怪物を見た",
                "кассовый",
                "हिन्दी",
                "สัตว์",
                "ʼ",
                "-",
                "_a_",
                "❤️",
                "\u0301",
                "ŉ",
                "ß",
                "İ",
                "½",
                "ﬁ",
            ]
        ),
        # Python's own tables are older than regex's: what they do not know yet is left out.
        st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=6),
    ),
    max_size=8,
).map(" ".join)
THAI_ON = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("The YETI", ["the", "yeti"], id="case"),
        pytest.param("retry?", ["retry"], id="question mark"),
        pytest.param("What is the “yeti”?", ["what", "is", "the", "yeti"], id="curly quotes"),
        pytest.param("«Yeti», (yeti)… yeti—yeti", ["yeti", "yeti", "yeti", "yeti"], id="other punctuation"),
        pytest.param("Nessie's Nessie’s Nessieʼs NESSIE’S", ["nessie", "nessie", "nessie", "nessie"], id="possessives, straight and curly"),
        pytest.param("the trolls' trolls’", ["the", "trolls", "trolls"], id="plural possessives"),
        pytest.param("O'Brien", ["o", "brien", "obrien"], id="apostrophe inside"),
        pytest.param("Storsjöodjuret", ["storsjoodjuret"], id="umlaut"),
        pytest.param("storsjoodjuret", ["storsjoodjuret"], id="the same, typed plainly"),
        pytest.param("Dobhar-chú", ["dobhar", "chu", "dobharchu"], id="hyphen: parts and joined"),
        pytest.param("dobhar\u2010chú dobhar\u2011chu\u0301", ["dobhar", "chu", "dobharchu"] * 2, id="other hyphens, decomposed accent"),
        pytest.param("will-o'-the-wisp", ["will", "o", "willo", "the", "wisp", "thewisp"], id="two marks in a row part two words"),
        pytest.param(
            "Ångström Øresund Łódź Æsir Þór Đavo", ["angstrom", "oresund", "lodz", "aesir", "thor", "davo"], id="strokes and ligatures"
        ),
        pytest.param("Straße STRASSE", ["strasse", "strasse"], id="sharp s"),
        pytest.param("ﬁre ＹＥＴＩ ½", ["fire", "yeti", "1", "2"], id="compatibility forms"),
        pytest.param("Ψάρι", ["ψαρι"], id="Greek without accents"),
        pytest.param("кассовый ЙЕТИ", ["кассовый", "йети"], id="Cyrillic keeps й"),
        pytest.param("हिन्दी में", ["हिन्दी", "में"], id="Devanagari keeps its marks"),
        pytest.param("יְרוּשָׁלַיִם", ["יְרוּשָׁלַיִם"], id="Hebrew keeps its points"),
        pytest.param("괴물을 보았다", ["괴물을", "보았다"], id="Korean has spaces"),
        pytest.param("怪物", ["怪物"], id="two characters"),
        pytest.param("怪物を見た。", ["怪物", "物を", "を見", "見た"], id="Japanese in bigrams"),
        pytest.param("山", ["山"], id="one character"),
        pytest.param("ガガー", ["ガガ", "ガー"], id="katakana with a long vowel"),
        pytest.param("ｶﾞ", ["ガ"], id="half-width katakana, composed"),
        pytest.param("สัตว์", ["สั", "ัต", "ตว", "ว์"], id="Thai keeps its marks"),
        pytest.param("Yeti雪男x", ["yeti", "雪男", "x"], id="scripts mixed in one word"),
        pytest.param("mon\u00adster zero\u200dwidth", ["monster", "zerowidth"], id="soft hyphen and joiner"),
        pytest.param("_Homo sapiens_ snake_case ___", ["homo", "sapiens", "snake_case"], id="underscores inside words only"),
        pytest.param("❤️ 👁️‍🗨️ ✌🏽", [], id="emoji are no words, nor are their modifiers"),
        pytest.param("ʼ ʼs ʼabc", ["abc"], id="an apostrophe that counts as a letter"),
        pytest.param("葛\U000e0100城 葛城", ["葛城", "葛城"], id="variation selectors"),
        pytest.param("snow_怪物_owl a_ʼs", ["snow", "怪物", "owl", "a"], id="underscores beside another script"),
        pytest.param("1842 3.5", ["1842", "3", "5"], id="numbers"),
        pytest.param("<|endoftext|>", ["endoftext"], id="special token"),
        pytest.param("?!… \n", [], id="no word"),
        pytest.param("", [], id="empty"),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    """The words of a text, before any language's stop words and stems."""
    assert tokenize(text, "none") == words


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        pytest.param("english", "The monsters of the lakes", ["monster", "lake"], id="English"),
        pytest.param("english", "The THE the’s", [], id="English, nothing but stop words"),
        pytest.param("german", "Die Ungeheuer und die Seen", ["ungeheu", "seen"], id="German"),
        pytest.param("french", "Les monstres à l’eau", ["monstr", "eau", "leau"], id="French: stop words are folded too"),
        pytest.param("russian", "и монстры", ["монстр"], id="Russian"),
        pytest.param("swedish", "och monstren på sjön", ["monstr", "sjon"], id="Swedish"),
        pytest.param("none", "The monsters", ["the", "monsters"], id="none"),
    ],
)
def test_languages(language: str, text: str, words: list[str]) -> None:
    """A language leaves its stop words out and stems the rest; `none` does neither."""
    assert tokenize(text, language) == words


@pytest.mark.parametrize(
    ("stopwords", "words"),
    [pytest.param("long", ["monster"], id="long"), pytest.param("short", ["which", "monster", "were", "about"], id="short")],
)
def test_stop_words(stopwords: str, words: list[str]) -> None:
    """English has two lists: the short one keeps what questions begin with; stems are the same under both."""
    assert tokenize("Which of the monsters were about?", words_language("english", stopwords)) == words
    assert tokenize("monsters", words_language("none", stopwords)) == ["monsters"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_works(language: str) -> None:
    """Every language that can be chosen has a stemmer and stop words."""
    assert len(tokenize("Nessie 怪物 42", language)) == 3


@given(TEXTS)
def test_words_are_words(text: str) -> None:
    """A word is never empty, holds a letter or digit, no white space, no upper case and no punctuation but inner underscores."""
    for word in tokenize(text, "none"):
        assert any(unicodedata.category(each)[0] in "LNM" for each in word)
        assert not any(unicodedata.category(each)[0] in "PZC" and each != "_" for each in word)
        assert word == word.strip("_")


@given(TEXTS)
def test_composed_or_not(text: str) -> None:
    """Composed and decomposed letters give the same words."""
    assert tokenize(unicodedata.normalize("NFD", text), "none") == tokenize(unicodedata.normalize("NFC", text), "none")


@given(TEXTS.filter(lambda text: not THAI_ON.search(text)))  # their bigrams may begin with a mark
def test_words_of_words(text: str) -> None:
    """Without a language, the words of words are the words: nothing is folded only the second time."""
    words = tokenize(text, "none")
    assert tokenize(" ".join(words), "none") == words


@given(TEXTS)
def test_case_does_not_matter(text: str) -> None:
    """Casefolded text gives the same words, in every case that Unicode folds to it."""
    assert tokenize(text.casefold(), "english") == tokenize(text, "english")


@given(TEXTS)
def test_folding_once_is_enough(text: str) -> None:
    """Folding what is folded changes nothing."""
    word = unicodedata.normalize("NFKC", text).casefold()
    assert fold(fold(word)) == fold(word)


def test_threads() -> None:
    """Eight threads that begin to stem at once get what one gets."""
    texts = [f"running monsters {n} wonderfully haunted lakes of the generations" for n in range(200)]
    expected = [[tokenize(text, language) for text in texts] for language in LANGUAGES]
    together = threading.Barrier(8)

    def work(_: int) -> list[list[list[str]]]:
        together.wait(timeout=60)
        return [[tokenize(text, language) for text in texts] for language in LANGUAGES]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [expected] * 8
