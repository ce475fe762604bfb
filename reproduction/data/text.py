"""The reader of Reuters-21578 as tf-idf rows."""

from __future__ import annotations

import html
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reproduction.data.registry import Dataset, DatasetRecord, choose, open_file

_STORY = re.compile(r"<REUTERS(?P<head>[^>]*)>(?P<body>.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TEXTS = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)


class _Story(NamedTuple):
    split: str
    topics: frozenset[str]
    text: str


def load_reuters_sgml(
    record: DatasetRecord, home: Path, *, subset: str = "train", topic: str = "earn"
) -> Dataset:
    """Read the SGML files and make tf-idf rows; the label is 1 where a story has the topic."""
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer

    choose(record, "subset", subset, ("train", "test"))
    (file,) = record.files
    with tarfile.open(fileobj=open_file(record, home, file)) as archive:
        stories = [story for story in _stories(archive) if story.split]
    choose(record, "topic", topic, sorted(set().union(*(story.topics for story in stories))))
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    X = vectorizer.fit_transform([story.text for story in stories if story.split == "TRAIN"])
    kept = [story for story in stories if story.split == subset.upper()]
    if subset == "test":
        X = vectorizer.transform([story.text for story in kept])
    y = np.array([float(topic in story.topics) for story in kept])
    return Dataset(sparse.csr_array(X), y, None, list(vectorizer.get_feature_names_out()), record)


def _stories(archive: tarfile.TarFile) -> Iterator[_Story]:
    """Yield every story with its part in the ModApte split: TRAIN, TEST, or an empty text."""
    for name in sorted(archive.getnames()):
        member = archive.extractfile(name)
        if member is None or not name.endswith(".sgm"):
            continue
        for found in _STORY.finditer(member.read().decode("latin-1")):
            head, body = found["head"], found["body"]
            split = re.search(r'LEWISSPLIT="(TRAIN|TEST)"', head)
            kept = split is not None and 'TOPICS="YES"' in head
            listed = _TOPICS.search(body)
            topics = re.findall(r"<D>(.*?)</D>", listed[1]) if listed else []
            text = "\n".join(html.unescape(part) for _, part in _TEXTS.findall(body))
            yield _Story(split[1] if kept and split else "", frozenset(topics), text)
