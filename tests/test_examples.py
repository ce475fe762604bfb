"""Every example runs, and shows what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from cli_runs import run
from pairrank.io import read_rows

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name):
    path = EXAMPLES / f"{name}.py"
    if not path.exists():
        pytest.skip("the examples are not part of an installed package")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_search_ranker_does_better_than_any_order_by_chance(capsys):
    ndcg = load("search_engine").main()
    assert ndcg["test"] > 0.6
    assert "weights" in capsys.readouterr().out


def test_a_model_of_pairs_has_the_auc_of_a_model_of_rows(capsys):
    auc = load("auc").main()
    assert auc["pairs"] > auc["rows"] - 0.01
    assert "AUC" in capsys.readouterr().out


def test_an_order_graph_is_learned_from_by_both_rankers(capsys):
    accuracy = load("order_graph").main()
    assert min(accuracy.values()) > 0.85
    assert "other above healthy" in capsys.readouterr().out


def test_magnitudes_are_kept_by_the_rankers_that_learn_them(capsys):
    found = load("magnitudes").main()
    assert found["MPRank"][1] < 0.9 * found["RankSVM"][1]
    assert found["MPRank"][0] > 0.65
    assert "differences are off" in capsys.readouterr().out


def test_ratings_from_votes_are_those_of_the_command_line(capsys, tmp_path):
    example = load("ratings_from_votes")
    example.main()
    printed = capsys.readouterr().out
    assert "Aurora" in printed.splitlines()[1]
    assert "served first" in printed
    options = ["--tie", "tie", "--ties", "davidson", "--group", "taster", "--scale", "elo"]
    output = tmp_path / "ranking.csv"
    run("ratings", example.VOTES, *options, "--covariate", "served_first", "-o", output)
    assert output.read_text(encoding="utf-8").splitlines()[1].startswith('"Aurora"')


def test_survival_times_are_ranked_better_than_by_chance(capsys):
    found = load("survival_times").main()
    assert min(found.values()) > 0.55
    assert "Uno" in capsys.readouterr().out


@pytest.mark.extras
def test_trees_that_learn_from_pairs_have_the_auc_of_trees_of_rows(capsys):
    pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")
    auc = load("boosting_all_pairs").main()
    assert auc["pairs"] > auc["rows"] - 0.01
    assert "AUC" in capsys.readouterr().out


def test_the_example_of_boosted_trees_says_what_to_install(capsys, monkeypatch):
    example = load("boosting_all_pairs")
    monkeypatch.setattr(example, "lightgbm", None)
    assert example.main() is None
    assert "pip install 'pairrank[lightgbm]'" in capsys.readouterr().out


def test_the_data_of_the_examples_are_what_their_maker_writes(tmp_path, monkeypatch):
    maker = load("make_data")
    shipped = maker.HERE
    monkeypatch.setattr(maker, "HERE", tmp_path)
    maker.main()
    assert {each.name for each in shipped.iterdir()} == {
        "votes.csv", *(each.name for each in tmp_path.iterdir())
    }  # fmt: skip
    for name in ("train.txt", "vali.txt", "test.txt"):
        made, kept = (read_rows(folder / name) for folder in (tmp_path, shipped))
        assert made.X.shape == kept.X.shape
        assert made.comments == kept.comments
