"""The bodies of `construct setup` and `models`: choose a model."""

import asyncio
import getpass
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from construct.cli.environment import Environment
from construct.cli.streams import complain, print_json, say
from construct.config import Settings
from construct.errors import ConstructError, UsageError
from construct.load_settings import load_settings
from construct.operations import setup as operation
from construct.operations.setup import ModelChoice, Reach, SavedChoice
from construct.setting_values import server_address
from construct.views import setup as view
from construct.views.words import model_words

_HEADING = "Construct, a companion that remembers."
_NO_SUCH_CHOICE = "Press one of the keys above."
_NO_TERMINAL = "No terminal to choose on. Pass --use MODEL, --server URL or --key -"
_EXAMPLE_ADDRESS = "http://192.168.1.5:11434"
_MODELS_NAMED = 30
"""Models of a server that are named before one is asked for."""
_PICK_AGAIN = "Choose again, or press q to leave everything as it is."


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options of `construct setup` name."""

    model: str | None
    server: str | None
    key: str | None
    """`-`: it comes on standard input."""
    speaks_openai: bool


def models(env: Environment, *, as_json: bool) -> None:
    """Print the available models."""
    available = operation.all_models(env.settings)
    print_json(view.models_json(available)) if as_json else say(view.models_text(available))


def setup(env: Environment, wanted: Wanted, *, as_json: bool) -> int:
    """Choose a model by options or on the setup screen. Return the exit status.

    Without options, and without a terminal or with `as_json`, only list what is available.
    """
    settings = env.settings
    if wanted != Wanted(None, None, None, speaks_openai=False):
        choice = _choice_by_options(settings, wanted, _key_from_input(wanted.key))
        saved = _save(settings, choice)
        text = view.saved_text(saved, with_advice=True)
        print_json(view.saved_json(saved)) if as_json else say(text)
        return 0
    reach = operation.within_reach(settings)
    if as_json:
        print_json(view.reach_json(reach))
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"{view.screen(reach, _HEADING)}\n\n{_NO_TERMINAL}")
    else:
        pick(settings, reach, with_advice=True)
    return 0


def first_choice(env: Environment) -> Settings | None:
    """Let a new user choose a model. Return the new settings, or None if nothing was chosen."""
    settings = env.settings
    # The greeting of the chat that follows has the advice.
    if not pick(settings, operation.within_reach(settings), with_advice=False):
        return None
    return replace(load_settings(db=settings.db), untrusted=None)


def pick(settings: Settings, reach: Reach, *, with_advice: bool) -> bool:
    """Show the setup screen and save the user's choice. Return whether one was made.

    After the demo, a key press that chooses nothing, or a failed choice, the user can
    choose again.
    """
    screen = view.screen(reach, _HEADING)
    say(screen)
    while True:
        key = _one_key()
        if key in {"\x04", "", "q"}:
            say("")
            return False
        if key == "d":
            from construct.cli.demo import demo

            demo(Environment())  # without --db: the demo has its own database
            say(f"\n{screen}")
            continue
        try:
            choice = _choice_by_key(reach, key)
            if choice is None:
                complain(_NO_SUCH_CHOICE)
                continue
            if choice.model != operation.NOTEBOOK:
                say(f"Trying {model_words(choice.model)}…")
            saved = _save(settings, choice)
            say(f"\n{view.saved_text(saved, with_advice=with_advice)}\n")
        except ConstructError as error:
            complain(f"{error}\n{_PICK_AGAIN}")
        except (EOFError, KeyboardInterrupt):  # Ctrl-D or Ctrl-C at a question
            complain(f"\n{_PICK_AGAIN}")
        else:
            return True


def _choice_by_key(reach: Reach, pressed: str) -> ModelChoice | None:
    """Return the choice of the pressed key, asking for what it needs; None for other keys."""
    if pressed == "k":
        return operation.choose_key(_checked_key(getpass.getpass("API key (not shown): ").strip()))
    if pressed == "u":
        url = _address(input(f"Address, such as {_EXAMPLE_ADDRESS}: ").strip())
        secret = getpass.getpass("Key, if it needs one (not shown): ").strip()
        return operation.choose_server(url, key=secret or None)
    if pressed == "o":
        return _openai_by_questions()
    if pressed == "n":
        return operation.choose_notebook()
    if pressed.isdigit() and 1 <= int(pressed) <= min(9, len(reach.models)):
        model = reach.models[int(pressed) - 1]
        return operation.choose_server(model.server, model.name)
    return None


def _openai_by_questions() -> ModelChoice:
    given = input("Address (Enter for OpenAI's own): ").strip()
    url = _openai_address(given) if given else None
    key = getpass.getpass("Key, if it needs one (not shown): ").strip() or None
    names = [model.name for model in operation.list_openai(url, key)]
    if names:
        more = f" and {len(names) - _MODELS_NAMED} more" if len(names) > _MODELS_NAMED else ""
        say(f"It has {', '.join(names[:_MODELS_NAMED])}{more}.")
    return operation.choose_openai(url, input("Model: ").strip() or None, key)


def _choice_by_options(settings: Settings, wanted: Wanted, key: str | None) -> ModelChoice:
    if wanted.speaks_openai:
        url = None if wanted.server is None else _openai_address(wanted.server)
        return operation.choose_openai(url, wanted.model, key)
    if wanted.server is not None:
        return operation.choose_server(_address(wanted.server), wanted.model, key)
    if key is not None:
        return operation.choose_key(key, wanted.model)
    assert wanted.model is not None  # the caller checks that one of the three is given
    return operation.choose_named(settings, wanted.model)


def _key_from_input(option: str | None) -> str | None:
    """Return the API key from standard input for `--key -`; None without the option."""
    if option is None:
        return None
    if option != "-":
        raise UsageError(
            "Other users can see a key on the command line. Pipe it in instead: --key -"
        )
    key = sys.stdin.readline().strip()
    if not key:
        raise UsageError("--key - reads the key from standard input, which was empty.")
    return _checked_key(key)


def _checked_key(key: str) -> str:
    if not (key and key.isascii() and key.isprintable() and " " not in key):
        raise UsageError("Not a key: it must be one word of plain characters.")
    return key


def _address(text: str) -> str:
    try:
        return server_address(text if "://" in text else f"http://{text}")
    except ValueError as error:
        raise UsageError(f"{text!r} is not an address such as {_EXAMPLE_ADDRESS}.") from error


def _openai_address(text: str) -> str:
    """Return a base URL for OpenAI's protocol, which ends in `/v1` unless it has a path."""
    url = _address(text).rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def _save(settings: Settings, choice: ModelChoice) -> SavedChoice:
    return asyncio.run(operation.save(settings, choice))


def _one_key() -> str:
    """Return the next key pressed, in lower case; "" at the end of input."""
    if os.name != "posix":
        with suppress(EOFError):
            return input().strip()[:1].lower()
        return ""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)  # keeps what was typed just before
        pressed = os.read(descriptor, 16).decode("ascii", "replace")
        key = "?" if pressed.startswith("\x1b") else pressed[:1]  # arrow keys send several bytes
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
    return key.lower()
