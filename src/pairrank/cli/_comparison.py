"""The table of two models compared over the queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from pairrank.cli._errors import UsageError
from pairrank.cli._report import print_json, print_table
from pairrank.exceptions import PairrankError
from pairrank.metrics.comparison import check_resampling, compare_values

LEVEL = 0.95
COLUMNS = ["", "mean", "against", "difference", "95 % interval", "p"]


def check_resamples(
    against: str | None, resamples: int | None, seed: int | None
) -> tuple[int, float, int]:
    """Return the arguments of `compare_values`; raise an error if they are out of range."""
    if against is None and (resamples is not None or seed is not None):
        flag = "--seed" if resamples is None else "--resamples"
        raise UsageError(f"{flag} is used with --against MODEL only.")
    found = 9999 if resamples is None else resamples, LEVEL, 0 if seed is None else seed
    try:
        check_resampling(*found)
    except PairrankError as error:
        said = str(error).replace("n_resamples", "--resamples").replace("random_state", "--seed")
        raise UsageError(f"{said}.") from None
    return found


def print_comparison(
    title: str,
    names: Iterable[str],
    tables: Sequence[Mapping[str, NDArray[Any]]],
    resampling: tuple[int, float, int],
    *,
    as_json: bool,
) -> None:
    """Print the comparison of two tables of values per query, by each metric."""
    first, second = tables
    found = {name: compare_values(first[name], second[name], *resampling) for name in names}
    if as_json:
        print_json({name: each._asdict() for name, each in found.items()})
        return
    rows = (
        (name, f"{each.mean:.4g}", f"{each.other_mean:.4g}", f"{each.difference:.3g}",
         f"{each.low:.3g} to {each.high:.3g}", f"{each.p_value:.2g}")
        for name, each in found.items()
    )  # fmt: skip
    counts = [each.n_queries for each in found.values()]
    shown = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
    print_table(f"{title}, means over {shown} queries", COLUMNS, rows)
