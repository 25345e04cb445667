"""Find what a writer says of themselves, in a message that may hold other text.

Letters, chat logs, code, quotations, drafts, role-play and text to be translated speak with
somebody else's voice, although they say "I". When in doubt, text counts as such: it is
better to miss a sentence than to take it for the writer's own. No I/O.
"""

import re

from construct.language.sentences import own_text, sentences_to_keep
from construct.language.wordlists import (
    COMMON_WORDS,
    FIRST_PERSON,
    FIRST_PERSON_UNSPACED,
    LIFE,
    LIFE_UNSPACED,
    STOP_WORDS,
    word_set,
)
from construct.language.words import words

# "Dear Ms Silva," alone on its line. Friends begin a message with "Hi Ana," too.
_FORMAL_GREETING = re.compile(
    r"(?im)^[^\w\n]{0,20}(?:dear|to whom it may|sehr geehrte[rs]?|liebe[rs]?|prezad[oa]s?|"
    r"car[oaie]|exm[oa]|"
    r"estimad[oa]s?|querid[oa]s?|ch[eè]re?s?|gentil[ei]|egregi[oa]|beste|geachte|szanown[ya]|"
    r"drog[ia]|уважаем\w+|дорог\w+|шановн\w+|vážen[ýáí]|kära|kære|kjære|hyvä|arvoisa|rakas|"
    r"kedves|tisztelt|sayın|sevgili|αγαπητ\w+|stimat[eă]|עזיז\w*|尊敬的|亲爱的|"
    r"拝啓)(?![a-zà-ÿ])[^\n]{0,60}[,:!，：]\s*$"
)
_GREETING = re.compile(
    r"(?im)^[^\w\n]{0,20}(?:hi|hello|hey|hallo|hej|hei|moi|olá|oi|hola|bonjour|salut|ciao|"
    r"buongiorno|hoi|"
    r"cześć|dzień dobry|ahoj|привет|здравствуйте|merhaba|szia|γεια|good (?:morning|afternoon))"
    r"\b[^\n]{0,40}[,!][ \t]*$"
)
_CLOSING = re.compile(
    r"(?im)^[^\w\n]{0,20}(?:(?:kind|best|warm|warmest|many) (?:regards|wishes)|regards|best|cheers|"
    r"sincerely|"
    r"yours (?:sincerely|faithfully|truly)|sincerely yours|many thanks|love|"
    r"(?:mit |viele |liebe |beste |herzliche |freundliche )+(?:freundlichen )?grü(?:ße|ßen|sse|"
    r"ssen)|"
    r"atenciosamente|com os melhores cumprimentos|cumprimentos|abraços?|beijos|un abrazo|"
    r"(?:un )?(?:cordial(?:es)? )?saludos?(?: cordiales)?|atentamente|(?:bien )?cordialement|"
    r"bien à vous|amicalement|bises|(?:cordiali|distinti) saluti|un abbraccio|"
    r"(?:met )?(?:vriendelijke|hartelijke) groet(?:en)?|groetjes|(?:z poważaniem|pozdrawiam)|"
    r"с уважением|с наилучшими пожеланиями|з повагою|s pozdravem|med v[eä]nlig(?:a)? hilsen|"
    r"(?:med )?(?:vänliga |bästa )hälsningar|med venlig hilsen|(?:med )?vennlig hilsen|"
    r"(?:ystävällisin )?terveisin|üdvözlettel|saygılarımla|με εκτίμηση|此致|敬具)[,.!]?[ \t]*$"
)
# "On Mon, 2 Nov 2026 at 09:12, Ana wrote:", "---- Forwarded message ----"
_FORWARDED = re.compile(
    r"(?im)^[^\w\n]{0,20}(?:[^\n]{0,120}\d[^\n]{0,120}(?:wrote|schrieb\b[^\n]*|escreveu|escribió|"
    r"a écrit|ha scritto|"
    r"schreef\b[^\n]*|napisał\(?a?\)?|писал\(?а?\)?|skrev\b[^\n]*|kirjoitti)\s?[:：]\s*$|"
    r"-{2,}\s*(?:original|forwarded|weitergeleitet|ursprüngl|mensagem|mensaje|message|"
    r"messaggio|oorspronkelijk|пересыла|wiadomość))"
)

