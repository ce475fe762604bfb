"""Standard errors of RankNCG: against definitions pair by pair, and against the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pairrank import OrderGraph, Pairs, RankNCG, load_model
from pairrank.exceptions import PairrankError, UndeterminedWarning
from pairrank.losses import Logistic, Probit

pytestmark = pytest.mark.numeric

KINDS = ["laplace", "rows", "queries"]


def drawn(seed, n_rows=150, n_features=3, n_queries=9, n_levels=4):
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.normal(size=(n_rows, n_features))
    noisy = X @ rng.normal(size=n_features) + rng.logistic(size=n_rows)
    y = np.digitize(noisy, np.quantile(noisy, np.arange(1, n_levels) / n_levels)).astype(float)
    return X, y, rng.integers(0, n_queries, n_rows)


def by_definition(ranker, X, pairs, qid, compared=False):
    """Return V from every pair (i, j, weight): loops, no sums; `compared` where they are Pairs."""
    own = {}
    phi = (Logistic() if ranker.loss == "logistic" else Probit()).phi
    hessian = ranker.alpha * np.eye(X.shape[1])
    of_rows, of_queries = np.zeros_like(X), np.zeros((qid.max() + 1, X.shape[1]))
    for i, j, weight in pairs:
        x = X[i] - X[j]
        d = np.array([x @ ranker.coef_])
        hessian += weight * phi(d, order=2) * np.outer(x, x)
        gradient = weight * phi(d, order=1) * x
        of_rows[[i, j]] += gradient
        of_queries[qid[i]] += gradient
        if compared and ranker.covariance == "rows":
            both = (min(i, j), max(i, j))
            own[both] = own.get(both, 0.0) + gradient
    inverse = np.linalg.inv(hessian)
    if ranker.covariance == "laplace":
        return inverse
    scattered = of_rows if ranker.covariance == "rows" else of_queries[np.unique(qid)]
    centred = scattered - scattered.mean(axis=0)
    n = len(scattered)
    spread = centred.T @ centred * (n / (n - 1) if ranker.covariance == "queries" else 1.0)
    spread -= sum(np.outer(gradient, gradient) for gradient in own.values())
    return inverse @ spread @ inverse


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "probit"])
@pytest.mark.parametrize("preferences", ["full", "graph", "roles"])
def test_it_is_what_the_pairs_define(kind, loss, preferences):
    X, y, qid = drawn(0)
    rng = np.random.default_rng(0)
    winner, loser = np.ones((2, y.size))
    graph, joined, roles = "full", y[:, None] > y, {}
    if preferences == "graph":
        graph = OrderGraph([(0.0, 1.0), (1.0, 3.0)])
        joined = (y[:, None] == 1) & (y == 0) | (y[:, None] == 3) & (y == 1)
    elif preferences == "roles":
        winner, loser = rng.exponential(size=(2, y.size)) * (rng.random((2, y.size)) < 0.6)
        kept = (winner > 0) | (loser > 0)
        X, y, qid, winner, loser = X[kept], y[kept], qid[kept], winner[kept], loser[kept]
        joined, roles = y[:, None] > y, {"winner_weight": winner, "loser_weight": loser}
    ranker = RankNCG(0.7, loss=loss, graph=graph, covariance=kind)
    ranker.fit(X, y, qid=qid, **roles)
    i, j = np.nonzero(joined & (qid[:, None] == qid))
    weight = winner[i] * loser[j]
    pairs = zip(i, j, weight * y.size / weight.sum(), strict=True)
    wanted = by_definition(ranker, X, pairs, qid)
    np.testing.assert_allclose(ranker.coef_cov_, wanted, rtol=1e-8, atol=1e-10 * wanted.max())
    np.testing.assert_allclose(ranker.standard_errors_, np.sqrt(np.diag(wanted)), rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("repeats", "loss"), [(1, "logistic"), (3, "logistic"), (1, "raykar")])
def test_of_comparisons_two_rows_own_part_counts_once(kind, repeats, loss):
    X, _, _ = drawn(9)
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 150, (2, 200))
    i, j = np.repeat(i[i != j], repeats), np.repeat(j[i != j], repeats)
    turned = rng.random(i.size) < 0.4
    i, j = np.where(turned, j, i), np.where(turned, i, j)
    weight = rng.exponential(size=i.size)
    qid = np.arange(150) // 75
    within = qid[i] == qid[j]
    i, j, weight = i[within], j[within], weight[within]
    ranker = RankNCG(0.7, loss=loss, covariance=kind, reduction="sum")
    ranker.fit(X, Pairs(i, j, weight, n_rows=150), qid=qid)
    wanted = by_definition(ranker, X, zip(i, j, weight, strict=True), qid, compared=True)
    np.testing.assert_allclose(ranker.coef_cov_, wanted, rtol=1e-8, atol=1e-10 * wanted.max())
    X = np.where(np.abs(X) > 3.0, X, 0.0)
    dense, thin = (
        ranker.set_params(tol=1e-9).fit(form(X), Pairs(i, j, weight, n_rows=150), qid=qid).coef_cov_
        for form in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_allclose(thin, dense, rtol=1e-6, atol=1e-9 * dense.max())


def test_weights_of_compared_rows_are_repetitions():
    X, _, _ = drawn(5)
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, 75, 200), rng.integers(75, 150, 200)
    weight = rng.integers(1, 4, 150)
    ranker = RankNCG(covariance="rows", tol=1e-9)
    weighted = ranker.fit(X, Pairs(i, j, n_rows=150), sample_weight=weight).coef_cov_
    start = np.cumsum(weight) - weight
    ends = [
        (start[a] + first, start[b] + second)
        for a, b in zip(i, j, strict=True)
        for first in range(weight[a])
        for second in range(weight[b])
    ]
    several = ranker.fit(np.repeat(X, weight, axis=0), Pairs(*np.transpose(ends))).coef_cov_
    np.testing.assert_allclose(several, weighted, rtol=1e-6, atol=1e-9 * weighted.max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
@pytest.mark.parametrize("by_role", [False, True])
def test_weights_are_repetitions(kind, reduction, by_role):
    X, y, qid = drawn(2)
    rng = np.random.default_rng(0)
    weight = np.where(qid == qid[0], 0, rng.integers(0, 4, y.size))
    roles = {"winner_weight": (y > 1) * 1.0, "loser_weight": rng.random(y.size)} if by_role else {}
    repeated = np.repeat(np.arange(y.size), weight)
    several = {name: part[repeated] for name, part in roles.items()}
    ranker = RankNCG(covariance=kind, reduction=reduction, tol=1e-9)
    found = ranker.fit(X, y, qid=qid, sample_weight=weight, **roles).coef_cov_
    wanted = ranker.fit(X[repeated], y[repeated], qid=qid[repeated], **several).coef_cov_
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7 * wanted.max())


def test_what_it_cannot_do_is_said_before_any_work():
    X, y, qid = drawn(6)
    wide = sparse.csr_array((150, 20_000))
    for ranker, rows, queries, message in (
        (RankNCG(covariance="queries"), X, None, "pass qid"),
        (RankNCG(covariance="queries"), X, np.zeros(150), "at least two queries"),
        (RankNCG(covariance="rows"), wide, qid, "at most 10000 features"),
    ):
        with pytest.raises(PairrankError, match=message):
            ranker.fit(rows, y, qid=queries)
        assert not hasattr(ranker, "coef_")


def test_very_unequal_weights_leave_it_positive_definite():
    X, y, qid = drawn(8)
    weight = 10.0 ** np.random.default_rng(0).integers(-6, 7, y.size)
    ranker = RankNCG(covariance="rows", alpha=1e-3, tol=1e-8, max_iter=5000)
    ranker.fit(X, y, qid=qid, sample_weight=weight)
    assert np.isfinite(ranker.coef_cov_).all()
    assert (np.linalg.eigvalsh(ranker.coef_cov_) > 0).all()


def test_an_interrupted_fit_does_not_go_on_to_its_covariance(interrupt_at):
    X, y, qid = drawn(11)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker = RankNCG(covariance="rows").fit(X, y, qid=qid, callback=interrupt_at(0))
    assert not hasattr(ranker, "coef_cov_")


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.UndeterminedWarning")
def test_it_stays_semidefinite_where_comparisons_are_few():
    rng = np.random.default_rng(10)
    for _ in range(30):
        X, (i, j) = rng.normal(size=(6, 3)), rng.integers(0, 6, (2, 9))
        pairs = Pairs(i[i != j], j[i != j], n_rows=6)
        found = RankNCG(covariance="rows", reduction="sum").fit(X, pairs).coef_cov_
        eigenvalues = np.linalg.eigvalsh(found)
        assert eigenvalues[0] > -1e-10 * eigenvalues[-1]


def games(seed=0, n_players=10, n_games=1500, n_voters=50, taste=0.0):
    """Return the winners, losers and voters of games, and the voters' mean strengths."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(-1.0, 1.0, n_players)
    voter = rng.integers(0, n_voters, n_games)
    a = rng.integers(0, n_players, n_games)
    b = (a + rng.integers(1, n_players, n_games)) % n_players
    seen = strength + taste * rng.normal(size=(n_voters, n_players))
    won = rng.random(n_games) < 1 / (1 + np.exp(seen[voter, b] - seen[voter, a]))
    return np.where(won, a, b), np.where(won, b, a), voter


