"""The benchmark of what is remembered: file forms, scores, and ways to ask."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import quality
from benchmarks.remembering.judging import judge
from benchmarks.remembering.lives import Exchange, Question, chosen, read_lives
from benchmarks.remembering.models import KeptModel, Said, Script
from benchmarks.remembering.scores import abstains, contained, interval, score
from construct.errors import ModelBrokenError
from construct.llm.types import (
    ChatMessage,
    Reply,
    ReplyStream,
    Request,
    Text,
    Usage,
    WorkReply,
    WorkRequest,
)
from construct.talk.events import reporting_retries
from tests.support.fake_api import FakeApi, faults

SMALL_TALK = [
    "Nice weather, is it not?",
    "It is, and so warm.",
    "Let us hope that it stays.",
    "Yes, for a while.",
]


def locomo(folder: Path) -> Path:
    """Write a LoCoMo file of one conversation in three sessions.

    The second session is small talk.
    """
    weather = [("Ana" if i % 2 else "Ben", SMALL_TALK[i % 4]) for i in range(24)]
    sessions = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ben", "dia_id": "D1:1", "text": "Hi Ana, how are you?"},
            {
                "speaker": "Ana",
                "dia_id": "D1:2",
                "text": "I adopted a parrot called Gonzo from the shelter yesterday.",
            },
            {"speaker": "Ben", "dia_id": "D1:3", "text": "Lovely!", "blip_caption": "a red kayak"},
            {"speaker": "Ben", "dia_id": "D1:4", "text": "That is mine."},
        ],
        "session_2_date_time": "10:00 am on 9 June, 2023",
        "session_2": [
            {"speaker": who, "dia_id": f"D2:{i}", "text": text}
            for i, (who, text) in enumerate(weather)
        ],
    }
    asked = [
        {
            "question": "What is the parrot called?",
            "answer": "Gonzo",
            "evidence": ["D1:2"],
            "category": 4,
        },
        {
            "question": "When did Ana adopt it?",
            "answer": "7 May 2023",
            "evidence": ["D1:2; D2:1"],
            "category": 2,
        },
        {
            "question": "What colour is Ana's kayak?",
            "adversarial_answer": "red",
            "evidence": ["D1:3"],
            "category": 5,
        },
        {
            "question": "What is the kayak like?",
            "answer": "red; he said so",
            "evidence": ["D1:3"],
            "category": 3,
        },
    ]
    speakers = {"speaker_a": "Ana", "speaker_b": "Ben"}
    path = folder / "locomo.json"
    path.write_text(
        json.dumps([{"sample_id": "c-1", "conversation": {**speakers, **sessions}, "qa": asked}])
    )
    return path


def longmemeval(folder: Path) -> Path:
    """Write a LongMemEval file of two questions."""

    def turns(text: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": text}, {"role": "assistant", "content": "Good."}]

    item = {
        "question_type": "single-session-user",
        "question": "Where did I buy my bicycle?",
        "answer": "in Ghent",
        "question_date": "2023/06/01 (Thu) 09:00",
        "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s2", "s1"],
        "haystack_sessions": [
            turns("I went running."),
            turns("I bought my bicycle in Ghent last year."),
        ],
        "answer_session_ids": ["s1"],
    }
    path = folder / "longmemeval.json"
    path.write_text(json.dumps([{"question_id": "q1", **item}, {"question_id": "q2_abs", **item}]))
    return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> str:
    """Run the benchmark in this process and return what it printed."""
    monkeypatch.setattr(sys, "argv", ["quality.py", *map(str, arguments)])
    quality.main()
    return capsys.readouterr().out


def test_a_locomo_conversation_is_two_lives(tmp_path: Path) -> None:
    """Each speaker is the user once.

    They are asked the questions that name them first or rest on what they said.
    """
    ana, ben = read_lives(locomo(tmp_path))
    assert (ana.name, ana.user, ana.other, ben.user) == ("c-1/Ana", "Ana", "Ben", "Ben")
    assert ana.sessions[0].begins == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert ana.sessions[0].exchanges[0] == Exchange("", "Hi Ana, how are you?")
    assert ana.sessions[0].exchanges[1].heard == "Lovely!\n[image: a red kayak]\nThat is mine."
    assert [(q.answer, q.needs) for q in ana.questions] == [
        ("Gonzo", 1),
        ("7 May 2023", 2),
        (None, 1),
    ]
    assert [q.answer for q in ben.questions] == ["red"]
    assert ana.asked_at == datetime(2023, 6, 10, 10, 0, tzinfo=UTC)


def test_a_longmemeval_question_is_a_life(tmp_path: Path) -> None:
    """Its sessions are sorted by time.

    The id tells whether a question has no answer.
    """
    one, other = read_lives(longmemeval(tmp_path))
    assert [s.exchanges[0].said for s in one.sessions] == [
        "I bought my bicycle in Ghent last year.",
        "I went running.",
    ]
    assert (one.questions[0].answer, one.questions[0].needs, other.questions[0].answer) == (
        "in Ghent",
        1,
        None,
    )
    assert one.asked_at == datetime(2023, 6, 1, 9, 0, tzinfo=UTC)


def test_a_part_of_the_lives_can_be_chosen(tmp_path: Path) -> None:
    """By name, by number, and cut to the first sessions with what is asked of those.

    The lot falls the same twice.
    """
    lives = read_lives(locomo(tmp_path))
    (ben,) = chosen(lives, "c-1/Ben", 0, 0)
    (ana,) = chosen(lives, "1", 1, 1)
    assert (ben.user, ana.user, len(ana.sessions), len(ana.questions)) == ("Ben", "Ana", 1, 1)
    assert ana.questions[0].text != "When did Ana adopt it?"
    assert ana == chosen(lives, "c-1", 1, 1)[0]


@pytest.mark.parametrize("text", ["{}", '[{"x": 1}]', '["qa"]'])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    """A file of neither dataset is refused by name."""
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"x\.json"):
        read_lives(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("reply", "answer", "category", "f1", "holds"),
    [
        ("7 May 2023", "7 May 2023", "temporal", 1.0, 1.0),
        ("On 2023-05-07.", "7 May 2023", "temporal", 6 / 7, 1.0),
        ("the running!", "Runs", "single-hop", 1.0, 1.0),
        ("camping, chess", "pottery, camping", "multi-hop", 0.5, 0.5),
        ("Likely yes", "Yes", "open", 2 / 3, 1.0),
        ("", "Gonzo", "single-hop", 0.0, 0.0),
        ("We never talked about that.", None, "adversarial", 1.0, 1.0),
        ("Red.", None, "adversarial", 0.0, 0.0),
    ],
)
def test_scores(reply: str, answer: str | None, category: str, f1: float, holds: float) -> None:
    """F1 is LoCoMo's: parts of a list each by itself.

    Where there is no answer, a reply that says so is right.
    """
    assert score(reply, answer, category) == pytest.approx(f1)
    assert contained(reply, answer) == pytest.approx(holds)


def test_what_says_that_it_does_not_know() -> None:
    """Not every "not" is one."""
    assert abstains("I don't have that.")
    assert abstains("No information")
    assert not abstains("She does not like tea, but she knows no fear.")


def test_an_interval_holds_the_mean_and_stays_the_same() -> None:
    """It comes from a lot that falls the same each time."""
    values = [0.0, 1.0] * 50
    low, high = interval(values)
    assert low < 0.5 < high
    assert interval(values) == (low, high)
    assert interval([]) == (0.0, 0.0)


class Moody(Script):
    """Says a new thing each time, and fails the first time."""

    def __init__(self) -> None:
        super().__init__(200_000)
        self.calls = 0

    def stream(self, request: Request) -> ReplyStream:
        """Return "", broken off, then "2" and so on."""
        self.calls += 1
        return Said(Reply(str(self.calls), stop_reason="end_turn") if self.calls > 1 else Reply())

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Fail, then return an answer."""
        self.calls += 1
        if self.calls == 1:
            raise ModelBrokenError("no", "Try again.")
        return WorkReply(str(self.calls), Usage(1, 2, 3, 4), "end_turn")


