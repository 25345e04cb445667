"""Read a worker's answer from a stream, even if it breaks off."""

import asyncio
from dataclasses import replace

from construct import tokens
from construct.errors import ModelBrokenError, ModelError
from construct.llm.types import Reply, ReplyStream, Usage, WorkReply, WorkRequest

LONGEST_WAIT = 2_000
"""Characters of an unfinished line after which `hopeless` is called anyway."""


async def collect(stream: ReplyStream, request: WorkRequest, who: str) -> WorkReply:
    """Read a stream until it ends or `request.hopeless` gives up on it; return the answer.

    `who` names the model or its server in error messages. Raises the stream's ModelError, or
    ModelBrokenError, when nothing arrived.
    """
    reply = stream.reply
    trouble: str | None = None
    checked_up_to = 0
    try:
        async for piece in stream:
            if "\n" in piece or len(reply.text) - checked_up_to >= LONGEST_WAIT:
                checked_up_to = len(reply.text)
                if trouble := request.hopeless(reply.text):
                    break
        else:
            if reply.stop_reason is None:
                raise ModelBrokenError(f"{who} broke off its answer", "Try again.")
    except ModelError as error:
        if not reply.text and reply.usage_with_retries == Usage():
            raise
        trouble = f"{error.what}."
    except asyncio.CancelledError:
        if (usage := _usage_so_far(reply)) != Usage():
            request.cancelled(usage)
        raise
    finally:
        await stream.aclose()
    if trouble is None:
        return WorkReply(reply.text, reply.usage_with_retries, reply.stop_reason)
    return WorkReply(reply.text, _usage_so_far(reply), None, trouble)


def _usage_so_far(reply: Reply) -> Usage:
    """Return the usage of an answer that broke off.

    The server's last count may be older than the text, and all text is paid for.
    """
    written = max(reply.usage.output_tokens, tokens.count(reply.text))
    return reply.retried_usage + replace(reply.usage, output_tokens=written)
