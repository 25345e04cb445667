"""Words of a query that nothing holds: ignored, or searched as they should be spelt."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.memory.recall import search as recall
from construct.memory.recall.search import Hit, search_memory
from construct.memory.recall.spelling import MAX_RESPELT, Respelt, one_slip_away
from construct.memory.undo import undo
from construct.store import search as store
from construct.store.search import Filters
from tests.memory.builders import Life
from tests.memory.recall.hits import keys, search, small_talk, texts

GATES = [(0, 0), (2, 5), (5_000, 100_000)]
"""Rows that the gate of a large file lets in: very large, large, and as this one is."""

SAID = [
    "My sister Rosa keeps bees in Vouzela.",
    "Rosa asked the dentist about her bill.",
    "The ferry to Seixal was late, said my sister.",
    "We planted 12 pear trees in March.",
    "Who are you, and what will you do about the green door?",
    "Ermelinda plays the accordion. Thanks, Ermelinda!",
    "わたしは公園で黒猫を見た",
    "Há cerejas no jardim da Inês.",
]
NOWHERE = ["qwrtzk", "Qwrtzk", "zzyzzyxz", "XKCDVQJW", "98127634", "ъъщщъъщщ", "wvwvwvq's"]
"""Words that nothing holds, and that look like nothing that is said."""
ASKED = sorted({word.strip(".,!?") for text in SAID for word in text.split()})


def found(hits: list[Hit]) -> list[tuple[str, int, float]]:
    """Return what was found, in order, with its score."""
    return [(hit.kind, hit.id, hit.score) for hit in hits]


@contextmanager
def gate(required: int, weighed: int) -> Iterator[None]:
    """Let the gate of a large file close at so many rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recall, "REQUIRED_ROWS", required)
        patch.setattr(recall, "WEIGHED_ROWS", weighed)
        yield


@pytest.fixture(scope="module", params=[1, 12])
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """A file in which all of it is said so many times, noted once and kept in part."""
    life = Life(Path(tmp_path_factory.mktemp("spelling")))
    here = life.talk()
    shuffled = random.Random(request.param)
    for _ in range(request.param):
        for text in shuffled.sample(SAID, len(SAID)):
            life.exchange(
                here, text, shuffled.choice(["I see.", "Well done, Ermelinda!", "Your sister?"])
            )
        life.pass_days(1)
    for text in SAID[:3]:
        life.learn(here, text)
    life.remember("Rosa sings with the dentist")
    return life


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    asked=st.lists(st.sampled_from(ASKED), min_size=1, max_size=5),
    quoted=st.sampled_from(["", '"green door"', "“keeps bees”", '"door green"']),
    more=st.lists(st.tuples(st.sampled_from(NOWHERE), st.integers(0, 5)), min_size=1, max_size=3),
    narrowed=st.sampled_from(
        [Filters(), Filters(kind="message"), Filters(role="user"), Filters(all=True)]
    ),
    rows=st.sampled_from(GATES),
)
def test_a_word_that_nothing_holds_changes_no_result(
    lived: Life,
    asked: list[str],
    quoted: str,
    more: list[tuple[str, int]],
    narrowed: Filters,
    rows: tuple[int, int],
) -> None:
    """A word that nothing holds does not change the results or their order.

    Its place in the query and the size of the file make no difference.
    """
    longer = list(asked)
    for word, place in more:
        longer.insert(place, word)
    with gate(*rows):
        without = search(lived.db, " ".join([*asked, quoted]), narrowed)
        assert found(search(lived.db, " ".join([*longer, quoted]), narrowed)) == found(without)


def test_a_word_that_nothing_holds_leaves_the_others_in_a_large_file(life: Life) -> None:
    """It is the rarest of all, and yet not the one that must be there."""
    here = life.talk()
    small_talk(life, here)
    said = life.say(here, "My sister is called Rosa.")
    with gate(0, 0):
        assert keys(search(life.db, "sister qwertz"))[:1] == [("message", said.id)]