# A line of code, a log line or a command. "x = 5" and "f()" are never prose.
_CODE = re.compile(
    r"(?m)[;{}][ \t]*$|^[ \t]*[{}\[\]][ \t]*$|[=!]=|=>|\) ->|&&|\|\||::|</|/>|\w\([\"')]|\w\.\w+\(|"
    r"\w\[\w+\]|\w = [\w\"'\[({]|^[ \t]*(?://|/\*|#!|[$>%] [a-z]|<[\w!?]|[\"']\w+[\"'][ \t]*:)|"
    r"^[ \t]*(?:(?:async )?def \w+\(|function \w*\(|class \w+[:({]|(?:const|let|var) \w+ ?=|"
    r"import [\w.]+[ \t]*$|from \S+ import |#include|Traceback|sudo \w|pip3? install|npm \w|"
    r"git (?:add|commit|push|pull|clone|checkout|log|status)\b|"
    r"SELECT .* FROM |INSERT INTO |UPDATE \w+ SET |CREATE TABLE )|"
    r"\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b|^[ \t]*[a-z_]\w*_\w+[ \t]*[:=]"
)

_TIME_STAMP = (
    r"(?:\d{1,4}[./-]\d{1,2}(?:[./-]\d{2,4})?,?\s+)?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]m)?"
)
_LABEL = r"[^\W\d_][\w.'’ ~-]{0,24}"
# "[02.11.26, 10:15] Ana: …", "10:15 - Ana: …", "Ana (10:15): …", "<ana> …", "Ana 10:15 AM"
_STAMPED = re.compile(
    rf"(?im)^[^\w\n]{{0,20}}{_TIME_STAMP}\]?\s*[-–—]?\s*(?:<|\*\s)?{_LABEL}[:>：]"
    rf"|^[^\w\n]{{0,20}}{_LABEL}[,]?\s*[\[(]{_TIME_STAMP}[\])]\s*[:：]|^<{_LABEL}> "
    rf"|^{_LABEL}\s\d\d?:\d\d\s?[ap]m\n(?!.*\d:\d\d)"
)
# "Ana: …"
_LABELLED = re.compile(
    r"(?m)^\s*[-*•]?\s*(?P<label>[^\W\d_][\w.'’-]*"
    r"(?: [^\W\d_a-zà-þа-я][\w.'’-]*){0,2}) ?[:：]\s+(?P<said>\S.*)$"
)
_SECOND_PERSON = re.compile(
    r"(?i)\b(?:you|your|u|du|dir|dich|dein\w*|tu|te|ti|tú|você|vous|toi|jij|je|jou|ty|ci|ты|тебе|"
    r"вы)\b|[?？؟]"
)
# "Note: I moved" and "Big news: I …" are the writer's own.
_OWN_LABEL = re.compile(
    r"(?i)\W*(?:ps|p\.s\.?|nb|n\.b\.?|fyi|btw|todo|so|also|anyway|(?:.*\b)?(?:notes?|notiz|nota|"
    r"notitie|"
    r"updates?|edit|news|neues|neuigkeit\w*|novidades?|noticias?|nouvelles?|novità|nieuws|reminder|"
    r"erinnerung|lembrete|recordatorio|rappel|today|heute|hoje|hoy|new|thing|fact|point|short|plan|"
    r"what|remember|forget))\W*"
)

