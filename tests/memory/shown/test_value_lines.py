"""Values as lines: what is read of an answer, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.learning.values import followed_name
from construct.memory.shown.value_lines import (
    ReadValue,
    anchored_value_line,
    is_called,
    read_amount,
    read_values,
)

SENT, KNOWN = {"M1", "M12"}, {"V1", "V2"}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("coffee spending | 4.50 EUR | 2026-06-03 | M12",
         ("coffee spending", 4.5, "EUR", "2026-06-03", ("M12",), ())),
        ("- Weight | 71,2 kg | 2026-06-03 | [M1], M12 | replaces V1 V9",
         ("Weight", 71.2, "kg", "2026-06-03", ("M1", "M12"), ("V1",))),
        ("rent | €1,300.50 | 2026-06-03 | M1", ("rent", 1300.5, "€", "2026-06-03", ("M1",), ())),
        ("steps | 10 000 | 2026-06-03 | M1", ("steps", 10000.0, None, "2026-06-03", ("M1",), ())),
        ("balance | −3.5 | 2026-06-03 | M1", ("balance", -3.5, None, "2026-06-03", ("M1",), ())),
        ("coffee | 4.50 EUR | 2026-06-31 | M12", None),
        ("coffee | 4.50 EUR | 2026-06 | M12", None),
        ("coffee | a lot | 2026-06-03 | M12", None),
        ("coffee | 1:30 h | 2026-06-03 | M12", None),
        ("coffee | 4.50 EUR | 2026-06-03 | M99", None),
        ("coffee | 4.50 EUR | 2026-06-03", None),
        (" | 4.50 EUR | 2026-06-03 | M1", None),
        ("coffee | 9" + "9" * 400 + " EUR | 2026-06-03 | M1", None),
        ("User drinks coffee", None),
    ],
)  # fmt: skip
def test_a_line(line: str, value: tuple[object, ...] | None) -> None:
    """A name, an amount with its unit, a day and messages; else it could not be read."""
    values, unread = read_values([line], SENT, KNOWN)
    assert values == ([] if value is None else [ReadValue(*value)])  # type: ignore[arg-type]
    assert unread == ([line] if value is None else [])


@given(
    st.builds(
        ReadValue,
        st.sampled_from(["coffee spending", "Gewicht", "歩数"]),
        st.integers(-(10**9), 10**9).map(lambda cents: cents / 100),
        st.sampled_from([None, "EUR", "kg"]),
        st.dates().map(str),
        st.just(("M1", "M12")),
        st.sampled_from([(), ("V2",)]),
    )
)
def test_what_is_written_is_read(value: ReadValue) -> None:
    """In the form in which the verifier sees it."""
    assert read_values([anchored_value_line(value)], SENT, KNOWN) == ([value], [])


@given(st.text(max_size=30))
def test_no_amount_is_a_crash(text: str) -> None:
    """Whatever a model writes."""
    amount = read_amount(text)
    assert amount is None or abs(amount) < 1e12
    read_values([f"coffee | {text} | 2026-06-03 | M1", text], SENT, KNOWN)


@pytest.mark.parametrize(
    ("name", "stored", "known_as"),
    [
        ("Coffee  Spending", [], "Coffee Spending"),
        ("coffee spending in euros", ["coffee spending"], "coffee spending"),
        ("coffee", ["coffee spending"], "coffee spending"),
        ("coffee spend", [], None),
        ("salary", [], None),
        ("", [], None),
    ],
)
def test_a_rule_names_what_it_follows(name: str, stored: list[str], known_as: str | None) -> None:
    """Its words, or how they begin; and what has a name keeps it."""
    assert followed_name(name, ["weight", "coffee spending in euros"], stored) == known_as


def test_a_rule_of_its_own_comes_before_one_that_begins_so() -> None:
    """Coffee is not coffee beans."""
    rules = ["coffee beans", "coffee"]
    assert followed_name("coffee", rules, ["coffee beans"]) == "coffee"
    assert followed_name("coffee beans", rules, ["coffee"]) == "coffee beans"


def test_a_name_is_called_by_how_it_begins() -> None:
    """The rule's name finds what is stored under the shorter one."""
    assert is_called("coffee spending", "Coffee spending in euros")
    assert is_called("coffee spending", "coffee")
    assert not is_called("coffee spending", "tea")
