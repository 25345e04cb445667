"""What a question asks for: a day, a person, a number however it is written, a part of a word."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from construct.memory.recall.passages import passages
from construct.memory.recall.query import excerpt
from construct.memory.recall.search import search_memory
from construct.store.passages import SIZE
from construct.vocabulary import Match
from tests.memory.builders import Life
from tests.memory.recall.hits import search, small_talk, texts

TODAY = date(2026, 11, 20)
THAT_DAY = "I repotted the lemon trees with Ottoline in her greenhouse."


@pytest.fixture
def lived(life: Life) -> Life:
    """Weeks of talk in which Ottoline is often mentioned."""
    here = life.talk()
    for day in range(1, 20):
        life.now = datetime(2026, 10, day, 12, tzinfo=UTC)
        small_talk(life, here, 3)
        life.exchange(here, f"Ottoline rang me about her car, the {day}th time.")
    life.now = datetime(2026, 11, 7, 12, tzinfo=UTC)
    life.exchange(here, THAT_DAY, "Lovely.")
    life.now = datetime(2026, 11, 12, 12, tzinfo=UTC)
    small_talk(life, here)
    return life


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "31.12.9999", "1 January 0001"])
def test_the_first_and_last_day_there_is(lived: Life, day: str) -> None:
    """A question about one finds nothing, and does not fail the turn."""
    question = f"What happened on {day}?"
    assert passages(lived.db, question, today=TODAY) == []
    search(lived.db, question, today=TODAY)


@pytest.mark.parametrize(
    "question",
    [
        "What did I do with Ottoline on 7 November?",
        "What happened on 7 November?",
        "what happened on 2026-11-07",
        "Was habe ich am 7. November gemacht?",
        "¿Qué hice con Ottoline el 7 de noviembre?",
        "O que aconteceu em 7 de novembro?",
        "Qu'est-ce que j'ai fait le 7 novembre ?",
        "Что было 7 ноября?",
        "11月7日に何をした？",
    ],
)
def test_a_date_picks_the_day(lived: Life, question: str) -> None:
    """In a search and by itself, in many languages."""
    found = search(lived.db, question, today=TODAY)[0]
    assert (found.text, found.match) == (THAT_DAY, Match.DIRECT)
    assert passages(lived.db, question, today=TODAY)[0].text == THAT_DAY


@pytest.mark.parametrize(
    "question", ["Tell me about Ottoline.", "Ottoline?", "Who is Ottoline?", "Wer ist Ottoline?"]
)
def test_a_name_alone_finds_the_person(lived: Life, question: str) -> None:
    """However often she was mentioned."""
    assert "Ottoline" in search(lived.db, question)[0].text
    assert all("Ottoline" in hit.text for hit in passages(lived.db, question))
    assert passages(lived.db, question)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("What is my sister's job?", "My sister's job is at the aquarium."),
        ("Wo arbeitet mein Bruder?", "Mein Bruder arbeitet im Hafen."),
        ("¿Dónde vive mi prima?", "Mi prima vive en Oviedo."),
        ("Où travaille ma tante ?", "Ma tante travaille au marché."),
        ("Gdzie mieszka mój wujek?", "Mój wujek mieszka w Gdyni."),
    ],
)
def test_the_same_question_is_no_answer(life: Life, asked: str, said: str) -> None:
    """However often it was asked before."""
    here = life.talk()
    life.say(here, said)
    for _ in range(12):
        small_talk(life, here, 2)
        life.say(here, asked)
    assert texts(search(life.db, asked))[0] == said
    assert asked not in texts(passages(life.db, asked))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("3450", "The rent was 3,450.50 in May."),
        ("3,450.50", "Die Miete beträgt 3.450,50 Euro."),
        ("3.450,50", "We paid 3450 for the boat."),
        ("1250", "Es kostete 1'250 Franken."),
        ("12345678", "They counted 12 345 678 birds."),
        ("Hauptstrasse", "Wir wohnen in der Hauptstraße."),
        ("GROẞE", "Das grosse Fenster klemmt."),
        ("office", "The oﬃce is on the third ﬂoor."),
        ("ﬁnch", "A finch sat on the sill."),
        ("ＡＢＣ１２３", "My plate is abc123."),
        ("abc123", "型番はＡＢＣ１２３です"),
        ("バナナ", "ﾊﾞﾅﾅ を買った"),
        ("iphone15", "昨日iPhone15を買った"),
        ("Zahnarzt", "Der Zahnarzttermin ist um neun."),
        ("Termin", "Der Zahnarzttermin ist um neun."),
        ("rekening", "De energierekening kwam vandaag."),
        ("järven", "Asumme Saimaanjärvenrannalla."),
        ("icecream", "We had ice cream by the sea."),
        ("sun flower", "A sunflower grew by itself."),
        ("🦔", "I saw a 🦔 in the hedge."),
        ("👩🏽‍🚀", "Mira dressed up as 👩🏽‍🚀 again."),
    ],
)
def test_other_ways_of_writing_it(life: Life, query: str, said: str) -> None:
    """Numbers, ligatures, widths, ß, parts of words, and emoji."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, said)
    found = search(life.db, query)[0]
    assert (found.text, found.match) == (said, Match.DIRECT)


