"""Comparisons of real rows, from their files to a page in headless Chromium."""

from __future__ import annotations

import numpy as np
import pytest

from browser import CHROMIUM, opened, probed
from pairrank import compare
from reproduction.data import load

MODELS = "rankncg,ranksvm,ridge,gradient_boosting,lambdarank"


def some_queries(data, n_queries):
    kept = np.isin(data.qid, np.unique(data.qid)[:n_queries])
    return {"X": data.X[kept], "y": data.y[kept], "qid": data.qid[kept]}


@pytest.fixture(scope="module")
def results(data_home):
    """Comparisons of a few queries of MQ2008, and of a few districts of California."""
    queries = some_queries(load("letor4_mq2008", data_home), 40)
    homes = load("cal_housing", data_home)
    few = np.random.default_rng(0).choice(len(homes.y), 200, replace=False)
    return {
        "mq2008": compare(
            **queries, models=MODELS.replace("gradient_boosting,", ""), cv=2, inner_cv=2,
            n_resamples=199,
        ),
        "california": compare(homes.X[few], homes.y[few], models=MODELS, cv=3, inner_cv=2),
    }  # fmt: skip


def test_models_rank_mq2008(results):
    found = results["mq2008"]
    assert found.settings["units"] == "queries"
    assert found.summary["reason"][:3].tolist() == [""] * 3
    assert (found.summary["pairwise_accuracy"][:3] > 0.5).all()
    assert found.metrics[0] == "ndcg@10"


def test_models_rank_districts_of_california(results):
    found = results["california"]
    assert found.settings["units"] == "folds"
    assert found.summary["reason"][:4].tolist() == [""] * 4
    assert (found.summary["pairwise_accuracy"][:4] > 0.7).all()
    assert found.summary["n_folds"][4] == 0
    assert "lightgbm" in found.summary["reason"][4] or "labels" in found.summary["reason"][4]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install the package chromium")
@pytest.mark.parametrize("name", ["mq2008", "california"])
@pytest.mark.parametrize("width", [1280, 420])
def test_pages_open_without_a_console_error_and_fit_the_window(results, name, width, tmp_path):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    path = tmp_path / "page.html"
    results[name].save(path)
    text = path.read_text(encoding="utf-8")
    document, console = opened(text, path, width)
    assert "<table>" in document
    assert console == []
    document, _ = opened(probed(text), path, width)
    assert 'data-overflow="0"' in document
