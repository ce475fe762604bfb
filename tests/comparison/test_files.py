"""The files of a comparison: a valid page that loads nothing, Markdown, JSON, tables."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from comparison_models import Broken, Column, Warns
from pairrank import compare
from pairrank.datasets import make_queries

EVIL = "<i>&|_$%#\\{x}"


@pytest.fixture(scope="module")
def data():
    return make_queries(12, 15, 4, random_state=0)


def run(data, models, **more):
    given = {"y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0, "metrics": ["ndcg@5", "msd"]}
    return compare(data.X, models=models, **{**given, **more})


@pytest.fixture(scope="module")
def results(data):
    models = {EVIL: Ridge(), "broken": Broken(), "warns": Warns(), "ranksvm": "ranksvm"}
    return run(data, models, inner_cv=2)


def test_counts_of_queries_add_up(results):
    for each in results._page().against:
        assert len(each.counts) == len(each.differences) == 2
        for counts, tested in zip(each.counts, each.differences, strict=True):
            gain = (
                results.units[each.metric][tested.model] - results.units[each.metric][tested.other]
            )
            assert sum(counts) == tested.n_units == 12
            assert counts[0] == (gain > 0).sum()


def test_markdown_is_a_table_with_escaped_names(results):
    lines = repr(results).splitlines()
    table = [line for line in lines if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
    assert len(table) == 2 + len(results.models)
    assert len(set(cells)) == 1
    assert r"\<i\>\&\|\_\$%#\\{x}" in table[2] + table[3] + table[4]
    assert sum("**" in line for line in table) >= 1


def test_the_best_values_are_marked(results):
    table = results.means()
    for column, name in ((1, "ndcg@5"), (2, "msd")):
        values = results.summary[name]
        best = np.nanmin(values) if name == "msd" else np.nanmax(values)
        (row,) = {row for row, its_column in table.best if its_column == column}
        assert results.models[results.order()[row]] == results.models[list(values).index(best)]


def test_notes_say_how_models_were_tested(data, results):
    notes = " ".join(results.means().notes)
    assert "3 folds of queries; strengths chosen by ndcg@5 in 2 inner folds" in notes
    assert "paired randomisation test over 12 queries" in notes
    assert "for 3 comparisons" in notes
    plain = run(data, "ridge,ranksvm", qid=None, metrics="kendall_tau", n_repeats=2)
    notes = " ".join(plain.means().notes)
    assert "3 folds of rows, 2 times; strengths not chosen" in notes
    assert "corrected resampled t test over 6 folds" in notes


def test_names_of_several_lines_and_brackets_stay_cells(data):
    result = run(data, {"a\n% b": Ridge(), "[1pt]": Column(), "*": Column(1), "[x](y)~~": Column()})
    assert r"| \[x\](y)\~\~ |" in repr(result)
    assert sum(line.startswith("|") for line in repr(result).splitlines()) == 6


def test_only_models_with_all_folds_are_marked_best(data):
    splits = [(np.arange(90), np.arange(90, 180)), (np.arange(90, 180), np.arange(90))]
    y = np.where(np.arange(180) < 90, data.y, data.y > 2)
    models = {"two_levels": LogisticRegression(), "bad": Column(3)}
    result = run(data, models, y=y, cv=splits, metrics="map")
    assert result.summary["n_folds"].tolist() == [1, 2]
    assert result.summary["map"][0] > result.summary["map"][1]
    assert result.means().best == {(0, 1)}
    assert result.means().rows[0][0] == "bad"
