"""What judges rows: a model file, or a file of scores, one per line as predict writes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from pairrank._validation import names_matched
from pairrank.cli._errors import UsageError, named
from pairrank.cli._options import Columns
from pairrank.cli._output import Progress
from pairrank.cli._rows import JUDGING, Wanted, is_streamed, load_rows, rows_in, stream_rows
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import Rows
from pairrank.io._streams import read_bytes
from pairrank.io.model_file import is_model_file
from pairrank.io.rows import is_finite, number


class Ranker:
    """A model from a file; features of rows are matched by name or position."""

    def __init__(self, path: str) -> None:
        from pairrank.estimators.model_files import read_ranker

        self.estimator, columns, zero_based = read_ranker(path)
        names = getattr(self.estimator, "feature_names_in_", None)
        features = None if names is None else [str(name) for name in names]
        n_features = int(self.estimator.n_features_in_)
        self.wanted = Wanted(n_features, features, zero_based, columns)

    def streamed(
        self, source: str, columns: Columns, roles: Collection[str] = JUDGING
    ) -> tuple[Rows, Any]:
        """Return the rows of files, without features, and their scores, in one pass."""
        with Progress(f"reading {source}", quiet=False) as line:
            blocks = stream_rows(source, columns, line, self.wanted, roles)
            scores, labels = blocks._scored(self.estimator, labelled=bool(roles))
        return rows_in(blocks, labels), scores

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row, higher is better."""
        with names_matched():
            return np.asarray(self.estimator.predict(rows.X), dtype=np.float64)


class ScoreFile:
    """The scores in a file, in the order of the rows that they judge, of which X is not read."""

    estimator = None
    wanted = Wanted(features=())

    def __init__(self, path: str, lines: list[str]) -> None:
        for place, line in enumerate(lines, 1):
            if not is_finite(line):
                raise FileFormatError(f"{path}, line {place}: {line!r} is not a finite number")
        self.path = path
        self.values = np.array(lines, dtype=np.float64)

    def streamed(self, source: str, columns: Columns) -> Any:
        """Refuse rows that are read block by block."""
        raise UsageError(f"{self.path} is a file of scores: leave out --stream.")

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row."""
        if self.values.size != rows.X.shape[0]:
            raise PairrankError(
                f"{self.path} holds {self.values.size:,} scores for {rows.X.shape[0]:,} rows: give "
                "one line per row, in the order of the rows"
            )
        return self.values


Judge = Ranker | ScoreFile


def judge_of(path: str) -> Judge:
    """Return the model in a file, or the scores in a file whose first line is a number."""
    if path != "-" and not is_model_file(path):
        text = read_bytes(path).decode("utf-8-sig", errors="replace")
        lines = [line.strip() for line in text.rstrip().splitlines()]
        if lines and number(lines[0]) is not None:
            return ScoreFile(path, lines)
    return Ranker(path)


def rows_of(
    judges: Sequence[Judge], data: str, columns: Columns, pairs: str | None = None
) -> list[Rows]:
    """Return the rows of a file for each judge; it is read once if they have the same features."""
    rankers = [judge for judge in judges if isinstance(judge, Ranker)] or judges[:1]
    first, *others = (judge.wanted for judge in rankers)
    if all(each[:3] == first[:3] for each in others):
        return [load_rows(data, columns, first, pairs=pairs)] * len(judges)
    if "-" in (data, pairs):
        raise UsageError("The models have different features, so DATA is read twice: name a file.")
    return [load_rows(data, columns, judge.wanted, pairs=pairs) for judge in judges]


def judged(
    judges: Sequence[Judge], data: str, columns: Columns, pairs: str | None
) -> tuple[Rows, list[Any]]:
    """Return the rows of DATA, and their scores by each judge."""
    refused = {"--pairs": pairs, "--docid": columns["docid"]}
    if is_streamed(data, columns, refused):
        found = [judge.streamed(data, columns) for judge in judges]
        return found[0][0], [scores for _, scores in found]
    loaded = rows_of(judges, data, columns, pairs)
    with named(data):
        return loaded[0], [judge.scores(rows) for judge, rows in zip(judges, loaded, strict=True)]
