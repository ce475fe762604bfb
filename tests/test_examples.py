"""Every example runs, and shows what it says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from cli_runs import run
from pairrank.io import read_rows

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
if not EXAMPLES.exists():
    pytest.skip("the examples are not part of an installed package", allow_module_level=True)


@pytest.fixture(autouse=True)
def pyplot(monkeypatch):
    """Pictures are drawn into memory, and closed after the test."""
    matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield pyplot
    pyplot.close("all")


def names_of(name):
    """Run an example and return its variables."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_an_example_begins_with_a_title_for_the_gallery():
    for path in set(EXAMPLES.glob("*.py")) - {EXAMPLES / "make_data.py"}:
        title, line = path.read_text(encoding="utf-8").removeprefix('"""').splitlines()[:2]
        assert set(line) == {"="}
        assert len(line) >= len(title)


SHOWN = {
    "search_engine": ("weights", lambda names: names["ndcg"]["test"] > 0.6),
    "auc": ("AUC", lambda names: names["auc"]["pairs"].mean() > names["auc"]["rows"].mean() - 0.01),
    "order_graph": ("other above healthy", lambda names: min(names["accuracy"].values()) > 0.85),
    "magnitudes": ("differences are off", lambda names: names["found"]["MPRank"][0] > 0.65),
    "films_by_user": (
        "pairs of films in order",
        lambda names: sum(names["by_ranker"]) > 1.1 * sum(names["by_means"]),
    ),
    "survival_times": ("Uno", lambda names: min(names["concordance"].values()) > 0.55),
}
"""What an example prints, and what its variables show."""


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_what_it_says(name, capsys, pyplot):
    said, holds = SHOWN[name]
    assert holds(names_of(name))
    assert said in capsys.readouterr().out
    assert pyplot.get_fignums()


def test_ratings_from_votes_are_those_of_the_command_line(capsys, tmp_path):
    votes = names_of("ratings_from_votes")["VOTES"]
    printed = capsys.readouterr().out
    assert "Aurora" in printed.splitlines()[1]
    assert "served first" in printed
    options = ["--tie", "tie", "--ties", "davidson", "--group", "taster", "--scale", "elo"]
    output = tmp_path / "ranking.csv"
    run("ratings", votes, *options, "--covariate", "served_first", "-o", output)
    assert output.read_text(encoding="utf-8").splitlines()[1].startswith('"Aurora"')


def test_weighted_clicks_find_the_relevant_rows(capsys, pyplot):
    names_of("position_biased_clicks")["main"]()
    assert "weighted" in capsys.readouterr().out
    assert pyplot.get_fignums()


@pytest.mark.extras
def test_trees_that_learn_from_pairs_have_the_auc_of_trees_of_rows(capsys):
    pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")
    auc = names_of("boosting_all_pairs")["main"]()
    assert auc["pairs"] > auc["rows"] - 0.01
    assert "AUC" in capsys.readouterr().out


def test_the_example_of_boosted_trees_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert names_of("boosting_all_pairs")["main"]() is None
    assert "pip install 'pairrank[lightgbm]'" in capsys.readouterr().out


def test_the_data_of_the_examples_are_what_their_maker_writes(tmp_path, monkeypatch):
    main, shipped = names_of("make_data")["main"], EXAMPLES / "data"
    monkeypatch.setitem(main.__globals__, "HERE", tmp_path)
    main()
    assert {each.name for each in shipped.iterdir()} == {
        "votes.csv", *(each.name for each in tmp_path.iterdir())
    }  # fmt: skip
    for name in ("train.txt", "vali.txt", "test.txt"):
        made, kept = (read_rows(folder / name, docid="docid") for folder in (tmp_path, shipped))
        assert made.X.shape == kept.X.shape
        assert made.docid.tolist() == kept.docid.tolist()
