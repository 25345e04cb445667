"""Search: one ranking over all kinds, on a real database."""

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.memory.recall.speakers import Turn, identify_speakers
from construct.store.search import Filters
from tests.memory.builders import ZONE, Life
from tests.memory.recall.hits import keys, search, small_talk, texts


def test_a_message_is_found_by_words_in_other_forms(life: Life) -> None:
    """Stems and irregular forms of a word find it: "broke" answers "broken"."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, "My grandfather's clock broke when we moved.")
    small_talk(life, here)
    assert texts(search(life.db, "which clocks were broken?"))[0].startswith(
        "My grandfather's clock broke"
    )


def test_a_name_is_no_form_of_a_little_word(life: Life) -> None:
    """What says "in" is not found for "Inês", though both have one stem."""
    here = life.talk()
    life.say(here, "It rained in the garden.")
    life.pass_days(1)
    said = life.say(here, "Inês has a kayak.")
    assert keys(search(life.db, "Inês")) == [("message", said.id)]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("using", "I use a fountain pen."),
        ("used", "I am using a fountain pen."),
        ("owed", "Bruno keeps owing me money."),
        ("ageing", "Cheese of a great age."),
        ("TV", "Two TVs stand in the attic."),
        ("TVs", "The TV is broken."),
    ],
)
def test_a_short_word_is_found_in_its_forms(life: Life, query: str, said: str) -> None:
    """Of which two letters may be all that is the same."""
    here = life.talk()
    message = life.say(here, said)
    assert ("message", message.id) in keys(search(life.db, query))


def test_the_answer_is_found_by_the_words_of_the_question_before_it(life: Life) -> None:
    """A turn is found by the words around it, behind the turn that has them itself."""
    here = life.talk()
    small_talk(life, here)
    life.pass_days(1)
    life.say(here, "Which instrument did you learn as a child?", "assistant")
    answer = life.say(here, "The accordion, from my uncle.")
    life.pass_days(1)
    small_talk(life, here)
    assert answer.id in [hit.id for hit in search(life.db, "instrument learned as a child")[:2]]


def test_all_kinds_stand_in_one_ranking(life: Life) -> None:
    """Messages and observations are ranked in one list."""
    here = life.talk()
    observed = life.learn(here, "I keep eleven bees named after composers")
    small_talk(life, here)
    hits = search(life.db, "bees named after composers")
    assert {hit.kind for hit in hits} == {"message", "observation"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    (seen,) = [hit for hit in hits if hit.kind == "observation"]
    assert (seen.id, seen.generation, seen.priority, seen.stance, seen.state) == (
        observed.id, 0, "high", "stated", "active",
    )  # fmt: skip
    assert {hit.role for hit in hits if hit.kind == "message"} <= {"user", "assistant"}


def test_the_day_of_a_hit_is_the_users(life: Life) -> None:
    """What is said at 0:30 in Lisbon is of that day, not of the day in UTC."""
    life.now = datetime.fromisoformat("2026-07-10T23:29:00+00:00")
    life.say(life.talk(), "The comet is visible.")
    (hit,) = search(life.db, "comet", Filters(zone=ZONE))
    assert hit.date == "2026-07-11"


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_a_blank_query_is_an_error(life: Life, text: str) -> None:
    """Nothing to look for is the caller's mistake to report."""
    with pytest.raises(ValueError, match="blank"):
        search(life.db, text)


@pytest.mark.parametrize(
    "text", ["!!!", '"', "'", "*", "NEAR(", "a AND", "-", "{text} :", "^", "“”", "\x00", "\ud800"]
)
def test_what_is_no_words_finds_nothing(life: Life, text: str) -> None:
    """Marks that mean something to the index mean nothing here, and are no error."""
    life.say(life.talk(), "Nothing of the kind.")
    assert search(life.db, text) == []


def test_the_words_of_the_index_language_are_words(life: Life) -> None:
    """AND, OR, NOT and NEAR are looked for like any other."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, "The station is near the mill.")
    assert texts(search(life.db, "NEAR NOT mill OR*"))[0] == "The station is near the mill."


def test_a_query_of_stop_words_is_looked_for_as_it_is(life: Life) -> None:
    """When nothing else is asked, the small words count."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, "To be or not to be.")
    assert texts(search(life.db, "to be or not to be"))[0] == "To be or not to be."


