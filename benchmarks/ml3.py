"""Measure meta-gradients of `methodbook.ml3` beside its peers, and check every gradient that is timed.

    python benchmarks/ml3.py [--quick] [--assert] [--rounds 15] [--compile]

The problem is the sine of Bechtle et al. (2019) in the sizes of the authors' code: a learner 1-100-10-1 with
ReLU, a learned loss 2-50-50-1 with softplus, 100 points a task, gradient descent inside. One call gives the
gradient of the mean task loss after K inner steps over T tasks. "methodbook" is what `meta_train` uses by
default, the derivatives of a chain of layers written out; "methodbook, autograd" is one graph of stacked
learners. Times are CPU times, one thread, medians over rounds in which all contenders take turns; the least
times are in the file too. Exit code 1: a gradient is wrong, or, with --assert, a goal is missed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch loads: waiting threads must not count

import argparse
import copy
import gc
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from methodbook.core.runs import load_result, save_result
from methodbook.ml3.engines import TaskBatch, initial_params
from methodbook.ml3.inner import SGD
from methodbook.ml3.loss import MetaLoss
from methodbook.ml3.meta import meta_train
from methodbook.ml3.problem import MetaProblem

SEED, RATE, POINTS = 0, 1e-3, 100
TOLERANCE = 1e-5  # relative, in the 2-norm, float32
OURS = "methodbook"
ADVICE = {
    "higher": "not installed: pip install higher==0.2.1",
    "torchopt": "not installed: pip install torchopt==0.7.3",
    "learn2learn": "0.2.0 does not build on Python 3.11 or later (its C extension needs longintrepr.h)",
}
GOALS = {  # (T, K) -> peer -> least ratio of its time to ours
    (10, 1): {"higher": 6.0, "torchopt": 3.5},
    (32, 1): {"higher": 8.0},
    (10, 5): {"higher": 4.0, "torchopt": 3.0},
    (1, 1): {"torchopt": 1 / 1.1},
    (1, 5): {"torchopt": 1 / 1.1},
    (1, 20): {"torchopt": 1 / 1.1},
}
LEAK_GOAL = 20.0  # MiB that 300 outer iterations may add


class Sines:
    "Sine waves of random phase."

    def sample(self, n: int, generator: torch.Generator) -> TaskBatch:
        x = 4 * torch.rand(n, POINTS, 1, generator=generator) - 2
        return TaskBatch(x, torch.sin(x - torch.rand(n, 1, 1, generator=generator)))


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(1, 100), nn.ReLU(), nn.Linear(100, 10), nn.ReLU(), nn.Linear(10, 1))


def contenders(tasks: int, steps: int, compiled: bool) -> dict[str, Callable[[], list[Tensor]]]:
    "Functions without arguments that return the gradient, one tensor for each weight of the learned loss."
    generator = torch.Generator().manual_seed(SEED)
    model, loss = network(), MetaLoss.supervised(1, generator=generator)
    batch, phi = Sines().sample(tasks, generator), list(loss.parameters())
    params = initial_params(model, tasks, generator)
    models = []
    for t in range(tasks):
        models.append(copy.deepcopy(model))
        models[t].load_state_dict({name: each[t] for name, each in params.items()})

    def ours(engine: str = "auto") -> Callable[[], list[Tensor]]:
        problem = MetaProblem(loss, model, "mse", SGD(RATE), steps, engine=engine)
        return lambda: list(problem.gradient(batch, params).grads.values())

    def one_by_one(end: Callable[[int], Tensor]) -> Callable[[], list[Tensor]]:
        def run() -> list[Tensor]:
            total = [torch.zeros_like(each) for each in phi]
            for t in range(tasks):
                for sum_, part in zip(total, torch.autograd.grad(end(t), phi), strict=True):
                    sum_ += part / tasks
            return total

        return run

    def by_higher(t: int) -> Tensor:
        import higher

        optimiser = torch.optim.SGD(models[t].parameters(), lr=RATE)
        with higher.innerloop_ctx(models[t], optimiser, copy_initial_weights=False) as (f, inner):
            for _ in range(steps):
                inner.step(loss(f(batch.x[t]), batch.y[t]).mean())
            return (f(batch.x[t]) - batch.y[t]).square().mean()

    def by_torchopt(t: int) -> Tensor:
        import torchopt

        start = torchopt.extract_state_dict(models[t], by="reference")
        inner = torchopt.MetaSGD(models[t], lr=RATE)
        for _ in range(steps):
            inner.step(loss(models[t](batch.x[t]), batch.y[t]).mean())
        end = (models[t](batch.x[t]) - batch.y[t]).square().mean()
        torchopt.recover_state_dict(models[t], start)
        return end

    found = {OURS: ours(), "methodbook, autograd": ours("batched")}
    if compiled:
        found["methodbook, compiled"] = ours("compile")
    for name, end in (("higher", by_higher), ("torchopt", by_torchopt)):
        if importlib.util.find_spec(name):
            found[name] = one_by_one(end)
    return found


def single(name: str, tasks: int, steps: int) -> Callable[[], list[Tensor]]:
    "One contender of one case for `peers.py`, which compares the gradients."
    return contenders(tasks, steps, compiled=False)[name]


def measure(tasks: int, steps: int, rounds: int, compiled: bool) -> dict:
    "Median CPU milliseconds of each contender, and how far its gradient is from ours."
    run = contenders(tasks, steps, compiled)
    values = {name: torch.cat([each.flatten() for each in f()]) for name, f in run.items()}
    reference = values["higher"] if "higher" in values else values[OURS]
    errors = {name: float((each - reference).norm() / reference.norm()) for name, each in values.items()}
    times: dict[str, list[float]] = {name: [] for name in run}
    for _ in range(rounds):
        for name, f in run.items():
            gc.disable()
            begin = time.process_time()
            f()
            times[name].append(1e3 * (time.process_time() - begin))
            gc.enable()
    medians = {name: statistics.median(each) for name, each in times.items()}
    ratios = {name: medians[name] / medians[OURS] for name in medians if name != OURS}
    least = {name: min(each) for name, each in times.items()}
    return {"median_ms": medians, "least_ms": least, "times_ours": ratios, "relative_error": errors}


def resident() -> float:
    "Memory of this process in MiB."
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def leak(iterations: int) -> float:
    "MiB that outer iterations add after a warm-up."
    loss = MetaLoss.supervised(1, generator=torch.Generator().manual_seed(SEED))
    settings = {"inner": SGD(RATE), "inner_steps": 5, "meta_batch": 10}
    meta_train(loss, network(), Sines(), "mse", iters=30, **settings)
    before = resident()
    meta_train(loss, network(), Sines(), "mse", iters=iterations, **settings)
    return resident() - before


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds; nothing is written")
    parser.add_argument(
        "--assert", dest="strict", action="store_true", help="exit code 1 when a goal is missed"
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each task")
    parser.add_argument("--compile", action="store_true", help="time the compiled engine too (minutes)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rounds = 5 if given.quick else max(7, given.rounds)
    cases = (
        [(1, 1), (10, 1), (32, 1), (10, 5)]
        if given.quick
        else [(1, 1), (1, 5), (1, 20), (10, 1), (32, 1), (10, 5)]
    )
    rows, wrong, missed = {}, [], []
    for tasks, steps in cases:
        row = measure(tasks, steps, rounds, given.compile and tasks > 1)
        rows[f"{tasks}x{steps}"] = row
        wrong += [
            f"{tasks}x{steps} {name}" for name, error in row["relative_error"].items() if error > TOLERANCE
        ]
        for peer, goal in GOALS[tasks, steps].items():
            if peer in row["times_ours"] and row["times_ours"][peer] < goal:
                missed.append(f"{tasks}x{steps}: {row['times_ours'][peer]:.2f} times {peer}, goal {goal:.2f}")
        line = "  ".join(f"{name} {ms:.2f}" for name, ms in row["median_ms"].items())
        ratios = "  ".join(f"{name} {ratio:.2f}x" for name, ratio in row["times_ours"].items())
        print(
            f"{tasks:2d} tasks x {steps:2d} steps, ms: {line}\n    as many times ours: {ratios}", flush=True
        )
    grown = leak(60 if given.quick else 300)
    print(f"memory added by {60 if given.quick else 300} outer iterations: {grown:.1f} MiB")
    if grown > LEAK_GOAL:
        missed.append(f"memory grew by {grown:.1f} MiB, goal {LEAK_GOAL:.0f}")
    absent = {name: note for name, note in ADVICE.items() if importlib.util.find_spec(name) is None}
    for name, note in absent.items():
        print(f"{name}: {note}")
    for text in (
        *[f"wrong gradient: {each}" for each in wrong],
        *[f"goal missed: {each}" for each in missed],
    ):
        print(text)
    if not given.quick:
        path = Path(__file__).parents[1] / "results" / "benchmarks" / "ml3.json"
        known = load_result(path)["numbers"]["rows"] if path.exists() else {}
        peers = {name for row in known.values() for name in row["median_ms"]} & {"higher", "torchopt"}
        if peers - set(rows["10x1"]["median_ms"]):
            print(f"{path.name} has {', '.join(sorted(peers))}, which is missing here: not overwritten")
        else:
            numbers = {
                "rows": rows,
                "added_mib": grown,
                "absent": absent,
                "missed": missed,
                "load": os.getloadavg()[0],
            }
            config = {"points": POINTS, "learner": "1-100-10-1 ReLU", "loss": "2-50-50-1 ReLU, softplus"}
            config |= {
                "inner": f"SGD({RATE})",
                "rounds": rounds,
                "dtype": "float32",
                "time": "median CPU time",
            }
            save_result(path, numbers, config=config, seeds=[SEED], packages=["higher", "torchopt"])
    return 1 if wrong or (given.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
