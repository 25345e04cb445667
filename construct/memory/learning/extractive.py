"""The memory worker by rule, for when no model is to be had: it selects the user's own words and invents nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from construct.clock import Clock, from_text
from construct.memory.language.dates import mentioned_days
from construct.memory.language.sentences import (
    HOUSEHOLD,
    STOP_WORDS,
    count_names,
    is_english,
    is_own,
    short_title,
    split_clauses,
    split_quoted,
    split_sentences,
    words,
)
from construct.memory.language.stance import clause_stances
from construct.memory.language.wordlists import word_set
from construct.memory.learning.proposals import Draft, Extraction
from construct.store.records import Message
from construct.text import one_line, printable
from construct.tokens import by_bytes

_TOKENS_A_DRAFT = 40
_FEWEST = 5
"""Drafts that even a short talk may give."""
_SHORTEST, _LONGEST = 3, 400
"""Words and characters of a sentence that is looked at."""
_READ = 100_000
"""Characters at either end of a message that are looked at: what stands in between was pasted, not said."""
_WORTH = 2.5
_A_YEAR = timedelta(days=366)
_WHOLE = re.compile(r"(?i)(?:I|we)\b|my (?:\w+ ){1,3}?(?:is|are|was|were|has|have|had|got|works?|lives?|died)\b")
_Scored = tuple[float, Draft]

_LIFE = word_set(
    "asthma cancer surgery therapy therapist medication medications pills vegan vegetarian gluten celiac coeliac "
    "lactose insulin doctor dentist illness disease adhd sick born raised trans transgender gay wife fiancé fiancée "
    "fiance married marry engaged died son sons daughter daughters kids child children baby mum mom mother dad father "
    "parents brother brothers sister sisters twins grandma grandpa grandmother grandfather boyfriend girlfriend "
    "graduated graduation promoted promotion hired fired interview quit moved moving bought sold degree license "
    "licence visa lease decided decision promised promise deadline booked accident pronouns job nurse teacher engineer"
)
_LIFE_STARTS = word_set(
    "aller diagn diabe pregn hospi depre anxie migra injur intol disab husba weddi divor anniv funer resig retir reloc "
    "purch adopt enrol mortg appoi reser sched cance citiz immig autis"
)
_LIFE_PHRASE = re.compile(
    r"(?i)\b(?:my name|call me|years old|grew up|passed away|laid off|signed up|blood pressure|from now on|I live in|"
    r"(?:his|her|its|their) names?(?:['’]s| is| was| are| were) (?-i:[A-Z]\w*)|"
    r"(?:named|call|called) (?:him|her|it|them) (?-i:[A-Z]\w*)|"
    r"I work (?:as|at|for|in)|broke (?:my|his|her)|I['’]m (?:from|an? \w+(?:er|or|ist|ian|ant)))\b"
)
_TASTE = word_set(
    "love loves loved hate hates like likes fan afraid scared always never usually started joined plays play playing "
    "won goal goals dream dreams plan plans trip team book books game games movie concert camping dog dogs cat cats "
    "pet puppy car house apartment event made found got went since because called named used work works working hobby "
    "hobbies tried read reading watched cook cooking run running gym writing music band guitar piano art dance dancing"
)
_TASTE_STARTS = word_set(
    "enjoy prefe favou favor passi inter colle learn study pract volun trave visit vacat proje schoo unive busin compa "
    "class cours paint hikin garde frien famil disli exerc worko train compe tourn award perfo"
)
_OURS = re.compile(
    rf"(?i)\bthe {HOUSEHOLD} (?:is|will be|(?:went|goes) (?:up|down) to|rose to|dropped to)(?: now)? \S{{0,3}}\d"
)
_FILLER = re.compile(
    r"(?i)^(?:(?:wow|aw+|oh|yeah|yes|yep|ok|okay|well|haha\w*|cool|nice|awesome|hey|hi|hello|so)\b[\s,!.]*"
    r"(?:(?-i:[A-Z])\w+[,!]\s*)?)*(?:(?:that|it|this|those|they|you)(?:['’](?:s|re)| is| are| was| were| must)?\s+"
    r"(?:(?:so|really|such|super|an?|like|be|totally|very|pretty|sounds?|looks?)\s+)*(?:cool|great|nice|awesome|amazing|"
    r"lovely|good|true|fun|sweet|beautiful|wonderful|tough|interesting|right|incredible|fantastic|inspiring|impressive|"
    r"perfect|rough|important|awful)|sounds|thanks?(?: you)? (?:for|so much|a lot|again|to)\b|thanks,? \w+[.!]?$"
    r"|I['’]?(?:m| am) (?:(?:so|really|very|super|sure|glad|happy|sorry|proud|excited|grateful|here)\s+)+"
    r"(?:for|to hear|that you|you|of you|we|it|if)\b|I (?:\S+ )?(?:know|see|agree|bet|get it|understand|hear|"
    r"hope (?:you|so|it|they|your|we)|think (?:so|you)|can (?:imagine|see|tell|relate)|believe in|appreciate)\b"
    r"|can['’]t wait|let me know|let['’]s|keep (?:it|up|me|going|pushing|at)|good (?:luck|job|to|for|idea|one|point)"
    r"|great (?:job|to|idea|work)|congrat|take care|see you|talk (?:to|soon)|bye|have (?:a|fun)|hope (?:you|it|that|to)"
    r"|no (?:problem|worries)|your?\b|same here|me too|looking forward|here['’]s|check)"
)
_CATCHING_UP = word_set(
    "a an the i we it i've we've it's its my me our all since last talked talk spoke spoken chatted chat caught up lot "
    "lots lot's so much many some big few things thing stuff something happened happening changed been going on days "
    "weeks week while time ages forever long quite bit busy crazy wild awesome eventful had have has to"
)
_TALKED = word_set("talked talk spoke spoken chatted chat caught")
_COMMAND = re.compile(
    r"(?i)^(?:(?:please|just|now|then|ok|okay|also|and|hey|so)\b,?\s*|(?:can|could|would|will) you (?:please )?)*"
    r"(?:write|explain|tell me|show|give me|help|summari[sz]e|translate|list|make (?:me|an?|it|this|that|sure)|create|"
    r"generate|fix|search|look up|describe|compare|suggest|recommend|draft|rewrite|rephrase|convert|calculate|try|use|"
    r"add|remove|change|update|run|continue|go on|stop|answer|define|sort|print|format|count|pick|choose|proofread|"
    r"do (?:it|that|this)|find(?: me| out)|don['’]t (?:use|write|add|give|tell|say)|I (?:need|want) (?:you to|help))\b"
)
_KEEP = re.compile(
    r"(?i)(?:^\W*|\b(?:please|and|also|but|so|you) |, )(?:remember (?:that|this|I\b|my|we\b)|don['’]t forget|note that|"
    r"keep in mind|remind me (?:to|about|that|of|on|in|at))\b|\b(?:for the record|fyi|from now on)\b"
    r"|(?:^\W*|\b(?:please|can|just|everyone|friends|people|should|may) )call me (?-i:[A-Z])"
    r"|^\W*(?:please )?(?:always|never) (?:use|answer|call|suggest|recommend|write|reply|speak|give|say|ask|include)\b"
)
_SECRET = re.compile(
    r"(?i)(?:^|[.!?,;:(–—-]\s*)(?:please\s+|and\s+|but\s+)*(?:do not|don['’]t|never) (?:save|store|remember|record|"
    r"memori[sz]e|note) (?:this|that|it|any of this|what I)\b|\boff the record\b"
    r"|(?:^|[.!?,]\s*)(?:please,? )?(?:forget|delete|erase) (?:this|that I|what I(?:['’]ve)? (?:just )?(?:said|told))\b"
    r"|\bI take (?:it|that) back\b"
)
_SMALL_TALK = re.compile(
    r"(?i)\b(?:how are (?:you|things)|how['’]s it going|what['’]s (?:up|new)|(?:how|what) about you|and you)\b"
)
_YOU = word_set("you your yours you're you've you'll you'd")
_THEY = word_set("he she his her he's she's him they")
_FOLLOWS = re.compile(r"(?:She|He|They|Her|His|Their)(?:['’]\w+)? [^?]*$")
_TO_ASSISTANT = re.compile(r"(?i)\b(?:can|could|would|will|do) you\b")
_LIFE_ABROAD = word_set(
    "mudei mudé casei casado casada casé alérgico alérgica grávida embarazada comprei compré trabalho trabajo nasci "
    "nací filho filha hijo hija marido esposa médico médica consulta cita reservei reservé decidi decidí aniversário "
    "cumpleaños chamo llamo déménagé marié mariée allergique enceinte acheté travaille fils fille médecin réservé "
    "décidé anniversaire habite appelle umgezogen ziehe verheiratet geheiratet allergisch schwanger gekauft arbeite "
    "geboren sohn tochter arzt termin gebucht entschieden geburtstag heiße wohne trasferito trasferita sposato "
    "allergico incinta comprato lavoro figlio figlia moglie appuntamento prenotato deciso compleanno verhuisd "
    "getrouwd zwanger dochter dokter afspraak woon переехал переехала женат замужем аллергия беременна купил купила "
    "работаю сын дочь муж жена врач врачу решил решила живу зовут 이사 결혼 알레르기 임신 아들 딸 남편 아내 예약 생일"
)
_LIFE_CJK = re.compile(
    r"搬|结婚|結婚|过敏|過敏|怀孕|妊娠|买了|工作|働|儿子|息子|女儿|娘|丈夫|妻|医生|医者|预约|予約|决定|生日|住在|住んで|引っ越"
)
_WELCOME_ABROAD = re.compile(
    r"(?i)^\W*(?:olá|oi|hola|bonjour|salut|hallo|guten|ciao|grazie|gracias|obrigad[oa]|danke|merci|привет|спасибо|"
    r"你好|谢谢|こんにちは|ありがとう|안녕|감사)"
)
_LINE_ENDS = re.compile(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, or a part of one, with what can be seen of it."""

    text: str
    stance: str
    words: tuple[str, ...]
    own: bool
    life: bool
    taste: bool
    kept: bool
    holds: float
    """Names and numbers in it."""

    @property
    def telling(self) -> list[str]:
        """The words that are no stop words."""
        return [word for word in self.words if word not in STOP_WORDS]


