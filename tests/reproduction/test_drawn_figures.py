"""The pictures of Fung and Lee & Lin are drawn from finished cells."""

import pytest

from reproduction.papers import load_study
from reproduction.study import NotRun, Readings

VALUES = {
    "wmw": [0.7, 0.8],
    "seconds": [0.1, 0.2],
    "distance": [0.5, 1e-3],
    "accuracy": [0.6, 0.7],
    "width": [1.0, 10.0],
    "msd": [2.0, 2.1],
    "misranking": [0.4, 0.45],
    "constant": 2.0,
}
DRAWN = [
    ("fung2006", "fig3"),
    ("lee2014", "fig4"),
    ("lee2014", "fig5"),
    ("lee2014", "fig6"),
    ("lee2014", "fig7"),
]


@pytest.mark.parametrize(("paper", "name"), DRAWN)
def test_a_picture_is_drawn_from_some_cells_but_not_from_none(paper, name):
    pytest.importorskip("matplotlib")
    study = load_study(paper)
    table = next(table for table in study.tables if table.name == name)
    records = {cell.digest: {"status": "done", "values": VALUES} for cell in table.cells[::2]}
    figure = table.draw(Readings(study, records))
    assert any(axes.has_data() for axes in figure.axes)
    with pytest.raises(NotRun):
        table.draw(Readings(study, {}))
