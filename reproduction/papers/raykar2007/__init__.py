"""Raykar, Duraiswami & Krishnapuram 2007: RankNCG and the fast sum of erfc."""

from reproduction.papers.raykar2007 import (
    claims,
    erfc,
    movies,
    ranking,
    sets,
)
from reproduction.study import Study

STUDY = Study(
    name="raykar2007",
    title="Raykar et al. 2007",
    citation="V. C. Raykar, R. Duraiswami and B. Krishnapuram, *A fast algorithm for learning "
    "large scale preference relations*, AISTATS 2007.",
    tables=(
        erfc.TERMS,
        erfc.BY_SIZE,
        ranking.BY_EPS,
        sets.TABLE,
        sets.FIRST,
        movies.TABLE,
        ranking.TIMES,
        ranking.ACCURACIES,
        ranking.FIRST,
    ),
    claims=claims.CLAIMS,
)
