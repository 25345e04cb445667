"""The second look at an observer's lines, through the whole program against the fake.

The table holds the kinds of fault that public bug reports on memory systems describe. The
worker gives the same answer however often it is asked, unless a test says otherwise.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from construct.store.flags import flagged
from construct.vocabulary import Flag
from tests.memory.cycles.scripted import notes, observes_only, query, sent, take_back
from tests.support import fake_faults as faults
from tests.support.fake_api import FakeApi, adversarial
from tests.support.fake_types import Answer, Json, Reply
from tests.support.fake_worker import (
    Group,
    observer_answer,
    read_groups,
    read_transcript,
    verifier_answer,
)
from tests.support.program import Program
from tests.support.talks import Talk, talking

MONDAY = {"CONSTRUCT_NOW": "2026-11-02T10:00:00+00:00", "CONSTRUCT_TZ": "UTC"}
D = "2026-11-02"


@pytest.fixture(autouse=True)
def quiet(api: FakeApi) -> None:
    """Leave all to the observer."""
    observes_only(api)


def refuses(wrong: Callable[[Group], str]) -> Callable[[Json], Answer]:
    """Return a verifier that says no where `wrong` gives a reason."""

    def answer(body: Json) -> Answer:
        groups = read_groups(body)
        reasons = {group.number: reason for group in groups if (reason := wrong(group))}
        return verifier_answer(reasons, len(groups))

    return answer


def looks(group: Group) -> str:
    """Refuse what has a hint."""
    return f"nobody said {group.look[0]}" if group.look else ""


async def observed(
    t: Talk, api: FakeApi, said: Sequence[str], *lines: str
) -> list[tuple[str, str]]:
    """Say some messages, let them be observed by these lines; return what is stored."""
    api.observer = lambda _body: observer_answer(lines)
    for text in said:
        await t.say(text)
    await t.companion.worker.run_now(t.id)
    t.check()
    return await stored(t)


async def stored(t: Talk) -> list[tuple[str, str]]:
    """Return the words and stances of all active notes."""
    return await query(
        t, "SELECT content, stance FROM observations WHERE superseded_at IS NULL ORDER BY id"
    )


BARTEK = "Mieszkam z mężem Bartkiem."
AS_WRITTEN = [
    # Another form of a name: Polish, Russian, Czech, Finnish, Hungarian, Turkish, Greek.
    (BARTEK, f"! {D} M1 Mąż User to Bartek"),
    ("Живу с сыном Мишей.", f"! {D} M1 Сын User — Миша"),
    ("Bydlím s bráchou Pavlem v Praze.", f"! {D} M1 Bratr User je Pavel, žije v: Praha"),
    ("Asun Heikin kanssa Turussa.", f"! {D} M1 User asuu puolisonsa Heikki kanssa (Turku)"),
    ("Annával élek Szegeden.", f"! {D} M1 User párja Anna, Szeged"),
    ("Ayşe'yle İzmir'de yaşıyorum.", f"! {D} M1 User Ayşe ile yaşıyor, şehir: İzmir"),
    ("Ζω με τον Γιώργο.", f"! {D} M1 User ζει με: Γιώργος"),
    # A number in another form.
    ("Dentist on Tuesday at half past nine.",
     f"! {D} M1 User sees the dentist on Tuesday at 9:30 | planned | for 2026-11-03 09:30"),
    ("The rent is 950 euros.", f"- {D} M1 User's rent is €950"),
    ("Moro aqui há sete anos.", f"- {D} M1 User mora aqui desde 2019"),
    ("Der Termin ist um halb zehn.", f"! {D} M1 User hat um 9:30 einen Termin | planned"),
    ("Платим тысячу двести евро.", f"- {D} M1 User платит 1200 €"),
    ("الإيجار ٩٥٠ يورو", f"- {D} M1 إيجار User هو 950 يورو"),
    ("Mamy trzy koty.", f"- {D} M1 User ma 3 koty"),
    ("Nous payons 1.250,50 € par mois.", f"- {D} M1 User paie 1250.50 € par mois"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "line"), AS_WRITTEN)
async def test_true_lines_are_stored_as_written(
    tmp_path: Path, api: FakeApi, said: str, line: str
) -> None:
    """Code refuses nothing: one call of the observer, one of the verifier."""
    async with talking(tmp_path, api, **MONDAY) as t:
        ((content, _),) = await observed(t, api, [said], line)
        assert content == line.split(" M1 ")[1].split(" | ")[0]
    assert (len(api.of("observer")), len(api.of("verifier"))) == (1, 1)


@pytest.mark.parametrize(
    ("said", "line", "look"),
    [
        ("我妹妹住在上海。", "User的妹妹叫王大明，住在上海", "叫王大明"),
        ("妹は大阪に住んでいます。", "Userの妹タナカは大阪に住んでいる", "タナカ"),
        ("أختي تسكن في الرياض.", "أخت User ليلى تسكن في الرياض", "ليلى"),
        ("मेरी बहन दिल्ली में रहती है।", "User की बहन प्रिया दिल्ली में रहती है", "प्रिया"),
        ("น้องสาวของฉันอยู่เชียงใหม่", "น้องสาวของ User สมหญิงอยู่เชียงใหม่", "สมหญิง"),
        ("동생이 부산에 살아요.", "User의 동생 민수는 부산에 살아요", "민수는"),
        ("הבת שלי גרה בחיפה.", "הבת שלי User נועה גרה בחיפה", "נועה"),
        ("My sister is in Porto.", "User's sister Priya lives in Porto", "Priya"),
    ],
)
async def test_an_invented_name_is_not_stored(
    tmp_path: Path, api: FakeApi, said: str, line: str, look: str
) -> None:
    """The verifier is shown where to look, and the user's own sentence stands in."""
    api.verifier = refuses(looks)
    async with talking(tmp_path, api, **MONDAY) as t:
        assert await observed(t, api, [said], f"! {D} M1 {line}") == [(said, "stated")]
        assert f"stand-in for “{line}” (nobody said" in await notes(t)
        (group,) = read_groups(api.of("verifier")[0].body)
        assert look in ", ".join(group.look)
    assert (len(api.of("observer")), len(api.of("verifier"))) == (2, 2)


