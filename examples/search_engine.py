"""A ranker for a search engine
============================

Train on judged documents, choose the strength on other queries, judge it on test queries, and
export the weights for Solr.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from pairrank import QueryMetricDisplay, RankSVM, regularization_path
from pairrank.io import read_rows
from pairrank.metrics import mean_ndcg

HERE = Path(__file__).parent
train, vali, test = (read_rows(HERE / "data" / f"{name}.txt") for name in ("train", "vali", "test"))

# %%
# The path fits a grid of strengths and judges each by validation queries.

path = regularization_path(
    RankSVM(),
    train.X,
    train.y,
    qid=train.qid,
    X_val=vali.X,
    y_val=vali.y,
    qid_val=vali.qid,
    scoring="mean_ndcg",
)
plt.semilogx(path.values, path.scores, marker=".")
plt.xlabel(path.param)
plt.ylabel("mean NDCG of the validation queries")

# %%
# The best strength, on test queries that were never seen.

ranker = RankSVM(**path.best_params).fit(train.X, train.y, qid=train.qid)
ndcg = {
    name: mean_ndcg(rows.y, ranker.predict(rows.X), qid=rows.qid)
    for name, rows in (("train", train), ("test", test))
}
print(f"best {path.best_params}, NDCG {ndcg['train']:.3f} on training queries, ", end="")
print(f"{ndcg['test']:.3f} on test queries")
QueryMetricDisplay.from_estimator(ranker, test.X, test.y, qid=test.qid, metric="ndcg@10")
plt.show()

# %%
# The weights as a model of Solr. ``check`` looks for queries whose order float32 would change.

with tempfile.TemporaryDirectory() as folder:
    target = Path(folder, "model.json")
    ranker.export(target, "solr", name="judged", check=(test.X, test.qid))
    print(json.loads(target.read_text())["params"])
