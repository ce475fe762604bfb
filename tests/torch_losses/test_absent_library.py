"""Without torch, pairrank imports, and its losses for torch say what to install."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
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
    wanted = "losses for torch need torch, which is not installed: pip install 'pairrank[torch]'"
    assert run_without_torch(code) == wanted


def test_every_name_of_the_package_is_imported_without_torch():
    code = "from pairrank import *; import pairrank; print('torch' in dir(pairrank))"
    assert run_without_torch(code) == "True"
