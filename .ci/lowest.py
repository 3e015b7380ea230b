"""Constraints that hold every dependency at the lowest version pyproject.toml allows: for `make minimal`.

python .ci/lowest.py > constraints.txt
"""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    found = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)", requirement)
    if found is None:
        sys.exit(f"{requirement!r} does not say from which version on")
    sys.stdout.write(f"{found[1]}=={found[2]}\n")
