"""Every error a user can meet, in one tree.

PrivacyFunnelError
├── InvalidInput            (also a ValueError)
│   ├── InvalidJoint        counts or probabilities that are no joint distribution
│   ├── InvalidPromise      an ε, or a notion, that makes no sense
│   │   └── TooManyAttackers    more sets of columns that an attacker may know than can be gone through
│   ├── TooManyReadAsOthers     more than 5% of the people would be read as having another combination of values
│   ├── InvalidChannel      not a matrix of dyadic probabilities
│   ├── InvalidProtocol     a protocol file that is broken, edited or of another schema
│   ├── InvalidTable        a table, column or bin specification that cannot be used
│   ├── InvalidDomain       a domain file that is broken, or does not declare what is asked for
│   ├── UnseenValues        rows holding values the protocol was not fitted on
│   ├── InvalidKey          a key of draws that is missing, broken, or open to others
│   ├── InvalidLedger       a ledger that is broken, changed, or of another key
│   └── OverLimit           a release that would exceed the level that the steward fixed, or whose level is unknown
├── OutputRefused           a file we will not write, or could not write whole
├── NotCertified            a protocol that failed the exact check
├── SolverFailure           the linear-programming solver gave up
├── MissingExtra            an optional dependency that is not installed
└── NotLoaded               a library that we always need, and that cannot be loaded

ExactFit is a warning: a protocol that is not for publication is being saved.

Messages say what, where and what next; none quotes a record or a value of the secret. Those that quote exact figures of
the steward's table, or follow from exact counts, say so (`steward_only`), and are marked on the command line.
Each is one line that a terminal only shows: names from files may hold anything.
"""

LONGEST_MESSAGE = 800
"""Letters: a name from a hostile file may be megabytes long; of that, beginning and end are enough to find it."""


def printable(text: str) -> str:
    r"""A text that is only shown: characters that would move a cursor or turn the line around are spelled out.

    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(message: str) -> str:
    r"""A message as one line of printable characters, its middle left out where it is endless.

    >>> print(one_line("no file a\nb"))
    no file a\nb
    """
    shown = printable(message)
    half = LONGEST_MESSAGE // 2
    return shown if len(shown) <= LONGEST_MESSAGE else f"{shown[:half]} … {shown[-half:]}"


class ExactFit(UserWarning):
    """A warning: a protocol that was fitted on exact counts is being saved, and its file tells secrets."""


class PrivacyFunnelError(Exception):
    """The root: catch this to catch everything we raise on purpose."""

    def __init__(self, message: str = "", *, steward_only: bool = False) -> None:
        self.steward_only = steward_only
        """Whether the message quotes exact figures of the steward's table, or follows from exact counts."""
        super().__init__(one_line(message))


class InvalidInput(PrivacyFunnelError, ValueError):
    """Something the caller gave us cannot be used."""


class InvalidJoint(InvalidInput):
    """The array or table is not a joint distribution of a secret and attributes."""


class InvalidPromise(InvalidInput):
    """The privacy notion, or its ε, makes no sense."""


class TooManyAttackers(InvalidPromise):
    """Attackers may know more sets of columns than can be gone through; with fewer known columns it may work."""

    def __init__(self, what: str, known: int) -> None:
        self.what, self.known = what, known
        super().__init__(
            f"{what}; guard against those who know at most {known} (--known {known}; in Python known={known}), "
            "or use fewer or coarser attributes"
        )


class TooManyReadAsOthers(InvalidInput):
    """A table would be ruined: too many people would be read as having another combination of values."""

    def __init__(self, what: str, *, steward_only: bool) -> None:
        self.what = what
        super().__init__(
            f"{what}: release fewer columns, wider ranges (bins) or fewer values (top), or fit it all the same "
            "(insist=True)",
            steward_only=steward_only,
        )


class InvalidChannel(InvalidInput):
    """The matrix is not a channel with entries that are multiples of 2⁻³²."""


class InvalidProtocol(InvalidInput):
    """The protocol file is broken, edited, too large or of another schema."""


class InvalidTable(InvalidInput):
    """The table, a column of it, or the way it should be encoded cannot be used."""


class InvalidDomain(InvalidInput):
    """The domain file has a mistake, or does not declare a column that is asked for."""


class UnseenValues(InvalidInput):
    """Rows hold values that the protocol was not fitted on."""


class InvalidKey(InvalidInput):
    """The key of the draws is missing, broken, or can be read by others."""


class InvalidLedger(InvalidInput):
    """The ledger is broken, was changed, or belongs to another key."""


class OverLimit(InvalidInput):
    """Everything that was released about some people would exceed the level that was fixed, or cannot be computed."""


class OutputRefused(PrivacyFunnelError):
    """The output was not written: it exists, is the input, or the folder would not take it."""


class NotCertified(PrivacyFunnelError):
    """A protocol does not keep its promise on this distribution, in exact arithmetic."""


class SolverFailure(PrivacyFunnelError):
    """The linear-programming solver stopped without an answer."""


class MissingExtra(PrivacyFunnelError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; pip install 'privacyfunnel[{extra}]'")


class NotLoaded(PrivacyFunnelError):
    """A library that we always need cannot be loaded. What it says may hold anything, so only its kind is told."""

    def __init__(self, trouble: BaseException) -> None:
        kind = type(trouble).__name__
        super().__init__(f"a library cannot be loaded ({kind}); is all installed, and is there memory? See --debug")
