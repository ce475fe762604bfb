"""Losses over all pairs for torch, in time linear in the scores, or nearly so."""

from pairrank._extras import require

require("torch", "torch", "losses for torch")
