"""README's examples do what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import sklearn
from typer.main import get_command

from pairrank.cli._commands import options_of
from pairrank.cli._models import MODELS, flag_of
from pairrank.cli.app import app

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    return [text for its_language, text in found if its_language == language]


def test_python_examples_run(capsys):
    names: dict[str, Any] = {}
    with sklearn.config_context():
        for block in blocks("python"):
            exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out.split()
    assert int(printed[0]) == names["ranker"].n_pairs_
    assert 0.5 < float(printed[1]) <= 1
    assert set(names["search"].best_params_) == {"ranksvm__C"}


def test_commands_and_options_exist():
    commands = get_command(app).commands
    lines = [line for block in blocks("") for line in block.splitlines() if "pairrank " in line]
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(line[line.index("pairrank ") :].split(" | ")[0])
        if words[1] == "install":
            continue
        known = {option for each in commands[words[1]].params for option in each.opts}
        model = words[words.index("--model") + 1] if "--model" in words else "ranksvm"
        if words[1] == "train":
            known |= {flag_of(option.name) for option in options_of(MODELS[model])}
        used = {word for word in words[2:] if word.startswith("-") and word != "-"}
        assert used <= known, line
