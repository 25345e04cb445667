"""Documents of other programs are read one conversation at a time.

They may have any size. Broken ones are refused.
"""

import io
import json
import tracemalloc
from typing import Any

import pytest

from construct.store.transfer import document as transfer_document
from construct.store.transfer.document import values
from construct.store.transfer.refused import RefusedError


def conversation(number: int, size: int = 0) -> dict[str, Any]:
    """Return something that passes for a conversation, of about `size` bytes."""
    odd: list[Any] = [-1.5e-300, 1700000000.25, True, None, "\\ \n", {"": []}]
    return {"title": f"Nº {number} 日本", "chat_messages": ["ö" * (size // 2)], "odd": odd}


def read(raw: bytes, start: int = 0) -> list[Any]:
    """Return the conversations of a document.

    `start` are the bytes that were read already.
    """
    return list(values(raw[:start], io.BytesIO(raw[start:]), lambda done: None))


@pytest.mark.parametrize("start", [0, 1, 9, 10_000])
@pytest.mark.parametrize("indent", [None, 2])
def test_whatever_is_held_at_once_the_same_is_read(
    monkeypatch: pytest.MonkeyPatch, start: int, indent: int | None
) -> None:
    """Pieces may end in the middle of a word, a character or a conversation."""
    listed = [conversation(n, size) for n, size in enumerate((0, 30, 500, 0, 3_000))]
    listed[0]["title"] = "\U0001f600"
    raw = json.dumps(listed, ensure_ascii=indent is None, indent=indent).encode()
    for chunk in (1, 7, 64, 100_000):
        monkeypatch.setattr(transfer_document, "_CHUNK_BYTES", chunk)
        assert read(raw, start) == listed
        assert read(b'{"conversations": ' + raw + b"}", start) == listed


def test_a_piece_may_end_anywhere() -> None:
    """Also right behind a conversation."""
    listed = [conversation(n) for n in range(3)]
    raw = json.dumps(listed, ensure_ascii=False).encode()
    assert [start for start in range(len(raw) + 1) if read(raw, start) != listed] == []


def test_memory_does_not_grow_with_the_file() -> None:
    """Of eight megabytes only a few chunks are held."""
    raw = json.dumps([conversation(n, 40_000) for n in range(200)], ensure_ascii=False).encode()
    assert peak_of(raw) < len(raw)


def test_a_conversation_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be held in memory."""
    monkeypatch.setattr(transfer_document, "_CHUNK_BYTES", 100)
    monkeypatch.setattr(transfer_document, "_MAX_VALUE_BYTES", 1_000)
    assert len(read(json.dumps([conversation(n, 100) for n in range(20)]).encode())) == 20
    with pytest.raises(RefusedError, match="one conversation in it, is larger than"):
        read(json.dumps([conversation(1), conversation(2, 2_000)]).encode())


@pytest.mark.parametrize("chunk", [1 << 10, 1 << 18])
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'["\\\\]]",', b"[[],"])
def test_what_is_nested_too_deeply_is_refused(
    monkeypatch: pytest.MonkeyPatch, opening: bytes, chunk: int
) -> None:
    """Before ijson sees it, whose memory would grow with the square of the depth."""
    monkeypatch.setattr(transfer_document, "_CHUNK_BYTES", chunk)
    with pytest.raises(RefusedError, match="nested too deeply"):
        read(b"[" + json.dumps(conversation(1)).encode() + b", " + opening * 100_000)


def test_brackets_in_what_was_said_are_not_nested() -> None:
    """A terminal's colours are brackets that nothing closes."""
    turn = {"text": '\x1b[31m "[[[" \\[\\'}
    listed = [{"chat_messages": [turn] * 3_000}]
    assert read(json.dumps(listed).encode()) == listed


def peak_of(raw: bytes) -> int:
    """Return how many bytes are held at once while a document is read."""
    seen: list[int] = []
    tracemalloc.start()
    for _ in values(b"", io.BytesIO(raw), seen.append):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen[-1] == len(raw)
    return peak


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (b"", r"ends in the middle, after \d+ bytes"),
        (b", ", "ends in the middle"),
        (b', {"a": ', "ends in the middle"),
        (b', {"a": "', "ends in the middle"),
        (b', {"a": nope}]', r"not JSON near byte \d+ \(lexical error"),
        (b"] []", "not JSON"),
        (b"}", "not JSON"),
        (b', "\xff"]', "not UTF-8"),
        (b', "\xc3', "not UTF-8"),
        (b", NaN]", "not JSON"),
        (b", " + b"[" * 100_000, "not JSON"),
        (b', {"a" 1}]', "not JSON near byte"),
        (b", {1: 2}]", "not JSON near byte"),
        (b', {"a": 1,}]', "not JSON near byte"),
        (b", [1 2]]", "not JSON near byte"),
        (b",]", "not JSON near byte"),
    ],
)
def test_what_breaks_off_is_refused(end: bytes, why: str) -> None:
    """Whatever comes after a good conversation is said to be wrong."""
    with pytest.raises(RefusedError, match=why):
        read(b"[" + json.dumps(conversation(1)).encode() + end)


@pytest.mark.parametrize("wrong", [b"nope", b'"a\nb"', b'"\\x"', b"NaN", b"1 2", b'{"a" 1}'])
def test_what_is_wrong_is_said_however_much_follows(
    monkeypatch: pytest.MonkeyPatch, wrong: bytes
) -> None:
    """It is not looked for at the end of a long file, nor said to be too long."""
    monkeypatch.setattr(transfer_document, "_CHUNK_BYTES", 100)
    monkeypatch.setattr(transfer_document, "_MAX_VALUE_BYTES", 1_000)
    with pytest.raises(RefusedError, match="it is not JSON"):
        read(
            b'[{"chat_messages": [], "a": ' + wrong + b"}" + b', {"chat_messages": []}' * 500 + b"]"
        )


@pytest.mark.parametrize(
    ("raw", "held"),
    [
        (b"[]", []),
        (b"[1, [2]]", [1, [2]]),
        (b"{}", [{}]),
        (b'{"a": [1]}', [{"a": [1]}]),
        (b'{"conversations": []}', []),
        (b'{"conversations": 3}', [{"conversations": 3}]),
        (b'{"a": {"conversations": [1]}}', [{"a": {"conversations": [1]}}]),
        (b'{"a": [{}], "conversations": [1, {"b": [2]}, [3]], "c": [4]}', [1, {"b": [2]}, [3]]),
    ],
)
def test_a_list_is_read_in_pieces_and_an_object_as_a_whole(raw: bytes, held: list[Any]) -> None:
    """The list `conversations` of an object is read in pieces too."""
    assert read(raw) == held
