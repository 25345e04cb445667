"""Make a request for a model that turned out to take no pictures."""

from dataclasses import replace

from construct.llm.types import Block, File, Request, Text
from construct.vocabulary import AttachmentKind


def without_pictures(request: Request) -> Request:
    """Return a request with the name of each picture in its place."""
    messages = tuple(
        replace(message, blocks=tuple(map(_without_picture, message.blocks)))
        for message in request.messages
    )
    return replace(request, messages=messages)


def _without_picture(block: Block) -> Block:
    if not isinstance(block, File):
        return block
    kind = AttachmentKind.of(block.media_type)
    if kind is not AttachmentKind.IMAGE:
        return block
    return Text(f"[{kind}: {block.name}]", mark=block.mark)
