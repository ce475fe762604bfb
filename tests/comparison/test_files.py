"""The files of a comparison: a valid page that loads nothing, Markdown, LaTeX, JSON, tables."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from comparison_models import Broken, Column, Warns
from pairrank import compare
from pairrank.comparison.page import content_of
from pairrank.comparison.pictures import MOST_BARS, Timed, difference_bars, fold_dots, time_scatter
from pairrank.comparison.tables import latex, markdown, notes_of, table_of
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
    for each in content_of(results).against:
        assert len(each.counts) == len(each.differences) == 2
        for counts, tested in zip(each.counts, each.differences, strict=True):
            gain = (
                results.units[each.metric][tested.model] - results.units[each.metric][tested.other]
            )
            assert sum(counts) == tested.n_units == 12
            assert counts[0] == (gain > 0).sum()


def test_pictures_show_every_value():
    values = {"a": np.array([0.1, 0.2, 0.3]), "b": np.array([0.2])}
    drawn = fold_dots(values, "map", "title")
    assert len([mark for mark in drawn.marks if mark.tag == "circle"]) == 4
    few = difference_bars({"a": np.array([0.5, -0.25, 0.0])}, "x", "title")
    paths = {
        mark.attributes["class"]: mark.attributes["d"] for mark in few.marks if mark.tag == "path"
    }
    assert paths["fill"].count("M") == paths["minus"].count("M") == 1
    many = difference_bars({"a": np.linspace(-1, 1, 5_000)}, "x", "title")
    assert sum(mark.attributes["d"].count("M") for mark in many.marks if mark.tag == "path") == (
        MOST_BARS
    )


def test_names_of_dots_do_not_cover_one_another():
    models = [Timed(f"model {n}", 0.01, 0.5) for n in range(6)]
    models += [Timed(f"model {n}", 0.012 + 0.01 * n, 0.5 + 0.001 * n) for n in range(6, 9)]
    marks = time_scatter([*models, Timed("model 9", 0.01, 0.6)], "map", "title").marks
    boxes = [
        (at["x"] - 39 if at["text-anchor"] == "end" else at["x"], at["y"])
        for at in (mark.attributes for mark in marks if mark.text.startswith("model"))
    ]
    dots = {
        (mark.attributes["cx"], mark.attributes["cy"]) for mark in marks if mark.tag == "circle"
    }
    assert len(boxes) == 10
    for place, (x, y) in enumerate(boxes):
        assert all(abs(x - other) >= 39 or abs(y - at) > 11.9 for other, at in boxes[:place])
        assert not any(x < cx < x + 39 and y - 10 < cy < y for cx, cy in dots)
    lines = [mark.attributes for mark in marks if mark.attributes.get("class") == "axis"][1:]
    assert lines
    assert {(at["x1"], at["y1"]) for at in lines} <= dots


def test_markdown_is_a_table_with_escaped_names(results):
    lines = markdown(results).splitlines()
    table = [line for line in lines if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) for line in table]
    assert len(table) == 2 + len(results.models)
    assert len(set(cells)) == 1
    assert r"\<i\>\&\|\_\$%#\\{x}" in table[2] + table[3] + table[4]
    assert sum("**" in line for line in table) >= 1


def test_latex_is_a_tabular_with_escaped_names(results):
    text = latex(results)
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert body[0] == r"\begin{tabular}{lrrrrrrl}"
    assert body[-1] == r"\end{tabular}"
    rows = [line for line in body if line.endswith(r"\\")]
    assert len(rows) == 1 + len(results.models)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {7}
    assert r"\textless{}i\textgreater{}\&\textbar{}\_\$\%\#\textbackslash{}\{x\}" in text
    assert r"msd $\downarrow$" in rows[0]


def test_the_best_values_are_marked(results):
    table = table_of(results)
    for column, name in ((1, "ndcg@5"), (2, "msd")):
        values = results.summary[name]
        best = np.nanmin(values) if name == "msd" else np.nanmax(values)
        (row,) = {row for row, its_column in table.best if its_column == column}
        assert results.models[results.order()[row]] == results.models[list(values).index(best)]


def test_notes_say_how_models_were_tested(data, results):
    notes = " ".join(notes_of(results))
    assert "3 folds of queries; strengths chosen by ndcg@5 in 2 inner folds" in notes
    assert "paired randomisation test over 12 queries" in notes
    assert "for 3 comparisons" in notes
    plain = run(data, "ridge,ranksvm", qid=None, metrics="kendall_tau", n_repeats=2)
    notes = " ".join(notes_of(plain))
    assert "3 folds of rows, 2 times; strengths not chosen" in notes
    assert "corrected resampled t test over 6 folds" in notes


def test_the_name_of_an_axis_has_room_beside_long_numbers():
    models = [Timed("a", 0.02, 0.82131), Timed("b", 0.5, 0.82333)]
    drawn = time_scatter(models, "map", "title")
    numbers = [
        mark.attributes["x"] - 6.6 * len(mark.text)
        for mark in drawn.marks
        if mark.attributes.get("text-anchor") == "end" and mark.text.startswith("0.8")
    ]
    assert len(numbers) >= 3
    assert min(numbers) > 16  # the turned name is centred at 11 and 10 high


def test_names_of_several_lines_and_brackets_stay_cells(data):
    result = run(data, {"a\n% b": Ridge(), "[1pt]": Column(), "*": Column(1), "[x](y)~~": Column()})
    rows = [line for line in latex(result).splitlines() if not line.startswith("%")]
    assert sum(line.endswith(r"\\") for line in rows) == 5
    assert not any(line.startswith(("[", "*")) for line in rows)
    assert r"a \% b & " in latex(result)
    assert r"| \[x\](y)\~\~ |" in markdown(result)
    assert sum(line.startswith("|") for line in markdown(result).splitlines()) == 6


def test_only_models_with_all_folds_are_marked_best(data):
    splits = [(np.arange(90), np.arange(90, 180)), (np.arange(90, 180), np.arange(90))]
    y = np.where(np.arange(180) < 90, data.y, data.y > 2)
    models = {"two_levels": LogisticRegression(), "bad": Column(3)}
    result = run(data, models, y=y, cv=splits, metrics="map")
    assert result.summary["n_folds"].tolist() == [1, 2]
    assert result.summary["map"][0] > result.summary["map"][1]
    assert table_of(result).best == {(0, 1)}
    assert table_of(result).rows[0][0] == "bad"
