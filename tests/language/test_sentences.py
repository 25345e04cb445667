"""Which of a text are the writer's own words, where its sentences end, what they ask."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.language.sentences import (
    asks_to_forget,
    is_question,
    own_text,
    sentences_to_keep,
    split_sentences,
)


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


@pytest.mark.parametrize(
    "question",
    [
        "Who?",
        "Who? ",
        "“Who?”",
        "Where are you? 😀",
        "どこ？",
        "Ποιος;",
        "who is Derek",
        "How old is Edie",
        "Where's Derek from",
        "What year was my mother born",
        "can you remind me of Ana's birthday",
        "tell me about Derek",
        "Remind me when the dentist is.",
    ],
)
def test_a_question(question: str) -> None:
    """It ends in a question mark of any script, or opens like a question."""
    assert is_question(question)


@pytest.mark.parametrize(
    "statement",
    [
        "Who? Me.",
        "x = 1;",
        "What a day",
        "Can you believe it, I got the job!",
        "Can you believe it, I got the job",
        "What's new: I got a job",
        "When my sister was there I lived in Rome",
        "What I need is my passport",
        "What is nice about Porto is the food.",
        "Tell me I am allergic to peanuts",
    ],
)
def test_no_question(statement: str) -> None:
    """A statement may open like a question, and must not be taken for one."""
    assert not is_question(statement)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Don't save this.", []),
        ("Forget it!", []),
        ("Forget my address.", []),
        ("Please forget about my allergy.", []),
        ("Can you forget my address?", []),
        ("I want you to delete what I said about Rui.", []),
        ("Please forget what I said about smoking.", []),
        ("Forget everything I told you.", []),
        ("Delete everything.", []),
        ("Don't save this: my PIN is 1234. I moved.", ["I moved."]),
        ("I moved, but that's off the record. I met Ana.", ["I met Ana."]),
        ("I met Ana. My PIN is 1234. Don't save that.", ["I met Ana."]),
        ("I met Ana. I moved. That's off the record.", ["I met Ana."]),
        ("I met Ana. Don't save this: my PIN is 1234.", ["I met Ana."]),
        ("I met Ana. I quit, but please don't save that.", ["I met Ana."]),
        ("I met Ana. My PIN is 1234. Actually, don't save it, please.", ["I met Ana."]),
        ("I met Ana. Please forget what I said about smoking.", ["I met Ana."]),
        ("I met Ana. Forget my old PIN.", ["I met Ana."]),
        ("- Call Ana\n- Delete this folder\n- Buy milk", ["Call Ana", "Buy milk"]),
        ("I met Ana. My PIN is 1234. Forget what I just said.", []),
        ("I met Ana. I quit. Delete that, Bob must not know.", ["I met Ana."]),
        ("Traf Ana. Bitte nicht speichern: ich bin krank.", ["Traf Ana."]),
        ("Traf Ana. Ich bin krank. Bitte nicht speichern.", ["Traf Ana."]),
        ("Don't save this. My PIN is 1234. I moved.", ["I moved."]),
        ("Forget it. I got the job!", ["I got the job!"]),
        ("My PIN is 1234.\nDon't save that", []),
        ("> Don't save this.\n\nI moved.", ["> Don't save this.", "I moved."]),
        ("My PIN is 1234. My code is 9988. Forget everything I just said.", []),
        ("My PIN is 1234. I hide it. Don't save any of this.", []),
        ("Don't save any of this. Ana is ill. I moved.", []),
        ("My PIN is 1234. My code is 9988. Forget everything.", []),
        ("My PIN is 1234. I quit. Delete what I said, Bob must not know.", []),
        ("I met Ana. Forget everything I said about Rui.", ["I met Ana."]),
        ("Forget everything I told you. I moved.", ["I moved."]),
        ("Don't keep this in memory. My PIN is 1234. I moved.", ["I moved."]),
        ("Don't save this address. I live in Elm Street. I moved.", ["I moved."]),
        ("Don't save this, my PIN is 1234. I moved.", ["I moved."]),
        ("Hi! Don't save this. My PIN is 1234.", ["Hi!"]),
        ("I met Ana. My PIN is 1234. Ok? Don't save this, please.", ["I met Ana."]),
        ("I met Ana. My PIN is 1234. Thanks! Don't save that.", ["I met Ana."]),
        ("I met Ana. My PIN is 1234. Forget that number.", ["I met Ana."]),
        ("I met Ana. I live in Elm Street. Don't save that address.", ["I met Ana."]),
        ("I met Ana. My PIN is 1234. Do not save this information.", ["I met Ana."]),
        ("I met Ana. Bob is ill. That stays off the record, he would kill me.", ["I met Ana."]),
        ("I met Ana. Off the record, Bob is ill. I moved.", ["I met Ana.", "I moved."]),
        ("I met Ana. Between us: I quit. Don't write that down.", ["I met Ana."]),
        ("I met Ana. I fly to Oslo. Scratch that, it's Rome.", ["I met Ana."]),
        ("No need to save this, but my parcel arrives on 10 March", []),
        ("I'd rather you didn't store that", []),
        ("You don't need to remember this but I'm at the café", []),
        ("Keep this to yourself, Ana is getting divorced", []),
        ("Never mind what I said about the trip", []),
        ("Delete everything about Paul", []),
        ("I met Ana. My PIN is 1234. Delete that before Bob sees it.", ["I met Ana."]),
        ("I met Ana. On second thought, don't save that. I moved.", ["I moved."]),
        ("Forget what I said about Rui, I promised not to tell that he is ill.", []),
        ("Forget what I said about the trip, I quit, don't save that", []),
    ],
)
def test_what_is_not_to_be_kept(text: str, kept: list[str]) -> None:
    """It is the sentence that asks, and those that it refers to."""
    assert sentences_to_keep(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "Went to the bank, don't remember my PIN.",
        "To do: delete all photos of Rui",
        "Delete my account at Netflix tomorrow",
        "Never keep my keys in the car",
        "Forget all about it - I got the job",
        "I lose things, forget my keys, miss trains.",
        "Don't forget my birthday.",
        "Don't forget about my birthday.",
        "Forget about the party, I am ill.",
        "To do: scratch the paint off, delete everything on the old stick",
        "My rash itches, don't write it off.",
    ],
)
def test_nothing_is_to_be_forgotten(text: str) -> None:
    """These are about the writer's life, not about what was said."""
    assert not asks_to_forget(text)
    assert sentences_to_keep(text) == [text]


@pytest.mark.parametrize("text", ["?" * 40_000 + "a", "? " * 20_000 + "a", '."' * 20_000 + "a"])
def test_marks_without_end_take_no_time(text: str) -> None:
    """The time grows with the length, not with its square, which would be a minute."""
    start = time.process_time()
    assert not is_question(text)
    assert not asks_to_forget(text)
    assert split_sentences(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("request_", ["Don't save that. ", "I quit. Forget everything. "])
def test_many_requests_take_no_time(request_: str) -> None:
    """Each is read once, however many there are."""
    start = time.process_time()
    assert sentences_to_keep(request_ * 3_000) == []
    assert time.process_time() - start < 2
