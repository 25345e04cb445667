"""The commands `construct encrypt` and `construct decrypt`."""

from typing import Annotated

import typer

from construct.cli.keys import asked_passphrase
from construct.cli.options import environment, examples
from construct.cli.streams import say

encryption = typer.Typer()


@encryption.command(
    epilog=examples("construct encrypt", "construct encrypt --rekey   a new key and passphrase")
)
def encrypt(
    context: typer.Context,
    rekey: Annotated[
        bool, typer.Option("--rekey", help="Change the key of an encrypted database.")
    ] = False,
) -> None:
    """Turn the database into an encrypted file.

    Asks for a passphrase, unless CONSTRUCT_KEY_COMMAND or CONSTRUCT_KEY_FILE gives the key.
    Without the passphrase or the key nobody can read the file again, you neither. Close
    other chats first. docs/encryption.md says what it protects against.
    """
    from construct.operations import encryption as operations
    from construct.views.encryption import encrypted_text

    settings = environment(context).settings
    do = operations.rekey if rekey else operations.encrypt
    say(encrypted_text(do(settings, asked_passphrase)))


@encryption.command(epilog=examples("construct decrypt"))
def decrypt(context: typer.Context) -> None:
    """Turn an encrypted database back into a plain file.

    Any SQLite tool can read it then, and anybody who gets hold of it.
    """
    from construct.operations import encryption as operations
    from construct.views.encryption import decrypted_text

    say(decrypted_text(operations.decrypt(environment(context).settings)))