def test_a_word_that_only_what_was_undone_holds_leaves_the_others(life: Life) -> None:
    """The index still has it, and nothing that can be found does."""
    here = life.talk()
    said = life.exchange(here, "My sister is called Rosa.")
    life.observe(here, ("Rosa is a zymurgist", [said]))
    undo(life.db, life.clock)
    with gate(0, 0):
        assert keys(search(life.db, "sister zymurgist"))[:1] == [("message", said.id)]


@pytest.mark.parametrize(
    ("said", "typed", "searched_for"),
    [
        ("The dentist in Porto has moved.", "dentisst", "dentist"),  # a letter too many
        ("The dentist in Porto has moved.", "dentst", "dentist"),  # one missing
        ("The dentist in Porto has moved.", "bentist", "dentist"),  # one wrong, the first
        ("The dentist in Porto has moved.", "detnist", "dentist"),  # two exchanged
        ("We were happy there.", "hapyy", "happy"),  # filed as "happi"
        ("The vaccination was on Monday.", "vaccinaton", "vaccination"),  # filed as "vaccin"
        ("Our universities are old.", "univercities", "universities"),  # filed as "univers"
        ("Ermelinda has a kayak.", "Ermalynda", "ermelinda"),  # two slips in a long word
        ("Há cerejas no jardim.", "cerrejas", "cerejas"),
        ("Vi a Conceição ontem.", "Conceisao", "conceição"),  # accents are no slips
        ("Живёт в Лиссабоне.", "лисабоне", "лиссабоне"),
    ],
)
def test_a_misspelt_word_is_searched_as_it_should_be(
    life: Life, said: str, typed: str, searched_for: str
) -> None:
    """And it is told, with the word as it was said."""
    here = life.talk()
    small_talk(life, here)
    message = life.say(here, said)
    results = search_memory(life.db, typed)
    assert results.respelt == (Respelt(typed, searched_for),)
    assert [(hit.kind, hit.id, hit.match) for hit in results.hits][:1] == [
        ("message", message.id, "respelt")
    ]


@pytest.mark.parametrize(
    "typed", ["qwertz", "dntst", "dentisttss", "cat", "dent1st", "2025", "abuot", "dentist"]
)
def test_what_is_not_near_is_not_searched(life: Life, typed: str) -> None:
    """Nor is a number, a short word, or a little word.

    A word that is there stands as it is.
    """
    here = life.talk()
    life.say(here, "The dentist asked about a car in 2026.")
    assert search_memory(life.db, typed).respelt == ()


