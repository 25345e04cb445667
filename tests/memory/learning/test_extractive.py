"""The observer by rule: what it keeps, how it dates it, what it leaves out."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.clock import Clock, to_text
from construct.memory.learning.extractive import extract
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.shown.lines import PRIORITIES, STANCES
from construct.store.records import Message
from construct.text import one_line
from construct.tokens import by_bytes

CLOCK = Clock(zone=UTC)
WEDNESDAY = datetime(2026, 3, 4, 10, tzinfo=UTC)


def message(content: str, role: str = "user", number: int = 1, at: datetime = WEDNESDAY) -> Message:
    """Return a message said on a Wednesday."""
    values = {"id": number, "role": role, "content": content, "created_at": to_text(at)}
    return Message(*(values.get(name) for name in Message._fields))  # type: ignore[arg-type]


def observations(*contents: str) -> tuple[ProposedObservation, ...]:
    """Return the observations that messages of the user give."""
    return extract(
        [message(content, number=i + 1) for i, content in enumerate(contents)], CLOCK
    ).observations


KEPT = """
I moved to Porto last week. | high | stated
I'm allergic to peanuts. | high | stated
my sister Anna is getting married on June 12th in Lisbon | high | stated
I will see the dentist on Friday. | high | planned
remember that my locker code is 4512 | high | stated
We're flying to Oslo on Friday, my wife Sara and I. | high | stated
I live in No. 5, Elm Street. | high | stated
Just got back from a trip to Rome with Bob | low | stated
I read Dune twice. | medium | stated
The rent is 950 | low | stated
I can't eat shellfish, it gives me hives. | high | stated
Penicillin makes me very ill. | high | stated
what am I allergic to | low | asked
tell me about Ana and Rui | low | asked
How do I sort a list in Python 3.11? | low | asked
can you remind me of Ana's birthday | low | asked
Was mache ich am Montag in Berlin？ | low | asked
Mudei-me para o Porto em março e trabalho como enfermeira. | high | stated
Ich bin letzte Woche nach Berlin umgezogen. | high | stated
J'habite à Lyon depuis 2019 et je suis allergique aux noix. | high | stated
Я живу в Москве и работаю врачом. | high | stated
我上周搬到了波尔图，我对花生过敏。 | high | stated
私は東京に住んでいます。 | high | stated
저는 서울에 살고 있어요 | high | stated
"""


@pytest.mark.parametrize("row", KEPT.strip().splitlines())
def test_kept(row: str) -> None:
    """The user's own sentences are kept word for word, in any of several languages."""
    content, priority, stance = (part.strip() for part in row.split("|"))
    assert [(o.content, o.priority, o.stance) for o in observations(content)] == [
        (content, priority, stance)
    ]


DATED = """
I see the dentist tomorrow at 10 | 2026-03-05 | 10:00 | -
Dentist tomorrow at 10 | 2026-03-05 | 10:00 | -
I have to be at the office today at 18:30 | 2026-03-04 | 18:30 | -
I fly to Oslo on Friday. | 2026-03-06 | - | -
My sister Zoe's birthday is on May 5th | 2026-05-05 | - | yearly
My son Rui was born on 5 May 1990 | 1990-05-05 | - | yearly
My birthday was on March 1st | 2026-03-01 | - | yearly
My birthday party is on Saturday at 20:00 | 2026-03-07 | 20:00 | -
I have choir every Tuesday at 19:00 | 2026-03-10 | 19:00 | weekly
I have choir every Wednesday at 19:00 | 2026-03-04 | 19:00 | weekly
I eat fish with Ana every Friday | - | - | -
I met Rui yesterday at 9:30 | - | - | -
"""


@pytest.mark.parametrize("row", DATED.strip().splitlines())
def test_times_and_repetitions(row: str) -> None:
    """A day ahead has its time; birthdays and what has a time each week come again."""
    content, *expected = (part.strip() for part in row.split("|"))
    (found,) = observations(content)
    dated = (found.referenced_date, found.referenced_time, found.recurs)
    assert [str(part or "-") for part in dated] == expected


