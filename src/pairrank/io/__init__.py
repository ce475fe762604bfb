"""Files: svmlight, CSV, Parquet, comparisons, ratings, model files."""

from pairrank.io._atomic import atomic_write as atomic_write
from pairrank.io._atomic import refuse_read_only as refuse_read_only
from pairrank.io.columns import write_columns as write_columns
from pairrank.io.dispatch import format_of as format_of
from pairrank.io.dispatch import read_rows as read_rows
from pairrank.io.dispatch import write_rows as write_rows
from pairrank.io.model_file import ModelRecord as ModelRecord
from pairrank.io.model_file import is_model_file as is_model_file
from pairrank.io.model_file import read_model as read_model
from pairrank.io.model_file import write_model as write_model
from pairrank.io.pairs import read_pairs as read_pairs
from pairrank.io.ratings import RatingColumns as RatingColumns
from pairrank.io.ratings import read_ratings as read_ratings
from pairrank.io.rows import Rows as Rows
from pairrank.io.svmlight import read_svmlight as read_svmlight
from pairrank.io.svmlight_writer import write_svmlight as write_svmlight
