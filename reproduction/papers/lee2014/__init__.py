"""Lee & Lin 2014: linear RankSVM, its sums, solvers and rivals."""

from reproduction.papers.lee2014 import curves, models
from reproduction.study import Study

STUDY = Study(
    name="lee2014",
    title="Lee & Lin 2014",
    citation="C.-P. Lee and C.-J. Lin, *Large-scale linear RankSVM*, Neural Computation 26(4), 2014.",
    tables=(*models.TABLES, *curves.TABLES),
    claims=models.CLAIMS,
)