@pytest.mark.parametrize(
    "content",
    [
        "hello there how are you today?",
        "ok thanks!",
        "That's so cool, Anna!",
        "Explain it to me",
        "I'm so glad to hear it!",
        "If I were rich I'd hire a chef called Bob",
        "Maybe I'll move to Porto",
        "Don't save this: my salary is 5000.",
        "My salary is 5000. Please don't save that.",
        "I moved to Porto, but that's off the record.",
        "My salary is 5000. My rent is 950. Forget everything I just said.",
        "Don't save any of this. My sister Clara is pregnant by Rui.",
        "My alarm code is 6655. Ok? Don't save this, please.",
        "Bitte nicht speichern: ich wohne in Berlin.",
        "Forget my bank PIN hint, it was 1234.",
        "> I moved to Oslo and quit my job",
        "```\nI moved to Oslo = 1\n```",
        "I am " + "very " * 100 + "happy",
        "yes",
        "",
        "???",
    ],
)
def test_left_out(content: str) -> None:
    """Small talk, guesses, quotes and code give no observation.

    Nor does what is not to be kept.
    """
    assert observations(content) == ()


ANOTHER_VOICE = {
    "letters": [
        "Subject: Your lease\n\nI have diabetes and live in Rome.",
        "Dear Ms Silva,\n\nI moved to Oslo on 5 May.\n\nKind regards,\nTom",
        "Hi Ana,\nI have diabetes.\nBest,\nTom",
        "Liebe Anna,\nich wohne jetzt in Graz.\n\nViele Grüße\nTom",
        "Chère Anne,\nJ'habite à Lyon depuis 2019.\nCordialement,\nPaul",
        "Уважаемый Иван,\nя живу в Москве с 2019.\nС уважением,\nАнна",
        "On Mon, 2 Nov 2026 at 09:12, Ana wrote:\nI quit my job at Siemens.",
        "件名：引っ越し\n私は東京に住んでいます。",
    ],
    "role-play": [
        "I'm Captain Redbeard, terror of the seas, and I lost my leg in 1702.",
        "Let's role-play: I'm Ana and I have two sons.",
        "You are a doctor. I am a patient named Bob with diabetes.",
        "Pretend I am the mayor of Oslo.\nI live in a castle.",
        "Rollenspiel: Ich bin Ritter Kunibert und wohne in Graz.",
        "Jogo de papéis: eu sou o rei Afonso e moro em Lisboa.",
        "Jeu de rôle : je suis le roi Louis et j'habite à Versailles.",
        "角色扮演：我是王子，我住在城堡。",
    ],
    "to work on": [
        "Translate: I have diabetes",
        "Can you translate this into French? I live in Rome and my son is 5.",
        "I have diabetes.\n\nTranslate this into Spanish",
        "Fix the grammar: I has two son in Rome",
        "Kannst du das übersetzen: Ich wohne in Graz",
        "Traduz para inglês: moro em Lisboa há 7 anos",
        "Traduis : j'habite à Lyon depuis 2019",
        "Переведи: я живу в Москве",
        "翻译：我住在上海",
        "Çevir: Ben 47 yaşındayım",
    ],
    "code": [
        'const name = "Anna";\nconst age = 47;',
        "def f(x):\n    # I live in Rome since 2019\n    return x",
        "SELECT * FROM users WHERE name = 'Anna';",
        "2026-11-02 10:00:01 ERROR my server Anna failed",
        'print("I live in Rome")',
        "<p>I live in Rome</p>",
    ],
    "chat logs": [
        "Ana: I'm pregnant!\nBen: wow, when?",
        "[02.11.26, 10:15] Ana: Ich bin schwanger",
        "02/11/2026, 10:15 - Ana: I moved to Oslo\n02/11/2026, 10:16 - Ben: ok",
        "Ana: moro em Lisboa\nRui: eu também",
        "Anna: wyjeżdżam jutro o 9\nBen: okej\nAnna: dobrze",
        "<ana> I have 3 cats",
    ],
    "quotations": [
        '"I have diabetes," she said.',
        "“I live in Rome. I have two sons.” (Ferrante)",
        "She wrote:\nI am pregnant and live in Rome",
        'My doctor wrote: "I am moving to Oslo. Call me on Friday."',
        "„Ich wohne in Graz. Ich habe zwei Söhne.“",
        "« J'habite à Lyon depuis 2019. »",
        "「私は東京に住んでいます。」",
    ],
    "drafts": [
        "Draft: I hereby quit my job at Siemens on 5 May.",
        "Here is my draft of the letter:\nI have worked at Siemens since 2019.",
        "Write a story: I am a nurse in Rome",
        "Schreib einen Brief: Ich kündige zum 31.12.2026",
        "Borrador: dejo mi trabajo el 31.12.2026",
        "Черновик: я увольняюсь 31.12.2026",
    ],
    "unknown languages, without number or date": [
        "Asun Turussa vaimoni Liisan kanssa.",
        "Mieszkam z mężem Bartkiem.",
        "Bor i Lund med Anna.",
        "Annemle Ankara'da yaşıyorum.",
        "Lucia și Matei locuiesc acum în Cluj.",
    ],
}


