"""Measure the pairs behind the book's speed claims on its own runner, and write one page of ratios.

    python benchmarks/peers.py [--only WORD ...] [--launches 6] [--rounds 12] [--assert] [--quick]

The scripts beside this one let many contenders take turns in one process and report processor time. Here the
pairs that a claim rests on go through `methodbook.bench`: a fresh process for each contender and launch, one
thread, pinned, blocks of the two side by side in random order, values checked before anything is timed, and a
verdict with an interval. Pairs whose peer is not installed keep the row of an earlier run, with its date.
Exit code 1: a value is wrong, or, with --assert, a whole interval is on the wrong side of its goal.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch loads: waiting threads must not count

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from methodbook.bench.comparison import compare
from methodbook.bench.runner import Plan, run
from methodbook.bench.workloads import Workload
from methodbook.core.runs import load_result, save_result, write_atomic

HERE = Path(__file__).resolve().parent
SEED = 0


class Built:
    "A call that a script of this folder builds when it is first used, in the process that makes it."

    def __init__(self, script: str, *names: Any):
        self.path, self.names, self.call = str(HERE / f"{script}.py"), names, None

    def __call__(self) -> Any:
        if self.call is None:
            import torch

            torch.set_num_threads(1)
            spec = importlib.util.spec_from_file_location(f"benchmark_{Path(self.path).stem}", self.path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module  # dataclasses look their module up
            spec.loader.exec_module(module)
            self.call = module.single(*self.names)
        return self.call()


@dataclass(frozen=True)
class Pair:
    "Two contenders of one task; the ratio is the first one's time over the second's."

    name: str  # of the task
    who: str  # what is claimed to be fast
    against: str
    calls: tuple[tuple[Any, ...], tuple[Any, ...]]  # script and names of `who` and of `against`
    goal: float  # of the ratio
    needs: str = ""  # a module
    most: bool = True  # whether the ratio shall be at most `goal`


def fisher(title: str, against: str, goal: float, needs: str = "") -> Pair:
    "A task of fisher.py."
    who = "methodbook"
    return Pair(
        f"fisher: {title}", who, against, (("fisher", who, title), ("fisher", against, title)), goal, needs
    )


def ml3(tasks: int, steps: int, peer: str, goal: float) -> Pair:
    "A case of ml3.py: how many times as long a peer takes."
    name = f"ml3: meta-gradient, {tasks} tasks x {steps} steps"
    calls = (("ml3", peer, tasks, steps), ("ml3", "methodbook", tasks, steps))
    return Pair(name, peer, "methodbook", calls, goal, peer, most=False)


def heads(kind: str, tokens: int, goal: float) -> Pair:
    "A removal of heads.py: how much faster the pruned encoder is, as a share of what the operations allow."
    calls = (("heads", kind, tokens, "intact"), ("heads", kind, tokens, "pruned"))
    return Pair(
        f"heads: {kind}, {tokens} tokens, 48 -> 10 heads",
        "intact",
        "pruned",
        calls,
        goal,
        "transformers",
        False,
    )


_MLP = "784-100-10"
PAIRS = (
    fisher(f"diagonal of the empirical Fisher, {_MLP}", "forward + backward", 1.15),
    fisher(f"diagonal of the true Fisher, {_MLP}", "BackPACK", 0.6, "backpack"),
    fisher(f"diagonal of the MC Fisher (1 label), {_MLP}", "NNGeometry", 0.8, "nngeometry"),
    fisher(f"KFAC of the true Fisher, {_MLP}", "BackPACK", 0.8, "backpack"),
    fisher("dense true Fisher, 64-50-10", "BackPACK", 0.3, "backpack"),
    fisher(f"true Fisher times a vector, {_MLP}", "torch.func", 1.05),
    ml3(10, 1, "higher", 6.0),
    ml3(32, 1, "higher", 8.0),
    ml3(10, 5, "higher", 4.0),
    ml3(10, 1, "torchopt", 3.5),
    ml3(10, 5, "torchopt", 3.0),
    *(heads("BERT (transformers)", tokens, goal) for tokens, goal in ((32, 1.33), (128, 1.36), (512, 1.46))),
)  # fmt: skip


def measure(pair: Pair, plan: dict[str, Any]) -> dict[str, Any]:
    "One row: ratio, interval, verdict of the runner, and whether the goal is met."
    calls = {pair.against: Built(*pair.calls[1]), pair.who: Built(*pair.calls[0])}
    same = {"parity": pair.name.startswith("ml3"), "rtol": 1e-3, "atol": 1e-6}  # the others check before
    work = Workload.of(pair.name, calls, **same)
    records = run(Plan(work, batches=1, seed=SEED, target=0.01, **plan))
    row = compare(records, pair.against, pair.who, min_effect=0.03).table.iloc[0].to_dict()
    failed = [f"{each['arm']}: {each['error']}" for each in records.of("cell") if each["status"] != "ok"]
    found = {"ratio": row["ratio"], "low": row["low"], "high": row["high"], "clock": row["clock"]}
    found |= {"verdict": row["verdict"], "contention": row["contention"], "error": "; ".join(failed)[:300]}
    if failed or row["low"] is None:
        return {**found, "met": None}
    sure = row["high"] <= pair.goal if pair.most else row["low"] >= pair.goal
    never = row["low"] > pair.goal if pair.most else row["high"] < pair.goal
    return {**found, "met": "yes" if sure else "no" if never else "within the interval"}


def page(rows: dict[str, dict[str, Any]]) -> str:
    "The rows as Markdown."
    lines = [
        "# Peers",
        "",
        "Ratios of times by `python benchmarks/peers.py`: every contender in fresh processes of its own, one",
        "thread, blocks side by side in random order, 95 % intervals over launches.",
        "",
        "| task | ratio | 95 % | clock | goal | met | measured |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        goal = f"{'at most' if row['most'] else 'at least'} {row['goal']:g}"
        if row["ratio"] is None:
            cells = ["", "", "", goal, row["error"] or "not measured", row["date"]]
        else:
            interval = f"[{row['low']:.2f}, {row['high']:.2f}]" if row["low"] else "none"
            cells = [f"{row['ratio']:.2f}", interval, row["clock"], goal, row["met"] or "", row["date"]]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two launches of two rounds; nothing is written")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="tasks that hold one of the words"
    )
    parser.add_argument("--launches", type=int, default=6, help="processes of each contender (default: 6)")
    parser.add_argument("--rounds", type=int, default=12, help="blocks of each in a launch (default: 12)")
    parser.add_argument(
        "--assert", action="store_true", dest="strict", help="exit code 1 when a goal is missed"
    )
    parser.add_argument("--out", type=Path, default=HERE.parent / "results" / "benchmarks" / "peers.json")
    args = parser.parse_args(words)
    plan = {"launches": 2 if args.quick else args.launches, "rounds": 2 if args.quick else args.rounds}
    plan |= {"block_ms": 40.0, "budget_s": 900.0}
    rows, today = {}, datetime.now(UTC).date().isoformat()
    for pair in PAIRS:
        key = f"{pair.name}: {pair.who} / {pair.against}"
        facts = {
            "who": pair.who,
            "against": pair.against,
            "goal": pair.goal,
            "most": pair.most,
            "date": today,
        }
        chosen = not args.only or any(word in key for word in args.only)
        lacking = pair.needs if pair.needs and importlib.util.find_spec(pair.needs) is None else ""
        if chosen and not lacking:
            rows[key] = facts | measure(pair, plan)
        else:
            reason = f"{lacking} is not installed" if lacking else "not asked for"
            rows[key] = facts | {"ratio": None, "met": None, "error": reason}
        row = rows[key]
        shown = (
            ""
            if row["ratio"] is None
            else f"{row['ratio']:.2f} [{row['low'] or 0:.2f}, {row['high'] or 0:.2f}]"
        )
        print(f"{key:100} {shown:22} goal {pair.goal:g}: {row['met']} {row['error']}", flush=True)
    if not args.quick:
        known = load_result(args.out)["numbers"]["rows"] if args.out.exists() else {}  # may be newer by now
        rows = {key: known.get(key, row) if row["ratio"] is None else row for key, row in rows.items()}
        config = plan | {"threads": 1, "interval": 0.95}
        packages = ["backpack-for-pytorch", "nngeometry", "higher", "torchopt", "transformers"]
        save_result(args.out, {"rows": rows}, config=config, seeds=[SEED], packages=packages)
        write_atomic(args.out.with_suffix(".md"), page(rows))
        print(f"written: {args.out.name}, {args.out.with_suffix('.md').name}")
    wrong = [key for key, row in rows.items() if row["error"] and row["ratio"] is not None]
    return int(bool(wrong) or (args.strict and any(row["met"] == "no" for row in rows.values())))


if __name__ == "__main__":
    sys.exit(main())
