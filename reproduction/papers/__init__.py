"""The papers: one module each, with a `STUDY`."""

from importlib import import_module

from reproduction.study import Study

STUDIES = {
    "raykar2007": "reproduction.papers.raykar2007",
    "fung2006": "reproduction.papers.fung2006",
    "lee2014": "reproduction.papers.lee2014",
    "airola2010": "reproduction.papers.airola2010",
    "cortes2007": "reproduction.papers.cortes2007",
    "beyond": "reproduction.papers.beyond",
}
"""The modules by the names that ``--paper`` takes, in the order of the page."""


def load_study(name: str) -> Study:
    """Return the study of a paper."""
    study: Study = import_module(STUDIES[name]).STUDY
    return study
