"""Put what the benchmarks measured on one page: `results/benchmarks/README.md`.

`python benchmarks/summary.py` reads `results/benchmarks/*.json`; `make bench` runs it last. A ratio has a
named peer, measured in the same run; a goal that is missed says so.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "results" / "benchmarks"
ML3_GOALS = {  # of issue and specification: (problem, peer) -> least ratio
    ("10x1", "higher"): 6,
    ("32x1", "higher"): 8,
    ("10x5", "higher"): 4,
    ("10x1", "torchopt"): 3.5,
    ("10x5", "torchopt"): 3,
    ("1x1", "torchopt"): 0.91,  # at most 10 % slower
}
SOURCES = {  # file -> heading
    "fisher": "Curvature",
    "heads": "Attention heads",
    "heads_relevance": "Attention heads: relevance",
    "ml3": "Meta-gradients",
    "drex": "Imitation",
    "bench": "The runner",
    "peers": "Pairs on the book's own runner: fresh processes, 95 % intervals over launches",
    "imports": "Importing",
}


def line(what, ratio, goal, met):
    "One row of the page."
    return f"| {what.replace('|', '/')} | {ratio} | {goal} | {met} |"


def met(ratio, goal, most):
    "Whether the goal is reached; `most`: the ratio should be small."
    return "–" if goal is None else "yes" if (ratio <= goal if most else ratio >= goal) else "**no**"


def targets(numbers):
    "Rows of a file that lists its targets."
    for each in numbers["targets"]:
        most = each.get("limit", each.get("most"))
        goal = each.get("goal") if most is None else most
        bound = "at most" if most is not None else "at least"
        ratio = each["measured"]
        told = "not measured" if ratio is None else f"{ratio:.3g}"
        verdict = "–" if ratio is None else met(ratio, goal, most is not None)
        yield line(each["what"], told, "" if goal is None else f"{bound} {goal:.3g}", verdict)


def relevance(numbers):
    "Rows of the comparison of relevances."
    found = numbers["relevance"]
    what = f"{found['rule']}, {found['tokens']} tokens: time over {found['peer']}, values equal"
    yield line(what, f"{found['times_peer']:.2f}", "", "–")


def meta(numbers):
    "Rows of the meta-gradients."
    for problem, row in numbers["rows"].items():
        for peer, ratio in row.get("times_ours", {}).items():
            if "methodbook" not in peer:
                goal = ML3_GOALS.get((problem, peer))
                shown = "" if goal is None else f"at least {goal:.3g}"
                tasks, steps = problem.split("x")
                what = f"{tasks} tasks, {steps} steps: {peer}'s time over ours"
                yield line(what, f"{ratio:.2f}", shown, met(ratio, goal, False))


def imitation(numbers):
    "Rows of reward learning and cloning."
    for what, row in numbers["rows"].items():
        if "ratio" in row:
            goal = 5 if what.startswith("reward") else None
            shown = "" if goal is None else f"at least {goal}"
            yield line(
                f"{what}: ours a second over `imitation`'s",
                f"{row['ratio']:.1f}",
                shown,
                met(row["ratio"], goal, False),
            )


def alarms(numbers):
    "Rows of false alarms."
    for method, (wrong, of) in numbers["false_alarms"].items():
        ours = method == "methodbook"
        yield line(
            f"false alarms, {method}",
            f"{wrong} of {of}",
            "none" if ours else "",
            met(wrong, 0, True) if ours else "–",
        )


def pairs(numbers):
    "Rows of the pairs that were measured."
    for what, row in numbers["rows"].items():
        if row.get("ratio"):
            bound = "at most" if row["most"] else "at least"
            ratio = f"{row['ratio']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
            yield line(what, ratio, f"{bound} {row['goal']:g}", {"no": "**no**"}.get(row["met"], row["met"]))


def imports(numbers):
    "Rows of what importing costs."
    for what, row in numbers["rows"].items():
        goal = row.get("goal")
        shown = "" if goal is None else f"at most {goal:.3g}"
        told = f"{row['seconds']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        yield line(f"{what}: CPU seconds beyond `import torch`", told, shown, met(row["seconds"], goal, True))


READERS = {
    "fisher": targets,
    "heads": targets,
    "heads_relevance": relevance,
    "ml3": meta,
    "drex": imitation,
    "bench": alarms,
    "peers": pairs,
    "imports": imports,
}


def page(folder=FOLDER):
    "The page as Markdown."
    parts = [
        "# Beside the peers",
        "Written by `python benchmarks/summary.py` from the files beside it, which hold the times, the "
        "versions and the machine. Ratios are of the same work in the same run, values compared; what is "
        "measured, and how, is in [benchmarks/README.md](../../benchmarks/README.md).",
    ]
    for name, heading in SOURCES.items():
        path = folder / f"{name}.json"
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            rows = list(READERS[name](kept["numbers"]))
            parts += [f"## {heading}", f"`{path.name}`, measured {kept['date']}"]
            parts.append("\n".join(["| what | ratio | goal | met |", "|---|---:|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")
    print(f"wrote {FOLDER / 'README.md'}")
