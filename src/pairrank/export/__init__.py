"""Linear rankers for search engines, databases and other programs."""

from pairrank.export.exporting import export as export
from pairrank.export.formats import FORMATS as FORMATS
from pairrank.export.order_check import OrderChange as OrderChange
from pairrank.export.order_check import OrderCheck as OrderCheck