def test_a_phrase_in_quotes_must_be_there(life: Life) -> None:
    """Quoted words are a filter: in that order, in that message itself."""
    here = life.talk()
    life.say(here, "Green tea in the garden.")
    life.say(here, "The garden is green, and there is tea.")
    life.say(here, "Lovely.", "assistant")
    assert texts(search(life.db, 'garden "green tea"')) == ["Green tea in the garden."]
    assert texts(search(life.db, "“is green”")) == ["The garden is green, and there is tea."]
    assert search(life.db, '"tea green"') == []
    quoted = search(life.db, 'Who was in the garden with "tea green"?')
    assert [hit.match for hit in quoted] == ["loose"] * 3


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我昨天在公园里看见了一只黑猫。", "黑猫"),
        ("きのう図書館で古い地図を見つけました。", "古い地図はどこで見つけた?"),
        ("어제 도서관에서 오래된 지도를 찾았어요.", "도서관"),
        ("เมื่อวานฉันไปตลาดน้ำ", "ตลาดน้ำ"),
    ],
)
def test_scripts_without_spaces_are_searched_by_pieces(life: Life, said: str, asked: str) -> None:
    """A word within a run of characters is found, in every kind of text."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, said)
    note = life.remember(said)
    assert ("observation", note.id) in keys(search(life.db, asked))
    assert said in texts(search(life.db, asked, Filters(kind="message")))


def test_a_pasted_page_in_a_script_without_spaces_may_be_a_query(life: Life) -> None:
    """Its beginning is searched."""
    said = life.say(life.talk(), "我昨天看见了一只黑猫。")
    page = "".join(map(chr, range(0x4E00, 0x4E00 + 2000)))
    assert keys(search(life.db, f"黑猫{page}")) == [("message", said.id)]


def test_many_entries_with_a_few_pieces_hide_none_with_all(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an old nor a new one."""
    monkeypatch.setattr("construct.memory.recall.search.CANDIDATES", 5)
    here = life.talk()
    old = life.say(here, "猫カフェに行きたい")
    for number in range(9):
        life.say(here, f"カフェで仕事をした {number}")
    new = life.say(here, "猫カフェの名前はミケです")
    assert {hit.id for hit in search(life.db, "猫カフェ")[:2]} == {old.id, new.id}


def test_accents_and_case_do_not_matter(life: Life) -> None:
    """Words are compared as the index folds them."""
    life.say(life.talk(), "We met in São João da Madeira.")
    assert len(search(life.db, "SAO joao")) == 1


