"""Reading a worker's answer, whatever it is."""

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.memory.learning.answers import (
    UnusableAnswerError,
    condensation,
    copies_talk,
    drafts_so_far,
    extraction,
    is_degenerate,
    parse_object,
)
from construct.memory.learning.proposals import PRIORITIES, STANCES, Condensation, Extraction
from tests.memory.making import draft, message

ANCHORS = {"M1": 11, "M2": 12, "O1": 21}
DAYS = {11: date(2026, 3, 1), 12: date(2026, 3, 3), 21: date(2026, 3, 2)}
KEYS = """observations content priority stance observation_date referenced_date sources superseded outdated old by
    current_task suggested_response conversation_title""".split()
LIKELY = [*ANCHORS, "M9", "[M1]", "m1", "high", "stated", "2026-03-02", "9999-12-31", "0001-01-01", "User has a cat"]
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(LIKELY)
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner),
    max_leaves=20,
)
ITEM = st.fixed_dictionaries(
    {"content": ATOMS | JSON, "sources": JSON | st.lists(st.sampled_from([*ANCHORS, "M9", 7])) | st.just(["M1"])},
    optional=dict.fromkeys(("priority", "stance", "observation_date", "referenced_date"), ATOMS | JSON),
)
ANSWER = st.fixed_dictionaries(
    {"observations": st.lists(ITEM | JSON, max_size=4)},
    optional={key: JSON for key in KEYS if key != "observations"},
)


def read(**item: Any) -> Extraction:
    """Return what is believed of an answer with one observation."""
    return extraction({"observations": [{"content": "User has a cat", "sources": ["M1"]} | item]}, ANCHORS, DAYS)


@settings(deadline=None)
@given(JSON | ANSWER)
def test_any_json_is_read_or_refused(value: object) -> None:
    """No JSON raises anything but UnusableAnswerError, and what is believed of it is sound."""
    try:
        data = parse_object(json.dumps(value))
    except UnusableAnswerError:
        return
    found = extraction(data, ANCHORS, DAYS)
    assert_sound(found)
    drafts = condensation(data, ANCHORS)
    assert {i for pair in drafts.outdated for i in pair} | set(drafts.superseded) <= set(ANCHORS.values())
    assert all(set(d.sources) <= set(ANCHORS.values()) and d.sources for d in drafts.drafts)


