"""Find in a sentence that something does not happen. No I/O.

It need not understand what: a day in such a sentence is not put on the agenda.
"""

import re

_CALLED_OFF = re.compile(
    r"(?i)\b(?:cancel\w*|call(?:ed|ing)? (?:\w+ ){0,6}off|postpone\w*|scrap(?:ped)?|put off|"
    r"on hold|rained off|pulled out|backed out|abandoned|skip(?:ping|"
    r"ped)?|"
    r"(?:is|are|was|were|['’]s) (?:\w+ )?off(?! (?:to|for|on|work)\b)|"
    r"(?:fell|falls|fallen) through|(?:was|were) (?:going|supposed|meant) to|would have|"
    r"abgesagt|sage?n? .*\bab|fällt .*\baus|fallen .*\baus|ausgefallen|entfäll\w+|entfallen|"
    r"gestrichen|verschoben|storniert|"
    r"(?:cancel|desmar[cq]|adia|suspen[ds]|anul|aplaz|annul|cancell|disd|rimanda|rinvia)\w*|"
    r"saltat[oai]|reporté\w*|afgezegd|geannuleerd|afgelast|uitgesteld|odwoł\w+|odwołan\w+|"
    r"przełoż\w+|отмен\w+|отложи\w+|перенес\w+|скасов\w+|zrušen\w*|odložen\w*|odpadá|"
    r"inställ[dt]\w*|"
    r"avbok\w+|aflys\w*|avlys\w*|peru(?:tt|u|n|t)\w*|elmarad\w*|lemond\w*|törölt\w*|iptal\w*|"
    r"ακυρώ\w+|αναβλήθ\w+|anulat\w*|hủy)|取消|延期|推迟|改期|中止|キャンセル|なくなり|なくなった|취소|연기|"
    r"ألغ|إلغاء|تأجل|בוטל|ביטל|נדח|रद्द|ยกเลิก"
)
_DENIED = re.compile(
    r"(?i)\b(?:not|no longer|never|without|cannot|\w+n['’]t|nicht|kein\w*|nie|ne|pas|jamais|não|"
    r"nunca|nem|non|niet|geen|nooit|nie|не|нет|inte|ikke|nem|değil|yok|δεν|no (?:voy|vamos|va|hay|"
    r"tengo|puedo|iré|iremos))\b|不|没|沒|ない|ません|"
    r"않|안 |لا |لن |ليس|לא |नहीं|ไม่|không"
)
_NOTHING = re.compile(
    r"(?i)^\W*no (?!later\b|more than\b)\w+|\bthere(?:['’]s| is| are| will be) no\b|"
    r"\bno \w+ (?:today|tonight|tomorrow|on|this|next)\b"
)
# "Don't forget", "I can't wait": nothing is denied.
_STILL_ON = re.compile(
    r"(?i)\b(?:(?:do not|don['’]t|never|must not|mustn['’]t|can['’]t|cannot) (?:forget|wait)|"
    r"not only|"
    r"nicht vergessen|vergiss nicht|nicht nur|não (?:te )?esqueç\w+|não esquecer|"
    r"no (?:te )?olvid\w+|"
    r"n['’]oublie[rz]? pas|ne pas oublier|non dimentic\w+|niet vergeten|vergeet niet|nie zapom\w+|"
    r"не забы\w+|не забуд\w+|glöm inte|glem ikke)|别忘|別忘|不要忘|忘れない|잊지"
)


def is_called_off(sentence: str) -> bool:
    """Return whether a sentence cancels something, or denies it."""
    if _CALLED_OFF.search(sentence) or _NOTHING.search(sentence):
        return True
    return bool(_DENIED.search(_STILL_ON.sub("", sentence)))


def is_cancelled(sentence: str) -> bool:
    """Return whether a sentence cancels something, perhaps what was said just before it."""
    return bool(_CALLED_OFF.search(sentence))
