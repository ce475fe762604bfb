"""What Tables 1 and 2 print: mean and deviation of MPRank, SVRank (not in 2) and RankBoost."""

from __future__ import annotations

from collections.abc import Mapping

from reproduction.papers.cortes2007.judging import BOOST, MP, SV
from reproduction.study import Place, Printed

GROUPS = {"20-40": (20, 40), "40-60": (40, 60), "60-80": (60, 80)}
SETS = {"MovieLens": "ml-1m", "Jester": "jester"}
PAPERS = (MP, SV, BOOST)
BOOKS = "Books"
MSD = {
    "MovieLens 20-40": ((2.01, 0.02), (2.43, 0.13), (12.88, 2.15)),
    "MovieLens 40-60": ((2.02, 0.06), (2.36, 0.16), (20.06, 2.76)),
    "MovieLens 60-80": ((2.07, 0.05), (2.66, 0.09), (21.35, 2.71)),
    "Jester 20-40": ((51.34, 2.90), (55.00, 5.14), (77.08, 17.1)),
    "Jester 40-60": ((46.77, 2.03), (57.75, 5.14), (80.00, 18.2)),
    "Jester 60-80": ((49.33, 3.11), (56.06, 4.26), (88.61, 18.6)),
    BOOKS: ((4.00, 3.12), (3.64, 3.04), (7.58, 9.95)),
}
M1D = {
    "MovieLens 20-40": ((1.04, 0.05), (1.17, 0.03), (2.59, 0.04)),
    "MovieLens 40-60": ((1.04, 0.02), (1.15, 0.07), (2.99, 0.12)),
    "MovieLens 60-80": ((1.06, 0.01), (1.24, 0.02), (3.82, 0.23)),
    "Jester 20-40": ((5.08, 0.15), (5.40, 0.20), (5.97, 0.16)),
    "Jester 40-60": ((4.98, 0.13), (5.27, 0.20), (6.18, 0.11)),
    "Jester 60-80": ((4.88, 0.14), (5.25, 0.19), (6.46, 0.20)),
    BOOKS: ((1.38, 0.60), (1.32, 0.56), (1.72, 1.05)),
}
MISRANKING = {
    "MovieLens 40-60": ((0.471, 0.005), (0.476, 0.007)),
    "MovieLens 60-80": ((0.442, 0.005), (0.463, 0.011)),
    "Jester 20-40": ((0.414, 0.005), (0.479, 0.008)),
    "Jester 40-60": ((0.418, 0.007), (0.432, 0.005)),
    "Jester 60-80": ((0.400, 0.017), (0.417, 0.008)),
}


def beside(
    figures: Mapping[str, tuple[tuple[float, float], ...]], methods: tuple[str, ...]
) -> dict[Place, Printed]:
    """Return figures by row and method."""
    return {
        (row, method): Printed(*figure)
        for row, line in figures.items()
        for method, figure in zip(methods, line, strict=True)
    }
