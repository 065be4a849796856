"""`torchrun --nproc-per-node 2` and a sweep on Dask get what one process gets.

One program for the sums that a group shares: curvature, statistics and importance of heads, meta-gradients.
The file is also that program: each process takes its share of the data and writes what it found.
"""

import os
import subprocess
import sys

import joblib
import pandas as pd
import pytest
import torch
from torch import distributed, nn

from methodbook.core.parallel import local_share
from methodbook.core.runs import load_state, save_state
from methodbook.drex.tabular import grid_table
from methodbook.fisher.curvature import fisher
from methodbook.heads.attention import HeadView
from methodbook.heads.grammar import planted_heads
from methodbook.heads.importance import ablation, lrp, taylor
from methodbook.heads.roles import Annotated, head_roles
from methodbook.heads.translation import Attention
from methodbook.ml3.engines import TaskBatch
from methodbook.ml3.inner import SGD
from methodbook.ml3.loss import MetaLoss
from methodbook.ml3.meta import meta_train


class Sines:
    "Sine waves of random phase."

    def sample(self, n, generator):
        x = 4 * torch.rand(n, 12, 1, generator=generator, dtype=torch.float64) - 2
        return TaskBatch(x, torch.sin(x - torch.rand(n, 1, 1, generator=generator, dtype=torch.float64)))


def roles(batches):
    "Statistics of planted heads over some of seven batches: confidence, positions, arcs, rare tokens."
    model = planted_heads()
    view = HeadView(model)
    annotated = [Annotated(each.tokens, each.arcs, each.word_ids()) for each in batches(model.batches(7))]
    found = head_roles(view, annotated, mask=model.mask, counts=model.counts, top_k=20)
    numbers = found.frame.select_dtypes("number").to_numpy(dtype="float64")
    arcs = found.syntactic
    return {"numbers": torch.from_numpy(numbers), "accuracy": arcs.accuracy, "n_arcs": arcs.n_arcs}


def importance(share):
    "What each measure says of four heads, on some of seven sequences of unequal weight."
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), Attention(8, 4)).double()
    x = torch.randn(7, 5, 8, dtype=torch.float64) * torch.arange(1, 8)[:, None, None]
    view, batches = HeadView(model), share(list(x.split(1)))

    def loss(model, batch):
        return model(batch).square().sum((1, 2))

    found = {reduce: taylor(view, batches, loss, reduce) for reduce in ("token_abs", "example_abs")}
    found |= {mode: ablation(view, batches, loss, mode=mode) for mode in ("zero", "mean")}
    relevance = lrp(view, batches, score=lambda output: output.amax(-1))
    sums = (relevance.score, relevance.arrived, relevance.predictions)
    return found | {"relevance": relevance.importance, "sums": torch.tensor(sums, dtype=torch.float64)}


def learned():
    "Weights of a loss after three outer steps on five tasks; plain descent, so that a wrong scale shows."
    generator = torch.Generator().manual_seed(0)
    learner = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    loss = MetaLoss.supervised(1, hidden=(6,), activation="tanh", generator=generator).double()
    options = {"inner": SGD(0.1), "inner_steps": 2, "meta_batch": 5, "iters": 3}
    meta_train(loss, learner, Sines(), "mse", outer="sgd", outer_lr=0.1, grad_clip=None, **options)
    return {name: each.detach() for name, each in loss.named_parameters()}


def curvature(share, shared):
    "The Kronecker-factored Fisher of a network on some of eleven samples."
    torch.manual_seed(0)
    x, y = torch.randn(11, 3, dtype=torch.float64), torch.arange(11) % 3
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    data = share(x), share(y)
    return fisher(model, data, "true", "kfac", loss="cross_entropy", distributed=shared).to_dense()


def main(folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    found = {"roles": roles(local_share), "importance": importance(local_share), "loss": learned()}
    found["fisher"] = curvature(local_share, True)
    save_state(f"{folder}/{distributed.get_rank()}.state", found)
    distributed.destroy_process_group()


def test_torchrun_with_two_processes_equals_one(tmp_path):
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "METHODBOOK_QUIET": "1"}
    done = subprocess.run(
        [*words, __file__, str(tmp_path)], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    alone = {"roles": roles(list), "importance": importance(list), "loss": learned()}
    alone["fisher"] = curvature(lambda data: data, False)
    assert int(alone["roles"]["n_arcs"].sum()) > 0
    for rank in range(2):
        found = load_state(tmp_path / f"{rank}.state")
        # float64 sums in another order; NaN where a head has no such number, in both
        torch.testing.assert_close(found, alone, rtol=1e-10, atol=1e-12, equal_nan=True)


def test_a_sweep_on_dask_equals_the_local_one():
    dask = pytest.importorskip("dask.distributed", reason="dask is not installed (extra `dev`)")
    seeds = [1, 2, 3, 4]
    local = grid_table(seeds)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with dask.LocalCluster(processes=True, **options) as cluster, dask.Client(cluster):
        with joblib.parallel_config(backend="dask"):
            pd.testing.assert_frame_equal(grid_table(seeds), local, check_exact=True)


if __name__ == "__main__":
    main(sys.argv[1])