@pytest.mark.parametrize("reduction", ["sum", "rows", "query"])
def test_a_whole_weight_is_a_number_of_comparisons(reduction):
    i, j, _ = games(n_players=5, n_games=300)
    tie = np.arange(300) % 4 == 0
    codes = (i * 5 + j) * 2 + tie
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    qid = np.zeros(5)
    ranker = RankNCG(1e-3, covariance="clusters", reduction=reduction, tol=1e-10)
    listed = ranker.fit(np.eye(5), Pairs(i, j, magnitude=~tie * 1.0), qid=qid).coef_cov_
    assert ranker.n_pairs_ == 300
    weighed = Pairs(i[first], j[first], counts, ~tie[first] * 1.0)
    found = ranker.fit(np.eye(5), weighed, qid=qid).coef_cov_
    np.testing.assert_allclose(found, listed, rtol=1e-6, atol=1e-9 * listed.max())


@pytest.mark.parametrize("kind", ["laplace", "clusters"])
def test_errors_of_players_are_those_of_scores_that_sum_to_zero(kind):
    i, j, voter = games()
    pairs, players = Pairs(i, j, groups=voter), np.eye(10)
    small, large = (
        RankNCG(alpha, covariance=kind, tol=1e-10).fit(players, pairs) for alpha in (1e-8, 1e-4)
    )
    np.testing.assert_allclose(small.standard_errors_, large.standard_errors_, rtol=1e-4)
    np.testing.assert_allclose(np.abs(small.flat_directions_), np.full((1, 10), 10**-0.5))
    np.testing.assert_allclose(small.coef_cov_.sum(axis=0), 0.0, atol=1e-12)
    # against a reference: a design of nine players beside the tenth, whose score is 0
    rest = players[:, :9]
    reference = RankNCG(1e-8, covariance=kind, tol=1e-10).fit(rest, pairs)
    found = small.pair_standard_errors(players[:9], players[[9] * 9])
    np.testing.assert_allclose(found, reference.standard_errors_, rtol=1e-5)
    sparse_rows = sparse.csr_array(players)
    again = small.pair_standard_errors(sparse_rows[:9], sparse_rows[[9] * 9])
    np.testing.assert_allclose(again, found, rtol=1e-12)


