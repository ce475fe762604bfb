"""Data sets: generators of rows, queries, texts and ratings; discretisation."""

from pairrank.datasets.discretize import discretize as discretize
from pairrank.datasets.generators import Generated as Generated
from pairrank.datasets.generators import make_queries as make_queries
from pairrank.datasets.generators import make_randnet as make_randnet
from pairrank.datasets.generators import make_randpoly as make_randpoly
from pairrank.datasets.generators import make_utility as make_utility
from pairrank.datasets.rating_generators import make_ratings as make_ratings
from pairrank.datasets.text_generators import make_documents as make_documents
from pairrank.datasets.text_generators import make_parses as make_parses
