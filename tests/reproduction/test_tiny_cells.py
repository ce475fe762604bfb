"""One tiny cell of every table of every paper."""

import pytest

from reproduction.data import ALWAYS_THERE, DatasetNotFoundError
from reproduction.papers import STUDIES, load_study
from reproduction.runner import plain
from reproduction_cells import SMALL

PART = {"name": "MQ2007", "part": 0.02}
SEARCH = {**PART, "model": "L2-loss RankSVM", "powers": (-5, 0), "paper": (-5, 0)}
DESCENT = {**PART, "log2_C": -5.0, "settings": {"solver": "tron", "pair_sum": "selection_tree"}}
RANDNET = {"method": "RankNCG fast", "data": "randnet", "n_rows": 60, "n_bins": 3, "by": "count"}
FIRST = {"data": "sklearn-diabetes", "n_bins": 3, "by": "width", "first": True}
TINY = {
    ("raykar2007", "fig1d"): {"terms": 4, "n_points": 101},
    ("raykar2007", "fig2"): {"n_points": 60, "eps": 1e-06, "method": "boxes"},
    ("raykar2007", "fig3"): {**RANDNET, "eps": 0.001, "n_folds": 2},
    ("raykar2007", "1"): {"data": "randnet", "n_rows": 40, "n_bins": 3, "by": "width"},
    ("raykar2007", "1-first"): FIRST,
    ("raykar2007", "2"): {"data": "generated", "n_references": 10, "method": "RankNCG fast",
                          "n_users": 3},
    ("raykar2007", "3"): {**RANDNET, "n_folds": 2},
    ("raykar2007", "4"): {**RANDNET, "n_folds": 2},
    ("raykar2007", "4-first"): {**FIRST, "method": "RankNCG fast", "n_folds": 2},
    ("fung2006", "1"): {"dataset": ALWAYS_THERE},
    ("fung2006", "fig3"): {"dataset": ALWAYS_THERE, "method": "hull, chain", "n_folds": 2,
                           "max_rows": 100},
    ("lee2014", "2"): PART,
    ("lee2014", "3"): SEARCH,
    **{("lee2014", f"fig{number}"): DESCENT for number in (4, 5, 6, 7)},
    ("lee2014", "4"): SEARCH,
    ("lee2014", "5"): SEARCH,
    ("lee2014", "6"): {**PART, "model": "GBDT", "n_trees": 3},
    ("lee2014", "7"): {**PART, "model": "GBDT", "n_trees": 3},
    ("lee2014", "8"): PART,
    ("lee2014", "9"): {"name": "CTR (0.1%)", "part": 0.02, "model": "linear RankSVM",
                       "n_trees": 1, "n_repeats": 1},
    ("lee2014", "10"): {"name": "MQ2008-list", "part": 0.005, "powers": (-10,)},
    ("airola2010", "1-sets"): {"data": "parses", "size": 30},
    ("airola2010", "1"): {"data": "documents", "size": 120, "method": "hybrid", "n_pairs": 200,
                          "grid": 3},
    ("airola2010", "fig1"): {"data": "parses", "size": 30, "alpha": 0.0, "steps": 5},
    ("airola2010", "fig2"): {"data": "parses", "size": 30, "alpha": 0.0, "steps": 5},
    ("cortes2007", "1"): {**SMALL, "method": "MPRank"},
    ("cortes2007", "2"): {**SMALL, "method": "ridge"},
    ("beyond", "pairs"): {"dataset": "generated: queries differ in severity", "n_queries": 10,
                          "cv": 2},
    ("beyond", "conditions"): {"condition": "5 levels", "method": "RankSVM", "n_rows": 40,
                               "n_repeats": 2},
    ("beyond", "probabilities"): {"kind": "votes on two rows", "method": "RankNCG",
                                  "n_rows": 100, "n_repeats": 2},
    ("beyond", "comparisons"): {"dataset": "generated", "covariance": "clusters"},
    ("beyond", "survival"): {"dataset": "generated", "model": "RankSVM", "n_rows": 60},
}  # fmt: skip
"""Configurations of seconds; the run is that of the table's first cell."""
TABLES = {(name, table.name): table for name in STUDIES for table in load_study(name).tables}


@pytest.mark.parametrize("name", TABLES, ids="-".join)
def test_a_tiny_cell_returns_every_quantity(name):
    table = TABLES[name]
    try:
        values = plain(table.cells[0].run(**TINY[name]))
    except (DatasetNotFoundError, ImportError) as error:
        pytest.skip(f"absent: {error}")
    for quantity in table.quantities:
        assert values[quantity.value] is not None


def test_cells_have_places_of_their_own_and_can_be_sent_to_a_process():
    for table in TABLES.values():
        assert len({(cell.row, cell.column) for cell in table.cells}) == len(table.cells)
        assert not any("<locals>" in cell.function for cell in table.cells)


def test_printed_figures_and_notes_have_a_cell():
    for name, table in TABLES.items():
        rows, columns = {*table.rows, "*"}, {*table.columns, "*"}
        noted = {
            row for (study, _), other in TABLES.items() if study == name[0] for row in other.rows
        }
        for quantity in table.quantities:
            assert {row for row, _ in quantity.not_compared} <= {*noted, "*"}, name
            for places in (quantity.paper, quantity.reasons):
                assert {row for row, _ in places} <= rows, name
                assert {column for _, column in places} <= columns, name
