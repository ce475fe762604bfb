"""Readers of the registered formats; `READERS` names them for the registry.

They do not check what files hold: the registry has compared their checksums.
"""

from __future__ import annotations

import html
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pairrank import Pairs
from pairrank.io import read_rows
from reproduction.data.ratings import ratings_table
from reproduction.data.registry import Dataset, DatasetRecord, choose, open_file

_STORY = re.compile(r"<REUTERS(?P<head>[^>]*)>(?P<body>.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TEXTS = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)
_SPLIT = re.compile(r'LEWISSPLIT="(TRAIN|TEST)"')
_NOT_RATED = 99.0


def load_arff(record: DatasetRecord, home: Path) -> Dataset:
    """Read an ARFF file, target last.

    A nominal attribute of numbers becomes one column; one of words becomes a column of 0 and 1 per
    value, in the order of the header. Rows with a missing value are left out.
    """
    from scipy.io import arff

    (file,) = record.files
    rows, header = arff.loadarff(io.TextIOWrapper(open_file(record, home, file)))
    missing = np.zeros(len(rows), dtype=bool)
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for name in header.names():
        _, words = header[name]
        cells = rows[name]
        missing |= np.isnan(cells) if words is None else cells == b"?"
        if words is None or all(_is_number(word) for word in words):
            columns[name] = np.array([np.nan if cell == b"?" else float(cell) for cell in cells])
        else:
            columns |= {f"{name}={word}": (cells == word.encode()) * 1.0 for word in words}
    table = np.column_stack(list(columns.values()))[~missing]
    return Dataset(table[:, :-1].copy(), table[:, -1].copy(), None, list(columns)[:-1], record)


def load_letor_folds(
    record: DatasetRecord, home: Path, *, fold: int = 1, subset: str | None = None
) -> Dataset:
    """Read a fold of LETOR: three parts for training, one for validation, one for testing.

    Without a subset, read all five parts.
    """
    files = list(record.files)
    choose(record, "fold", fold, range(1, len(files) + 1))
    choose(record, "subset", subset, ("train", "valid", "test", None))
    turned = files[fold - 1 :] + files[: fold - 1]
    taken = {"train": turned[:-2], "valid": turned[-2:-1], "test": turned[-1:], None: files}[subset]
    return _read_parts(record, home, taken)


def load_svmlight(record: DatasetRecord, home: Path, *, subset: str | None = None) -> Dataset:
    """Read the files that the settings name by `subset`; without one, the default or all files."""
    subsets = record.settings.get("subsets", {})
    choose(record, "subset", subset, (*subsets, None))
    named = subset or record.settings.get("default")
    return _read_parts(record, home, subsets[named] if named else list(record.files))


def load_comparisons_csv(record: DatasetRecord, home: Path) -> Dataset:
    """Read comparisons between items; X is the identity, y the Pairs over the items.

    A file names the sides by `winner` and `loser`, or by `left`, `right` and a `winner` that is
    "left", "right" or "tie". The setting `groups` names the column of the Pairs' groups.
    """
    import pandas as pd
    from scipy import sparse

    (file,) = record.files
    columns = record.settings.get("columns")
    rows = pd.read_csv(open_file(record, home, file), names=columns, dtype=str)
    decided = np.ones(len(rows), dtype=bool)
    if "loser" not in rows:
        decided = (rows["winner"] != "tie").to_numpy()
        turned = rows["winner"] == "right"
        rows["winner"] = rows["left"].where(~turned, rows["right"])
        rows["loser"] = rows["right"].where(~turned, rows["left"])
    sides = rows[["winner", "loser"]].to_numpy(dtype=str)
    names, items = np.unique(sides, return_inverse=True)
    winner, loser = items.reshape(-1, 2).T
    X = sparse.eye_array(names.size, format="csr")
    voter = record.settings.get("groups")
    groups = None if voter is None else rows[voter].to_numpy(dtype=str)
    magnitude = None if decided.all() else decided.astype(np.float64)
    y = Pairs(winner, loser, magnitude=magnitude, groups=groups, n_rows=names.size)
    return Dataset(X, y, None, names.tolist(), record)


def load_reuters_sgml(
    record: DatasetRecord, home: Path, *, subset: str = "train", topic: str = "earn"
) -> Dataset:
    """Read the SGML files and make tf-idf rows; the label is 1 where a story has the topic."""
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer

    choose(record, "subset", subset, ("train", "test"))
    stories = list(_stories(record, home))
    choose(record, "topic", topic, sorted(set().union(*(topics for _, topics, _ in stories))))
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    X = vectorizer.fit_transform([text for split, _, text in stories if split == "train"])
    kept = [(topics, text) for split, topics, text in stories if split == subset]
    if subset == "test":
        X = vectorizer.transform([text for _, text in kept])
    y = np.array([float(topic in topics) for topics, _ in kept])
    return Dataset(sparse.csr_array(X), y, None, list(vectorizer.get_feature_names_out()), record)


def _stories(record: DatasetRecord, home: Path) -> Iterator[tuple[str, list[str], str]]:
    """Yield part, topics and text of every story in the ModApte split."""
    (file,) = record.files
    with tarfile.open(fileobj=open_file(record, home, file)) as archive:
        for name in sorted(archive.getnames()):
            member = archive.extractfile(name) if name.endswith(".sgm") else None
            for found in _STORY.finditer(member.read().decode("latin-1") if member else ""):
                split = _SPLIT.search(found["head"])
                if split is not None and 'TOPICS="YES"' in found["head"]:
                    listed = _TOPICS.search(found["body"])
                    topics = re.findall(r"<D>(.*?)</D>", listed[1]) if listed else []
                    texts = (html.unescape(part) for _, part in _TEXTS.findall(found["body"]))
                    yield split[1].lower(), topics, "\n".join(texts)


def load_rating_lines(record: DatasetRecord, home: Path) -> Any:
    """Read a user, an item and a rating per line; the settings may drop ratings of 0."""
    import pandas as pd

    (file,) = record.files
    separator = record.settings["separator"]
    rows = pd.read_csv(
        open_file(record, home, file),
        sep=separator,
        engine="c" if len(separator) == 1 else "python",
        header=record.settings.get("header"),
        names=["user", "item", "rating"],
        dtype={"item": str} if record.settings.get("explicit") else None,
        keep_default_na=False,
        encoding="latin-1",
    )
    found = rows[rows["rating"] > 0.0] if record.settings.get("explicit") else rows
    return ratings_table(found["user"], found["item"], found["rating"])


def load_rating_table(record: DatasetRecord, home: Path) -> Any:
    """Read one line per user and one column per item, after a first column of counts."""
    (file,) = record.files
    with zipfile.ZipFile(open_file(record, home, file)) as archive:
        lines = archive.read(record.settings["member"]).decode("ascii").splitlines()
    table = np.loadtxt(lines, delimiter=",", ndmin=2)[:, 1:]
    user, item = np.nonzero(table != _NOT_RATED)
    return ratings_table(user, item, table[user, item])


def _read_parts(record: DatasetRecord, home: Path, files: Any) -> Dataset:
    """Read svmlight files and stack them."""
    from scipy import sparse

    width = record.settings["n_features"]
    parts = [
        read_rows(open_file(record, home, file), n_features=width, zero_based=False)
        for file in files
    ]
    X: Any = sparse.vstack([sparse.csr_array(part.X) for part in parts], format="csr")
    if not record.settings.get("sparse", False):
        X = X.toarray()
    y = np.concatenate([part.y for part in parts if part.y is not None])
    qids = [part.qid for part in parts if part.qid is not None]
    return Dataset(X, y, np.concatenate(qids) if qids else None, None, record)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[..., Any]] = {
    "arff": load_arff,
    "letor_folds": load_letor_folds,
    "svmlight": load_svmlight,
    "reuters_sgml": load_reuters_sgml,
    "comparisons_csv": load_comparisons_csv,
    "lines": load_rating_lines,
    "table": load_rating_table,
}