def assert_sound(found: Extraction) -> None:
    """Assert what holds for every observation that may be stored."""
    for d in found.drafts:
        assert d.content == " ".join(d.content.split()) != ""
        assert d.content.encode()
        assert d.priority in PRIORITIES
        assert d.stance in STANCES
        assert d.sources
        assert set(d.sources) <= set(ANCHORS.values())
        assert date.fromisoformat(d.observation_date) <= max(DAYS[i] for i in d.sources)
        assert d.referenced_date is None or date.fromisoformat(d.referenced_date)
    said = [(d.content, d.stance, d.referenced_date) for d in found.drafts]
    assert len(said) == len(set(said))
    for phrase in (found.current_task, found.suggested_response, found.title):
        assert phrase is None or (phrase.strip() and "\n" not in phrase and len(phrase) <= 400)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text raises anything but UnusableAnswerError."""
    with pytest.raises(UnusableAnswerError):
        parse_object(text.replace("observations", ""))


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", '{"observations": null}', '{"observations": {}}', "Sure!", '{"observations": [', "}{", "{",
     '{"observations": []', '{"observations": []} trailing }', "1e999", '{"observations": [' + "[" * 100_000,
     '{"observations": ' + "[" * 5000 + "]" * 5000 + "}", '{"observations": [{"content": ' + "9" * 5000 + "}]}"],
)  # fmt: skip
def test_what_is_no_answer(text: str) -> None:
    """Prose, halves, other JSON and JSON too deep or too large to read are no answers."""
    with pytest.raises(UnusableAnswerError):
        parse_object(text)


@pytest.mark.parametrize("depth", range(100, 1000, 50))
def test_deep_nesting_is_refused_or_read(depth: int) -> None:
    """However deep the JSON is nested, where the content should be too, nothing but a refusal comes of it."""
    nested = "[" * depth + "]" * depth
    try:
        data = parse_object('{"observations": [{"content": ' + nested + ', "sources": ["M1"]}]}')
    except UnusableAnswerError:
        return
    assert extraction(data, ANCHORS, DAYS).drafts == ()


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here it is: {} That is all.", "\ufeff{}\n"])
def test_what_stands_around_the_object_is_forgiven(around: str) -> None:
    """A code fence or a word before and after does no harm."""
    assert parse_object(around.replace("{}", '{"observations": []}')) == {"observations": []}


@pytest.mark.parametrize(
    "anchor",
    ["M9", "m1", "[M1]", " M1", "M1 ", "", "11", 11, 1, 1.0, None, True, ["M1"], {"M1": 1}, "M1\u200b", "Ｍ１", "O1"],
)
def test_invented_anchors_are_dropped(anchor: object) -> None:
    """What is no anchor that went out, of any type, is dropped; an observation left with none is not stored."""
    known = {"M1": 11, "M2": 12}
    data = {
        "observations": [
            {"content": "User has a cat", "sources": [anchor]},
            {"content": "User has a dog", "sources": [anchor, "M2", anchor, "M2"]},
        ],
        "superseded": [anchor, "M2"],
        "outdated": [{"old": anchor, "by": "M2"}, {"old": "M1", "by": anchor}, anchor],
    }
    assert [d.sources for d in extraction(data, known, DAYS).drafts] == [(12,)]
    found = condensation(data, known)
    assert [d.sources for d in found.drafts] == [(12,)]
    assert (found.superseded, found.outdated) == ((12,), ())


@pytest.mark.parametrize("sources", [None, "M1", {"M1": 1}, 1, [], [[]], [None]])
def test_an_observation_from_nowhere_is_dropped(sources: object) -> None:
    """An observation that names no message it was given is not stored."""
    assert read(sources=sources).drafts == ()


@pytest.mark.parametrize("content", [None, 1, [], {}, "", " \n\t", "\x00\x1b[31m", "\u2028\u200e"])
def test_an_observation_without_words_is_dropped(content: object) -> None:
    """What has no words that can be shown is no observation."""
    assert read(content=content).drafts == ()


@pytest.mark.parametrize(
    ("day", "sources", "expected"),
    [
        ("2026-02-28", ["M1"], "2026-02-28"),
        ("2026-03-01", ["M1"], "2026-03-01"),
        ("2026-03-02", ["M1"], "2026-03-01"),
        ("2026-03-02", ["M1", "M2"], "2026-03-02"),
        ("9999-12-31", ["M2", "M1"], "2026-03-03"),
        ("2026-02-28T23:59:59Z", ["M1"], "2026-02-28"),
        ("2026-02-30", ["M1"], "2026-03-01"),
        ("yesterday", ["M1"], "2026-03-01"),
        ("", ["M1"], "2026-03-01"),
        (None, ["M1"], "2026-03-01"),
        (20260228, ["M1"], "2026-03-01"),
    ],
)
def test_a_date_is_never_later_than_the_message(day: object, sources: list[str], expected: str) -> None:
    """The day is the worker's as far as it can be, at most that of the latest source, which stands in for none."""
    assert read(observation_date=day, sources=sources).drafts[0].observation_date == expected


def test_the_day_ahead_may_be_later() -> None:
    """What lies ahead is the referenced date; what is no date is none."""
    assert read(referenced_date="2031-01-01").drafts[0].referenced_date == "2031-01-01"
    assert read(referenced_date="soon").drafts[0].referenced_date is None


def test_unknown_words_become_the_careful_ones() -> None:
    """A priority or stance that does not exist is medium and inferred."""
    found = read(priority="URGENT", stance=["stated"]).drafts[0]
    assert (found.priority, found.stance) == ("medium", "inferred")


def test_what_is_said_twice_is_kept_once() -> None:
    """Repetitions are one observation with the sources of all and the highest priority; other days and stances stay."""
    base = {"content": "User sees the dentist", "stance": "stated", "referenced_date": "2026-04-01", "sources": ["M1"]}
    changes: list[dict[str, object]] = [
        {"priority": "low"},
        {"content": "user sees the dentist!", "sources": ["M2"], "priority": "high"},
        {"referenced_date": "2026-05-01"},
        {"stance": "quoted"},
    ]
    found = extraction({"observations": [base | change for change in changes]}, ANCHORS, DAYS).drafts
    assert [(d.priority, d.stance, d.referenced_date, d.sources) for d in found] == [
        ("high", "stated", "2026-04-01", (11, 12)),
        ("medium", "stated", "2026-05-01", (11,)),
        ("medium", "quoted", "2026-04-01", (11,)),
    ]


@pytest.mark.parametrize(
    "lines",
    [("用户喜欢茶", "用户住在北京"), ("User knows C", "User knows C++"), ("👍", "👎"), ("Rent is $5", "Rent is €5")],
)
def test_different_lines_stay_two(lines: tuple[str, str]) -> None:
    """Lines in any script, or that differ in a sign alone, are not taken for repetitions."""
    data = {"observations": [{"content": line, "sources": ["M1"]} for line in lines]}
    assert [d.content for d in extraction(data, ANCHORS, DAYS).drafts] == list(lines)


