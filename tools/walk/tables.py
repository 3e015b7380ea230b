"""The tables of the walk, and what is asked of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Real tables, beside the repository and never in it."""
SIZES = (4, 6, 10, 0)
"""How many columns are released; 0 stands for all."""


@dataclass(frozen=True)
class Walked:
    """A table, its secret, and columns in the order in which a steward would wish for them."""

    file: str
    secret: str
    columns: tuple[str, ...]
    missing: str = ""

    @property
    def path(self) -> Path:
        """Where it lies."""
        return SHARED / f"{self.file}.csv.gz"


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TABLES = (
    Walked(
        "adult",
        "income",
        _names("education sex race marital_status occupation age hours_per_week relationship workclass native_country"),
        "?",
    ),
    Walked(
        "compas",
        "two_year_recid",
        _names(
            "sex age_cat race c_charge_degree priors_count score_text juv_fel_count juv_misd_count decile_score age"
        ),
    ),
    Walked(
        "diabetes130",
        "readmitted",
        _names(
            "race gender age A1Cresult insulin change time_in_hospital medical_specialty num_medications "
            "number_inpatient"
        ),
        "?",
    ),
    Walked(
        "dutch_census2001",
        "occupation",
        _names(
            "sex age marital_status edu_level household_size economic_status household_position citizenship "
            "country_birth cur_eco_activity"
        ),
    ),
)
