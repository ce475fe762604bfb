"""Without torch, pairrank imports, and what needs torch says what to install."""

from __future__ import annotations

import inspect
import json
import sys
import zipfile

import pytest

import pairrank
from cli_rows import make_rows
from cli_runs import misused, refused
from pairrank.exceptions import MissingLibraryError
from pairrank.io import write_rows


@pytest.fixture(autouse=True)
def without_torch(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("pairrank.torch"):
            monkeypatch.delitem(sys.modules, name)
    for name in ("torch", "RankNet"):
        monkeypatch.delitem(vars(pairrank), name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)


def test_the_error_says_what_to_install(tmp_path):
    header = {"format": "pairrank-model", "version": 2, "estimator": "RankNet"}
    header |= {"params": {}, "info": {"n_features_in_": 1}, "arrays": []}
    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        archive.writestr("model.json", json.dumps(header))
    for needs_torch in (
        lambda: pairrank.torch,
        lambda: pairrank.RankNet(),
        lambda: pairrank.load_model(tmp_path / "model"),
    ):
        with pytest.raises(MissingLibraryError, match=r"torch.* pip install 'pairrank\[torch\]'"):
            needs_torch()


def test_every_other_name_loads():
    assert {"RankNCG", "BradleyTerry"} <= dict(inspect.getmembers(pairrank)).keys()
    for name in pairrank.__all__:
        getattr(pairrank, name)


def test_the_command_line_says_what_to_install(tmp_path):
    write_rows(tmp_path / "rows", make_rows(0), format="svmlight")
    train = ("train", tmp_path / "rows", "-o", tmp_path / "model")
    assert refused(*train, "--model", "ranknet").endswith("pip install 'pairrank[torch]'")
    said = misused(*train, "--model", "rankrls", "--eps", "0.1")
    assert "has no option --eps; it is an option of rankncg, pairwise." in said
