"""Beyond the papers: pointwise fits, conditions, probabilities, votes, times."""

from reproduction.papers.beyond import all_pairs, comparisons, conditions, probabilities, survival
from reproduction.study import Study

STUDY = Study(
    name="beyond",
    title="Beyond the papers",
    citation="What no paper shows.",
    tables=(
        all_pairs.TABLE,
        conditions.TABLE,
        probabilities.TABLE,
        comparisons.TABLE,
        survival.TABLE,
    ),
    claims=(*all_pairs.CLAIMS, *conditions.CLAIMS, *comparisons.CLAIMS, *survival.CLAIMS),
)
