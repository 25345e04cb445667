"""Terms: the words by which a fact is known again."""

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.language.terms import content_words, opening_names, terms
from construct.language.words import normal_form, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User moved to Porto in 2019", "porto 2019"),
        ("User met Anna. They talked. And then Ben came", "anna ben"),
        ("User met Mr. Smith, Dr. Brown and St. John", "smith dr brown st john"),
        ("User reads J. R. R. Tolkien", "j r tolkien"),
        ("User likes shops, e.g. Tesco vs. Lidl", "tesco lidl"),
        ("Termin am 5. März", "5 märz"),
        ("User met Jean-Luc and O'Brien", "jean luc o'brien"),
        ("User loves C++, not C#", "c++ c#"),
        ("User's blood type is AB-", "ab-"),
        ("User pays $5, €7.50 and 5 %", "$ 5 € 7.50 %"),
        ("It was -3°C", "-3 ° c"),
        ("Call at 9:30am on 2026-03-05", "9:30am 2026-03-05"),
        ("The prize is 3,000.50", "3,000.50"),
        ("User runs v2.1.0 of python3.11", "v2.1.0 python3.11"),
        ("Write to anna.b@example.com", "anna.b@example.com"),
        ("See https://x.org/a?b=1, or example.com/foo.", "https://x.org/a?b=1 example.com/foo"),
        ("User follows @anna_b", "@anna_b"),
        ("User has two cats and twenty-five fish", ""),
        ("用户有3只猫", "3"),
        ("عنده ٣ قطط", "3"),
        ("Nutzer hat einen Termin beim Zahnarzt", "termin zahnarzt"),
        ("USER LOVES PORTO", "loves porto"),
        ("user has an iPhone", "iphone"),
        ("User said I'm sure I'll go", ""),
        ("User likes tea", ""),
        ("Anna likes tea", ""),
    ],
)
def test_what_is_a_term(text: str, expected: str) -> None:
    """Numbers, sums, addresses and capitalised words are terms.

    A capitalised word at the beginning of a sentence is not.
    """
    assert terms(text) == frozenset(expected.split())


@pytest.mark.parametrize(
    "quoted",
    [
        '"{}"', "“{}”", "„{}“", "„{}”", "«{}»", "»{}«", "‹{}›", "`{}`", "'{}'", "‘{}’", "‚{}‘",
        "「{}」", "『{}』", "《{}》",
    ],
)  # fmt: skip
def test_quoted_words_are_terms(quoted: str) -> None:
    """Words in any kind of quotation marks are terms, including stop words."""
    assert terms("user calls it " + quoted.format("don't look up")) == {"don't", "look", "up"}
    assert terms(f"user likes {quoted.format('her')} a lot") == {"her"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna's", "Anna"), ("Anna’s", "ANNA"), ("Annaʼs", "anna"),
        ("they're", "they"), ("we’ll", "we"),
        ("Straße", "STRASSE"), ("İstanbul", "istanbul"), ("IŞIK", "Işık"),
        ("José", unicodedata.normalize("NFD", "José")),
        ("ＡＢＣ１２", "abc12"), ("٣", "3"), ("३", "3"), ("three", "3"), ("Dozen", "12"),
        ("−5", "-5"), ("ﬁne", "fine"),
    ],
)  # fmt: skip
def test_one_word_in_two_writings(one: str, other: str) -> None:
    """Case, possessive endings and encoding make no difference."""
    assert normal_form(one) == normal_form(other)
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$5", "€5"), ("-5", "5"), ("A+", "A-"), ("C", "C++"), ("9:30", "9:03"), ("1.5", "15"),
        ("不吃肉", "吃肉"),
        ("anna@x.org", "anna@y.org"), ("two", "three"), ("5%", "5"), ("住在北京", "住在上海"),
        ("हिन्दी", "हिन्दू"),
    ],
)  # fmt: skip
def test_different_things_are_different_words(one: str, other: str) -> None:
    """Signs, currencies, number words and single ideographs tell things apart."""
    assert words(one) != words(other)


def test_scripts_without_spaces_have_words() -> None:
    """Each Chinese or Japanese character is a word, and none is a term."""
    assert content_words("用户对花生过敏") == frozenset("用户对花生过敏")
    assert terms("映画「千と千尋の神隠し」を2回見た") == {"2"}


def test_opening_names() -> None:
    """A capitalised word at the beginning may be a name.

    "User", other stop words and articles are none.
    """
    assert opening_names("Anna lives here. Ben too. The cat as well. User sleeps") == {
        "anna",
        "ben",
    }
    assert opening_names("O Tiago joga. A Inês lê. Der Hund schläft") == frozenset()
    assert opening_names("Since I was 6. Never again. Perhaps soon") == frozenset()


@settings(deadline=None)
@given(st.text())
def test_terms_are_words_of_the_text(text: str) -> None:
    """Every term is among the words of the text, and so is every content word."""
    said = set(words(text))
    assert terms(text) <= said
    assert opening_names(text) <= said
    assert content_words(text) <= said


@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1))
def test_folding_is_stable(word: str) -> None:
    """Folding a folded word changes nothing.

    A word in capitals folds to the same word.
    """
    assert normal_form(normal_form(word)) == normal_form(word)
    if word.isascii():
        assert normal_form(word.upper()) == normal_form(word.lower())


@pytest.mark.parametrize(
    "unit", ["a-", "_", "京", "a.a", "@", "a@", "'", '"', "A. ", "“", "1-", "'a ", "+", "x/"]
)
def test_no_text_takes_long(unit: str) -> None:
    """The longest line takes a fraction of a second, whatever is in it."""
    began = time.process_time()
    terms(unit * (10_000 // len(unit)))
    assert time.process_time() - began < 1
