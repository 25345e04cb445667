"""Word lists by language: stop words, irregular forms, dates, topics of a life."""

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list written as text, casefolded."""
    return frozenset(text.casefold().split())


# Stop words of queries, by language. A query is read with the list that has the most of
# its words: "son" and "hat" are stop words in French and German, but not in English.
_STOP_WORDS = {
    "en": """
        a about above after again against ago ain all also although am an and any anyone anything
        are aren as at be because been before being below between both but by can cannot could
        couldn d did didn do does doesn doing don done down during each either else ever every few
        for from further get gets getting give go going got had hadn has hasn have haven having he
        her here hers herself him himself his how i if in into is isn it its itself just let like ll
        m many may me might more most much must mustn my myself no nor not now of off on once only
        or other our ours ourselves out over own please re remember remind s same shall she should
        shouldn so some something such t tell than that the their theirs them themselves then there
        these they this those through to too under until up upon us ve very was wasn we were weren
        what when where which while who whom whose why will with won would wouldn you your yours
        yourself yourselves
    """,
    "de": """
        aber als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der
        des dich die dir du ein eine einem einen einer eines er es für hab habe haben hast hat hatte
        hatten ich ihm ihn ihr ihre im in ist ja kann mein meine meinem meinen meiner mich mir mit
        nach nicht noch nur oder ob sein seine sich sie sind so über um und uns von vor wann war
        waren warum was welche welcher welches wenn wer wie wird wir wo zu zum zur
    """,
    "fr": """
        ai as au aux avec ce ces cette dans de des du elle en es est et eu il ils j je l la le les
        leur lui ma mais me mes moi mon ne nos notre nous on ou où par pas pour qu quand que quel
        quelle quelles quels qui quoi sa se ses son sont suis sur ta te tes toi ton tu un une vos
        votre vous était
    """,
    "es": """
        al como con cual cuando cuándo cómo de del dónde donde el él ella en era es esa ese eso esta
        este esto estoy está fue ha has hay he la las le les lo los me mi mis muy más no nos o para
        pero por porque que qué quién se ser si sí sin sobre soy su sus te ti tu tus un una uno y ya
        yo
    """,
    "pt": """
        ao aos as com como da das de dela dele do dos e é ela ele em era essa esse esta está este eu
        foi há isso já lhe mais mas me meu meus minha minhas na nas no nos não o onde os ou para
        pela pelo por porque qual quando que quem se sem ser seu seus sua suas são também te tem um
        uma você
    """,
    "it": """
        al alla anche che chi ci come con cosa da dal dalla de dei del della di dove e ed è era gli
        ha hai ho il in io la le lei lo lui ma mi mia mie miei mio nel nella noi non o per perché
        più quale quando quello questa questo se sei si sono su sua suo ti tu tua tuo un una uno
    """,
    "nl": """
        aan als bij dan dat de deze die dit door een en er had heb hebben heeft het hij hoe ik in is
        je jij maar me met mij mijn naar niet of om ook op over te tot u uit van voor waar waarom
        wanneer was wat we wel wie wij zijn zo
    """,
}
STOP_WORDS = {language: word_set(text) for language, text in _STOP_WORDS.items()}
# Stop words that other languages have too: Polish "na", Finnish "on", Danish "er".
COMMON_WORDS = word_set(
    """
    a al an da dat de den do e el en er han har i in is ja je la le ma man me mi min na ne no o on
    per se si ta te ti to tu u un y za è
"""
)

# English stop words that may be names or dates in a note: "vitamin D", "Don", "in May".
_NAME_LIKE = word_set("d don go m may won")
# Stop words of notes: English ones, and those that nearly every note has.
NOTE_STOP_WORDS = (STOP_WORDS["en"] - _NAME_LIKE) | word_set(
    """
    user users assistant said say says told mentioned stated asked ok okay yes oh hi hello hey
    thanks mr mrs ms
"""
)

# Words that are often capitalised because they begin a sentence, and are not names.
SENTENCE_OPENERS = word_set(
    """
    o os a as um uma el los la las un una le les il lo gli i
    der die das den dem ein eine het een de
    actually always another anyway besides despite even everyone finally however instead later
    maybe meanwhile never no nobody nothing often otherwise perhaps since someone sometimes soon
    still though today unless usually well whenever whereas yet
"""
)

SPELLED_NUMBERS = dict(
    zip(
        """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
    thousand million dozen
""".split(),
        map(str, (*range(2, 21), *range(30, 100, 10), 100, 1000, 1_000_000, 12)),
        strict=True,
    )
)

# Words of greetings and of talk about the conversation itself, which say nothing about a
# topic: not searched when recalling passages, and not counted by the extractive worker.
SMALL_TALK = word_set(
    """
    ahead alright amazing answer awesome back bit bye cheers chat check clear conversation
    continue cool day explain fine fun glad good goodbye great ha haha happy hear hello help hey
    hi hmm hope idea keep kind know lol long look looking lot love make makes maybe mean mention
    message mind moment morning name new nice night now oh ok okay one perfect poem point pretty
    quick quite rather read really reply right say saying says see sense short sorry sound
    sounds story sure take talk talked talking thank thanks thing things think thought time
    tired today tonight tomorrow try understand use want wait way week weird well went what
    wonder wonderful word words work worth wow write yeah yep yes yesterday
