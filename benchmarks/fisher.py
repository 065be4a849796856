"""Measure `methodbook.fisher` beside its peers, and check every value that is timed.

    python benchmarks/fisher.py [--quick] [--assert] [--only WORD ...] [--threads 1] [--rounds 30]

A library that is not installed gets a row that says how to install it. Times are CPU times of the process,
the least over rounds in which all contenders take turns. Exit code 1: a value is wrong, or, with --assert, a
target is missed. `benchmarks/README.md` explains the numbers.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch loads: waiting threads must not count

import argparse
import contextlib
import copy
import gc
import importlib
import importlib.metadata
import importlib.util
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vjp, vmap
from torch.nn import functional

from methodbook.core.errors import InputError
from methodbook.core.runs import load_result, save_result

SEED = 0
DAMPING = 1e-3
TOLERANCE = 1e-5  # relative, in the 2-norm: float32 sums of 512 terms are good to about 1e-6
STEP_TOLERANCE = 1e-3  # a damped solve in float32 loses digits to the condition of the Gram matrix
CE = functional.cross_entropy
MLP, SMALL = "784-100-10", "64-50-10"


@dataclass(frozen=True)
class Library:
    "A peer: how to import it, and how to install it."

    module: str
    package: str

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    @property
    def advice(self) -> str:
        return f"not installed: pip install {self.package} -c constraints.txt"


OURS, FUNC, GRADIENT = "methodbook", "torch.func", "forward + backward"
LIBRARIES = {
    "BackPACK": Library("backpack", "backpack-for-pytorch"),
    "curvlinops": Library("curvlinops", "curvlinops-for-pytorch"),
    "NNGeometry": Library("nngeometry", "nngeometry"),
    "ASDL": Library("asdl", "asdfghjkl"),
}


class Lacking(Exception):
    "The library does not offer this; the message says what it offers instead."


# --------------------------------------------------------------------------------------------------- problems


class Residual(nn.Module):
    "Two convolutions with batch normalisation, and a way round them."

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1, self.relu1 = nn.BatchNorm2d(outputs), nn.ReLU()
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(outputs), nn.ReLU()
        self.way_round = nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm2(self.conv2(self.relu1(self.norm1(self.conv1(x)))))
        return self.relu2(inner + self.way_round(x))


class Attention(nn.Module):
    "Multi-head self-attention of single linear layers, so that every library sees its parameters."

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.into, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        n, t, width = x.shape
        q, k, v = self.into(x).reshape(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(n, t, width))


class Transformer(nn.Module):
    "Two pre-normalised blocks over tokens with a learned position, and a classifier of the mean."

    def __init__(
        self, tokens: int = 64, length: int = 16, width: int = 32, heads: int = 4, classes: int = 10
    ):
        super().__init__()
        self.embed, self.position = (
            nn.Embedding(tokens, width),
            nn.Parameter(0.1 * torch.randn(length, width)),
        )
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(width),
                    "attention": Attention(width, heads),
                    "norm2": nn.LayerNorm(width),
                    "mlp": nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)),
                }
            )
            for _ in range(2)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + self.position
        for block in self.blocks:
            x = x + block["attention"](block["norm1"](x))
            x = x + block["mlp"](block["norm2"](x))
        return self.head(self.norm(x).mean(1))


def two_layers(inputs: int, hidden: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def resnet() -> nn.Module:
    stem = (nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return nn.Sequential(*stem, Residual(16, 16, 1), Residual(16, 32, 2), *head)


def plain_convolutions() -> nn.Module:
    layers = (nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten())
    return nn.Sequential(*layers, nn.Linear(512, 10))


@dataclass
class Problem:
    "A model in float32 with random data, and what is right, in float64."

    name: str
    model: nn.Module
    x: Tensor
    y: Tensor
    closed_form: bool = False  # Linear, ReLU, Linear: derivatives written by hand
    known: dict = field(default_factory=dict)

    @property
    def params(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.model.named_parameters()}

    @property
    def size(self) -> int:
        return sum(value.numel() for value in self.params.values())

    def copy(self) -> nn.Module:
        "A model of one's own for a library that leaves traces in it."
        return copy.deepcopy(self.model)

    def double(self) -> tuple[nn.Module, Tensor]:
        return self.copy().double(), self.x.double() if self.x.is_floating_point() else self.x

    def directions(self, kind: str) -> Tensor:  # (N, K, C) in float64
        "Vectors in output space whose outer products have the kind's expectation."
        model, x = self.double()
        with torch.no_grad():
            p = model(x).softmax(-1)
        if kind == "empirical":
            return (p - functional.one_hot(self.y, p.shape[1])).unsqueeze(1)
        return p.sqrt().unsqueeze(-1) * (torch.eye(p.shape[1]) - p.unsqueeze(1))  # sqrt(p_k) (e_k - p)

    def factors(self, kind: str) -> list[tuple[Tensor, Tensor]]:  # per layer a (N, d), g (N, K, h)
        "Inputs and pulled-back directions of the two layers, by hand."
        model, x = self.double()
        first, _, second = model
        with torch.no_grad():
            z = first(x)
            s = self.directions(kind)
            return [(x, (s @ second.weight) * (z > 0).unsqueeze(1)), (z.relu(), s)]

    def rows(self, kind: str, size: int = 16) -> Iterator[Tensor]:  # (n K, p) in float64
        "The directions pulled back to the parameters, a few samples at a time, for any model."
        directions = self.directions(kind)
        model, x = self.double()
        params = {name: value.detach() for name, value in model.named_parameters()}
        buffers = dict(model.named_buffers())

        def one(sample: Tensor, s: Tensor) -> Tensor:
            _, back = vjp(lambda p: functional_call(model, {**p, **buffers}, (sample[None],))[0], params)
            return torch.cat([part.flatten(1) for part in vmap(lambda d: back(d)[0])(s).values()], 1)

        for start in range(0, len(self.y), size):
            yield vmap(one)(x[start : start + size], directions[start : start + size]).flatten(0, 1)

    def reference(self, family: str, kind: str) -> Tensor:
        "What a contender's value must be; mean over the samples, float64."
        key = (family, "true" if kind == "mc" else kind)
        if key not in self.known:
            self.known[key] = getattr(self, f"reference_{family}")(key[1])
        return self.known[key]

    def reference_diag(self, kind: str) -> Tensor:
        if self.closed_form:
            parts = []
            for a, g in self.factors(kind):
                squares = g.square().sum(1)
                parts += [(squares.T @ a.square()).flatten(), squares.sum(0)]
            return torch.cat(parts) / len(self.y)
        return sum(u.square().sum(0) for u in self.rows(kind)) / len(self.y)

    def reference_dense(self, kind: str) -> Tensor:
        "The matrix times a few random columns, which is as telling as the matrix and cheap."
        return torch.stack([self.times(kind, v) for v in self.probe(24).T], 1)

    def reference_matvec(self, kind: str) -> Tensor:
        if kind != "hessian":
            return self.times(kind, self.probe(1).squeeze(1))
        model, x = self.double()
        params = list(model.parameters())
        grads = torch.autograd.grad(CE(model(x), self.y), params, create_graph=True)
        along = torch.cat([part.flatten() for part in grads]) @ self.probe(1).squeeze(1)
        return torch.cat([part.flatten() for part in torch.autograd.grad(along, params)])

    def times(self, kind: str, v: Tensor) -> Tensor:  # (p,) -> (p,)
        "The matrix times `v`, layer by layer: u = (g a^T, g), so u.v = g^T (V a + v_b)."
        factors = self.factors(kind)
        pieces = v.split([value.numel() for value in self.params.values()])
        along = 0
        for (a, g), weight, bias in zip(factors, pieces[::2], pieces[1::2], strict=True):
            along = along + ((a @ weight.view(len(bias), -1).T + bias).unsqueeze(1) * g).sum(2)
        return self.combine(factors, along) / len(self.y)

    def combine(self, factors: list, weights: Tensor) -> Tensor:  # (N, K) -> (p,)
        "The sum of the pulled-back directions, weighted."
        mixed = [((weights.unsqueeze(2) * g).sum(1), a) for a, g in factors]
        return torch.cat([part for g, a in mixed for part in ((g.T @ a).flatten(), g.sum(0))])

    def reference_kfac(self, kind: str) -> Tensor:
        "B V A of the weights of each layer; biases left out, which libraries treat differently."
        n, parts = len(self.y), []
        for (a, g), v in zip(self.factors(kind), self.weight_probes(), strict=True):
            b = torch.einsum("nki,nkj->ij", g, g) / n
            parts.append((b @ v @ (a.T @ a / n)).flatten())
        return torch.cat(parts)

    def reference_step(self, kind: str) -> Tensor:
        "(C + damping)^-1 gradient, through the N x N Gram matrix."
        factors, n = self.factors(kind), len(self.y)
        gram = sum((a @ a.T + 1) * (g[:, 0] @ g[:, 0].T) for a, g in factors) / n
        gram.diagonal().add_(DAMPING)
        weights = torch.linalg.solve(gram, torch.full((n,), 1 / n, dtype=gram.dtype))
        return self.combine(factors, weights.unsqueeze(1))

    def probe(self, columns: int) -> Tensor:  # (p, columns) float64, the same for all
        generator = torch.Generator().manual_seed(SEED + 1)
        return torch.randn(self.size, columns, generator=generator, dtype=torch.float64)

    def weight_probes(self) -> list[Tensor]:
        generator = torch.Generator().manual_seed(SEED + 2)
        weights = [value for name, value in self.params.items() if name.endswith("weight")]
        return [torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in weights]


def clear_of_kinks(model: nn.Module, x: Tensor, n: int) -> Tensor:
    """The first `n` samples with no unit so near the kink of its ReLU that rounding decides on which side.

    There a derivative in float32 differs from the float64 one by a whole unit, in every library alike.
    """
    least = torch.full((len(x),), torch.inf, dtype=torch.float64)

    def note(module: nn.Module, inputs: tuple, z: Tensor) -> None:
        least.copy_(torch.minimum(least, inputs[0].flatten(1).abs().amin(1)))

    double = copy.deepcopy(model).double()
    for module in double.modules():
        if isinstance(module, nn.ReLU):
            module.register_forward_hook(note)
    with torch.no_grad():
        double(x.double() if x.is_floating_point() else x)
    return x[least > 2e-6][:n]


def make_problems() -> dict[str, Problem]:
    torch.manual_seed(SEED)

    def labelled(name: str, model: nn.Module, x: Tensor, n: int, **more: Any) -> Problem:
        x = clear_of_kinks(model.eval(), x, n)
        return Problem(name, model, x, torch.randint(10, (n,)), **more)

    net = resnet().train()
    net(torch.randn(64, 3, 16, 16))  # moves the running statistics away from 0 and 1
    images, digits, rows = torch.randn(96, 3, 16, 16), torch.randn(528, 784), torch.randn(528, 64)
    problems = (
        labelled(MLP, two_layers(784, 100, 10), digits, 512, closed_form=True),
        labelled(SMALL, two_layers(64, 50, 10), rows, 512, closed_form=True),
        labelled("convolutions", plain_convolutions(), images, 64),
        labelled("resnet", net, images, 64),
        labelled("transformer", Transformer(), torch.randint(64, (64, 16)), 64),
    )
    return {problem.name: problem for problem in problems}


# ------------------------------------------------------------------------------------------------- contenders
# A builder prepares all that a user prepares once, and returns the timed call (its argument is a seed for
# drawn labels) and the function that brings the call's result to the book's convention: mean over the
# samples, parameters in `named_parameters` order. `Problem.reference_*` says what is compared.

Call = Callable[[int], Any]
Read = Callable[[Any], Tensor]
BUILDERS: dict[tuple[str, str], Callable[[Problem, str], tuple[Call, Read]]] = {}


def contender(library: str, *families: str) -> Callable:
    def register(builder: Callable) -> Callable:
        for family in families:
            BUILDERS[library, family] = builder
        return builder

    return register


def flat(parts: Any) -> Tensor:
    return torch.cat([part.detach().flatten() for part in parts])


def baseline(problem: Problem) -> tuple[Call, Read]:
    "One forward and backward pass of the mean loss."
    model, x, y = problem.model, problem.x, problem.y
    params = list(model.parameters())
    return lambda draw: torch.autograd.grad(CE(model(x), y), params), flat


# methodbook itself


def ours(problem: Problem, kind: str, structure: str) -> Call:
    from methodbook.fisher import fisher

    data = (problem.x, problem.y)
    more = {"kind": kind, "structure": structure, "loss": "cross_entropy"}
    return lambda draw: fisher(problem.model, data, seed=draw, **more)


@contender(OURS, "diag")
def ours_diag(problem: Problem, kind: str) -> tuple[Call, Read]:
    return ours(problem, kind, "diag"), lambda c: c.diag()


@contender(OURS, "dense")
def ours_dense(problem: Problem, kind: str) -> tuple[Call, Read]:
    return ours(problem, kind, "dense"), lambda c: dense_read(problem, c.to_dense())


@contender(OURS, "kfac")
def ours_kfac(problem: Problem, kind: str) -> tuple[Call, Read]:
    def read(c: Any) -> Tensor:
        probes = iter(problem.weight_probes())
        v = {
            k: next(probes).float() if k.endswith("weight") else torch.zeros_like(p)
            for k, p in problem.params.items()
        }
        return flat(part for name, part in (c @ v).items() if name.endswith("weight"))

    return ours(problem, kind, "kfac"), read


@contender(OURS, "matvec")
def ours_matvec(problem: Problem, kind: str) -> tuple[Call, Read]:
    from methodbook.fisher import hessian

    if kind == "hessian":
        operator = hessian(problem.model, (problem.x, problem.y), "operator", loss="cross_entropy")
    else:
        operator = ours(problem, kind, "operator")(0)
    v = problem.probe(1).squeeze(1).float()
    return lambda draw: operator @ v, torch.Tensor.flatten


@contender(OURS, "step")
def ours_step(problem: Problem, kind: str) -> tuple[Call, Read]:
    make, n = ours(problem, kind, "lowrank"), len(problem.y)
    weights = torch.full((n,), 1 / n)  # the gradient is their sum of the rows
    return lambda draw: make(draw).solve_range(weights, DAMPING), torch.Tensor.flatten


def dense_read(problem: Problem, matrix: Tensor) -> Tensor:
    return matrix.detach() @ problem.probe(24).to(matrix)


# torch.func, as its tutorials use it


def functional_problem(problem: Problem) -> tuple[dict[str, Tensor], Callable]:
    buffers = dict(problem.model.named_buffers())
    return problem.params, lambda p, x: functional_call(problem.model, {**p, **buffers}, (x,))


def func_gradients(problem: Problem) -> Callable[[Tensor], Tensor]:  # labels -> (N, p)
    params, f = functional_problem(problem)
    each = vmap(grad(lambda p, x, y: CE(f(p, x[None]), y[None])), (None, 0, 0))
    return lambda y: torch.cat([g.flatten(1) for g in each(params, problem.x, y).values()], 1)


def func_roots(problem: Problem, x: Tensor) -> Tensor:  # (n, C, p): S^T J, S S^T the output Hessian
    params, f = functional_problem(problem)

    def one(sample: Tensor) -> Tensor:
        logits, back = vjp(lambda p: f(p, sample[None])[0], params)
        p = logits.softmax(-1)
        root = p.sqrt().unsqueeze(1) * (torch.eye(len(p)) - p)
        return torch.cat([part.flatten(1) for part in vmap(lambda s: back(s)[0])(root).values()], 1)

    return vmap(one)(x)


def drawn_labels(problem: Problem) -> Tensor:
    with torch.no_grad():
        return torch.multinomial(problem.model(problem.x).softmax(-1), 1).squeeze(1)


@contender(FUNC, "diag")
def func_diag(problem: Problem, kind: str) -> tuple[Call, Read]:
    n, chunk = len(problem.y), 64
    if kind == "true":

        def call(draw: int) -> Tensor:
            return sum(func_roots(problem, x).square().sum((0, 1)) for x in problem.x.split(chunk)) / n
    else:
        gradients = func_gradients(problem)

        def call(draw: int) -> Tensor:
            y = problem.y if kind == "empirical" else drawn_labels(problem)
            return gradients(y).square().mean(0)

    return call, torch.Tensor.flatten


@contender(FUNC, "dense")
def func_dense(problem: Problem, kind: str) -> tuple[Call, Read]:
    gradients, n = func_gradients(problem), len(problem.y)

    def call(draw: int) -> Tensor:
        u = gradients(problem.y) if kind == "empirical" else func_roots(problem, problem.x).flatten(0, 1)
        return u.T @ u / n

    return call, lambda matrix: dense_read(problem, matrix)


@contender(FUNC, "matvec")
def func_matvec(problem: Problem, kind: str) -> tuple[Call, Read]:
    params, f = functional_problem(problem)
    x, y, n, v = problem.x, problem.y, len(problem.y), problem.probe(1).squeeze(1).float()
    pieces = v.split([value.numel() for value in params.values()])
    tangent = {k: part.view_as(value) for (k, value), part in zip(params.items(), pieces, strict=True)}

    def call(draw: int) -> dict[str, Tensor]:
        if kind == "hessian":
            return jvp(grad(lambda p: CE(f(p, x), y)), (params,), (tangent,))[1]
        logits, along = jvp(lambda p: f(p, x), (params,), (tangent,))
        p = logits.softmax(-1)
        if kind == "true":
            u = p * along - p * (p * along).sum(-1, keepdim=True)
        else:
            g = p - functional.one_hot(y, p.shape[1])
            u = g * (g * along).sum(-1, keepdim=True)
        return vjp(lambda p: f(p, x), params)[1](u / n)[0]

    return call, lambda result: flat(result.values())


@contender(FUNC, "step")
def func_step(problem: Problem, kind: str) -> tuple[Call, Read]:
    gradients = func_gradients(problem)
    return lambda draw: kernel_step(gradients(problem.y)), torch.Tensor.flatten


def kernel_step(u: Tensor) -> Tensor:
    "The natural gradient of rows `u` (N, p), in kernel form."
    gram = u @ u.T / len(u)
    gram.diagonal().add_(DAMPING)
    right = torch.full((len(u), 1), 1 / len(u))
    return (torch.cholesky_solve(right, torch.linalg.cholesky(gram)).T @ u).squeeze(0)


# BackPACK: one extended backward pass of the summed loss, results beside `.grad`


def backpack_pass(problem: Problem, extension: Any) -> Callable[[], list[nn.Parameter]]:
    from backpack import backpack, extend

    own = any(isinstance(module, Residual | Transformer) for module in problem.model.modules())
    model = extend(problem.copy(), use_converter=own)
    loss = extend(nn.CrossEntropyLoss(reduction="sum"))
    params = list(model.parameters())
    if len(params) != len(problem.params):
        raise Lacking("its converter changes the parameters")

    def call() -> list[nn.Parameter]:
        for param in params:
            param.grad = None
        with backpack(extension):
            loss(model(problem.x), problem.y).backward()
        return params

    return call


@contender("BackPACK", "diag")
def backpack_diag(problem: Problem, kind: str) -> tuple[Call, Read]:
    from backpack.extensions import DiagGGNExact, DiagGGNMC, SumGradSquared

    extension = {"empirical": SumGradSquared, "true": DiagGGNExact, "mc": DiagGGNMC}[kind]()
    call = backpack_pass(problem, extension)
    return lambda draw: call(), lambda ps: flat(getattr(p, extension.savefield) for p in ps) / len(problem.y)


@contender("BackPACK", "dense")
def backpack_dense(problem: Problem, kind: str) -> tuple[Call, Read]:
    from backpack.extensions import BatchGrad, SqrtGGNExact

    n, one = len(problem.y), BatchGrad() if kind == "empirical" else SqrtGGNExact()
    run, axes = backpack_pass(problem, one), 1 if kind == "empirical" else 2

    def call(draw: int) -> Tensor:
        u = torch.cat([getattr(p, one.savefield).flatten(axes) for p in run()], axes).reshape(
            -1, problem.size
        )
        return u.T @ u / n

    return call, lambda matrix: dense_read(problem, matrix)


@contender("BackPACK", "kfac")
def backpack_kfac(problem: Problem, kind: str) -> tuple[Call, Read]:
    from backpack.extensions import KFAC, KFLR

    if kind == "empirical":
        raise Lacking("no KFAC of the empirical Fisher")
    extension = KFLR() if kind == "true" else KFAC()
    call = backpack_pass(problem, extension)

    def read(params: list[nn.Parameter]) -> Tensor:
        pairs = [getattr(p, extension.savefield) for p in params if p.ndim > 1]
        return kron_read(problem, [(a, b / len(problem.y)) for b, a in pairs])

    return lambda draw: call(), read


@contender("BackPACK", "step")
def backpack_step(problem: Problem, kind: str) -> tuple[Call, Read]:
    from backpack.extensions import BatchGrad

    run = backpack_pass(problem, BatchGrad())

    def call(draw: int) -> Tensor:
        return kernel_step(torch.cat([p.grad_batch.flatten(1) for p in run()], 1))

    return call, torch.Tensor.flatten


@contender("BackPACK", "matvec")
def backpack_matvec(problem: Problem, kind: str) -> tuple[Call, Read]:
    from backpack.hessianfree.ggnvp import ggn_vector_product
    from backpack.hessianfree.hvp import hessian_vector_product

    if kind == "empirical":
        raise Lacking("no products with the empirical Fisher")
    model = problem.copy()
    params = list(model.parameters())
    pieces = problem.probe(1).squeeze(1).float().split([p.numel() for p in params])
    v = [piece.view_as(p) for piece, p in zip(pieces, params, strict=True)]

    def call(draw: int) -> Any:
        f = model(problem.x)
        loss = CE(f, problem.y)
        return (
            ggn_vector_product(loss, f, model, v)
            if kind == "true"
            else hessian_vector_product(loss, params, v)
        )

    return call, flat


def kron_read(problem: Problem, factors: list[tuple[Tensor, Tensor]]) -> Tensor:
    "B V A of the weights, from (A, B) a layer; rows and columns of A beyond the weights are the bias."
    parts = []
    for (a, b), v in zip(factors, problem.weight_probes(), strict=True):
        d = v.shape[1]
        parts.append(b.detach().double() @ v @ a.detach()[:d, :d].double())
    return flat(parts)


# ASDL: a maker runs the passes and leaves its result in the modules


def asdl_pass(problem: Problem, kind: str, shape: str, **more: Any) -> tuple[Callable[..., Any], nn.Module]:
    import asdl

    kinds = {"empirical": asdl.FISHER_EMP, "true": asdl.FISHER_EXACT, "mc": asdl.FISHER_MC}
    model = problem.copy()
    config = asdl.FisherConfig(kinds[kind], [shape], asdl.LOSS_CROSS_ENTROPY, data_size=len(problem.y))
    maker = asdl.get_fisher_maker(model, config)

    def call(**also: Any) -> None:
        logits = maker.setup_model_call(model, problem.x)
        maker.setup_loss_call(CE, logits, problem.y)
        maker.forward_and_backward(**more, **also)

    return call, model


@contender("ASDL", "diag")
def asdl_diag(problem: Problem, kind: str) -> tuple[Call, Read]:
    call, model = asdl_pass(problem, kind, "diag")

    def read(result: None) -> Tensor:
        parts = {}
        for name, module in model.named_modules():
            if getattr(module, "fisher", None) is not None:
                dot = f"{name}." if name else ""
                parts |= {f"{dot}weight": module.fisher.diag.weight, f"{dot}bias": module.fisher.diag.bias}
        left_out = [name for name in problem.params if parts.get(name) is None]
        if left_out:
            raise Lacking(f"leaves out {', '.join(left_out[:2])}{' ...' * (len(left_out) > 2)}")
        return flat(parts[name] for name in problem.params)

    return lambda draw: call(), read


@contender("ASDL", "dense")
def asdl_dense(problem: Problem, kind: str) -> tuple[Call, Read]:
    call, model = asdl_pass(problem, kind, "full")
    return lambda draw: call(), lambda result: dense_read(problem, model.fisher.data)


@contender("ASDL", "kfac")
def asdl_kfac(problem: Problem, kind: str) -> tuple[Call, Read]:
    call, model = asdl_pass(problem, kind, "kron")
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    return lambda draw: call(), lambda result: kron_read(problem, [m.fisher.kron.data for m in layers])


@contender("ASDL", "matvec")
def asdl_matvec(problem: Problem, kind: str) -> tuple[Call, Read]:
    import asdl

    if kind == "hessian":
        raise Lacking("its Hessian products need functions that PyTorch no longer has")
    call, model = asdl_pass(problem, kind, "full", fvp=True)
    v = problem.probe(1).squeeze(1).float()
    vector = asdl.ParamVector(list(model.parameters()), v)
    return lambda draw: call(vec=vector), lambda result: model.fvp.get_flatten_vector()


@contender("ASDL", "step")
def asdl_step(problem: Problem, kind: str) -> tuple[Call, Read]:
    from asdl.precondition.smw import SmwEmpNaturalGradientConfig, SmwEmpNaturalGradientMaker

    model = problem.copy()
    maker = SmwEmpNaturalGradientMaker(model, SmwEmpNaturalGradientConfig(len(problem.y), DAMPING))

    def call(draw: int) -> None:
        model.zero_grad()
        maker.setup_loss_call(functional.cross_entropy, maker.setup_model_call(model, problem.x), problem.y)
        maker._loss_fn_kwargs["reduction"] = "mean"  # it reads the word, then asks for single losses itself
        maker.forward_and_backward()

    return call, lambda result: flat(p.grad for p in model.parameters())


# NNGeometry: a matrix is built from a function of the outputs


def nngeometry_pass(problem: Problem, kind: str, representation: str) -> Callable[[], Any]:
    from nngeometry import metrics
    from nngeometry.backend import TorchHooksJacobianBackend
    from nngeometry.layercollection import LayerCollection
    from nngeometry.object import pspace
    from torch.utils.data import DataLoader, TensorDataset

    class Whole(DataLoader):  # its own loader would spend most of the time on stacking single samples
        def __iter__(self) -> Iterator:
            yield self.dataset.tensors[0].detach(), self.dataset.tensors[1]

    model, matrix = problem.copy(), getattr(pspace, representation)
    layers = LayerCollection.from_model(model)
    loader = Whole(TensorDataset(problem.x, problem.y), batch_size=len(problem.y))
    if kind != "empirical":
        make = metrics.FIM if kind == "true" else metrics.FIM_MonteCarlo
        return lambda: make(model, loader, matrix, layer_collection=layers)

    def log_likelihood(x: Tensor, y: Tensor) -> Tensor:
        return model(x).log_softmax(1).gather(1, y[:, None])

    def call() -> Any:
        backend = TorchHooksJacobianBackend(model, log_likelihood, layer_collection=layers)
        return matrix(generator=backend, examples=loader)

    return call


@contender("NNGeometry", "diag")
def nngeometry_diag(problem: Problem, kind: str) -> tuple[Call, Read]:
    call = nngeometry_pass(problem, kind, "PMatDiag")
    return lambda draw: call(), lambda matrix: matrix.get_diag()


@contender("NNGeometry", "dense")
def nngeometry_dense(problem: Problem, kind: str) -> tuple[Call, Read]:
    call = nngeometry_pass(problem, kind, "PMatDense")
    return lambda draw: call(), lambda matrix: dense_read(problem, matrix.to_torch())


@contender("NNGeometry", "kfac")
def nngeometry_kfac(problem: Problem, kind: str) -> tuple[Call, Read]:
    call = nngeometry_pass(problem, kind, "PMatKFAC")
    return lambda draw: call(), lambda matrix: kron_read(problem, list(matrix.data.values()))


@contender("NNGeometry", "matvec")
def nngeometry_matvec(problem: Problem, kind: str) -> tuple[Call, Read]:
    from nngeometry.object.vector import PVector

    if kind == "hessian":
        raise Lacking("no products with the Hessian")
    matrix = nngeometry_pass(problem, kind, "PMatImplicit")()
    v = PVector(matrix.generator.layer_collection, vector_repr=problem.probe(1).squeeze(1).float())
    return lambda draw: matrix.mv(v), lambda product: product.to_torch()


# curvlinops: linear operators


def curvlinops_arguments(problem: Problem) -> tuple:
    model = problem.copy()
    params = [p for p in model.parameters() if p.requires_grad]
    return model, nn.CrossEntropyLoss(reduction="mean"), params, [(problem.x, problem.y)]


@contender("curvlinops", "dense")
def curvlinops_dense(problem: Problem, kind: str) -> tuple[Call, Read]:
    from curvlinops import EFLinearOperator, GGNLinearOperator

    make = EFLinearOperator if kind == "empirical" else GGNLinearOperator
    operator = make(*curvlinops_arguments(problem), check_deterministic=False)
    identity = torch.eye(problem.size)
    return lambda draw: operator @ identity, lambda matrix: dense_read(problem, matrix)


@contender("curvlinops", "matvec")
def curvlinops_matvec(problem: Problem, kind: str) -> tuple[Call, Read]:
    import curvlinops

    names = {"true": "GGN", "empirical": "EF", "hessian": "Hessian"}
    make = getattr(curvlinops, f"{names[kind]}LinearOperator")
    operator = make(*curvlinops_arguments(problem), check_deterministic=False)
    v = problem.probe(1).squeeze(1).float()
    return lambda draw: operator @ v, torch.Tensor.flatten


@contender("curvlinops", "kfac")
def curvlinops_kfac(problem: Problem, kind: str) -> tuple[Call, Read]:
    from curvlinops import FisherType, KFACLinearOperator

    kinds = {"true": FisherType.TYPE2, "mc": FisherType.MC, "empirical": FisherType.EMPIRICAL}
    arguments = curvlinops_arguments(problem)
    more = {"fisher_type": kinds[kind], "check_deterministic": False, "separate_weight_and_bias": False}
    more |= {"num_data": len(problem.y), "num_per_example_loss_terms": 1}

    def call(draw: int) -> Any:
        operator = KFACLinearOperator(*arguments, seed=draw + 1, **more)
        operator.compute_kronecker_factors()
        return operator

    def read(operator: Any) -> Tensor:
        probes = iter(problem.weight_probes())
        vs = [next(probes).float() if p.ndim > 1 else torch.zeros_like(p) for p in problem.params.values()]
        return flat(part for part in operator @ vs if part.ndim > 1)

    return call, read


# ----------------------------------------------------------------------------------------------- measurements

LACKING = {
    (FUNC, "kfac"): "knows no layers",
    ("curvlinops", "diag"): "random estimates only (100 products: off by about 40 %)",
    ("curvlinops", "step"): "by conjugate gradients only",
    ("NNGeometry", "step"): "its low-rank solve takes an SVD",
}
KINDS = {"empirical": "empirical Fisher", "true": "true Fisher", "mc": "MC Fisher (1 label)"}


@dataclass(frozen=True)
class Task:
    "What is computed for which problem."

    name: str
    family: str
    problem: str
    kind: str
    strict: bool = (
        True  # a wrong value of a peer would be a fault of this script: it is known to be right here
    )

    @property
    def title(self) -> str:
        return f"{self.name}, {self.problem}"


TASKS = (
    *(Task(f"diagonal of the {text}", "diag", MLP, kind) for kind, text in KINDS.items()),
    *(Task(f"KFAC of the {text}", "kfac", MLP, kind) for kind, text in KINDS.items()),
    Task("true Fisher times a vector", "matvec", MLP, "true"),
    Task("empirical Fisher times a vector", "matvec", MLP, "empirical"),
    Task("Hessian times a vector", "matvec", MLP, "hessian"),
    Task("empirical natural gradient by the Gram matrix", "step", MLP, "empirical"),
    *(Task(f"dense {KINDS[kind]}", "dense", SMALL, kind) for kind in ("empirical", "true")),
    *(
        Task(f"diagonal of the {text}", "diag", name, kind, strict=False)
        for name in ("convolutions", "resnet", "transformer")
        for kind, text in KINDS.items()
    ),
)


@dataclass
class Row:
    "One contender in one task."

    library: str
    note: str = ""  # why there is no time, or what is wrong with the value
    error: float | None = (
        None  # relative distance from the float64 value; MC: of the mean over draws, along it
    )
    right: bool | None = None
    first: float | None = None  # CPU seconds of the first call
    warm: float = 0.0  # of a later one
    times: list[float] = field(default_factory=list)  # of the measured calls
    peak: float | None = None  # most bytes of tensors allocated during a call beyond those before it
    call: Call | None = None

    @property
    def least(self) -> float | None:
        return min(self.times) if self.times and self.right is not False else None


def once(call: Call, draw: int = 0) -> float:
    start = time.process_time()
    call(draw)
    return time.process_time() - start


def prepare(task: Task, problem: Problem, library: str) -> Row:
    "Build a contender, call it, and judge its value."
    row, builder = Row(library), BUILDERS.get((library, task.family))
    peer = LIBRARIES.get(library)
    if builder is None:
        row.note = LACKING.get((library, task.family), "has none")
    elif peer and not peer.installed:
        row.note = peer.advice
    else:
        try:
            attempt(row, builder, task, problem)
        except Lacking as reason:
            row.note = str(reason)
        except InputError as error:
            if library != OURS or "`structure`" not in str(error):
                raise
            row.note = "not in methodbook yet"
        except Exception as error:
            if library in (OURS, FUNC):
                raise
            row.note = f"fails: {(' '.join(str(error).split()) or type(error).__name__)[:80]}"
    return row


def attempt(row: Row, builder: Callable, task: Task, problem: Problem) -> None:
    torch.manual_seed(SEED)  # peers draw labels from the global generator
    with silence():
        call, read = builder(problem, task.kind)
        start = time.process_time()
        result = call(0)
        row.first = time.process_time() - start
        value = read(result).detach().double()
        del result
        row.warm = once(call, 1)
        row.error, row.right = judge(
            task, problem, value, row, lambda draw: read(call(draw)).detach().double()
        )
        row.peak = peak_bytes(call)
    if row.right:
        row.call = call
    else:
        row.note = f"WRONG: off by {100 * row.error:.2g} %"


def judge(task: Task, problem: Problem, value: Tensor, row: Row, draw: Callable) -> tuple[float, bool]:
    "Compare `value` with the float64 one; for drawn labels the mean over draws, within 5 standard errors."
    right = problem.reference(task.family, task.kind)
    if task.kind != "mc":
        error = float((value - right).norm() / right.norm())
        return error, error < (STEP_TOLERANCE if task.family == "step" else TOLERANCE)
    draws = 24 if row.warm < 0.05 else 8
    shares = [float(each @ right / (right @ right)) for each in (value, *(draw(i) for i in range(1, draws)))]
    error, spread = abs(statistics.fmean(shares) - 1), statistics.stdev(shares) / draws**0.5
    return error, error < 5 * spread < 0.25


def single(library: str, title: str) -> Callable[[], float]:
    "One contender of one task for `peers.py`: its value is judged here, and the call returns nothing of it."
    task = next(task for task in TASKS if task.title == title)
    problem = make_problems()[task.problem]
    if library == GRADIENT:
        call, _ = baseline(problem)
    else:
        row = prepare(task, problem, library)
        if row.call is None:
            raise RuntimeError(f"{library}, {title}: {row.note}")
        call = row.call
    return lambda: (call(0), 0.0)[1]


@contextlib.contextmanager
def silence() -> Iterator[None]:
    "No Python warnings, and nothing that native code writes to the terminal: the profiler is talkative."
    sys.stdout.flush()
    kept = [os.dup(stream) for stream in (1, 2)]
    with open(os.devnull, "w") as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
        try:
            yield
        finally:
            for stream, old in zip((1, 2), kept, strict=True):
                os.dup2(old, stream)
                os.close(old)


def peak_bytes(call: Call) -> float:
    "Most bytes of tensors allocated during `call` beyond those before it."
    activity = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[activity], profile_memory=True) as profile:
        call(0)
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return float(most)


def measure(rows: list[Row], rounds: int, budget: float = 60.0) -> None:
    "Let all contenders take turns, so that a busy moment of the machine falls on all of them."
    able, begun = [row for row in rows if row.call is not None], time.process_time()
    gc.collect()
    gc.disable()
    try:
        for turn in range(rounds):
            if turn >= 3 and time.process_time() - begun > budget:
                break
            shift = turn % len(able)
            for row in able[shift:] + able[:shift]:
                if row.warm > 0.3 and turn >= max(1, min(3, rounds // 5)):
                    continue
                for i in range(1 if row.warm > 0.03 else 4):
                    row.times.append(once(row.call, turn + i))
            gc.collect()
    finally:
        gc.enable()


def run_task(task: Task, problem: Problem, rounds: int) -> list[Row]:
    call, _ = baseline(problem)
    rows = [Row(GRADIENT, right=True, call=call, first=once(call), warm=once(call))]
    with silence():
        rows[0].peak = peak_bytes(call)
    rows += [prepare(task, problem, library) for library in (OURS, FUNC, *LIBRARIES)]
    with silence():
        measure(rows, rounds)
    for row in rows:
        row.call = None  # frees the models
    return rows


# ---------------------------------------------------------------------------------------------------- targets


@dataclass(frozen=True)
class Target:
    "At most `limit` times the time of `against` for a task; `binding` targets decide --assert."

    task: str
    against: str  # a row, or "best peer"
    limit: float
    binding: bool = True
    problem: str = MLP


BEST = "best peer"
TARGETS = (
    Target("diagonal of the empirical Fisher", GRADIENT, 1.15),
    Target("diagonal of the true Fisher", "BackPACK", 0.6),
    Target("diagonal of the MC Fisher (1 label)", BEST, 0.8),
    Target("KFAC of the true Fisher", BEST, 0.8),
    Target("dense true Fisher", BEST, 0.3, problem=SMALL),
    Target("true Fisher times a vector", FUNC, 1.05),
    Target("diagonal of the empirical Fisher", BEST, 0.8, binding=False),
    Target("diagonal of the empirical Fisher", FUNC, 1 / 40, binding=False),
    Target("diagonal of the true Fisher", FUNC, 1 / 300, binding=False),
    Target("diagonal of the true Fisher", GRADIENT, 1.7, binding=False),
    Target("diagonal of the MC Fisher (1 label)", GRADIENT, 1.8, binding=False),
    Target("KFAC of the MC Fisher (1 label)", BEST, 1.0, binding=False),
    Target("KFAC of the empirical Fisher", BEST, 1.0, binding=False),
    Target("true Fisher times a vector", "curvlinops", 0.8, binding=False),
    Target("empirical natural gradient by the Gram matrix", GRADIENT, 6.0, binding=False),
)
MEMORY_LIMIT = 1.5  # of the activations, for the diagonals of the MLP
FIRST_CALL_LIMIT = 1.0  # CPU seconds


def decide(
    results: dict[str, list[Row]], problems: dict[str, Problem], first: float | None
) -> list[dict[str, Any]]:
    "Every target with the measured number and whether it is met (None: cannot be said)."
    verdicts = []
    for target in TARGETS:
        rows = {row.library: row for row in results.get(f"{target.task}, {target.problem}", [])}
        if not rows:
            continue
        against = target.against
        if against == BEST:
            peers = [r for name, r in rows.items() if name not in (OURS, GRADIENT) and r.least is not None]
            against = min(peers, key=lambda r: r.least).library if peers else None
        ours, other = rows[OURS].least, rows[against].least if against else None
        ratio = ours / other if ours and other else None
        missing = [name for name, library in LIBRARIES.items() if not library.installed]
        why = ""
        if ratio is None:
            why = rows[OURS].note if ours is None else rows[against].note if against else "no peer"
        elif target.against == BEST and missing:
            why = f"without {', '.join(missing)}"
        named = f"{BEST}, {against}" if target.against == BEST and against else target.against
        verdicts.append(verdict(f"{target.task} / {named}", target.limit, ratio, target.binding, why))
    for words in KINDS.values():
        for row in results.get(f"diagonal of the {words}, {MLP}", []):
            if row.library == OURS and row.peak:
                share = row.peak / activation_bytes(problems[MLP])
                what = f"diagonal of the {words}, peak memory / activations"
                verdicts.append(verdict(what, MEMORY_LIMIT, share, True, ""))
    if first is not None:
        verdicts.append(verdict("first call of all, CPU seconds", FIRST_CALL_LIMIT, first, False, ""))
    return verdicts


def verdict(what: str, limit: float, measured: float | None, binding: bool, why: str) -> dict[str, Any]:
    met = None if measured is None else measured <= limit
    if why.startswith("without") and met:
        met = None  # a missing peer might be faster
    return {"what": what, "limit": limit, "measured": measured, "met": met, "binding": binding, "note": why}


def activation_bytes(problem: Problem) -> int:
    "Bytes of the input and of the outputs of all layers."
    sizes, model = [problem.x.nbytes], problem.copy()
    leaves = [module for module in model.modules() if not list(module.children())]
    handles = [module.register_forward_hook(lambda m, a, z: sizes.append(z.nbytes)) for module in leaves]
    model(problem.x)
    for handle in handles:
        handle.remove()
    return sum(sizes)


# ----------------------------------------------------------------------------------------------------- report


def number(value: float | None, form: str, scale: float = 1.0) -> str:
    return "" if value is None else format(value * scale, form)


def show_task(task: Task, rows: list[Row]) -> None:
    print(f"\n{task.title[0].upper()}{task.title[1:]}")
    heads = ("CPU ms", "x fwd+bwd", "ours/this", "rel. error", "first ms", "peak MB")
    print("  " + f"{'':18}" + "".join(f"{head:>11}" for head in heads))
    base, ours = rows[0].least, next(row.least for row in rows if row.library == OURS)
    for row in rows:
        least = row.least
        cells = (
            number(least, ".2f", 1e3),
            number(least and least / base, ".2f"),
            number(ours / least if ours and least and row.library not in (OURS, GRADIENT) else None, ".2f"),
            number(row.error, ".0e"),
            number(row.first, ".0f", 1e3),
            number(row.peak, ".1f", 1e-6),
        )
        line = f"  {row.library:18}" + "".join(f"{cell:>11}" for cell in cells)
        print((f"{line}   {row.note}" if least is not None else f"  {row.library:18}   {row.note}").rstrip())


def show_targets(verdicts: list[dict[str, Any]]) -> None:
    print("\nTargets (at most; * decides --assert)")
    words = {True: "met", False: "MISSED", None: "open"}
    for v in verdicts:
        measured = number(v["measured"], ".3g") or "-"
        star = "*" if v["binding"] else " "
        line = f" {star} {v['what']:66}{v['limit']:8.3g}{measured:>9}  {words[v['met']]:7} {v['note']}"
        print(line.rstrip())


def as_numbers(results: dict[str, list[Row]], verdicts: list[dict[str, Any]], loads: list) -> dict[str, Any]:
    def one(row: Row, base: float) -> dict[str, Any]:
        least = row.least
        facts = {
            "cpu_ms": least and least * 1e3,
            "median_ms": statistics.median(row.times) * 1e3 if row.times else None,
            "times_forward_backward": least and least / base,
            "relative_error": row.error,
            "first_call_ms": row.first and row.first * 1e3,
            "peak_bytes": row.peak,
            "calls": len(row.times) or None,
            "note": row.note or None,
        }
        return {
            key: float(f"{value:.4g}") if isinstance(value, float) else value
            for key, value in facts.items()
            if value is not None
        }

    tasks = {title: {r.library: one(r, rows[0].least) for r in rows} for title, rows in results.items()}
    missing = {name: library.package for name, library in LIBRARIES.items() if not library.installed}
    busy = {"before": loads[0], "after": loads[1], "cores": os.cpu_count()}
    return {"tasks": tasks, "targets": verdicts, "not_installed": missing, "load_average": busy}


def poorer_than(path: Path) -> list[str]:
    "Libraries that the result at `path` measured, and that are not installed here."
    if not path.exists():
        return []
    there = load_result(path)["numbers"]["not_installed"]
    return [name for name, library in LIBRARIES.items() if not library.installed and name not in there]


def write(path: Path, numbers: dict, problems: dict[str, Problem], threads: int, rounds: int) -> None:
    config = {
        "rounds": rounds,
        "threads": threads,
        "omp_wait_policy": os.environ["OMP_WAIT_POLICY"],
        "samples": {problem.name: len(problem.y) for problem in problems.values()},
        "parameters": {problem.name: problem.size for problem in problems.values()},
        "loss": "cross_entropy",
        "damping": DAMPING,
        "tolerance": TOLERANCE,
        "tolerance_natural_gradient": STEP_TOLERANCE,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    packages = [library.package for library in LIBRARIES.values()]
    save_result(path, numbers, config=config, seeds=[SEED], packages=packages)
    print(f"\nwritten: {path.name}")


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, nothing written unless --out")
    parser.add_argument(
        "--assert", action="store_true", dest="strict", help="exit 1 when a target (*) is missed"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="WORD", help="tasks whose title has one of the words"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch (1)")
    parser.add_argument("--rounds", type=int, help="rounds of measurement (30; quick: 4)")
    parser.add_argument("--out", type=Path, help="where to write (results/benchmarks/fisher.json)")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    torch.set_num_threads(options.threads)
    rounds = options.rounds or (4 if options.quick else 30)
    loads = [[round(value, 2) for value in os.getloadavg()]]
    problems, results = make_problems(), {}
    print(
        f"CPU time, {options.threads} thread(s), least of up to {rounds} rounds; load average {loads[0][0]}"
    )
    for name, library in LIBRARIES.items():
        version = importlib.metadata.version(library.package) if library.installed else None
        print(f"  {name:12} {version or library.advice}")
    first = once(ours_diag(problems[MLP], "empirical")[0])  # before anything else warms the process up
    for task in TASKS:
        if not options.only or any(word in task.title for word in options.only):
            results[task.title] = run_task(task, problems[task.problem], rounds)
            show_task(task, results[task.title])
    verdicts = decide(results, problems, first)
    show_targets(verdicts)
    wrong = [
        f"{row.library}: {task.title}"
        for task in TASKS
        for row in results.get(task.title, [])
        if row.right is False and (task.strict or row.library in (OURS, FUNC))
    ]
    for line in wrong:
        print(f"WRONG VALUE  {line}")
    loads.append([round(value, 2) for value in os.getloadavg()])
    out = options.out or Path(__file__).parents[1] / "results" / "benchmarks" / "fisher.json"
    if options.out or not (options.quick or options.only or wrong):
        poorer = [] if options.out else poorer_than(out)
        if poorer:
            print(
                f"\n{out.name} is kept: it has {', '.join(poorer)}, missing here; --out FILE writes elsewhere"
            )
        else:
            write(out, as_numbers(results, verdicts, loads), problems, options.threads, rounds)
    missed = any(v["met"] is False and v["binding"] for v in verdicts)
    return 1 if wrong or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
