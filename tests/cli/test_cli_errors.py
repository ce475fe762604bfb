"""Bad input at the command line: one sentence, exit code 1, no half-written file, no traceback."""

from __future__ import annotations

import pytest

from cli_rows import make_rows
from cli_runs import invoke
from pairrank.io import write_rows, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("errors")
    write_svmlight(home / "rows.txt", make_rows(0))
    write_rows(home / "rows.csv", make_rows(0))
    result = invoke(["train", f"{home}/rows.txt", "-o", f"{home}/model", "-q"])
    assert result.exit_code == 0, result.output
    return home


def test_a_fault_of_ours_is_named_as_one(folder, monkeypatch):
    from pairrank.cli import predict

    def fails(path):
        raise TypeError("unforeseen")

    monkeypatch.setattr(predict, "Ranker", fails)
    arguments = ["predict", str(folder / "model"), str(folder / "rows.txt")]
    result = invoke(arguments)
    assert result.exit_code == 1
    assert "a fault in pairrank, TypeError: unforeseen" in result.stderr
    monkeypatch.setenv("PAIRRANK_DEBUG", "1")
    with pytest.raises(TypeError):
        invoke(arguments)
