"""One normal form, one way to count and cut: graphemes, words, sentences, tokens; and which questions can be asked."""

import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from sitt_core import text
from sitt_core.errors import InvalidInput, SourceError
from sitt_core.settings import FIELD_GUIDE
from sitt_core.text import LONGEST_GRAPHEME, MAX_QUESTION

HOSTILE = (
    "二酸化炭素",
    "👩‍👩‍👧‍👦",
    "🇳🇴🇸🇪",
    "👍🏽",
    "e\u0301",
    "Z" + "\u0301" * 40,
    "नमस्ते",
    "สัตว์",
    "각",
    "\r\n",
    "\n",
    " ",
    "\t",
    "<|endoftext|>",
    "Dr. Smith",
    "“Was it?”",
    "怪物を見た。",
    "a" * 50,
    "\u200b",
    "\ufffd",
    ".",
    "!",
    "word",
    "ﷺ",
    "𝕏",
)
PIECES = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)), max_size=12)
TEXTS = PIECES.map("".join)
ANY_TEXT = st.one_of(TEXTS, st.text(st.characters(), max_size=30))


class TestDecode:
    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            pytest.param("Kråkan ropade".encode(), "Kråkan ropade", id="UTF-8"),
            pytest.param(b"\xef\xbb\xbf# Lake\ntext", "# Lake\ntext", id="UTF-8 with a byte order mark"),
            pytest.param("Näcken 🌲".encode("utf-16"), "Näcken 🌲", id="UTF-16"),
            pytest.param(b"\xff\xfe" + "Näcken".encode("utf-16-le"), "Näcken", id="UTF-16, little-endian"),
            pytest.param(b"\xfe\xff" + "Näcken".encode("utf-16-be"), "Näcken", id="UTF-16, big-endian"),
            pytest.param(b"\x93Na\xefve\x94 \x85", "“Naïve” …", id="Windows-1252"),
            pytest.param(b"a\x81b", "a\ufffdb", id="undefined in Windows-1252"),
            pytest.param(b"\xff\xfeabc", "ÿþabc", id="half a UTF-16 unit is no UTF-16"),
            pytest.param(b"", "", id="empty"),
        ],
    )
    def test_encodings(self, data: bytes, expected: str) -> None:
        """A text file is read in the encoding it is in."""
        assert text.decode(data, name="a.md") == expected

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", id="PNG"),
            pytest.param("yeti".encode("utf-16-le"), id="UTF-16 without a byte order mark"),
            pytest.param("yeti".encode("utf-32"), id="UTF-32"),
            pytest.param(b"\xff\xfe" + "a\x00b".encode("utf-16-le"), id="NUL in UTF-16"),
            pytest.param(b"\xff\xfea\x00b", id="UTF-16 cut in two"),
        ],
    )
    def test_no_text(self, data: bytes) -> None:
        """Bytes with NULs are no text: a named error with the file's name."""
        with pytest.raises(SourceError, match=r"NUL bytes in notes/a\.md"):
            text.decode(data, name="notes/a.md")

    @given(TEXTS.filter(lambda each: "\x00" not in each and not each.startswith("\ufeff")))
    def test_round_trip(self, written: str) -> None:
        """Whatever was written as UTF-8 is read as it was, with a byte order mark or without."""
        assert text.decode(written.encode(), name="x") == written
        assert text.decode(written.encode("utf-8-sig"), name="x") == written


SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