@pytest.mark.parametrize("content", [text for texts in ANOTHER_VOICE.values() for text in texts])
def test_another_voice(content: str) -> None:
    """What somebody else says, or the user as somebody else, is no fact about the user."""
    assert observations(content) == ()


def test_a_role_play_goes_on() -> None:
    """What is said after its beginning is not the user's own, but what was said before is."""
    said = ("I moved to Porto.", "Let's role-play: you are my boss.", "I quit my job at Siemens.")
    assert [o.content for o in observations(*said)] == ["I moved to Porto."]


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("I moved to Porto. Explain how the tram works.", ["I moved to Porto."]),
        ("I moved to Porto.\n\nAna: I'm pregnant!\nBen: wow, when?", ["I moved to Porto."]),
        ("I live in Graz.\n\nDear tenant,\nI sold my house.", ["I live in Graz."]),
        ("Note: I moved to Porto", ["Note: I moved to Porto"]),
        ("Big news: I got the job at Siemens", ["Big news: I got the job at Siemens"]),
        ("Doctor: Dr Maes\nDentist: Tuesday 9:30", ["Doctor: Dr Maes", "Dentist: Tuesday 9:30"]),
        ("Dentist 10:30\nI hate drills.", ["Dentist 10:30", "I hate drills."]),
        ('I told Ana "I hate drills".', ['I told Ana "I hate drills".']),
        ("Minulla on 2 koiraa.", ["Minulla on 2 koiraa."]),
        ("Dentysta 5.11.2026", ["Dentysta 5.11.2026"]),
        ("मेरे 2 बेटे हैं।", ["मेरे 2 बेटे हैं।"]),
    ],
)
def test_the_users_own_words_beside_others(content: str, kept: list[str]) -> None:
    """Text of others takes nothing from the user's own words before it."""
    assert [o.content for o in observations(content)] == kept


@pytest.mark.parametrize(
    "content",
    [
        "Where does Ana live",
        "Wann ist mein Termin bei Dr. Maes",
        "Quando é a minha consulta com o Dr. Moura",
        "Où habite ma sœur Anne",
        "cuándo es mi cita con Ana",
        "dove abita mia sorella Anna",
        "Waar woont mijn zus Anna",
        "Когда мой визит к Ольге",
        "我妹妹住在哪里？",
        "أين يعيش أخي 2؟",
    ],
)
def test_questions_are_asked(content: str) -> None:
    """With or without a question mark."""
    assert [o.stance for o in observations(content)] == ["asked"]


