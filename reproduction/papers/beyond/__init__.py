"""Beyond the papers: pointwise fits, votes, censored times, rows on disk."""

from reproduction.papers.beyond import all_pairs, comparisons, streaming, survival
from reproduction.study import Study

STUDY = Study(
    name="beyond",
    title="Beyond the papers",
    citation="What no paper shows.",
    tables=(all_pairs.TABLE, comparisons.TABLE, survival.TABLE, streaming.TABLE),
    claims=(*all_pairs.CLAIMS, *comparisons.CLAIMS, *survival.CLAIMS, *streaming.CLAIMS),
)
