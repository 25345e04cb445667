"""Which of a text are the writer's own words, and where its sentences end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.language.sentences import own_text, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "I moved to Porto. my sister lives in Lisbon.",
            ["I moved to Porto.", "my sister lives in Lisbon."],
        ),
        ("Dr. Smith said 3.5 mg is ok! Good.", ["Dr. Smith said 3.5 mg is ok!", "Good."]),
        ("See https://a.b/c.d?x=1 now. OK", ["See https://a.b/c.d?x=1 now.", "OK"]),
        ("I met J. R. Smith. He left.", ["I met J. R. Smith.", "He left."]),
        ("We met at 9 p.m. on Friday.", ["We met at 9 p.m. on Friday."]),
        ("Bring fruit, e.g. apples. Thanks", ["Bring fruit, e.g. apples.", "Thanks"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("Am 5. März fahre ich. Danke.", ["Am 5. März fahre ich.", "Danke."]),
        (
            "我搬到了波尔图。我妹妹住在里斯本！好吗？",
            ["我搬到了波尔图。", "我妹妹住在里斯本！", "好吗？"],
        ),
        (
            "- I am allergic\n- I live in Porto\n1. one thing",
            ["I am allergic", "I live in Porto", "one thing"],
        ),
        (
            "24. Dezember 2026 fliege ich.\n2. Porto\n3. march on",
            ["24. Dezember 2026 fliege ich.", "Porto", "3. march on"],
        ),
        ("i moved to porto\nmy sister did not", ["i moved to porto", "my sister did not"]),
        (
            "This is a line that an editor has wrapped by its width, and\nit goes on here. End",
            [
                "This is a line that an editor has wrapped by its width, and\nit goes on here.",
                "End",
            ],
        ),
        ("First.\n\nSecond", ["First.", "Second"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    """Sentences end where a reader would say so."""
    assert split_sentences(text) == sentences


@given(st.text(alphabet=st.characters() | st.sampled_from("Ii .!?\n-1\"'`>…。")))
def test_sentences_are_pieces_of_the_text_in_order(text: str) -> None:
    """Every sentence stands in the text word for word, in order.

    Only line ends may differ.
    """
    text = "\n".join(text.splitlines())
    at = 0
    for sentence in split_sentences(text):
        assert sentence == sentence.strip() != ""
        at = text.index(sentence, at) + len(sentence)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Look:\n> I moved\n  > to Oslo\nwhat now?", ["Look:", "what now?"]),
        ("a\n```py\nI quit\n```\nb", ["a", "b"]),
        ("a\n~~~\nnever closed", ["a"]),
        ("code ```x = 1``` ok", ["code", "ok"]),
        ("hm\u2028> I quit", ["hm"]),
        ("[image: IMG_2034.png]\nLook: [pdf: a] too", ["Look: [pdf: a] too"]),
        ("I > you", ["I > you"]),
        ("Read:\nFrom: Ana\nTo: Ben\nI quit.", ["Read:"]),
        ("Von: Ana\nBetreff: Urlaub\nIch kündige.", []),
        ("Fra: Ana\nSendt: mandag\nTil: Ben\n\nJeg flytter.", []),
        ("Allergy: nuts\nDoctor: Ana\nI run.", ["Allergy: nuts", "Doctor: Ana", "I run."]),
    ],
)
def test_own_text(text: str, own: list[str]) -> None:
    """Lines that begin with `>` and fenced code are not the writer's own."""
    assert split_sentences(own_text(text)) == own
