"""One line about what pip-audit found, which itself calls a package that its service does not know no weakness.

pip-audit --format json | python .ci/audit.py

Exit code 0: every package was looked up, and none has a known weakness. 1: some have. 2: some were not looked up.
"""

import json
import sys

FEW = 5
"""So many names are told; pip-audit itself tells all."""


def some(names: list[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


try:
    packages = json.load(sys.stdin)["dependencies"]
except (ValueError, KeyError, TypeError):
    sys.stderr.write("not audited: pip-audit gave no answer; the advisory service may be out of reach\n")
    sys.exit(2)
weak = [f"{p['name']} {p['version']} ({vuln['id']})" for p in packages for vuln in p.get("vulns", [])]
skipped = [p["name"] for p in packages if "skip_reason" in p]
if weak:
    sys.stderr.write(f"known weaknesses: {some(weak)}\n")
    sys.exit(1)
if len(skipped) == len(packages):
    sys.stderr.write(f"not audited: the advisory service knows none of the {len(packages)} packages from here\n")
    sys.exit(2)
if skipped:
    sys.stderr.write(f"{len(packages) - len(skipped)} packages without known weakness; not audited: {some(skipped)}\n")
    sys.exit(2)
sys.stdout.write(f"{len(packages)} packages, none with a known weakness\n")
