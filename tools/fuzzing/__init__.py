"""Coverage-guided fuzzing with atheris: `make atheris SECONDS=60`.

A target is a module with `seeds()`, files to start from, `mutated(…)`, which changes one in ways that keep it
interesting, and `check(data)`, which raises if a claim that should hold for all bytes does not.
`tests/test_fuzz.py` repeats what was ever found, without atheris.
"""

LONGEST_MESSAGE = 1_000
"""A line for people is not longer than this."""

_MARKS = b'" "" , ; | \n \r\n \r \0 \xff \xef\xbb\xbf \xc3 \' # \\ \n\n ,,'.split(b" ")
_WORDS = b"1e400 -0 nan inf 0000-00-00 9999-12-31 9999-99-99 2024-02-30 ? NA other true FALSE 007 +1 1.0".split()
PIECES = (b" ", b"\t", *_MARKS, *_WORDS, b"9" * 40, b"a" * 3_000, "Ω".encode(), "\u2028".encode())
"""What readers of tables stumble over."""

_COLUMNS = ("tables.raw", "tables.domain", "tables.arrow")
_PROMISES = ("notions", "promise", "robust_promise", "limits")
_TABLES = (
    "tables.csv_files",
    "tables.sources",
    "tables.grouping",
    "tables.profiling",
    "tables.fitting",
    "tables.counting",
)
INSTRUMENTED = {
    "protocol_bytes": ("protocol_file", "protocol", "channel", *_PROMISES, *_COLUMNS),
    "csv_bytes": ("joint", *_TABLES, *_COLUMNS),
}
"""For each target, the modules whose branches guide the search. Loops that Numba compiles must not be among them."""


def one_line(refused: Exception) -> None:
    """What every refusal must look like, whatever was refused."""
    message = str(refused)
    assert message, f"{type(refused).__name__} without a word"
    assert len(message.splitlines()) == 1, message
    assert message.isprintable(), ascii(message)
    assert len(message) <= LONGEST_MESSAGE, message[:200]