TOOTH = ["Noor lost her first tooth.", "How lovely, really.", "Bas wants a coin too."]


async def test_a_wrong_anchor_is_mended_from_the_batch(tmp_path: Path, api: FakeApi) -> None:
    """What stands in exactly one other message makes that one a source."""
    line = f"- {D} M3 Noor lost her first tooth; Bas wants a coin too"
    async with talking(tmp_path, api, **MONDAY) as t:
        assert len(await observed(t, api, [TOOTH[0], TOOTH[2]], line)) == 1
        assert await query(t, "SELECT message_id FROM observation_messages") == [(3,)]
        (group,) = read_groups(api.of("verifier")[0].body)
        assert group.look == []  # the two messages before M3 say it
        fresh = f"- {D} M1 Noor lost another tooth, and Kim wants a kite"
        api.observer = lambda _body: observer_answer([fresh])
        for text in ("Noor lost another.", "So it goes.", "And so on.", "Kim wants a kite."):
            await t.say(text)
        await t.companion.worker.run_now(t.id)
        assert (await stored(t))[-1][0].startswith("Noor lost another")
        linked = await query(
            t, "SELECT message_id FROM observation_messages WHERE observation_id = 2"
        )
        assert linked == [(5,), (11,)]


@pytest.mark.parametrize(
    ("first", "second", "fact"),
    [
        ("Noor lost a tooth.", "Bas and Kim want coins.", "Noor lost a tooth; Bas, Kim want coins"),
        ("Noor hat einen Zahn verloren.", "Bas und Kim wollen Münzen.",
         "Noor hat einen Zahn verloren, Bas und Kim wollen Münzen"),
        ("Zosi wypadł ząb.", "Kuba i Hania chcą monetę.",
         "Zosia straciła ząb, Kuba z Hanią chcą monet"),
        ("小明掉了第一颗牙。", "阿宝也想要一枚硬币。", "小明掉了第一颗牙，阿宝也想要硬币"),
        ("سقط سن نور.", "بسام وكريم يريدان قطعة نقود.", "سقط سن نور، بسام وكريم يريدان نقود"),
        ("У Нины выпал зуб.", "Боря и Катя хотят монетку.",
         "Нина потеряла зуб, Боря с Катей хотят монетку"),
    ],
)  # fmt: skip
async def test_all_names_of_the_other_message_are_found_there(
    tmp_path: Path, api: FakeApi, first: str, second: str, fact: str
) -> None:
    """Once it is a source, nothing in it is a hint any more."""
    async with talking(tmp_path, api, **MONDAY) as t:
        said = [first, "So it goes.", "Well then.", second]
        assert len(await observed(t, api, said, f"- {D} M1 {fact}")) == 1
        assert await query(t, "SELECT message_id FROM observation_messages") == [(1,), (7,)]