@pytest.mark.parametrize("rows", GATES)
def test_another_spelling_ranks_below_the_words_as_they_were_typed(
    life: Life, rows: tuple[int, int]
) -> None:
    """A text with both spellings is best, then the word as typed, then the rest."""
    here = life.talk()
    dentist = life.say(here, "The dentist, the dentist, the dentist!")
    life.pass_days(1)
    rosa = [life.say(here, f"Rosa called, time {number}.").id for number in range(5)]
    life.pass_days(1)
    both = life.say(here, "Rosa went to the dentist.")
    with gate(*rows):
        hits = search(life.db, "Rosa dentisst")
    order = [hit.id for hit in hits]
    assert (order[0], set(order[1:-1]), order[-1]) == (both.id, set(rosa), dentist.id)
    assert [hit.match for hit in hits] == ["direct", *["loose"] * 5, "respelt"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_spelling_that_may_not_be_found_is_not_told(life: Life) -> None:
    """A misspelt word does not lead to another conversation, or to what was undone."""
    there = life.talk()
    said = life.exchange(there, "My secret is kept.")
    life.observe(there, ("User hides the marmalade", [said]))
    undo(life.db, life.clock)
    here = life.talk()
    life.say(here, "Hello.")
    assert search_memory(life.db, "marmelade").respelt == ()
    assert search_memory(life.db, "secrett").respelt == (Respelt("secrett", "secret"),)
    assert search_memory(life.db, "secrett", Filters(descent=((here, 999),))).respelt == ()


def test_looking_for_spellings_is_bounded(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many words of a query nothing holds."""
    here = life.talk()
    letters = random.Random(3)
    for _ in range(40):
        life.say(here, " ".join("".join(letters.choices("abcdefghij", k=9)) for _ in range(60)))
    asked = []
    look = store.terms_among

    def counting(db: sqlite3.Connection, stems: set[str]) -> set[str]:
        asked.append(stems)
        return look(db, stems)

    monkeypatch.setattr(store, "terms_among", counting)
    search(life.db, " ".join("".join(letters.choices("abcdefghij", k=12)) for _ in range(30)))
    assert 0 < len(asked) <= 1 + MAX_RESPELT  # one for words written as two


@pytest.mark.parametrize(
    ("written", "typed"),
    [("ירושלים", "ירושליב"), ("الإسكندرية", "الإسكندربة"), ("Воронеж", "Воранеж")],
    ids=["Hebrew", "Arabic", "Cyrillic"],
)
def test_a_wrong_letter_in_another_script(life: Life, written: str, typed: str) -> None:
    """It is found, whether the script has upper and lower case or not."""
    life.say(life.talk(), f"{written} 1987.")
    assert texts(search_memory(life.db, typed).hits) == [f"{written} 1987."]


LETTERS = st.text("abc", min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(a=LETTERS, b=LETTERS)
def test_a_slip_is_the_same_both_ways(a: str, b: str) -> None:
    """And no word is a slip of itself."""
    assert a not in one_slip_away(a)
    assert (b in one_slip_away(a)) == (a in one_slip_away(b))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_every_word_one_slip_away_is_found(lived: Life, data: st.DataObject) -> None:
    """Whatever the slip and wherever it is: a word as near as that one is searched."""
    word = data.draw(
        st.sampled_from(["sister", "dentist", "accordion", "planted", "ermelinda", "vouzela"])
    )
    place = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("xqjaeiy"))
    slips = [
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
    ]
    typed = data.draw(st.sampled_from(slips))
    results = search_memory(lived.db, typed)
    assert results.hits
    if results.respelt:
        assert results.respelt[0].searched in one_slip_away(typed)
    assert any(word in text.lower() for text in texts(results.hits))


def test_a_word_of_any_length_is_looked_for_in_bounded_time(life: Life) -> None:
    """What is longer than any word is not respelt: that would take long."""
    here = life.talk()
    for i in range(60):
        life.say(here, " ".join("acgt"[(i + j) % 4] * (j % 7 + 4) for j in range(20)))
    assert search(life.db, "acgt" * 8_000) == []


def test_a_count_from_before_the_question_is_not_taken_down_to_nothing(life: Life) -> None:
    """Counts that are kept in a large file do not make a question find itself."""
    here = life.talk()
    told = life.exchange(here, "The locker code is 4711")
    life.db.execute("UPDATE messages SET id = 30000 WHERE id = (SELECT max(id) FROM messages)")
    assert [hit.id for hit in search(life.db, "4711")] == [told.id]
    asking = life.say(here, "What was 4711 for?")
    found = search_memory(life.db, "4711", Filters(exclude=(asking.id,)))
    assert [(hit.id, hit.match) for hit in found.hits] == [(told.id, "direct")]
    assert not found.respelt


def test_only_what_holds_the_other_spelling_is_marked_so(life: Life) -> None:
    """What merely stands around it is loose."""
    here = life.talk()
    life.exchange(here, "My wisdom tooth hurts", "I am sorry for that")
    found = {hit.text: hit.match for hit in search(life.db, "wisdm toth")}
    assert found.pop("My wisdom tooth hurts") == "respelt"
    assert set(found.values()) <= {"loose"}


def test_a_phrase_with_a_misspelt_word_is_searched_for_as_words(life: Life) -> None:
    """It says that the other word was searched for, so it must be."""
    here = life.talk()
    told = life.exchange(here, "We had walnut cake")
    for query in ('"walnut caek"', '"walnut tart" caek'):
        results = search_memory(life.db, query)
        assert [respelt.searched for respelt in results.respelt] == ["cake"]
        assert told.id in [hit.id for hit in results.hits]
