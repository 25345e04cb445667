"""The reflector: from observations to fewer, shorter ones, as far as the guard allows."""

from collections.abc import Mapping, Sequence

from construct.llm.types import JsonRequest, Model
from construct.memory import schemas
from construct.memory.answers import condensation
from construct.memory.asking import Account, ask
from construct.memory.extractive import condense
from construct.memory.guard import Verdict, judge
from construct.memory.proposals import Condensation
from construct.memory.transcript import observation_lines
from construct.prompts import prompt
from construct.store.records import Observation

INPUT_TOKENS = 16_000
TRIES = 4
_REPLY_TOKENS = 8_192


async def reflect(
    model: Model | None, given: Sequence[Observation], newest_message: Mapping[int, int], account: Account
) -> Verdict:
    """Return what may be committed; its `shrinks` is False when nothing may.

    Each try carries the whole input and firmer guidance than the one before.
    """
    if model is None:
        return judge(condense(given), given, newest_message)
    verdict = Verdict()
    for level in range(TRIES):
        data = await ask(model, _request(model, given, level), account)
        if data is None:
            continue
        _, anchors = observation_lines(given)
        proposal = condensation(data, anchors)
        verdict = judge(proposal, given, newest_message)
        if verdict.shrinks:
            return verdict
        account.problems.append(_shortfall(verdict))
        if level and proposal == Condensation():
            break  # asked twice, it says again that there is nothing to condense
    return verdict


def choose(active: Sequence[Observation], most: int = INPUT_TOKENS) -> list[Observation]:
    """Return the observations a reflector is given, at most `most` tokens, in order of age.

    Those condensed least come first, the oldest of them before the newer; pinned lines and the
    user's own stay out of its hands.
    """
    free = sorted((o for o in active if not o.pinned and o.origin != "user"), key=lambda o: (o.generation, o.id))
    chosen: list[Observation] = []
    for o in free:
        most -= o.token_count
        if most < 0 and chosen:
            break
        chosen.append(o)
    return sorted(chosen, key=lambda o: (o.observation_date, o.id))


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