"""
)

# Forms of the same word that have different stems, in groups separated by semicolons.
IRREGULAR = """
    begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought;
    build built; buy bought; catch caught; child children; choose chose chosen; come came; deal
    dealt; dig dug; draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall
    fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown; foot feet;
    forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; grow grew grown;
    hang hung; hear heard; hide hid hidden; hold held; keep kept; knife knives; know knew known;
    lay laid; lead led; leaf leaves; learn learnt; leave left; lend lent; life lives; lose lost;
    make made; man men; mean meant; meet met; mouse mice; pay paid; person people; ride rode
    ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought; sell
    sold; send sent; shake shook shaken; shelf shelves; shine shone; shoot shot; show showed
    shown; sing sang sung; sit sat; sleep slept; speak spoke spoken; spend spent; spin spun;
    stand stood; steal stole stolen; stick stuck; strike struck; swim swam swum; take took
    taken; teach taught; tear tore torn; think thought; throw threw thrown; tooth teeth;
    understand understood; wake woke woken; wear wore worn; wife wives; win won; woman women;
    write wrote written
"""

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
# The same in German, Portuguese, Spanish, French, Italian, Dutch, Swedish, Turkish, and as a
# date has them in Polish, Czech, Russian and Finnish.
_FOREIGN_MONTHS = (
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "januari februari mars april maj juni juli augusti september oktober november december",
    "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada "
    "grudnia",
    "ledna února března dubna května června července srpna září října listopadu prosince",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta "
    "syyskuuta lokakuuta marraskuuta joulukuuta",
)
MONTH_NUMBERS = {
    name: number
    for names in (" ".join(MONTHS), *_FOREIGN_MONTHS)
    for number, name in enumerate(names.split(), 1)
}
"""The number of a month by its name, in some languages."""
FOREIGN_MONTHS = frozenset(MONTH_NUMBERS) - set(MONTHS)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# Words of sentences that say when something happened.
TIME_WORDS = (
    *MONTHS, *WEEKDAYS, "yesterday", "today", "tonight", "tomorrow", "last", "next", "ago", "since",
    "recently", "just", "week", "weeks", "weekend", "month", "months", "year", "years", "morning",
    "evening", "night", "summer", "winter", "spring", "fall", "autumn", "mon", "tue", "wed", "thu",
    "thurs", "fri", "sat", "sun",
)  # fmt: skip

# Words people use when they speak of themselves. "Me" is left out: "explain it to me"
# says nothing about the speaker.
FIRST_PERSON = word_set(
    """
    i im ive my mine we our ours ich mein meine meinen meinem meiner wir unser unsere eu meu
    meus minha minhas nosso nossa estou sou tenho moro mudei nasci trabalho vou yo mi mis
    nuestro nuestra soy estoy tengo vivo voy mudé nací trabajo je j'ai j'habite mon ma mes nous
    notre suis io mio mia abito lavoro sono ik mijn onze wij я мой моя мои мы наш jestem mam
    moja benim jag jeg
"""
)
# "I" or "we" in Chinese, Japanese and Korean.
FIRST_PERSON_UNSPACED = re.compile(
    r"我|私|僕|わたし|(?<!\w)(?:저|나|내|제)(?:는|가|의)?(?!\w)|우리"
)

# Words about what stays important in a person's life: identity, health, family, home,
# work, appointments.
LIFE = word_set(
    """
    name called born allergic allergy allergies asthma diabetes diabetic diagnosed cancer hives
    anaphylaxis intolerant intolerance coeliac celiac epilepsy migraine migraines ill illness
    disease insulin penicillin antibiotics aspirin ibuprofen codeine mg pills tablets
    prescription pacemaker surgery therapy medication pregnant vegetarian vegan doctor dentist
    hospital appointment wife husband fiancé fiancée married marry wedding divorced widowed
    engaged partner boyfriend girlfriend son sons daughter daughters child children kids baby
    mother mum mom father dad parents brother brothers sister sisters twins grandmother
    grandfather died funeral birthday live lives living moved moving grew job hired fired
    retired promoted graduated nurse teacher engineer visa heiße wohne umgezogen verheiratet
    allergisch schwanger geboren sohn tochter mutter vater bruder schwester arzt zahnarzt termin
    geburtstag arbeite chamo moro habito mudei casado casada alérgico alérgica grávida filho
    filha irmão irmã médico médica consulta trabalho llamo mudé casé embarazada hijo hija
    hermano hermana marido esposa cita trabajo nací appelle habite déménagé marié mariée
    allergique enceinte fils fille frère sœur médecin travaille chiamo abito trasferito
    trasferita sposato sposata allergico allergica incinta figlio figlia fratello sorella
    appuntamento lavoro woon verhuisd getrouwd zwanger zoon dochter afspraak живу работаю женат
    замужем аллергия беременна сын дочь брат сестра врач врачу
"""
)
# The same in Chinese, Japanese and Korean: allergy, pregnant, married, moved, lives in, son …
LIFE_UNSPACED = re.compile(
    "过敏|過敏|怀孕|妊娠|结婚|結婚|搬|住在|住んで|引っ越|儿子|息子|女儿|娘|医生|医者|预约|予約|工作|働|"
    "알레르기|임신|결혼|이사|아들|딸|예약|살고"
)

# Words that mark an intention, in a sentence that also names a day to come.
INTENDING = word_set(
    """
    will shall going gonna plan plans planning intend intends hope hopes werde werden wird plane
    vou vamos voy vamos vais irò zal ga
"""
)

# Words that mark a supposition or a wish: what such a sentence says may not be so.
SUPPOSING = word_set(
    """
    if wish would might maybe perhaps imagine suppose pretend hypothetically wenn falls würde
    wäre hätte vielleicht si ojalá quizá quizás talvez fosse tivesse forse magari fossi
    misschien zou если бы może gdyby
"""
)
