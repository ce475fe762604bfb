"""Reasons of differences: their tests, and the computations that the tests read."""

import statistics

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from pairrank.datasets import discretize
from reproduction import __main__ as command
from reproduction.agreement import by_cell, check_reason, compared, moved
from reproduction.page import write_page
from reproduction.papers import STUDIES, load_study
from reproduction.papers.lee2014 import models, reasons, variants
from reproduction.papers.lee2014.problems import problem, quality
from reproduction.papers.raykar2007 import first_column
from reproduction.protocols import count_preferences, folds_of
from reproduction.readings import Readings
from reproduction.store import Store
from reproduction.study import Difference, NotRun, Places, Printed, Quantity, Reason, verdict
from reproduction_cells import cell, one_study

PLACES = Places(command.ROOT)
BESIDE = cell("a", "y", config={"n": 1})
"""The cell whose figure is the test in `study_with`."""


def record_of(of, number):
    """Return a record of a cell, as if it had run."""
    return {
        "digest": of.digest,
        "status": "done",
        "values": {"number": number},
        "machine": "a machine",
        "versions": {"pairrank": "1"},
        "timed": False,
        "others": None,
    }


def study_with(test):
    """Return a study of one figure, printed as 1.0 ± 0.1, whose reason has a test."""
    return one_study(
        cell(),
        BESIDE,
        paper={("a", "x"): Printed(1.0, 0.1)},
        tolerance=0.01,
        reasons={("*", "*"): Reason("another protocol.", test)},
    )


def page_of(test, *records):
    return write_page([(study_with(test), {each["digest"]: each for each in records})], set())


@pytest.mark.parametrize(
    ("figure", "shown", "counts"),
    [
        (1.15, "_a, x: tested, confirmed: 1.150 against the paper's 1.000._", "1 | 1 | 0 | 0"),
        (1.25, "_a, x: tested, not confirmed: 1.250 against the paper's 1.000._", "1 | 0 | 1 | 0"),
        (None, "_a, x: not tested._", "1 | 0 | 0 | 1"),
    ],
    ids=["confirmed", "not-confirmed", "not-tested"],
)
def test_the_page_says_what_the_test_of_a_reason_found(figure, shown, counts):
    beside = [] if figure is None else [record_of(BESIDE, figure)]
    page = page_of(by_cell("1", column="y"), record_of(cell(), 5.0), *beside)
    assert f"1. another protocol. {shown}" in page
    assert f"| Small 2000 | another protocol. | {counts} |" in page
    assert "1 figures are compared with the papers': 0 agree, 1 differ." in page


def test_a_figure_that_agrees_needs_no_test():
    def fail(readings, place):
        raise AssertionError("tested")

    page = page_of(fail, record_of(cell(), 1.1))
    assert "another protocol" not in page
    assert "1 figures are compared with the papers': 1 agree, 0 differ." in page


def test_a_test_without_its_cells_was_not_run():
    def miss(readings, place):
        raise NotRun("no cell")

    place = Difference("a", "x", Quantity("number", "a number"), Printed(1.0))
    assert (
        check_reason(Reason("why", miss), Readings(study_with(miss), {}), place).status == "not run"
    )


def test_a_figure_has_moved_if_it_is_as_close_as_agreement_asks():
    quantity = Quantity("number", "", form=".2f", tolerance=0.1, relative=True)
    place = Difference("a", "x", quantity, Printed(10.0))
    assert moved(10.9, place) == verdict(True, "10.90 against the paper's 10.00")
    assert moved(11.1, place).status == "does not hold"


@pytest.mark.parametrize("name", STUDIES)
def test_every_committed_difference_has_a_reason_that_was_tested(name):
    study = load_study(name)
    readings = Readings(study, Store(PLACES, study).published())
    for each in compared(study, readings):
        if not each.agrees:
            assert check_reason(each.reason, readings, each.place).status != "not run", each.place


def test_generated_rows_are_never_compared():
    for name in STUDIES:
        study = load_study(name)
        for each in compared(study, Readings(study, Store(PLACES, study).published())):
            assert "shape" not in each.place.row
            assert "generated" not in each.place.row
            assert "Rand" not in each.place.row or each.place.quantity.value in ("N", "d", "S")


