"""The part of a text that holds what was looked for."""

from hypothesis import given, settings
from hypothesis import strategies as st

from construct.memory.recall.query import excerpt, word_spans

SIZE = 240


def test_words_are_found_in_their_forms() -> None:
    """As the index finds them: folded, stemmed, irregular forms too.

    And of scripts without spaces the pieces.
    """
    line = "We swam in Tróia; 娘はくるみアレルギーです。"
    assert [line[a:b] for a, b in word_spans(line, ["swims", "troia"], ["くる", "るみ"])][-3:] == [
        "Tróia",
        "くる",
        "るみ",
    ]
    assert [line[a:b] for a, b in word_spans(line, ["swim"])] == ["swam"]
    assert not list(word_spans(line, ["ines"]))


@settings(max_examples=80, deadline=None)
@given(
    text=st.text(max_size=600),
    wanted=st.lists(st.text("abcdefgh", min_size=1, max_size=6), max_size=4),
)
def test_a_snippet_is_one_short_line(text: str, wanted: list[str]) -> None:
    """Whatever the text, what is shown of it is one line of bounded length."""
    cut = excerpt(text, wanted, SIZE)
    assert len(cut) <= SIZE + 2
    assert "\n" not in cut


def test_a_snippet_is_cut_around_what_was_found() -> None:
    """The words that were found stand in it, and it begins and ends between words."""
    text = f"{'before it ' * 60}the lighthouse of Peniche {'after it ' * 60}"
    cut = excerpt(text, ["lighthouse", "peniche"], SIZE)
    assert "the lighthouse of Peniche" in cut
    assert cut.startswith("…")
    assert cut.endswith("…")
    assert set(cut.strip("…").split()) <= set(text.split())


def test_a_word_may_stand_very_often_in_a_long_text() -> None:
    """What it takes grows with the text only: by its square this would take minutes."""
    text = f"{'a heron ' * 40_000}{'heron ' * 1_000}"
    assert excerpt(text, ["heron"], SIZE).strip("…").split() == ["heron"] * 39


def test_a_short_excerpt_of_text_without_spaces_keeps_the_match() -> None:
    """The start is not moved past the match to reach a space."""
    text = "あ" * 100 + "。heron。" + "あ" * 5 + " " + "い" * 100
    assert "heron" in excerpt(text, ["heron"], 60)
