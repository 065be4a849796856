"""What importing the book costs beside PyTorch: CPU time of fresh processes after `import torch`.

`python benchmarks/imports.py [--quick] [--assert]` writes `results/benchmarks/imports.json`; with `--assert`
a missed goal is exit code 1. The goal holds for the package with all its chapters, whose names load when they
are used; the first use of a chapter's main name is listed beside it, without a goal.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from methodbook.core.runs import save_result

GOAL = 0.5  # seconds of CPU beyond torch
OUT = Path(__file__).resolve().parents[1] / "results" / "benchmarks" / "imports.json"
PACKAGE = "import methodbook and its six packages"
CASES = {  # what -> a program that is timed in a process that has imported torch
    PACKAGE: "import methodbook.core, methodbook.heads, methodbook.fisher, methodbook.ml3, methodbook.drex, "
    "methodbook.bench",
    "core.load_ledger": "from methodbook.core import load_ledger",
    "heads.HeadView": "from methodbook.heads import HeadView",
    "fisher.fisher": "from methodbook.fisher import fisher",
    "ml3.MetaLoss": "from methodbook.ml3 import MetaLoss",
    "drex.drex": "from methodbook.drex import drex",
    "bench.DecisionMatrix": "from methodbook.bench import DecisionMatrix",
}
FRESH = """
import os, time, torch
for program in {}:
    if os.fork() == 0:
        start = time.process_time()
        exec(program)
        print(time.process_time() - start, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, program
"""  # a Python that has imported torch and nothing of ours, forked for each case


def cpu_seconds() -> list[float]:  # one of each case
    "CPU time, user and system, that the cases take after torch has been imported."
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-c", FRESH.format(list(CASES.values()))]
    said = subprocess.check_output(words, text=True, env=kept | {"OMP_NUM_THREADS": "1"})
    return [float(line) for line in said.split()]


def measure(rounds: int) -> dict[str, dict[str, float]]:  # case -> seconds beyond torch: median, least, most
    "Run all cases once a round, after a round that only compiles the sources and warms the disk."
    found = [cpu_seconds() for _ in range(rounds + 1)][1:]
    rows = {}
    for name, seconds in zip(CASES, zip(*found, strict=True), strict=True):
        few = statistics.median(seconds), min(seconds), max(seconds)
        rows[name] = {
            key: round(value, 3) for key, value in zip(("seconds", "low", "high"), few, strict=True)
        }
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round, nothing written")
    parser.add_argument("--assert", action="store_true", dest="strict", help="exit code 1 for a missed goal")
    args = parser.parse_args()
    rounds = 1 if args.quick else 5
    rows = measure(rounds)
    for name, row in rows.items():
        print(f"{name}: {row['seconds']:.2f} s beyond torch [{row['low']:.2f}, {row['high']:.2f}]")
    if not args.quick:
        rows[PACKAGE]["goal"] = GOAL
        save_result(OUT, {"rows": rows}, config={"rounds": rounds}, seeds=[])
    return int(args.strict and rows[PACKAGE]["seconds"] > GOAL)


if __name__ == "__main__":
    sys.exit(main())
