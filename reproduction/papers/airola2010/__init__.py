"""Airola, Pahikkala & Salakoski 2010: linear RankRLS."""

from reproduction.papers.airola2010 import claims, fits, rows
from reproduction.study import Study

STUDY = Study(
    name="airola2010",
    title="Airola et al. 2010",
    citation="A. Airola, T. Pahikkala and T. Salakoski, *Large scale training methods for linear "
    "RankRLS*, ECML/PKDD workshop on preference learning, 2010.",
    tables=(rows.TABLE, fits.TABLE, fits.PARSE_CURVES, fits.REUTERS_CURVES),
    claims=claims.CLAIMS,
)
