"""Finished cells in a folder: one JSON file each, named by a digest of all that it depends on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from pairrank.comparison.cells import Cell
from pairrank.comparison.models import Candidate
from pairrank.comparison.task import Fold, Task
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io._atomic import atomic_write


class CellStore:
    """A folder of finished cells; without a folder nothing is kept.

    A cell is found again only if the rows, its fold, the metrics, the settings, the model, its
    values to try and the versions of the libraries are the same. Cells without values are not kept.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        task: Task,
        candidates: Sequence[Candidate],
    ) -> None:
        self.folder = None if folder is None else _made(Path(folder))
        self._digests: dict[str, tuple[str, str]] = {}
        if folder is not None:
            whole, installed = _digest(_facts_of(task)), packages_distributions()
            self._digests = {
                each.name: (whole, _digest(_facts_of_model(each, installed)))
                for each in candidates
                if not each.reason
            }

    def find(self, candidate: Candidate, fold: Fold) -> Cell | None:
        """Return a finished cell, or None."""
        path = self._path(candidate, fold)
        if path is None or not path.exists():
            return None
        try:
            cell = Cell(**json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise FileAccessError(
                f"cannot read {path}: {error.strerror}; remove it, or name another folder"
            ) from None
        except (ValueError, TypeError) as error:
            raise FileFormatError(f"{path}: not a finished cell ({error}); remove it") from None
        return cell._replace(model=candidate.name, repeat=fold.repeat, fold=fold.fold)

    def keep(self, candidate: Candidate, fold: Fold, cell: Cell) -> None:
        """Write a cell that has values."""
        path = self._path(candidate, fold)
        if path is None or cell.reason:
            return
        with atomic_write(path, "w") as file:
            file.write(json.dumps(cell._asdict(), default=_plain))

    def _path(self, candidate: Candidate, fold: Fold) -> Path | None:
        if self.folder is None or candidate.name not in self._digests:
            return None
        digest = _digest((*self._digests[candidate.name], fold.split))
        name = re.sub(r"[^\w.-]+", "-", candidate.name)[:40]
        return self.folder / f"{name}-{fold.repeat}-{fold.fold}-{digest}.json"


def _made(folder: Path) -> Path:
    """Return a folder that can be written, made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairrankError(
            f"cannot make the folder {str(folder)!r}: {error.strerror}; name another"
        ) from None
    if not os.access(folder, os.W_OK):
        raise PairrankError(f"the folder {str(folder)!r} cannot be written; name another")
    return folder


def _facts_of(task: Task) -> Any:
    """Return all that every cell of a task depends on, but its fold."""
    settings = task.metrics, task.graph, task.inner_cv, task.standardize, task.seed
    versions = [version(name) for name in ("pairrank", "numpy", "scipy", "scikit-learn")]
    return task.rows, settings, versions


def _facts_of_model(model: Candidate, installed: Mapping[str, list[str]]) -> Any:
    """Return what a model's cells depend on; `installed` are the packages of each library."""
    parts = [model.estimator, *model.estimator.get_params().values()]
    libraries = {model.library, *(type(part).__module__.partition(".")[0] for part in parts)}
    packages = {name for library in libraries for name in installed.get(library, [])}
    versions = [(name, version(name)) for name in sorted(packages)]
    return model.estimator, dict(model.grid), versions


def _digest(value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except Exception as error:
        raise PairrankError(
            f"a model cannot be pickled, so its cells cannot be found again ({error}): leave out "
            "the folder of cells, or define its functions in a module"
        ) from None


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python; other values of parameters as text."""
    return value.item() if isinstance(value, np.generic) else str(value)
