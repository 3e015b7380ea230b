"""What is for the steward alone: two tables that differ everywhere, and share their noisy counts, are told alike.

All that differs stands under `steward_only` in the JSON of every command, and on marked lines and in marked tables of
a terminal.
"""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest

import privacyfunnel
from privacyfunnel.cli import show
from privacyfunnel.cli.app import run
from privacyfunnel.cli.steward import MARK
from small_models import small_models

PEOPLE = 900
DOMAIN = {"ill": ["no", "yes"], "town": ["a", "b", "c", "d"], "job": ["v", "w", "x"]}
OF_THE_RUN = {"seconds", "files", "at", "report", "output", "protocol_seconds", "other_noise"}
"""Times, what is tried as long as there is time, and files with rows that are drawn afresh."""
ENDS = "└"
"""Of a table on a terminal."""


def write(path, seed):
    """As many people in every table, and all values in each; nothing else is alike."""
    rng = np.random.default_rng(seed)
    town, job = rng.choice(4, PEOPLE, p=rng.dirichlet([3] * 4)), rng.choice(3, PEOPLE, p=rng.dirichlet([3] * 3))
    ill = rng.random(PEOPLE) < rng.random((4, 3))[town, job]
    rows = [
        (DOMAIN["town"][t], DOMAIN["job"][j], DOMAIN["ill"][int(s)]) for t, j, s in zip(town, job, ill, strict=True)
    ]
    rows[:12] = [(t, j, DOMAIN["ill"][i % 2]) for i, (t, j) in enumerate((t, j) for t in "abcd" for j in "vwx")]
    lines = [f"{i},{','.join(row)}" for i, row in enumerate(rows)]
    path.write_text("\n".join(["id,town,job,ill", *lines]) + "\n", encoding="utf-8")


NOISY = np.random.default_rng(8).integers(20, 60, (2, 12))
NOISY[:, 5] = 2  # a combination that is read as another
NOISY[0, 0] += PEOPLE - NOISY.sum()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables, and a protocol of noisy counts that may be those of either."""
    folder = tmp_path_factory.mktemp("steward")
    for seed in (1, 2):
        write(folder / f"{seed}.csv", seed)
    columns = [{"name": name, "kind": "text", "values": values} for name, values in DOMAIN.items()]
    domain = {"schema": "privacyfunnel-domain/1", "columns": columns}
    (folder / "domain.json").write_text(json.dumps(domain), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def shared_noise(monkeypatch):
    """What is drawn of any table: the same noisy counts."""
    monkeypatch.setattr("privacyfunnel.tables.private_counts.noised", lambda counts, _: NOISY.reshape(counts.shape))
    drawn = {}

    def tables(counts, _):
        return drawn.setdefault(counts.shape, np.random.default_rng(4).integers(20, 200, counts.shape))

    monkeypatch.setattr("privacyfunnel.tables.wide.all_pairs.gaussian_noised", tables)
    monkeypatch.setattr("privacyfunnel.tables.wide.marginals.noised_in_part", tables)
    monkeypatch.setattr(show, "LINE_LETTERS", 10_000)  # a line is a line


@pytest.fixture(scope="module")
def protocol(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacyfunnel.tables.private_counts.noised", lambda counts, _: NOISY.reshape(counts.shape))
        assert run(fit(folder, 1, folder / "p.json")) == 0
    return folder / "p.json"


def fit(folder, table, output, *more):
    asked = ["--secret", "ill", "--columns", "town,job", "--epsilon", "0.3", "--time-limit", "5"]
    domain = ["--domain", str(folder / "domain.json")]
    return [
        "fit",
        str(folder / f"{table}.csv"),
        *asked,
        *domain,
        "-o",
        str(output),
        "--force",
        "--set",
        "insist",
        *more,
    ]


RECIPE = """recipe = 1
table = "{table}"
output = "out"
[fit]
secret = "ill"
columns = ["town", "job"]
epsilon = 0.3
domain = "domain.json"
insist = true
[audit]
attack = true
[report]
curves = false
"""


def commands(folder, protocol, table, out):
    """Everything that is said of a private fit, by name."""
    own, made = str(folder / f"{table}.csv"), str(protocol)
    recipe = folder / f"{table}.toml"
    recipe.write_text(RECIPE.format(table=f"{table}.csv"), encoding="utf-8")
    again = ["--remember", str(out / "people.key"), "--person", "id"]
    return {
        "fit": fit(folder, table, out / "p.json"),
        "fit of a model": [*fit(folder, table, out / "w.json")[:-2], "--force"],
        "sanitise": ["sanitise", own, "--protocol", made, "-o", str(out / "open.csv"), "--force"],
        "sanitise --remember": ["sanitise", own, "--protocol", made, "-o", str(out / "o.csv"), "--force", *again],
        "audit": ["audit", made, "--table", own],
        "audit --attack": ["audit", made, "--table", own, "--attack"],
        "report": ["report", made, "--table", own, "--no-curves", "-o", str(out / "r.html"), "--force"],
        "tradeoff": ["tradeoff", own, "--secret", "ill", "--columns", "town,job", "--epsilons", "0.5"],
        "run": ["run", str(recipe), "--force"],
        "ledger": ["ledger", "show", str(out / "people.key")],
    }


COMMANDS = (
    *(
        "fit",
        "fit of a model",
        "sanitise",
        "sanitise --remember",
        "audit",
        "audit --attack",
        "report",
        "tradeoff",
        "run",
    ),
    "ledger",
)


def public(found):
    """Without what is the steward's, and what no two runs have in common."""
    if isinstance(found, dict):
        return {key: public(value) for key, value in found.items() if key != "steward_only" and key not in OF_THE_RUN}
    return [public(value) for value in found] if isinstance(found, list) else found


