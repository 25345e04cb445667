"""Words that look like names in any script, and what counts as the same word."""

import pytest

from construct.language.names import heard_words, letter_pairs, shares_a_word, unfound_names


@pytest.mark.parametrize(
    ("fact", "heard", "unfound"),
    [
        ("User's husband is Bartek", "Mieszkam z mężem Bartkiem.", []),
        ("Сын User — Миша", "Живу с сыном Мишей.", []),
        ("User asuu Turussa Heikin kanssa", "Heikki ja minä, Turku", []),
        ("User felesége Anna, Szeged", "Annával Szegeden élek", []),
        ("User má bratra Pavla v Praze", "brácha Pavel, Praha", []),
        ("User mieszka w Łodzi", "lodz", []),
        ("User'ın kedisi Ahmet'in", "AHMET", []),
        ("User met Zoltan in Porto", "I was in porto", ["Zoltan"]),
        ("User met Noor", "Nora came", ["Noor"]),
        ("User rides. The bike is red", "I ride a red bike", []),
        ("User's mail is ana@example.com", "my mail", ["ana@example.com"]),
        ("User的妹妹叫王大明，住在上海", "我妹妹住在上海。", ["叫王大明"]),
        ("User的妹妹叫王大明", "我妹妹叫王大明", []),
        ("妹はタナカと結婚した", "妹は結婚した", ["タナカ"]),
        ("أخت User ليلى تسكن الرياض", "أختي تسكن بالرياض", ["ليلى"]),
        ("הבת של User נועה בחיפה", "הבת שלי בחיפה", ["נועה"]),
        ("User की बहन प्रिया दिल्ली में रहती है", "मेरी बहन की शादी दिल्ली में है, रहती", ["प्रिया"]),
        ("น้องสาวของ User ชื่อสมหญิง", "น้องสาวของฉัน", ["ชื่อสมหญิง"]),
        ("User의 동생 민수는 부산에 산다", "동생이 부산에서 산다", ["민수는"]),
    ],
)
def test_names_that_were_not_heard(fact: str, heard: str, unfound: list[str]) -> None:
    """Case, accents and endings make no difference, and no script needs capitals."""
    assert unfound_names(fact, heard_words([heard])) == unfound


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("User is allergic to penicillin", "User drives a Skoda", False),
        ("User is allergic to penicillin", "User's penicillin allergy is gone", True),
        ("User ist gegen Nüsse allergisch", "User fährt Ski", False),
        ("User住在里斯本", "User开车", False),
        ("User住在里斯本", "User住在波尔图", True),
        ("User живёт в Омске", "User переехал из Омска", True),
        ("User takes 20 mg", "User takes 40 mg", True),
    ],
)
def test_a_successor_shares_a_word(one: str, other: str, shared: bool) -> None:
    """The user's name does not count, nor do the shortest words."""
    assert shares_a_word(one, other) is shared


def test_letter_pairs_are_of_words() -> None:
    """They cross no gap, and are folded."""
    assert letter_pairs("Ça va, 42!") == {"ca", "va", "42"}
