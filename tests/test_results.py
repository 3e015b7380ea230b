"""The page of results is what its records say, and a run writes such a record."""

import json
import re
import sys

from benchmarks import __main__ as command
from tools import results


def test_the_page_is_what_the_tool_makes_of_the_records():
    assert results.PAGE.read_text(encoding="utf-8") == results.page(results.records()), "run `make results`"


def test_every_section_says_which_run_and_which_command_its_figures_come_from():
    for record in results.records():
        assert record["run"]
        named = re.findall(r"benchmarks ([a-z_]+)|ARGS=([a-z_]+)|, `([a-z_]+)`", json.dumps(record, ensure_ascii=False))
        names = {name for found in named for name in found if name}
        assert names, record["title"]
        assert all((results.ROOT / "benchmarks" / f"{name}.py").exists() for name in names), names


def test_a_run_writes_a_record_that_becomes_a_section(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.py").write_text(
        '"""Quick: what is\nmeasured.\n\nMore."""\ndef run(): return [{"a": 1 / 3, "b": "x|y"}, {"a": 2}]\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(command.pkgutil, "iter_modules", lambda _: [type("Module", (), {"name": "quick"})])
    monkeypatch.setattr(command.importlib, "import_module", lambda name: __import__(name.removeprefix("benchmarks.")))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "quick", "--json", "one.json"])
    command.main()
    record = json.loads((tmp_path / "one.json").read_text())
    text = results.section(record)
    assert text.startswith("## Quick\n\nWhat is measured. `python -m benchmarks quick`. (20")
    assert text.endswith("| a | b |\n| --- | --- |\n| 0.333 | x\\|y |\n| 2 |  |\n")