def unmarked(text):
    """The lines that are not the steward's; tables go by their titles."""
    kept, table = [], False
    for line in text.splitlines():
        if line.startswith(MARK):
            table = None
        elif table is None and line[:1] in "┏┃┡│":
            continue
        elif table is None and line.startswith(ENDS):
            table = False
        else:
            table = False
            kept.append(line.rstrip())
    return kept


def said(folder, protocol, tmp_path, capsys, name, *more):
    """What a command says of each of the tables."""
    found = []
    for table in (1, 2):
        out = tmp_path / str(table)
        out.mkdir(exist_ok=True)
        asked = commands(folder, protocol, table, out)
        if name == "ledger" and not (out / "people.key").exists():
            assert run(asked["sanitise --remember"]) == 0
            capsys.readouterr()
        with small_models(name == "fit of a model"):
            assert run([*asked[name], *more]) == 0
        text = capsys.readouterr().out.replace(str(out), "OUT").replace(str(folder / f"{table}."), "TABLE.")
        found.append(text.replace(f"{table}.toml", "RECIPE").replace(f"{table}.csv", "TABLE.csv"))
    return found


HEAD = {"ledger": {"head", "lines", "next"}}
"""The digest of the last line, which is a function of a random key."""


@pytest.mark.parametrize("name", COMMANDS)
def test_what_differs_between_tables_with_the_same_noisy_counts_is_under_one_key(
    folder, protocol, tmp_path, capsys, name
):
    one, other = (json.loads(text) for text in said(folder, protocol, tmp_path, capsys, name, "--json"))
    assert one["steward_only"] != other["steward_only"]
    for found in (one, other):
        for key in HEAD.get(name, ()):
            found.pop(key)
    assert public(one) == public(other)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_differs_between_tables_with_the_same_noisy_counts_is_marked_on_every_line(
    folder, protocol, tmp_path, capsys, name
):
    one, other = said(folder, protocol, tmp_path, capsys, name)
    assert one != other
    assert MARK in one
    drop = ("Head:", "--head") if name == "ledger" else ()
    first, second = ([s for s in unmarked(text) if not any(word in s for word in drop)] for text in (one, other))
    assert first == second


def test_an_exact_number_outside_would_be_noticed(folder, protocol, tmp_path, capsys, monkeypatch):
    """The tests above must be able to fail."""
    monkeypatch.setattr("privacyfunnel.tables.private_counts.noised", lambda counts, _: counts.copy())
    one, other = (json.loads(text) for text in said(folder, protocol, tmp_path, capsys, "fit", "--json"))
    assert public(one) != public(other)
    one, other = said(folder, protocol, tmp_path, capsys, "fit")
    assert unmarked(one) != unmarked(other)


