"""funnel paper: the source paper's experiments, by its methods and by ours."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import show
from privacyfunnel.errors import InvalidInput, OutputRefused
from privacyfunnel.paper.experiments import FIGURES, SEED, Schedule, run
from privacyfunnel.paper.figures import HEADINGS, Mean, cells, means, outputs, write
from privacyfunnel.spec.written import names
from privacyfunnel.tables.writing import check_output


def repeat_experiments(
    figure: int | None,
    output: Path | None,
    draws: int | None,
    slow_draws: int | None,
    epsilons: str,
    seed: int | None,
    jobs: int | None,
    force: bool,
    json: bool,
) -> None:
    """Repeat the source paper's experiments: ε-LDP, ε-LIP and ε-SRLIP, by its own methods and by ours."""
    try:
        asked = tuple(float(text) for text in names(epsilons))
    except ValueError:
        raise InvalidInput(f"--epsilons takes numbers joined by commas; got {epsilons!r}") from None
    figures = (figure,) if figure is not None else tuple(FIGURES)
    seed = SEED if seed is None else seed
    given = {"draws": draws, "slow_draws": slow_draws}
    plan = Schedule(figures, asked, seed=seed, **{name: many for name, many in given.items() if many is not None})
    if output is not None:
        _prepare(output, plan.figures, force)
    with show.task_progress("running the paper's experiments") as progress:
        rows = run(plan, jobs=jobs, progress=progress)
    written = write(rows, output, force=force) if output is not None else []
    if json:
        show.as_json({"seed": seed, "rows": [row.as_dict() for row in rows], "files": [str(path) for path in written]})
        return
    screen = show.console()
    found = means(rows)
    for number in plan.figures:
        screen.print(_render(number, [mean for mean in found if mean.figure == number]))
    if written:
        screen.print(f"Written to {escape(str(output))}: {', '.join(path.name for path in written)}")


def _prepare(folder: Path, figures: tuple[int, ...], force: bool) -> None:
    """Make the folder, and refuse before the long work what could not be written after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as trouble:
        raise OutputRefused(f"{folder} cannot be used as a folder: {trouble.strerror}") from None
    for path in outputs(folder, figures):
        check_output(path, force)


def _render(number: int, found: list[Mean]) -> Table:
    table = Table(title=f"{number}. {FIGURES[number].title}", title_justify="left", header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == HEADINGS[0] else "right", overflow="fold")
    for mean in found:
        table.add_row(*map(escape, cells(mean)))
    return table
