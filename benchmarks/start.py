"""What it costs to start `funnel`: processor time, also as a ratio to Python itself, and memory; the least of some."""

import os
import subprocess
import sys

RUNS = 5
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "funnel --version": ["-m", "privacyfunnel", "--version"],
    "funnel --help": ["-m", "privacyfunnel", "--help"],
    "funnel fit --help": ["-m", "privacyfunnel", "fit", "--help"],
}


def run() -> list[dict[str, object]]:
    costs = {name: min(cost(arguments) for _ in range(RUNS)) for name, arguments in COMMANDS.items()}
    python = costs["python -c pass"][0]
    return [
        {
            "command": name,
            "cpu_seconds": seconds,
            "peak_mib": memory,
            "times_python": seconds / python,
        }
        for name, (seconds, memory) in costs.items()
    ]


def cost(arguments: list[str]) -> tuple[float, float]:
    """Processor seconds and peak MiB of a new process; the latter is at least what this one has now."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
