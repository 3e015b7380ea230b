"""What Spark raises, whichever session it is: of a Java process here, or of a server that is asked (Spark Connect)."""

from __future__ import annotations

import sys


def troubles() -> tuple[type[Exception], ...]:
    """The kinds of errors that Spark's own messages come in."""
    from pyspark.errors import PySparkException

    found: list[type[Exception]] = [PySparkException]
    try:
        from py4j.protocol import Py4JError
    except ImportError:  # pyspark-client has no Java side
        pass
    else:
        found.append(Py4JError)
    grpc = sys.modules.get("grpc")
    return (*found, grpc.RpcError) if grpc is not None else tuple(found)


def is_classic(frame: object) -> bool:
    """Whether a DataFrame belongs to a session with a Java process of its own, rather than to Spark Connect."""
    return type(frame).__module__.startswith("pyspark.sql.classic.")