def _seen(text: str, stance: str) -> _Piece:
    said = words(text)
    distinct, starts = set(said), {word[:5] for word in said}
    life = not (_LIFE.isdisjoint(distinct) and _LIFE_STARTS.isdisjoint(starts)) or bool(_LIFE_PHRASE.search(text))
    if not is_english(distinct):
        life = life or not _LIFE_ABROAD.isdisjoint(distinct) or bool(_LIFE_CJK.search(text))
    return _Piece(
        text, stance, tuple(said), is_own(text, distinct) or bool(_OURS.search(text)), life,
        taste=not (_TASTE.isdisjoint(distinct) and _TASTE_STARTS.isdisjoint(starts)),
        kept=bool(_KEEP.search(text)),
        holds=0.7 * min(count_names(text), 2) + 0.7 * bool(re.search(r"\d", text)),
    )  # fmt: skip


def _only_catches_up(said: Sequence[str]) -> bool:
    """Tell whether no more is said than that the last talk was long ago; the first two words may greet by name."""
    return "since" in said and not _TALKED.isdisjoint(said) and _CATCHING_UP.issuperset(said[2:])


def _worth(piece: _Piece, dated: bool) -> float:
    """Return how much a piece is worth remembering: whose it is, what it is about, and what it holds."""
    said = set(piece.words)
    score = 0.15 * min(len(piece.telling), 12) + piece.holds + 0.7 * dated
    score += 2.0 * piece.own + 1.0 * piece.life + 0.7 * piece.taste + 3.0 * piece.kept
    score += 0.7 * (not piece.own and not _THEY.isdisjoint(said))
    score -= 2.0 * bool(_FILLER.search(piece.text)) + 3.0 * bool(_WELCOME_ABROAD.search(piece.text))
    score -= 3.0 * _only_catches_up(piece.words)
    if not _YOU.isdisjoint(said) and not _TO_ASSISTANT.search(piece.text):
        score -= 0.5 if piece.own else 2.0
    if not piece.kept and _COMMAND.search(piece.text):
        score -= 3.0
    return score - {"asked": 1.5, "hypothetical": 1.0}.get(piece.stance, 0.0)


