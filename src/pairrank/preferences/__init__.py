"""Who is preferred to whom: Levels, Differences, OrderGraph, Pairs."""

from pairrank.preferences.differences import Differences as Differences
from pairrank.preferences.levels import Levels as Levels
from pairrank.preferences.order_graph import Graph as Graph
from pairrank.preferences.order_graph import OrderGraph as OrderGraph
from pairrank.preferences.order_graph import as_graph as as_graph
from pairrank.preferences.pairs import Pairs as Pairs
from pairrank.preferences.roles import refuse_roles as refuse_roles
from pairrank.preferences.sampling import PairIndex as PairIndex
from pairrank.preferences.sampling import draw_sample as draw_sample
from pairrank.preferences.sampling import merge_levels as merge_levels

Preferences = Levels | Pairs
