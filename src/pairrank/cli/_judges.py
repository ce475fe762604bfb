"""What evaluate judges: models, and files of scores, one per line as predict writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError
from pairrank.cli._rows import load_rows
from pairrank.cli._streaming import Streaming
from pairrank.cli.scoring import Ranker
from pairrank.exceptions import FileFormatError, PairrankError

if TYPE_CHECKING:
    from pairrank.io import Rows


def is_score_file(path: str) -> bool:
    """Whether a file starts with a line that is a number; False for "-" and models."""
    from pairrank.io._streams import open_source
    from pairrank.io.model_file import is_model_file
    from pairrank.io.rows import number

    if path == "-" or is_model_file(path):
        return False
    try:
        with open_source(path) as stream:
            return number(stream.readline(100).decode("utf-8-sig")) is not None
    except (PairrankError, OSError, UnicodeDecodeError):
        return False


class ScoreFile:
    """The scores in a file, in the order of the rows that they judge."""

    estimator = None

    def __init__(self, path: str) -> None:
        self.path = path
        self.values = _read(path)

    def load_rows(self, source: str, columns: options.Columns, pairs: str | None = None) -> Rows:
        """Return the rows of a file; features of CSV and Parquet are not read."""
        return load_rows(source, columns, features=(), pairs=pairs)

    def streamed(
        self, source: str, columns: options.Columns, streaming: Streaming
    ) -> tuple[Any, Rows]:
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


def _read(path: str) -> np.ndarray[Any, Any]:
    """Return the numbers in a file of one number per line; blank lines at its end are ignored."""
    from pairrank.io._streams import read_bytes
    from pairrank.io.rows import is_finite

    lines = read_bytes(path).removeprefix(b"\xef\xbb\xbf").rstrip().splitlines()
    try:
        values = np.array(lines).astype(np.float64)
        if np.isfinite(values).all():
            return values
    except ValueError:
        pass
    for place, line in enumerate(lines, 1):
        text = line.decode(errors="replace").strip()
        if not is_finite(text):
            raise FileFormatError(f"{path}, line {place}: {text!r} is not a finite number")
    return np.array([float(line) for line in lines])


Judge = Ranker | ScoreFile


def judge_of(path: str) -> Judge:
    """Return the model in a file, or the scores in it."""
    return ScoreFile(path) if is_score_file(path) else Ranker(path)


def load_rows_of(
    judges: list[Judge], data: str, columns: options.Columns, pairs: str | None
) -> list[Rows]:
    """Return the rows of a file for each judge; it is read once if they have the same features."""
    rankers = [judge for judge in judges if isinstance(judge, Ranker)]
    if len({features_of(ranker) for ranker in rankers}) > 1:
        if "-" in (data, pairs):
            raise UsageError(
                "The models have different features, so DATA is read twice: name a file."
            )
        return [judge.load_rows(data, columns, pairs) for judge in judges]
    reader: Judge = rankers[0] if rankers else judges[0]
    return [reader.load_rows(data, columns, pairs)] * len(judges)


def features_of(ranker: Ranker) -> tuple[Any, ...]:
    """Return the number of a model's features, what svmlight text counts from, and their names."""
    return ranker.estimator.n_features_in_, ranker.zero_based, *(ranker.names or ())
