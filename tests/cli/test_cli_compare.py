"""pairrank compare: the models in its help."""

from __future__ import annotations

from cli_runs import run
from pairrank.comparison import KNOWN


def test_every_known_model_is_in_the_help():
    shown = " ".join(run("compare", "--help").stdout.replace("│", " ").split())
    for name in KNOWN:
        assert name in shown
