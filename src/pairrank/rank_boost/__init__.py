"""RankBoost's rounds: values as codes, weak rankings, the weights of all pairs, the alphas."""