class TestNormalise:
    @pytest.mark.parametrize(
        ("given_", "expected"),
        [
            pytest.param("a\r\nb\rc\nd", "a\nb\nc\nd", id="line ends"),
            pytest.param("a\x0bb\x0cc\x85d\u2028e\u2029f", "a\nb\nc\nd\ne\nf", id="rarer line ends"),
            pytest.param("a\x00b\x07c\x1bd\x7fe\x9bf\ufeffg", "abcdefg", id="control characters"),
            pytest.param("a\tb", "a\tb", id="a tab stays"),
            pytest.param("e\u0301 é ﬁ ½ ＡＢ", "e\u0301 é ﬁ ½ ＡＢ", id="no Unicode normalisation"),
            pytest.param("a\u200bb\u2060c\ufeffd", "abcd", id="zero-width space, word joiner, byte order mark"),
            pytest.param("\u202ea\u202c\u2066b\u2069\u200ec\u200f\u061cd", "abcd", id="marks of direction"),
            pytest.param("see\U000e0068\U000e0069\U000e007f", "see", id="tags outside a flag, which can hide words"),
            pytest.param(SCOTLAND, SCOTLAND, id="the tags of a flag stay"),
            pytest.param(SCOTLAND[:-1] + "!", "\U0001f3f4!", id="tags of a flag without an end"),
            pytest.param("می\u200cخواهم", "می\u200cخواهم", id="a non-joiner inside a word stays"),
            pytest.param("ක්\u200dෂ ക്\u200d.", "ක්\u200dෂ ക്\u200d.", id="a joiner inside a word and behind a virama stays"),
            pytest.param("👩🏽\u200d🔬 ❤️\u200d🔥", "👩🏽\u200d🔬 ❤️\u200d🔥", id="a joiner inside an emoji stays"),
            pytest.param("a \u200d\u200c b, c\u200d!", "a  b, c!", id="joiners that join nothing"),
            pytest.param("\u200da\u200c", "a", id="joiners at the edges"),
            pytest.param("a\u00adb", "a\u00adb", id="a soft hyphen stays"),
            pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        ],
    )
    def test_changes(self, given_: str, expected: str) -> None:
        r"""Line ends become `\n`, control characters go, lone surrogates become U+FFFD; nothing else changes."""
        assert text.normalise(given_) == expected

    def test_takes_nothing_from_the_field_guide(self) -> None:
        """The bundled texts have nothing to lose, so their documents stay what they are."""
        files = sorted(FIELD_GUIDE.rglob("*.md"))
        assert len(files) > 50
        assert [file.name for file in files if text.normalise(file.read_text("utf-8")) != file.read_text("utf-8")] == []

    def test_of_a_piece(self) -> None:
        """An answer comes in pieces: an emoji cut in two at its joiner is whole again when they are joined."""
        pieces = ("👩🏽\u200d", "🔬 می\u200c", "خواهم a\u200d ", "\u200d🔬")
        assert "".join(text.normalise(each, piece=True) for each in pieces) == "👩🏽\u200d🔬 می\u200cخواهم a \u200d🔬"

    def test_counts_what_it_took(self) -> None:
        """Each character that was taken out is counted by its code point; what stays is not."""
        assert text.normalise_counted("a\u200bb\u200b\x00 می\u200cخواهم\r\n") == ("ab می\u200cخواهم\n", {"U+200B": 2, "U+0000": 1})
        assert text.normalise_counted("nothing") == ("nothing", {})

    @given(ANY_TEXT)
    @example("\r\x00\n")
    def test_is_normal(self, raw: str) -> None:
        """Normal text has no control character but tab and line feed, can be encoded, and is its own normal form."""
        normal = text.normalise(raw)
        assert {each for each in normal if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")} <= {"\n", "\t"}
        assert normal.encode().decode() == normal
        assert text.normalise(normal) == normal

    @given(ANY_TEXT)
    def test_loses_no_letter(self, raw: str) -> None:
        """Every letter, mark, number and sign is still there, in order."""
        kept = [each for each in raw if unicodedata.category(each)[0] in "LMNPS"]
        assert [each for each in text.normalise(raw) if unicodedata.category(each)[0] in "LMNPS" and each != "\ufffd"] == [
            each for each in kept if each != "\ufffd"
        ]

    def test_identity(self) -> None:
        """A text's identity is the SHA-256 of its UTF-8, and even a lone surrogate has one."""
        assert text.sha256_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        assert text.sha256_text("é") != text.sha256_text("e\u0301")
        assert text.sha256_text("\ud800") != text.sha256_text("\ud801")


class TestGraphemes:
    @given(TEXTS)
    @example("a\r\nb")
    @example("")
    def test_equals_the_reference(self, given_: str) -> None:
        r"""A cut may fall where a `\X` of the regex library begins or ends, and inside one that is too long."""
        expected = {0, len(given_)}
        for match in regex.finditer(r"\X", given_):
            expected |= {match.start(), *(range(*match.span()) if len(match[0]) > LONGEST_GRAPHEME else ())}
        assert text.grapheme_starts(given_).tolist() == sorted(expected)

    @pytest.mark.parametrize(
        ("given_", "starts"),
        [
            pytest.param("e\u0301a", [0, 2, 3], id="combining mark"),
            pytest.param("👩‍👩‍👧‍👦!", [0, 7, 8], id="family"),
            pytest.param("🇳🇴🇸🇪", [0, 2, 4], id="flags"),
            pytest.param("a\r\nb", [0, 1, 3, 4], id="CR LF"),
            pytest.param("Z" + "\u0301" * 31, [0, 32], id="the longest that stays whole"),
            pytest.param("Z" + "\u0301" * 32, list(range(34)), id="zalgo is cut between code points"),
        ],
    )
    def test_examples(self, given_: str, starts: list[int]) -> None:
        """What a reader sees as one character is not cut."""
        assert text.grapheme_starts(given_).tolist() == starts


@pytest.mark.parametrize(
    ("given_", "starts"),
    [("", []), ("one two", [4]), (" one\n\ntwo\u3000三", [1, 6, 10]), ("one ", [])],
    ids=["empty", "two words", "all white space", "space at the end"],
)
def test_word_starts(given_: str, starts: list[int]) -> None:
    """A word starts after white space of any kind; the text's own start is not one."""
    assert text.word_starts(given_) == starts


class TestSentences:
    @pytest.mark.parametrize(
        ("given_", "sentences"),
        [
            pytest.param("It rose. It sank! Did it?", ["It rose.", "It sank!", "Did it?"], id="plain"),
            pytest.param("Dr. Smith saw it. Mr. Wu, e.g., did not.", ["Dr. Smith saw it.", "Mr. Wu, e.g., did not."], id="abbreviations"),
            pytest.param("It is 3.5 m long. Yes.", ["It is 3.5 m long.", "Yes."], id="decimal point"),
            pytest.param("“Was it?” he said. Nobody knew.", ["“Was it?” he said.", "Nobody knew."], id="question in quotes"),
            pytest.param("怪物を見た。本当だ。「そうか。」", ["怪物を見た。", "本当だ。", "「そうか。」"], id="Japanese"),
            pytest.param("🌲 It rose. 🦉 It sank.", ["🌲 It rose.", "🦉 It sank."], id="outside the basic plane"),
            pytest.param("One.\n\nTwo.", ["One.", "Two."], id="paragraphs"),
            pytest.param("  no end  ", ["no end"], id="white space around"),
            pytest.param(" \n ", [], id="blank"),
            pytest.param("", [], id="empty"),
        ],
    )
    def test_examples(self, given_: str, sentences: list[str]) -> None:
        """Sentences end where a reader would say so."""
        assert [given_[start:end] for start, end in text.sentence_spans(given_)] == sentences

    @given(TEXTS)
    def test_conserves_the_text(self, given_: str) -> None:
        """Sentences are in order, apart, stripped and not blank, and together hold all but white space."""
        place = 0
        for start, end in text.sentence_spans(given_):
            assert place <= start < end
            assert given_[place:start].strip() == ""
            assert given_[start:end] == given_[start:end].strip()
            place = end
        assert given_[place:].strip() == ""


class TestTokens:
    @pytest.mark.parametrize(
        "given_", ["what is <|endoftext|>?", "<|fim_prefix|><|im_start|>", "<|endofprompt|>"], ids=["in a question", "others", "alone"]
    )
    def test_special_tokens_are_plain_text(self, given_: str) -> None:
        """Text that looks like a special token is counted as the characters it is, and no error."""
        assert text.count_tokens(given_) == len(text.encoding().encode(given_, disallowed_special=()))
        assert text.count_tokens(given_) > 1
        assert text.token_starts(given_)[-1] == len(given_)

    @pytest.mark.parametrize("blank", [" ", "\u3000", "\t"], ids=["spaces", "wide spaces", "tabs"])
    def test_a_blank_of_any_length_can_be_counted(self, blank: str) -> None:
        """White space at a stretch for which tiktoken alone panics is encoded in pieces; all else keeps its tokens."""
        given_ = "Before it." + blank * 1_200_000 + "After it."
        starts = text.token_starts(given_)
        assert len(starts) == text.count_tokens(given_) + 1
        assert starts[-1] == len(given_)
        assert starts[:4].tolist() == text.token_starts("Before it." + blank * 20)[:4].tolist()

    @given(TEXTS)
    @example("")
    @example("二酸化炭素" * 10)
    def test_equals_the_reference(self, given_: str) -> None:
        """Tokens start where tiktoken's own offsets say; one that begins inside a character, at the character after it."""
        tokens = text.encoding().encode_ordinary(given_)
        if tokens:
            decoded, offsets = text.encoding().decode_with_offsets(tokens)
            assert decoded == given_
        else:
            offsets = []
        inside = [0x80 <= text.encoding().decode_single_token_bytes(token)[0] < 0xC0 for token in tokens]
        starts = text.token_starts(given_)
        assert starts.tolist() == [*(np.array(offsets, dtype=int) + np.array(inside, dtype=int)).tolist(), len(given_)]
        assert len(starts) == text.count_tokens(given_) + 1
        assert (np.diff(starts) >= 0).all()


class TestQuestions:
    @pytest.mark.parametrize(
        "question",
        [
            "Who saw it?",
            "yeti",
            "怪物",
            "7",
            "что?",
            "what is <|endoftext|>?",
            "🌲 where?",
            "x" * MAX_QUESTION,
            "'; DROP TABLE chunks; --",
        ],
        ids=["plain", "a word", "Japanese", "a digit", "Russian", "special token", "emoji and a word", "the longest", "SQL"],
    )
    def test_can_be_asked(self, question: str) -> None:
        """A question comes back without the white space around it, otherwise as it was."""
        assert text.check_question(f" \n{question}\t ") == question

    @pytest.mark.parametrize(
        ("question", "expected", "got"),
        [
            pytest.param("", "a question", "nothing but white space", id="empty"),
            pytest.param(" \n\t\u3000\u2028", "a question", "nothing but white space", id="blank"),
            pytest.param("x" * 4001, "a question of at most 4,000 characters", "4,001 characters", id="too long"),
            pytest.param("a\x00b", "a question in plain text", "a NUL character", id="NUL"),
            pytest.param("a\ud800b", "a question in valid Unicode", "a lone surrogate", id="lone surrogate, high"),
            pytest.param("a\udfff", "a question in valid Unicode", "a lone surrogate", id="lone surrogate, low"),
            pytest.param("?!… —", "a question with at least one letter or digit", "only punctuation", id="punctuation"),
            pytest.param("🌲🦉", "a question with at least one letter or digit", "only punctuation", id="emoji"),
            pytest.param("\u200b", "a question with at least one letter or digit", "only punctuation", id="invisible"),
        ],
    )
    def test_cannot_be_asked(self, question: str, expected: str, got: str) -> None:
        """What cannot be asked is a named error with what to do."""
        with pytest.raises(InvalidInput) as caught:
            text.check_question(question)
        assert (caught.value.expected, caught.value.got) == (expected, got)
        assert caught.value.remedy
