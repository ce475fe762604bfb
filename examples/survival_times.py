"""Censored times
==============

Rank patients by risk, and judge the order by concordance. A patient who died earlier had the higher
risk. One who left the study alive is compared only with those who died before that day.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pairrank import RankNCG, survival_target
from pairrank.survival import concordance_index

HERE = Path(__file__).parent
with (HERE / "data" / "patients.csv").open(encoding="utf-8") as file:
    rows = np.array([[float(each) for each in row] for row in list(csv.reader(file))[1:]])
time, event, X = rows[:, 0], rows[:, 1] == 1.0, rows[:, 2:]
train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1

risk = RankNCG().fit(X[train], **survival_target(event[train], time[train])).predict(X[test])

# %%
# Harrell's index counts all comparable pairs alike, Uno's corrects for the censoring.

concordance = {}
for name, ipcw in (("Harrell", False), ("Uno", True)):
    index = concordance_index(
        event[test],
        time[test],
        risk,
        ipcw=ipcw,
        censoring=(event[train], time[train]) if ipcw else None,
        tau=600.0 if ipcw else None,
        standard_error=True,
    )
    concordance[name] = index.value
    print(f"{name}'s concordance index: {index.value:.3f} +- {index.standard_error:.3f}")

# %%
# Patients who were not used for the fit: higher risk goes with an earlier death.

_, axes = plt.subplots(layout="constrained")
died = event[test]
axes.plot(risk[died], time[test][died], "o", label="died")
axes.plot(risk[~died], time[test][~died], "o", fillstyle="none", label="left alive")
axes.set(xlabel="risk score", ylabel="days", yscale="log")
axes.legend()
plt.show()
