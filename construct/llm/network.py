"""Which settings of the environment decide over a connection, for errors that name them.

Servers on this machine are reached directly. All others are reached through the proxy that
HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names, unless NO_PROXY lists them.
"""

import os
import ssl
from urllib.parse import urlsplit

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def is_on_this_machine(url: str) -> bool:
    """Return whether a URL is that of a server on this machine."""
    return urlsplit(url).hostname in LOOPBACK


def proxy_variable(url: str) -> str | None:
    """Return the variable that names the proxy to a URL; None if it is reached directly."""
    from urllib.request import proxy_bypass

    parts = urlsplit(url)
    if is_on_this_machine(url) or proxy_bypass(parts.hostname or ""):
        return None
    return _first_set(f"{parts.scheme}_proxy".upper(), "ALL_PROXY")


def bad_proxy_variable() -> str | None:
    """Return a variable with a proxy that cannot be used, None if there is none."""
    import httpx2

    for name in filter(None, map(_first_set, _PROXIES)):
        proxy = os.environ[name]
        try:
            httpx2.Proxy(proxy if "://" in proxy else f"http://{proxy}")
        except (ValueError, httpx2.InvalidURL):
            return name
    return None


def certificate_variable() -> str | None:
    """Return the variable that names the certificates to trust, None if none is set."""
    return _first_set(*_CERTIFICATES)


def cause(error: BaseException) -> str:
    """Return why a connection failed, in the words of whoever knew it first."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        if isinstance(error, ssl.SSLError):
            break
        error = earlier
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    # asyncio writes "Connect call failed ('127.0.0.1', 9)" for "Connection refused".
    is_of_the_system = type(error).__module__ == "builtins"
    return os.strerror(error.errno) if is_of_the_system and error.errno else error.strerror


def _first_set(*names: str) -> str | None:
    """Return the first of these variables that has a value; the lower-case name goes first."""
    both = (name for upper in names for name in (upper.lower(), upper))
    return next((name for name in both if os.environ.get(name)), None)
