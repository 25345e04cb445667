"""Code and encoded data are shortened for the observer, prose never is."""

import base64
import random

import pytest

from construct.language.abridging import abridged

DATA = base64.b64encode(random.Random(7).randbytes(90_000)).decode()
WRAPPED = "\n".join(DATA[i : i + 76] for i in range(0, len(DATA), 76))
CODE = "\n".join(
    f"def total_{n}(rows: list[int]) -> int:\n"
    '    """Return the total of all rows that were given to this function."""\n'
    f"    return sum(row.amount for row in rows if row.number > {n})\n"
    for n in range(200)
)
PROSE = "\n".join(
    f"On day {n} we walked along the river to the mill, and Ana told me about her plans."
    for n in range(300)
)
LIST = "\n".join(f"- Day {n}: bread 3.50, milk (2 litres) and a newspaper" for n in range(300))
CHINESE = "今天我和安娜沿着河走到磨坊" * 800


def pasted(text: str) -> str:
    """Return a text in lines that begin with `> `."""
    return "\n".join(f"> {line}" for line in text.split("\n"))


@pytest.mark.parametrize("text", [DATA, WRAPPED, CODE])
@pytest.mark.parametrize("form", [str, pasted])
def test_code_and_data_keep_their_ends(text: str, form: type[str]) -> None:
    """What was said around them stays, and pasted lines stay marked."""
    whole = f"This is my file, I made it in Porto:\n{form(text)}\nWhat do you think of it?"
    short = abridged(whole)
    assert len(short) < 3_000
    assert short.startswith("This is my file, I made it in Porto:\n")
    assert short.endswith("\nWhat do you think of it?")
    assert "characters of code or data left out]" in short
    inner = short.split("\n")[1:-1]
    assert all(line.startswith("> ") for line in inner) is (form is pasted)
    assert "> [" in short


@pytest.mark.parametrize("text", [PROSE, LIST, CHINESE, CODE[:3_000], ""])
@pytest.mark.parametrize("form", [str, pasted])
def test_prose_and_short_code_stay(text: str, form: type[str]) -> None:
    """However long it is."""
    assert abridged(form(text)) == form(text)
