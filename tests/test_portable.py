"""The scripts behind make test-portable and make test-lowest."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import portable

ROOT = Path(__file__).resolve().parents[1]


def test_a_setting_fails_if_its_planted_index_or_its_tests_do(monkeypatch):
    asked = []

    def answers(status):
        def run(command, env, **_):
            asked.append((command[3:], env))
            return subprocess.CompletedProcess(command, status(command))

        return run

    bounds = portable.settings()["bounds"]
    for failing, runs in (("planted", 1), ("tests/test_x.py", 2), ("nothing", 2)):
        asked.clear()
        monkeypatch.setattr(subprocess, "run", answers(lambda command, f=failing: f in command))
        assert portable.run("bounds", bounds, ["tests/test_x.py"]) == (failing == "nothing")
        assert len(asked) == runs
        assert asked[0][1]["NUMBA_BOUNDSCHECK"] == "1"
        assert asked[0][1]["NUMBA_CACHE_DIR"] == asked[-1][1]["NUMBA_CACHE_DIR"]


def test_settings_are_named_and_others_refused(capsys):
    assert portable.main(["--list"]) == 0
    assert "NUMBA_CPU_NAME='generic'" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        portable.main(["no-such-setting"])


def test_a_setting_that_the_processor_lacks_is_listed_and_not_run(monkeypatch, capsys):
    monkeypatch.setattr(portable, "threadpool_info", list)
    monkeypatch.setattr(subprocess, "run", None)
    assert portable.settings()["Haswell"].obstacle == portable.IMPOSSIBLE
    assert portable.main(["--list"]) == 0
    assert "Haswell not on this processor" in capsys.readouterr().out
    assert portable.main(["Haswell"]) == 0
    assert "not on this processor" in capsys.readouterr().out


def test_kernels_of_blas_that_another_setting_has_are_not_run_again(monkeypatch):
    chosen = {"plain": "SkylakeX", "Zen": "Haswell"}

    def kernels_for(OPENBLAS_CORETYPE="plain"):
        return chosen.get(OPENBLAS_CORETYPE, OPENBLAS_CORETYPE)

    monkeypatch.setattr(portable, "threadpool_info", lambda: [{"internal_api": "openblas"}])
    monkeypatch.setattr(portable, "__cpu_features__", {"AVX2": True, "AVX512_SKX": True})
    monkeypatch.setattr(portable, "kernels_for", kernels_for)
    known = portable.settings()
    assert known["Haswell"].obstacle == known["Prescott"].obstacle == ""
    assert known["Zen"].obstacle == "BLAS as in Haswell"
    assert known["SkylakeX"].obstacle == "BLAS as in plain"


def test_every_requirement_is_printed_at_its_lowest_version():
    done = subprocess.run(
        [sys.executable, "tests/lowest.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = dict(line.split("==") for line in done.stdout.splitlines())
    for requirement in project["dependencies"]:
        name, version = requirement.partition(",")[0].split(">=")
        assert lowest[name] == version
    assert "pytest" in lowest
    assert "pairrank" not in lowest
