"""Two processes that share the data get what one process gets from all of it.

The file is also the program of each process, as `torchrun` would start it twice. Both start once, compute all
cases and write what they hold; the tests below compare that with a single process.
"""

import os
import subprocess
import sys

import pytest
import torch
from torch import distributed, nn

from methodbook.core.runs import load_state, save_state
from methodbook.fisher.curvature import fisher, ggn, gradient, hessian
from methodbook.fisher.layers import Bare
from methodbook.fisher.likelihood import GaussianMeanLogVariance
from methodbook.fisher.optimisers import NaturalGradient

STRUCTURES = ("dense", "diag", "block", "kfac", "ekfac", "lowrank", "operator")
KINDS = ("true", "mc", "empirical", "ggn", "hessian")


def problem(name):
    "A model, inputs and labels of 12 samples, and the loss; float64."
    torch.manual_seed(0)
    x, y = torch.randn(12, 3, dtype=torch.float64), torch.arange(12) % 3
    if name == "bare":
        return Bare().double(), x, y, "cross_entropy"
    if name == "tokens":
        loss = nn.CrossEntropyLoss(ignore_index=2)
        return (
            nn.Linear(3, 3).double(),
            x.repeat(1, 4).reshape(12, 4, 3).cumsum(1),
            y[:, None] * torch.ones(4, dtype=torch.int64),
            loss,
        )
    if name == "signs":  # one negative output Hessian, in the share of the second process
        model = nn.Linear(3, 2).double()
        with torch.no_grad():
            target = model(x)[:, 0].clone()
        target[9] += 5
        return model, x, target, GaussianMeanLogVariance()
    if name == "counts":
        return nn.Linear(3, 2).double(), x, torch.stack([y, y + 1], 1).double(), "poisson"
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    return model, x, y, "cross_entropy"


def shares(x, y, rank):
    "Seven samples at once, or five in two ragged batches."
    return (x[:7], y[:7]) if rank == 0 else [(x[7:10], y[7:10]), (x[10:], y[10:])]


def defined(kind, structure):
    return kind != "hessian" or structure in ("dense", "diag", "operator")


CASES = [("net", kind, structure) for kind in KINDS for structure in STRUCTURES if defined(kind, structure)]
CASES += [
    ("bare", kind, structure)
    for kind in ("mc", "empirical")
    for structure in ("dense", "diag", "block", "lowrank", "operator")
]
CASES += [
    ("tokens", kind, structure)
    for kind in ("mc", "ggn")
    for structure in ("dense", "kfac", "ekfac", "lowrank", "operator")
]
CASES += [("signs", "ggn", structure) for structure in ("dense", "block", "kfac", "lowrank", "operator")]
CASES += [("counts", "mc", structure) for structure in ("dense", "kfac", "lowrank")]


def compute(case, rank):
    "The matrix of `case` as numbers; `rank` None: one process with all data."
    name, kind, structure = case
    model, x, y, loss = problem(name)
    data = (x, y) if rank is None else shares(x, y, rank)
    common = {"loss": loss, "distributed": rank is not None}
    if kind == "hessian":
        c = hessian(model, data, structure, **common)
    elif kind == "ggn":
        c = ggn(model, data, structure, **common)
    else:
        drawn = {"mc_samples": 2, "seed": 3} if kind == "mc" else {}
        c = fisher(model, data, kind, structure, **drawn, **common)
    b = torch.linspace(-1, 1, c.shape[0], dtype=torch.float64)
    step = c.solve(b, damping=20.0)  # of order one: tests the solver's talk, not its condition
    return {"matrix": c.to_dense(), "diag": c.diag(), "step": step, "n": c.n, "definite": c.definite}


TRAININGS = {
    "true dense": {"kind": "true", "structure": "dense", "adapt_damping": True},
    "mc kfac": {"kind": "mc", "structure": "kfac", "ema": 0.9},
    "mc ekfac": {"kind": "mc", "structure": "ekfac", "kl_clip": 1e-2},
    "empirical block": {"kind": "empirical", "structure": "block", "momentum": 0.5},
    "empirical lowrank": {"kind": "empirical", "structure": "lowrank", "weight_decay": 0.01},
    "ggn diag": {"kind": "ggn", "structure": "diag", "update_every": 2},
    "true operator": {"kind": "true", "structure": "operator"},
}


