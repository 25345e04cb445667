"""What of a condensation may be believed: the reflector proposes, this disposes. Pure.

It is judged line by line; whatever fails leaves its sources as they were (memory.md, "What
keeps it honest").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from construct.memory.language.binding import flipped, misbound, misbound_number, same_matter, sayings, unknown_subject
from construct.memory.language.terms import content_stems, content_words, negates, opening_names, stem, terms, words
from construct.memory.learning.proposals import PRIORITIES, Condensation, Draft
from construct.memory.shown.lines import line_tokens
from construct.store.records import Observation

_WEAK = frozenset({"quoted", "hypothetical", "inferred", "assistant"})
_MOST_OUTDATED_BY_ONE = 3
_FIRMNESS = {"stated": 0, "planned": 1, "asked": 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What of a condensation is committed, and what was kept back and why."""

    drafts: tuple[Draft, ...] = ()
    replaced: frozenset[int] = frozenset()
    dropped: frozenset[int] = frozenset()
    outdated: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    new_tokens: int = 0
    old_tokens: int = 0

    @property
    def shrinks(self) -> bool:
        """Tell whether new lines are shorter than what they replace; merely dropped lines do not count."""
        return self.new_tokens < self.old_tokens if self.drafts else bool(self.dropped or self.outdated)

    @property
    def gone(self) -> frozenset[int]:
        """All observations this would supersede."""
        return self.replaced | self.dropped | {old for old, _ in self.outdated}


def judge(proposal: Condensation, given: Sequence[Observation], newest_message: Mapping[int, int]) -> Verdict:
    """Decide which lines of a condensation stand.

    `newest_message`: per observation given, the newest message it rests on, through all generations.
    """
    by_id = {o.id: o for o in given}
    notes: list[str] = []
    drafts = []
    restated: set[int] = set()
    for draft in proposal.drafts:
        settled, reason = _settle(draft, [by_id[i] for i in draft.sources])
        if settled is not None and _restates(settled, by_id):
            restated.update(settled.sources)
        elif settled is None:
            notes.append(f"refused “{draft.content[:120]}”: {reason}")
        else:
            drafts.append(settled)
    drafts = _without_losses(drafts, by_id, notes)
    replaced = frozenset(i for draft in drafts for i in draft.sources)
    outdated = _outdated(proposal, by_id, drafts, newest_message, notes)
    gone = replaced | {old for old, _ in outdated}
    needed = {by for _, by in outdated} | restated
    dropped = frozenset(i for i in proposal.superseded if i not in gone | needed and _may_drop(by_id[i]))
    kept = [i for i in proposal.superseded if i not in gone | dropped | restated]
    notes += [f"kept “{by_id[i].content[:120]}”: named as superseded, and nothing stands in its place" for i in kept]
    return Verdict(
        tuple(drafts), replaced, dropped, outdated, tuple(notes),
        new_tokens=sum(line_tokens(d) for d in drafts),
        old_tokens=sum(by_id[i].token_count for i in replaced),
    )  # fmt: skip


def _restates(draft: Draft, by_id: Mapping[int, Observation]) -> bool:
    """Tell whether a line only says one source again, no shorter: that one can as well stay as it is."""
    return len(draft.sources) == 1 and line_tokens(draft) >= by_id[draft.sources[0]].token_count


def _settle(draft: Draft, sources: Sequence[Observation]) -> tuple[Draft | None, str]:
    """Return the draft with stance, priority and dates settled, or None and why it is refused."""
    if any(s.is_protected for s in sources):
        return None, "it would replace a line that is pinned or the user's own"
    texts = [s.content for s in sources]
    if reason := _untrue(draft.content, texts):
        return None, reason
    # Of lines that matter most nothing may be rearranged; judging the others as strictly would leave most as they are.
    bound = misbound if any(s.priority == "high" for s in sources) else misbound_number
    if wrong := bound(draft.content, texts):
        return None, f"it joins “{wrong}” to what its sources say of something else"
    stances = {s.stance for s in sources}
    if len(stances) > 1 and stances & _WEAK:
        return None, "its sources have different stances"
    stance = draft.stance if draft.stance in stances else next(iter(stances)) if len(stances) == 1 else None
    if stance is None:
        return None, f"no source has the stance {draft.stance}"
    if word := _firmed_up(draft.content, stance, sources):
        return None, f"only what is less than {stance} says “{word}”"
    days = {s.referenced_date for s in sources if s.referenced_date}
    if len(days) > 1:
        return None, "its sources speak of different days"
    dates = sorted(s.observation_date for s in sources)
    return (
        replace(
            draft,
            stance=stance,
            # Not lower either: what was lowered once could be dropped the next time.
            priority=min((s.priority for s in sources), key=PRIORITIES.index),
            observation_date=min(max(draft.observation_date, dates[0]), dates[-1]),
            referenced_date=next(iter(days), None),
        ),
        "",
    )


def _untrue(content: str, texts: Sequence[str]) -> str | None:
    """Return what `content` says that its sources do not say, in words; else None."""
    invented = terms(content) - {w for text in texts for w in words(text)}
    if invented:
        return f"its sources do not say {', '.join(sorted(invented))}"
    if stranger := unknown_subject(content, texts):
        return f"its sources do not say {stranger}"
    if negates(content) and not any(negates(t) for t in texts):
        return "it denies what its sources do not deny"
    if turned := flipped(content, texts):
        return f"it denies what its sources affirm, or affirms what they deny, of “{turned}”"
    return None


