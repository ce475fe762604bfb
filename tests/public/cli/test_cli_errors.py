"""Bad input at the command line: one sentence, exit code 1, no half-written file, no traceback."""

from __future__ import annotations

import os

import pytest

from cli_runs import invoke, refused
from pairrank import RankSVM

TEXTS = {
    "nan": ("1 1:2\n0 1:nan\n", ["line 2"]),
    "one level a query": ("1 qid:1 1:2\n0 qid:2 1:1\n", ["one class", "no row"]),
}


@pytest.mark.parametrize("case", TEXTS)
def test_bad_rows_are_refused_with_their_line(case, tmp_path):
    text, places = TEXTS[case]
    (tmp_path / "bad.txt").write_text(text)
    said = refused("train", tmp_path / "bad.txt", "-o", tmp_path / "m")
    assert any(place in said for place in places), said
    assert "bad.txt" in said
    piped = refused("train", "-", "-o", tmp_path / "m", stdin=text.encode())
    assert piped == said.replace(str(tmp_path / "bad.txt"), "standard input")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("text", "columns", "place"),
    [
        ("label,a\nhigh,1\nlow,2\n", [], "text"),
        ("label,w,a\n1,1,2\n0,-1,3\n", ["--winner-weight", "w"], "winner_weight[1] = -1.0 is neg"),
    ],
)
def test_bad_tables_are_refused_with_their_column(text, columns, place, tmp_path):
    (tmp_path / "bad.csv").write_text(text)
    assert place in refused("train", tmp_path / "bad.csv", "-o", tmp_path / "m", *columns)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("role", ["qid", "weight", "docid"])
def test_a_column_named_as_a_role_is_no_feature_unasked(folder, tmp_path, role):
    path = tmp_path / "roles.csv"
    path.write_text(f"label,{role},f0,f1,f2\n1,1,2,3,4\n0,1,5,6,8\n")
    outputs = [["train", path, "-o", tmp_path / "m"], ["convert", path, tmp_path / "x.txt"]]
    for command in (*outputs, ["info", path], ["evaluate", folder / "model", path]):
        assert f"pass --{role} {role} or --drop {role}" in refused(*command)
    assert [each.name for each in tmp_path.iterdir()] == ["roles.csv"]


def test_missing_files_are_refused(folder, tmp_path):
    assert "nowhere.txt" in refused("train", tmp_path / "nowhere.txt", "-o", tmp_path / "m")
    assert "nowhere" in refused("predict", tmp_path / "nowhere", folder / "train.txt")
    assert "nowhere" in refused("evaluate", folder / "model", tmp_path / "nowhere.txt")
    assert "nowhere" in refused("info", tmp_path / "nowhere.txt")
    assert "nowhere" in refused("convert", tmp_path / "nowhere.txt", tmp_path / "x.csv")
    assert "no such file" in refused("info", tmp_path / "rows")
    (tmp_path / "rows.dunno").touch()
    assert "format" in refused("info", tmp_path / "rows.dunno")