_PLEASE = (
    r"(?:(?:please|pls|and|now|then|also|hey|hi|ok|okay|so|(?:can|could|would|will) you|"
    r"help me(?: to)?|"
    r"i (?:want|need) you to|i['’]d like you to|let['’]s|bitte|kannst du|könntest du|"
    r"por favor|podes|pode|puedes|podrías|s['’]il te plaît|s['’]il vous plaît|peux[- ]tu|"
    r"pouvez[- ]vous|tu peux|per favore|puoi|potresti|alsjeblieft|kun je|wil je|"
    r"proszę|możesz|пожалуйста|можешь|можете|kan du|voitko|请|請|帮我|幫我|把)\b[\s,]*)*"
)
# "Translate: …", "Fix the grammar of this"; the text may also stand before it.
_WORKS_ON_TEXT = (
    r"translate|proof-?read|summari[sz]e|paraphrase|rephrase|rewrite|reword|correct(?! *[,.!])|"
    r"fix|improve|shorten|transcribe|übersetz(?:e|t|en)?|korrigier(?:e|t|en)?|verbesser[en]?|"
    r"fass(?:e|t)? .*zusammen|formulier(?:e|t)? .*um|tradu(?:z|za|zir|ce|zca|cir|is|isez|ire|ci|"
    r"cete|rre)|"
    r"corri(?:ge|ja|gir|gez|ger|geme)|corregg(?:i|ete|ere)|resum(?:e|a|ir)|résume[rz]?|riassum(?:i|"
    r"ere)|"
    r"reescrev(?:e|a)|reescrib(?:e|a)|reformule[rz]?|riscriv(?:i|ere)|vertaal|vertalen|corrigeer|"
    r"verbeter|vat .*samen|herschrijf|przetłumacz(?:yć)?|popraw|streść|перевед\w+|исправь\w*|"
    r"перескаж\w+|переклад\w+|přelož\w*|oprav|shrň|översätt|rätta|sammanfatta|oversæt|oversett|"
    r"käännä|korjaa|tiivistä|fordíts\w*|javíts\w*|çevir|düzelt|özetle|μετάφρασ\w+|μετέφρασ\w+|"
    r"διόρθωσ\w+|ترجم\w*|صحح|لخص|תרגמ?י?"
)
# "Write a letter in which I …"; not "Write down that I …"
_WRITES_TEXT = (
    r"write(?! (?:\w+ ){0,3}down\b)|draft|compose|continue|explain|reply to|answer|"
    r"schreib(?:e|t)?(?!.*\bauf\b)|verfasse|entwirf|erkläre?|escrev(?:e|a|er)|escrib(?:e|a|ir)|"
    r"redige|redija|redacta|écri(?:s|vez|re)|rédige[rz]?|scriv(?:i|ete|ere)|schrijf(?!.*\bop\b)|"
    r"napisz|напиши\w*|napiš|skriv|kirjoita|írj\w*|yaz|γράψε|اكتب|כתוב|כתבי"
)
_TASK_ON_TEXT = re.compile(
    rf"(?i)\W*{_PLEASE}(?:(?:{_WORKS_ON_TEXT})(?!\w)|翻译|翻譯|润色|修改|总结|改写)"
)
_TASK_TO_WRITE = re.compile(rf"(?i)\W*{_PLEASE}(?:(?:{_WRITES_TEXT})(?!\w)|写一|寫一)")
# "A translation of this: …", "My draft: …", "She wrote: …": somebody else's words follow.
_AHEAD = re.compile(
    r"(?i)^[^:：]{0,120}(?:translat|übersetz|tradu|vertaal|vertal|tłumacz|перевод|перевед|переклад|"
    r"přelo|překlad|översätt|oversæt|oversett|käänn|fordí|çevir|çeviri|μετάφρα|翻译|翻譯|翻訳|訳|번역|고쳐|"
    r"요약|ترجم|תרג|अनुवाद|แปล|dịch|proofread|korrigier|draft|entwurf|rascunho|borrador|brouillon|"
    r"bozza|kladde|szkic|черновик|чернетк|koncept|utkast|luonnos|taslak|piszkozat|πρόχειρο|草稿|"
    r"下書き|초안|مسودة|טיוט|quot(?:e|ation) (?:from|by)|zitat|citação|citazione|cytat|цитат|"
    r"lyrics|songtext|poem|gedicht|poesia|"
    r"\b(?:said|says|wrote|writes|texted|messaged|told|tells|asked|replied|answered|reads|sagt\w*|"
    r"schr[ei]+b\w*|meint\w*|disse\w*|diz|escreveu|dijo|dice|escribió|dit|écrit|detto|scritto|zei|"
    r"zegt|schreef|powiedzia\w+|napisa\w+|mówi|pisze|сказа\w+|написа\w+|пишет|говорит|sade|säger|"
    r"skrev|skriver|sanoi|kirjoitti|mondta|írta|dedi|yazdı)\b)[^:：]{0,60}[:：](?!\d)"
)
# "Let's role-play", "Pretend to be my boss"; it goes on in the messages that follow.
_PLAY = re.compile(
    r"(?i)\brole[- ]?play\w*|\bpretend (?:to|that|you|we|i)\b|\b(?:let['’]s|let us) pretend\b|"
    r"\bimagine (?:you|we|i|that)\b|\b(?:stay|you are|you're|speak|answer) in character\b|"
    r"\bact (?:as|like) (?:a|an|the|my|if)\b|\bplay the (?:role|part) of\b|\byou (?:play|"
    r"will play)\b|"
    r"\brollenspiel\w*|\bstell dir vor\b|\btu so,? als\b|\bdu spielst\b|\bjogo de pap[ée]is\b|"
    r"\bfaz de conta\b|\bfinge\b|\bimagina que\b|\bjuego de rol\w*|\bhagamos como\b|"
    r"\bjeu de rôles?\b|"
    r"\bfaisons semblant\b|\bfais comme si\b|\bimagine que\b|\bgioco di ruolo\b|\bfacciamo finta\b|"
    r"\bfai finta\b|\bimmagina (?:che|di)\b|\brollenspel\w*|\bdoe alsof\b|\bstel je voor\b|"
    r"\bodgryw\w+|\budawaj\w*|\bwyobraź sobie\b|ролев\w+ игр\w+|\bпредставь,? что\b|\bпритвор\w+|"
    r"\brollspel\w*|\blåtsas\b|\broolipeli\w*|\bkuvittele\b|\bszerepjáték\w*|\brol yap\w*|"
    r"角色扮演|扮演|假装|假裝|ロールプレイ|なりきって|演じて|ふりをして|역할극|역할을|척해"
)
# "You are a pirate."; not "You are a star!"
_CASTING = re.compile(
    r"(?i)^\W*(?:you(?: are|['’]re| will be)(?: now)? (?:an?|the)|du bist(?: jetzt)? (?:ein\w*|der|"
    r"die)|"
    r"tu es (?:une?|le|la)|eres (?:una?|el|la)|(?:tu )?és (?:uma?|o|a)|você é (?:uma?|o|a)|"
    r"(?:tu )?sei un\w*|jij bent een|你是一)\b[^!]*$"
)
# "I'm Captain Redbeard"
_CHARACTER = re.compile(
    r"(?i:\b(?:i['’]?m|i am|my name is|ich bin|ich heiße|je m['’]appelle|me llamo|"
    r"(?:me )?chamo(?:-me)?|mi chiamo|ik heet|меня зовут|nazywam się|je suis|(?:yo )?soy(?: el|"
    r" la)?|(?:eu )?sou(?: o| a)?|"
    r"(?:io )?sono(?: il| la)?|ik ben|jestem|я|jag är|jeg er|olen|vagyok|"
    r"ben))\s*[,—–-]?\s*(?:[Tt]he )?"
    r"(?:Captain|Kapitän|Capitaine|[Cc]apit[áã]n|[Cc]apitão|[Cc]apitano|Kapitein|[Kk]apitan|Kapten|"
    r"Kaptajn|[Кк]апитан|"
    r"Kaptan|Kapteeni|King|Queen|Prince(?:ss)?|Lord|Lady|Sir|Emperor|Empress|Duke|Count|Baron|"
    r"Wizard|"
    r"König(?:in)?|Prinz(?:essin)?|Graf|Kaiser|[Rr]oi|[Rr]eine|[Rr]ey|[Rr]eina|[Rr]ei|[Rr]ainha|"
    r"[Rr]e|[Rr]egina|"
    r"[Pp]r[íi]ncipe|[Pp]rincesa|Koning(?:in)?|[Kk]ról(?:owa)?|[Кк]ороль|[Кк]оролева|Kung|"
    r"Drottning|Kuningas)"
    r"\s+(?:von |de |di |van |of )?[^\W\d_a-zà-þа-я]\w+"
)

