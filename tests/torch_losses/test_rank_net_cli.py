"""train --model ranknet: its options, its search, its file, and its help."""

from __future__ import annotations

import inspect

import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

from cli_rows import make_rows  # noqa: E402
from cli_runs import misused, run  # noqa: E402
from pairrank import RankNet, load_model  # noqa: E402
from pairrank.cli._commands import _NOT_OFFERED, options_of  # noqa: E402
from pairrank.cli._models import MODELS  # noqa: E402
from pairrank.io import write_svmlight  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
    return home


def training(folder, tmp_path, *options):
    return ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", "ranknet", *options]


def test_a_search_picks_alpha(folder, tmp_path):
    options = ["--search", "--valid", folder / "valid.txt", "--max-iter", "5", "--solver", "adam"]
    result = run(*training(folder, tmp_path, *options))
    tried = [line for line in result.stderr.splitlines() if line.startswith("alpha ")]
    assert len(tried) == len(MODELS["ranknet"].values())
    assert f"best: alpha {load_model(tmp_path / 'm').alpha:g}, pairwise_accuracy" in result.stderr


def test_every_parameter_that_text_can_give_is_an_option():
    offered = {option.name for option in options_of(MODELS["ranknet"])}
    left_out = {*_NOT_OFFERED, "module", "device"}
    assert offered | {"standardize"} == set(inspect.signature(RankNet).parameters) - left_out
    assert "must be greater than 0" in misused(
        "train", "rows", "-o", "m", "--model", "ranknet", "--learning-rate", "0"
    )
