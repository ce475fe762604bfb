"""Displays: what is drawn is what was measured, and matplotlib stays optional."""

from __future__ import annotations

import inspect

import pytest

import pairrank.plotting
from pairrank._docstrings import parameters_of

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.mark.parametrize(
    "name", [name for name in dir(pairrank.plotting) if name.endswith("Display")]
)
def test_every_parameter_of_a_display_is_described(name):
    display = getattr(pairrank.plotting, name)
    makers = [display, *(getattr(display, each) for each in dir(display) if each[:5] == "from_")]
    assert len(makers) > 1
    for maker in makers:
        known = parameters_of(maker)
        described = {each.lstrip("*") for names in known for each in names.split(", ")}
        assert set(inspect.signature(maker).parameters) == described
    assert "ax_ : matplotlib Axes\nfigure_ : matplotlib Figure\n" in display.__doc__
