"""One tiny cell of every table of every paper."""

import pytest

from pairrank.exceptions import MissingLibraryError
from reproduction.data import DatasetNotFoundError
from reproduction.papers import STUDIES, load_study
from reproduction.runner import plain

TABLES = [
    pytest.param(table, id=f"{name}-{table.name}")
    for name in STUDIES
    for table in load_study(name).tables
]


@pytest.mark.parametrize("table", TABLES)
def test_the_tiny_cell_returns_every_quantity(table):
    try:
        values = plain(table.tiny.run(**table.tiny.config))
    except (DatasetNotFoundError, MissingLibraryError) as error:
        pytest.skip(f"absent: {error}")
    assert {quantity.value for quantity in table.quantities} <= set(values)
    for quantity in table.quantities:
        assert values[quantity.value] is not None


@pytest.mark.parametrize("table", TABLES)
def test_cells_have_places_of_their_own(table):
    places = [(cell.row, cell.column) for cell in table.cells]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("table", TABLES)
def test_printed_figures_and_notes_have_a_cell(table):
    rows = {cell.row for cell in table.cells} | {"*"}
    columns = {cell.column for cell in table.cells} | {"*"}
    for quantity in table.quantities:
        for places in (quantity.paper, quantity.reasons, quantity.not_compared):
            assert {row for row, _ in places} <= rows
            assert {column for _, column in places} <= columns


@pytest.mark.parametrize("table", TABLES)
def test_cells_can_be_sent_to_a_process(table):
    for cell in (*table.cells, table.tiny):
        assert "<locals>" not in cell.function
        assert cell.key.startswith(cell.function)