def test_values_of_the_secret_that_are_not_covered_are_named_to_the_steward_wherever_the_table_is(tmp_path, capsys):
    """And nowhere else: the file does not have their names."""
    rng = np.random.default_rng(2)
    state = np.where(np.arange(PEOPLE) < 2, "gout", np.where(rng.random(PEOPLE) < 0.4, "flu", "none"))
    rows = [f"{t},{s}" for t, s in zip(rng.choice(list("abc"), PEOPLE), state, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["town,state", *rows]) + "\n", encoding="utf-8")
    counts = np.array([[120, 110, 130], [1, 0, 1], [180, 180, 178]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacyfunnel.tables.private_counts.noised", lambda own, _: counts.copy())
        made, own = str(tmp_path / "p.json"), str(tmp_path / "t.csv")
        asked = ["--secret", "state", "--columns", "town", "--epsilon", "0.3", "-o", made]
        assert run(["fit", own, *asked]) == 0
    said = [capsys.readouterr().out]
    for command in (["audit", made, "--table", own], ["report", made, "--table", own, "-o", str(tmp_path / "r.html")]):
        assert run(command) == 0
        said.append(capsys.readouterr().out)
    said[-1] = (tmp_path / "r.html").read_text(encoding="utf-8")
    for text in said:
        assert "It does not cover one of the 3 values of the secret, which is too rare to show through" in text
        assert f"{MARK}too rare to show through the noise: gout." in text
    for command in (["audit", made], ["report", made, "--public", "-o", str(tmp_path / "public.html")]):
        assert run(command) == 0
    public = capsys.readouterr().out + (tmp_path / "public.html").read_text(encoding="utf-8")
    assert "It does not cover one of the 3 values" in public
    assert "gout" not in public


@pytest.mark.parametrize("more", [(), ("--attack",)])
def test_an_audit_has_one_verdict_said_first_which_the_exit_code_follows(folder, protocol, capsys, more):
    """On the exact counts rows go beyond the promise, which is not about these."""
    asked = ["audit", str(protocol), "--table", str(folder / "1.csv"), *more]
    assert run([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["certificate"]["holds"] is True
    assert found["steward_only"]["certificate"]["holds"] is False
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert said.startswith("KEPT, in exact arithmetic")
    assert said.count("KEPT") == 1
    for word in ("BROKEN", "EXCEEDED", "BREAK"):
        assert word not in said
    assert f"{MARK}beyond what is promised for the published counts" in said


def refused(folder, protocol, out):
    """What is refused with a figure of the steward's table, by name."""
    own, made = str(folder / "1.csv"), str(protocol)
    lines = (folder / "1.csv").read_text(encoding="utf-8").splitlines()
    (out / "strange.csv").write_text("\n".join([*lines, "x,elsewhere,v,no", "y,elsewhere,w,yes", ""]))
    (out / "twice.csv").write_text("\n".join([*lines, lines[1], ""]))
    (out / "long.csv").write_text("\n".join([*lines, "1,2,3,4,5,6", ""]))
    again = ["--remember", str(out / "people.key"), "--person", "id", "-o", str(out / "o.csv")]
    asked = ["--secret", "ill", "--columns", "town,job", "--epsilon", "0.3", "-o", str(out / "p.json")]
    recipe = out / "recipe.toml"
    recipe.write_text(RECIPE.format(table="strange.csv"), encoding="utf-8")
    (out / "domain.json").write_text((folder / "domain.json").read_text())
    return {
        "fit with a domain": ["fit", str(out / "strange.csv"), *asked, "--domain", str(folder / "domain.json")],
        "fit with bins": ["fit", own, *asked[:2], "--columns", "id", "--set", "bins=id=0,10", *asked[4:]],
        "fit on exact counts": ["fit", own, *asked, "--set", "exact-fit", "--set", "at-least=60"],
        "run": ["run", str(recipe)],
        "sanitise": ["sanitise", str(out / "strange.csv"), "--protocol", made, "-o", str(out / "o.csv")],
        "sanitise --remember": ["sanitise", str(out / "twice.csv"), "--protocol", made, *again],
        "audit": ["audit", made, "--table", str(out / "strange.csv")],
        "lines": ["fit", str(out / "long.csv"), *asked],
    }  # fmt: skip


REFUSALS = ("fit with a domain", "fit with bins", "fit on exact counts", "run", "sanitise", "sanitise --remember",
            "audit", "lines")  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_that_quotes_figures_of_the_table_is_marked(folder, protocol, tmp_path, capsys, name):
    assert run(refused(folder, protocol, tmp_path)[name]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"funnel: {MARK}")
    assert re.search(r"\d", said.replace(str(tmp_path), ""))


def test_a_refusal_without_figures_of_the_table_is_not_marked(folder, protocol, tmp_path, capsys):
    assert run(["sanitise", "nowhere.csv", "--protocol", str(protocol), "-o", str(tmp_path / "o.csv")]) == 2
    assert MARK not in capsys.readouterr().err
    (tmp_path / "released.csv").write_text("town,job\na,v\nb,w,x,y\n", encoding="utf-8")
    assert run(["estimate", str(tmp_path / "released.csv"), "--protocol", str(protocol)]) == 2
    assert MARK not in capsys.readouterr().err  # a public table


PUBLIC = {
    "tables.declaring", "tables.cutting", "tables.where",  # of what is asked
    "tables.reading_back",  # of released rows
    "tables.private_counts", "tables.wide.fit", "tables.wide.choosing",  # of noisy counts, and of all people
    "proof.invariance",  # of a channel
    "tables.writing_others",  # of the limits of a format
}  # fmt: skip
"""Where refusals quote other numbers than those of the steward's table."""
FIGURE = re.compile(r"# (rows|people|values|outcomes|infinite|different|and # of persons)|\(# rows|#: release all")


def test_every_refusal_that_counts_rows_or_people_says_whose_figure_it_is():
    source, unsaid, said = Path(privacyfunnel.__file__).parent, [], 0
    for room in ("tables", "proof", "attacks"):
        for path in (source / room).rglob("*.py"):
            module = ".".join(path.relative_to(source).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or not node.exc.args:
                    continue
                message = node.exc.args[0]
                if not isinstance(message, ast.JoinedStr):
                    continue
                text = "".join("#" if isinstance(p, ast.FormattedValue) else str(p.value) for p in message.values)
                if any(word.arg == "steward_only" for word in node.exc.keywords):
                    said += 1
                elif FIGURE.search(text) and module not in PUBLIC:
                    unsaid.append(f"{module}: {text}")
    assert unsaid == []
    assert said > 20