@dataclass(frozen=True)
class Unreadable:
    """A line that cannot be read beside a good one."""

    said: str
    line: str


@pytest.mark.parametrize(
    "case",
    [
        Unreadable("I am allergic to wasps.", f"! {D} 10:00 M1 User is allergic to wasps"),
        Unreadable("Ich vertrage keine Nüsse.", f"! {D}: M1 User verträgt keine Nüsse"),
        Unreadable("Soy alérgica al látex.", "! 2026-11-31 M1 User es alérgica al látex"),
        Unreadable("У меня аллергия на орехи.", "! 02.11.2026 M1 У User аллергия на орехи"),
        Unreadable("我对花生过敏。", f"！ {D} M1 User对花生过敏"),
        Unreadable("Jag tål inte nötter.", "! M1 User tål inte nötter"),
    ],
)
async def test_a_line_that_cannot_be_read_is_asked_for_again(
    tmp_path: Path, api: FakeApi, case: Unreadable
) -> None:
    """In the end the fact is kept, in the user's own words if need be."""
    good = f"- {D} M1 User likes tea"
    async with talking(tmp_path, api, **MONDAY) as t:
        said = f"{case.said} I like tea."
        found = await observed(t, api, [said], good, case.line)
        assert found == [("User likes tea", "stated"), (case.said, "stated")]
        assert len(api.of("observer")) == 2
        assert "it could not be read" in sent(api, "observer")


async def test_a_mended_line_takes_the_place_of_the_refused_one(
    tmp_path: Path, api: FakeApi
) -> None:
    """The second answer is checked again, and what was accepted is not stored twice."""
    api.verifier = refuses(looks)
    wrong = f"! {D} M1 User has a cat called Zoltan"
    right = f"! {D} M1 User has a cat called Mia"
    tea = f"- {D} M1 User likes tea"
    async with talking(tmp_path, api, **MONDAY) as t:
        api.enqueue("observer", observer_answer([wrong, tea]))
        found = await observed(t, api, ["I have a cat, Mia, and like tea."], right, tea)
        assert [content for content, _ in found] == [
            "User likes tea",
            "User has a cat called Mia",
        ]
        assert "stand-in" not in await notes(t)
        again = sent(api, "observer")
        assert "nobody said Zoltan" in again
        assert "[M1]" in again