@pytest.mark.parametrize(
    ("content", "day"),
    [
        ("I see the dentist a week on Tuesday at 10.", "2026-11-10"),
        ("Ana's party is a fortnight on Friday.", "2026-11-20"),
        ("I fly to Oslo tomorrow week.", "2026-11-10"),
        ("I will meet Bob Tuesday week.", "2026-11-10"),
        ("I will meet Bob a week from Tuesday.", "2026-11-10"),
        ("I will see Bob two weeks on Monday.", "2026-11-23"),
        ("I see the dentist on Tuesday 3 November.", "2026-11-03"),
        ("Der Zahnarzt ist am Dienstag, 3. November.", "2026-11-03"),
        ("Don't forget: I see the dentist tomorrow at 10.", "2026-11-03"),
        ("I can't wait to see Ana tomorrow.", "2026-11-03"),
        ("I am off to Rome tomorrow.", "2026-11-03"),
        ("I will meet Bob on the Tuesday after next.", None),
        ("I will meet Bob Tuesday in two weeks.", None),
        ("My trip to Rome tomorrow is off.", None),
        ("I'm not seeing the dentist tomorrow.", None),
        ("I was going to see Ana tomorrow.", None),
        ("My party with Ana on Friday has been called off.", None),
        ("I have a trip to Rome tomorrow. It's cancelled.", None),
        ("Der Zahnarzt am 5.11.2026 fällt aus.", None),
        ("A viagem a Roma de 5.11.2026 foi cancelada.", None),
        ("Le rendez-vous du 5.11.2026 avec Anne est annulé.", None),
        ("Wizyta 5.11.2026 została odwołana.", None),
        ("Поездка 5.11.2026 отменена.", None),
        ("出張 2026年11月5日 は中止です。", None),
        ("I see Ana on Wednesday 3 November.", None),
        ("I see Ana on 3 November (Wednesday).", None),
        ("Ich treffe Ana am Mittwoch, 3. November.", None),
        ("Vejo a Ana na quarta-feira, 3.11.2026.", None),
        ("Jag träffar Ana onsdag 3 november.", None),
        ("Widzę się z Aną w środę 3.11.2026.", None),
        ("I'm meeting Ana on Tuesday or Wednesday.", None),
    ],
)
def test_days_ahead(content: str, day: str | None) -> None:
    """Said on Monday 2 November: a day that is not certain is none."""
    monday = datetime(2026, 11, 2, 10, tzinfo=UTC)
    (found, *_) = extract([message(content, at=monday)], CLOCK).observations
    assert (found.referenced_date, found.observation_date) == (day, "2026-11-02")


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("Don't save this: my salary is 5000. I moved to Porto.", ["I moved to Porto."]),
        ("> don't save this\n\nI moved to Porto.", ["I moved to Porto."]),
        (
            "Went to the bank, don't remember my PIN. Met Joana, she is my new manager.",
            ["Went to the bank, don't remember my PIN.", "Met Joana, she is my new manager."],
        ),
        ("Forget all about it - I got the job", ["Forget all about it - I got the job"]),
    ],
)
def test_the_rest_of_a_message_is_kept(content: str, kept: list[str]) -> None:
    """A request not to keep something is about that, not about the whole message."""
    assert [o.content for o in observations(content)] == kept


def test_only_the_user_is_observed() -> None:
    """What the assistant or a tool says is no observation."""
    roles = enumerate(("assistant", "system", "tool"))
    assert (
        extract([message("I moved to Porto.", role, i) for i, role in roles], CLOCK).observations
        == ()
    )


def test_days() -> None:
    """A past day is when it happened, a day ahead or long ago is what it refers to."""
    found = observations(
        "Yesterday I booked the dentist for Friday at 9am.",
        "I quit my job at Siemens.",
        "I have an exam on March 10.",
        "I was born on 5 May 1990 in Graz.",
        "Did I see Bob yesterday?",
    )
    assert [(o.observation_date, o.referenced_date) for o in found] == [
        ("2026-03-03", "2026-03-06"),
        ("2026-03-04", None),
        ("2026-03-04", "2026-03-10"),
        ("2026-03-04", "1990-05-05"),
        ("2026-03-04", None),
    ]


