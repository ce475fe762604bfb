"""Losses over all pairs for torch, in time linear in the scores or nearly so, and RankNet."""

from pairrank._extras import require

require("torch.nn", "torch", "RankNet and losses for torch")

from pairrank.torch.all_pairs import AllPairsLoss as AllPairsLoss  # noqa: E402
from pairrank.torch.all_pairs import all_pairs_loss as all_pairs_loss  # noqa: E402
from pairrank.torch.partial_auc import partial_auc_loss as partial_auc_loss  # noqa: E402
from pairrank.torch.rank_net import RankNet as RankNet  # noqa: E402