async def test_a_reply_is_asked_for_once(tmp_path: Path) -> None:
    """What broke off is asked again.

    What came is kept by request and model, for later runs too.
    """
    moody, asked = Moody(), list[Request]()

    async def ask(words: str, identity: str = "") -> str:
        kept = KeptModel(moody, tmp_path, identity)
        asked.append(
            reporting_retries(
                Request((), (ChatMessage("user", (Text(words),)),)), lambda event: None
            )
        )
        stream = kept.stream(asked[-1])
        text = "".join([piece async for piece in stream])
        await stream.aclose()
        return text

    said = [
        await ask("a"),
        await ask("a"),
        await ask("a"),
        await ask("b"),
        await ask("a", "another"),
        await ask("b"),
    ]
    assert said == ["", "2", "2", "3", "4", "3"]


async def test_a_workers_answer_is_asked_for_once(tmp_path: Path) -> None:
    """What failed is asked again.

    The answer that is kept is the same in all its parts.
    """
    moody = KeptModel(Moody(), tmp_path)
    request = WorkRequest("Observe.", "Well?")
    with pytest.raises(ModelBrokenError):
        await moody.complete(request)
    first, again = await moody.complete(request), await moody.complete(request)
    assert first == again == WorkReply("2", Usage(1, 2, 3, 4), "end_turn")
    assert (await moody.complete(WorkRequest("Reflect.", "Well?"))).text == "3"


