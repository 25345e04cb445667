"""The reflector: from observations to fewer, shorter ones, as far as the guard allows."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from construct.llm.types import JsonRequest, Model
from construct.memory.learning import schemas
from construct.memory.learning.answers import condensation
from construct.memory.learning.asking import Account, ask
from construct.memory.learning.condensing import condense
from construct.memory.learning.guard import Verdict, judge
from construct.memory.learning.proposals import Condensation
from construct.memory.shown.transcript import observation_lines
from construct.prompts import prompt
from construct.store.records import Observation

INPUT_TOKENS = 16_000
TRIES = 4
_KNOWN_TOKENS = 4_000
"""Of lines that a reflector has read before."""
_REPLY_TOKENS = 8_192
_WORD = re.compile(r"\w+")


async def reflect(
    model: Model | None, given: Sequence[Observation], newest_message: Mapping[int, int], account: Account
) -> Verdict:
    """Return what may be committed; its `shrinks` is False when nothing may.

    Each try carries the whole input and firmer guidance than the one before.
    """
    if model is None:
        return await asyncio.to_thread(_by_rule, given, newest_message)
    verdict = Verdict()
    for level in range(TRIES):
        data = await ask(model, _request(model, given, level), account)
        if data is None:
            continue
        _, anchors = observation_lines(given)
        proposal = condensation(data, anchors)
        verdict = await asyncio.to_thread(judge, proposal, given, newest_message)  # a tenth of a second
        if verdict.shrinks:
            return verdict
        account.problems.append(_shortfall(verdict))
        if level and proposal == Condensation():
            break  # asked twice, it says again that there is nothing to condense
    return verdict


def _by_rule(given: Sequence[Observation], newest_message: Mapping[int, int]) -> Verdict:
    return judge(condense(given), given, newest_message)


def choose(active: Sequence[Observation], read_until: str = "", most: int = INPUT_TOKENS) -> list[Observation]:
    """Return the observations a reflector is given, at most `most` tokens, in order of age.

    What was committed after `read_until`, the stored time of the last reading, comes first, those
    condensed least and of them the oldest before the others. Of the rest some thousand tokens, what
    speaks of the same before the others: usually all of it, since a new line may make any old one
    outdated ("moved to Porto"); but lines that nothing can shorten must not be paid for each time, nor
    in the end leave no room for new ones. When nothing is new, the rest is all there is. Pinned lines
    and the user's own stay out of its hands.
    """
    free = sorted((o for o in active if not o.is_protected), key=lambda o: (o.generation, o.id))
    unread = [o for o in free if (o.committed_at or "") > read_until]
    chosen = _fitting(unread or free, most) or free[:1]
    if unread:
        rest = [o for o in free if (o.committed_at or "") <= read_until]
        size = sum(o.token_count for o in chosen)
        chosen += _fitting(_related(rest, chosen), min(_KNOWN_TOKENS, most - size))
    return sorted(chosen, key=lambda o: (o.observation_date, o.id))


def _fitting(observations: Sequence[Observation], most: int) -> list[Observation]:
    """Return the first observations, as many as `most` tokens hold."""
    sizes = accumulate(o.token_count for o in observations)
    return [o for o, size in zip(observations, sizes, strict=True) if size <= most]


def _related(rest: Sequence[Observation], unread: Sequence[Observation]) -> list[Observation]:
    """Return the observations, those first that share the rarest words with the unread ones."""
    spread = Counter(word for o in unread for word in _words(o))
    for o in rest:  # read twice, and not kept: there are ever more of them
        spread.update(_words(o) & spread.keys())
    return sorted(rest, key=lambda o: sum(1 / spread[word] for word in _words(o) & spread.keys()), reverse=True)


def _words(o: Observation) -> set[str]:
    return set(_WORD.findall(o.content.casefold()))


def input_tokens(model: Model | None) -> int:
    """Return the most observation tokens one call is given."""
    return INPUT_TOKENS if model is None else max(200, min(INPUT_TOKENS, model.context_window // 3))


def _request(model: Model, given: Sequence[Observation], level: int) -> JsonRequest:
    text, _ = observation_lines(given)
    guidance = prompt("compression").split("\n---\n")[level].strip()
    return JsonRequest(
        system=prompt("reflector"),
        user=f"{text}\n\n{guidance}",
        schema=schemas.REFLECTOR,
        max_tokens=min(_REPLY_TOKENS, model.context_window // 3),
    )


def _shortfall(verdict: Verdict) -> str:
    if not verdict.drafts:
        return "nothing of the answer could be kept"
    return f"{verdict.new_tokens} tokens would stand for {verdict.old_tokens}: that does not shrink"