def test_the_language_of_the_query_chooses_its_stop_words(life: Life) -> None:
    """The English "son" and "hat" are looked for, the German "hat" is not."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, "My son lost his hat.")
    small_talk(life, here)
    life.say(here, "Wer hat den Schlüssel?")
    assert texts(search(life.db, "the hat of my son"))[0] == "My son lost his hat."
    assert texts(search(life.db, "Wer hat den Schlüssel gefunden?"))[0] == "Wer hat den Schlüssel?"


def test_what_i_said_stands_before_what_you_said(life: Life) -> None:
    """Whose words are asked for, by "I" or "you", raises them."""
    here = life.talk()
    small_talk(life, here)
    life.say(here, "The museum in Faro opens early.")
    life.say(here, "The museum in Faro opens early.", "assistant")
    small_talk(life, here)
    assert search(life.db, "what did I say about the museum in Faro?")[0].role == "user"
    assert search(life.db, "what did you say about the museum in Faro?")[0].role == "assistant"


def test_a_name_that_is_called_out_means_the_other_side(life: Life) -> None:
    """Who is greeted by name is who says the other turns.

    The name itself is not looked for.
    """
    here = life.talk()
    for number in range(6):
        life.exchange(
            here,
            f"Today is day {number} of the course.",
            f"Well done, Ermelinda! Day {number} is over.",
        )
    mine = life.say(here, "The trombone is what is practised most.")
    life.say(here, "The trombone is what is practised most.", "assistant")
    hits = search(life.db, "What does Ermelinda practise?", Filters(kind="message"))
    assert hits[0].id == mine.id
    assert "Well done, Ermelinda! Day 1 is over." not in texts(hits)


def test_a_date_in_the_query_raises_that_day(life: Life) -> None:
    """Of two like turns the one near the time that is named comes first."""
    here = life.talk()
    first = life.say(here, "We went to the lighthouse.")
    life.pass_days(60)
    second = life.say(here, "We went to the lighthouse.")
    assert search(life.db, "lighthouse in March")[0].id == first.id
    assert search(life.db, "lighthouse on 30 April 2026")[0].id == second.id
    today = second.created_at[:10]
    assert (
        search(life.db, "lighthouse yesterday", today=date.fromisoformat(today) + timedelta(1))[
            0
        ].id
        == second.id
    )


def test_equals_stand_in_one_order(life: Life) -> None:
    """The newest of equals is first, each time the same."""
    here = life.talk()
    ids = []
    for _ in range(5):
        life.pass_days(1)
        ids.append(life.say(here, "The ferry was late.").id)
    assert [hit.id for hit in search(life.db, "ferry")] == ids[::-1]
    assert search(life.db, "ferry") == search(life.db, "ferry")


def test_what_is_two_relations_away_is_found_below_what_is_found_directly(life: Life) -> None:
    """The graph adds what shares no word with the query, near the end of the list."""
    here = life.talk()
    for number in range(12):
        life.exchange(
            here, f"Ermelinda called about her husband again, call {number}.", "What did she say?"
        )
    direct = life.remember("Ermelinda wed Baltasar")
    behind = life.remember("Baltasar is a stoker on the Vouga railway")
    life.relate_as(behind, "Baltasar", "Vouga")
    life.relate_as(direct, "Ermelinda", "Baltasar")
    hits = search(life.db, "What does Ermelinda's husband do for a living?", limit=8)
    places = {(hit.kind, hit.id): place for place, hit in enumerate(hits)}
    assert hits[places["observation", behind.id]].match == "related"
    assert ("observation", direct.id) in places
    direct_places = [place for place, hit in enumerate(hits) if hit.match == "direct"]
    assert direct_places
    assert max(direct_places) < places["observation", behind.id]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert ("observation", behind.id) not in keys(
        search(life.db, "What does Ermelinda do?", Filters(kind="message"))
    )


@pytest.mark.parametrize("limit", [1, 2])
def test_what_is_related_never_displaces_the_best_match(life: Life, limit: int) -> None:
    """However few results there may be."""
    life.talk()
    direct = life.remember("Ermelinda wed Baltasar")
    behind = life.remember("Baltasar is a stoker on the Vouga railway")
    life.relate_as(behind, "Baltasar", "Vouga")
    life.relate_as(direct, "Ermelinda", "Baltasar")
    hits = search(life.db, "Ermelinda wed", limit=limit)
    assert keys(hits) == [("observation", o.id) for o in (direct, behind)][:limit]


def test_what_only_stands_beside_a_good_hit_is_loose(life: Life) -> None:
    """A neighbour without a word of the query is found by its hit, and says so."""
    here = life.talk()
    life.say(here, "The tandem needs a chain")
    life.say(here, "Lisbon is warm tonight", "assistant")
    found = {hit.text: hit.match for hit in search(life.db, "tandem chain")}
    assert found == {"The tandem needs a chain": "direct", "Lisbon is warm tonight": "loose"}


@pytest.mark.parametrize(
    ("text", "match"),
    [("the tandem's chain", "direct"), ("tandem wheels, spokes and repair", "loose")],
)
def test_what_holds_only_a_part_of_the_query_is_loose(life: Life, text: str, match: str) -> None:
    """Words that were never said count as well."""
    life.say(life.talk(), "The tandem needs a chain")
    assert [hit.match for hit in search(life.db, text)] == [match]


WORDS = st.text(st.characters(codec=None), max_size=60)
_WORDS = ["AND", "OR", "NOT", "NEAR", "text", "hello", "0x", "1e9", "'; DROP TABLE messages; --"]
SYNTAX = st.lists(st.sampled_from([*"()\"'*:^+-{}“%_\\ßς½猫\x00", *_WORDS]), max_size=12).map(
    " ".join
)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """A small life to ask any question of."""
    life = Life(Path(tmp_path_factory.mktemp("recall")))
    here = life.talk()
    life.learn(here, "hello, text of the cat 猫 with ½ a ß, NEAR it")
    life.remember("hello AND goodbye")
    return life


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=WORDS | SYNTAX, today=st.none() | st.dates(), all_=st.booleans())
def test_any_query_is_answered(lived: Life, text: str, today: date | None, all_: bool) -> None:
    """Whatever is typed, there is a list, and the scores fall."""
    if not text.strip():
        return
    hits = search(lived.db, text, Filters(all=all_, zone=ZONE), today=today)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@settings(max_examples=30, deadline=None)
@given(
    since=st.none() | st.dates(), until=st.none() | st.dates(), moment=st.none() | st.datetimes()
)
def test_any_dates_are_a_filter(
    lived: Life, since: date | None, until: date | None, moment: datetime | None
) -> None:
    """Days from the calendar's first to its last narrow the search and never fail."""
    as_of = moment.replace(tzinfo=ZONE) if moment and 1 < moment.year < 9999 else None
    search(lived.db, "hello", Filters(since=since, until=until, as_of=as_of, zone=ZONE))


@pytest.mark.parametrize(("many", "one"), [("user", "assistant"), ("assistant", "user")])
def test_four_calls_of_five_show_whose_name_it_is(many: str, one: str) -> None:
    """Whoever the four are from."""
    calls = [*[many] * 4, one]
    turns = [Turn(1, role, "Thanks, Anna!") for role in calls]
    assert identify_speakers({"anna": turns}).bearers == {(1, one)}
