""" "Which ranker?" and the verdicts: every figure comes from the results, present or missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="directives need Sphinx")
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives, roles

from reproduction.papers import STUDIES, load_study
from reproduction.study import write_records

DOCS = Path(__file__).resolve().parents[1] / "docs"


def write_results(folder):
    """Write results in which every cell is done, with two numbers for each quantity."""
    for name in STUDIES:
        found = {}
        for table in load_study(name).tables:
            values = {quantity.value: [0.25, 0.75] for quantity in table.quantities}
            for cell in table.cells:
                record = {"function": cell.function, "config": cell.config, "status": "done"}
                found.setdefault(cell.key, record | {"values": {"low": 0.1, "high": 0.9}})
                found[cell.key]["values"] |= values
        write_records(folder / f"{name}.json", found)


@pytest.fixture
def empty(helper, tmp_path):
    """Return a reproduction in which no cell has run."""
    return helper("reproduced").Found(tmp_path)


@pytest.fixture
def full(helper, tmp_path, monkeypatch):
    """Return a reproduction in which every cell has run, and every claim holds."""
    write_results(tmp_path)
    found = helper("reproduced").Found(tmp_path)

    def verdict(self, study, text):
        claims = {claim.text for claim in self.studies[study].claims}
        assert text in claims
        return "holds", "so it is"

    monkeypatch.setattr(type(found), "verdict", verdict)
    return found


def test_every_sentence_has_its_cells_and_no_figure_is_typed(helper, full):
    for line in helper("decisions").LINES:
        assert not re.search(r"\d", f"{line.situation} {line.take}"), line
        for measure in line.measured:
            assert measure(full).endswith("."), line.situation


@pytest.fixture
def built(helper, monkeypatch):
    """Return a function that builds a page from a reproduction."""
    extension = helper("extension")
    for name in ("decisions", "verdicts", "measurements"):
        directives.register_directive(name, extension.DIRECTIVES[name])
    roles.register_local_role("doc", lambda *given: ([nodes.emphasis("", given[2])], []))

    def build(text, found):
        monkeypatch.setattr(extension.reproduced, "Found", lambda: found)
        tree = publish_doctree(text, settings_overrides={"report_level": 2, "halt_level": 2})
        assert not list(tree.findall(nodes.system_message))
        return tree

    return build


@pytest.mark.parametrize("state", ["empty", "full"])
def test_pages_are_built_whatever_has_run(built, helper, request, state):
    found = request.getfixturevalue(state)
    page = built(".. decisions::\n", found)
    assert ("Not measured yet." in page.astext()) == (state == "empty")
    assert len(list(page.findall(nodes.row))) == len(helper("decisions").LINES) + 1
    tables = built("Title\n=====\n\n.. measurements::\n", found)
    names = [name for row in tables.findall(nodes.row) for name in row["ids"]]
    assert len(names) == len(set(names))
    assert (len(names) > 80) == (state == "full")
    shown = tables.astext()
    assert ("0.50 ± 0.35" in shown) == (state == "full")


def test_committed_verdicts_are_those_of_the_page(built, helper):
    page = (DOCS.parent / "REPRODUCTION.md").read_text("utf-8")
    shown = built(".. verdicts::\n", helper("reproduced").Found()).astext()
    counts = [page.count(f"| **{word}** |") for word in ("holds", "does not hold", "not run")]
    assert [int(each) for each in re.findall(r"\d+", shown)] == [sum(counts), *counts]
