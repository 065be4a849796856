"""What importing the book costs beside PyTorch alone: fresh processes in turn, their CPU time.

`python benchmarks/imports.py [--quick] [--assert]` writes `results/benchmarks/imports.json`; with `--assert`
a missed goal is exit code 1. The goal holds for the package with all its chapters, whose names load when they
are used; the first use of a chapter's main name is listed beside it, without a goal.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from methodbook.core.runs import save_result

GOAL = 0.5  # seconds of CPU beyond torch
OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "imports.json"
ALONE = "import torch"
PACKAGE = "import methodbook and its six packages"
CASES = {  # what -> a program that imports torch first
    PACKAGE: "import methodbook.core, methodbook.heads, methodbook.fisher, methodbook.ml3, methodbook.drex, "
    "methodbook.bench",
    "core.load_ledger": "from methodbook.core import load_ledger",
    "heads.HeadView": "from methodbook.heads import HeadView",
    "fisher.fisher": "from methodbook.fisher import fisher",
    "ml3.MetaLoss": "from methodbook.ml3 import MetaLoss",
    "drex.drex": "from methodbook.drex import drex",
    "bench.DecisionMatrix": "from methodbook.bench import DecisionMatrix",
}


def cpu_seconds(program: str) -> float:
    "CPU time, user and system, of a fresh Python that runs `program`."
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(rounds: int) -> dict[str, dict[str, float]]:  # case -> seconds beyond torch: median, least, most
    "Run all cases once a round beside torch alone, after a round that only warms the disk."
    found: dict[str, list[float]] = {name: [] for name in CASES}
    for number in range(rounds + 1):
        torch = cpu_seconds(ALONE)
        for name, program in CASES.items():
            beyond = cpu_seconds(f"{ALONE}; {program}") - torch
            found[name] += [beyond] if number else []
    rows = {}
    for name, beyond in found.items():
        few = statistics.median(beyond), min(beyond), max(beyond)
        rows[name] = {
            key: round(value, 3) for key, value in zip(("seconds", "low", "high"), few, strict=True)
        }
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round, nothing written")
    parser.add_argument("--assert", action="store_true", dest="strict", help="exit code 1 for a missed goal")
    args = parser.parse_args()
    rounds = 1 if args.quick else 3
    rows = measure(rounds)
    for name, row in rows.items():
        print(f"{name}: {row['seconds']:.2f} s beyond torch [{row['low']:.2f}, {row['high']:.2f}]")
    if not args.quick:
        rows[PACKAGE]["goal"] = GOAL
        save_result(OUT, {"rows": rows}, config={"rounds": rounds}, seeds=[])
    return int(args.strict and rows[PACKAGE]["seconds"] > GOAL)


if __name__ == "__main__":
    sys.exit(main())
