"""The papers' data sets: readers of local files from a registry, without a download."""

from reproduction.data.registry import ALWAYS_THERE as ALWAYS_THERE
from reproduction.data.registry import ENVIRONMENT as ENVIRONMENT
from reproduction.data.registry import Dataset as Dataset
from reproduction.data.registry import DatasetNotFoundError as DatasetNotFoundError
from reproduction.data.registry import DatasetRecord as DatasetRecord
from reproduction.data.registry import describe as describe
from reproduction.data.registry import load as load
