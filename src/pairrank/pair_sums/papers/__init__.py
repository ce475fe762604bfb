"""The algorithms of the papers, chosen by name."""
