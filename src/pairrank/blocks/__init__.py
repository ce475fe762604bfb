"""Rows that are not in memory together: where they come from, and passes over them."""

from pairrank.blocks.row_blocks import RowBlocks as RowBlocks
from pairrank.blocks.row_blocks import refuse_given as refuse_given
