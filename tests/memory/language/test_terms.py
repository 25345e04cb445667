"""Terms: the words that must be neither lost nor invented."""

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.memory.language.terms import content_words, fold, negates, opening_names, stem, terms, words


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
        ("User has two cats and twenty-five fish", "2 20 5"),
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
    """Numbers, sums, addresses and capitalised words that begin no sentence are terms."""
    assert terms(text) == frozenset(expected.split())


@pytest.mark.parametrize(
    "quoted",
    [
        '"{}"', "“{}”", "„{}“", "„{}”", "«{}»", "»{}«", "‹{}›", "`{}`", "'{}'", "‘{}’", "‚{}‘",
        "「{}」", "『{}』", "《{}》",
    ],
)  # fmt: skip
def test_quoted_words_are_terms(quoted: str) -> None:
    """Whatever the quotation marks are, the words between them are terms, stop words too."""
    assert terms("user calls it " + quoted.format("don't look up")) == {"don't", "look", "up"}
    assert terms(f"user likes {quoted.format('her')} a lot") == {"her"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna's", "Anna"), ("Anna’s", "ANNA"), ("Annaʼs", "anna"), ("they're", "they"), ("we’ll", "we"),
        ("Straße", "STRASSE"), ("İstanbul", "istanbul"), ("IŞIK", "Işık"),
        ("José", unicodedata.normalize("NFD", "José")),
        ("ＡＢＣ１２", "abc12"), ("٣", "3"), ("३", "3"), ("three", "3"), ("Dozen", "12"), ("−5", "-5"), ("ﬁne", "fine"),
    ],
)  # fmt: skip
def test_one_word_in_two_writings(one: str, other: str) -> None:
    """Words are compared in any case of letters, without possessive endings, and whatever their encoding."""
    assert fold(one) == fold(other)
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$5", "€5"), ("-5", "5"), ("A+", "A-"), ("C", "C++"), ("9:30", "9:03"), ("1.5", "15"), ("不吃肉", "吃肉"),
        ("anna@x.org", "anna@y.org"), ("two", "three"), ("5%", "5"), ("住在北京", "住在上海"), ("हिन्दी", "हिन्दू"),
    ],
)  # fmt: skip
def test_different_things_are_different_words(one: str, other: str) -> None:
    """Signs, currencies, number words and characters of scripts without spaces tell things apart."""
    assert words(one) != words(other)


def test_scripts_without_spaces_have_words() -> None:
    """Each character of Chinese or Japanese is a word that can be missed."""
    assert content_words("用户对花生过敏") == frozenset("用户对花生过敏")
    assert negates("用户不吃肉")


@pytest.mark.parametrize("text", ["User doesn't eat", "never", "No meat", "isn’t", "isst kein Fleisch", "não come"])
def test_denials_are_seen(text: str) -> None:
    """What denies something is known as such, in the languages most likely to come up."""
    assert negates(text)


def test_opening_names() -> None:
    """A capitalised word at the beginning may be a name; "User" and other stop words are none."""
    assert opening_names("Anna lives here. Ben too. The cat as well. User sleeps") == {"anna", "ben"}


@pytest.mark.parametrize("family", ["lives lived live living", "works worked work", "cats cat", "prefers preferred"])
def test_inflections_share_a_stem(family: str) -> None:
    """The usual endings of English do not make another word."""
    first, *others = family.split()
    assert all(stem(first)[:5] == stem(word)[:5] for word in others)


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
    """Folding a folded word changes nothing, and a word in capitals is the same word."""
    assert fold(fold(word)) == fold(word)
    if word.isascii():
        assert fold(word.upper()) == fold(word.lower())


@pytest.mark.parametrize("unit", ["a-", "_", "京", "a.a", "@", "a@", "'", '"', "A. ", "“", "1-", "'a ", "+", "x/"])
def test_no_text_takes_long(unit: str) -> None:
    """The longest line that is believed takes a fraction of a second, whatever is in it."""
    began = time.process_time()
    terms(unit * (10_000 // len(unit)))
    assert time.process_time() - began < 1