def _priority(piece: _Piece, ahead: bool, score: float) -> str:
    if piece.stance in {"asked", "hypothetical"}:
        return "low"
    if piece.kept or (piece.own and (piece.life or ahead)):
        return "high"
    return "medium" if piece.life or (piece.own and piece.holds) or score >= _WORTH + 0.7 else "low"


def _when(text: str, stance: str, day: date) -> tuple[date, date | None]:
    """Return the day it happened, as far as said and not after `day`, and the day ahead or long ago it speaks of."""
    days = mentioned_days(text, day)
    ahead = next((d for d in days if d > day or (d == day and stance == "planned")), None)
    past = next((d for d in days if d < day), None)
    if past is None or stance != "stated":
        return day, ahead
    return (day, ahead or past) if day - past > _A_YEAR else (past, ahead)


def _candidate(text: str, stance: str, message: Message, day: date) -> _Scored | None:
    content = one_line(text)
    piece = _seen(content, stance)
    if len(content) > _LONGEST or len(piece.words) < _SHORTEST or not piece.telling or _SMALL_TALK.search(content):
        return None
    if stance == "asked" and not piece.holds:
        return None
    happened, referenced = _when(content, stance, day)
    dated = happened != day or referenced is not None
    score = _worth(piece, dated)
    if score < _WORTH:
        return None
    priority, named = _priority(piece, referenced is not None, score), referenced.isoformat() if referenced else None
    return score, Draft(content, priority, stance, happened.isoformat(), named, (message.id,))


