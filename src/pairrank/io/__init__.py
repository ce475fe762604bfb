"""Files: svmlight, CSV, Parquet, comparisons, votes, ratings, TREC files, model files."""

from pairrank.io._atomic import atomic_write as atomic_write
from pairrank.io._atomic import refuse_read_only as refuse_read_only
from pairrank.io.columns import write_columns as write_columns
from pairrank.io.convert import convert as convert
from pairrank.io.dispatch import format_of as format_of
from pairrank.io.dispatch import read_rows as read_rows
from pairrank.io.dispatch import write_rows as write_rows
from pairrank.io.model_file import ModelRecord as ModelRecord
from pairrank.io.model_file import is_model_file as is_model_file
from pairrank.io.model_file import read_model as read_model
from pairrank.io.model_file import write_model as write_model
from pairrank.io.pairs import read_pairs as read_pairs
from pairrank.io.rows import Rows as Rows
from pairrank.io.svmlight import read_svmlight as read_svmlight
from pairrank.io.svmlight_writer import write_svmlight as write_svmlight
from pairrank.io.trec import document_ids as document_ids
from pairrank.io.trec import to_qrels as to_qrels
from pairrank.io.trec import to_run as to_run
from pairrank.io.trec import write_qrels as write_qrels
from pairrank.io.trec import write_run as write_run
from pairrank.io.votes import Votes as Votes
from pairrank.io.votes import read_votes as read_votes
