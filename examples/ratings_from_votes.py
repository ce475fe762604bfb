"""Rate six coffees from made votes of tasters, with ties and the effect of being served first.

data/votes.csv has a comparison per line. A tie names the coffee that was served first as winner.
`served_first` is 1 if the winner was served first, -1 if the loser was. Votes of one taster depend
on one another, so tasters are groups.
"""

from __future__ import annotations

from pathlib import Path

from pairrank import BradleyTerry
from pairrank.io import read_votes

VOTES = Path(__file__).parent / "data" / "votes.csv"


def main() -> None:
    """Print the ranking, the effect of the order, and what it says about two coffees."""
    votes = read_votes(VOTES, tie="tie", groups="taster", covariates=["served_first"])
    model = BradleyTerry(ties="davidson", scale="elo").fit(**votes._asdict())
    print(model.ranking_)
    (effect,), (error,) = model.coef_, model.coef_standard_errors_
    print(f"served first: {effect:+.0f} points, standard error {error:.0f}")
    first, last = model.ranking_["item"][[0, -1]]
    win, tie, loss = model.predict_proba(first, last)
    print(f"{first} against {last}: {win:.2f} win, {tie:.2f} tie, {loss:.2f} loss")
    found = model.contrast(first, last)
    print(f"{first} leads {last} by {found.low:.0f} to {found.high:.0f} points")


if __name__ == "__main__":
    main()
