"""What a query asks for, and words as the index has them: pure functions."""

import sqlite3
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.language.index_words import fold, index_words, one_width, stem, word_forms
from construct.language.named_periods import named_periods
from construct.language.periods import Period
from construct.memory.recall.query import MAX_WORDS, analyse, any_of, gated
from construct.memory.recall.speakers import Turn, identify_speakers, is_participant_name
from construct.store.search import Entry

TODAY = date(2026, 11, 21)  # a Saturday


@pytest.fixture(scope="module")
def index() -> sqlite3.Connection:
    """An index that tokenizes as ours do, with its vocabulary."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61 remove_diacritics 2')"
    )
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    return db


def indexed(db: sqlite3.Connection, text: str) -> list[str]:
    """Return the terms under which SQLite files a text."""
    db.execute("DELETE FROM t")
    db.execute("INSERT INTO t VALUES (?)", (text,))
    return [term for (term,) in db.execute("SELECT term FROM v ORDER BY offset")]


_SUFFIXES = [
    "", "s", "ed", "ing", "ation", "ational", "izer", "fulness", "iveness", "ousli", "biliti",
    "logi", "eed", "y", "ies", "sses", "ement", "ion", "al", "ll", "e", "ly", "ness", "ance",
    "ive", "ate",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    root=st.text("abcdefghilmnoprstuvwxyz", max_size=9),
    suffixes=st.lists(st.sampled_from(_SUFFIXES), max_size=2),
)
def test_stems_are_those_of_the_index(
    index: sqlite3.Connection, root: str, suffixes: list[str]
) -> None:
    """A word's stem is the term under which SQLite's porter tokenizer files it."""
    word = root + "".join(suffixes)
    assert [stem(w) for w in index_words(word)] == indexed(index, word)


@pytest.mark.parametrize(
    "text",
    [
        "São João, 12:30",
        "Ünïcode Straße",
        "λόγος ΛΌΓΟΣ",
        "don't",
        "e-mail me@here.org",
        "e\u0301te\u0301",
        "x_y",
        "привет мой мир",
        "ńąże İstanbul",
    ],
)
def test_words_are_those_of_the_index(index: sqlite3.Connection, text: str) -> None:
    """Folding and splitting agree with the tokenizer, which keeps ß."""
    assert [stem(w) for w in index_words(text)] == indexed(index, one_width(text))


@settings(max_examples=100, deadline=None)
@given(
    word=st.text("aeinorstyéñöüßçąłøåæœğіїйёабвгдежλόγοςάώאבגابتहिन्दी", min_size=1, max_size=9),
    suffix=st.sampled_from(_SUFFIXES),
)
def test_stems_of_other_letters_are_those_of_the_index(
    index: sqlite3.Connection, word: str, suffix: str
) -> None:
    """Beyond ASCII too."""
    words = [stem(w) for w in index_words(word + suffix)]
    assert words == indexed(index, one_width(word + suffix))


def test_folding_keeps_length_for_plain_text() -> None:
    """Plain text is only lowered."""
    assert fold("Plain TEXT.") == "plain text."


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("What did we decide about the kitchen floor?", ("decide", "kitchen", "floor")),
        ("Where is my son's hat?", ("son", "hat")),
        ("Wo hat mein Bruder gearbeitet?", ("bruder", "gearbeitet")),
        ("run running ran", ("run",)),
        ("who are you", ("who", "are", "you")),
    ],
)
def test_content_words_are_kept(text: str, content: tuple[str, ...]) -> None:
    """Stop words go, one word of each stem stays.

    If nothing else is there they stay all.
    """
    assert analyse(text).words == content


def test_a_pasted_page_is_cut() -> None:
    """At most so many words are looked for."""
    assert len(analyse(" ".join(f"word{i}" for i in range(10_000))).words) == MAX_WORDS


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("What did I say about my back?", "user"),
        ("What did you tell me about Faro?", "assistant"),
        ("Do you remember where I put my keys?", "user"),
        ("my keys", "user"),
        ("your advice", "assistant"),
        ("Do you think Ana would like tiles?", None),
        ("Can you help me find tiles for Ana?", None),
        ("Claude, could you find my keys?", "user"),
        ("What did you say about tiles, can you tell me?", "assistant"),
        ("you and I at the beach", None),
        ("the keys", None),
    ],
)
def test_whose_words_are_meant(text: str, role: str | None) -> None:
    """The subject of the question decides, then whichever of "I" and "you" is alone."""
    assert analyse(text).role == role


def test_forms_of_a_word() -> None:
    """Irregular forms are one word, others stand alone."""
    assert set(word_forms("broken")) == {"broken", "break", "broke"}
    assert word_forms("lamp") == ("lamp",)


def test_with_few_rows_the_gate_is_open() -> None:
    """All words are alternatives as long as their rows together are few."""
    assert gated(["oak", "elm"], {"oak": 5, "elm": 9}, 100, 1000) == any_of(["oak", "elm"])


def test_with_many_rows_a_rare_word_is_required() -> None:
    """Of many rows those with a rare word count.

    The commonest word is not even weighed.
    """
    rows = {"oak": 5, "tree": 500, "the": 90_000}
    assert gated(["the", "tree", "oak"], rows, 100, 1000) == '("oak") AND ("oak" OR "tree")'
    assert gated(["the"], rows, 100, 1000) == any_of(["the"])


def test_in_a_large_file_two_commoner_words_are_enough_too() -> None:
    """Of the words between the rare ones and the commonest, any two let a row in.

    All of them are weighed.
    """
    rows = {"oak": 5, "elm": 200, "ash": 210, "yew": 220, "tree": 5000}
    paired = '("oak" OR ("elm" AND ("ash" OR "yew")) OR ("ash" AND ("yew")))'
    assert gated(list(rows), rows, 100, 1000) == f'{paired} AND ("oak" OR "elm" OR "ash" OR "yew")'


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("on 2026-03-05", date(2026, 3, 5), date(2026, 3, 5)),
        ("on 31 October, 2022", date(2022, 10, 31), date(2022, 10, 31)),
        ("on the 3rd of May 2021", date(2021, 5, 3), date(2021, 5, 3)),
        ("March 5th, 2026", date(2026, 3, 5), date(2026, 3, 5)),
        ("in June 2023", date(2023, 6, 1), date(2023, 6, 30)),
        ("in 2022", date(2022, 1, 1), date(2022, 12, 31)),
        ("yesterday", date(2026, 11, 20), date(2026, 11, 20)),
        ("last week", date(2026, 11, 9), date(2026, 11, 15)),
        ("this month", date(2026, 11, 1), date(2026, 11, 30)),
        ("last month", date(2026, 10, 1), date(2026, 10, 31)),
        ("last year", date(2025, 1, 1), date(2025, 12, 31)),
        ("two weeks ago", date(2026, 11, 6), date(2026, 11, 8)),
        ("on Monday", date(2026, 11, 16), date(2026, 11, 16)),
    ],
)
def test_times_are_understood(text: str, first: date, last: date) -> None:
    """A day, a month, a year, or a time counted from today."""
    assert named_periods(f"what did we do {text}?", TODAY) == (Period(first, last),)


@pytest.mark.parametrize(
    "text", ["May I ask?", "the march of progress", "room 12", "31 February 2020", "2026-13-40"]
)
def test_what_is_no_time_names_none(text: str) -> None:
    """Words that look like months, and days that are none, are no dates."""
    assert named_periods(text, TODAY) == ()


def test_of_a_pasted_page_the_end_is_read() -> None:
    """A question comes last, and reading all of a page for times would take seconds."""
    page = "on 3 March 2020 we met. " * 2_000
    (asked,) = named_periods(page + "x" * 2_000 + " what was in May 2021?", TODAY)
    assert asked.first == date(2021, 5, 1)


def test_relative_times_need_today() -> None:
    """Without a today "yesterday" is a word like any other."""
    assert named_periods("yesterday") == ()


def test_a_month_without_a_year_is_any_years() -> None:
    """December is near the first days of January, of whichever year."""
    (december,) = named_periods("in December")
    assert december.nearness(date(2021, 12, 24)) == december.nearness(date(2007, 12, 1)) == 1
    assert 0.3 < december.nearness(date(2022, 1, 5)) < 1
    assert december.nearness(date(2022, 6, 15)) < 0.01


@settings(deadline=None)
@given(text=st.text(max_size=80), today=st.dates(), day=st.dates())
def test_any_text_and_any_day_will_do(text: str, today: date, day: date) -> None:
    """From the calendar's first day to its last, nearness lies between 0 and 1."""
    named = named_periods(
        f"{text} in March, on 29 February, 3 years ago, last week, 100 months ago", today
    )
    assert all(0 <= span.nearness(day) <= 1 for span in named)


