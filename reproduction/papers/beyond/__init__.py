"""Beyond the papers: votes, censored times, and whether all pairs beat a pointwise fit."""

from reproduction.papers.beyond import all_pairs, comparisons, survival
from reproduction.study import Study

STUDY = Study(
    name="beyond",
    title="Beyond the papers",
    citation="What no paper shows.",
    tables=(all_pairs.TABLE, comparisons.TABLE, survival.TABLE),
    claims=(*all_pairs.CLAIMS, *comparisons.CLAIMS, *survival.CLAIMS),
)
