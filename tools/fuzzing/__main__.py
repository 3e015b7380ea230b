"""python -m tools.fuzzing TARGET SECONDS: look for bytes that break a claim; the exit code is 0 if none were found."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import atheris
from tools.fuzzing import INSTRUMENTED

FOLDER = Path("build") / "fuzzing"
LONGEST = 20_000
SLOWEST = 60
"""Seconds after which a single file is taken to hang."""


def main(target: str, seconds: int) -> None:
    """Fuzz, starting from the seeds and from what earlier runs found worth keeping."""
    with atheris.instrument_imports(include=[f"privacyfunnel.{name}" for name in INSTRUMENTED[target]]):
        module = import_module(f"tools.fuzzing.{target}")
    corpus, found = FOLDER / target / "corpus", FOLDER / target / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(module.seeds()):
        (corpus / f"seed{number}").write_bytes(seed)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={SLOWEST}", "-rss_limit_mb=0"]
    options = [*limits, f"-artifact_prefix={found}/", "-print_final_stats=1", str(corpus)]
    atheris.Setup([sys.argv[0], *options], module.check, custom_mutator=module.mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
