"""The sets of comparisons: answers of language models, and animated pictures."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from pairrank.datasets.files import open_file
from pairrank.datasets.parts import Parts
from pairrank.datasets.record import DatasetRecord
from pairrank.exceptions import FileFormatError
from pairrank.preferences import Pairs

COMPARISONS = (
    DatasetRecord(
        name="gifgif",
        title="GIFGIF: which of two animated pictures expresses more happiness",
        source=(
            "https://lucas.maystre.ch/gifgif-data (MIT Media Lab; collected by L. Maystre), as in "
            "github.com/zhaonanq/choice-Sinkhorn, data/gifgif_raw.txt"
        ),
        licence="not stated with the file",
        target="comparisons, the winner first",
        n_rows=6120,
        n_columns=6120,
        files={
            "gifgif_raw.txt.gz": "4cd4e5cfa880a8b2aac4cca6c69f56e56f82285d53e4a25b411e4e401590881c"
        },
        reader="comparisons_csv",
        settings={"columns": ("winner", "loser")},
        notes="X is the identity: one weight an item",
    ),
    DatasetRecord(
        name="llmfao",
        title="LLMFAO: people compare answers of language models, with ties",
        source="github.com/dustalov/llmfao (D. Ustalov; answers by llmonitor.com)",
        licence="CC BY 4.0",
        target="comparisons; magnitude 0 where they tied",
        n_rows=59,
        n_columns=59,
        files={
            "crowd-comparisons.csv.gz": (
                "106564a4bf06f047a4662979384313c22d9b4ca901e780f9e8419f8e5581adb1"
            )
        },
        reader="comparisons_csv",
        notes="X is the identity: one weight a model",
    ),
)


def load_comparisons_csv(record: DatasetRecord, home: Path) -> Parts:
    """Read comparisons between items; X is the identity, y the Pairs over the items.

    A file names the sides by `winner` and `loser`, or by `left`, `right` and a `winner` that is
    "left", "right" or "tie".
    """
    from scipy import sparse

    (file,) = record.files
    with io.TextIOWrapper(open_file(record, home, file), encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text, record.settings.get("columns")))
    sides = [_sides(row, file, number) for number, row in enumerate(rows, 1)]
    names, items = np.unique([side[:2] for side in sides], return_inverse=True)
    winner, loser = items.reshape(-1, 2).T
    decided = np.array([side[2] for side in sides])
    magnitude = None if decided.all() else decided.astype(np.float64)
    X = sparse.eye_array(names.size, format="csr")
    y = Pairs(winner, loser, magnitude=magnitude, n_rows=names.size)
    return Parts(X, y, None, names.tolist())


def _sides(row: dict[str, str], file: str, number: int) -> tuple[str, str, bool]:
    """Return the winner, the loser, and whether there was one."""
    if "loser" in row:
        return row["winner"], row["loser"], True
    left, right, winner = row["left"], row["right"], row["winner"]
    if winner not in ("left", "right", "tie"):
        raise FileFormatError(f"{file}, row {number}: the winner is {winner!r}: not left or right")
    return (right, left, True) if winner == "right" else (left, right, winner == "left")
