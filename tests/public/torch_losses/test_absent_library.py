"""Without torch, pairrank imports, and its losses for torch say what to install."""

from __future__ import annotations

import subprocess
import sys

from cli_rows import make_rows
from model_records import ModelRecord, write_model
from pairrank.io import write_svmlight

WITHOUT = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] == "torch" else find(name, path, target)
PathFinder.find_spec = find_spec
"""


def run_without_torch(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT}\n{code}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


def test_the_error_says_what_to_install():
    code = """
import pairrank
try:
    pairrank.torch
except pairrank.exceptions.MissingLibraryError as error:
    print(error)
"""
    assert run_without_torch(code) == (
        "RankNet and losses for torch need torch, which is not installed: "
        "pip install 'pairrank[torch]'"
    )


def test_every_name_that_the_package_lists_loads_without_torch():
    code = "from pairrank import *; import inspect, pairrank; print(inspect.getmembers(pairrank))"
    assert "RankNCG" in run_without_torch(code)


def test_ranknet_says_what_to_install():
    code = """
import pairrank
try:
    pairrank.RankNet()
except pairrank.exceptions.MissingLibraryError as error:
    print("pip install 'pairrank[torch]'" in str(error))
"""
    assert run_without_torch(code) == "True"


def run_command(*arguments: object) -> tuple[str, int]:
    code = "import sys\nfrom pairrank.cli import main\nsys.argv[1:] = ['"
    code += "', '".join(map(str, arguments)) + "']\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT}\n{code}"], capture_output=True, text=True, timeout=120
    )
    return " ".join(done.stderr.split()), done.returncode


def test_the_command_line_says_what_to_install(tmp_path):
    write_svmlight(tmp_path / "rows", make_rows(0))
    train = ("train", tmp_path / "rows", "-o", tmp_path / "model")
    said, code = run_command(*train, "--model", "ranknet")
    assert said.startswith("pairrank: error: ")
    assert said.endswith("pip install 'pairrank[torch]'")
    assert code == 1
    said, code = run_command(*train, "--model", "rankrls", "--eps", "0.1")
    assert "has no option --eps; it is an option of rankncg, pairwise." in said.replace("│ ", "")
    assert code == 2


def test_a_file_of_a_network_says_what_to_install(tmp_path):
    record = ModelRecord("RankNet", {}, {}, {"n_features_in_": 1})
    write_model(tmp_path / "model", record)
    code = f"""
import pairrank
try:
    pairrank.load_model({str(tmp_path / "model")!r})
except pairrank.exceptions.MissingLibraryError as error:
    print("pairrank[torch]" in str(error))
"""
    assert run_without_torch(code) == "True"
