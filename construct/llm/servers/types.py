"""The types of models that servers list, and of kinds of server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# Values of `source` for models that no known kind of local server runs.
ANTHROPIC = "anthropic"
SERVER = "server"
"""A server of an unknown kind."""
GGUF = "gguf"
"""A GGUF file, run in this process."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One available model. Fields are None where the server says nothing."""

    name: str
    server: str
    """The server's base URL, or the path of a GGUF file."""
    source: str
    """Where it runs: the `source` of a kind of server, or ANTHROPIC, SERVER or GGUF."""
    context_window: int | None = None
    """The context window that the server runs the model with, in tokens."""
    vision: bool | None = None
    parameters: int | None = None
    is_loaded: bool = False

    def answers_to(self, name: str) -> bool:
        """Return whether a name refers to this model; llama.cpp's names are file paths."""
        return name in {self.name, self.name.rpartition("/")[2]}


def models_named(models: Sequence[FoundModel], name: str) -> list[FoundModel]:
    """Return the models that a name refers to; if some have just this name, only those.

    In Ollama's names the tag `latest` may be left out.
    """
    for whole_name in (name, f"{name}:latest"):
        if exact := [model for model in models if model.name == whole_name]:
            return exact
    return [model for model in models if model.answers_to(name)]


class Ask(Protocol):
    """Sends one request to a server: GET, or POST when there is a body.

    Returns the JSON of the answer, or None without one. Never raises.
    """

    def __call__(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """Return the answer for one path."""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """One kind of server: where it listens and how to query it."""

    source: str
    """Its unique name in `construct models --json`."""
    name: str
    """Its name as its makers write it."""
    owner: str
    """The value of `owned_by` in its list of models at `/v1/models`."""
    address: str
    """Its default address."""
    find: Callable[[Ask, str], "list[FoundModel] | None"]
    """Lists the models of the server at a base URL. None when it is not of this kind.

    Asks only for lists and descriptions of models.
    """
    raise_window: str
    """A sentence that says how to give a model a larger context window."""
    describe: Callable[[Ask, str, str], "FoundModel | None"] | None = None
    """Describes one model that the user has chosen, by base URL and name.

    If None, the description from `find` is used.
    """