@pytest.mark.parametrize(
    ("mark", "content", "stance"),
    [
        ("hypothetical, for 2027", "User plays the tuba / hypothetical, for 2027", "inferred"),
        ("for her sister", "User plays the tuba / for her sister", "inferred"),
        ("geplant", "User plays the tuba / geplant", "inferred"),
        ("для сестры", "User plays the tuba / для сестры", "inferred"),
        ("予定", "User plays the tuba / 予定", "inferred"),
        ("planned?", "User plays the tuba / planned?", "inferred"),
        ("unsure", "User plays the tuba", "stated"),
    ],
)
async def test_a_mark_that_is_none_makes_nothing_certain(
    tmp_path: Path, api: FakeApi, mark: str, content: str, stance: str
) -> None:
    """It is asked for again; if it stays, it goes back into the fact."""
    async with talking(tmp_path, api, **MONDAY) as t:
        line = f"- {D} M1 User plays the tuba | {mark}"
        said = ["My sister and I play the tuba, or so."]
        assert await observed(t, api, said, line) == [(content, stance)]
    assert len(api.of("observer")) == (1 if mark == "unsure" else 2)


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I see Dr Moura on Tuesday.", "User sees Dr Moura on Tuesday 3 November"),
        ("Am Dienstag zu Dr. Moura.", "User ist am 3. November bei Dr. Moura"),
        ("Na terça vou à Dra. Moura.", "User vai à Dra. Moura a 3 de novembro"),
        ("Во вторник к врачу Моура.", "User идёт к врачу Моура 3 ноября"),
        ("火曜日にモウラ先生。", "Userは11月3日にモウラ先生に行く"),
        ("We wtorek do dr Moury.", "User idzie 3 listopada do dr Moury"),
    ],
)
async def test_a_day_that_contradicts_the_line_goes(
    tmp_path: Path, api: FakeApi, said: str, fact: str
) -> None:
    """The line is asked for again, and is then kept without the day."""
    async with talking(tmp_path, api, **MONDAY) as t:
        line = f"! {D} M1 {fact} | planned | for 2026-11-10"
        assert await observed(t, api, [said], line) == [(fact, "planned")]
        assert await query(t, "SELECT referenced_date FROM observations") == [(None,)]
    assert len(api.of("observer")) == 2


@pytest.mark.parametrize(
    ("said", "fact", "word"),
    [
        ("I went to the dentist yesterday.", "User went to the dentist yesterday", "yesterday"),
        ("Ich war gestern beim Arzt.", "User war gestern beim Arzt", "gestern"),
        ("Ontem fui ao médico.", "User foi ontem ao médico", "ontem"),
        ("Вчера я был у врача.", "User был вчера у врача", "вчера"),
        ("昨日医者に行った。", "Userは昨日医者に行った", "昨日"),
        ("Wczoraj byłem u lekarza.", "User był wczoraj u lekarza", "wczoraj"),
    ],
)
async def test_words_that_age_are_asked_for_again(
    tmp_path: Path, api: FakeApi, said: str, fact: str, word: str
) -> None:
    """The verifier sees them, in any language; a better line takes the place."""
    api.verifier = refuses(lambda g: f"“{word}” ages" if word in g.result.text else "")
    better = f"{fact.replace(word, '')} (2026-11-01)"
    api.enqueue("observer", observer_answer([f"- 2026-11-01 M1 {fact}"]))
    async with talking(tmp_path, api, **MONDAY) as t:
        found = await observed(t, api, [said], f"- 2026-11-01 M1 {better}")
        assert [content for content, _ in found] == [" ".join(better.split())]
        assert f"“{word}” ages" in sent(api, "observer")


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I feed the dog salmon food.", "User feeds the dog Brenna"),
        ("Ich gebe dem Hund Lachsfutter.", "User gibt dem Hund Brenna"),
        ("Dou ao cão ração de salmão.", "User dá ao cão Brenna"),
        ("Собаке даю корм с лососем.", "User даёт собаке Brenna"),
        ("犬に鮭の餌をやる。", "Userは犬にBrennaをやる"),
        ("Psu daję karmę z łososiem.", "User daje psu karmę Brenna"),
    ],
)
async def test_the_assistants_word_is_not_the_users(
    tmp_path: Path, api: FakeApi, said: str, fact: str
) -> None:
    """A line on both is the user's only if the verifier says that the user said it."""
    api.verifier = refuses(
        lambda g: "only the assistant says it" if "Brenna" in g.result.text else ""
    )
    async with talking(tmp_path, api, **MONDAY) as t:
        api.enqueue("chat", "That food is called Brenna.")
        found = await observed(t, api, [said], f"- {D} M1 M2 {fact}")
        assert found == [(said, "stated")]


