"""What a server says of its models, and how one kind of server is described."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

# Where a model runs, if not in one of the kinds of server on this machine:
ANTHROPIC = "anthropic"
SERVER = "server"
"""A server of no known kind."""
GGUF = "gguf"
"""A file, in this process."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One model within reach; None stands for what the server does not say."""

    name: str
    server: str
    """The server's base URL, or the path of a GGUF file."""
    source: str
    """Where it runs: the `source` of a kind of server, or ANTHROPIC, SERVER or GGUF."""
    context_window: int | None = None
    """The tokens that the server really runs the model with."""
    vision: bool | None = None
    parameters: int | None = None
    is_loaded: bool = False

    def answers_to(self, name: str) -> bool:
        """Return whether a name means this model: llama.cpp's name is a file's path."""
        return name in {self.name, self.name.rpartition("/")[2]}


class Ask(Protocol):
    """Asks one server: GET, or POST when there is a body.

    Returns the JSON it answers with, None for no such answer. Never raises.
    """

    def __call__(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Return the answer of one path."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of server: where it listens, and how it is asked."""

    source: str
    """Its word in `construct models --json`; no two kinds have the same."""
    name: str
    """As its makers write it."""
    owner: str
    """What its list of models at `/v1/models` says in `owned_by`."""
    address: str
    """Where it listens unless its user changed that."""
    find: Callable[[Ask, str], "list[FoundModel] | None"]
    """Lists the models of the server at a base URL; None when it is not of this kind.

    Asks only what contract.md, "Looking for servers", lists.
    """
    raise_window: str
    """A sentence: how its user gives a model a larger context window."""
    describe: Callable[[Ask, str, str], "FoundModel | None"] | None = None
    """Describes one model that the user has chosen, by base URL and name.

    None: as `find` lists it.
    """
