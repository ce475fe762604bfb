"""The papers: one module each, with a `STUDY`."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from reproduction.study import Study, read_records

STUDIES = {
    name: f"reproduction.papers.{name}"
    for name in ("raykar2007", "fung2006", "lee2014", "airola2010", "cortes2007", "beyond")
}
"""The modules by the names that ``--paper`` takes, in the order of the page."""

RESULTS = Path(__file__).resolve().parents[1] / "results"
"""Finished cells, one file per paper."""


def load_study(name: str, results: Path = RESULTS) -> Study:
    """Return the study of a paper with the records in a folder that are of its cells."""
    study: Study = import_module(STUDIES[name]).STUDY
    known = {cell.key for table in study.tables for cell in table.cells}
    records = read_records(results / f"{name}.json")
    return replace(study, records={key: records[key] for key in records.keys() & known})
