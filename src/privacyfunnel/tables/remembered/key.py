"""The key of a steward's draws: a small text file that only its owner may read, and that is never overwritten."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from privacyfunnel.drawing.randomness import KEY_BYTES
from privacyfunnel.errors import InvalidKey
from privacyfunnel.tables.writing import check_output, whole_file

SECRET_BYTES = 32
"""Of HMAC-SHA-256: a key as long as its digest."""
CHECK_DIGITS = 8
"""So that a mistyped digit is noticed rather than drawn with."""
MOST_BYTES = 10_000
"""Of a key file; a longer one is something else."""
SCHEMA = "privacyfunnel-key/1"
LINE = re.compile(rf"{re.escape(SCHEMA)} ([0-9a-f]{{{2 * SECRET_BYTES}}}) ([0-9a-f]{{{CHECK_DIGITS}}})")
COMMENT = (
    "# The key with which people's released rows are drawn (funnel sanitise --remember). Keep it: without it they "
    "cannot be\n# drawn the same again. Keep it secret: with it, and somebody's identifier, guesses can be checked.\n"
)
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""What nobody but the owner should be allowed."""


@dataclass(frozen=True, eq=False)
class Key:
    """32 bytes from the operating system. Keys for single purposes are derived from them, and tell nothing of them."""

    secret: bytes = field(repr=False)

    def derived(self, purpose: str) -> bytes:
        """HMAC-SHA256(secret; purpose), as much of it as AES takes."""
        return self.digest("key", purpose.encode())[:KEY_BYTES]

    def digest(self, purpose: str, content: bytes) -> bytes:
        """HMAC-SHA256(secret; purpose ‖ 0 ‖ content): a seal that only who has the key can make."""
        return hmac.digest(self.secret, b"privacyfunnel " + purpose.encode() + b"\0" + content, "sha256")

    @property
    def name(self) -> str:
        """What tells one key from another, and nothing of it."""
        return self.digest("name", b"").hex()[:16]


def make_key(path: Path, before: Callable[[Key], None]) -> Key:
    """A new key, in a file that appears whole, for nobody but its owner, and never in place of another.

    What `before` does with it is done before it has its name.
    """
    check_output(path, force=False)
    key = Key(os.urandom(SECRET_BYTES))
    with whole_file(path, force=False, private=True) as file:
        file.write(f"{COMMENT}{SCHEMA} {key.secret.hex()} {_check(key.secret)}\n".encode())
        before(key)
    return key


def read_key(path: Path) -> Key:
    """The key in a file that exists; one that others can read, or that was changed, is refused."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(MOST_BYTES + 1).decode("ascii", "replace")
    except FileNotFoundError:
        raise InvalidKey(f"there is no key {path}") from None
    except OSError as trouble:
        raise InvalidKey(f"the key {path} cannot be read: {trouble.strerror}") from None
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = LINE.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None:
        raise InvalidKey(f"{path} is no key of privacyfunnel; name another file, and it is made")
    secret = bytes.fromhex(found[1])
    if _check(secret) != found[2]:
        raise InvalidKey(f"the key {path} was changed after it was made; get the original")
    if os.name == "posix" and mode & OTHERS:
        raise InvalidKey(f"the key {path} can be read by others; chmod 600 it, and ask who has read it")
    return Key(secret)


def _check(secret: bytes) -> str:
    return hashlib.sha256(SCHEMA.encode() + secret).hexdigest()[:CHECK_DIGITS]
