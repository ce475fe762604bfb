"""The PyTerrier transformer: its contract of columns, with and without PyTerrier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pairrank import RankSVM
from pairrank.exceptions import PairrankError
from pairrank.pyterrier import RankerTransformer


def results(seed: int, n_queries: int = 5, n_documents: int = 8) -> pd.DataFrame:
    """Return results of queries with three features, in no order of scores."""
    X = np.random.default_rng(seed).normal(size=(n_queries * n_documents, 3))
    return pd.DataFrame(
        {
            "qid": np.repeat([f"q{n}" for n in range(n_queries)], n_documents),
            "docno": [f"d{n}" for n in range(len(X))],
            "rank": 99,
            "query": "words",
            "features": list(X),
        }
    )


def qrels_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return grades of the documents whose first feature is positive, in another order."""
    grades = [int(features[0] > 0) + int(features[0] > 1) for features in frame["features"]]
    judged = frame.assign(label=grades)[["qid", "docno", "label"]]
    return judged[judged["label"] > 0].iloc[::-1]


def test_a_fit_learns_from_qrels_and_unjudged_documents_have_the_label_0():
    frame = results(0)
    stage = RankerTransformer(RankSVM())
    assert stage.fit(frame, qrels_of(frame)) is stage
    X = np.stack(frame["features"])
    y = (X[:, 0] > 0) + 1.0 * (X[:, 0] > 1)
    np.testing.assert_array_equal(stage.ranker.coef_, RankSVM().fit(X, y, qid=frame["qid"]).coef_)
    valid = results(1)
    stage.fit(frame, qrels_of(frame), valid, qrels_of(valid))
    assert len(stage.ranker.validation_scores_) > 0


def test_scores_and_ranks_are_added_per_query_in_the_order_of_the_rows():
    frame = results(2)
    ranker = RankerTransformer(RankSVM()).fit(frame, qrels_of(frame)).ranker
    frame.loc[1, "features"][:] = frame.loc[0, "features"]
    before = frame.copy(deep=True)
    found = RankerTransformer(ranker).transform(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert list(found["docno"]) == list(frame["docno"])
    assert set(found.columns) == {*frame.columns, "score"}
    np.testing.assert_array_equal(found["score"], ranker.predict(np.stack(frame["features"])))
    for _, rows in found.groupby("qid"):
        order = np.argsort(-rows["score"].to_numpy(), kind="stable")
        assert rows["rank"].to_numpy()[order].tolist() == list(range(len(rows)))


def test_no_results_stay_none_with_the_new_columns():
    frame = results(0)
    ranker = RankerTransformer(RankSVM()).fit(frame, qrels_of(frame))
    found = ranker.transform(frame.iloc[:0])
    assert len(found) == 0
    assert list(found.columns) == ranker.transform_outputs(list(frame.columns))


def test_frames_that_break_the_contract_are_refused():
    frame = results(0)
    stage = RankerTransformer(RankSVM())
    with pytest.raises(PairrankError, match="results have no column 'features'; the columns are"):
        stage.transform(frame.drop(columns="features"))
    with pytest.raises(PairrankError, match="qrels have no column 'label'"):
        stage.fit(frame, qrels_of(frame).drop(columns="label"))
    with pytest.raises(PairrankError, match="no results to fit to"):
        stage.fit(frame.iloc[:0], qrels_of(frame))
    ragged = frame.assign(features=[np.ones(2 + n % 2) for n in range(len(frame))])
    with pytest.raises(PairrankError, match="arrays of one length"):
        stage.fit(ragged, qrels_of(frame))
    fitted = stage.fit(frame, qrels_of(frame))
    with pytest.raises(PairrankError, match="features"):
        fitted.transform(frame.assign(features=[np.ones(5)] * len(frame)))


def test_qrels_of_other_identifiers_are_refused():
    frame = results(0)
    numbered = qrels_of(frame)
    numbered["qid"] = range(len(numbered))
    with pytest.raises(PairrankError, match="the qrels judge none of the results: results have"):
        RankerTransformer(RankSVM()).fit(frame, numbered)


def test_it_is_a_stage_of_pyterrier_pipelines():
    pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed")
    frame = results(3)
    stage = RankerTransformer(RankSVM()).fit(frame, qrels_of(frame))
    assert isinstance(stage, pt.Estimator)
    pipeline = pt.Transformer.from_df(frame) >> stage
    topics = frame[["qid", "query"]].drop_duplicates()
    found = pipeline(topics).set_index("docno")
    wanted = stage.transform(frame).set_index("docno")
    assert found["score"].to_dict() == wanted["score"].to_dict()
    assert found["rank"].to_dict() == wanted["rank"].to_dict()
    learnt = pt.Transformer.from_df(frame) >> RankerTransformer(RankSVM())
    learnt.fit(topics, qrels_of(frame), topics, qrels_of(frame))
    assert learnt(topics).set_index("docno")["score"].to_dict() == wanted["score"].to_dict()
    inputs = ["qid", "query", "docno", "features"]
    assert pt.inspect.transformer_outputs(stage, inputs) == [*inputs, "score", "rank"]