async def test_the_same_again_is_no_second_note(tmp_path: Path, api: FakeApi) -> None:
    """But for case and spaces; another day is another fact."""
    async with talking(tmp_path, api, **MONDAY) as t:
        line = f"- {D} M1 User sees  Ana | planned | for 2026-11-05"
        await observed(t, api, ["I see Ana on the 5th."], line)
        again = f"- {D} M1 user sees ana | planned | for 2026-11-05"
        moved = f"- {D} M1 User sees Ana | planned | for 2026-11-06"
        assert len(await observed(t, api, ["Yes, Ana, or on the 6th."], again, moved)) == 2


@pytest.mark.parametrize(
    "task",
    ["User owes Viktor 900.", "User schuldet Viktor 900.", "User deve 900 ao Viktor.",
     "User должен Виктору 900.", "Userはビクトルに900を借りている。", "User jest winien 900."],
)  # fmt: skip
async def test_a_task_that_nobody_gave_is_not_kept(tmp_path: Path, api: FakeApi, task: str) -> None:
    """It is asked about once more; the one before stays, and the observer is shown it."""
    api.verifier = refuses(looks)
    async with talking(tmp_path, api, **MONDAY) as t:
        api.observer = lambda _body: observer_answer(task="Packing", next_step="Ask", title="Move")
        await t.say("I am packing boxes.")
        await t.companion.worker.run_now(t.id)
        api.observer = lambda _body: observer_answer(task=task, next_step=task)
        await t.say("Still packing boxes.")
        await t.companion.worker.run_now(t.id)
        kept = await query(t, "SELECT current_task, suggested_response FROM conversations")
        assert kept == [("Packing", "Ask")]
        first = next(r for r in api.of("observer") if "Still packing" in str(r.body))
        assert "<current>\ntitle: Move\ntask: Packing\nnext: Ask\n</current>" in str(
            first.body["messages"][-1]
        ).replace("\\n", "\n")


GOOD = observer_answer([f"! {D} M1 User is allergic to wasps"])


@pytest.mark.parametrize(
    ("answer", "is_read"),
    [
        (f"{GOOD}<think>Was that all? Let me see", False),
        (f"<think>{GOOD}", False),
        (f"<think>{GOOD.replace('wasps', 'cats')}</think>{GOOD}", True),
        (f"{GOOD.replace('wasps', 'cats')}</think>\n{GOOD}", True),
        (f"<THINK>hm</THINK >{GOOD}", True),
    ],
)
async def test_thinking_is_no_answer(
    tmp_path: Path, api: FakeApi, answer: str, is_read: bool
) -> None:
    """Only what follows the last thought counts."""
    api.observer = lambda _body: answer
    async with talking(tmp_path, api, **MONDAY) as t:
        await t.say("I am allergic to wasps.")
        await t.companion.worker.run_now(t.id)
        (note,) = await stored(t)
        assert note[0] == ("User is allergic to wasps" if is_read else "I am allergic to wasps.")


@pytest.mark.parametrize("fault", [faults.http(400), faults.refusal()], ids=["400", "refusal"])
async def test_without_a_verifier_what_code_found_nothing_wrong_with_is_stored(
    tmp_path: Path, api: FakeApi, fault: faults.Fault
) -> None:
    """Stand-ins are stored for the rest; nothing is replaced, task and next stay."""
    async with talking(tmp_path, api, **MONDAY) as t:
        await observed(t, api, ["I live in Lisbon."], f"! {D} M1 User lives in Lisbon")
        api.fail("verifier", fault, times=None)
        lines = [
            f"! {D} M1 User lives in Porto now | replaces K1",
            f"! {D} M1 User has a cat called Zoltan",
        ]
        api.observer = lambda _body: observer_answer(lines, task="Moving", next_step="Ask")
        await t.say("I moved to Porto. I have a cat.")
        await t.companion.worker.run_now(t.id)
        t.check()
        assert [content for content, _ in await stored(t)] == [
            "User lives in Lisbon",
            "User lives in Porto now",
            "I have a cat.",
        ]
        assert await query(t, "SELECT current_task FROM conversations") == [(None,)]
        assert len(api.of("observer")) == 2


