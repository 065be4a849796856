"""Measure `methodbook.heads`: what removed heads save, what statistics cost; check every value that is timed.

    python benchmarks/heads.py [--quick] [--assert] [--only WORD ...] [--threads 1] [--rounds 15]

Removal: an encoder of 6 layers (width 512, 8 heads, 2,048 hidden units) without 38 of its 48 heads, at 32,
128 and 512 tokens, against the bound that the saved operations allow. Statistics: one pass under the default
kernel, against a forward pass of the eager code that returns attentions: what one pays to see them at all.
Relevance: all heads of a GPT-2 by the rule AttnLRP, against LXT's rules for GPT-2 where LXT is installed.
Times are CPU times of the process, the least over rounds in which all contenders take turns. Exit code 1: a
value is wrong, or, with --assert, a target is missed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch loads: waiting threads must not count

import argparse
import contextlib
import copy
import importlib.util
import logging
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from methodbook.core.runs import save_result
from methodbook.heads.attention import HeadId, HeadView, TokenMask, capture, masked
from methodbook.heads.surgery import equivalence, flops_per_token, prune_heads

SEED = 0
WIDTH, HEADS, HIDDEN, LAYERS, KEPT = 512, 8, 2048, 6, 10
LENGTHS = {32: 8, 128: 2, 512: 1}  # tokens: sentences in a batch
FLOOR, GOAL = 0.85, 0.97  # share of the bound: asserted, and aimed at
STATISTICS_LIMIT = 1.3  # times an eager forward pass
TOLERANCE = 1e-5  # of float32 outputs, relative to the greatest


# ---------------------------------------------------------------------------------------------------- models


def random_weights(model: nn.Module) -> nn.Module:
    "Weights that make attention neither flat nor one-hot, and no zero biases."
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim > 1:
                parameter.copy_(noise / parameter.shape[-1] ** 0.5)
            else:
                parameter.copy_(parameter.mean().round() + 0.1 * noise)
    return model.eval()


def pytorch_encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True)
    return random_weights(nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False))


def bert_encoder() -> nn.Module:
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "intermediate_size": HIDDEN}
    config = BertConfig(**sizes, num_hidden_layers=LAYERS, vocab_size=1000)
    return random_weights(BertModel(config, add_pooling_layer=False))


def inputs(kind: str, length: int, sentences: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(SEED + length)
    if kind == "nn.TransformerEncoder":
        return {"src": torch.randn(sentences, length, WIDTH, generator=generator)}
    ids = torch.randint(5, 1000, (sentences, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[0, length - length // 8 :] = 0  # some padding, so that a mask is in play
    return {"input_ids": ids * mask, "attention_mask": mask}


ENCODERS = {"BERT (transformers)": bert_encoder, "nn.TransformerEncoder": pytorch_encoder}


def removed_heads(view: HeadView) -> list[HeadId]:
    "All but 10 heads, two in each of the first four layers and one in the others."
    return [head for head in view.heads() if head.head >= (2 if head.layer < 4 else 1)]


# ---------------------------------------------------------------------------------------------------- timing


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    "Least CPU seconds of each call, over rounds in which they take turns; the first round warms up."
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: min(values[1:]) for name, values in times.items()}


def forward(view: HeadView, batch: Any, **more: Any) -> Callable[[], Any]:
    def call() -> Any:
        with torch.no_grad():
            return view(batch, **more)

    return call


def single(kind: str, tokens: int, who: str) -> Callable[[], float]:
    "The intact or the pruned encoder for `peers.py`, after both were found equal on the batch."
    view, batch = HeadView(ENCODERS[kind]()), inputs(kind, tokens, LENGTHS[tokens])
    pruned = HeadView(copy.deepcopy(view.model))
    gone = removed_heads(view)
    prune_heads(pruned, gone)
    if not (proof := equivalence(view, pruned, batch)).holds:
        raise RuntimeError(f"the pruned encoder is another one: {proof}")
    call = forward({"intact": view, "pruned": pruned}[who], batch)
    return lambda: (call(), 0.0)[1]


def removal(kind: str, rounds: int) -> list[dict[str, Any]]:
    "One row a length: intact, silenced, pruned."
    view = HeadView(ENCODERS[kind]())
    gone = removed_heads(view)
    pruned = HeadView(copy.deepcopy(view.model))
    report = prune_heads(pruned, gone)
    rows = []
    for length, sentences in LENGTHS.items():
        batch = inputs(kind, length, sentences)
        proof = equivalence(view, pruned, batch)

        def silenced(batch: Any = batch) -> None:
            with torch.no_grad(), masked(view, gone):
                view(batch)

        calls = {"intact": forward(view, batch), "pruned": forward(pruned, batch), "silenced": silenced}
        times = least(calls, rounds)
        bound = flops_per_token(view, length) / flops_per_token(pruned, length)
        ratio = times["intact"] / times["pruned"]
        rows.append(
            {
                "encoder": kind,
                "tokens": length,
                "sentences": sentences,
                "heads": f"{len(view.heads())} -> {report.heads_left}",
                "ms": {name: 1e3 * value for name, value in times.items()},
                "speedup": ratio,
                "bound": bound,
                "share_of_bound": ratio / bound,
                "silenced_speedup": times["intact"] / times["silenced"],
                "difference": proof.difference / proof.scale,
                "right": proof.holds,
            }
        )
    return rows


# ------------------------------------------------------------------------------------------------ statistics


def eager_confidence(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:  # (layers, heads)
    "Confidence from the attentions that transformers returns, written as one writes it by hand."
    attentions = model(**batch, output_attentions=True).attentions
    valid = batch["attention_mask"].bool()
    return torch.stack([a.amax(-1).transpose(1, 2)[valid].double().mean(0) for a in attentions])


def statistics(rounds: int) -> list[dict[str, Any]]:
    "One row a length: statistics in a stream against an eager forward pass with capture."
    from methodbook.heads.roles import confidence, positional

    view = HeadView(bert_encoder())
    eager = copy.deepcopy(view.model)
    eager.set_attn_implementation("eager")
    mask, rows = TokenMask(exclude_ids={0}), []
    for length, sentences in LENGTHS.items():
        batch = inputs("BERT (transformers)", length, sentences)

        def plain(batch: Any = batch) -> None:
            with torch.no_grad():
                eager(**batch, output_attentions=True)

        def captured(batch: Any = batch) -> None:
            with torch.no_grad(), capture(view):
                view(batch)

        calls = {
            "SDPA forward": forward(view, batch),
            "eager forward with attentions": plain,
            "capture": captured,
            "confidence": lambda batch=batch: confidence(view, [batch], mask),
            "positional": lambda batch=batch: positional(view, [batch], mask),
        }
        times = least(calls, rounds)
        base = times["eager forward with attentions"]
        with torch.no_grad():
            gap = float((confidence(view, [batch], mask) - eager_confidence(eager, batch)).abs().max())
        rows.append(
            {
                "tokens": length,
                "sentences": sentences,
                "ms": {name: 1e3 * value for name, value in times.items()},
                "times_eager": {name: value / base for name, value in times.items()},
                "difference": gap,
                "right": gap <= TOLERANCE,
            }
        )
    return rows


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "n_inner": HIDDEN, "vocab_size": 1000}
    return random_weights(GPT2LMHeadModel(GPT2Config(**sizes, activation_function="gelu")))


def peer_rules() -> Any:
    "LXT's rules for GPT-2, or a sentence that says why they are not here."
    found = importlib.util.find_spec("lxt")
    if found is None:
        return "LXT is not installed: pip install --no-deps lxt==2.1"
    with contextlib.suppress(ImportError, AttributeError):
        return importlib.import_module("lxt.efficient.models.gpt2")
    # its packages import every model that they know; where one is missing, GPT-2's part is loaded alone
    for name in [name for name in sys.modules if name.partition(".")[0] == "lxt"]:
        del sys.modules[name]
    for name in ("lxt.efficient", "lxt.efficient.models"):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(found.origin).parent.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    try:
        return importlib.import_module("lxt.efficient.models.gpt2")
    except (ImportError, AttributeError) as error:
        return f"LXT is installed and cannot be imported here: {error}"


def patch_by(rules: Any) -> None:
    "Apply LXT's rules; its wrapper of attention is registered by hand, as transformers 5 wants it."
    for target, patch in rules.attnLRP.items():
        if target is not rules.modeling_gpt2:
            patch(target)
    functions = rules.modeling_gpt2.ALL_ATTENTION_FUNCTIONS
    wrap = importlib.import_module("lxt.efficient.patches").wrap_attention_forward
    functions.register("sdpa", wrap(functions["sdpa"]))


def head_products(view: HeadView, batch: Any, score: Callable[[Any], Tensor]) -> Tensor:  # (layers, heads)
    "Gradient times input of every head's context, mean over examples: what LXT's rules are made for."
    kept = {}

    def keep(site: Any, context: Tensor) -> Tensor:
        kept[site.layer] = context
        return context

    with view.on_context(keep):
        scores = score(view(batch))
    gradients = torch.autograd.grad(scores.sum(), [kept[layer] for layer in sorted(kept)])
    pairs = zip((kept[layer] for layer in sorted(kept)), gradients, strict=True)
    return torch.stack([(c * g).detach().double().sum((1, 3)).mean(0) for c, g in pairs])


def relevance(rounds: int) -> dict[str, Any]:
    "Relevance of all heads against a forward and backward pass, and against LXT."
    from methodbook.heads.importance import lrp

    view, generator = HeadView(gpt2()), torch.Generator().manual_seed(SEED)
    batch = {"input_ids": torch.randint(5, 1000, (2, 128), generator=generator)}

    def score(output: Any) -> Tensor:
        return output.logits[:, -1].amax(-1)

    def backward() -> None:
        view.model.zero_grad(set_to_none=True)
        score(view(batch)).sum().backward()

    def ours() -> Tensor:
        return lrp(view, [batch], score=score, rule="attnlrp", normalise=None).importance

    times = least({"forward + backward": backward, "lrp": ours}, rounds)
    view.model.zero_grad(set_to_none=True)
    row: dict[str, Any] = {"rule": "attnlrp", "tokens": 128, "sentences": 2}
    expected, rules = ours(), peer_rules()
    if isinstance(rules, str):
        row |= {"peer": rules, "right": True}
    else:  # last, because LXT changes classes for the rest of the process
        patch_by(rules)
        found = head_products(view, batch, score)
        gap = float((found - expected).abs().max() / expected.abs().max())
        times |= least({"LXT": lambda: head_products(view, batch, score)}, rounds)
        row |= {"peer": "LXT 2.1", "difference": gap, "right": gap <= 1e-3}
        row["times_peer"] = times["lrp"] / times["LXT"]
    ratio = times["lrp"] / times["forward + backward"]
    return row | {"ms": {k: 1e3 * v for k, v in times.items()}, "times_forward_backward": ratio}


# -------------------------------------------------------------------------------------------------- verdicts


def targets(results: dict[str, Any]) -> list[dict[str, Any]]:
    "What was aimed at, what came."
    found = []
    for row in results.get("removal", []):
        what = f"{row['encoder']}, {row['tokens']} tokens: speed-up over its bound"
        share = row["share_of_bound"]
        found.append({"what": what, "least": FLOOR, "goal": GOAL, "measured": share, "met": share >= FLOOR})
    for row in results.get("statistics", []):
        worst = max(row["times_eager"][name] for name in ("confidence", "positional"))
        what = f"statistics, {row['tokens']} tokens: time over an eager forward with attentions"
        found.append(
            {"what": what, "most": STATISTICS_LIMIT, "measured": worst, "met": worst <= STATISTICS_LIMIT}
        )
    return found


def show(results: dict[str, Any]) -> None:
    for row in results.get("removal", []):
        times = ", ".join(f"{name} {value:.1f}" for name, value in row["ms"].items())
        gains = f"{row['speedup']:.2f}x, bound {row['bound']:.2f}x, share {row['share_of_bound']:.2f}"
        print(f"{row['encoder']:22} T={row['tokens']:<4} {row['heads']}: {gains};", end=" ")
        print(f"silenced {row['silenced_speedup']:.2f}x; ms: {times}; difference {row['difference']:.0e}")
    for row in results.get("statistics", []):
        times = ", ".join(f"{name} {value:.2f}" for name, value in row["times_eager"].items())
        gap = f"difference {row['difference']:.0e}"
        print(f"statistics T={row['tokens']:<4} of an eager forward: {times}; {gap}")
    if "relevance" in results:
        row = results["relevance"]
        ratio = f"{row['times_forward_backward']:.2f} of a forward and backward pass"
        peer = (
            f", {row['times_peer']:.2f} of it, difference {row['difference']:.0e}"
            if "LXT" in row["ms"]
            else ""
        )
        print(f"relevance: {ratio}; {row['peer']}{peer}")


def rounded(value: Any) -> Any:
    "Numbers of four digits."
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing written unless --out")
    parser.add_argument("--assert", action="store_true", dest="strict", help="exit 1 when a target is missed")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="removal, statistics, relevance"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of PyTorch (default 1)")
    parser.add_argument("--rounds", type=int, help="turns of each contender (default 15; 3 with --quick)")
    parser.add_argument("--out", type=Path, help="result file (default results/benchmarks/heads.json)")
    options = parser.parse_args(words)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.set_num_threads(options.threads)
    rounds = options.rounds or (3 if options.quick else 15)
    loads = [[round(value, 2) for value in os.getloadavg()]]
    print(f"CPU time, {options.threads} thread(s), least of {rounds} rounds; load average {loads[0][0]}")
    tasks: dict[str, Callable[[], Any]] = {
        "removal": lambda: [row for kind in ENCODERS for row in removal(kind, rounds)],
        "statistics": lambda: statistics(rounds),
        "relevance": lambda: relevance(rounds),
    }
    results = {}
    for name, task in tasks.items():
        if not options.only or any(word in name for word in options.only):
            with contextlib.redirect_stderr(sys.stdout):
                results[name] = task()
            show({name: results[name]})
    verdicts = targets(results)
    print("\nTargets")
    for v in verdicts:
        limit = f"at least {v['least']} (goal {v['goal']})" if "least" in v else f"at most {v['most']}"
        print(f"  {v['what']:72} {limit:26} {v['measured']:.3f}  {'met' if v['met'] else 'MISSED'}")
    rows = [*results.get("removal", []), *results.get("statistics", [])]
    rows += [results["relevance"]] if "relevance" in results else []
    wrong = [row for row in rows if not row["right"]]
    for row in wrong:
        print(f"WRONG VALUE  {row}")
    loads.append([round(value, 2) for value in os.getloadavg()])
    if options.out or not (options.quick or options.only or wrong):
        out = options.out or Path(__file__).parents[1] / "results" / "benchmarks" / "heads.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        numbers = {**results, "targets": verdicts}
        numbers["load_average"] = {"before": loads[0], "after": loads[1], "cores": os.cpu_count()}
        config = {
            "rounds": rounds,
            "threads": options.threads,
            "lengths": {str(k): v for k, v in LENGTHS.items()},
        }
        config |= {"width": WIDTH, "heads": HEADS, "hidden": HIDDEN, "layers": LAYERS, "kept": KEPT}
        save_result(out, rounded(numbers), config=config, seeds=[SEED], packages=["transformers"])
        print(f"\nwritten: {out.name}")
    return 1 if wrong or (options.strict and not all(v["met"] for v in verdicts)) else 0


if __name__ == "__main__":
    sys.exit(main())
