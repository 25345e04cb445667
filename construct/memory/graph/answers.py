"""What of a graph extractor's answer may be believed: it proposes, this disposes. Pure.

It names no anchors, so a relation belongs to the memory whose words name both its ends, and of
several to the one that has its verb, then to the newest; one that no memory names is invented.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from construct.memory.language.stem import is_unspaced, stem, words
from construct.memory.language.terms import STOP_WORDS, negates
from construct.text import one_line

USER, _USER_KEY = "User", "user"
SELF = frozenset({"user", "the user", "i", "me", "myself", "my"})
"""How the user is called otherwise."""
_OF_USER = frozenset({"user", "i", "me", "my", "mine"})
_MENTION = re.compile(r"\b(?:(?P<mine>user['’]s|my|our)|user|I|me|myself|we|us)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;:.!?()\u2013\u2014]+|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
_MOST = 400
_LONGEST_NAME, _LONGEST_PREDICATE = 80, 40
_PREDICATE_WORDS = 5
_ONE_AT_A_TIME = {
    kind: frozenset(words_.split("|"))
    for kind, words_ in (
        ("lives", "lives in|lives at|live in|living in|resides in|based in|located in|moved to|home is|home is in"),
        ("works", "works at|works for|work at|work for|working at|working for|employed by|employed at|joined"),
        ("partner", "married to|wife of|husband of|spouse of|engaged to|dating|in relationship with"),
        ("studies", "studies at|student at|enrolled at"),
        ("reports", "reports to|boss is"),
        ("age", "aged|age|age is|has age"),
        ("rent", "rent|rent is|pays rent of|has rent of|pays rent"),
        ("name", "named|called|name is"),
    )
}


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody or something as an answer names it, with what other names the texts have for it."""

    name: str
    type: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Name and aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class Stated:
    """A relation that a memory states, between names."""

    subject: str
    predicate: str
    object: str
    memory_id: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """What may be stored of an answer, and what was refused and why."""

    entities: tuple[Named, ...] = ()
    relations: tuple[Stated, ...] = ()
    notes: tuple[str, ...] = ()


def drawing(data: Mapping[str, Any], texts: Mapping[int, str]) -> Drawing:
    """Return what may be believed of an answer; `texts` are the memories given, by id, oldest first."""
    called = _entities(data.get("entities"), list(texts.values()))
    entities = list({key(e.name): e for e in called.values()}.values())
    relations: dict[tuple[str, str, str], Stated] = {}
    notes = []
    for item in _items(data.get("relations")):
        found = _relation(item, called, texts)
        if isinstance(found, Stated):
            relations[key(found.subject), found.predicate.casefold(), key(found.object)] = found
        elif found:
            notes.append(found)
    ends = {key(end) for r in relations.values() for end in (r.subject, r.object)}
    kept = [e for e in entities if key(e.name) in ends]
    kept += [Named(end) for end in _ends(relations.values()) if key(end) not in called]
    return Drawing(tuple(_without_relatives(kept, relations.values())), tuple(relations.values()), tuple(notes))


