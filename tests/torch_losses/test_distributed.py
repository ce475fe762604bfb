"""Distributed training: two processes have the gradient of a single one."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import torch  # noqa: E402

from pairrank.exceptions import PairrankError  # noqa: E402
from pairrank.torch import all_pairs_loss, gather_rows  # noqa: E402

WORKER = """
import copy, sys, torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from pairrank.torch import AllPairsLoss, all_pairs_loss, gather_rows

rank, path = int(sys.argv[1]), sys.argv[2]
distributed.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
generator = torch.Generator().manual_seed(0)
X = torch.randn(50, 4, dtype=torch.float64, generator=generator)
labels = torch.randint(0, 3, (50,), generator=generator)
qid = torch.randint(0, 4, (50,), generator=generator)
weight = torch.rand(50, dtype=torch.float64, generator=generator)


def networks():
    # The second is the first one, shared by the processes; the third is a copy that is not.
    linear = torch.nn.Linear
    model = torch.nn.Sequential(linear(4, 3), torch.nn.Tanh(), linear(3, 1)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model, DistributedDataParallel(model), copy.deepcopy(model)


def equal(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-14)


def compare(value, wanted, model, alone):
    value.backward()
    wanted.backward()
    equal(value, wanted)
    for own, other in zip(model.parameters(), alone.parameters(), strict=True):
        equal(own.grad, other.grad)


def compare_queries():
    model, shared, alone = networks()
    loss = AllPairsLoss(loss="squared_hinge", gather=True)
    value = loss(shared(X[own]).squeeze(1), labels[own], qid[own], sample_weight=weight[own])
    wanted = all_pairs_loss(
        alone(X).squeeze(1), labels, qid, loss="squared_hinge", sample_weight=weight
    )
    compare(value, wanted, model, alone)


def compare_lists():
    model, shared, alone = networks()
    lists, mask = torch.arange(48).reshape(6, 8), torch.rand(6, 8, generator=generator) < 0.8
    mine = lists[:2] if rank == 0 else lists[2:]
    shown = mask[:2] if rank == 0 else mask[2:]
    value = all_pairs_loss(
        shared(X[mine]).squeeze(2), labels[mine], mask=shown, reduction="query_mean", gather=True
    )
    wanted = all_pairs_loss(
        alone(X[lists]).squeeze(2), labels[lists], mask=mask, reduction="query_mean"
    )
    compare(value, wanted, model, alone)


def compare_second_derivatives():
    scores = torch.arange(1.0, 3.0 + rank, dtype=torch.float64, requires_grad=True)
    value = (gather_rows(scores) ** 3).sum()
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    equal(gradient, 2 * 3 * scores**2)
    (second,) = torch.autograd.grad(gradient.sum(), scores)
    equal(second, 2 * 2 * 6 * scores.detach() / 2)


def compare_no_rows():
    model, shared, alone = networks()
    n = 0 if rank == 0 else len(X)
    value = all_pairs_loss(shared(X[:n]).squeeze(1), labels[:n], qid[:n], gather=True)
    compare(value, all_pairs_loss(alone(X).squeeze(1), labels, qid), model, alone)


def refuse_a_missing_weight():
    given = weight[own] if rank == 0 else None
    try:
        all_pairs_loss(X[own, 0], labels[own], sample_weight=given, gather=True)
    except ValueError as error:
        assert "process 1 gives no sample_weight" in str(error)
    else:
        raise AssertionError


own = slice(0, 20) if rank == 0 else slice(20, 50)
for case in (
    compare_queries,
    compare_lists,
    compare_second_derivatives,
    compare_no_rows,
    refuse_a_missing_weight,
):
    case()
distributed.destroy_process_group()
print("done")
"""


def test_two_processes_have_the_gradient_of_one(tmp_path):
    """One pair of processes checks every case: most of the time goes into their start."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    meeting = str(tmp_path / "meeting")
    workers = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), meeting],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [worker.communicate(timeout=240) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, (output, errors) in zip(workers, outputs, strict=True):
        assert worker.returncode == 0, errors
        assert output.strip() == "done"


def test_gather_needs_a_process_group():
    with pytest.raises(PairrankError, match="init_process_group"):
        all_pairs_loss(torch.zeros(2), [0, 1], gather=True)
    with pytest.raises(PairrankError, match="init_process_group"):
        gather_rows(torch.zeros(2))
