"""Tables 2 and 8: what the training sets are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reproduction.papers.lee2014.problems import GENERATED, NAMES, PAPER, SPARSE, Name, describe
from reproduction.study import ANY, Cell, Printed, Quantity, Table

TITLES = {
    "rows": "l",
    "features": "n",
    "nonzeros": "entries per row",
    "levels": "k",
    "queries": "queries",
    "pairs": "p",
    "ratio": "mean k_q / l_q",
}


def _cells(sets: Mapping[str, Name]) -> Iterator[Cell]:
    for row, each in sets.items():
        memory = 12.0 if each.full else 4.0
        yield Cell(row, "", describe, each.settings, full=each.full, memory=memory)


def _table(name: str, title: str, sets: Mapping[str, Name], *values: str) -> Table:
    whole = {row: PAPER[each.of] for row, each in sets.items() if each.part == 1.0}
    return Table(
        name=name,
        title=title,
        cells=tuple(_cells(sets)),
        quantities=tuple(
            Quantity(
                value,
                TITLES[value],
                {(row, ""): Printed(getattr(shape, value)) for row, shape in whole.items()},
                form={"ratio": ".4f", "nonzeros": ".1f"}.get(value, ",.0f"),
                tolerance=5e-5 if value == "ratio" else 0.0,
                not_compared={(row, ANY): GENERATED for row in sets if row != "MQ2008"},
            )
            for value in values
        ),
        row_title="set",
    )


TABLES = (
    _table("2", "training sets", NAMES, "rows", "features", "levels", "queries", "pairs", "ratio"),
    _table("8", "sparse training sets", SPARSE, "rows", "features", "nonzeros", "levels", "pairs"),
)
