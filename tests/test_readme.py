"""The README and the guides do what they say: every Python block and every command runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn

from cli_runs import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.rst")), *sorted(ROOT.glob("docs/*/*.rst"))]
PAGES = [path for path in PAGES if not {"gallery", "generated"} & set(path.parts)]
EXTRAS = {"lightgbm", "xgboost", "torch", "dask"}
"""Libraries that make test-extras installs."""
PEERS = {"sksurv", "choix", "rlscore", "pyterrier"}
"""Libraries that a user comes from; blocks in them run where they are installed."""
OF_RLSCORE = pytest.mark.filterwarnings("ignore:the matrix subclass")
LIBLINEAR = "PAIRRANK_LIBLINEAR"
"""Names the folder of LIBLINEAR-ranksvm's train and predict; their block runs if it is set."""
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(
    r"^( *)\.\. code-block:: (\w+)\n((?:\1 +:.*\n)*)\n((?:\1   .*\n|\n)+)", flags=re.MULTILINE
)


class Block(NamedTuple):
    """A code block of a page; `needs` are the libraries that its class `needs-NAME` names."""

    page: str
    language: str
    text: str
    needs: frozenset[str]


def blocks_of(path: Path) -> list[Block]:
    """Return the code blocks of a page in Markdown or reStructuredText."""
    text = path.read_text(encoding="utf-8")
    page = path.relative_to(ROOT).as_posix()
    if path.suffix == ".md":
        return [
            Block(page, name or "shell", code, frozenset()) for name, code in _FENCED.findall(text)
        ]
    return [
        Block(page, name, textwrap.dedent(code), frozenset(re.findall(r"needs-(\S+)", options)))
        for _, name, options, code in _DIRECTIVE.findall(text + "\n")
    ]


BLOCKS = [block for path in PAGES for block in blocks_of(path)]


def python_blocks() -> list[Any]:
    """Return the Python blocks; those that need a large library are marked for make test-extras."""
    found = []
    for number, block in enumerate(block for block in BLOCKS if block.language == "python"):
        marks = [pytest.mark.extras] if block.needs & EXTRAS else []
        marks += [OF_RLSCORE] if "rlscore" in block.needs else []
        found.append(pytest.param(block, marks=marks, id=f"{block.page}-{number}"))
    return found


def skip_without(needs: frozenset[str]) -> None:
    """Skip a block whose library is not installed, with the reason."""
    for name in sorted(needs & (EXTRAS | PEERS)):
        pytest.importorskip(name, reason=f"the block needs {name}")


def test_every_code_block_is_found():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        asked = text.count(".. code-block::") if path.suffix == ".rst" else text.count("```") // 2
        assert len(blocks_of(path)) == asked, path
        assert not re.search(r"^(?! *\.\. ).*::$", text, re.MULTILINE), f"{path}: name the language"
    assert {block.language for block in BLOCKS} == {"python", "shell"}
    known = EXTRAS | PEERS | {"liblinear"}
    assert frozenset().union(*(block.needs for block in BLOCKS)) <= known
    for name in PEERS:
        block = next(block for block in BLOCKS if name in block.needs)
        assert re.search(rf"^(import|from) {name}\b", block.text, re.MULTILINE)


def output_of(block: Block, capsys: Any) -> str:
    """Run a Python block and return what it prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with sklearn.config_context():
        exec(compile(block.text, block.page, "exec"), names)
    return str(capsys.readouterr().out)


@pytest.mark.parametrize("block", python_blocks())
def test_each_python_block_runs_alone(block, capsys, tmp_path, monkeypatch):
    skip_without(block.needs)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert output_of(block, capsys)


def with_the_next(need: str) -> list[Block]:
    """Return the block that needs a peer, and the next one, which does the same with pairrank."""
    at = next(place for place, block in enumerate(BLOCKS) if need in block.needs)
    return BLOCKS[at : at + 2]


@OF_RLSCORE
def test_the_block_of_rlscore_and_the_next_print_the_same_scores(capsys):
    skip_without(frozenset({"rlscore"}))
    theirs, ours = (
        np.array(output_of(block, capsys).strip("[]\n").split(), float)
        for block in with_the_next("rlscore")
    )
    # Both print eight decimals.
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1.5e-8)


def test_the_first_example_counts_every_pair(capsys):
    first = next(block for block in BLOCKS if block.language == "python")
    names: dict[str, Any] = {}
    exec(compile(first.text, first.page, "exec"), names)
    data = names["data"]
    higher = data.y[:, None] > data.y
    n_pairs, accuracy = capsys.readouterr().out.split()
    assert int(n_pairs) == int((higher & (data.qid[:, None] == data.qid)).sum())
    assert 0.5 < float(accuracy) <= 1


def lines_of(page: Path) -> list[str]:
    """Return the command lines of a page, without those of other programs."""
    shell = [block for block in blocks_of(page) if block.language == "shell"]
    own = [block.text for block in shell if "liblinear" not in block.needs]
    return [line for text in own for line in text.splitlines() if line.strip()]


def commands_of(page: Path) -> list[list[str]]:
    """Return the words of every pairrank command, without what is piped into it or out of it."""
    lines = [line for line in lines_of(page) if "pairrank " in line and "pip install" not in line]
    return [shlex.split(line[line.index("pairrank ") :].split(" | ")[0])[1:] for line in lines]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files of examples/data, which the commands read."""
    data = ROOT / "examples" / "data"
    if not data.exists():
        pytest.skip("the examples are not part of an installed package")
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if commands_of(page)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_commands_run(page, folder):
    if page.stem == "command_line":
        assert {"train", "evaluate", "predict", "export", "report", "compare"} <= {
            words[0] for words in commands_of(page)
        }
    for words in commands_of(page):
        run(*words, stdin=Path("test.txt").read_bytes() if "-" in words else None)
    for words in commands_of(page):
        if "-o" in words:
            assert (folder / words[words.index("-o") + 1]).stat().st_size


def test_the_programs_that_a_user_comes_from_give_the_same_scores(folder):
    programs = os.environ.get(LIBLINEAR)
    if not programs:
        pytest.skip(f"{LIBLINEAR} names no folder with LIBLINEAR-ranksvm's train and predict")
    theirs, ours = (block.text for block in with_the_next("liblinear"))
    n_rows = len(Path("test.txt").read_text("utf-8").splitlines())
    for tolerance in ("0.001", "1e-9"):
        scores = []
        for text in (theirs, ours):
            for line in text.strip().replace("0.001", tolerance).splitlines():
                name, *words = shlex.split(line)
                if name == "pairrank":
                    run(*words)
                else:
                    subprocess.run([Path(programs) / name, *words], check=True, capture_output=True)
            scores.append(np.loadtxt("scores.txt"))
        assert scores[0].shape == scores[1].shape == (n_rows,)
    # predict writes six digits.
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-6)


def test_other_commands_are_targets_and_extras_that_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in PAGES:
        for line in lines_of(page):
            words = shlex.split(line, comments=True)
            if words[0] == "make":
                assert words[1] in targets, line
            elif words[0] == "pip":
                extra = re.search(r"\[(\w+)\]", words[2])
                assert extra is None or extra[1] in project["optional-dependencies"], line
            else:
                assert "pairrank" in words, f"{page}: {line}"
