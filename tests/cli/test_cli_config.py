"""train --config and --write-config: options in a TOML file."""

from __future__ import annotations

import tomllib

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli_rows import make_rows
from cli_runs import run
from pairrank.cli._config import toml_of
from pairrank.cli.app import app
from pairrank.io import write_rows, write_svmlight

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = (
    st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.lists(TEXTS, max_size=3)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("config")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
        write_rows(home / f"{name}.csv", make_rows(seed))
    return home


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """Work in a folder of its own, with the rows beside it."""
    for name in ("train.txt", "valid.txt", "train.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parsed(*arguments, **more):
    """Return the values of all parameters of train for these arguments."""
    command = typer.main.get_command(app).commands["train"]
    return command.make_context("train", [str(each) for each in arguments], **more)


def values_of(context):
    return sorted((name, repr(value)) for name, value in context.params.items() if name != "config")


@given(st.dictionaries(st.from_regex(r"[A-Za-z][a-z-]*", fullmatch=True), VALUES, max_size=5))
def test_written_options_are_read_as_they_were(options):
    found = tomllib.loads(toml_of(options, "a note"))
    assert found == options
    assert [type(value) for value in found.values()] == [type(each) for each in options.values()]


@given(
    model=st.sampled_from([("ranksvm", "-C"), ("rankncg", "--alpha"), ("hull", "--nu")]),
    strength=st.none() | st.floats(allow_nan=False),
    numbers=st.fixed_dictionaries({}, optional={"max-iter": st.integers(), "tol": st.floats(0)}),
    texts=st.fixed_dictionaries(
        {}, optional={"qid": TEXTS, "valid": TEXTS, "format": st.sampled_from(["csv"])}
    ),
    drop=st.lists(TEXTS, max_size=3),
    flags=st.sets(st.sampled_from(["--search", "--drop-text", "--quiet", "--json"])),
    graph=st.sampled_from([None, "chain", "low<fair<high,bad<high"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_file_gives_the_values_of_the_command_line(
    tmp_path_factory, model, strength, numbers, texts, drop, flags, graph
):
    name, flag = model
    words = ["rows.txt", "--output=m", f"--model={name}", *sorted(flags)]
    words += [] if strength is None else [flag, repr(strength)]
    words += [f"--{key}={value}" for key, value in {**numbers, **texts}.items()]
    words += [f"--drop={each}" for each in drop]
    words += [] if graph is None or name == "hull" else [f"--graph={graph}"]
    typed = parsed(*words)
    path = tmp_path_factory.mktemp("file") / "train.toml"
    path.write_text(toml_of(typed.obj), encoding="utf-8", newline="")
    filed = parsed("--config", path)
    assert values_of(filed) == values_of(typed)
    assert filed.obj == typed.obj


def test_help_and_completion_know_both_options(here):
    shown = run("train", "--help").stdout
    assert "--config" in shown
    assert "--write-config" in shown
    for typed, found in (([], "--config"), (["--config", "nowhere.toml"], "--write-config")):
        context = parsed(*typed, resilient_parsing=True)
        assert found in {item.value for item in context.command.shell_complete(context, "--")}
