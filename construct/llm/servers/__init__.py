"""Find the model servers on this machine, and list the models of any server.

A new kind of server is a module here and a line in `KINDS`.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

from construct.errors import UsageError
from construct.llm.capable import FEWEST_PARAMETERS
from construct.llm.network import LOOPBACK
from construct.llm.servers.asking import (
    CHOSEN_SERVER_SECONDS,
    asker,
    at_once,
    owned_by,
)
from construct.llm.servers.llamacpp import LLAMACPP
from construct.llm.servers.lmstudio import LMSTUDIO
from construct.llm.servers.ollama import OLLAMA
from construct.llm.servers.other import OTHER
from construct.llm.servers.types import Ask, FoundModel, ServerKind, models_named
from construct.llm.servers.vllm import VLLM

KINDS: tuple[ServerKind, ...] = (OLLAMA, LMSTUDIO, LLAMACPP, VLLM)
_LOOK_FOR = "CONSTRUCT_LOOK_FOR"


def look(environ: Mapping[str, str] = os.environ) -> list[FoundModel]:
    """Return the chat models of the servers on this machine, the most suitable first.

    Asks the addresses in CONSTRUCT_LOOK_FOR; without it, those where known kinds of
    server listen by default, for Ollama the one in OLLAMA_HOST if that is on this
    machine. Takes less than a second, whatever listens there. Raises UsageError when
    CONSTRUCT_LOOK_FOR has an address that is not on this machine.
    """
    # No limit here: each question to a server has its own limit.
    searches = [partial(_first_found, kinds, url) for url, kinds in _places(environ)]
    found = at_once(searches, patience=None)
    return sorted((m for models in found for m in models or []), key=_sensible_first)


def kind_of(source: str) -> ServerKind:
    """Return the kind of server that runs a model."""
    return next((kind for kind in KINDS if kind.source == source), OTHER)


def describe(base_url: str, name: str, headers: Mapping[str, str]) -> FoundModel | None:
    """Return what a server that the user has chosen says about one model, or None."""
    ask = asker(base_url, headers, CHOSEN_SERVER_SECONDS)
    kind = _kind_at(ask)
    if kind.describe is not None:
        return kind.describe(ask, base_url, name)
    return next(iter(models_named(kind.find(ask, base_url) or [], name)), None)


def list_models(base_url: str, headers: Mapping[str, str]) -> list[FoundModel]:
    """Return the models of a server that the user has chosen, in the server's order."""
    ask = asker(base_url, headers, CHOSEN_SERVER_SECONDS)
    return _kind_at(ask).find(ask, base_url) or []


def root_of(openai_url: str) -> str:
    """Return the address to list models at, from a base URL for OpenAI's protocol.

    Such a URL ends in `/v1`. The kinds of server add that themselves.
    """
    return openai_url.rstrip("/").removesuffix("/v1")


def _kind_at(ask: Ask) -> ServerKind:
    """Return the kind of a server.

    Only the list of models is requested: a remote server should not see unusual
    requests.
    """
    answer = ask("/v1/models")
    return next((kind for kind in KINDS if owned_by(answer, kind.owner)), OTHER)


def _first_found(kinds: Sequence[ServerKind], base_url: str) -> list[FoundModel]:
    ask = asker(base_url)
    for kind in kinds:
        found = kind.find(ask, base_url)
        if found is not None:
            return found
    return []


def _places(environ: Mapping[str, str]) -> list[tuple[str, Sequence[ServerKind]]]:
    """Return the base URLs to try, each with the kinds of server it may be."""
    given = environ.get(_LOOK_FOR)
    if given is not None:
        urls = [url.strip().rstrip("/") for url in given.split(",") if url.strip()]
        return [(_on_loopback(url), (*KINDS, OTHER)) for url in urls]
    places: list[tuple[str, Sequence[ServerKind]]] = [
        (kind.address, (kind, OTHER)) for kind in KINDS
    ]
    ollama = _ollama_host(environ.get("OLLAMA_HOST", ""))
    return [(ollama or OLLAMA.address, (OLLAMA,)), *places[1:]]


def _on_loopback(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in {"http", "https"} and parts.hostname in LOOPBACK
        is_good = is_good and parts.port != 0
    except ValueError:  # a port that is not a number
        is_good = False
    if not is_good:
        raise UsageError(
            f"{_LOOK_FOR}: {url[:60]!r} is not an address on this machine,"
            " such as http://127.0.0.1:11434."
        )
    return url


def _ollama_host(host: str) -> str | None:
    """Return the base URL in OLLAMA_HOST, or None if it has none on this machine.

    As in Ollama, quotation marks are ignored, the scheme and the port may be missing,
    and 0.0.0.0 means every address.
    """
    text = host.strip().strip("\"'").rstrip("/")
    if not text:
        return None
    default_ports = {"http": 80, "https": 443} if "://" in text else {}
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port or default_ports.get(parts.scheme, 11434)
    except ValueError:
        return None
    name = "127.0.0.1" if parts.hostname in {"0.0.0.0", "::", None} else parts.hostname  # noqa: S104
    if name not in LOOPBACK:
        return None
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}:{port}"


def _sensible_first(model: FoundModel) -> tuple[bool, bool, str]:
    """Return a sort key: models fit for memory work first, then loaded ones, then names."""
    is_small = model.parameters is not None and model.parameters < FEWEST_PARAMETERS
    return (is_small, not model.is_loaded, model.name.lower())
