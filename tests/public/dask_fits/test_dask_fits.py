"""Fits on a Dask cluster against the same fits in memory."""

from __future__ import annotations

import contextlib
import gc
import pickle
import time

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="needs dask: make test-extras")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.base import clone  # noqa: E402

import pairrank  # noqa: E402
import pairrank.dask  # noqa: E402
from dask_rows import CHUNKS, cut, labelled_rows, whole_rows  # noqa: E402
from pairrank.exceptions import PairrankError  # noqa: E402

rows = pytest.fixture(labelled_rows, scope="module")


SMOOTH = {"RankSVM": {}, "RankNCG": {}, "RankRLS": {}, "MPRank": {}}
BOUNDED = {
    "hinge": ("RankSVM", {"loss": "hinge"}),
    "absolute": ("MPRank", {"n": 1}),
    "tube": ("SVRank", {"n": 1, "epsilon": 0.2}),
}


def fitted(name, client, X, y, options, **layout):
    """Return a ranker fitted on collections, and the one fitted in memory."""
    given = {key: part for key, part in layout.items() if part is not None}
    cluster = getattr(pairrank.dask, f"Dask{name}")(client=client, **options)
    cluster.fit(cut(X), cut(y), **{key: cut(part) for key, part in given.items()})
    return cluster, getattr(pairrank, name)(**options).fit(X, y, **given)


@pytest.mark.parametrize("case", ["whole", "crossing", "one_query", "real_labels"])
@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_fits_have_the_weights_of_the_fit_in_memory(client, rows, name, case):
    X, cases = rows
    y, qid = cases[case]
    found, wanted = fitted(name, client, X, y, {"tol": 1e-8, **SMOOTH[name]}, qid=qid)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-6)
    assert found.n_pairs_ == wanted.n_pairs_
    assert (found.n_rows_, found.n_queries_) == (wanted.n_rows_, wanted.n_queries_)


@pytest.mark.parametrize("case", ["whole", "one_query"])
@pytest.mark.parametrize("name", BOUNDED)
def test_other_fits_are_within_their_gaps_of_the_fit_in_memory(client, rows, name, case):
    X, cases = rows
    y, qid = cases[case]
    ranker, options = BOUNDED[name]
    found, wanted = fitted(ranker, client, X, y, options, qid=qid)
    assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_


def test_weights_by_role_count_as_in_memory(client, rows):
    X, cases = rows
    y, _ = cases["one_query"]
    rng = np.random.default_rng(1)
    weights = {
        name: rng.choice([0.0, 1.0, 2.5], y.size)
        for name in ("sample_weight", "winner_weight", "loser_weight")
    }
    qid = np.arange(y.size) // 30
    found, wanted = fitted("RankSVM", client, X, y, {"tol": 1e-8}, qid=qid, **weights)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("backend", ["numpy", "pyarrow"])
def test_frames_are_learnt_and_scored_as_in_memory(client, rows, backend):
    X, cases = rows
    y, qid = cases["crossing"]
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd")).assign(y=y)
    frame["qid"] = [f"query {number}" for number in qid]
    if backend == "pyarrow":
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
    frames = dd.from_pandas(frame, npartitions=5, sort=False)
    features = list("abcd")
    found = pairrank.dask.DaskRankNCG(tol=1e-8, client=client)
    found.fit(frames[features], frames["y"], qid=frames["qid"])
    wanted = pairrank.RankNCG(tol=1e-8).fit(X.astype(np.float32), y, qid=qid)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-6)
    assert found.feature_names_in_.tolist() == features
    scores = found.predict(frames[features])
    assert scores.npartitions == frames.npartitions
    assert scores.compute().index.equals(frame.index)
    np.testing.assert_allclose(scores.compute(), wanted.predict(X.astype(np.float32)), atol=1e-5)
    accuracy = found.score(frames[features], frames["y"], qid=frames["qid"])
    assert accuracy == pytest.approx(found.to_local().score(frame[features], y, qid=qid), rel=1e-12)


def test_scores_are_lazy_with_the_partitions_of_the_input(client, rows):
    X, cases = rows
    found, _ = fitted("RankSVM", client, X, *cases["whole"][:1], {}, qid=cases["whole"][1])
    scores = found.predict(cut(X))
    assert scores.chunks == (CHUNKS,)
    np.testing.assert_array_equal(scores.compute(), found.to_local().predict(X))
    np.testing.assert_array_equal(found.predict(X), found.to_local().predict(X))
    with pytest.raises(PairrankError, match="3 features"):
        found.predict(cut(X[:, :3]))
    with pytest.raises(PairrankError, match="rank needs all rows"):
        found.rank(cut(X))


@pytest.mark.parametrize("place", ["cluster", "memory"])
def test_validation_rows_stop_the_fit_as_in_memory(client, rows, place):
    X, cases = rows
    y, qid = cases["crossing"]
    move = cut if place == "cluster" else np.asarray
    found = pairrank.dask.DaskRankNCG(patience=2, solver="ncg", client=client).fit(
        cut(X), cut(y), qid=cut(qid), X_val=move(X), y_val=move(y), qid_val=move(qid)
    )
    assert len(found.validation_scores_) == found.n_iter_ + 1
    best = found.to_local().score(X, y, qid=qid)
    assert np.nanmax(found.validation_scores_) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("place", ["cluster", "memory"])
