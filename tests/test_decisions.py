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


def test_lines_without_cells_say_so_or_rest_on_benchmarks(helper, empty):
    decisions = helper("decisions")
    shown = {line.situation: decisions.reasons(line, empty) for line in decisions.LINES}
    assert shown["Censored times"] == [decisions.NOT_YET]
    for sentences in shown.values():
        assert sentences == [decisions.NOT_YET] or all(":doc:" in each for each in sentences)


def test_columns_that_have_not_run_are_left_out(helper, full):
    study = full.studies["cortes2007"]
    boost = next(cell for cell in study.table("1").cells if cell.column == "RankBoost")
    show = helper("measures").beside("cortes2007", "1", boost.row, "msd", "MSD", "MPRank", "SVRank")
    other = helper("measures").beside(
        "cortes2007", "1", boost.row, "msd", "MSD", "MPRank", "RankBoost", "SVRank"
    )
    study.records.pop(boost.key)
    assert show(full) == other(full)
    assert show(full).endswith(", MSD: MPRank 0.50 ± 0.35, SVRank 0.50 ± 0.35.")


def test_names_of_no_cell_are_errors(helper, empty):
    measures = helper("measures")
    with pytest.raises(KeyError, match="no cell 'nowhere'"):
        measures.beside("beyond", "conditions", "nowhere", "accuracy", "", "ridge")(empty)
    with pytest.raises(KeyError, match="no column 'nobody'"):
        measures.mean_gain("beyond", "survival", "concordance", "", "RankSVM", "nobody")(empty)


def test_links_lead_to_rows_of_the_page_of_measurements(helper, full):
    reproduced, decisions = helper("reproduced"), helper("decisions")
    known = {
        reproduced.row_id(study, name, row)
        for study, name in decisions.SHOWN
        for row in full.table(study, name)[0].rows
    }
    claims = {
        reproduced.claim_id(name, claim.text)
        for name in STUDIES
        for claim in load_study(name).claims
    }
    linked = set()
    for line in decisions.LINES:
        for sentence in decisions.reasons(line, full):
            linked |= set(re.findall(r"<(\w+\.html)#([^>]+)>", sentence))
    assert {place for page, place in linked if page == reproduced.PAGE} <= known
    assert {place for page, place in linked if page == reproduced.VERDICTS} <= claims
    assert len(linked) > 20


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


def ids_of(tree):
    """Return the identifiers of rows of tables."""
    return [name for row in tree.findall(nodes.row) for name in row["ids"]]


@pytest.mark.parametrize("state", ["empty", "full"])
def test_pages_are_built_whatever_has_run(built, helper, request, state):
    found = request.getfixturevalue(state)
    page = built(".. decisions::\n", found)
    assert ("Not measured yet." in page.astext()) == (state == "empty")
    assert len(list(page.findall(nodes.row))) == len(helper("decisions").LINES) + 1
    tables = built("Title\n=====\n\n.. measurements::\n", found)
    names = ids_of(tables)
    assert len(names) == len(set(names))
    assert (len(names) > 80) == (state == "full")
    shown = tables.astext()
    assert ("0.50 ± 0.35" in shown) == (state == "full")


def test_verdicts_of_every_paper_are_shown_with_their_figures(built, empty):
    text = (DOCS / "reproduction.rst").read_text("utf-8")
    assert re.findall(r"^\.\. verdicts:: (\w+)$", text, re.MULTILINE) == list(STUDIES)
    for name in STUDIES:
        page = built(f".. verdicts:: {name}\n", empty)
        claims = load_study(name).claims
        assert len(ids_of(page)) == len(claims) == page.astext().count("not run")
    n_claims = sum(len(load_study(name).claims) for name in STUDIES)
    count = built(".. verdicts::\n", empty).astext()
    assert count == f"Of {n_claims} claims 0 hold, 0 do not hold, and {n_claims} are not run."


def test_committed_verdicts_are_those_of_the_page(built, helper):
    page = (DOCS.parent / "REPRODUCTION.md").read_text("utf-8")
    shown = built(".. verdicts::\n", helper("reproduced").Found()).astext()
    counts = [page.count(f"| **{word}** |") for word in ("holds", "does not hold", "not run")]
    assert [int(each) for each in re.findall(r"\d+", shown)] == [sum(counts), *counts]


def test_entries_show_the_paper_after_ours(helper):
    extension = helper("extension")
    assert extension.as_shown("1.9 ± 0.1 ✓<br>_2.0_") == "1.9 ± 0.1 ✓ *(paper: 2.0)*"
    assert extension.as_shown("<br>_★_") == "*(paper: ★)*"
    assert extension.as_shown("a_b") == "a\\_b"
    prose = helper("reproduced").prose
    assert prose("run by --full, `a_b` and c_d") == "run by ``--full``, ``a_b`` and c\\_d"
