"""Markdown without its marks."""

import pytest

from construct.views.unmarked import without_markup


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("It is **Mila**, who is *nine*.", "It is Mila, who is nine."),
        ("# Plan\n- one\n- `two`", "Plan\none\ntwo"),
        ("> see [the site](https://x.org)", "see the site"),
        ("```sh\nls *.py\n```", "\nls *.py\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n\n| 1 | 2 |"),
        ("2 * 3 * 4, snake_case_name, 5 > 4, a * b", "2 * 3 * 4, snake_case_name, 5 > 4, a * b"),
        ("**half", "**half"),
    ],
)
def test_only_the_words_stay(markdown: str, plain: str) -> None:
    """What merely looks like a mark is left alone."""
    assert without_markup(markdown) == plain