@pytest.mark.parametrize(
    ("content", "stance", "day"),
    [
        ("I plan to phone Rosa on 2026-03-04 at 22:00.", "planned", "2026-03-04"),
        ("I have to call Sven tonight.", "planned", "2026-03-04"),
        ("Choir concert 4 March 2026 at 21:45.", "stated", "2026-03-04"),
        ("I slept until 9:30 today.", "stated", None),
        ("I feel great today.", "stated", None),
        ("I must say today was a great day with Ana.", "stated", None),
        ("I will never forget today, Rui proposed to me.", "stated", None),
        ("I need to tell you: today Rui left me.", "stated", None),
        ("I have to take insulin since today.", "stated", None),
        ("I must go to the dentist today at 17:00, my tooth broke.", "planned", "2026-03-04"),
        ("I have to call the bank today because my card was stolen.", "planned", "2026-03-04"),
        ("I must call the bank today since my card was stolen.", "planned", "2026-03-04"),
        ("I have to pick up the kids today since Rui is away.", "planned", "2026-03-04"),
        ("I have to tell Ana today that I quit.", "planned", "2026-03-04"),
        ("I have to be at the airport today at 18:30, Rui left.", "planned", "2026-03-04"),
        ("My mother must be 70 today.", "stated", None),
        ("It is hot today, so I went home and will sleep.", "stated", None),
        ("Meeting with Paulo today 15:00, he quit.", "stated", None),
    ],
)
def test_plans_for_today(content: str, stance: str, day: str | None) -> None:
    """An intention or a time of day makes it a plan, so that the agenda has it."""
    assert [(o.stance, o.referenced_date) for o in observations(content)] == [(stance, day)]


def test_a_pasted_page_gives_its_best() -> None:
    """At most 40 observations, in the order of the page."""
    page = "\n".join(f"I met Bob in Rome and paid {i} euros." for i in range(400))
    found = observations(f"{page}\nI'm allergic to peanuts.")
    assert len(found) == 40
    assert found[-1].content == "I'm allergic to peanuts."


def test_the_day_is_the_users() -> None:
    """A message late in the evening in UTC belongs to the next day further east."""
    late = message("I quit my job at Siemens today.", at=datetime(2026, 3, 4, 23, tzinfo=UTC))
    found = extract([late], Clock(zone=timezone(timedelta(hours=9))))
    assert found.observations[0].observation_date == "2026-03-05"


def test_said_twice_is_noted_once() -> None:
    """A repeated sentence gives one observation that names both messages."""
    found = observations("I'm allergic to peanuts.", "i'm allergic to PEANUTS.")
    assert [(o.content, o.sources) for o in found] == [("I'm allergic to peanuts.", (1, 2))]


def test_a_long_talk_gives_its_best() -> None:
    """There is at most one observation for fifteen tokens of talk.

    What matters most is among them.
    """
    said = [f"I went to the shop number {i} with Bob." for i in range(300)] + [
        "I'm allergic to peanuts."
    ]
    found = observations(*said)
    assert len(found) <= sum(map(by_bytes, said)) / 15
    assert found[-1].content == "I'm allergic to peanuts."


def test_title() -> None:
    """The title is the most telling sentence, cut short.

    Task and next are left as they were.
    """
    found = extract(
        [message("I like tea a lot. I moved to Porto last week with my sister Anna and her dog.")],
        CLOCK,
    )
    assert found.title == "I moved to Porto last week with my sist…"
    assert (found.current_task, found.suggested_response, found.by_rule) == (None, None, True)
    assert extract([message("ok thanks!")], CLOCK).title is None


TEXTS = st.text() | st.lists(
    st.sampled_from(
        [
            *(row.split("|")[0] for row in KEPT.splitlines()),
            "> I quit",
            '"',
            "\x1b]",
            "\u2028",
            "\n",
            ".",
        ]
    )
).map(" ".join)
TALK = st.lists(st.tuples(TEXTS, st.sampled_from(["user", "assistant"])), max_size=5)


@given(TALK, st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_nothing_but_what_was_said(talk: list[tuple[str, str]], at: datetime) -> None:
    """Every observation stands word for word in the user's message.

    It is not dated later than the message.
    """
    at = at.replace(tzinfo=UTC)
    said = {i: message(content, role, i, at) for i, (content, role) in enumerate(talk)}
    for found in extract(list(said.values()), CLOCK).observations:
        assert found.stance in STANCES
        assert found.priority in PRIORITIES
        assert 0 < len(found.content) <= 400
        assert found.sources
        for source in found.sources:
            assert said[source].role == "user"
            # An escape sequence ends with its line, unless the sentence goes on in the next.
            lines = said[source].content.splitlines()
            as_shown = one_line("\n".join(lines)), " ".join(map(one_line, lines))
            assert any(found.content.casefold() in shown.casefold() for shown in as_shown)
        assert date.fromisoformat(found.observation_date) <= at.date()
        assert found.referenced_date is None or date.fromisoformat(found.referenced_date)