def key(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(words(name)) or name.casefold().strip()


def is_user(name: str) -> bool:
    """Tell whether it is the name that stands for the user."""
    return key(name) == _USER_KEY


def one_at_a_time(predicate: str) -> str | None:
    """Return the kind of a relation of which a subject has one at a time, such as where it lives; else None."""
    said = " ".join(w for w in words(predicate) if w not in {"is", "are", "now", "currently"})
    return next((kind for kind, forms in _ONE_AT_A_TIME.items() if said in forms), None)


def says(text: str, name: str) -> bool:
    """Tell whether a text holds a name, as whole words where it has words."""
    if is_user(name):
        return True
    if is_unspaced(name):
        return name.casefold() in text.casefold()
    return f" {key(name)} " in f" {' '.join(words(text))} "


def _entities(given: object, texts: Sequence[str]) -> dict[str, Named]:
    """Return the entities that the texts name, by each name given for them; their own names stand in the texts."""
    found: dict[str, Named] = {}
    meant: dict[str, str] = {}
    for item in _items(given):
        given_names = [n for n in [item.get("name"), *_list(item.get("aliases"))] if isinstance(n, str)]
        names = list(dict.fromkeys(n for n in map(_name, given_names) if n))
        said = [n for n in names if any(says(text, n) for text in texts)]
        if not said:
            continue
        aliases = () if is_user(said[0]) else tuple(n for n in said[1:] if key(n) != key(said[0]))
        found.setdefault(key(said[0]), Named(said[0], _type(item.get("type")), aliases))
        for name in names[:1] if is_user(said[0]) else names:
            meant.setdefault(key(name), key(said[0]))
    apart = {own: _apart(e, found) for own, e in found.items()}
    return {name: apart[own] for name, own in meant.items()} | apart


def _apart(entity: Named, others: Mapping[str, Named]) -> Named:
    """Return an entity without the aliases that are others' names, or the user."""
    aliases = tuple(a for a in entity.aliases if key(a) not in others and not is_user(a))
    return Named(entity.name, entity.type, aliases)


def _relation(item: Mapping[str, Any], called: Mapping[str, Named], texts: Mapping[int, str]) -> Stated | str | None:
    """Return a relation with the memory it belongs to, or why it is refused; None when it is none at all."""
    subject, object_ = _end(item.get("subject"), called), _end(item.get("object"), called)
    predicate = item.get("predicate")
    if subject is None or object_ is None or not isinstance(predicate, str):
        return None
    verb = one_line(predicate)[:_LONGEST_PREDICATE].strip()
    said = f"“{subject.name} {verb} {object_.name}”"
    if not words(verb) or len(words(verb)) > _PREDICATE_WORDS or key(subject.name) == key(object_.name):
        return f"refused {said}: it is no relation"
    homes = [i for i, text in texts.items() if _holds(text, subject) and _holds(text, object_)]
    if not homes:
        return f"refused {said}: no memory names both"
    true = [i for i in homes if negates(verb) or not _denies(texts[i], subject, object_)]
    if not true:
        return f"refused {said}: it is denied"
    if is_user(subject.name):
        others = [e for e in called.values() if key(e.name) not in (_USER_KEY, key(object_.name))]
        true = [i for i in true if not _is_anothers(texts[i], object_, others)]
    if not true:
        return f"refused {said}: it is said of another"
    with_user = is_user(subject.name) or is_user(object_.name)
    return Stated(subject.name, verb, object_.name, max(true, key=lambda i: (_fit(texts[i], verb, with_user), i)))


def _fit(text: str, verb: str, with_user: bool) -> tuple[int, bool]:
    """Return how well a text fits a relation: by the words of its verb, then by whether it speaks of the user."""
    said = words(text)
    stems = set(map(stem, said))
    of_verb = sum(stem(w) in stems for w in words(verb) if w not in STOP_WORDS)
    return of_verb, with_user and not _OF_USER.isdisjoint(said)


def _end(value: object, called: Mapping[str, Named]) -> Named | None:
    name = _name(value) if isinstance(value, str) else None
    return None if name is None else called.get(key(name), Named(name))


def _holds(text: str, entity: Named) -> bool:
    return any(says(text, name) for name in entity.names)


def _denies(text: str, subject: Named, object_: Named) -> bool:
    """Tell whether every clause that names both, or where none does the object, denies something."""
    clauses = _CLAUSE_END.split(text)
    far = subject if is_user(object_.name) else object_
    about = [c for c in clauses if _holds(c, subject) and _holds(c, object_)] or [c for c in clauses if _holds(c, far)]
    return bool(about) and all(negates(clause) for clause in about)


def _is_anothers(text: str, object_: Named, others: Iterable[Named]) -> bool:
    """Tell whether what is said of an object is said of another: "User's sister Ana lives in Porto"."""
    folded = text.casefold()
    at = min((i for i in (folded.find(n.casefold()) for n in object_.names) if i >= 0), default=len(text))
    mentions = list(_MENTION.finditer(text, 0, at))
    if mentions and not mentions[-1]["mine"]:
        return False
    between = text[mentions[-1].end() if mentions else 0 : at]
    return any(_holds(between, other) for other in others)


def _without_relatives(entities: Sequence[Named], relations: Iterable[Stated]) -> list[Named]:
    """Return the entities without aliases that a relation tells apart from them: nobody is their own sister."""
    pairs = {frozenset((key(r.subject), key(r.object))) for r in relations}
    return [
        Named(e.name, e.type, tuple(a for a in e.aliases if frozenset((key(e.name), key(a))) not in pairs))
        for e in entities
    ]


def _ends(relations: Iterable[Stated]) -> list[str]:
    return list({key(end): end for r in relations for end in (r.subject, r.object)}.values())


def _name(value: str) -> str | None:
    """Return a name fit to be stored; None for what is none."""
    name = one_line(value).strip(" .,;:!?\"“”'")
    if name.casefold() in SELF:
        return USER
    if not name or len(name) > _LONGEST_NAME or not any(c.isalnum() for c in name):
        return None
    return None if words(name) and STOP_WORDS.issuperset(words(name)) else name


def _type(value: object) -> str | None:
    kind = one_line(value).casefold() if isinstance(value, str) else ""
    return kind if kind and len(kind) <= 30 else None


def _items(value: object) -> list[Mapping[str, Any]]:
    return [item for item in _list(value)[:_MOST] if isinstance(item, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
