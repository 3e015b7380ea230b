"""The promise on a page: the verdict, the levels of one row and of everything published, and the proof."""

from __future__ import annotations

from fractions import Fraction
from html import escape

from privacyfunnel.promises.confidence import words_for
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.proof.not_proven import not_proven
from privacyfunnel.proof.over_population import PopulationFindings
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.coarseness import merging_words
from privacyfunnel.protocols.everything import EXACT_COUNTS
from privacyfunnel.protocols.readers import points
from privacyfunnel.protocols.step import Kind
from privacyfunnel.report import checking, words
from privacyfunnel.report.account import Account
from privacyfunnel.report.html import definitions, paragraph
from privacyfunnel.report.measured import FromTable
from privacyfunnel.report.words import percent

PROOF = (
    "Every probability of the protocol is a whole number of 2⁻³², and {counts}. So the promise becomes inequalities "
    "between whole numbers, for every output and every value of the secret. They were checked as such, with e^ε "
    "replaced by a fraction just below it: no rounding can hide a breach."
)
COUNTED = "the people in the table are counted"
PUBLISHED = "everybody who has the protocol computes the same weights from its noisy counts, in whole numbers"


PROOFS: dict[Kind, str] = {
    "channel": PROOF,
    "by_history": PROOF + " An output is everything that was released of somebody, one output of every release.",
    "by_model": (
        "The model is made again from the noisy tables in the file, and from the model the groups of values within "
        "which rows are redrawn, in whole numbers. Every group keeps the promise on the distribution of the model, and "
        "so does every mixture of groups, which is all that a released row can tell. Where a sum of floats is near a "
        "limit, it was checked in fractions: no rounding can hide a breach."
    ),
}
"""What was checked, by the step that draws rows."""


def glance_part(account: Account) -> str:
    """The verdict, what becomes of the steward's own table if that is at hand, and a few numbers."""
    promise, about = account.protocol.notion, account.public or account.measured
    numbers = [(f"×{factor(promise.epsilon)}", f"{words.change_words(promise.limits)} by one row{_CASES}")]
    if not promise.simple:
        numbers = [(limit, f"{what}: the most that a row may say") for what, limit in promise.parts()]
    numbers += _everything_number(account)
    numbers += _kept_numbers(account)
    if about is not None:
        found = about.findings
        numbers.append((percent(found.released.best_guess), f"best guess right (blind: {percent(found.blind_guess)})"))
    items = "".join(f"<li><b>{escape(number)}</b><span>{escape(text)}</span></li>" for number, text in numbers)
    own = account.measured.own if account.measured is not None else None
    return f'{_verdict(account)}\n{paragraph(own.words()) if own is not None else ""}\n<ul class="numbers">{items}</ul>'


def _verdict(account: Account) -> str:
    """Whether the promise is kept, on the counts that it is about."""
    if account.verdict is None:
        return ""
    if not account.verdict:
        kind, said, more = "broken", "Broken.", "Do not release with this protocol."
    elif account.private:
        kind, said = "kept", "Kept."
        more = "Proven in exact arithmetic on the published counts; anybody can check it with the protocol alone."
    else:
        kind, said, more = "kept", "Kept.", "Checked in exact arithmetic on this table."
    return f'<p class="verdict {kind}"><strong>{said}</strong> <span>{more}</span></p>'


def _everything_number(account: Account) -> list[tuple[str, str]]:
    """The level of everything published as a number with a word, if the protocol was fitted on people."""
    told = account.everything
    if told is None:
        return []
    if told.limits and told.fit is not None:
        return [(f"×{factor(told.known_columns)}", "more, at most, for everything published together")]
    most = f"×{factor(told.together)}" if told.together is not None else "no bound"
    return [(most, "the same for everything published together")]


_CASES = ", in the cases that the promise names"
"""A number by itself is no promise to everybody."""


def _kept_numbers(account: Account) -> list[tuple[str, str]]:
    """What readers get, as numbers with a word each."""
    by = ", by the published counts" if account.private else ""
    if account.objective == "information":
        return [(percent(account.kept_share), f"of the information kept{by}")]
    cells = (percent(account.cells_unchanged or 0.0), f"of all cells stay as they are{by}")
    errors = account.measured.errors if account.measured is not None else None
    if errors is None or not account.countable:
        return [cells]
    worst = f" ({errors.column}: up to ± {points(errors.worst)})" if errors.columns > 1 else ""
    return [cells, (f"± {points(errors.typical)}", f"points: the typical error of a counted share{worst}")]


