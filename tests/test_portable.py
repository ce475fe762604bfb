"""The scripts behind make test-portable and make test-lowest."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

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
