"""Lee & Lin 2014: linear RankSVM, its sums, solvers and rivals."""

from reproduction.papers.lee2014 import claims, curves, models, shapes, sparse
from reproduction.study import Study

_FIRST, _LAST = shapes.TABLES
_CHOSEN_RANKSVM, *_OTHERS = models.TABLES

STUDY = Study(
    name="lee2014",
    title="Lee & Lin 2014",
    citation="C.-P. Lee and C.-J. Lin, *Large-scale linear RankSVM*, Neural Computation 26(4), "
    "2014.",
    tables=(
        _FIRST,
        _CHOSEN_RANKSVM,
        *curves.TABLES,
        *_OTHERS,
        _LAST,
        *sparse.TABLES,
    ),
    claims=(*claims.CLAIMS, *sparse.CLAIMS),
    note="MQ2008, fold 1, is the paper's data and protocol. Other sets are generated in the shape "
    "of the paper's: they show times, never agreement.",
)