def _firmed_up(content: str, stance: str, sources: Sequence[Observation]) -> str | None:
    """Return a word that only a source of a weaker stance says: a question or a plan would become more than it is."""
    weaker = [s for s in sources if _firmness(s.stance) > _firmness(stance)]
    firm = {w for s in sources if s not in weaker for w in words(s.content)}
    only_weaker = {w for s in weaker for w in content_words(s.content)} - firm
    return next((w for w in words(content) if w in only_weaker), None)


def _without_losses(drafts: list[Draft], by_id: Mapping[int, Observation], notes: list[str]) -> list[Draft]:
    """Refuse drafts until no source loses what it must not; each refusal may bring another."""
    while True:
        lost = _first_loss(drafts, by_id)
        if lost is None:
            return drafts
        source, reason = lost
        notes.append(f"kept “{by_id[source].content[:120]}”: {reason}")
        drafts = [d for d in drafts if source not in d.sources]


def _first_loss(drafts: Sequence[Draft], by_id: Mapping[int, Observation]) -> tuple[int, str] | None:
    instead: dict[int, list[Draft]] = {}
    for draft in drafts:
        for i in draft.sources:
            instead.setdefault(i, []).append(draft)
    for i, replacements in instead.items():
        source = by_id[i]
        firm = [d.content for d in replacements if _firmness(d.stance) <= _firmness(source.stance)]
        if source.priority == "high" and not firm:
            return i, f"it would no longer be {source.stance}"
        reason = loss(source, firm or [d.content for d in replacements])
        if reason:
            return i, reason
    return None


def loss(source: Observation, replacements: Sequence[str]) -> str | None:
    """Return what none of the `replacements` keeps of `source` that must not be lost, in words; else None.

    What must be kept of a line must be kept in one line: apart, its terms say something else.
    """
    reasons = [_loss_in(source, text) for text in replacements]
    return None if None in reasons else next(iter(reasons), "nothing would stand in its place")


def _loss_in(source: Observation, text: str) -> str | None:
    said = set(words(text))
    must = terms(source.content)
    if source.priority == "low" and not source.pinned:
        return None
    if source.priority == "medium" and not source.pinned:
        if must:
            return None if must & said else "all its terms would be gone"
        meaning = content_stems(source.content)
        return None if not meaning or meaning & {stem(w) for w in said} else "all its words would be gone"
    missing = (must | opening_names(source.content)) - said
    if missing:
        return f"{', '.join(sorted(missing))} would be gone"
    if negates(source.content) and not negates(text):
        return "what it denies would be gone"
    known = said | {stem(w) for w in said}
    for saying in sayings(source.content):
        # Without a term a fact is in its plain words ("User is vegetarian"): those must then stay.
        if len(saying & known) < (0.5 if saying & must else 1.0) * len(saying):
            return f"too little would be left of “{' '.join(sorted(saying))}”"
    return None


def _outdated(
    proposal: Condensation,
    by_id: Mapping[int, Observation],
    drafts: Sequence[Draft],
    newest_message: Mapping[int, int],
    notes: list[str],
) -> tuple[tuple[int, int], ...]:
    """Keep the pairs in which a given, newer, unpinned-over line makes the old one outdated."""
    replaced = {i for draft in drafts for i in draft.sources}
    kept: list[tuple[int, int]] = []
    count: dict[int, int] = {}
    for old, by in proposal.outdated:
        reason = _not_outdated(by_id[old], by_id[by], newest_message)
        if reason is None and count.get(by, 0) >= _MOST_OUTDATED_BY_ONE:
            reason = "one line outdates three at most"
        if reason is None and (old in replaced or any(pair[0] == old for pair in kept)):
            continue
        if reason is None and any(pair[0] == by for pair in kept):
            reason = "what would replace it is outdated itself"
        if reason is None and by in replaced and not _is_kept(by_id[by], drafts):
            reason = "what would replace it is condensed away itself"
        if reason:
            notes.append(f"kept “{by_id[old].content[:120]}”: {reason}")
        else:
            kept.append((old, by))
            count[by] = count.get(by, 0) + 1
    return tuple(kept)


def _is_kept(o: Observation, drafts: Sequence[Draft]) -> bool:
    """Tell whether one of the drafts that replace `o` still has all its words."""
    meaning = content_stems(o.content)
    return any(meaning <= {stem(w) for w in words(d.content)} for d in drafts if o.id in d.sources)


def _not_outdated(old: Observation, by: Observation, newest_message: Mapping[int, int]) -> str | None:
    if old.id == by.id:
        return "a line does not outdate itself"
    if old.is_protected:
        return "it is pinned or the user's own"
    if newest_message.get(by.id, 0) <= newest_message.get(old.id, 0):
        return "what would make it outdated is not newer"
    if by.stance != "stated" and by.stance != old.stance:
        return "only what the user stated outdates"
    if by.priority == "low" and old.priority != "low":
        return "what would make it outdated may be dropped itself"
    if not same_matter(old.content, by.content):
        return "what would make it outdated speaks of something else"
    return None


def _may_drop(o: Observation) -> bool:
    return o.priority == "low" and not o.is_protected


def _firmness(stance: str) -> int:
    return _FIRMNESS.get(stance, 0)
