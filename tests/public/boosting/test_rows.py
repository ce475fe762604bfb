"""What an objective and a metric are given: data or arrays, queries, weights, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

from boosting_rows import Data, assert_same, rows
from pairrank.boosting import AllPairsObjective, RankingMetric
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.losses import Square
from pairrank.metrics import evaluate


def test_data_and_arrays_and_own_arrays_give_the_same_result():
    y, scores, qid, group, weight = rows()
    wanted = AllPairsObjective(qid=qid)(y, scores, weight)
    assert_same(AllPairsObjective()(scores, Data(y, weight, group)), wanted)
    assert_same(AllPairsObjective()(y, scores, weight, group), wanted)
    assert_same(AllPairsObjective(qid=qid, sample_weight=weight)(y, scores), wanted)
    assert_same(AllPairsObjective(qid=qid)(scores, Data(y, weight, matrix=True)), wanted)
    empty = np.empty(0)
    own = AllPairsObjective(qid=qid, sample_weight=weight)
    assert_same(own(scores, Data(y, empty, empty, matrix=True)), wanted)


def test_queries_of_the_objective_may_come_in_any_order():
    y, scores, qid, _, _ = rows()
    order = np.random.default_rng(1).permutation(30)
    named = np.array([f"q{q}" for q in qid])
    found = AllPairsObjective(qid=named[order])(y[order], scores[order])
    for one, other in zip(found, AllPairsObjective(qid=qid)(y, scores), strict=True):
        np.testing.assert_allclose(one, other[order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reduction", ["auto", "rows", "query"])
def test_a_weight_of_a_query_multiplies_its_rows(reduction):
    y, scores, qid, group, _ = rows()
    of_queries = np.array([0.5, 2.0, 1.0, 3.0, 0.0])
    objective = AllPairsObjective(reduction=reduction)
    plain = objective(y, scores, None, group)
    weighted = objective(scores, Data(y, of_queries, group, matrix=True))
    by_row = of_queries[qid]
    ratio = weighted[1][by_row > 0] / (plain[1] * by_row)[by_row > 0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
    if reduction == "auto":
        assert ratio[0] == pytest.approx(1.0)
    assert not weighted[0][by_row == 0].any()
    _, at_zero = objective(np.zeros(30), Data(y, of_queries, group, matrix=True))
    assert at_zero.sum() == pytest.approx(by_row.sum(), rel=1e-5)
    squares = AllPairsObjective(Square())
    found = squares(scores, Data(y, of_queries, group, matrix=True))
    assert_same(found, squares(y, scores, by_row, group))


def test_weights_of_queries_and_own_weights_of_rows_are_multiplied():
    y, scores, qid, group, weight = rows()
    of_queries = np.array([0.5, 2.0, 1.0, 3.0, 1.5])
    both = AllPairsObjective(sample_weight=weight)(scores, Data(y, of_queries, group, matrix=True))
    alone = AllPairsObjective(qid=qid)(y, scores, weight)
    assert_same(both, [each * of_queries[qid] for each in alone])


def test_predictions_of_one_column_keep_their_shape():
    y, scores, _, _, _ = rows()
    gradient, hessian = AllPairsObjective()(y, scores[:, np.newaxis])
    assert gradient.shape == hessian.shape == (30, 1)
    assert gradient.dtype == hessian.dtype == np.float32
    with pytest.raises(PairrankError, match=r"shape \(30, 2\)"):
        AllPairsObjective()(y, np.zeros((30, 2)))


@pytest.mark.parametrize("name", ["qid", "sample_weight", "winner_weight", "loser_weight"])
@pytest.mark.parametrize("made", [AllPairsObjective, lambda **own: RankingMetric("wmw", **own)])
def test_an_array_of_another_length_is_an_error_with_the_remedy(made, name):
    given = made(**{name: np.ones(10)})
    remedy = r"make one for each set, or give .* with the data, .*Dataset\(.*DMatrix\("
    with pytest.raises(PairrankError, match=f"{name} has 10 entries, but these data have 30 rows"):
        given(*rows()[:2])
    with pytest.raises(PairrankError, match=remedy):
        given(*rows()[:2])


@pytest.mark.parametrize("made", [AllPairsObjective, lambda **own: RankingMetric("wmw", **own)])
def test_what_is_given_twice_is_an_error(made):
    y, scores, qid, group, weight = rows()
    with pytest.raises(PairrankError, match="qid is given twice"):
        made(qid=qid)(scores, Data(y, None, group))
    with pytest.raises(PairrankError, match="sample_weight is given twice"):
        made(sample_weight=weight)(scores, Data(y, weight, group))


def test_bad_parameters_are_refused_before_training():
    for wrong, match in (
        ({"loss": "hing"}, "loss must be one of"),
        ({"graph": "line"}, "graph"),
        ({"reduction": "sum"}, "reduction"),
        ({"eps": 0.0}, "eps must be greater than 0"),
        ({"eps": 2.0}, "eps must be below 1"),
        ({"qid": 5}, "qid"),
        ({"sample_weight": ["a"]}, "sample_weight must hold numbers"),
        ({"loss": Square(), "graph": "chain"}, "takes no graph"),
        ({"loss": Square(), "reduction": "query"}, "takes no graph and no reduction"),
        ({"loss": Square(), "winner_weight": [1.0]}, "winner_weight is not supported"),
    ):
        with pytest.raises(PairrankError, match=match):
            AllPairsObjective(**wrong)


def test_bad_data_are_refused():
    y, scores, _, _, _ = rows()
    for labels, predictions, match in (
        (np.full(30, np.nan), scores, "y_true contains NaN in row 0"),
        (np.ones(30), scores, "one class only"),
        (y, np.append(scores[:-1], np.nan), "prediction of row 29 is nan"),
        (y, np.append(np.inf, scores[1:]), "lower the learning rate"),
        (y, scores[:9], r"shape \(9,\) for 30 rows"),
    ):
        with pytest.raises(PairrankError, match=match):
            AllPairsObjective()(labels, predictions)
    with pytest.raises(PairrankError, match="add up to 30 rows"):
        AllPairsObjective()(y, scores, None, np.array([3, 4]))
    for group in ([31, -1], [15.0, 15.0], ["30"], [[30]]):
        with pytest.raises(PairrankError, match="whole numbers"):
            AllPairsObjective()(y, scores, None, group)
    with pytest.raises(PairrankError, match="no labels"):
        AllPairsObjective()(np.zeros(3), Data(np.empty(0), matrix=True))
    of_weight_0 = Data([0, 1, 1], np.array([0.0, 1.0]), np.array([2, 1]), matrix=True)
    with pytest.raises(NoPairsError, match="weight 0"):
        AllPairsObjective()(np.zeros(3), of_weight_0)


def test_rows_without_a_pair_have_no_gradient_and_no_hessian():
    y, scores = [1, 1, 0, 1], np.array([0.3, 0.1, 0.5, 0.2])
    gradient, hessian = AllPairsObjective(qid=[0, 0, 1, 1])(y, scores)
    assert not gradient[:2].any()
    assert not hessian[:2].any()
    assert (hessian[2:] > 0).all()


def test_changed_data_and_labels_changed_in_place_are_bound_again():
    y, scores, _, group, weight = rows()
    objective, data = AllPairsObjective(), Data(y, None, group)
    first = objective(scores, data)
    assert_same(objective(scores, data), first)
    for name, value in (("label", 2.0 - y), ("weight", weight), ("group", np.array([10, 20]))):
        setattr(data, name, value)
        fresh = AllPairsObjective()(scores, data)
        assert_same(objective(scores, data), fresh)
        assert not np.allclose(fresh[0], first[0])
        first = fresh
    objective(y, scores)
    y[:] = y[::-1].copy()
    assert_same(objective(y, scores), AllPairsObjective()(y, scores))


@pytest.mark.parametrize(
    ("name", "reported", "sign"),
    [
        ("pairwise_accuracy", "neg_pairwise_accuracy", -1.0),
        ("auc", "auc", 1.0),
        ("map", "map", 1.0),
        ("ndcg@10", "ndcg@10", 1.0),
        ("precision@5:relevant_from=2", "precision@5,relevant_from=2", 1.0),
        ("err@10:max_label=4", "neg_err@10,max_label=4", -1.0),
        ("log_loss", "log_loss", 1.0),
        ("msd", "msd", 1.0),
        ("mean_ndcg", "neg_mean_ndcg", -1.0),
    ],
)
def test_a_metric_has_the_value_and_the_direction_that_each_library_expects(name, reported, sign):
    y, scores, qid, group, _ = rows()
    if name == "auc":
        y = (y > 1) * 1.0
    (wanted,) = evaluate(y, scores, [name], qid=qid).values()
    greater = name not in ("log_loss", "msd")
    metric = RankingMetric(name)
    assert metric(scores, Data(y, None, group)) == (name, pytest.approx(wanted), greater)
    assert metric(y, scores, None, group) == (name, pytest.approx(wanted), greater)
    matrix = Data(y, None, group, matrix=True)
    assert metric(scores, matrix) == (reported, pytest.approx(sign * wanted))
    own = RankingMetric(name, qid=qid)
    assert own(y, scores) == pytest.approx(sign * wanted)
    assert own.__name__ == reported


def test_metrics_take_weights_and_options():
    y, scores, qid, group, weight = rows()
    pairs = RankingMetric("pairwise_accuracy")(scores, Data(y, weight, group))[1]
    (wanted,) = evaluate(y, scores, ["pairwise_accuracy"], qid=qid, sample_weight=weight).values()
    assert pairs == pytest.approx(wanted)
    lists = RankingMetric("ndcg@3")(scores, Data(y, weight, group))[1]
    (unweighted,) = evaluate(y, scores, ["ndcg@3"], qid=qid).values()
    assert lists == pytest.approx(unweighted)
    chain = RankingMetric("pairwise_accuracy", graph="chain")(scores, Data(y, None, group))[1]
    full = RankingMetric("pairwise_accuracy")(scores, Data(y, None, group))[1]
    assert chain != full


def test_weights_of_queries_weigh_lists_and_pairs():
    y, scores, qid, group, _ = rows()
    times = np.array([1, 3, 1, 2, 1])
    matrix = Data(y, times.astype(np.float32), group, matrix=True)
    parts = [np.flatnonzero(qid == q) for q in range(5) for _ in range(times[q])]
    again = np.concatenate(parts)
    as_often = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    for name in ("ndcg@3", "wmw", "map"):
        (wanted,) = evaluate(y[again], scores[again], [name], qid=as_often).values()
        value = RankingMetric(name)(scores, matrix)[1]
        assert abs(value) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_metric_without_a_value_and_unknown_metrics_and_options_are_refused():
    with pytest.raises(NoPairsError, match="no value on an evaluation set of 2 rows"):
        RankingMetric("pairwise_accuracy")([1, 1], [0.0, 1.0])
    with pytest.raises(PairrankError, match="there is no metric 'ndgc'"):
        RankingMetric("ndgc")
    with pytest.raises(PairrankError, match="'max_label' is not one of its options"):
        RankingMetric("ndcg@3", max_label=4)
    with pytest.raises(PairrankError, match="sets max_label twice"):
        RankingMetric("err@10:max_label=4", max_label=3)
