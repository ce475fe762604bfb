"""Displays: what is drawn is what was measured, and matplotlib stays optional."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import pairrank.plotting
from pairrank._docstrings import parameters_of

pytest.importorskip("matplotlib", reason="pictures need matplotlib")


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


def test_without_matplotlib_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from pairrank.plotting import WeightsDisplay\n"
        "display = WeightsDisplay([1.0], ['a'])\n"
        "try:\n    display.plot()\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert "pip install 'pairrank[plot]'" in done.stdout
