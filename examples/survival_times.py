"""Censored times: rank patients by risk, and judge the order by concordance."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from pairrank import RankNCG, survival_target
from pairrank.survival import concordance_index

PATIENTS = Path(__file__).parent / "data" / "patients.csv"


def main() -> dict[str, float]:
    """Print the concordance index on held-out patients with its standard error, and Uno's."""
    with PATIENTS.open(encoding="utf-8") as file:
        rows = np.array([[float(each) for each in row] for row in list(csv.reader(file))[1:]])
    time, event, X = rows[:, 0], rows[:, 1] == 1.0, rows[:, 2:]
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    risk = RankNCG().fit(X[train], **survival_target(event[train], time[train])).predict(X[test])
    found = {
        name: concordance_index(
            event[test],
            time[test],
            risk,
            ipcw=ipcw,
            censoring=(event[train], time[train]) if ipcw else None,
            tau=600.0 if ipcw else None,
            standard_error=True,
        )
        for name, ipcw in (("Harrell", False), ("Uno", True))
    }
    for name, index in found.items():
        print(f"{name}'s concordance index: {index.value:.3f} +- {index.standard_error:.3f}")
    return {name: index.value for name, index in found.items()}


if __name__ == "__main__":
    main()
