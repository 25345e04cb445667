"""Import Anthropic's SDK without its types, in a fifth of the time.

`import anthropic` runs 3,300 modules, which takes a second of CPU time. Most are types
of requests, answers and errors that this program does not use (see anthropic_model.py).
So this module registers the package without running its `__init__`, puts empty modules
in place of the types, and imports only the client. If other code later asks the package
for more, the whole package is loaded.

Versions of the SDK that this was not tested with are imported normally.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_TESTED_VERSION = "2.12."
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


def _import_client() -> None:
    """Import only the client, unless the whole package has already been imported."""
    spec = find_spec("anthropic")
    if "anthropic" in sys.modules or spec is None:
        return
    package = sys.modules["anthropic"] = module_from_spec(spec)
    version = import_module("anthropic._version").__version__
    if not version.startswith(_TESTED_VERSION):
        _take_out("anthropic", "anthropic._version")
        return

    def get_rest(name: str) -> object:
        if name.startswith("_"):  # the client looks for its own modules here first
            raise AttributeError(name)
        assert spec.loader
        del vars(package)["__getattr__"]
        spec.loader.exec_module(package)
        return getattr(package, name)

    vars(package).update(__getattr__=get_rest, __version__=version)
    for name in _FOR_ANNOTATIONS:
        _stand_in(name, __getattr__=lambda name: object)
    _stand_in("anthropic.types.shared.error_details", ErrorDetails=object)
    try:
        # The SDK has a class for each error code. The status and the body say the same.
        status_error = import_module("anthropic._exceptions").APIStatusError
        _stand_in("anthropic._error_classes", make_status_error=status_error)
        import_module("anthropic._client")
    except Exception:  # noqa: BLE001 - whatever: a client that needs more types is imported whole
        _take_out(*(name for name in sys.modules if name.partition(".")[0] == "anthropic"))
    else:
        _take_out(
            *_FOR_ANNOTATIONS, "anthropic.types.shared.error_details", "anthropic._error_classes"
        )


def _stand_in(name: str, **content: object) -> None:
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(content)


def _take_out(*names: str) -> None:
    for name in names:
        del sys.modules[name]


_import_client()

from anthropic._client import AsyncAnthropic  # noqa: E402 - `_import_client` makes this fast
from anthropic._exceptions import APIConnectionError, APIStatusError  # noqa: E402
from anthropic._streaming import AsyncStream, ServerSentEvent  # noqa: E402

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "AsyncAnthropic",
    "AsyncStream",
    "ServerSentEvent",
]
