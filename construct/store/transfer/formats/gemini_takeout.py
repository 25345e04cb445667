"""Gemini's activity in Google Takeout: one entry for each question, newest first."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from construct.store.transfer.foreign import (
    ForeignConversation,
    ForeignFile,
    ForeignMessage,
    Format,
    Found,
    LeftOut,
    Part,
    Refused,
    Sample,
    file,
    image,
    omitted,
    stable_uid,
    words,
)
from construct.store.transfer.foreign_values import Json, mapping, moment, objects, string
from construct.store.transfer.formats.activity_page import CARD, entries_on
from construct.store.transfer.formats.html_text import html_text
from construct.store.transfer.grouping import Keyed, grouped
from construct.text import shorten
from construct.vocabulary import Role

_PAUSE = timedelta(hours=1)
"""Entries that do not name their conversation belong together up to such a pause."""
_LINK = re.compile(r"gemini\.google\.com/(?:u/\d+/)?app/(?:c/)?([0-9a-zA-Z_-]+)")
_PROMPTED = re.compile(
    r"^(?:Prompted|Asked|Said|Eingegebener Prompt:|Gestellter Prompt:|Prompt:|Requête\s?:|"
    r"Prompt saisi\s?:|Petición:|Pregunta:|Запит:|Запрос:|输入的提示：|已發出提示：)\s*"
)
"""What Google writes before a question, in some of its languages."""
_TITLE_CHARACTERS = 60
_UNREADABLE = "\n"
"""The group of what is no entry, or one that says nothing."""
_REQUESTS = ("Request", "User", "Prompt")
_IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".heic")


def looks_like(sample: Sample) -> bool:
    """Return whether this is an entry of the activity in Gemini, or the page of it."""
    if sample.text:
        return CARD in sample.text and "Gemini" in sample.text
    item = mapping(sample.item)
    products = item.get("products")
    said = f"{item.get('header')} {products} {item.get('titleUrl')} {item.get('details')}"
    is_gemini = any(name in said.lower() for name in ("gemini", "bard"))
    return {"header", "title", "time"} <= item.keys() and is_gemini


def conversations(file: ForeignFile) -> Iterator[Found]:
    """Yield the conversations: those that entries name, and what was asked without a pause."""
    items = file.items()
    if file.is_text:
        items = entries_on(file.pieces(CARD), file.zone)
    for name, entries in grouped(_keyed(items)):
        if name == _UNREADABLE:
            yield LeftOut("entries that are no questions", len(list(entries)))
        elif name:
            yield _conversation(name, list(entries))
        else:
            yield from _by_pauses(entries)


def _keyed(items: Iterable[Any]) -> Iterator[Keyed]:
    for item in items:
        entry = mapping(item)
        said_at = moment(entry.get("time"))
        if not _question(entry) and not _answer(entry):
            yield _UNREADABLE, "", None
        else:
            yield _name(entry), said_at.at if said_at else "", entry


def _name(entry: Json) -> str:
    """Return the id of an entry's conversation, empty if it names none or several."""
    details = " ".join(string(one.get("url")) for one in objects(entry.get("details")))
    found = set(_LINK.findall(f"{string(entry.get('titleUrl'))} {details}"))
    return found.pop() if len(found) == 1 else ""


def _by_pauses(entries: Iterable[Json]) -> Iterator[Found]:
    together: list[Json] = []
    last: datetime | None = None
    for entry in entries:
        said_at = moment(entry.get("time"))
        if said_at is None:
            yield Refused(f"“{shorten(_question(entry), 60)}”", "it has no date")
            continue
        now = datetime.fromisoformat(said_at.at)
        if last is not None and now - last > _PAUSE:
            yield _conversation("", together)
            together = []
        together.append(entry)
        last = now
    if together:
        yield _conversation("", together)


def _conversation(name: str, entries: list[Json]) -> ForeignConversation:
    messages: list[ForeignMessage] = []
    for entry in entries:
        said_at = moment(entry.get("time"))
        key = [string(entry.get("time")), string(entry.get("title"))]
        question = (*_files(entry), words(_question(entry)))
        answer = (words(_answer(entry)), *_beside(entry))
        messages += [
            ForeignMessage(stable_uid("gemini", *key, "user"), Role.USER, question, said_at),
            ForeignMessage(stable_uid("gemini", *key, "model"), Role.ASSISTANT, answer, said_at),
        ]
    title = shorten(next(filter(None, map(_question, entries)), ""), _TITLE_CHARACTERS)
    uid = stable_uid("gemini", name or messages[0].uid)
    return ForeignConversation(uid, title or None, messages)


def _question(entry: Json) -> str:
    """Return what the user asked; empty for an entry about something else."""
    for one in [*objects(entry.get("details")), *objects(entry.get("subtitles"))]:
        if one.get("name") in _REQUESTS and string(one.get("value")):
            return string(one.get("value"))
    title = string(entry.get("title"))
    question, count = _PROMPTED.subn("", title)
    if count:
        return question.strip()
    return title.strip() if _answer(entry) and not title.startswith("Used ") else ""


def _answer(entry: Json) -> str:
    for one in objects(entry.get("details")):
        if one.get("name") == "Response" and string(one.get("value")):
            return string(one.get("value"))
    html = entry.get("safeHtmlItem")
    pieces = objects(html) if isinstance(html, list) else [mapping(html)]
    texts = [string(one.get("html")) or string(one.get("htmlValue")) for one in pieces]
    return "\n\n".join(filter(None, map(html_text, texts)))


def _files(entry: Json) -> Iterator[Part]:
    attached = entry.get("attachedFiles")
    listed = attached if isinstance(attached, list) else []
    names = [one if isinstance(one, str) else mapping(one).get("name") for one in listed]
    if not names and isinstance(entry.get("imageFile"), str):
        names = [entry["imageFile"]]
    for name in names:
        yield image(name) if string(name).lower().endswith(_IMAGES) else file(name)


def _beside(entry: Json) -> Iterator[Part]:
    for one in objects(entry.get("subtitles")):
        if string(one.get("url")).startswith("http"):
            yield omitted("search results")


GEMINI_TAKEOUT = Format("Gemini", looks_like, conversations)