def test_rows_that_cannot_be_judged_are_refused_before_the_fit(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(RankSVM, "fit", lambda *_, **__: pytest.fail("a fit was begun"))
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--valid"]
    evaluate = ["evaluate", folder / "model"]
    (tmp_path / "one.txt").write_text("1 1:2 4:1\n1 1:3\n")
    (tmp_path / "signs.txt").write_text("1 1:2 4:1\n-1 1:3\n")
    for command in (train, evaluate):
        assert "one.txt" in refused(*command, tmp_path / "one.txt")
        said = refused(*command, tmp_path / "signs.txt", "--metric", "ndcg")
        assert "ndcg needs labels of 0 and more" in said
        assert "signs.txt" in said


def test_a_model_file_with_a_wrong_bit_is_refused(folder, tmp_path):
    model = bytearray((folder / "model").read_bytes())
    model[model.index(b"coef_.npy") + 140] ^= 1
    (tmp_path / "m").write_bytes(model)
    said = refused("predict", tmp_path / "m", folder / "train.txt", "-o", tmp_path / "scores")
    assert "damaged" in said
    assert str(tmp_path / "m") in said
    assert not (tmp_path / "scores").exists()


def test_unwritable_outputs_are_refused_before_the_fit(folder, tmp_path, monkeypatch):
    assert "empty" in refused("train", folder / "train.txt", "-o", "")
    assert "folder" in refused("train", folder / "train.txt", "-o", tmp_path)
    assert "folder" in refused("train", folder / "train.txt", "-o", tmp_path / "no" / "m")
    assert "folder" in refused("predict", folder / "model", folder / "train.txt", "-o", tmp_path)
    assert "folder" in refused("convert", folder / "train.txt", tmp_path / "no" / "x.csv")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written" in refused("train", folder / "train.txt", "-o", tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_is_one_sentence(folder):
    for arguments in (
        ["train", folder / "train.txt", "-o", "/dev/full", "-q"],
        ["predict", folder / "model", folder / "train.txt", "-o", "/dev/full"],
    ):
        assert "No space left on device" in refused(*arguments)
    rows = folder / "train.txt"
    for arguments in (["predict", folder / "model", rows], ["convert", rows, "-", "--to", "csv"]):
        done = invoke(arguments, stdout="/dev/full")
        assert done.exit_code == 1
        assert len(done.stderr.splitlines()) == 1
        assert "No space left on device" in done.stderr


def test_a_disk_that_fills_up_leaves_the_old_file(folder, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    (tmp_path / "m").write_bytes(b"the old model")
    monkeypatch.setattr(os, "fsync", full)
    refused("train", folder / "train.txt", "-o", tmp_path / "m", "-q")
    refused("predict", folder / "model", folder / "train.txt", "-o", tmp_path / "scores")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == b"the old model"


def test_no_convergence_is_a_warning_of_one_line(folder, tmp_path):
    arguments = ["train", f"{folder}/train.txt", "-o", f"{tmp_path}/m", "-q", "--max-iter", "1"]
    result = invoke([*arguments, "--tol", "1e-14"])
    assert result.exit_code == 0
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("pairrank: warning: ")


@pytest.mark.parametrize(
    "command",
    [
        "train train.txt -o train.txt",
        "train train.csv --valid train.txt -o ./train.txt",
        "predict model train.txt -o train.txt",
        "predict model train.txt -o model",
        "convert train.csv ../{name}/train.csv",
    ],
)
def test_no_input_is_written_over(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    said = refused(*command.format(name=folder.name).split())
    assert "is an input too, and would be lost; name another file" in said
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_what_a_model_cannot_learn_or_judge_is_refused(folder, tmp_path):
    flat, words = folder / "flat.txt", [folder / "words.csv", "--qid", "qid"]
    differences = ["-o", tmp_path / "m", "-q", "--model"]
    for model in ("rankrls", "mprank", "svrank"):
        assert "one class only" in refused("train", flat, *differences, model)
        assert "differences of labels need numbers" in refused("train", *words, *differences, model)
    early = ["--regularization", "iteration"]
    assert "X_val" in refused("train", flat, *differences, "rankrls", *early)
    valid = ["train", folder / "train.txt", *differences, "rankrls", "--valid", flat]
    assert "flat.txt" in refused(*valid)
    assert "one class only" in refused("evaluate", folder / "model", flat)
    assert list(tmp_path.iterdir()) == []


def test_comparisons_that_a_model_cannot_learn_are_refused(folder, tmp_path):
    (tmp_path / "sizes.csv").write_text("i,j,weight,magnitude\n0,1,1,2.5\n2,1,1,1\n")
    (tmp_path / "ties.csv").write_text("i,j,weight,magnitude\n0,1,1,0\n")
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--pairs"]
    for model in ("ranksvm", "rankncg"):
        said = refused(*train, tmp_path / "sizes.csv", "--model", model)
        assert "sizes.csv: magnitude[" in said
        assert "use RankRLS" in said
    judged = ["evaluate", folder / "model", folder / "train.txt", "--pairs"]
    said = refused(*judged, tmp_path / "ties.csv")
    assert "ties.csv: every comparison is a tie" in said
