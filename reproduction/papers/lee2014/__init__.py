"""Lee & Lin 2014: linear RankSVM, its sums, solvers and rivals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from reproduction.papers.lee2014 import curves, models, problems
from reproduction.study import Claim, NotRun, Study, Verdict, ends

LARGE = "list shape"
"""Sets with as many levels as rows of a query."""

ALIKE = 2.0
"""Times that differ by less count as similar."""


def times_as_long(study: Study, tables: Sequence[str], slow: str, fast: str) -> dict[str, float]:
    """Return how many times as long one column took to come near its optimum, by row.

    A column that did not come near counts as infinity.
    """
    found = {}
    for table in tables:
        for row in study.table(table).rows:
            if study.status(table, row, slow) == study.status(table, row, fast) == "done":
                times = (study.mean(table, row, column, "near") for column in (slow, fast))
                theirs, own = (math.inf if math.isnan(each) else each for each in times)
                if math.isfinite(own):
                    found[f"{row} ({study.table(table).label})"] = theirs / own
    if not found:
        raise NotRun(f"{slow} beside {fast}")
    return found


def _range(found: Sequence[float]) -> str:
    return f"{ends(found, '.2g')} times as long"


def _slow_by_levels(tables: Sequence[str], slow: str, fast: str) -> Callable[[Study], Verdict]:
    """Judge whether a column is as fast as another if levels are few, and slower if many."""

    def check(study: Study) -> Verdict:
        found = times_as_long(study, tables, slow, fast)
        few = [times for row, times in found.items() if LARGE not in row]
        many = [times for row, times in found.items() if LARGE in row]
        if not (few and many):
            raise NotRun(slow)
        holds = min(many) >= ALIKE and max(few) <= ALIKE
        return Verdict(holds, f"few levels: {_range(few)}; many: {_range(many)}")

    return check


def _trees_alike(study: Study) -> Verdict:
    parts, holds = [], True
    for name, other, tree in (
        ("AA tree", curves.AA_TREE, curves.SAME_DESCENT),
        ("merges of sorted scores", curves.SORTED, curves.SELECTION),
    ):
        found = [*times_as_long(study, ["fig4"], other, tree).values()]
        holds &= min(found) >= 1 / ALIKE and max(found) <= ALIKE
        parts.append(f"{name}: {_range(found)} as the selection tree")
    return Verdict(holds, "; ".join(parts))


def _bundle_is_slow(study: Study) -> Verdict:
    found = [*times_as_long(study, ["fig5", "fig6"], curves.BUNDLE, curves.TREE).values()]
    slower = sum(each > 1.0 for each in found)
    figure = f"{_range(found)}, slower in {slower} of {len(found)} sets"
    return Verdict(slower == len(found), figure)


def _one_of_the_fastest(study: Study) -> Verdict:
    best: dict[str, float] = {}
    for other in (curves.COUNTING, curves.BUNDLE):
        for row, each in times_as_long(study, ["fig7"], other, curves.TREE).items():
            best[row] = min(best.get(row, math.inf), each)
    slowest = min(best, key=best.__getitem__)
    figure = f"at worst {1 / best[slowest]:.2g} times as long as the fastest ({slowest})"
    return Verdict(min(best.values()) >= 1 / ALIKE, figure)


def _ours_is_faster(study: Study) -> Verdict:
    found = times_as_long(study, ["fig5", "fig6", "fig7"], curves.TREE, curves.OURS)
    least, most = (pick(found, key=found.__getitem__) for pick in (min, max))
    faster = sum(each > 1.0 for each in found.values())
    figure = f"faster in {faster} of {len(found)}: {found[least]:.2g} ({least}) to "
    return Verdict(faster * 2 > len(found), f"{figure}{found[most]:.2g} times ({most})")


def _flat(study: Study) -> Verdict:
    changes = [
        study.mean(table, cell.row, cell.column, "flat")
        for table in ("fig5", "fig6")
        for cell in study.done(table)
        if cell.column in (curves.TREE, curves.COUNTING)
    ]
    return Verdict(max(changes) <= 0.005, f"accuracy changes by at most {max(changes):.4f}")


def _same_costs(study: Study) -> Verdict:
    found = {
        row: study.mean("3", row, models.L2, "log2 C by accuracy")
        for row in curves.BEST_LOG2_C
        if study.status("3", row, models.L2) == "done"
    }
    if not found:
        raise NotRun("Table 3")
    other = [row for row, chosen in found.items() if chosen != curves.BEST_LOG2_C[row][0]]
    figure = f"{len(found) - len(other)} of {len(found)} sets"
    return Verdict(not other, ", ".join([figure, *(f"not {row}" for row in other)]))


def _losses_alike(study: Study) -> Verdict:
    parts, holds = [], True
    for metric in ("accuracy", "ndcg"):
        one, two = (study.mean("3", "MQ2008", model, metric) for model in (models.L1, models.L2))
        parts.append(f"{metric} {one:.4f} and {two:.4f}")
        holds &= abs(one - two) <= 0.01
    return Verdict(holds, "MQ2008: " + ", ".join(parts))


def _above_l2_svr(study: Study) -> Verdict:
    gains = study.gains("5", models.L2, models.L2_SVR, "accuracy")
    own, other = (study.mean("5", "MQ2008", each, "ndcg") for each in (models.L2, models.L2_SVR))
    figure = f"accuracy {ends(gains.values(), '+.4f')} on {len(gains)} sets"
    holds = np.mean([*gains.values()]) > 0.0 and abs(own - other) <= 0.02
    return Verdict(bool(holds), f"{figure}, NDCG {own - other:+.4f} on MQ2008")


def _l1_svr_is_worse(study: Study) -> Verdict:
    gains = [*study.gains("5", models.L1_SVR, models.L2_SVR, "accuracy").values()]
    figure = f"accuracy {ends(gains, '+.4f')} against L2-loss SVR on {len(gains)} sets"
    return Verdict(float(np.mean(gains)) < 0.0, figure)


def _forests_cost_more(study: Study) -> Verdict:
    parts, holds = [], True
    for model in (models.FOREST, models.GBDT):
        ours = study.mean("5", "MQ2008", models.L2, "seconds by accuracy")
        times = study.mean("6", "MQ2008", model, "seconds") / ours
        gain = study.mean("6", "MQ2008", model, "ndcg")
        gain -= study.mean("5", "MQ2008", models.L2, "ndcg")
        holds &= times > 1.0
        parts.append(f"{model}: {times:.1f} times as long, NDCG {gain:+.4f}")
    return Verdict(holds, "MQ2008: " + ", ".join(parts))


def _trees_overfit(study: Study) -> Verdict:
    few, many = (study.mean(table, "MQ2008", models.GBDT, "accuracy") for table in ("6", "7"))
    return Verdict(many < few, f"MQ2008: accuracy {few:.4f} and {many:.4f}")


def _forests_on_sparse_rows(study: Study) -> Verdict:
    parts, holds = [], True
    gains = study.gains("9", models.FOREST, models.SVM, "accuracy")
    for row, forest, ours in study.pairs("9", models.FOREST, models.SVM, "seconds"):
        parts.append(f"{row}: {forest / ours:,.0f} times as long, accuracy {gains[row]:+.4f}")
        holds &= forest / ours > 1000.0 and gains[row] <= 0.02
    return Verdict(holds, "; ".join(parts))


def _partial_is_worse_and_faster(study: Study) -> Verdict:
    losses = study.gains("10", models.PARTIAL, models.ALL, "accuracy").values()
    seconds = study.pairs("10", models.PARTIAL, models.ALL, "seconds by accuracy")
    times = [whole / partial for _, partial, whole in seconds]
    figure = f"accuracy {ends(losses, '+.4f')}, {ends(times, '.2g')} times as fast"
    return Verdict(max(losses) <= 0.0 and min(losses) >= -0.05 and min(times) > 1.0, figure)


STUDY = Study(
    name="lee2014",
    title="Lee & Lin 2014",
    citation="C.-P. Lee and C.-J. Lin, *Large-scale linear RankSVM*, Neural Computation 26(4), "
    "2014.",
    tables=(
        problems.TABLE_2,
        models.TABLES["3"],
        *curves.TABLES,
        *(models.TABLES[name] for name in "4567"),
        problems.TABLE_8,
        *(models.TABLES[name] for name in ("9", "10")),
    ),
    claims=(
        Claim(
            "Counting by levels is slow if levels are many, and only then.",
            _slow_by_levels(["fig4"], curves.DIRECT, curves.SELECTION),
        ),
        Claim(
            "Other trees and exact sums are about as fast as the selection tree.",
            _trees_alike,
            "A tree with pointers costs more per row here than one whose leaves have fixed places.",
        ),
        Claim(
            f"Tree-TRON is one of the fastest to {curves.NEAR:g} at every C.", _one_of_the_fastest
        ),
        Claim(
            "PRSVM+ is like Tree-TRON if levels are few, much slower if they are many.",
            _slow_by_levels(["fig5", "fig6"], curves.COUNTING, curves.TREE),
        ),
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
            "Forests and GBDT perform well, at a higher cost than linear RankSVM.",
            _forests_cost_more,
        ),
        Claim("More boosted trees overfit: 1,000 are worse than 100.", _trees_overfit),
        Claim(
            "Forests on sparse data are no better, and thousands of times slower.",
            _forests_on_sparse_rows,
            "scikit-learn's forest is much faster on sparse rows than the paper's.",
        ),
        Claim(
            "Partial pairs are slightly worse, and faster.",
            _partial_is_worse_and_faster,
            "They are worse throughout. No pairs are listed here, so that leaving some out need "
            "not save time.",
        ),
    ),
    note="MQ2008, fold 1, is the paper's data and protocol. Other sets are generated in the shape "
    "of the paper's: they show times, never agreement.",
)
