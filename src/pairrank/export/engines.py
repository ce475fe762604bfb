"""Linear models for search engines: Elasticsearch, OpenSearch, Solr and RankLib."""

from __future__ import annotations

import json

import numpy as np

from pairrank.exceptions import PairrankError
from pairrank.export.linear import LinearModel


def learning_to_rank_plugin(model: LinearModel) -> str:
    """Return the body of POST _ltr/_featureset/SET/_createmodel, a `model/linear` definition.

    The plugins of Elasticsearch and OpenSearch take the definition as text that holds JSON.
    """
    weights = dict(zip(model.names, _single(model), strict=True))
    definition = {"type": "model/linear", "definition": json.dumps(weights)}
    return _json({"model": {"name": model.title, "model": definition}})


def solr(model: LinearModel) -> str:
    """Return a LinearModel for Solr's model store, with a weight for every feature."""
    weights = dict(zip(model.names, _single(model), strict=True))
    return _json(
        {
            "class": "org.apache.solr.ltr.model.LinearModel",
            "name": model.title,
            "features": [{"name": feature} for feature in model.names],
            "params": {"weights": weights},
        }
    )


def ranklib(model: LinearModel) -> str:
    """Return a Coordinate Ascent model, RankLib's linear ranker; features are numbered from 1."""
    weights = enumerate(model.weights.tolist(), start=1)
    return "## Coordinate Ascent\n" + " ".join(f"{id}:{w!r}" for id, w in weights) + "\n"


def single_weights(model: LinearModel) -> np.ndarray:
    """Return the weights as float32; raise a PairrankError for one that is too large for it."""
    with np.errstate(over="ignore", under="ignore"):
        weights = model.weights.astype(np.float32)
    if not np.isfinite(weights).all():
        feature = int(np.argmin(np.isfinite(weights)))
        raise PairrankError(
            f"the weight {model.weights[feature]:g} of feature {model.names[feature]!r} is too "
            "large for float32, in which the engine computes: multiply the feature by a large "
            "constant and fit again"
        )
    return weights


def _single(model: LinearModel) -> list[float]:
    """Return the float32 weights as numbers whose text every parser reads as the same float32."""
    return [float(weight) for weight in single_weights(model)]


def _json(body: object) -> str:
    return json.dumps(body, indent=2) + "\n"