def test_validation_rows_of_other_features_are_refused(client, rows, place):
    X, cases = rows
    y, _ = cases["one_query"]
    move = cut if place == "cluster" else np.asarray
    with pytest.raises(PairrankError, match=r"X_val has 3 features, but .* 4"):
        pairrank.dask.DaskRankSVM(client=client).fit(
            cut(X), cut(y), X_val=move(X[:, :3]), y_val=move(y)
        )


def test_a_callback_is_called_in_this_process(client, rows):
    X, cases = rows
    steps = []
    ranker = pairrank.dask.DaskRankSVM(tol=1e-8, client=client)
    ranker.fit(cut(X), cut(cases["one_query"][0]), callback=steps.append)
    assert [step.n_iter for step in steps] == list(range(ranker.n_iter_ + 1))


def test_features_that_are_not_finite_or_no_table_and_several_targets_are_refused(client, rows):
    X, cases = rows
    damaged = X.copy()
    damaged[700, 2] = np.nan
    y = cut(cases["one_query"][0])
    with pytest.raises(PairrankError, match="NaN"):
        pairrank.dask.DaskRankSVM(client=client).fit(cut(damaged), y)
    with pytest.raises(PairrankError, match="X must have two dimensions"):
        pairrank.dask.DaskRankSVM(client=client).fit(y, y)
    for name in ("RankSVM", "RankRLS"):
        with pytest.raises(PairrankError, match="y must have one dimension"):
            getattr(pairrank.dask, f"Dask{name}")(client=client).fit(cut(X), cut(X[:, :2]))


def test_rows_of_frames_without_labels_are_refused(client, rows):
    X, cases = rows
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=cases["whole"][0])
    frames = dd.from_pandas(frame, npartitions=4, sort=False)
    labels = dd.concat([frames["y"].partitions[:3], frames["y"].partitions[3:].loc[-2:-1]])
    with pytest.raises(PairrankError, match="partition 3 of y has 0 rows and that of X 750"):
        pairrank.dask.DaskRankSVM(client=client).fit(frames[list("abcd")], labels)


def test_more_partitions_than_queries_and_a_worker_without_data(client, rows):
    X, cases = rows
    y = cases["one_query"][0][:60]
    for chunks in ((1,) * 60, (60,)):
        parts = [da.from_array(part, chunks=(chunks, *part.shape[1:])) for part in (X[:60], y)]
        found = pairrank.dask.DaskRankSVM(solver="tron", tol=1e-8, client=client).fit(*parts)
        wanted = pairrank.RankSVM(tol=1e-8).fit(X[:60], y)
        np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("RankSVM", {"kernel": "rbf"}, "kernel='rbf' needs all rows in memory"),
        ("RankSVM", {"solver": "sgd"}, 'solver="sgd" draws pairs'),
        ("RankNCG", {"covariance": "rows"}, "covariance='rows' needs all rows"),
        ("RankSVM", {"persist": "maybe"}, "persist must be one of"),
        ("RankSVM", {"C": -1.0}, "C must be greater than 0"),
        ("RankSVM", {"client": 1}, r"client must be a distributed\.Client"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_before_any_work(rows, name, options, message):
    X, cases = rows
    ranker = getattr(pairrank.dask, f"Dask{name}")(**options)
    with pytest.raises(PairrankError, match=message):
        ranker.fit(cut(X), cut(cases["whole"][0]))


@pytest.mark.parametrize("name", ["RankSVM", "SVRank"])
def test_parameters_are_those_of_the_ranker_in_memory(client, name):
    """And a clone has the same client, a pickle none."""
    ranker = getattr(pairrank.dask, f"Dask{name}")(client=client, persist=False, tol=0.5)
    local = getattr(pairrank, name)(tol=0.5).get_params()
    assert ranker.get_params() == {**local, "client": client, "persist": False}
    assert clone(ranker).client is client
    assert clone(ranker).get_params() == ranker.get_params()
    assert pickle.loads(pickle.dumps(ranker)).client is None
    assert pickle.loads(pickle.dumps(ranker)).tol == 0.5


def test_a_model_file_is_that_of_the_ranker_in_memory(client, rows, tmp_path):
    X, cases = rows
    found, _ = fitted("RankSVM", client, X, cases["whole"][0], {}, qid=cases["whole"][1])
    found.save(tmp_path / "model")
    loaded = pairrank.load_model(tmp_path / "model")
    assert type(loaded) is type(found.to_local()) is pairrank.RankSVM
    np.testing.assert_array_equal(loaded.coef_, found.coef_)
    found.export(tmp_path / "found.csv", "csv")
    loaded.export(tmp_path / "loaded.csv", "csv")
    assert (tmp_path / "found.csv").read_text() == (tmp_path / "loaded.csv").read_text()


def test_workers_keep_nothing_of_a_fit_that_has_failed(own_client):
    X, y = whole_rows()
    hole = np.where(np.arange(y.size) == 60, np.nan, X.T).T
    with contextlib.suppress(PairrankError):  # the error, and its frames, must not stay
        pairrank.dask.DaskRankNCG(client=own_client).fit(cut(hole), cut(y))
    gc.collect()
    deadline = time.monotonic() + 30.0
    while any(own_client.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not own_client.futures
    assert not any(own_client.has_what().values())
