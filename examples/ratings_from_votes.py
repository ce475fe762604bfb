"""Ratings from votes
==================

Rate six coffees from made votes of tasters, with ties and the effect of being served first. The
file has a comparison per line. A tie names the coffee that was served first as winner.
``served_first`` is 1 if the winner was served first, -1 if the loser was. Votes of one taster
depend on one another, so tasters are groups.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay

from pairrank import BradleyTerry, RatingsDisplay
from pairrank.io import read_votes

HERE = Path(__file__).parent
VOTES = HERE / "data" / "votes.csv"

votes = read_votes(VOTES, tie="tie", groups="taster", covariates=["served_first"])
model = BradleyTerry(ties="davidson", scale="elo").fit(**votes._asdict())
print(model.ranking_)

# %%
# What the model says about the order of serving, and about two coffees.

(effect,), (error,) = model.coef_, model.coef_standard_errors_
print(f"served first: {effect:+.0f} points, standard error {error:.0f}")
first, last = model.ranking_["item"][[0, -1]]
win, tie, loss = model.predict_proba(first, last)
print(f"{first} against {last}: {win:.2f} win, {tie:.2f} tie, {loss:.2f} loss")
found = model.contrast(first, last)
print(f"{first} leads {last} by {found.low:.0f} to {found.high:.0f} points")

# %%
# Scores with intervals, and the probability that the coffee of a row beats that of a column.

RatingsDisplay.from_estimator(model)
matrix = ConfusionMatrixDisplay(model.win_matrix(), display_labels=model.ranking_["item"])
matrix.plot(cmap="RdBu", values_format=".2f").ax_.set(xlabel="against", ylabel="coffee")
plt.show()
