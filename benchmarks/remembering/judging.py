"""A model's opinion of an answer."""

from benchmarks.remembering.lives import Question
from construct.errors import ModelError
from construct.llm.types import Model, WorkRequest

_SYSTEM = """You mark answers to questions about a long talk. Right is a reply that says the same \
as the answer given, in whatever words; more detail does not hurt; a date may be written in any \
form, and a day that falls into the time given is right. Wrong is a reply that says something \
else, or less than half of it. Where the answer given is "No information", right is only a reply \
that says that it does not know. Answer with one word: right or wrong."""
_MARKS = {"right": 1.0, "wrong": 0.0}


async def judge(model: Model, question: Question, reply: str) -> float | None:
    """Return 1 or 0; None when the model gave no verdict."""
    answer = question.answer or "No information"
    user = (
        f"Question: {question.text}\nAnswer given: {answer}\nReply to mark: {reply or '(nothing)'}"
    )
    try:
        verdict = await model.complete(WorkRequest(_SYSTEM, user, max_tokens=1_024))
    except ModelError:
        return None
    return _MARKS.get(verdict.text.strip(' \n."*').lower())
