"""TREC runs and qrels, document identifiers in comments, and what other tools make of them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import Rows, read_rows, to_qrels, to_run, write_qrels, write_rows, write_run
from pairrank.metrics import ndcg_score
from trec_files import content_of, qrels_of, run_of

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], codec="utf-8"), min_size=1, max_size=5
).filter(lambda text: text.split() == [text])
SCORES = st.floats(allow_nan=False, allow_infinity=False)


def nested(values):
    documents = st.dictionaries(WORDS, values, min_size=1, max_size=4)
    return st.dictionaries(WORDS, documents, min_size=1, max_size=3)


def written(write, content, **options) -> bytes:
    file = io.BytesIO()
    write(file, content, **options)
    return file.getvalue()


@given(run=nested(SCORES))
def test_a_run_reads_back_best_first(run):
    text = written(write_run, run, tag="me")
    assert run_of(text) == run
    lines = [line.split() for line in text.decode().split("\n")[:-1]]
    assert {(cells[1], cells[5]) for cells in lines} == {("Q0", "me")}
    for query, scores in run.items():
        mine = [cells for cells in lines if cells[0] == query]
        assert [int(cells[3]) for cells in mine] == list(range(1, len(scores) + 1))
        # trec_eval sorts by falling score, then by falling document
        by_document = sorted(scores, reverse=True)
        assert [cells[2] for cells in mine] == sorted(by_document, key=lambda d: -scores[d])


@given(qrels=nested(st.integers(-2, 5)))
def test_qrels_read_back(qrels):
    assert qrels_of(written(write_qrels, qrels)) == qrels


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz"])
def test_files_may_be_compressed(tmp_path, name):
    run = {"é": {"d1": 1.5, "d2": -2.0}}
    write_run(tmp_path / name, run)
    assert run_of(content_of(tmp_path / name)) == run
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("word", ["", "a b", " a", "a\n", "\u00a0"])
def test_words_with_blanks_are_refused_and_nothing_is_written(tmp_path, word):
    for run, tag in (
        ({word: {"d": 1.0}}, "t"),
        ({"q": {word: 1.0}}, "t"),
        ({"q": {"d": 1.0}}, word),
    ):
        with pytest.raises(PairrankError, match="empty or has blanks"):
            write_run(tmp_path / "run", run, tag=tag)
    assert list(tmp_path.iterdir()) == []


def test_arrays_that_do_not_make_a_run_are_refused():
    with pytest.raises(PairrankError, match="query '1' has the document 'a' twice"):
        to_run([1, 2, 1], ["a", "a", "a"], [1.0, 2.0, 3.0])
    with pytest.raises(PairrankError, match="2 queries, 1 documents and 2 values"):
        to_run([1, 2], ["a"], [1.0, 2.0])
    with pytest.raises(PairrankError, match="NaN or infinite"):
        to_run([1], ["a"], [np.inf])
    for grades in ([0.5], ["good"]):
        with pytest.raises(PairrankError, match="qrels need whole numbers"):
            to_qrels([1], ["a"], grades)


def test_runs_and_qrels_from_arrays_hold_plain_values():
    qid, docid = np.array([7, 7, 8]), np.array(["a", "b", "a"])
    run = to_run(qid, docid, np.array([1, 2, 3], dtype=np.float32))
    qrels = to_qrels(qid, docid, np.array([1.0, 0.0, 2.0]))
    assert repr(run) == "{'7': {'a': 1.0, 'b': 2.0}, '8': {'a': 3.0}}"
    assert repr(qrels) == "{'7': {'a': 1, 'b': 0}, '8': {'a': 2}}"


def test_ir_measures_takes_runs_and_qrels_and_the_files(tmp_path):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    rng = np.random.default_rng(4)
    qid, docid = np.repeat(np.arange(8), 12), np.tile(np.arange(12), 8)
    scores, grades = rng.permutation(96) / 7, rng.integers(0, 4, 96)
    run, qrels = to_run(qid, docid, scores), to_qrels(qid, docid, grades)
    write_run(tmp_path / "run", run)
    write_qrels(tmp_path / "qrels", qrels)
    files = (
        [*ir_measures.read_trec_qrels(str(tmp_path / "qrels"))],
        [*ir_measures.read_trec_run(str(tmp_path / "run"))],
    )
    measure = ir_measures.nDCG(dcg="exp-log2") @ 5
    wanted = pytest.approx(ndcg_score(grades, scores, qid=qid, k=5))
    for judged in ((qrels, run), files):
        assert ir_measures.calc_aggregate([measure], *judged)[measure] == wanted


@pytest.mark.parametrize(
    ("comments", "ids"),
    [
        (["#docid = GX008-86 inc = 1 prob = 0.08", "#docid = GX1"], ["GX008-86", "GX1"]),
        (["# docid=a", "#inc = 1 DocID: b"], ["a", "b"]),
        (["# 12 ", "#7"], [12, 7]),
        (["# a", "#docid = b"], ["a", "b"]),
    ],
)
def test_svmlight_comments_give_docids_where_asked_for(comments, ids):
    text = "".join(f"2 qid:1 1:3 {comment}\n" for comment in comments).encode()
    assert read_rows(io.BytesIO(text)).docid is None
    assert read_rows(io.BytesIO(text), docid="any").docid.tolist() == ids


def test_rows_without_identifiers_are_refused():
    for comment in ("# two words", ""):
        with pytest.raises(FileFormatError, match="no row has a document identifier; write '# doc"):
            read_rows(io.BytesIO(f"1 1:2 {comment}\n".encode()), docid="any")
    text = b"1 1:2 # docid = a\n1 1:2 # no idea\n1 1:2 # docid = b\n"
    with pytest.raises(FileFormatError, match=r"row 1 \(from 0\) has no document identifier"):
        read_rows(io.BytesIO(text), docid="any")


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.txt", "rows.txt.xz"])
@pytest.mark.parametrize("docid", [["d-1", "é#2"], [5, 3]])
def test_docids_are_written_and_read_in_every_format(tmp_path, name, docid):
    rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.0]), docid=np.array(docid))
    write_rows(tmp_path / name, rows, docid="docno")
    back = read_rows(tmp_path / name, docid="docno")
    assert back.docid.tolist() == docid
    assert back.X.tolist() == rows.X.tolist()
