"""Lee & Lin 2014: linear RankSVM, its sums, solvers and rivals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reproduction.papers.lee2014 import curves, models, problems, sparse
from reproduction.papers.lee2014.curves import (
    AA_TREE,
    BEST_LOG2_C,
    BUNDLE,
    COUNTING,
    DIRECT,
    NEAR,
    OURS,
    SAME_DESCENT,
    SELECTION,
    SORTED,
    TREE,
)
from reproduction.papers.lee2014.models import FOREST, GBDT, L1, L1_SVR, L2, L2_SVR
from reproduction.study import Claim, NotRun, Study, Verdict

LARGE = "list shape"
"""Sets with as many levels as rows of a query."""

ALIKE = 2.0
"""Times that differ by less count as similar."""


def times_as_long(
    study: Study, tables: Sequence[str], slow: str, fast: str, *, large: bool | None = None
) -> dict[str, float]:
    """Return how many times as long one column took to come near its optimum, by row.

    A column that did not come near counts as infinity. `large` restricts to sets with many levels,
    or to others.
    """
    found = {}
    for table in tables:
        for cell in study.done(table):
            if cell.column != slow or (large is not None and (LARGE in cell.row) != large):
                continue
            if study.status(table, cell.row, fast) == "done":
                own, other = (_near(study, table, cell.row, one) for one in (fast, slow))
                if math.isfinite(own):
                    found[f"{cell.row} ({study.table(table).label})"] = other / own
    if not found:
        raise NotRun(f"{slow} beside {fast}")
    return found


def _near(study: Study, table: str, row: str, column: str) -> float:
    (seconds,) = study.values(table, row, column, "near")
    return math.inf if seconds is None or math.isnan(seconds) else seconds


def _range(found: dict[str, float]) -> str:
    least, most = min(found.values()), max(found.values())
    return f"{least:.2g} to {most:.2g} times as long"


def _counting_is_slow(study: Study) -> Verdict:
    few = times_as_long(study, ["fig4"], DIRECT, SELECTION, large=False)
    many = times_as_long(study, ["fig4"], DIRECT, SELECTION, large=True)
    holds = min(many.values()) >= ALIKE and max(few.values()) <= ALIKE
    return Verdict(holds, f"few levels: {_range(few)}; many: {_range(many)}")


def _trees_alike(study: Study) -> Verdict:
    parts, holds = [], True
    for name, other, tree in (
        ("AA tree", AA_TREE, SAME_DESCENT),
        ("merges of sorted scores", SORTED, SELECTION),
    ):
        found = times_as_long(study, ["fig4"], other, tree)
        holds &= min(found.values()) >= 1 / ALIKE and max(found.values()) <= ALIKE
        parts.append(f"{name}: {_range(found)} as the selection tree")
    return Verdict(holds, "; ".join(parts))


def _prsvm(study: Study) -> Verdict:
    few = times_as_long(study, ["fig5"], COUNTING, TREE)
    many = times_as_long(study, ["fig6"], COUNTING, TREE)
    holds = max(few.values()) <= ALIKE and min(many.values()) >= ALIKE
    return Verdict(holds, f"few levels: {_range(few)}; many: {_range(many)}")


def _bundle_is_slow(study: Study) -> Verdict:
    found = times_as_long(study, ["fig5", "fig6"], BUNDLE, TREE)
    slower = sum(each > 1.0 for each in found.values())
    return Verdict(
        slower == len(found), f"{_range(found)}, slower in {slower} of {len(found)} sets"
    )


def _one_of_the_fastest(study: Study) -> Verdict:
    tables = ["fig7"]
    best: dict[str, float] = {}
    for other in (COUNTING, BUNDLE):
        for row, each in times_as_long(study, tables, other, TREE).items():
            best[row] = min(best.get(row, math.inf), each)
    slowest = min(best, key=best.__getitem__)
    figure = f"at worst {1 / best[slowest]:.2g} times as long as the fastest ({slowest})"
    return Verdict(min(best.values()) >= 1 / ALIKE, figure)


def _ours_is_faster(study: Study) -> Verdict:
    found = times_as_long(study, ["fig5", "fig6", "fig7"], TREE, OURS)
    least, most = (pick(found, key=found.__getitem__) for pick in (min, max))
    faster = sum(each > 1.0 for each in found.values())
    figure = f"faster in {faster} of {len(found)}: {found[least]:.2g} ({least}) to "
    return Verdict(faster * 2 > len(found), f"{figure}{found[most]:.2g} times ({most})")


def _flat(study: Study) -> Verdict:
    changes = [
        study.mean(table, cell.row, cell.column, "flat")
        for table in ("fig5", "fig6")
        for cell in study.done(table)
        if cell.column in (TREE, COUNTING)
    ]
    return Verdict(max(changes) <= 0.005, f"accuracy changes by at most {max(changes):.4f}")


def _same_costs(study: Study) -> Verdict:
    found = {
        row: int(study.mean("3", row, L2, "log2 C by accuracy"))
        for row in BEST_LOG2_C
        if study.status("3", row, L2) == "done"
    }
    if not found:
        raise NotRun("Table 3")
    other = [row for row, chosen in found.items() if chosen != BEST_LOG2_C[row][0]]
    figure = f"{len(found) - len(other)} of {len(found)} sets"
    return Verdict(not other, ", ".join([figure, *(f"not {row}" for row in other)]))


def _above_l2_svr(study: Study) -> Verdict:
    accuracy = [ours - other for _, ours, other in study.pairs("5", L2, L2_SVR, "accuracy")]
    own, other = (study.mean("5", "MQ2008", model, "ndcg") for model in (L2, L2_SVR))
    figure = f"accuracy {min(accuracy):+.4f} to {max(accuracy):+.4f} on {len(accuracy)} sets, "
    return Verdict(
        float(np.mean(accuracy)) > 0.0 and abs(own - other) <= 0.02,
        f"{figure}NDCG {own - other:+.4f} on MQ2008",
    )


def _l1_svr_is_worse(study: Study) -> Verdict:
    found = study.pairs("5", L1_SVR, L2_SVR, "accuracy")
    losses = [one - two for _, one, two in found]
    figure = f"accuracy {min(losses):+.4f} to {max(losses):+.4f} against L2-loss SVR on "
    return Verdict(float(np.mean(losses)) < 0.0, f"{figure}{len(losses)} sets")


def _losses_alike(study: Study) -> Verdict:
    parts, holds = [], True
    for metric in ("accuracy", "ndcg"):
        one, two = (study.mean("3", "MQ2008", model, metric) for model in (L1, L2))
        parts.append(f"{metric} {one:.4f} and {two:.4f}")
        holds &= abs(one - two) <= 0.01
    return Verdict(holds, "MQ2008: " + ", ".join(parts))


def _forests_cost_more(study: Study) -> Verdict:
    parts, holds = [], True
    for model in (FOREST, GBDT):
        ours = study.mean("5", "MQ2008", L2, "seconds by accuracy")
        times = study.mean("6", "MQ2008", model, "seconds") / ours
        gain = study.mean("6", "MQ2008", model, "ndcg") - study.mean("5", "MQ2008", L2, "ndcg")
        holds &= times > 1.0
        parts.append(f"{model}: {times:.1f} times as long, NDCG {gain:+.4f}")
    return Verdict(holds, "MQ2008: " + ", ".join(parts))


def _trees_overfit(study: Study) -> Verdict:
    few, many = (study.mean(table, "MQ2008", GBDT, "accuracy") for table in ("6", "7"))
    return Verdict(many < few, f"MQ2008: accuracy {few:.4f} and {many:.4f}")


CLAIMS = (
    Claim("Counting by levels is slow if levels are many, and only then.", _counting_is_slow),
    Claim(
        "Other trees and exact sums are about as fast as the selection tree.",
        _trees_alike,
        "A tree with pointers costs more per row here than one whose leaves have fixed places.",
    ),
    Claim(f"Tree-TRON is one of the fastest to {NEAR:g} at every C.", _one_of_the_fastest),
    Claim("PRSVM+ is like Tree-TRON if levels are few, much slower if they are many.", _prsvm),
    Claim(
        "TreeRankSVM is slower than Tree-TRON.",
        _bundle_is_slow,
        "Its cutting planes have pairrank's compiled sums here, not the paper's code.",
    ),
    Claim("Metrics stay the same after the default stop.", _flat),
    Claim("Beyond the paper: pairrank's default is faster than Tree-TRON.", _ours_is_faster),
    Claim("Figures 5 and 6 are at the best C of Table 3, squared hinge.", _same_costs),
    Claim("L1 and L2 loss have similar metrics.", _losses_alike),
    Claim("RankSVM is above L2-loss SVR in pairwise accuracy, at equal NDCG.", _above_l2_svr),
    Claim("L1-loss SVR is worse than L2-loss SVR.", _l1_svr_is_worse),
    Claim(
        "Forests and GBDT perform well, at a higher cost than linear RankSVM.", _forests_cost_more
    ),
    Claim("More boosted trees overfit: 1,000 are worse than 100.", _trees_overfit),
)

_FIRST, _LAST = problems.TABLES
_CHOSEN_RANKSVM, *_OTHERS = models.TABLES

STUDY = Study(
    name="lee2014",
    title="Lee & Lin 2014",
    citation="C.-P. Lee and C.-J. Lin, *Large-scale linear RankSVM*, Neural Computation 26(4), "
    "2014.",
    tables=(
        _FIRST,
        _CHOSEN_RANKSVM,
        *curves.TABLES,
        *_OTHERS,
        _LAST,
        *sparse.TABLES,
    ),
    claims=(*CLAIMS, *sparse.CLAIMS),
    note="MQ2008, fold 1, is the paper's data and protocol. Other sets are generated in the shape "
    "of the paper's: they show times, never agreement.",
)
