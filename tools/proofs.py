"""Theorems checked by Coq: python -m tools.proofs, or make proofs.

Compiles proofs/*.v in the order of proofs/_CoqProject, in build/proofs, and asks of every `Theorem` what it assumes:
only "Closed under the global context" passes, so that no axiom and nothing admitted is left. Without coqc it says so
and ends well, unless REQUIRED=1 or CI=true.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES, BUILD = ROOT / "proofs", ROOT / "build" / "proofs"
PACKAGES = "coq libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra libcoq-mathcomp-fingroup"
CLOSED = "Closed under the global context"
COQC = ["coqc", "-w", "none", "-Q", ".", "Privacyfunnel"]


class Unproven(Exception):
    """A file that does not compile, or a theorem that rests on something unproven."""


EXTRACTION = "extract"
"""The file that only writes the checker in OCaml."""


def files(sources: Path = SOURCES) -> list[str]:
    """The names of the files, each after those that it needs."""
    project = (sources / "_CoqProject").read_text(encoding="utf-8")
    return re.findall(r"^(\w+)\.v$", project, re.MULTILINE)


def theorems(sources: Path = SOURCES) -> Iterator[tuple[str, str]]:
    """File and name of every theorem."""
    for name in files(sources):
        text = (sources / f"{name}.v").read_text(encoding="utf-8")
        for theorem in re.findall(r"^Theorem ([\w']+)", text, re.MULTILINE):
            yield name, theorem


def compiled(name: str, text: str, build: Path = BUILD) -> str:
    """What coqc says of a file; an error tells where it stops."""
    build.mkdir(parents=True, exist_ok=True)
    (build / f"{name}.v").write_text(text, encoding="utf-8")
    command = [*COQC, f"{name}.v"]
    run = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)  # noqa: S603 - our own files
    if run.returncode:
        raise Unproven(f"{name}.v does not compile:\n{run.stderr.strip()}")
    return run.stdout


def assumed(named: list[tuple[str, str]], build: Path = BUILD) -> dict[str, str]:
    """What each theorem rests on, as Coq prints it."""
    lines = [f"From Privacyfunnel Require {name}." for name in dict.fromkeys(name for name, _ in named)]
    for name, theorem in named:
        lines += [f'Goal True. idtac "== {name}.{theorem}". Abort.', f"Print Assumptions {name}.{theorem}."]
    said = compiled("assumptions", "\n".join(lines), build)
    parts = re.split(r"^== (\S+)\n", said, flags=re.MULTILINE)[1:]
    return {theorem: what.strip() for theorem, what in zip(parts[::2], parts[1::2], strict=True)}


def check(sources: Path = SOURCES, build: Path = BUILD) -> list[str]:
    """Compile everything; the theorems, all of them proven without assumptions.

    A file is left alone if it was compiled here, and neither it nor any file before it has changed since.
    """
    digest = sha256()
    for name in files(sources):
        text = (sources / f"{name}.v").read_text(encoding="utf-8")
        digest.update(text.encode())
        seal = build / f"{name}.sha256"
        if not (seal.exists() and seal.read_text(encoding="utf-8") == digest.hexdigest()):
            compiled(name, text, build)
            seal.write_text(digest.hexdigest(), encoding="utf-8")
    found = assumed(list(theorems(sources)), build)
    for theorem, what in found.items():
        if what != CLOSED:
            raise Unproven(f"{theorem} rests on something unproven:\n{what}")
    return list(found)


def extracted(build: Path = BUILD) -> Path:
    """The checker as a program in OCaml, made of what Coq proved: proofs/checker.v, read by proofs/read_cases.ml."""
    compiled(EXTRACTION, (SOURCES / f"{EXTRACTION}.v").read_text(encoding="utf-8"), build)
    shutil.copy(SOURCES / "read_cases.ml", build)
    command = ["ocamlfind", "ocamlopt", "-w", "-a", "-o", "checker", "checker.mli", "checker.ml", "read_cases.ml"]
    run = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)  # noqa: S603 - our own files
    if run.returncode:
        raise Unproven(f"the extracted checker does not compile:\n{run.stderr.strip()}")
    return build / "checker"


def main() -> int:
    """One line: what was proven, and how long it took."""
    if shutil.which("coqc") is None:
        sys.stdout.write(f"No proofs were checked: there is no coqc here. On Debian: apt-get install {PACKAGES}\n")
        return int(os.environ.get("REQUIRED") == "1" or os.environ.get("CI") == "true")
    try:
        proven = check()
    except Unproven as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    sys.stdout.write(f"{len(proven)} theorems proven without assumptions, in {seconds:.0f} s of CPU.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
