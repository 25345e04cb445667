"""Say what was encrypted or decrypted."""

from construct.operations.encryption import Conversion

_OUT_OF_REACH = (
    "Out of reach: backups, exports and snapshots that you made, and what the disk keeps of"
    " old blocks."
)


def encrypted_text(done: Conversion) -> str:
    """Return what an encryption did, and what it cannot reach."""
    lines = [f"Encrypted: {', '.join(map(str, done.files))}"]
    if done.has_key_file:
        lines.append(
            "Its key lies beside it, hidden by your passphrase. Back up both files;"
            " without that passphrase nobody can read them, you neither."
        )
    return "\n".join([*lines, _OUT_OF_REACH])


def decrypted_text(done: Conversion) -> str:
    """Return what a decryption did."""
    return f"Decrypted: {', '.join(map(str, done.files))}\nAnybody who gets hold of it can read it."
