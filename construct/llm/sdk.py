"""Anthropic's SDK without its types.

`import anthropic` runs 3,300 modules, a second of CPU time. Most are types of requests,
answers and errors that nothing here uses (see anthropic_model.py). So this enters the
package without running its `__init__`, lets empty modules stand in for the types, and
imports the client alone: a fifth of the time. Whoever asks the package for more later
gets all of it.

A version that this was not tried with is imported whole.
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
"""What the client imports of the types, and uses in annotations alone."""


def _enter() -> None:
    """Import the client alone, unless the whole package is there already."""
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
    # There each error code has a class of its own; status and body say as much.
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
