"""Censored times at the command line: --time and --event."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_runs import misused, refused, run
from pairrank import RankSVM, load_model, survival_target
from pairrank.survival import concordance_index


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A CSV file of censored times, with a column of labels too, and its numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).round(3)
    time = np.ceil(10 * rng.exponential(np.exp(-X[:, 0])))
    event = rng.random(80) < 0.6
    path = tmp_path_factory.mktemp("survival") / "rows.csv"
    lines = ["a,b,c,label,days,died"]
    lines += [
        f"{','.join(map(str, x))},7,{t:g},{int(e)}" for x, t, e in zip(X, time, event, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path, X, event, time


COLUMNS = ("--time", "days", "--event", "died")


def test_times_are_trained_on_and_judged(data, tmp_path):
    path, X, event, time = data
    model = tmp_path / "model"
    run("train", path, *COLUMNS, "-o", model, "--quiet")
    fitted = RankSVM().fit(X, **survival_target(event, time))
    np.testing.assert_array_equal(load_model(model).coef_, fitted.coef_)
    shown = json.loads(run("evaluate", model, path, *COLUMNS, "--json").stdout)
    wanted = concordance_index(event, time, fitted.predict(X), tied_tol=0.0)
    assert shown["n_pairs"] == sum(wanted[1:4])
    assert shown["pairwise_accuracy"] == pytest.approx(wanted.value, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "days"), "--time and --event need each other"),
        (("--event", "died"), "--time and --event need each other"),
        ((*COLUMNS, "--winner-weight", "a"), "leave out --winner-weight"),
        ((*COLUMNS, "--pairs", "-"), "leave out --pairs"),
        ((*COLUMNS, "--model", "rankrls"), "Model rankrls does not take --event"),
    ],
)
def test_wrong_options_are_refused(data, tmp_path, arguments, message):
    assert message in misused("train", data[0], *arguments, "-o", tmp_path / "model")


def test_an_event_that_is_neither_0_nor_1_is_refused(data, tmp_path):
    path, model = data[0], tmp_path / "model"
    said = refused("train", path, "--time", "days", "--event", "label", "-o", model)
    assert "event must hold True or False, or 1 or 0 (got 7 in row 0)" in said
    assert str(path) in said
