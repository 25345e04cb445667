"""Find the names of days and months, in many languages. No I/O."""

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
_MONTHS = (
    r"january|february|march|april|june|july|august|september|october|november|december|"
    r"januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|"
    r"août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
    r"septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|março|maio|junho|julho|setembro|"
    r"outubro|novembro|dezembro|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|"
    r"dicembre|januari|februari|maart|mei|augustus|styczni\w+|lut\w+|marc[au]|kwie\w+|czerw\w+|"
    r"lip[ci]\w+|sierp\w+|wrze\w+|październik\w*|listopad\w*|grud\w+|янв\w+|февр\w+|март\w*|"
    r"апрел\w+|ма[йяе]|июн\w|июл\w|август\w*|сентябр\w+|октябр\w+|ноябр\w+|декабр\w+|"
    r"\w+kuu(?:ssa|n|ta)?|ocak|şubat|nisan|mayıs|haziran|temmuz|ağustos|eylül|ekim|kasım|aralık"
)
_NEAR_DAYS = (
    r"today|tonight|tomorrow|heute|morgen|übermorgen|aujourd['’]hui|demain|hoy|mañana|hoje|amanhã|"
    r"oggi|domani|vandaag|dziś|dzisiaj|jutro|pojutrze|сегодня|завтра|послезавтра|idag|imorgon|"
    r"i morgen|i dag|tänään|huomenna|dnes|zítra|holnap|bugün|yarın|σήμερα|αύριο|azi|mâine|"
    r"اليوم|غد[اًا]*|היום|מחר|आज|कल|hôm nay|ngày mai"
)
_DAY_OR_MONTH = re.compile(
    rf"(?i)(?<!\w)(?:{'|'.join(name for name in _NUMBERS if len(name) > 3)}|{_MONTHS}|{_NEAR_DAYS})"
    r"(?!\w)"
    r"|今天|明天|后天|後天|今日|明日|明後日|星期|礼拜|周[一二三四五六日末]|曜日|来週|月末|오늘|내일|모레|요일|พรุ่งนี้|วันนี้"
)
_LONGEST_LEAD = 30
"""Characters before a date that are searched for a weekday."""


def names_day_or_month(text: str) -> bool:
    """Return whether a text names a day or a month, such as "Friday" or "tomorrow"."""
    return bool(_DAY_OR_MONTH.search(text))


def names_another_weekday(text: str, start: int, day: date) -> bool:
    """Return whether a date, written at text[start:], stands beside the name of a wrong weekday."""
    before = _BEFORE.search(text[max(0, start - _LONGEST_LEAD) : start])
    after = _AFTER.match(text, start)
    names = [match[1].casefold() for match in (before, after) if match]
    return any(_NUMBERS[name] != day.weekday() for name in names)
