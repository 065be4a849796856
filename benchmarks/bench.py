"""Ask the usual ways of timing, and this book's, whether identical programs differ; and time nothing at all.

    python benchmarks/bench.py [--quick] [--launches 6] [--seed 0] [--out results/benchmarks/bench.json]

First part: a program is compared with itself, in fresh processes, and every rule looks at the same recorded
calls. A rule that says "different" is wrong. Second part: a loop of known length is timed by this book's
worker loop, by `timeit`, and by `torch.utils.benchmark`; what they add is their overhead. No threshold on
time decides: exit code 1 only if our own false alarms exceed 5 % of the comparisons by more than chance.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import time
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind

from methodbook.bench.adapters import Prepared
from methodbook.bench.campaigns import campaign_plan
from methodbook.bench.comparison import binomial_interval, compare
from methodbook.bench.records import Records
from methodbook.bench.runner import Arm, run
from methodbook.bench.worker import time_calls
from methodbook.core.runs import load_result, save_result

SEED = 0
Blocks = list[np.ndarray]  # the calls of one process, one array a block, s


# --- rules


def pooled_mann_whitney(a: list[Blocks], b: list[Blocks]) -> bool:
    "All calls of all processes, rank test at 5 %."
    calls = [np.concatenate([block for process in side for block in process]) for side in (a, b)]
    return mannwhitneyu(*calls).pvalue < 0.05


def pyperf_like(a: list[Blocks], b: list[Blocks]) -> bool:
    "Values of several processes pooled, Student's t at 5 %: what `pyperf compare_to` does with its values."
    values = [[np.mean(block) for process in side for block in process] for side in (a, b)]
    return ttest_ind(*values).pvalue < 0.05


def asv_like(a: list[Blocks], b: list[Blocks]) -> bool:
    "Two rounds in turn, rank test at 0.2 % and a factor of 1.1: what `asv continuous` reports."
    values = [[np.median(block) for process in side[:2] for block in process] for side in (a, b)]
    middle = [np.median(side) for side in values]
    return mannwhitneyu(*values).pvalue < 0.002 and max(middle) > 1.1 * min(middle)


def fastest_of_one(a: list[Blocks], b: list[Blocks]) -> bool:
    "The fastest call of one process, different beyond 3 %: `min(timeit.repeat(...))`."
    best = [min(np.min(block) for block in side[0]) for side in (a, b)]
    return max(best) > 1.03 * min(best)


def quartiles_apart(a: list[Blocks], b: list[Blocks]) -> bool:
    "Quartiles of one process do not overlap: how tables of `torch.utils.benchmark` are read."
    low, high = zip(*(np.percentile(np.concatenate(side[0]), [25, 75]) for side in (a, b)), strict=True)
    return low[0] > high[1] or low[1] > high[0]


RULES: dict[str, Callable[[list[Blocks], list[Blocks]], bool]] = {
    "all calls, Mann-Whitney": pooled_mann_whitney,
    "values of processes, t (as pyperf)": pyperf_like,
    "two rounds, Mann-Whitney and 10 % (as asv)": asv_like,
    "fastest call of one process, 3 %": fastest_of_one,
    "quartiles of one process apart": quartiles_apart,
}
OURS = "methodbook"


def processes(records: Records, cell: str, arm: str) -> list[Blocks]:
    "The calls of each launch of one cell and arm."
    found: dict[int, Blocks] = {}
    for block in records.of("block"):
        if (block["cell"], block["arm"]) == (cell, arm):
            calls = np.asarray(block["wall_ns"], float) * 1e-9 / block["n_inner"]
            found.setdefault(block["launch"], []).append(calls)
    return [found[launch] for launch in sorted(found)]


def false_alarms(records: Records, arms: Sequence[str]) -> dict[str, tuple[int, int]]:
    "How often each rule tells the arms apart, out of how many cells."
    table = compare(records, arms[0], floor={}).table
    moved = int(table.verdict.isin(["faster", "slower"]).sum())
    counts = {OURS: (moved, len(table))}
    for name, rule in RULES.items():
        hits = sum(bool(rule(*(processes(records, cell, arm) for arm in arms))) for cell in table.cell)
        counts[name] = (hits, len(table))
    return counts


# --- overhead


def spin(seconds: float) -> Callable[[], None]:
    "A call that takes at least so long by the clock."

    def call() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return call


def overheads(length: float = 50e-6, repeats: int = 60) -> dict[str, float]:
    "What each way of timing adds to a loop of `length` seconds: least over repeats, s a call."
    import torch.utils.benchmark as torch_benchmark

    call = spin(length)
    ready, timer = Prepared(call, [()]), torch_benchmark.Timer("call()", globals={"call": call})
    ways: dict[str, Callable[[], float]] = {
        OURS: lambda: float(np.median(time_calls(ready, 0.01, 3, 1)[0])) * 1e-9,
        "timeit": lambda: timeit.timeit(call, number=20) / 20,
        "torch.utils.benchmark": lambda: timer.timeit(20).median,
    }
    least = dict.fromkeys(ways, np.inf)
    for _ in range(repeats):  # in turn, so that no way has the quiet moments for itself
        for name, way in ways.items():
            least[name] = min(least[name], way() - length)
    return {name: float(extra) for name, extra in least.items()}


# --- main


def main(argv: Sequence[str] | None = None) -> int:
    "Run both parts, print them, and write the result."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few cells and launches; nothing is written")
    parser.add_argument("--launches", type=int, default=6, help="processes of each copy (default: 6)")
    parser.add_argument("--seed", type=int, default=SEED, help="of the order (default: 0)")
    parser.add_argument(
        "--out", default="results/benchmarks/bench.json", help="the result (default: %(default)s)"
    )
    args = parser.parse_args(argv)
    arms, began = ("numpy", "numpy#2"), time.monotonic()
    small = {"workloads": "mlp", "batches": (1, 2)} if args.quick else {}
    plan = campaign_plan(
        arms=[Arm("numpy"), Arm("numpy", label=arms[1])], launches=args.launches, seed=args.seed, **small
    )
    records = run(plan)
    counts, extra = false_alarms(records, arms), overheads(repeats=10 if args.quick else 60)
    seconds = time.monotonic() - began
    print(f"identical programs, {counts[OURS][1]} cells, {args.launches} processes of each:\n")
    for name, (hits, asked) in counts.items():
        low, high = binomial_interval(hits, asked)
        print(
            f"  {name:<44} {100 * hits / asked:5.1f} % called different   [{100 * low:.0f}, {100 * high:.0f}]"
        )
    print("\nadded to a call of 50 µs:\n")
    for name, value in extra.items():
        print(f"  {name:<44} {1e6 * value:5.2f} µs")
    print(f"\n{seconds / counts[OURS][1]:.1f} s a comparison; {records.of('end')[-1]['summary']}")
    if not args.quick:
        numbers = {"false_alarms": {name: list(pair) for name, pair in counts.items()}, "overhead_s": extra}
        numbers |= {"seconds": seconds, "contended_blocks": records.of("end")[-1]["contended"]}
        config = {"launches": args.launches, "batches": list(plan.batches), "arm": "numpy"}
        save_result(Path(args.out), numbers, config=config, seeds=[args.seed])
        print(f"written: {args.out}, {load_result(args.out)['date']}")
    return int(binomial_interval(*counts[OURS])[0] > 0.05)


if __name__ == "__main__":
    sys.exit(main())