def test_players_that_never_meet_are_told_apart():
    i, j, _ = games()
    apart = np.where(np.arange(1500) % 2, 0, 10)
    with pytest.warns(UndeterminedWarning, match="not determined"):
        ranker = RankNCG(covariance="laplace").fit(np.eye(21), Pairs(i + apart, j + apart))
    assert ranker.flat_directions_.shape == (3, 21)  # two leagues and a player without a game
    RankNCG(covariance="laplace").fit(np.eye(11), Pairs(i, j, n_rows=11))  # it warns of nothing
    between = ranker.pair_standard_errors(np.eye(21)[[0, 0, 0]], np.eye(21)[[1, 10, 20]])
    assert np.isfinite(between).tolist() == [True, False, False]


def test_a_feature_that_no_pair_depends_on_has_no_finite_error():
    X, y, qid = drawn(14)
    X[:, 1] = qid
    with pytest.warns(UndeterminedWarning, match="constant within queries") as caught:
        ranker = RankNCG(covariance="rows").fit(X, y, qid=qid)
    assert caught[0].filename == __file__, "the warning names the line of the user"
    assert np.isfinite(ranker.standard_errors_).tolist() == [True, False, True]
    without = RankNCG(covariance="rows").fit(X[:, [0, 2]], y, qid=qid)
    np.testing.assert_allclose(ranker.standard_errors_[[0, 2]], without.standard_errors_, rtol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_collinear_and_constant_features_leave_differences_determined(form):
    X, y, _ = drawn(15)
    plain = RankNCG(covariance="rows", tol=1e-8).fit(X, y)
    wide = np.column_stack((X, X[:, 0] * 1e3, np.ones(150)))
    ranker = RankNCG(covariance="rows", tol=1e-8).fit(form(wide), y)  # it warns of nothing
    assert ranker.flat_directions_.shape == (2, 5)
    assert np.isfinite(ranker.standard_errors_).tolist() == [True] * 4 + [False]
    found = ranker.pair_standard_errors(form(wide[:9]), form(wide[9:18]))
    assert np.isfinite(found).all()
    # the prior is weaker along the first feature, which is there twice
    np.testing.assert_allclose(found, plain.pair_standard_errors(X[:9], X[9:18]), rtol=0.05)


def test_by_rows_players_are_refused_and_clusters_of_labels_too():
    i, j, _ = games()
    with pytest.raises(PairrankError, match=r'10 compared rows of 10 features.*"clusters"'):
        RankNCG(covariance="rows").fit(np.eye(10), Pairs(i, j))
    with pytest.raises(PairrankError, match="y holds labels"):
        RankNCG(covariance="clusters").fit(np.eye(3), [0, 1, 2])
    with pytest.raises(PairrankError, match="at least two groups"):
        RankNCG(covariance="clusters").fit(np.eye(10), Pairs(i, j, groups=np.zeros(1500)))
    with pytest.raises(PairrankError, match="there is no covariance"):
        RankNCG().fit(np.eye(10), Pairs(i, j)).pair_standard_errors(np.eye(10), np.eye(10))
    fitted = RankNCG(covariance="laplace").fit(np.eye(10), Pairs(i, j))
    with pytest.raises(PairrankError, match="Xi has 10 rows and Xj 9"):
        fitted.pair_standard_errors(np.eye(10), np.eye(10)[:9])


def test_a_saved_ranker_keeps_its_errors(tmp_path):
    i, j, voter = games()
    pairs = Pairs(i, j, groups=voter, n_rows=11)
    ranker = RankNCG(covariance="clusters").fit(np.eye(11), pairs)
    assert np.isinf(ranker.standard_errors_[10])
    ranker.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for name in ("coef_cov_", "standard_errors_", "flat_directions_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(ranker, name))
    ends = np.eye(11)[[0, 1]], np.eye(11)[[1, 10]]
    np.testing.assert_array_equal(
        loaded.pair_standard_errors(*ends), ranker.pair_standard_errors(*ends)
    )
