"""Meta-training on two processes makes the same updates as on one."""

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from methodbook.core.runs import load_state, save_state
from methodbook.ml3.engines import TaskBatch
from methodbook.ml3.inner import SGD
from methodbook.ml3.loss import MetaLoss
from methodbook.ml3.meta import meta_train

PROCESSES, ITERATIONS = 2, 4


class Sines:
    "Sine waves of random phase; every third batch has one that is broken."

    def sample(self, n, generator):
        x = 4 * torch.rand(n, 12, 1, generator=generator, dtype=torch.float64) - 2
        phase = torch.rand(n, 1, 1, generator=generator, dtype=torch.float64)
        y = torch.sin(x - phase)
        if n > 1 and float(phase[0]) < 0.3:
            y[1, 0] = float("nan")
        return TaskBatch(x, y)


def train(tasks, steps, folder=None):
    "A short training; the outer optimiser is plain descent, so that a wrong scale would show."
    learner = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    generator = torch.Generator().manual_seed(0)
    loss = MetaLoss.supervised(1, hidden=(6,), activation="tanh", generator=generator).double()
    settings = {"inner": SGD(0.1), "inner_steps": steps, "meta_batch": tasks, "iters": ITERATIONS}
    settings |= {"outer": "sgd", "outer_lr": 0.1, "grad_clip": None, "on_nonfinite": "skip", "folder": folder}
    result = meta_train(loss, learner, Sines(), "mse", **settings)
    columns = ["loss", "grad_norm", "skipped"]
    weights = {name: each.detach() for name, each in loss.named_parameters()}
    return {"weights": weights, "history": torch.tensor(result.history[columns].to_numpy())}


CASES = [(5, 1), (4, 3), (1, 2)]  # (tasks, inner steps); with one task the second process has nothing to do


def work(rank, folder):
    "One of two processes."
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", PROCESSES)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=PROCESSES)
    found = [train(tasks, steps) for tasks, steps in CASES]
    save_state(f"{folder}/found{rank}.safetensors", found)
    dist.destroy_process_group()


def test_two_processes_make_the_updates_of_one(tmp_path):
    mp.spawn(work, args=(str(tmp_path),), nprocs=PROCESSES)
    first, second = (load_state(tmp_path / f"found{rank}.safetensors") for rank in range(PROCESSES))
    skipped = 0
    for place, (tasks, steps) in enumerate(CASES):
        alone = train(tasks, steps)
        skipped += float(alone["history"][:, 2].sum())
        for other in (first[place], second[place]):
            for name, weight in alone["weights"].items():
                # float64, sums over tasks in another order, four updates
                torch.testing.assert_close(other["weights"][name], weight, rtol=0, atol=1e-12)
            torch.testing.assert_close(other["history"], alone["history"], rtol=1e-10, atol=1e-12)
        for name, weight in first[place]["weights"].items():
            assert torch.equal(weight, second[place]["weights"][name])  # the processes agree to the bit
    assert skipped >= 1  # the broken task was met