@pytest.mark.parametrize(
    ("verdict", "mark"), [("Right.", 1.0), ("wrong", 0.0), ("I would say so", None), ("", None)]
)
async def test_a_judge_answers_with_a_word(verdict: str, mark: float | None) -> None:
    """What is no verdict is none."""

    class Judge(Script):
        async def complete(self, request: WorkRequest) -> WorkReply:
            return WorkReply(verdict, Usage(), "end_turn")

    question = Question("q", "What is it called?", "Gonzo", "single-hop", 1)
    assert await judge(Judge(1_000), question, "Gonzo") == mark


def test_every_way_is_asked_of_a_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the last 20 messages do not show what was said before them."""
    places = (locomo(tmp_path), "--conversations", "c-1/Ana", "--cache", tmp_path / "cache")
    found = json.loads(run(monkeypatch, capsys, *places, "--json"))
    shown = {way: own["shown"] for way, own in found["overall"].items()}
    assert shown["recent"] < 0.2  # the year alone
    assert min(shown["full"], shown["observations"], shown["construct"], shown["recall"]) > 0.5
    assert {way: own["n"] for way, own in found["overall"].items()} == dict.fromkeys(shown, 2)
    assert set(found["categories"]) == {"single-hop", "temporal", "adversarial"}
    assert found["construct_minus"]["recent"]["f1"]["n"] == 2
    assert found["cycles"] == {"observer by extractive": 2}


def test_a_longmemeval_file_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --show each answer stands above the table."""
    text = run(monkeypatch, capsys, longmemeval(tmp_path), "--ways", "full,construct", "--show")
    assert (
        "q1 construct Where did I buy my bicycle? = in Ghent "
        "| I bought my bicycle in Ghent last year." in " ".join(text.split())
    )
    assert "construct - full" in text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--ways", "full,best"], "best"),
        (["--conversations", "c-9"], "none of these"),
        (["--keep", "."], "already"),
        (["--reader", "claude-sonnet-5-5"], "credentials"),
    ],
)
def test_wrong_use_gets_plain_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wrong: list[str],
    said: str,
) -> None:
    """No traceback: what is wrong, in a line or two."""
    with pytest.raises(SystemExit, match=said):
        run(monkeypatch, capsys, locomo(tmp_path), *wrong)


def test_any_server_may_observe_and_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    api: FakeApi,
) -> None:
    """Over the Messages API, as worker, reader and judge.

    A run that a rejected key ended goes on where it was.
    """
    for name, value in api.env().items():
        monkeypatch.setenv(name, value)
    names = (
        "--worker",
        "claude-haiku-5-5",
        "--reader",
        "claude-sonnet-5-5",
        "--judge",
        "claude-haiku-5-5",
        "--json",
    )
    ask = (
        longmemeval(tmp_path),
        "--ways",
        "construct",
        "--conversations",
        "1",
        "--cache",
        tmp_path / "cache",
        *names,
    )
    monkeypatch.setattr("construct.memory.policy.LEFTOVER_TOKENS", 1)
    api.fail("chat", faults.http(401))
    with pytest.raises(SystemExit, match="goes on where it stopped"):
        run(monkeypatch, capsys, *ask)
    found = json.loads(run(monkeypatch, capsys, *ask))
    assert found["cycles"] == {"observer by claude-haiku-5-5": 2}
    assert [r.purpose for r in api.requests].count("observer") == 2
    assert [r.status for r in api.requests if r.body["model"] == "claude-sonnet-5-5"] == [401, 200]
