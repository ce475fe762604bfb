"""Data sets: loaders from a registry, generators, discretisation."""

from pairrank.datasets.discretize import discretize as discretize
from pairrank.datasets.generators import Generated as Generated
from pairrank.datasets.generators import make_queries as make_queries
from pairrank.datasets.generators import make_randnet as make_randnet
from pairrank.datasets.generators import make_randpoly as make_randpoly
from pairrank.datasets.generators import make_utility as make_utility
from pairrank.datasets.ratings import Ratings as Ratings
from pairrank.datasets.ratings import load_ratings as load_ratings
from pairrank.datasets.ratings import make_ratings as make_ratings
from pairrank.datasets.record import Dataset as Dataset
from pairrank.datasets.record import DatasetRecord as DatasetRecord
from pairrank.datasets.registry import describe as describe
from pairrank.datasets.registry import list_datasets as list_datasets
from pairrank.datasets.registry import load as load
from pairrank.datasets.text_generators import make_documents as make_documents
from pairrank.datasets.text_generators import make_parses as make_parses
