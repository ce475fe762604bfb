"""Data sets: loaders from a registry, generators, discretisation."""
