"""Airola, Pahikkala & Salakoski 2010: linear RankRLS."""

from reproduction.study import Study

STUDY = Study(
    name="airola2010",
    title="Airola et al. 2010",
    citation="A. Airola, T. Pahikkala and T. Salakoski, *Large scale training methods for linear "
    "RankRLS*, ECML/PKDD workshop on preference learning, 2010.",
    tables=(),
)
