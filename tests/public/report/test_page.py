"""Reports: valid, escaped, self-contained HTML whose numbers are those of the metrics."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from definitions import preferences_of
from html_pages import Page, loaded_from_elsewhere
from pairrank import (
    OrderGraph,
    Pairs,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankSVM,
    metrics,
)
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.report import pair_calibration, report

pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="pictures need matplotlib")

EVIL = '<script>alert("x")</script>&'


@pytest.fixture(scope="module")
def ranker(data):
    return RankNCG(covariance="rows").fit(data.X, data.y, qid=data.qid)


@pytest.fixture(scope="module")
def two(data, ranker):
    other = RankSVM(C=1e-3).fit(data.X, data.y, qid=data.qid)
    return report(ranker, data.X, data.y, qid=data.qid, other=other).html


def votes():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20, 3))
    i = generator.integers(0, 20, 200)
    j = (i + generator.integers(1, 20, 200)) % 20
    return X, Pairs(i, j, magnitude=(generator.random(200) < 0.9).astype(float))


def text_labels(data):
    names = np.array(["bad", "fair", "good", "great", "best"])[data.y.astype(int)]
    order = OrderGraph([("bad", "fair"), ("fair", "good"), ("good", "great"), ("great", "best")])
    return names, order


def cases(data):
    """Yield pages of every kind, each with what it must show."""
    names, order = text_labels(data)
    X, pairs = votes()
    one = data.X[:15], data.y[:15]
    many = data.X[:, 0] + data.X[:, 1]
    search = RankNCGCV([0.1, 1.0], cv=2).fit(data.X, data.y, qid=data.qid)
    scaled = make_pipeline(StandardScaler(), RankSVM()).fit(data.X, data.y)
    given = {"X": data.X, "y": data.y, "qid": data.qid}
    yield report(search, **given), "Predicted"
    yield report(scaled, **given, other=scaled), "RankSVM (first) against RankSVM (second)"
    yield report(RankSVM(kernel="rbf").fit(*one), *one), "features have no weights"
    yield report(RankNCG().fit(X, pairs), X, pairs), "Margins of comparisons"
    yield report(RankSVM(graph=order).fit(data.X, names), data.X, names, qid=data.qid), "RankSVM"
    yield report(RankRLS().fit(data.X, many), sparse.csr_matrix(data.X), many), "RankRLS"


def test_pages_are_valid_and_accessible_and_load_nothing(data, two):
    for text, shown in [(two, "differs most"), *((page.html, said) for page, said in cases(data))]:
        page = Page(text)
        assert shown in page.shown
        assert page.faults == []
        assert len(page.named("h1")) == 1
        assert page.named("html")[0]["lang"] == "en"
        assert page.named("svg")
        for drawn in page.named("svg"):
            assert drawn["role"] == "img"
            assert drawn["aria-labelledby"] in page.ids
        for area in page.named("div"):
            assert area.get("class") != "wide" or area["tabindex"] == "0"
        assert "nan" not in page.shown.lower().split()
        assert ("Contributions" in text) == ("no weights" not in shown)
        assert "differs most" not in page.shown or text == two
        assert loaded_from_elsewhere(text) == []
        assert "http" not in text.replace("http-equiv", "")
        assert "default-src 'none'" in text


def test_the_checks_find_what_is_loaded_and_invalid():
    assert loaded_from_elsewhere('<img src="https://x.y/z">')
    assert loaded_from_elsewhere("<p style='background: url(z)'></p>")
    for text in ("<p><b></p></b>", "<p>", "<th>a</th>", "</p>"):
        assert Page(text).faults


def test_the_metrics_are_those_of_the_metrics_room(data, ranker, two):
    scores = ranker.predict(data.X)
    shown = Page(two).shown
    for value in (
        metrics.ndcg_score(data.y, scores, qid=data.qid, k=10),
        metrics.pairwise_accuracy(data.y, scores, qid=data.qid),
        metrics.kendall_tau(data.y, scores, qid=data.qid),
    ):
        assert f"{value:.4g}" in shown
    each = metrics.ndcg_score(data.y, scores, qid=data.qid, k=10, per_query=True)
    worst = min(each, key=each.get)
    assert f"{worst}: ndcg@10 {each[worst]:.4g}, 15 rows" in shown


def test_rows_are_in_the_order_of_their_scores(data, ranker):
    one = data.qid == data.qid[0]
    page = report(ranker, data.X[one], data.y[one]).html
    rows = page.split("Contributions of features")[1].split("</table>")[0].split("<tr")[1:]
    shown = [Page(f"<tr{row}").text for row in rows]
    scores = np.sort(ranker.predict(data.X[one]))[::-1]
    assert [cells[0] for cells in shown[:8]] == [str(position) for position in range(1, 9)]
    assert [cells[2] for cells in shown[:8]] == [f"{score:.4g}" for score in scores[:8]]


def test_names_and_queries_are_escaped(data, ranker):
    pandas = pytest.importorskip("pandas", reason="names of features need pandas")
    frame = pandas.DataFrame(data.X, columns=[EVIL, "b", "c", "d"])
    qid = np.array([f"{EVIL}{each}" for each in data.qid])
    fitted = RankNCG().fit(frame, data.y, qid=qid)
    text = report(fitted, frame, data.y, qid=qid, other=ranker, title=EVIL, names=(EVIL, "b")).html
    assert "<script" not in text
    assert EVIL in Page(text).shown
    assert Page(text).faults == []


def test_intervals_and_calibration_need_a_likelihood(data, ranker, two):
    plain = report(RankRLS().fit(data.X, data.y, qid=data.qid), data.X, data.y, qid=data.qid).html
    assert "Only RankNCG and RankNet predict probabilities of pairs" in plain
    assert "95 % interval</th>" not in plain
    weight, error = ranker.coef_[0], ranker.standard_errors_[0]
    reach = 1.959963984540054 * error
    assert f"{weight - reach:.4g} to {weight + reach:.4g}" in two
    assert f"All {ranker.n_pairs_:,} pairs." in two


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.PairrankWarning")
def test_weights_that_nothing_determines_have_no_interval(data):
    X = np.column_stack([data.X[:, 0], np.ones(len(data.y))])
    fitted = RankNCG(covariance="rows").fit(X, data.y, qid=data.qid)
    assert np.isinf(fitted.standard_errors_[1])
    text = report(fitted, X, data.y, qid=data.qid).html
    assert len(re.findall(r"<td>\S+ to \S+</td>", text)) == 1
    assert "inf" not in Page(text).shown.split("Weights")[1].split()


def test_two_models_are_compared_as_compare_scores_does(data, ranker, two):
    other = RankSVM(C=1e-3).fit(data.X, data.y, qid=data.qid)
    found = metrics.compare_scores(
        data.y, ranker.predict(data.X), other.predict(data.X), "map", qid=data.qid, n_resamples=1999
    )
    shown = Page(two).shown
    assert f"{found.low:.4g} to {found.high:.4g}" in shown
    assert "RankNCG against RankSVM" in shown


def test_the_size_of_a_page_is_limited():
    generator = np.random.default_rng(0)
    n_rows, n_features = 6_000, 200
    X = sparse.random(n_rows, n_features, 0.05, format="csr", random_state=0)
    y, qid = generator.integers(0, 400, n_rows), np.arange(n_rows) // 2
    fitted = RankRLS().fit(X, y, qid=qid)
    other = RankRLS(alpha=100.0).fit(X, y, qid=qid)
    text = report(fitted, X, y, qid=qid, other=other).html
    page = Page(text)
    n_marks = sum(len(page.named(tag)) for tag in ("use", "rect", "path"))
    assert n_marks <= 1_000 + 24 + 1 + 8 + 8 + 25
    assert len(page.named("details")) == 10
    assert "1000 drawn at random" in page.shown
    assert "The 25 features of largest effect, of 200." in page.shown
    assert len(text) < 400_000


def test_weights_of_rows_change_the_metrics_and_weight_0_leaves_a_query_out(data, ranker):
    weight = np.where(data.qid == data.qid[0], 0.0, 1.0)
    text = report(ranker, data.X, data.y, qid=data.qid, sample_weight=weight).html
    kept = weight > 0
    scores = ranker.predict(data.X)
    value = metrics.pairwise_accuracy(data.y[kept], scores[kept], qid=data.qid[kept])
    assert f"{value:.4g}" in Page(text).shown
    assert f"> {data.qid[0]}: " not in text


def test_bad_input_is_refused(data, ranker):
    given = data.X, data.y
    with pytest.raises(PairrankError, match="there is no metric 'foo'"):
        report(ranker, *given, metrics="foo")
    with pytest.raises(PairrankError, match="X_other has 3 rows"):
        report(ranker, *given, other=ranker, X_other=data.X[:3])
    with pytest.raises(PairrankError, match="not a ranker of pairrank"):
        report(StandardScaler().fit(data.X), *given)
    with pytest.raises(PairrankError, match="2 targets"):
        report(RankRLS().fit(data.X, np.column_stack([data.y, -data.y])), *given)
    with pytest.raises(NoPairsError):
        report(ranker, data.X, np.ones(len(data.y)))
    with pytest.raises(PairrankError, match="feature f1 overflows"):
        report(ranker, data.X * 1e200, data.y)
    names, order = text_labels(data)
    fitted = RankSVM(graph=order).fit(data.X, names)
    with pytest.raises(PairrankError, match="map needs labels that are numbers"):
        report(fitted, data.X, names, metrics="map")


@pytest.mark.parametrize("factor", [1e-300, 1e12, 1e100])
def test_features_of_any_usual_size_have_a_page(data, ranker, factor):
    text = report(ranker, data.X * factor, data.y, qid=data.qid).html
    assert Page(text).faults == []
    assert not {"nan", "inf"} & set(re.findall(r"[a-z]+", text.split("<main>")[1]))
    assert len(text) < 80_000  # matplotlib before 3.9 writes longer pictures


def test_the_file_is_written_whole_or_not_at_all_and_notebooks_frame_it(data, ranker, tmp_path):
    page = report(ranker, data.X, data.y, qid=data.qid)
    page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(PairrankError):
        page.save(tmp_path / "none" / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    frame = Page(page._repr_html_())
    assert frame.faults == []
    assert frame.named("iframe")[0]["srcdoc"] == page.html


def test_true_probabilities_are_calibrated():
    generator = np.random.default_rng(2)
    X = generator.normal(size=(200, 2))
    i, j = generator.integers(0, 200, (2, 40_000))
    i, j = i[i != j], j[i != j]
    wins = generator.random(i.size) < 1 / (1 + np.exp((X[j] - X[i]) @ [1.0, 2.0]))
    pairs = Pairs(np.where(wins, i, j), np.where(wins, j, i))
    found = pair_calibration(RankNCG(alpha=1e-6).fit(X, pairs), X, pairs)
    # A share of n pairs is off by 1/(2 sqrt(n)) at most, in standard deviations.
    assert (abs(found.predicted - found.observed) < 5 * 0.5 / np.sqrt(found.n_pairs)).all()


def test_equal_scores_are_half_right():
    found = pair_calibration(RankNCG().fit([[0.0], [1.0]], [0, 1]), [[1.0], [1.0]], [0, 1])
    assert (found.predicted.tolist(), found.observed.tolist()) == ([0.5], [0.5])


@pytest.mark.parametrize("graph", ["full", "chain", OrderGraph([(0, 2), (1, 2), (0, 3)])])
def test_calibration_is_that_of_every_pair(graph):
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    winner, loser = rng.integers(0, 3, (2, 60)) / 2
    ranker = RankNCG(graph=graph).fit(X, y, qid=qid)
    kept = np.flatnonzero((winner > 0) | (loser > 0))
    i, j = kept[np.transpose(preferences_of(y[kept], qid[kept], graph))]
    weight = winner[i] * loser[j]
    i, j, weight = i[weight > 0], j[weight > 0], weight[weight > 0]
    d = ranker.predict(X)[i] - ranker.predict(X)[j]
    probability = 1 / (1 + np.exp(-np.abs(d)))
    place = np.minimum(np.floor(8 * probability - 4), 3)
    found = pair_calibration(
        ranker, X, y, qid=qid, winner_weight=winner, loser_weight=loser, n_bins=4
    )
    bins = np.unique(place)
    assert found.n_pairs.tolist() == [(place == each).sum() for each in bins]
    for values, wanted in ((found.predicted, probability), (found.observed, d > 0)):
        means = [np.average(wanted[place == each], weights=weight[place == each]) for each in bins]
        np.testing.assert_allclose(values, means, rtol=1e-12)


def test_ties_of_comparisons_count_half():
    X = np.array([[0.0], [1.0], [2.0]])
    ranker = RankNCG().fit(X, [0, 1, 2])
    tied = pair_calibration(ranker, X, Pairs([0], [1], magnitude=[0.0]))
    assert tied.observed.tolist() == [0.5]
