"""Metrics of dask collections are those of all rows in memory."""

from __future__ import annotations

import functools

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="needs dask: make test-extras")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

import dask_rows  # noqa: E402
from pairrank import OrderGraph, metrics  # noqa: E402
from pairrank.dask import metrics as dask_metrics  # noqa: E402
from pairrank.exceptions import NoPairsWarning, PairrankError  # noqa: E402

CHUNKS = (70, 0, 130, 1, 99)


@pytest.fixture(scope="module")
def rows():
    """Rows of queries of which some cross partitions; scores with ties."""
    rng = np.random.default_rng(3)
    size = sum(CHUNKS)
    qid = np.sort(rng.integers(0, 12, size))
    qid[::50] = 99
    return {
        "y": rng.integers(0, 4, size),
        "scores": rng.normal(size=size).round(1),
        "qid": qid,
        "sample_weight": rng.choice([0.0, 0.5, 2.0], size),
        "winner_weight": rng.choice([0.0, 1.0, 3.0], size),
        "query_weight": np.array([0.0, 1.5, 2.0])[qid % 3],
    }


cut = functools.partial(dask_rows.cut, chunks=CHUNKS)


def both(name, rows, taken, client, **options):
    """Return a metric of the collections, and that of the rows in memory."""
    given = {key: rows[key] for key in taken}
    cut_rows = {key: cut(part) for key, part in given.items()}
    function = getattr(dask_metrics, name)
    found = function(cut(rows["y"]), cut(rows["scores"]), client=client, **cut_rows, **options)
    return found, getattr(metrics, name)(rows["y"], rows["scores"], **given, **options)


@pytest.mark.parametrize("average", ["pairs", "queries", "edges"])
@pytest.mark.parametrize("taken", [(), ("qid",), ("qid", "sample_weight", "winner_weight")])
def test_pairwise_accuracy_is_that_of_all_rows(client, rows, taken, average):
    found, expected = both("pairwise_accuracy", rows, taken, client, average=average)
    assert found == pytest.approx(expected, rel=1e-12)


def test_graphs_and_ties_are_those_of_all_rows(client, rows):
    graph = OrderGraph([(0, 2), (1, 3)])
    found, expected = both("pairwise_accuracy", rows, ["qid"], client, graph=graph, ties="correct")
    assert found == expected


@pytest.mark.parametrize("average", ["pairs", "queries"])
def test_auc_is_that_of_all_rows(client, rows, average):
    taken = ["qid", "sample_weight"]
    found, expected = both("auc_score", rows, taken, client, average=average, relevant_from=2)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("taken", [(), ("qid",)])
@pytest.mark.parametrize("options", [{}, {"k": 5, "empty": "skip", "gain": "linear"}])
def test_ndcg_is_that_of_all_rows(client, rows, taken, options):
    found, expected = both("ndcg_score", rows, taken, client, **options)
    assert found == pytest.approx(expected, rel=1e-12)


def test_ndcg_weighs_queries(client, rows):
    weighted = {**rows, "sample_weight": rows["query_weight"]}
    found, expected = both("ndcg_score", weighted, ["qid", "sample_weight"], client)
    assert found == pytest.approx(expected, rel=1e-12)


def test_text_queries_of_frames_are_judged(client, rows):
    frame = pd.DataFrame({name: rows[name] for name in ("y", "scores")})
    frame["qid"] = [f"query {number}" for number in rows["qid"]]
    frames = dd.from_pandas(frame, npartitions=4)
    found = dask_metrics.pairwise_accuracy(frames.y, frames.scores, qid=frames.qid, client=client)
    expected = metrics.pairwise_accuracy(frame.y, frame.scores, qid=frame.qid)
    assert found == pytest.approx(expected, rel=1e-12)


def test_labels_without_a_pair_give_nan(client):
    same = da.ones(6, chunks=2)
    with pytest.warns(NoPairsWarning, match="no preference"):
        assert np.isnan(dask_metrics.pairwise_accuracy(same, same, client=client))


def test_collections_that_are_cut_in_different_ways_are_refused(client, rows):
    other = da.from_array(rows["scores"], chunks=((70, 0, 131, 0, 99),))
    with pytest.raises(PairrankError, match=r"partition 2 of scores has 131 rows .* 130"):
        dask_metrics.pairwise_accuracy(cut(rows["y"]), other, client=client)


def test_options_are_checked_before_any_work(client, rows):
    with pytest.raises(PairrankError, match="gain must be one of"):
        dask_metrics.ndcg_score(cut(rows["y"]), cut(rows["scores"]), gain="none", client=client)
    with pytest.raises(PairrankError, match="ties must be one of"):
        dask_metrics.auc_score(cut(rows["y"]), cut(rows["scores"]), ties="none", client=client)
