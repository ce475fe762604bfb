"""Try an installed wheel as a stranger would (`make test-wheel`); run by python -I."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import dump_svmlight_file

import pairrank
from pairrank import RankSVM
from pairrank.datasets import make_queries

SOURCE = Path(__file__).resolve().parents[1] / "src"


def check_the_package() -> None:
    """The installed files are the ones that run, and those that are not Python are there too."""
    folder = Path(pairrank.__file__).resolve().parent
    assert SOURCE not in folder.parents, f"{folder} is the source, not the wheel"
    assert importlib.metadata.version("pairrank") == pairrank.__version__
    wanted = {file.relative_to(SOURCE) for file in SOURCE.rglob("*") if file.is_file()}
    missing = {
        file
        for file in wanted
        if "__pycache__" not in file.parts and not (folder.parent / file).exists()
    }
    assert not missing, f"not in the wheel: {sorted(map(str, missing))}"


def check_a_fit() -> None:
    """The README's first example, then the command line on a file of the same rows."""
    data = make_queries(100, 50, 20, random_state=0)
    ranker = RankSVM().fit(data.X, data.y, qid=data.qid)
    assert ranker.score(data.X, data.y, qid=data.qid) > 0.5
    command = shutil.which("pairrank", path=str(Path(sys.executable).parent))
    assert command, "the command pairrank is not installed"
    with tempfile.TemporaryDirectory() as folder:
        rows = str(Path(folder, "rows.txt"))
        dump_svmlight_file(data.X, data.y, rows, query_id=data.qid, zero_based=False)
        for arguments in (["train", "rows.txt", "-o", "model"], ["evaluate", "model", "rows.txt"]):
            subprocess.run([command, *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    check_the_package()
    check_a_fit()
    print(f"pairrank {pairrank.__version__}: the wheel works")
