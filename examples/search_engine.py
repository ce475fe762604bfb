"""Train on judged documents, choose the strength on other queries, and export for Solr."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pairrank import RankSVM, regularization_path
from pairrank.io import read_rows
from pairrank.metrics import mean_ndcg

DATA = Path(__file__).parent / "data"


def main() -> dict[str, float]:
    """Print the strength that is best on validation queries, NDCG on test queries, the export."""
    train, vali, test = (read_rows(DATA / f"{name}.txt") for name in ("train", "vali", "test"))
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
    ranker = RankSVM(**path.best_params).fit(train.X, train.y, qid=train.qid)
    ndcg = {
        name: mean_ndcg(rows.y, ranker.predict(rows.X), qid=rows.qid)
        for name, rows in (("train", train), ("test", test))
    }
    print(f"best {path.best_params}, NDCG {ndcg['train']:.3f} on training queries, ", end="")
    print(f"{ndcg['test']:.3f} on test queries")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "model.json")
        ranker.export(target, "solr", name="judged", check=(test.X, test.qid))
        print(json.loads(target.read_text())["params"])
    return ndcg


if __name__ == "__main__":
    main()