async def test_passing_matters_are_checked_only_with_a_hint(tmp_path: Path, api: FakeApi) -> None:
    """The two messages before the batch are shown to both workers."""
    async with talking(tmp_path, api, **MONDAY, CONSTRUCT_OBSERVER_THRESHOLD="1") as t:
        await observed(t, api, ["I met Ana."], f"~ {D} M1 User met Ana")
        assert api.of("verifier") == []
        await observed(t, api, ["She was well."], f"~ {D} M1 Ana was well", f"~ {D} M1 Zoe too")
        ((group,),) = [read_groups(r.body) for r in api.of("verifier")]
        assert (group.kind, group.result.anchor, group.look) == ("note", "M1", ["Zoe"])
        for purpose in ("observer", "verifier"):
            assert "[before] 2026-11-02 10:00 user:\nI met Ana." in sent(api, purpose)
        assert sent(api, "verifier").startswith("<messages>\n[before] ")
        (said,) = [m for m in read_transcript(api.of("observer")[-1].body) if m.role == "user"]
        assert said.anchor == "M1"


@pytest.mark.parametrize(
    ("allergy", "said", "fact"),
    [
        ("User is allergic to penicillin", "I drive a Skoda.", "User drives a Skoda"),
        ("User ist gegen Penicillin allergisch", "Ich fahre Skoda.", "User fährt einen Skoda"),
        ("User é alérgica à penicilina", "Conduzo um Skoda.", "User conduz um Skoda"),
        ("У User аллергия на пенициллин", "Езжу на Шкоде.", "User ездит на Шкоде"),
        ("User对青霉素过敏", "我开斯柯达。", "User开斯柯达"),
        ("User jest uczulona na penicylinę", "Mam skodę.", "User ma skodę"),
    ],
)
async def test_what_matters_goes_only_to_a_successor_of_its_subject(
    tmp_path: Path, api: FakeApi, allergy: str, said: str, fact: str
) -> None:
    """A verifier that nods makes it doubtful, and the user is asked."""
    async with talking(tmp_path, api, **MONDAY) as t:
        await observed(t, api, [f"{allergy}."], f"! {D} M1 {allergy}")
        found = await observed(t, api, [said], f"- {D} M1 {fact} | replaces K1")
        assert [content for content, _ in found] == [allergy, fact]
        assert "doubtful: " in await notes(t)
        assert await t.companion.store.call(flagged, Flag.DOUBTFUL) == {1}
        await t.say("So it goes.")
        assert f"{allergy} | unsure" in sent(api, "chat")
        asked = await query(
            t,
            "SELECT kind, observation_id FROM questions JOIN question_items"
            " ON questions.id = question_id",
        )
        assert asked == [("doubtful", 1)]
        await take_back(t)
        assert await t.companion.store.call(flagged, Flag.DOUBTFUL) == frozenset()
        assert await query(t, "SELECT * FROM questions") == []


async def test_no_words_of_the_user_stand_in_where_there_are_none(
    tmp_path: Path, api: FakeApi
) -> None:
    """The refused line waits for the user in `review`."""
    api.verifier = adversarial.always_no
    async with talking(tmp_path, api, **MONDAY) as t:
        line = f"- {D} M2 Assistant recommends the book Dune | assistant"
        assert await observed(t, api, ["What should I read?"], line) == []
        waiting = await query(
            t,
            "SELECT kind, text, noted_on, observation_id, message_id"
            " FROM questions JOIN question_items ON questions.id = question_id",
        )
        assert waiting == [("stand-in", "Assistant recommends the book Dune", D, None, 2)]


async def test_an_interrupted_second_try_keeps_what_was_accepted(
    tmp_path: Path, api: FakeApi
) -> None:
    """Stand-ins replace the rest; the cycle commits before the work ends as cancelled."""
    api.verifier = refuses(looks)
    lines = [f"- {D} M1 User likes tea", f"! {D} M1 User has a cat called Zoltan"]
    api.enqueue("observer", observer_answer(lines))
    async with talking(tmp_path, api, **MONDAY) as t:
        await t.say("I like tea. I have a cat.")
        work = asyncio.create_task(t.companion.worker.run_now(t.id))
        await asyncio.to_thread(api.wait_for, 1, "verifier")
        api.fail("observer", faults.hang(30))
        await asyncio.to_thread(api.wait_for, 2, "observer")
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        t.check()
        assert [content for content, _ in await stored(t)] == ["User likes tea", "I have a cat."]
        cycles = await query(t, "SELECT kind, status FROM cycles")
        assert cycles == [("observer", "succeeded")]


