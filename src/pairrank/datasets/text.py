"""The text sets: Reuters-21578 as tf-idf rows, and Vowpal Wabbit's sample of RCV1."""

from __future__ import annotations

import html
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pairrank.datasets.record import DatasetRecord, Parts, choose, open_file
from pairrank.exceptions import FileFormatError

TEXT = (
    DatasetRecord(
        name="reuters21578",
        title="Reuters-21578, Distribution 1.0, the ModApte split",
        source=(
            "https://www.daviddlewis.com/resources/testcollections/reuters21578/; the SGML files "
            "also in github.com/mohanadarafe/Reuters-SPIMI-Indexer"
        ),
        licence="free for research only; copyright Reuters Ltd.",
        target="1 where the story is of the topic, else 0",
        n_rows=9603,
        n_columns=28957,
        files={
            "reuters21578_sgm.tar.gz": (
                "cec8e962be415fe805fe10e88442c7309da6c576de7c373fe580f994ada90ff0"
            ),
        },
        reader="reuters_sgml",
        options=("subset='train' (default)|'test'", "topic='earn' (default) or another"),
        notes="tf-idf of titles and bodies over the words of the training stories",
    ),
    DatasetRecord(
        name="vw_rcv1_small",
        title="Vowpal Wabbit's small sample of Reuters RCV1, category CCAT",
        source=(
            "github.com/VowpalWabbit/vowpal_wabbit, test/train-sets/rcv1_small.dat and "
            "test/test-sets/rcv1_small_test.data; D. Lewis et al. 2004"
        ),
        licence="BSD-3 for the repository; RCV1 has separate terms",
        target="+1 in CCAT, -1 outside",
        n_rows=1000,
        n_columns=47152,
        files={
            "rcv1_small.dat.gz": "348d59a15f8161852b817fedd45a0a9efa5e2602ea86d9e920ba7079f633e084",
            "rcv1_small_test.data.gz": (
                "c0f5f4a00497c5cec53b47c0ebb8428cc7c364d436ac10f64b5be33d90bfe293"
            ),
        },
        reader="vw_text",
        settings={
            "n_features": 47152,
            "subsets": {"train": "rcv1_small.dat.gz", "test": "rcv1_small_test.data.gz"},
        },
        options=("subset='train' (default)|'test'",),
        papers=("Airola et al. 2010",),
    ),
)

_STORY = re.compile(r"<REUTERS(?P<head>[^>]*)>(?P<body>.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TEXTS = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)


class _Story(NamedTuple):
    split: str
    topics: frozenset[str]
    text: str


def load_reuters_sgml(
    record: DatasetRecord, home: Path, *, subset: str = "train", topic: str = "earn"
) -> Parts:
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
    return Parts(sparse.csr_array(X), y, None, list(vectorizer.get_feature_names_out()))


def load_vw_text(record: DatasetRecord, home: Path, *, subset: str = "train") -> Parts:
    """Read Vowpal Wabbit's text: a label, a namespace, and index:value with indices from 1."""
    from scipy import sparse

    subsets = record.settings["subsets"]
    file = subsets[choose(record, "subset", subset, subsets)]
    labels, indptr, indices, values = [], [0], [], []
    for number, line in enumerate(open_file(record, home, file), 1):
        try:
            label, _, *entries = line.decode("ascii").split()
            labels.append(float(label))
            for entry in entries:
                index, _, value = entry.partition(":")
                indices.append(int(index) - 1)
                values.append(float(value) if value else 1.0)
        except ValueError as error:
            raise FileFormatError(f"{file}, line {number}: {error}") from None
        indptr.append(len(indices))
    shape = (len(labels), record.settings["n_features"])
    return Parts(
        sparse.csr_array((values, indices, indptr), shape=shape), np.array(labels), None, None
    )


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
