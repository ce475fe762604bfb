"""Files: svmlight, CSV, Parquet, comparisons, votes, TREC files, model files."""

from pairrank.io.comparisons import Votes as Votes
from pairrank.io.comparisons import read_pairs as read_pairs
from pairrank.io.comparisons import read_votes as read_votes
from pairrank.io.convert import convert as convert
from pairrank.io.dispatch import read_rows as read_rows
from pairrank.io.dispatch import write_rows as write_rows
from pairrank.io.rows import Rows as Rows
from pairrank.io.trec import to_qrels as to_qrels
from pairrank.io.trec import to_run as to_run
from pairrank.io.trec import write_qrels as write_qrels
from pairrank.io.trec import write_run as write_run
