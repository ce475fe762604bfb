"""Linear rankers for search engines, databases and other programs."""

from pairrank.export.exporting import OrderCheck as OrderCheck
from pairrank.export.exporting import export as export
from pairrank.export.formats import FORMATS as FORMATS
