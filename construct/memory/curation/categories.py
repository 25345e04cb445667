"""The category of a memory, guessed by a few plain words. Pure."""

import re

_SIGNS = tuple(
    (category, re.compile(rf"(?i)\b(?:{words})\b"))
    for category, words in (
        (
            "health",
            r"allerg\w+|asthma|diabet\w+|doctor|dentist|medic\w+|surgery|pregnan\w+|intoleran\w+|vegan|vegetarian|ill",
        ),
        ("plan", r"will|plans? to|going to|appointment|booked|flight|meeting|deadline|tomorrow"),
        ("preference", r"likes?|loves?|hates?|dislikes?|prefers?|enjoys?|favou?rite|rather"),
        ("work", r"works?|job|boss|colleagues?|employer|salary|company|office|project|teaches"),
        (
            "person",
            r"wife|husband|partner|mother|mum|mom|father|dad|parents?|sisters?|brothers?|sons?|daughters?|child\w*|kids?|"
            r"friends?|married|name is|called|birthday",
        ),
        ("place", r"lives? in|lives? at|moved to|address|born in|based in|house|flat|apartment"),
    )
)


def category_of(content: str) -> str:
    """Return the category that a sentence seems to belong to."""
    return next((category for category, signs in _SIGNS if signs.search(content)), "other")
