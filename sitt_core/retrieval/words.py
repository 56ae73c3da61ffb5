"""The one keyword tokenizer: what counts as a word, for passages and questions alike."""

import functools
import threading
import unicodedata
from typing import Any

import regex

WORDS_VERSION = "1"
"""Part of every index's fingerprint: raise it when the same text would give other words."""

LANGUAGES = (
    "english",
    "danish",
    "dutch",
    "french",
    "german",
    "italian",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "none",
)
"""Languages with a Snowball stemmer and a stop word list; `none` keeps every word as it is."""

# A word begins with a letter or a digit and does not end in an underscore: emoji modifiers and _emphasis_ are none.
_PART = r"[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}_]*[\p{L}\p{M}\p{N}])?"
_WORD = regex.compile(rf"{_PART}(?:[-‐‑'’ʼ]{_PART})*")
_LETTERS = regex.compile(_PART)
# Soft hyphen, joiners and variation selectors stand inside words, not between them.
_INVISIBLE = regex.compile("[\u00ad\u200c\u200d\u2060\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_JOINT = regex.compile(r"[-‐‑'’ʼ]")
_POSSESSIVE = regex.compile(r"['’ʼ]s?$")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々]+")
_FOLDABLE = regex.compile(r"[\p{Latin}\p{Greek}]")
# Letters that Unicode does not decompose into a base letter and a mark.
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ı": "i"})
_local = threading.local()


def words_language(language: str, stopwords: str = "long") -> str:
    """How `tokenize` is told the language of a corpus and the list of stop words: `english`, or `english+short`."""
    return language if stopwords == "long" else f"{language}+{stopwords}"


def tokenize(text: str, language: str = "english") -> list[str]:
    """The words of a text in order: NFKC, case and diacritics folded, possessives dropped, stop words left out, stemmed.

    `language` is what `words_language` makes. A hyphenated word gives its parts and the joined form; a script without
    spaces gives bigrams.
    """
    stop = _stop_words(language)
    language = language.partition("+")[0]
    words: list[str] = []
    for match in _WORD.finditer(_INVISIBLE.sub("", unicodedata.normalize("NFKC", text).casefold())):
        for word in _forms(match.group()):
            if word not in stop:
                words.append(_stem(word, language))
    return words


def _forms(word: str) -> list[str]:
    """The words that one run of letters stands for, folded."""
    word = fold(_POSSESSIVE.sub("", word))
    if not _UNSPACED.search(word):
        parts = _parts(word)
        return parts if len(parts) < 2 else [*parts, "".join(parts)]
    forms, place = [], 0
    for run in _UNSPACED.finditer(word):
        forms += _parts(word[place : run.start()])
        forms += _bigrams(run.group())
        place = run.end()
    return forms + _parts(word[place:])


def _parts(word: str) -> list[str]:
    """What hyphens and apostrophes part; ʼ counts as a letter, so that nothing may be left on one side of it."""
    return [part for piece in _JOINT.split(word) for part in _LETTERS.findall(piece)]


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def fold(word: str) -> str:
    """A casefolded word without the diacritics of Latin and Greek letters; other scripts need their marks."""
    if word.isascii():
        return word
    kept, base_folds = [], False
    for character in unicodedata.normalize("NFD", word):
        if unicodedata.combining(character):
            if not base_folds:
                kept.append(character)
        else:
            base_folds = _FOLDABLE.match(character) is not None
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_STROKES)


def _stem(word: str, language: str) -> str:
    if language == "none":
        return word
    # PyStemmer's objects keep a cache that threads must not share.
    stemmers: dict[str, Any] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        import Stemmer

        stemmers[language] = Stemmer.Stemmer(language)
    stem: str = stemmers[language].stemWord(word)
    return stem


@functools.cache
def _stop_words(language: str) -> frozenset[str]:
    language, _, wanted = language.partition("+")
    if language == "none":
        return frozenset()
    import bm25s.stopwords

    # English has a short list (Lucene's) and a long one (NLTK's); the long one also holds what questions begin with. By BM25
    # alone the long one gave an nDCG@10 of .698 on scifact and .967 on xquad-en, the short one .690 and .966.
    name = ("EN" if wanted == "short" else "EN_PLUS") if language == "english" else language.upper()
    return frozenset(form for word in getattr(bm25s.stopwords, f"STOPWORDS_{name}") for form in _forms(word.casefold()))