# "Dinner: my sister, at 8": nobody speaks here.
_POSSESSIVES = word_set(
    """
    my mine our ours mein meine meinen meinem meiner unser unsere meu meus minha minhas nosso
    nossa mi mis nuestro nuestra mon ma mes notre mio mia mijn onze мой моя мои наш
"""
)
_ENGLISH_I = re.compile(r"\bI(?= [a-z])|\b[iI]['’](?:m|ve|d|ll)\b")
_CYRILLIC = re.compile("[а-я]")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』")
_OPENING_QUOTES, _CLOSING_QUOTES = "“«「『《„", "”»」』》"


def is_code_line(line: str) -> bool:
    """Return whether a line looks like code, a log line or a command."""
    return _CODE.search(line) is not None


def is_in_known_language(text: str) -> bool:
    """Return whether a text is in a language in which statements about oneself are known."""
    if _ENGLISH_I.search(text) or FIRST_PERSON_UNSPACED.search(text) or LIFE_UNSPACED.search(text):
        return True
    text_words = words(text)
    own = (FIRST_PERSON | LIFE).difference(COMMON_WORDS).intersection(text_words)
    if any(_CYRILLIC.match(word) for word in own):
        return True
    signs = max(
        len(stops.difference(COMMON_WORDS).intersection(text_words))
        for stops in STOP_WORDS.values()
    ) + len(own)
    return signs > 1 or signs * 3 >= len(text_words) > 0


