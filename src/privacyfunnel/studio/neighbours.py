"""Neighbours: which user of this machine is at the other end of a connection, where Linux tells.

An address or a cookie can fall into other hands: programs are started with addresses that every user sees in the list
of processes, and browsers send the cookies of 127.0.0.1 to all of its ports, whoever listens there.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = 0
"""The user who may do anything."""
LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOOPBACKS = ("0100007F", "0000000000000000FFFF00000100007F", "7F000001", "00000000000000000000FFFF7F000001")
"""127.0.0.1 as Linux writes it, on machines of either byte order."""
NOBODYS = "0"
"""The number of a connection that no program holds any more; its user is not told."""


def own_user() -> int | None:
    """The user we run as; None where users have no numbers."""
    return os.getuid() if hasattr(os, "getuid") else None


def is_foreign(client_port: int, port: int, own: int | None) -> bool:
    """Whether the program at `client_port` that is connected to our `port` is known to be of another user.

    Root may look anywhere, so its connections pass: some come from what forwards those of a browser elsewhere. Who
    runs the studio as root wants to visit it as somebody else.
    """
    return own not in (None, ROOT) and user_of(client_port, port) not in (None, ROOT, own)


def user_of(client_port: int, port: int) -> int | None:
    """The user whose program is connected from `client_port` to `port`, both of 127.0.0.1; None if nobody tells.

    A line of the list is: number, own address, the other's, state, queues, timer, retransmits, user, timeout, inode, …
    """
    ends = [f"{place}:{number:04X}" for number in (client_port, port) for place in LOOPBACKS]
    near, far = ends[: len(LOOPBACKS)], ends[len(LOOPBACKS) :]
    for path in LISTS:
        try:
            lines = path.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for words in map(str.split, lines):
            if words[1] in near and words[2] in far and words[9] != NOBODYS:
                return int(words[7])
    return None
