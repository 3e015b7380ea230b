"""python -m tools.documentation FOLDER [ROOT]: build the documentation strictly, set formulas, put it into FOLDER.

Zensical builds beside its configuration, so that happens in a folder of its own, to which what it reads is copied.
The site appears whole or not at all.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.typeset import typeset_site

READ = ("docs", "src", "tools")
"""What the configuration speaks of."""


def build(folder: Path, root: Path) -> int:
    """Zensical's exit code; the site is in `folder` if that is 0."""
    with TemporaryDirectory() as place:
        shutil.copy(root / "mkdocs.yml", place)
        for name in READ:
            if (root / name).exists():
                shutil.copytree(root / name, Path(place) / name)
        command = [sys.executable, "-c", "from zensical.main import cli; cli()", "build", "--strict", "--clean"]
        code = subprocess.run(command, cwd=place, check=False).returncode  # noqa: S603 - our own command
        if code:
            return code
        typeset_site(Path(place) / "site")
        if folder.exists():
            shutil.rmtree(folder)
        shutil.move(Path(place) / "site", folder)
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else ".")))