def test_an_empty_condensation() -> None:
    """A reflector may propose nothing."""
    assert condensation({"observations": []}, ANCHORS) == Condensation()


@pytest.mark.parametrize("period", [1, 2, 3, 7, 50, 199, 200, 201, 333, 500, 1000, 2500])
def test_repetition_at_any_period_is_degenerate(period: int) -> None:
    """A loop of any length is noticed, also behind an honest beginning."""
    block = "".join(chr(97 + (i * i * 7 + i // 3) % 26) for i in range(period))
    loop = block * (10_000 // period)
    assert is_degenerate(loop)
    assert is_degenerate(honest(10) + loop)
    with pytest.raises(UnusableAnswerError, match="repeats"):
        parse_object('{"observations": [{"content": "' + loop[:9_000] + '", "sources": ["M1"]}]}')


def honest(count: int, indent: int | None = None, source: str | None = None) -> str:
    """Return an honest answer with `count` different observations."""
    names = "Ana Ben Carla Diego Emma Fadi Greta Hugo".split()
    things = "tea a-flat piano Porto chess a-dog tennis bread".split()
    items = [
        {"content": f"User's friend {names[i % 8]} likes {things[i // 8 % 8]}", "priority": "medium",
         "stance": "stated", "observation_date": "2026-03-01", "referenced_date": None,
         "sources": [source or f"M{i + 1}"]}
        for i in range(count)
    ]  # fmt: skip
    compact = None if indent else (",", ":")
    return json.dumps({"observations": items, "current_task": None}, indent=indent, separators=compact)


@pytest.mark.parametrize("indent", [None, 2, 4])
@pytest.mark.parametrize("source", [None, "M1"])
def test_a_long_honest_answer_is_not_degenerate(indent: int | None, source: str | None) -> None:
    """Sixty different observations are no loop, however the JSON is laid out, and all from one message."""
    text = honest(60, indent, source)
    assert not is_degenerate(text)
    assert len(parse_object(text)["observations"]) == 60


def test_an_endless_line_is_refused() -> None:
    """A line of more than 10,000 characters is no observation, even if nothing in it repeats."""
    line = "".join(f"{i} " for i in range(9999))

    def answer(length: int) -> str:
        return json.dumps({"observations": [{"content": line[:length], "sources": []}]})

    assert parse_object(answer(10_000))
    with pytest.raises(UnusableAnswerError, match="does not end"):
        parse_object(answer(10_001))


def test_one_line_for_every_message_is_refused() -> None:
    """An answer that hardly ever says anything new is no observation of what was said."""

    def answer(different: int) -> str:
        lines = [{"content": f"User has {i % different} cats", "sources": [f"M{i}"]} for i in range(12)]
        return json.dumps({"observations": lines})

    assert parse_object(answer(4))
    with pytest.raises(UnusableAnswerError, match="again and again"):
        parse_object(answer(3))


@pytest.mark.parametrize(
    ("labels", "copied"),
    [
        (("User: ", "Assistant: ") * 3, True),
        (("User: ", "User:", "user: ", "User: "), True),  # whoever spoke, it is called the user's
        (("User: ", "Assistant: "), False),  # so few may be a chance
        (("User: ", "Assistant: ", "User said: ", "") * 2, False),  # half
    ],
)
def test_a_copy_of_the_talk_is_no_answer(labels: Sequence[str], copied: bool) -> None:
    """Lines that are mostly what both said, each behind a speaker, are told from observations."""
    talk = [message(i, "assistant" if i % 2 else "user", f"I like tea {i}. Do you?") for i in range(len(labels))]
    drafts = [draft(f"{label}I like tea {i}.", [i]) for i, label in enumerate(labels)]
    assert copies_talk(drafts, talk) == copied


def test_what_the_user_alone_said_is_no_copy() -> None:
    """A worker may have its own way to begin a line: only both sides of the talk make a copy of it."""
    talk = [message(i, "user", f"I like tea {i}.") for i in range(6)]
    assert not copies_talk([draft(f"User: I like tea {i}.", [i]) for i in range(6)], talk)


def test_an_answer_is_read_while_it_is_written() -> None:
    """Each time one more item has come, all so far are read; between these, and at the end, nothing is."""
    anchors, days = {f"M{i}": i for i in range(1, 4)}, dict.fromkeys(range(1, 4), date.max)
    text = json.dumps(json.loads(honest(3)))
    ends = [i + 1 for i, mark in enumerate(text) if mark in "},"]
    found = [len(drafts_so_far(text[:end], anchors, days)) for end in ends if text[:end].rstrip(",").endswith("}")]
    assert found == [1, 1, 2, 2, 3, 0]
    assert not any(drafts_so_far(text[:i], anchors, days) for i in range(len(text)) if text[i - 1] not in "}, ")
