"""What notebooks show of rankers: a table of the fit above scikit-learn's diagram."""

from __future__ import annotations

import numpy as np
import pytest

from html_pages import Page, loaded_from_elsewhere
from pairrank import (
    ConvexHullRanker,
    GreedyRankRLS,
    MPRank,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    load_model,
)
from pairrank.datasets import make_queries
from pairrank.estimators._html import MOST_WEIGHTS, fit_table

DATA = make_queries(10, 12, 9, random_state=0)
ROWS = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}
RANKERS = [
    RankSVM(), RankNCG(covariance="rows"), RankRLS(), MPRank(), ConvexHullRanker(),
    RankSVM(kernel="rbf"), RankNCGCV([1.0], cv=2), RankRLSCV(), GreedyRankRLS(2),
]  # fmt: skip


def facts(ranker):
    """Return the first table as {name: value}."""
    table = fit_table(ranker).split("</table>")[0]
    cells = Page(table + "</table></div>").text[1:]
    return dict(zip(cells[::2], cells[1::2], strict=True))


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda each: type(each).__name__)
def test_fitted_rankers_show_their_fit_and_the_diagram(ranker):
    unfitted = ranker._repr_html_()
    assert "pairrank-fit" not in unfitted
    ranker.fit(**ROWS)
    shown = ranker._repr_html_()
    page = Page(fit_table(ranker))
    assert page.faults == []
    assert loaded_from_elsewhere(fit_table(ranker)) == []
    assert f"{type(ranker).__name__}, fitted" in page.shown
    assert "sk-container" in shown.split("pairrank-fit")[-1]
    assert ranker._repr_mimebundle_()["text/html"].startswith("<style>")


def test_counts_are_those_of_the_definition():
    ranker = RankNCG().fit(**ROWS)
    same = DATA.qid[:, None] == DATA.qid[None, :]
    ties = same & (DATA.y[:, None] == DATA.y[None, :])
    n_ties = (ties.sum() - len(DATA.y)) // 2
    assert (ranker.n_rows_, ranker.n_queries_, ranker.n_ties_) == (120, 10, n_ties)
    assert ranker.n_pairs_ + ranker.n_ties_ == 10 * 12 * 11 // 2
    found = facts(ranker)
    assert found["Rows"] == "120"
    assert found["Ties"] == f"{n_ties:,}"
    assert found["Status"] == "converged"


def test_counts_are_kept_in_model_files(tmp_path):
    ranker = RankNCG(covariance="rows").fit(**ROWS)
    ranker.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (loaded.n_rows_, loaded.n_queries_, loaded.n_ties_) == (120, 10, ranker.n_ties_)
    assert fit_table(loaded) == fit_table(ranker)


def test_the_largest_weights_have_their_standard_errors():
    ranker = RankNCG(covariance="rows").fit(**ROWS)
    cells = Page(fit_table(ranker).split("</table>")[1] + "</div>").text
    largest = int(np.argmax(abs(ranker.coef_)))
    assert cells[0] == f"Largest {MOST_WEIGHTS} weights"
    assert cells[4:7] == [
        f"f{largest + 1}", f"{ranker.coef_[largest]:.4g}", f"{ranker.standard_errors_[largest]:.4g}"
    ]  # fmt: skip
    assert len(cells) == 1 + 3 * (MOST_WEIGHTS + 1)


def test_kernels_and_several_targets_have_no_table_of_weights():
    kernel = RankSVM(kernel="rbf").fit(**ROWS)
    targets = RankRLS().fit(DATA.X, np.column_stack([DATA.y, -DATA.y]), qid=DATA.qid)
    assert "Weight" not in fit_table(kernel)
    assert facts(kernel)["Kernel"] == "rbf"
    assert "Weight" not in fit_table(targets)
    assert facts(targets)["Targets"] == "2"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_did_not_converge_says_so():
    ranker = RankSVM(max_iter=1, tol=1e-12, C=1e4).fit(**ROWS)
    assert facts(ranker)["Status"].startswith("max iter: The iterations reached max_iter")


def test_names_are_escaped():
    pandas = pytest.importorskip("pandas", reason="names of features need pandas")
    frame = pandas.DataFrame({"<script>": DATA.X[:, 0], "a&b": DATA.X[:, 1]})
    table = fit_table(RankSVM().fit(frame, DATA.y, qid=DATA.qid))
    assert "<script" not in table
    assert "&lt;script&gt;" in table
    assert "a&amp;b" in table