def said(role: str, conversation: int = 1) -> Entry:
    """Return a turn of a conversation."""
    return Entry("message", 1, conversation, "2026-01-01T00:00:00+00:00", "", role=role)


GREETED = [Turn(1, "assistant", f"Hello Ermelinda! How was day {i}?") for i in range(5)]


def test_a_name_is_what_is_called_out() -> None:
    """A word that turns address someone by is a name.

    One that is merely spoken of is none.
    """
    trains = [Turn(1, "user", f"The train to Lisbon, number {i}") for i in range(9)]
    assert is_participant_name("ermelinda", GREETED)
    assert not is_participant_name("lisbon", trains)


def test_the_other_side_bears_the_name() -> None:
    """Whom the assistant greets is the user.

    Where nobody greets, that is likely still.
    """
    who = identify_speakers({"ermelinda": GREETED})
    assert (who.sign(said("user")), who.sign(said("assistant"))) == (1, -1)
    assert who.sign(said("user", 2)) > who.sign(said("assistant", 2))


def test_both_names_mean_nobody() -> None:
    """When both sides are named neither is raised."""
    thanked = [Turn(1, "user", f"Thanks, Construct. {i}") for i in range(5)]
    who = identify_speakers({"ermelinda": GREETED, "construct": thanked})
    assert who.sign(said("user")) == who.sign(said("assistant")) == 0
