"""Censored times at the command line: the options --time and --event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairrank.cli._errors import UsageError

if TYPE_CHECKING:
    from pairrank.io import Rows


def read_as_labels(columns: dict[str, Any], pairs: str | None) -> bool:
    """Have times read as labels and events as winner weights; return whether they are given.

    `columns` are arguments of `read_rows`, from which `time` and `event` are removed. A column of
    labels is then no feature.
    """
    time, event = columns.pop("time"), columns.pop("event")
    if time is None and event is None:
        return False
    if time is None or event is None:
        raise UsageError("--time and --event need each other: give both columns.")
    if pairs is not None or columns["winner_weight"] is not None:
        other = "--winner-weight" if pairs is None else "--pairs"
        raise UsageError(f"--time and --event say what is preferred to what: leave out {other}.")
    ignored = [columns["label"]] if columns["label"] else []
    columns |= {"label": time, "winner_weight": event, "ignore": ignored}
    return True


def with_targets(rows: Rows) -> Rows:
    """Return rows that were read by `read_as_labels` with their targets."""
    from pairrank.survival import survival_target

    event: Any = rows.winner_weight
    time: Any = rows.y
    target: dict[str, Any] = survival_target(event, time)
    return rows._replace(**target)
