"""Sentences, clauses, quoted matter and words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.language.sentences import (
    content_words,
    count_names,
    is_own,
    short_title,
    split_clauses,
    split_quoted,
    split_sentences,
    words,
)
from construct.memory.language.stem import root
from construct.memory.language.wordlists import word_set

LONG = "We would like to inform you that the account has been closed and that nothing more can be done about it."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I moved to Porto. my sister lives in Lisbon.", ["I moved to Porto.", "my sister lives in Lisbon."]),
        ("Dr. Smith said 3.5 mg is ok! Good.", ["Dr. Smith said 3.5 mg is ok!", "Good."]),
        ("See https://a.b/c.d?x=1 now. OK", ["See https://a.b/c.d?x=1 now.", "OK"]),
        ("I met J. R. Smith in the U.S. He left.", ["I met J. R. Smith in the U.S.", "He left."]),
        ("We met at 9 p.m. on Friday.", ["We met at 9 p.m. on Friday."]),
        ("Bring fruit, e.g. apples. Thanks", ["Bring fruit, e.g. apples.", "Thanks"]),
        ('He said "Really?" and left. Bye', ['He said "Really?" and left.', "Bye"]),
        ("well... maybe. Yes…", ["well... maybe.", "Yes…"]),
        ("I said no. Then No. 5 came.", ["I said no.", "Then No. 5 came."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("Great! 😊 I moved", ["Great! 😊", "I moved"]),
        ("Am 5. März fahre ich. Danke.", ["Am 5. März fahre ich.", "Danke."]),
        ("我搬到了波尔图。我妹妹住在里斯本！好吗？", ["我搬到了波尔图。", "我妹妹住在里斯本！", "好吗？"]),
        ("- I am allergic\n- I live in Porto\n1. one thing", ["I am allergic", "I live in Porto", "one thing"]),
        ("i moved to porto\nmy sister did not", ["i moved to porto", "my sister did not"]),
        ("I moved to Porto and\nbought a flat", ["I moved to Porto and\nbought a flat"]),
        (
            "This is a line that an editor has wrapped by its width, and\nit goes on here. End",
            ["This is a line that an editor has wrapped by its width, and\nit goes on here.", "End"],
        ),
        ("First.\n\nSecond", ["First.", "Second"]),
        ("Look:\n```py\nx = 1. Y\n```\nI like it.", ["Look:", "I like it."]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    """Sentences end where a reader would say so; code is left out."""
    assert split_sentences(text) == sentences


@given(st.text(alphabet=st.characters() | st.sampled_from("Ii .!?\n-1\"'`>…。")))
def test_sentences_are_pieces_of_the_text_in_order(text: str) -> None:
    """Every sentence stands in the text word for word, one behind the other."""
    at = 0
    for sentence in split_sentences(text):
        assert sentence == sentence.strip() != ""
        at = text.index(sentence, at) + len(sentence)


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("I'm allergic to peanuts, what can I cook?", ["I'm allergic to peanuts", "what can I cook?"]),
        ("Since I moved, can you help?", ["Since I moved", "can you help?"]),
        ("I moved and I might buy a bike", ["I moved", "I might buy a bike"]),
        ("I moved and might buy a bike", ["I moved", "might buy a bike"]),
        ("I like my flat and my wife", ["I like my flat and my wife"]),
        ("I moved", ["I moved"]),
    ],
)
def test_clauses(sentence: str, clauses: list[str]) -> None:
    """A sentence is cut where a new subject or a question begins."""
    assert split_clauses(sentence) == clauses


QUOTED = [
    ("Look:\n> I moved\n> to Oslo\nwhat now?", ["> I moved\n> to Oslo"]),
    ("code ```x = 1``` ok", ["```x = 1```"]),
    ("a\n```\nI quit\n```\nb", ["```\nI quit\n```"]),
    ("a\n~~~\nnever closed", ["~~~\nnever closed"]),
    ("See:\nFrom: a@b.c\nSubject: hi\n\nI quit", ["From: a@b.c\nSubject: hi\n\nI quit"]),
    ("Subject: hi\nI quit", ["Subject: hi\nI quit"]),
    ("hm\n-----Original Message-----\nI quit", ["-----Original Message-----\nI quit"]),
    ("hm\nBegin forwarded message:\nI quit", ["Begin forwarded message:\nI quit"]),
    ("On Mon, 3 Mar 2025, Ann wrote:\nI quit", ["On Mon, 3 Mar 2025, Ann wrote:\nI quit"]),
    ("Here is the mail I got: Dear user, I quit", [" Dear user, I quit"]),
    ("Please summarize this article:\nI quit", ["\nI quit"]),
    ("Translate this: Ich wohne in Berlin", [" Ich wohne in Berlin"]),
    ('x """a\nb""" y', ['"""a\nb"""']),
    (f"They wrote “{LONG}” today", [f"“{LONG}”"]),
    (f'They wrote "{LONG}" today', [f'"{LONG}"']),
    (f"<mail>{LONG}</mail> hm", [f"<mail>{LONG}</mail>"]),
    ("[12:01] Ann: hi\n[12:02] Me: hello\nso?", ["[12:01] Ann: hi\n", "[12:02] Me: hello\n"]),
    ("my note: I moved", []),
    ('he said "hi" and she said "bye"', []),
    (f'I wrote "hi" and then {LONG} and "bye"', []),
    ("Name: Anna\nAge: 30", []),
    ("I > you", []),
]


@pytest.mark.parametrize(("text", "quoted"), QUOTED)
def test_quoted_matter(text: str, quoted: list[str]) -> None:
    """What is quoted, pasted, forwarded or announced as another's text is told apart from the writer's words."""
    assert [piece for piece, is_quoted in split_quoted(text) if is_quoted] == quoted


def test_answers_below_quoted_lines_are_the_writers_own() -> None:
    """A mail answered between its quoted lines is quoted only where it is marked."""
    pieces = split_quoted("On Monday 3 March Ann wrote:\n> I quit\nI agree")
    assert pieces[-1] == ("\nI agree", False)


@given(st.text(alphabet=st.characters() | st.sampled_from("> \n`~\"'From:Subject <>a")))
def test_quoted_pieces_join_to_the_text(text: str) -> None:
    """Nothing of a text is lost or doubled when it is taken apart."""
    assert "".join(piece for piece, _ in split_quoted(text)) == text


def test_words_of_scripts_without_spaces_are_pairs() -> None:
    """Chinese gives overlapping pairs of characters, other scripts their words, casefolded."""
    assert words("我住在Porto吗 Don’t") == ["我住", "住在", "吗", "porto", "don't"]


def test_content_words_keep_negations() -> None:
    """Stop words carry nothing, a negation does."""
    assert content_words("I do not live in the house") == ["not", "live", "house"]


@pytest.mark.parametrize(
    "forms", ["hire hires hired hiring", "move moved moving", "study studies studied", "buy bought", "run running ran"]
)
def test_forms_share_a_stem(forms: str) -> None:
    """Forms of one verb are one word, irregular ones too."""
    assert len({root(form) for form in forms.split()}) == 1


@given(st.text())
def test_no_text_raises(text: str) -> None:
    """Any text has words, clauses and perhaps a title."""
    assert all(words(text))
    assert all(clause in text for clause in split_clauses(text))
    assert short_title(text) is None or short_title(text)
    assert count_names(text) >= 0


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("I moved to Porto last week with Anna", "Moved to Porto last week with Anna"),
        ("Oh yeah, my sister Anna is allergic to peanuts and soy.", "Sister Anna is allergic to peanuts and soy"),
        ("我搬到了波尔图", "我搬到了波尔图"),
        ("it is what it is", None),
    ],
)
def test_titles(text: str, title: str | None) -> None:
    """A title begins with the first telling word and has six of them at most."""
    assert short_title(text) == title


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I moved", True),
        ("Just moved to Porto", True),
        ("She moved", False),
        ("Ich wohne hier", True),
        ("我住在这里", True),
        ("You moved", False),
    ],
)
def test_own(text: str, own: bool) -> None:
    """The first person is found by its words, in several languages, or where English leaves it out."""
    assert is_own(text, set(words(text))) is own


def test_names_that_are_addressed_do_not_count() -> None:
    """A name that is spoken about counts, one that is spoken to does not."""
    assert count_names("Hey Anna, I met Bob in Porto") == 2
    assert count_names("Anna is ill") == 1
    assert word_set("A b") == {"a", "b"}
