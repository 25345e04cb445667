"""Find the name of a weekday beside a date, in many languages. No I/O."""

import re
from datetime import date

_NAMES = """
    monday tuesday wednesday thursday friday saturday sunday
    mon tue wed thu fri sat sun
    montag dienstag mittwoch donnerstag freitag samstag sonntag
    mo di mi do fr sa so
    lundi mardi mercredi jeudi vendredi samedi dimanche
    lunes martes miércoles jueves viernes sábado domingo
    segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo
    segunda terça quarta quinta sexta sábado domingo
    lunedì martedì mercoledì giovedì venerdì sabato domenica
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
    poniedziałek wtorek środa czwartek piątek sobota niedziela
    poniedziałek wtorek środę czwartek piątek sobotę niedzielę
    понедельник вторник среда четверг пятница суббота воскресенье
    понедельник вторник среду четверг пятницу субботу воскресенье
    måndag tisdag onsdag torsdag fredag lördag söndag
    mandag tirsdag onsdag torsdag fredag lørdag søndag
    pondělí úterý středa čtvrtek pátek sobota neděle
    pondělí úterý středu čtvrtek pátek sobotu neděli
    maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai
    maanantaina tiistaina keskiviikkona torstaina perjantaina lauantaina sunnuntaina
    hétfő kedd szerda csütörtök péntek szombat vasárnap
    hétfőn kedden szerdán csütörtökön pénteken szombaton vasárnap
    pazartesi salı çarşamba perşembe cuma cumartesi pazar
    星期一 星期二 星期三 星期四 星期五 星期六 星期日
    月曜日 火曜日 水曜日 木曜日 金曜日 土曜日 日曜日
"""
_NUMBERS = {
    name: number for line in _NAMES.splitlines() for number, name in enumerate(line.split())
}
_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
# "Wednesday, " before "3 November"; "Mittwoch, den "
_BEFORE = re.compile(rf"(?i)(?<!\w)({_NAME})[.,]?\s*(?:the |den |dem |dia |o |el |le |il |de )*$")
# "3 November (Wednesday)", "2026-11-03, Wednesday", "2026年11月3日（星期三）"
_AFTER = re.compile(
    rf"(?i)\d[\d./-]*(?:st|nd|rd|th|"
    rf"\.)?(?:\s+(?:of\s+)?[^\W\d_]+\.?)?(?:,?\s+\d{{4}})?(?:年\d+月\d+日)?"
    rf"(?:\s*[(（,]\s*(?:an? )?|)({_NAME})(?!\w|,?\s+\d)"
)
_LONGEST_LEAD = 30
"""Characters before a date that are searched for a weekday."""


def names_another_weekday(text: str, start: int, day: date) -> bool:
    """Return whether a date, written at text[start:], stands beside the name of a wrong weekday."""
    before = _BEFORE.search(text[max(0, start - _LONGEST_LEAD) : start])
    after = _AFTER.match(text, start)
    names = [match[1].casefold() for match in (before, after) if match]
    return any(_NUMBERS[name] != day.weekday() for name in names)