def begins_play(text: str) -> bool:
    """Return whether a text begins a role-play that may go on in what follows."""
    return bool(_PLAY.search(own_text(text)))


def own_sentences(text: str) -> list[str]:
    """Return the sentences in which the writer speaks for themselves, verbatim.

    What they ask not to keep is left out too.
    """
    paragraphs = re.split(r"\n\s*\n", _before_letter(own_text(text)))
    is_log = _is_chat_log(text)
    kept = [
        paragraph
        for paragraph in paragraphs
        if not (_CODE.search(paragraph) or (is_log and _has_speaker(paragraph)))
    ]
    sentences = sentences_to_keep("\n\n".join(kept))
    return _unquoted(_before_task(sentences))


def without_quotes(sentence: str) -> str:
    """Return a sentence with blanks for what stands in quotation marks."""
    return _QUOTED.sub(lambda match: " " * len(match.group()), sentence)


def _before_letter(text: str) -> str:
    """Return a text up to where a letter begins. If only its end is found, that is nothing."""
    begins = [
        match.start() for match in (_FORMAL_GREETING.search(text), _FORWARDED.search(text)) if match
    ]
    greeting, closing = _GREETING.search(text), _CLOSING.search(text)
    if greeting and closing:
        begins.append(greeting.start())
    elif closing and text[closing.end() :].strip():  # a name stands below
        begins.append(0)
    return text[: min(begins)] if begins else text


def _has_speaker(text: str) -> bool:
    return bool(_STAMPED.search(text) or _LABELLED.search(text))


def _is_chat_log(text: str) -> bool:
    """Return whether a text has lines that name who says them.

    A list such as "Doctor: Dr Maes" is none: nobody says "I" or "you" in it, and no name
    comes twice.
    """
    if _STAMPED.search(text):
        return True
    labelled = [m for m in _LABELLED.finditer(text) if not _is_own_label(m["label"])]
    labels = [match["label"].casefold() for match in labelled]
    return len(set(labels)) < len(labels) or any(_speaks(match["said"]) for match in labelled)


def _speaks(said: str) -> bool:
    own = not (FIRST_PERSON - _POSSESSIVES).isdisjoint(words(said)) or FIRST_PERSON_UNSPACED.search(
        said
    )
    return bool(own or _SECOND_PERSON.search(said))


def _before_task(sentences: list[str]) -> list[str]:
    """Return the sentences before the first that hands over text or begins a play.

    If that one is the last, the text to work on stands before it.
    """
    for i, sentence in enumerate(sentences):
        if _TASK_ON_TEXT.match(sentence):
            has_text = i < len(sentences) - 1 or re.search(r"[:：\"“„«「]", sentence)
            return sentences[:i] if has_text else []
        if _is_for_another_voice(sentence):
            return sentences[:i]
    return sentences


def _is_for_another_voice(sentence: str) -> bool:
    """Return whether others speak, or the writer as somebody else, from this sentence on."""
    return bool(
        _TASK_TO_WRITE.match(sentence)
        or _AHEAD.match(sentence)
        or _PLAY.search(sentence)
        or _CASTING.match(sentence)
        or _CHARACTER.search(sentence)
    )


def _is_own_label(label: str) -> bool:
    return bool(_OWN_LABEL.fullmatch(label)) or not FIRST_PERSON.isdisjoint(words(label))


def _unquoted(sentences: list[str]) -> list[str]:
    """Return the sentences that are not, or not only, inside quotation marks."""
    kept: list[str] = []
    depth = 0
    is_in_plain_quotes = False
    for sentence in sentences:
        was_quoted = depth > 0 or is_in_plain_quotes
        opened = sum(map(sentence.count, _OPENING_QUOTES))
        closed = sum(map(sentence.count, _CLOSING_QUOTES))
        # In German, “ closes what „ opened.
        if "„" in sentence and "“" in sentence:
            opened -= 2 * sentence.count("“")
        depth = max(0, depth + opened - closed)
        if sentence.count('"') % 2 == 1:
            is_in_plain_quotes = not is_in_plain_quotes
        begins_quoted = sentence.lstrip("([*_ ")[:1] in f'"{_OPENING_QUOTES}'
        if not (was_quoted or begins_quoted or depth > 0 or is_in_plain_quotes):
            kept.append(sentence)
    return kept
