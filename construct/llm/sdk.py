"""Imports Anthropic's SDK without its types.

`import anthropic` runs 3,300 modules, which takes a second of CPU time. Most are types
of requests, answers and errors that this program does not use (see anthropic_model.py).
So this enters the package without running its `__init__`, puts empty modules in place
of the types, and imports only the client: a fifth of the time. Code that asks the
package for more later gets all of it.

Versions that this was not tested with are imported whole.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_TRIED = "2.12."
_FOR_ANNOTATIONS = [
    "anthropic.types",
    "anthropic.types.beta",
    "anthropic.types.beta.environments",
    "anthropic.types.beta.message_create_params",
    "anthropic.types.beta.parsed_beta_message",
    "anthropic.types.beta.sessions",
    "anthropic.types.message_create_params",
]
"""Modules of types that the client uses in annotations only."""


def _enter() -> None:
    """Import only the client, unless the whole package is imported already."""
    spec = find_spec("anthropic")
    if "anthropic" in sys.modules or spec is None:
        return
    package = sys.modules["anthropic"] = module_from_spec(spec)
    if not import_module("anthropic._version").__version__.startswith(_TRIED):
        del sys.modules["anthropic"]
        return

    def get_rest(name: str) -> object:
        if name.startswith("_"):  # the client looks for its own modules here first
            raise AttributeError(name)
        assert spec.loader
        del vars(package)["__getattr__"]
        spec.loader.exec_module(package)
        return getattr(package, name)

    vars(package)["__getattr__"] = get_rest
    for name in _FOR_ANNOTATIONS:
        _stand_in(name, __getattr__=lambda name: object)
    _stand_in("anthropic.types.shared.error_details", ErrorDetails=object)
    # It has a class for each error code; the status and the body say the same.
    refused = import_module("anthropic._exceptions").APIStatusError
    _stand_in("anthropic._error_classes", make_status_error=refused)
    import_module("anthropic._client")
    for name in _FOR_ANNOTATIONS:
        del sys.modules[name]


def _stand_in(name: str, **content: object) -> None:
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(content)


_enter()

from anthropic._client import AsyncAnthropic  # noqa: E402 - what stands above makes it light
from anthropic._exceptions import APIConnectionError, APIStatusError  # noqa: E402
from anthropic._streaming import AsyncStream, ServerSentEvent  # noqa: E402

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "AsyncAnthropic",
    "AsyncStream",
    "ServerSentEvent",
]