def train(name, rank):
    "Losses of three natural-gradient steps, and the parameters and damping after each."
    model, x, y, loss = problem("net")
    data = (x, y) if rank is None else shares(x, y, rank)
    common = {"lr": 0.5, "damping": 0.1, "distributed": rank is not None}
    ours = NaturalGradient(model, loss, **common, **TRAININGS[name])
    path = []
    for _ in range(3):
        value = torch.tensor([ours.step(data), ours.param_groups[0]["damping"]], dtype=torch.float64)
        path.append(torch.cat([value, *(p.detach().flatten() for p in model.parameters())]))
    return torch.stack(path)


def main(folder, rank):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    found = {" ".join(case): compute(case, rank) for case in CASES}
    found |= {f"train {name}": train(name, rank) for name in TRAININGS}
    model, x, y, loss = problem("net")
    found["gradient"] = gradient(model, shares(x, y, rank), loss=loss, distributed=True)
    generators = fisher(
        model, iter([shares(x, y, 0)]) if rank == 0 else (x, y), "mc", "diag", loss=loss, distributed=True
    )
    found["uncounted"] = generators.diag()
    save_state(f"{folder}/{rank}.state", found)
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    "What the two processes found."
    folder = tmp_path_factory.mktemp("processes")
    words = [[sys.executable, __file__, str(folder), str(rank)] for rank in (0, 1)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen(w, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env) for w in words]
    outputs = [process.communicate(timeout=300)[0].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    return [load_state(folder / f"{rank}.state") for rank in (0, 1)]


def agree(one, other):
    # sums of 12 terms in another order, float64
    torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.filterwarnings("ignore:this Gauss-Newton matrix may be indefinite")
@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_two_processes_equal_one(both, case):
    alone = compute(case, None)
    for rank in (0, 1):
        found = both[rank][" ".join(case)]
        assert found["n"] == alone["n"]
        assert found["definite"] == alone["definite"]
        agree(found["matrix"], alone["matrix"])
        agree(found["diag"], alone["diag"])
        rtol = 1e-5 if case[2] == "operator" else 1e-9  # conjugate gradients stop at 1e-6
        torch.testing.assert_close(found["step"], alone["step"], rtol=rtol, atol=1e-7)


def test_the_negative_direction_of_the_other_process_is_known(both):
    # rank 0 has none: it must still not take the solver of a definite matrix
    assert not both[0]["signs ggn dense"]["definite"]
    assert both[0]["net ggn dense"]["definite"]


def test_gradients_add_up(both):
    model, x, y, loss = problem("net")
    agree(both[0]["gradient"], gradient(model, (x, y), loss=loss))
    assert torch.equal(both[0]["gradient"], both[1]["gradient"])


@pytest.mark.parametrize("name", TRAININGS)
def test_natural_gradient_takes_the_same_steps(both, name):
    alone = train(name, None)
    assert float((alone[0] - alone[2]).norm()) > 1e-2  # it went somewhere
    assert torch.equal(both[0][f"train {name}"], both[1][f"train {name}"])  # or the models would part
    rtol = 1e-5 if "operator" in name else 1e-9  # conjugate gradients stop at 1e-6
    torch.testing.assert_close(both[0][f"train {name}"], alone, rtol=rtol, atol=1e-7)


def test_a_share_that_cannot_be_counted_draws_from_a_stream_of_its_own(both):
    # unbiased all the same: within the spread of single draws, and the same in both processes
    model, x, y, loss = problem("net")
    assert torch.equal(both[0]["uncounted"], both[1]["uncounted"])
    exact = fisher(model, (torch.cat([x[:7], x]), torch.cat([y[:7], y])), "true", "diag", loss=loss).diag()
    assert 0.2 < float(both[0]["uncounted"].sum() / exact.sum()) < 3


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