async def test_what_is_to_be_forgotten_is_not_shown_before_the_next_batch(
    tmp_path: Path, api: FakeApi
) -> None:
    """The observer would note it again."""
    async with talking(tmp_path, api, **MONDAY, CONSTRUCT_OBSERVER_THRESHOLD="1") as t:
        api.enqueue("observer", observer_answer([], forget=["M1"]), observer_answer([]))
        for text in ("My PIN is on a secret note, forget that.", "So it goes."):
            await t.say(text)
            await t.companion.worker.run_due(t.id)
        assert "[before]" not in sent(api, "observer")


def test_stand_ins_are_shown(tmp_path: Path, api: FakeApi) -> None:
    """In `status`, `/generations` and `why`, with the refused line and the reason."""
    program = Program(tmp_path, {**api.env(), **MONDAY})
    api.verifier = refuses(looks)
    line = f"! {D} M1 User has a cat called Zoltan"
    api.observer = lambda _body: observer_answer([line])
    program.run("ask", "--no-wait", "I have a cat.")
    program.run("compact")
    assert program.json("status")["stand_ins"] == 1
    later = {"CONSTRUCT_NOW": "2026-12-03T10:00:00+00:00"}
    assert json.loads(program.run("status", "--json", more=later).stdout)["stand_ins"] == 0
    assert "1 line of the memory worker's could not be confirmed" in " ".join(
        program.run("status").stdout.split()
    )
    why = " ".join(program.run("memory", "why", "1").stdout.split())
    assert (
        "stand-in for “User has a cat called Zoltan” (nobody said Zoltan): “I have a cat.”" in why
    )
    chat = program.run("chat", "--commands", stdin="/generations\n").stdout
    assert "stand-in for “User has a cat called Zoltan”" in " ".join(chat.split())


async def test_what_is_to_be_forgotten_needs_a_yes(tmp_path: Path, api: FakeApi) -> None:
    """A verifier that says no keeps it in sight; nothing stands in from such a message."""
    api.verifier = refuses(lambda g: "" if g.kind == "note" else "the user did not ask")
    async with talking(tmp_path, api, **MONDAY) as t:
        await observed(t, api, ["I owe Ana money."], f"! {D} M1 User owes Ana money")
        api.observer = lambda _body: observer_answer([], forget=["K1", "M1"])
        await t.say("Ana is my sister.")
        await t.companion.worker.run_now(t.id)
        groups = [g for r in api.of("verifier") for g in read_groups(r.body)]
        wishes = [g for g in groups if g.kind == "forget"]
        assert [n.text for n in wishes[0].notes] == ["User owes Ana money"]
        assert wishes[0].result.text == "forget M1"
        assert await query(t, "SELECT * FROM questions WHERE kind = 'forget'") == []


async def test_what_the_model_kept_is_checked_too(tmp_path: Path, api: FakeApi) -> None:
    """A note of `remember` that the messages do not say becomes doubtful, and the user is asked."""
    true, invented = "User's sister is called Ana", "User's sister Ana lives in Porto"
    keeping = [("remember", {"content": text}) for text in (true, invented)]
    api.enqueue("chat", Reply("Noted.", tool_calls=tuple(keeping)), "Done.")
    api.verifier = refuses(looks)
    async with talking(tmp_path, api, **MONDAY) as t:
        assert await observed(t, api, ["My sister is called Ana, keep that."]) == [
            (true, "stated"),
            (invented, "stated"),
        ]
        groups = [g for r in api.of("verifier") for g in read_groups(r.body)]
        assert [(g.kind, g.result.anchor, g.result.text) for g in groups] == [
            ("note", "M1", true),
            ("note", "M1", invented),
        ]
        assert await t.companion.store.call(flagged, Flag.DOUBTFUL) == frozenset([2])
        assert await query(t, "SELECT kind FROM questions") == [("doubtful",)]