def promise_part(account: Account) -> str:
    """The promise in words, its two levels, and an example."""
    promise, measured = account.protocol.notion, account.measured
    if measured is not None and not measured.aside:
        instance = words.example_words(account.protocol.secret, words.example(measured.beliefs))
    else:
        instance = words.public_example_words(promise.limits) if promise.simple else ""
    exactly = (
        f"In symbols: {promise!r}. This holds for every released row and every value of {account.protocol.secret}."
    )
    levels = definitions(words.level_pairs(account))
    return paragraph(promise.words(), "lead") + levels + paragraph(instance) + paragraph(exactly, "muted")


def proof_part(account: Account, protocol_name: str) -> str:
    """The proof: what was checked, on which counts, and what came of it; readers can check it on the spot."""
    text = paragraph(PROOFS[account.protocol.step.kind].format(counts=PUBLISHED if account.private else COUNTED))
    digest = [("Fingerprint of the protocol", account.digest)]
    if account.verdict is None:
        return text + paragraph(words.WHO_CHECKS) + definitions(digest)
    facts = _facts(account, account.verdict)
    if account.population is not None:
        facts += _population_facts(account.population)
    if account.private:
        text += paragraph(words.CHECKED_BY_ANYBODY) + "".join(map(paragraph, not_proven(account.protocol)))
    if account.public is not None:  # a file could merge the secret's values until none is left
        values = f"{account.public.joint.n_s:,} values in these counts"
        facts.insert(0, ("Secret", f"{account.protocol.secret}, with {values}"))
    here = checking.button(account.digest, protocol_name) if checkable(account) else ""
    return text + definitions([*facts, *digest]) + here + _exact_counts(account)


def checkable(account: Account) -> bool:
    """Whether the page is public, and about a protocol whose file shows that its promise is kept."""
    return account.private and account.measured is None


def _facts(account: Account, certificate: Certificate) -> list[tuple[str, str]]:
    """What a certificate says."""
    worst = certificate.worst
    facts = [
        ("Verdict", f"{'kept' if certificate else 'broken'} — {certificate.reason}"),
        (
            "Level reached, rounded up",
            f"ε = {certificate.level:.9g} (factor {factor(certificate.level)}), "
            f"promised ε = {account.protocol.notion.epsilon:g}",
        ),
    ]
    if not account.protocol.notion.simple:
        facts[-1] = ("Levels reached, rounded up", "; ".join(one.words() for one in certificate.levels))
    if worst is not None:
        facts.append(
            ("Tightest place", f"output {worst.output}, where the exact factor is {worst.lift}{_about(worst.lift)}")
        )
    if certificate.marginal_error is not None:
        rows = "Released rows against original ones" if account.public is None else "Released rows against these counts"
        facts.append((rows, words.marginal_words(certificate.marginal_error)))
    return facts


def _limits(promise: Notion) -> str:
    """What is promised, as numbers."""
    return ", ".join(" ".join(part).strip() for part in promise.parts())


def _about(lift: Fraction | None) -> str:
    return f" ≈ {float(lift):.6g}" if lift is not None else ""


def _population_facts(there: PopulationFindings) -> list[tuple[str, str]]:
    """What the promise comes to for a population."""
    return [
        ("On the people counted", f"ε = {there.sample_level:.4g}"),
        (
            f"For the population they are a sample of, with {percent(there.confidence)} confidence "
            f"({words_for(there.within)})",
            f"{'kept' if there.holds else 'broken'}: ε = {there.population_level:.4g}; {there.chance_words()}."
            f"{merging_words(there.released_by)}".removesuffix("."),
        ),
    ]


def _exact_counts(account: Account) -> str:
    """Of a private fit with its table: what the exact counts say, which is no verdict."""
    measured = account.measured
    if measured is None or not measured.aside:
        return ""
    return f"<h3>For you alone</h3>{paragraph(EXACT_COUNTS)}{definitions(_exact_facts(measured))}"


def _exact_facts(measured: FromTable) -> list[tuple[str, str]]:
    level = measured.certificate.level
    return [
        (
            "Level on the exact counts",
            f"{words.level_words(level)} (the promise: {_limits(measured.protocol.notion)}). It may be above "
            "the promise, and usually is: nobody who has only what is published knows these counts.",
        ),
        (
            "Rows that would move the belief of somebody who knew them by more than the promise",
            percent(measured.beyond),
        ),
    ]
