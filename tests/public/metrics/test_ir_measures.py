"""Metrics of ranked lists equal those of ir_measures and pytrec_eval on scores without ties."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from pairrank.metrics import evaluate

ir = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

NAMES = {
    "map": ir.AP,
    "map@5": ir.AP @ 5,
    "map@3:relevant_from=2": ir.AP(rel=2) @ 3,
    "mrr": ir.RR,
    "mrr:relevant_from=3": ir.RR(rel=3),
    "precision@5": ir.P @ 5,
    "precision@50:relevant_from=2": ir.P(rel=2) @ 50,
    "recall@5": ir.R @ 5,
    "ndcg:gain=linear": ir.nDCG,
    "ndcg@5:gain=linear": ir.nDCG @ 5,
}


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(60), rng.integers(1, 40, 60))
    y = rng.integers(0, 4, qid.size) * (rng.random(qid.size) < 0.4)
    y[qid < 5] = 0
    scores = rng.permutation(qid.size).astype(float)
    documents = [f"d{row}" for row in range(qid.size)]
    rows = list(zip(map(str, qid), documents, y.tolist(), scores.tolist(), strict=True))
    qrels = [ir.Qrel(query, document, label) for query, document, label, _ in rows]
    run = [ir.ScoredDoc(query, document, score) for query, document, _, score in rows]
    return y, scores, qid, qrels, run


def by_query(measure, qrels, run):
    found = {each.query_id: each.value for each in ir.iter_calc([measure], qrels, run)}
    return [found[query] for query in sorted(found, key=int)]


@pytest.mark.parametrize("name", NAMES)
def test_each_query_has_the_value_of_ir_measures(name, judged):
    y, scores, qid, qrels, run = judged
    found = evaluate(y, scores, name, qid=qid, per_query=True)[name]
    assert found == pytest.approx(by_query(NAMES[name], qrels, run), rel=1e-12, abs=1e-15)


def test_exponential_gains_are_linear_gains_of_other_labels(judged):
    y, scores, qid, qrels, run = judged
    raised = [each._replace(relevance=2**each.relevance - 1) for each in qrels]
    found = evaluate(y, scores, "ndcg@10", qid=qid, per_query=True)["ndcg@10"]
    assert found == pytest.approx(by_query(ir.nDCG @ 10, raised, run), rel=1e-12, abs=1e-15)


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed: gdeval needs it")
def test_err_is_that_of_gdeval_to_its_five_digits(judged):
    y, scores, qid, qrels, run = judged
    found = evaluate(y, scores, "err@10:max_label=4", qid=qid, per_query=True)
    wanted = by_query(ir.ERR @ 10, qrels, run)
    assert found["err@10:max_label=4"] == pytest.approx(wanted, abs=0.5000001e-5)


def test_rbp_is_that_of_cwl(judged):
    pytest.importorskip("cwl", reason="cwl-eval is not installed: RBP comes from it")
    y, scores, qid, qrels, run = judged
    name = "rbp:persistence=0.7"
    found = evaluate(y, scores, name, qid=qid, per_query=True)[name]
    wanted = by_query(ir.RBP(p=0.7, rel=1), qrels, run)
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-15)
