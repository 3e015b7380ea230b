"""A real R for tests."""

import os
import shutil
import subprocess

import pytest

NEEDS = 'stopifnot(requireNamespace("jsonlite"), requireNamespace("Matrix"))'


def require_r():
    """Where Rscript is; where R is missing, the test is skipped, or fails where all must be there."""
    path = shutil.which("Rscript")
    if path is None or subprocess.run([path, "-e", NEEDS], capture_output=True, check=False).returncode:
        reason = "needs R with jsonlite and Matrix, which is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path