def test_a_result_says_which_words_it_holds(life: Life) -> None:
    """As they were typed; and the search says which words nothing holds."""
    here = life.talk()
    life.say(here, "The ferry to Seixal is blue.")
    life.say(here, "I painted the fence.")
    results = search_memory(life.db, "blue Ferries qwertzuiop fence")
    assert {hit.text: hit.holds for hit in results.hits} == {
        "The ferry to Seixal is blue.": ("blue", "Ferries"),
        "I painted the fence.": ("fence",),
    }
    assert results.nowhere == ("qwertzuiop",)


def test_a_long_message_is_quoted_by_its_best_passage(life: Life) -> None:
    """It is found by it too: many words around it do not hide it."""
    here = life.talk()
    filler = "We talked about soup and the weather, and then about soup again. " * 60
    life.say(here, f"{filler}\nThe plumber is called Anselm Quist.\n{filler}")
    small_talk(life, here)
    life.say(here, "The soup and the weather, they say.")
    hit = search(life.db, "What is the plumber called, Anselm?")[0]
    assert "Anselm Quist" in hit.text
    assert len(hit.text) < 2 * SIZE
    assert hit.text.startswith("…")
    assert hit.text.endswith("…")


def test_what_is_cut_off_keeps_whose_words_it_is(life: Life) -> None:
    """The mark of a quoted line, and that a part was pasted."""
    here = life.talk()
    mail = (
        "> " + "The landlord wrote about the stairs and the lift. " * 40 + "The rent rises to 990."
    )
    life.say(here, f"This came today:\n{mail}\nWhat do you make of it?")
    hit = search(life.db, "the rent rises to")[0]
    assert hit.text.startswith("> …")
    assert excerpt(f"Look:\n{mail}", ["rises"], 80).startswith("> …")
    own = "I pasted what my landlord wrote. "
    said = life.say(here, own + "All the cellars will be painted violet by March. " * 40)
    life.db.execute(
        "UPDATE messages SET pasted = ? WHERE id = ?",
        (json.dumps([[len(own), len(said.content)]]), said.id),
    )
    assert search(life.db, "cellars painted violet")[0].is_pasted
    assert not replace(search(life.db, "the rent rises to")[0]).is_pasted


@pytest.mark.parametrize(
    "correction",
    [
        "No, wait, at ten.",
        "Sorry, it is at ten.",
        "Nein, um zehn.",
        "Perdón, a las diez.",
        "Non, à dix heures.",
        "Нет, в десять.",
    ],
)
def test_a_quotation_keeps_the_correction(correction: str) -> None:
    """What took it back just after is quoted with it."""
    text = "x " * 200 + f"My flight to Porto leaves at nine. {correction} " + "y " * 200
    cut = excerpt(text, ["flight", "porto"], 80)
    assert correction in cut
