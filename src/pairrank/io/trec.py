"""TREC runs and qrels: scores and judgements by query and document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pairrank._protocols import Array
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import AnyFile, open_target, writes
from pairrank.io.rows import names_of

Run = dict[str, dict[str, float]]
"""Scores by query and document."""
Qrels = dict[str, dict[str, int]]
"""Grades of relevance by query and document."""

_DOCID = re.compile(r"\bdocid\s*[=:]\s*(\S+)|^\s*(?!docid\s*[=:])(\S+)\s*$", re.IGNORECASE)
"""A document identifier in a comment: `docid = X`, or a single word."""


def documents_of(
    file: str, comments: Sequence[str], first_row: int = 0, is_named: bool | None = None
) -> Array | None:
    """Return the document identifiers in the comments of some rows of a file; None: there are none.

    A comment has the identifier X if it holds `docid = X`, as LETOR's do, or is the single word X.
    `is_named` says whether the rows before have identifiers, if there are any.
    """
    found = [_DOCID.search(comment) for comment in comments]
    is_named = found[0] is not None if is_named is None else is_named
    for row, match in enumerate(found, start=first_row):
        if (match is not None) != is_named:
            raise FileFormatError(
                f"{file}: the comment of row {row} (from 0) has {'no' if is_named else 'a'} "
                "document identifier, unlike those before it; write '# docid = X' after every "
                "row, or after none"
            )
    ids = [match[1] or match[2] for match in found if match is not None]
    return names_of(file, "docid", ids) if is_named else None


def to_run(qid: Any, docid: Any, scores: Any) -> Run:
    """Return scores as `{query: {document: score}}`, as ranx and ir_measures take them.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        The query and the document of each row; they become text.
    scores : array-like of shape (n_rows,)

    Returns
    -------
    dict of str to dict of str to float
        Queries as they first appear, the documents of each as in the rows.

    Raises
    ------
    PairrankError
        If the lengths differ, a score is not finite, or a query has a document twice.

    Examples
    --------
    >>> to_run([1, 1, 2], ["a", "b", "a"], [0.5, 2.0, 1.0])
    {'1': {'a': 0.5, 'b': 2.0}, '2': {'a': 1.0}}
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise PairrankError("a score is NaN or infinite; a run needs finite scores")
    return _nested(qid, docid, values.tolist())


def to_qrels(qid: Any, docid: Any, grades: Any) -> Qrels:
    """Return labels as `{query: {document: grade}}`; see `to_run`.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        The query and the document of each row; they become text.
    grades : array-like of shape (n_rows,)
        Whole numbers.

    Returns
    -------
    dict of str to dict of str to int

    Raises
    ------
    PairrankError
        If the lengths differ, a grade is not a whole number, or a query has a document twice.
    """
    labels = np.asarray(grades)
    if labels.dtype.kind not in "biuf" or (labels != np.floor(labels)).any():
        raise PairrankError("qrels need whole numbers as labels; turn the labels into grades")
    return _nested(qid, docid, labels.astype(np.int64).tolist())


def _nested(qid: Any, docid: Any, values: list[Any]) -> dict[str, dict[str, Any]]:
    """Return values by query and document."""
    queries, documents = (np.asarray(part).astype(str).tolist() for part in (qid, docid))
    if not len(queries) == len(documents) == len(values):
        raise PairrankError(
            f"there are {len(queries)} queries, {len(documents)} documents and {len(values)} "
            "values; give one of each per row"
        )
    nested: dict[str, dict[str, Any]] = {}
    for query, document, value in zip(queries, documents, values, strict=True):
        known = nested.setdefault(query, {})
        if document in known:
            raise PairrankError(
                f"query {query!r} has the document {document!r} twice; drop one of the rows"
            )
        known[document] = value
    return nested


@writes
def write_run(target: AnyFile, run: Run, *, tag: str = "pairrank") -> None:
    """Write a TREC run: a line `query Q0 document rank score tag` per document, best first.

    Documents with equal scores are in falling order of their identifiers, as trec_eval ranks them.
    Scores are exact when read again; trec_eval itself reads them as float32.

    Parameters
    ----------
    run : dict of str to dict of str to float
        Scores by query and document, as `to_run` returns them.
    tag : str
        The name of the run.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_run(file, {"1": {"a": 0.5, "b": 2.0, "c": 0.5}}, tag="demo")
    >>> print(file.getvalue().decode(), end="")
    1 Q0 b 1 2.0 demo
    1 Q0 c 2 0.5 demo
    1 Q0 a 3 0.5 demo
    """
    _check_words(tag=tag)
    lines = []
    for query, scores in run.items():
        best_first = sorted(scores, reverse=True)
        best_first.sort(key=scores.__getitem__, reverse=True)
        for rank, document in enumerate(best_first, start=1):
            _check_words(query=query, document=document)
            lines.append(f"{query} Q0 {document} {rank} {float(scores[document])!r} {tag}\n")
    _write(target, lines)


@writes
def write_qrels(target: AnyFile, qrels: Qrels) -> None:
    """Write TREC qrels: a line `query 0 document grade` per document; see `write_run`.

    Parameters
    ----------
    qrels : dict of str to dict of str to int
        Grades by query and document.
    """
    lines = []
    for query, grades in qrels.items():
        for document, grade in grades.items():
            _check_words(query=query, document=document)
            lines.append(f"{query} 0 {document} {grade}\n")
    _write(target, lines)


def _write(target: Any, lines: list[str]) -> None:
    with open_target(target) as file:
        file.write("".join(lines).encode())


def _check_words(**words: str) -> None:
    for what, text in words.items():
        if text.split() != [text]:
            raise PairrankError(
                f"the {what} {text!r} is empty or has blanks, which TREC files cannot hold; rename "
                "it, with '_' in place of blanks"
            )