def test_the_first_column_leaves_the_features_and_the_usual_target_enters():
    X, target = load_diabetes(return_X_y=True)
    features, classes = first_column.rows_of_first(first_column.TINY, 3, "width")
    np.testing.assert_array_equal(features, np.column_stack([X[:, 1:], target]))
    np.testing.assert_array_equal(classes, discretize(X[:, 0], 3, by="width"))
    found = first_column.count_first(data=first_column.TINY, n_bins=3, by="width")
    pairs = [count_preferences(fold.y) for fold in folds_of(features, classes)]
    assert found == {"columns": 11, "M": statistics.fmean(pairs)}


def test_the_sexes_of_abalone_are_in_alphabetical_order(monkeypatch):
    male, female, infant = np.eye(3)
    X = np.column_stack([np.array([male, female, infant, male]), np.arange(4.0)])
    monkeypatch.setattr(first_column, "_real_rows", lambda data: (X, np.array([9.0, 8, 7, 6])))
    features, classes = first_column.rows_of_first("abalone", 3, "width")
    assert classes.tolist() == [2.0, 0.0, 1.0, 2.0]
    np.testing.assert_array_equal(features, [[0, 9], [1, 8], [2, 7], [3, 6]])


def test_every_column_is_tried_as_the_target():
    X, target = load_diabetes(return_X_y=True)
    columns = np.column_stack([X, target])
    pairs = {
        (at, by): statistics.fmean(
            count_preferences(fold.y)
            for fold in folds_of(columns, discretize(columns[:, at], 3, by=by))
        )
        for at in range(columns.shape[1])
        for by in ("count", "width")
    }
    asked = round(pairs[2, "width"])
    found = first_column.nearest_column(data=first_column.TINY, n_bins=3, n_pairs=asked)
    assert found["M"] == pairs[2, "width"]
    assert found["column"] == "3, bins of equal width"
    assert len(found["wmw"]) == 5


def test_few_and_many_trees_are_stages_of_one_fit():
    config = {"depth": 3, "leaf": 1, "bins": 32}
    found = variants.boosted(**variants.SMALL, **config, counts=(2, 5))
    rows = problem(**variants.SMALL)
    for shown, count in ((reasons.FEW, 2), (reasons.MANY, 5)):
        model = HistGradientBoostingRegressor(
            max_iter=count, max_depth=3, max_leaf_nodes=None, min_samples_leaf=1, max_bins=32,
            early_stopping=False, random_state=0,
        ).fit(rows.train.X, rows.train.y)  # fmt: skip
        slow = quality("MQ2007", rows.test, model.predict(rows.test.X))
        assert found[f"accuracy {shown}"] == pytest.approx(slow["accuracy"])
        assert found[f"ndcg {shown}"] == pytest.approx(slow["ndcg"])


def test_the_first_seed_of_the_svr_is_that_of_the_tables():
    assert variants.SEEDS[0] == models.UNSEEDED
    powers, paper = (-5, 0, 3), (0, 3)
    found = variants.svr_by_seed(**variants.SMALL, paper=paper, seeds=(1, 2), powers=powers)
    one = models.search(**variants.SMALL, model=models.L1_SVR, powers=powers, paper=paper)
    for name, values in found.items():
        assert len(values) == 2
        assert values[0] == one[name]


class Fixed:
    """Readings of two variants of boosted trees."""

    def __init__(self, figures):
        self.figures = figures

    def table(self, name):
        return one_study(*(cell(row, "") for row in self.figures)).tables[0]

    def mean(self, table, row, column, value):
        return self.figures[row][value]


def test_boosted_trees_are_judged_at_the_variant_that_is_nearest_in_all_figures():
    paper = {f"{metric} {n}": mean for (n, metric), mean in reasons.PRINTED_TREES.items()}
    wrong_for_few = paper | {f"accuracy {reasons.FEW}": 0.5}
    near = {name: value + 0.005 for name, value in paper.items()}
    quantity = Quantity("accuracy", "", form=".4f", tolerance=0.01)
    place = Difference("MQ2008", models.GBDT, quantity, Printed(0.7978))
    found = reasons._some_trees(Fixed({"a": wrong_for_few, "b": near}), place)
    assert found == verdict(
        True, "0.7978 to 0.8028 over 2 variants; b: 0.8028 against the paper's 0.7978"
    )
