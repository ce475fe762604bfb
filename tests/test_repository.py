"""Files beside the package repeat what pyproject.toml says; here they are compared."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import pairrank

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_of(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not part of an installed package")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["CITATION.cff", "conda/recipe.yaml"])
def test_versions_agree(name):
    version = re.search(r'^ *version: "?([^"\n]+)"?$', text_of(name), re.MULTILINE)[1]
    assert version == pairrank.__version__


def test_the_conda_recipe_needs_what_the_project_needs():
    _, _, runs = text_of("conda/recipe.yaml").partition("  run:\n")
    listed = re.findall(r"^    - (\S+) (\S+)$", runs.partition("tests:")[0], re.MULTILINE)
    wanted = [re.match(r"([\w-]+)(.+)", each).groups() for each in PROJECT["dependencies"]]
    assert dict(listed) == {"python": PROJECT["requires-python"], **dict(wanted)}


def test_hosted_tests_run_on_the_oldest_and_the_newest_python():
    versions = re.search(r"python: \[(.*)\]", text_of(".github/workflows/tests.yml"))[1]
    declared = [
        each.rpartition(" ")[2]
        for each in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", each)
    ]
    assert re.findall(r"[\d.]+", versions) == [declared[0], declared[-1]]


def test_every_command_of_the_workflow_is_a_target_of_the_makefile():
    targets = re.findall(r"^([\w-]+):", text_of("Makefile"), re.MULTILINE)
    called = re.findall(r"run: make (\S+)", text_of(".github/workflows/tests.yml"))
    assert called
    assert set(called) <= set(targets)