def _ends(text: str) -> str:
    """Return a text without the lines in the middle of a very long one."""
    if len(text) <= 2 * _READ:
        return text
    return text[:_READ].rpartition("\n")[0] + "\n" + text[-_READ:].partition("\n")[2]


def _own_sentences(message: Message) -> list[str]:
    """Return the sentences of a message that are the writer's own; none when it asks not to be remembered.

    One that goes on about whom the sentence before it spoke of stands with it: "I have a sister. Her name is Ana."
    """
    text = printable(_LINE_ENDS.sub("\n", _ends(message.content)))
    if _SECRET.search(text):
        return []
    own = [s for part, quoted in split_quoted(text) if not quoted for s in split_sentences(part)]
    return _with_followers(own, " ".join(text.split()))


def _with_followers(sentences: Sequence[str], text: str) -> list[str]:
    """Return the sentences of a text, those that go on about somebody joined to what they follow directly."""
    found: list[str] = []
    at = 0
    for sentence in sentences:
        plain = " ".join(sentence.split())
        at = max(at, text.find(plain, at))
        together = " ".join([*(found[-1].split() if found else ()), plain])
        if _goes_on(found[-1:], plain, together) and text.endswith(together, 0, at + len(plain)):
            found[-1] = together
        else:
            found.append(sentence)
    return found


def _goes_on(before: Sequence[str], sentence: str, together: str) -> bool:
    """Tell whether a sentence may speak of whom the writer's own before it named."""
    if not _FOLLOWS.match(sentence) or len(together) > _LONGEST // 2:
        return False
    return any(not s.endswith("?") and is_own(s, set(words(s))) for s in before)


def _pieces(sentence: str, parts: Sequence[tuple[str, str]], day: date) -> Iterator[tuple[str, str]]:
    """Yield the parts of a sentence to be judged by themselves, with their stances: facts apart from what is asked."""
    stances = {stance for _, stance in parts}
    days = mentioned_days(sentence, day) if stances == {"stated", "planned"} else []
    ahead = any(d >= day for d in days)
    if len(stances) == 1 and len(sentence) > _LONGEST:
        yield from ((clause, parts[0][1]) for clause in split_clauses(sentence))
    elif ahead and all(_stands_alone(*part) for part in parts):
        yield from parts
    elif len(stances) == 1 or (stances == {"stated", "planned"} and not (ahead and min(days) < day)):
        yield sentence, parts[0][1] if len(stances) == 1 else "planned" if ahead else "stated"
    else:
        yield from parts


def _stands_alone(clause: str, stance: str) -> bool:
    """Tell whether a clause needs none of the others: "I am allergic to peanuts, and I plan to see the dentist"."""
    if not _WHOLE.match(clause) or not _THEY.isdisjoint(words(clause)):
        return False
    return stance == "planned" or _seen(clause, stance).life


def _best(scored: Sequence[_Scored], limit: int) -> tuple[Draft, ...]:
    """Return the best drafts in order, what was said twice once."""
    said: dict[tuple[str, str], _Scored] = {}
    for score, draft in scored:
        _, kept = said.setdefault((draft.content.casefold(), draft.observation_date), (score, draft))
        sources = tuple(dict.fromkeys((*kept.sources, *draft.sources)))
        said[draft.content.casefold(), draft.observation_date] = score, replace(kept, sources=sources)
    ranked = sorted(said.values(), key=lambda one: (one[1].priority != "high", -one[0]))
    chosen = {id(draft) for _, draft in ranked[:limit]}
    return tuple(draft for _, draft in said.values() if id(draft) in chosen)


def _is_request(sentence: str, stance: str) -> bool:
    if len(sentence) > _LONGEST or _SMALL_TALK.search(sentence) or len(words(sentence)) < _SHORTEST:
        return False
    return bool(_COMMAND.search(sentence)) or (stance == "asked" and not _FILLER.search(sentence))


def extract(messages: Sequence[Message], clock: Clock) -> Extraction:
    """Observe by rule: the user's own sentences word for word, dated, the best of them."""
    found: list[_Scored] = []
    requests: list[str] = []
    for message in messages:
        day = clock.local(from_text(message.created_at)).date()
        for sentence in _own_sentences(message) if message.role == "user" else ():
            parts = clause_stances(sentence)
            candidates = (_candidate(text, stance, message, day) for text, stance in _pieces(sentence, parts, day))
            found.extend(one for one in candidates if one)
            if _is_request(sentence, parts[-1][1]):
                requests.append(one_line(sentence))
    talk = sum(by_bytes(_ends(message.content)) for message in messages)
    drafts = _best(found, max(_FEWEST, -(-talk // _TOKENS_A_DRAFT)))
    titles = map(short_title, [draft.content for draft in drafts] or requests)
    return Extraction(drafts, requests[-1] if requests else None, title=next(filter(None, titles), None), by_rule=True)
