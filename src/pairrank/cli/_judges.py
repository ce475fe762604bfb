"""What judges rows: a model file, or a file of scores, one per line as predict writes them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pairrank.cli._columns import JUDGING, has_names, recalled, with_format, with_origin
from pairrank.cli._errors import UsageError, named
from pairrank.cli._options import Columns
from pairrank.cli._progress import Progress
from pairrank.cli._rows import Streaming, check_files, is_streamed, load_rows, rows_in, stream_rows
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import Rows
from pairrank.io._streams import open_source, read_bytes
from pairrank.io.model_file import is_model_file
from pairrank.io.rows import is_finite, number


@contextmanager
def rows_without_names() -> Iterator[None]:
    """Leave out scikit-learn's warning of rows without names: files were matched by name before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class Ranker:
    """A model from a file; it reads rows with features matched by name or position."""

    def __init__(self, path: str) -> None:
        from pairrank.estimators.model_files import read_ranker

        self.estimator, self.columns, self.zero_based = read_ranker(path)
        names = getattr(self.estimator, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]

    @property
    def features(self) -> tuple[Any, ...]:
        """The number of features, what svmlight text counts from, and their names."""
        return self.estimator.n_features_in_, self.zero_based, *(self.names or ())

    def rows(
        self,
        source: str,
        columns: Columns,
        pairs: str | None = None,
        *,
        recall: Collection[str] = JUDGING,
        docids: bool = False,
    ) -> Rows:
        """Return the rows of a file with the model's features, in the model's order.

        Columns that no option names are those of the training, if their role is in `recall`.
        """
        check_files(source, pairs, columns["query_sizes"])
        asked = self._asked(source, columns, recall, pairs=pairs is not None)
        with with_origin(asked, columns):
            return load_rows(
                source,
                asked,
                n_features=int(self.estimator.n_features_in_),
                features=self.names,
                zero_based=self.zero_based,
                pairs=pairs,
                docids=docids,
            )

    def streamed(
        self,
        source: str,
        columns: Columns,
        memory_limit: float | None,
        recall: Collection[str] = JUDGING,
    ) -> tuple[Rows, Any]:
        """Return the rows of files, without features, and their scores, in one pass."""
        asked = self._asked(source, with_format(source, columns), recall)
        with Progress(f"reading {source}", quiet=False) as line:
            with with_origin(asked, columns):
                blocks = stream_rows(source, asked, memory_limit, line, features=self.names)
            scores, labels = blocks._scored(self.estimator, labelled=bool(recall))
        return rows_in(blocks, labels), scores

    def _asked(
        self, source: str, columns: Columns, recall: Collection[str], *, pairs: bool = False
    ) -> Columns:
        """Return the options of columns, with those of the training where they are left out."""
        if not has_names(source, columns):
            return columns
        known = {role: name for role, name in self.columns.items() if role in recall}
        return recalled(columns, known, pairs=pairs)

    def scores(self, rows: Rows) -> Any:
        """Return the score of each row, higher is better."""
        with rows_without_names():
            return np.asarray(self.estimator.predict(rows.X), dtype=np.float64)


class ScoreFile:
    """The scores in a file, in the order of the rows that they judge."""

    estimator = None

    def __init__(self, path: str) -> None:
        self.path = path
        self.values = _read(path)

    def rows(self, source: str, columns: Columns, pairs: str | None = None) -> Rows:
        """Return the rows of a file; features of CSV and Parquet are not read."""
        return load_rows(source, columns, features=(), pairs=pairs)

    def streamed(self, source: str, columns: Columns, memory_limit: float | None) -> Any:
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
    if path == "-" or is_model_file(path):
        return Ranker(path)
    try:
        with open_source(path) as stream:
            is_number = number(stream.readline(100).decode("utf-8-sig")) is not None
    except (PairrankError, OSError, UnicodeDecodeError):
        is_number = False
    return ScoreFile(path) if is_number else Ranker(path)


def _read(path: str) -> np.ndarray[Any, Any]:
    """Return the numbers in a file of one number per line; blank lines at its end are ignored."""
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


def rows_of(
    judges: Sequence[Judge], data: str, columns: Columns, pairs: str | None = None
) -> list[Rows]:
    """Return the rows of a file for each judge; it is read once if they have the same features."""
    rankers = [judge for judge in judges if isinstance(judge, Ranker)]
    if len({ranker.features for ranker in rankers}) > 1:
        if "-" in (data, pairs):
            raise UsageError(
                "The models have different features, so DATA is read twice: name a file."
            )
        return [judge.rows(data, columns, pairs) for judge in judges]
    reader: Judge = rankers[0] if rankers else judges[0]
    return [reader.rows(data, columns, pairs)] * len(judges)


def judged(
    judges: Sequence[Judge], data: str, columns: Columns, pairs: str | None, streaming: Streaming
) -> tuple[Rows, list[Any]]:
    """Return the rows of DATA, and their scores by each judge."""
    if is_streamed(data, columns, streaming, {"--pairs": pairs, "--docid": columns["docid"]}):
        found = [judge.streamed(data, columns, streaming.memory_limit) for judge in judges]
        return found[0][0], [scores for _, scores in found]
    loaded = rows_of(judges, data, columns, pairs)
    with named(data):
        return loaded[0], [judge.scores(rows) for judge, rows in zip(judges, loaded, strict=True)]
