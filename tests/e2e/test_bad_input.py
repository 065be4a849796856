"""What users really do wrong, in one table over the public names: each row must be refused by an error of
this package whose message names what is wrong and what would be right, and it must leave nothing behind:
no file, no change of a model, no draw from the global generators."""

from __future__ import annotations

import random
import re
import sys
import warnings
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn.datasets  # noqa: F401  the import itself draws from Python's generator
import torch
from torch import nn

from methodbook import bench, core, drex, fisher, heads, ml3
from methodbook.core.cli import main
from methodbook.core.errors import MethodbookError

NAN, INF = float("nan"), float("inf")


# The place where a row is tried: a folder, and cheap things that work, each made when a row asks for it.


def _global_generators() -> tuple:
    "The states of the global generators of torch, numpy and Python."
    numbers = np.random.get_bit_generator().state["state"]
    return torch.get_rng_state().tolist(), numbers["key"].tolist(), numbers["pos"], random.getstate()


def _looks(model: nn.Module) -> list[tuple]:
    "Mode, hooks and frozen parameters of each module: what a call must put back."
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [
        (
            module.training,
            tuple(len(getattr(module, kind)) for kind in kinds),
            tuple(each.requires_grad for each in module.parameters(recurse=False)),
        )
        for module in model.modules()
    ]


class Place:
    "A folder and cheap objects; remembers how all of them looked before the row was tried."

    def __init__(self, folder: Path, monkeypatch):
        self.folder, self.patch = folder, monkeypatch
        self.files = self.tree()
        self.models: list[tuple] = []

    # files

    def tree(self) -> dict[str, bytes | None]:
        found = sorted(self.folder.rglob("*"))
        return {str(path): path.read_bytes() if path.is_file() else None for path in found}

    def settled(self, path: Path) -> Path:
        self.files = self.tree()
        return path

    def file(self, name: str, content: str | bytes = b"") -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return self.settled(path)

    def dir(self) -> Path:
        (self.folder / "folder").mkdir()
        return self.settled(self.folder / "folder")

    def made(self, name: str, write) -> Path:
        "A file or folder that `write` made."
        write(self.folder / name)
        return self.settled(self.folder / name)

    def torn(self, name: str, write) -> Path:
        "Half of a file that `write` made."
        write(self.folder / name)
        content = (self.folder / name).read_bytes()
        return self.file(name, content[: len(content) // 2])

    def without(self, *packages: str) -> Place:
        "As if `packages` were not installed."
        for package in packages:
            for loaded in [name for name in sys.modules if name.split(".")[0] == package]:
                self.patch.delitem(sys.modules, loaded)
            self.patch.setitem(sys.modules, package, None)
        return self

    # models

    def build(self, make):
        "What `make` returns, with the same random weights each time and no trace in the global generator."
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return make()

    def keep(self, make) -> nn.Module:
        "A model that must look as before when the row has been tried."
        model = self.build(make)
        weights = {name: value.clone() for name, value in model.state_dict().items()}
        self.models.append((model, weights, _looks(model)))
        return model

    def check_untouched(self) -> None:
        assert self.tree() == self.files, "a file was written or changed"
        for model, weights, looks in self.models:
            now = model.state_dict()
            assert now.keys() == weights.keys(), "parameters came or went"
            assert all(torch.equal(now[name], value) for name, value in weights.items()), "weights changed"
            assert _looks(model) == looks, "mode, hooks or frozen parameters were not put back"

    # core

    def run(self, config=None, **options) -> core.Run:
        return core.Run(self.folder / "run", {"lr": 0.1} if config is None else config, **options)

    @cached_property
    def started(self) -> Path:
        return self.made("run", lambda folder: self.run(every=1).loop(add_one, {"x": 0}, 2))

    # fisher

    @cached_property
    def net(self) -> nn.Module:
        return self.keep(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double())

    @cached_property
    def line(self) -> nn.Module:
        return self.keep(lambda: nn.Linear(3, 1).double())

    @cached_property
    def x(self) -> torch.Tensor:
        return torch.linspace(-1, 1, 18, dtype=torch.float64).reshape(6, 3)

    @cached_property
    def labels(self) -> torch.Tensor:
        return torch.tensor([0, 1, 0, 1, 1, 0])

    @cached_property
    def y(self) -> torch.Tensor:
        return torch.linspace(0, 1, 6, dtype=torch.float64).reshape(6, 1)

    def fisher(self, x=None, y=None, kind="true", structure="dense", **options):
        data = (self.x if x is None else x, self.labels if y is None else y)
        return fisher.fisher(self.net, data, kind, structure, **({"loss": "cross_entropy"} | options))

    def odd(self, make):
        "The Fisher of a model that cannot have one."
        return fisher.fisher(self.keep(make), (self.x, self.labels), loss="cross_entropy")

    def gradient(self, y, loss="gaussian", **options):
        return fisher.gradient(self.line, (self.x, y), loss=loss, **options)

    @cached_property
    def curvature(self) -> fisher.Curvature:
        return self.fisher()

    def optimiser(self, model=None, **options):
        return fisher.NaturalGradient(self.net if model is None else model, "cross_entropy", **options)

    # heads

    def family(self, name: str) -> heads.HeadView:
        return heads.HeadView(self.keep(lambda: heads.tiny_model(name)))

    @cached_property
    def view(self) -> heads.HeadView:
        return self.family("bert")

    @cached_property
    def batch(self) -> dict:
        return heads.tiny_batch("bert")

    def within(self, context):
        "Call the model of the view in a context."
        with context as found:
            self.view.model(**self.batch)
        return found

    @cached_property
    def pruned(self) -> heads.HeadView:
        view = heads.HeadView(self.build(lambda: heads.tiny_model("bert")))
        heads.prune_heads(view, [FIRST])
        return view

    def saved(self, change=lambda folder: None) -> Path:
        "The folder of a pruned model, with a mishap."
        folder = self.made("saved", lambda folder: heads.save_pruned(self.pruned, folder))
        change(folder)
        return self.settled(folder)

    def load(self, folder, make=lambda: heads.tiny_model("bert")):
        return heads.load_pruned(folder, lambda: self.build(make))

    def gates(self, batches=None, **options):
        gates = heads.attach_gates(self.view)
        batches = [self.batch] if batches is None else batches
        try:
            return heads.train_gates(gates, batches, score, **({"steps": 1, "lam": 0.1} | options))
        finally:
            gates.detach()

    # ml3

    @cached_property
    def learned(self) -> ml3.MetaLoss:
        return self.keep(lambda: ml3.MetaLoss(2, hidden=(4,)))

    @cached_property
    def learner(self) -> nn.Module:
        return self.keep(lambda: nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)))

    @cached_property
    def sines(self) -> ml3.SineTasks:
        return ml3.SineTasks(points=8)

    def meta_train(self, tasks=None, task_loss="mse", **options):
        tasks = self.sines if tasks is None else tasks
        options = {"iters": 2, "meta_batch": 2} | options
        return ml3.meta_train(self.learned, self.learner, tasks, task_loss, **options)

    def meta_test(self, **options):
        options = {"steps": 2, "n_tasks": 2, "seeds": (0,)} | options
        return ml3.meta_test(self.learned, self.learner, self.sines, **options)

    def unroll(self, loss=None, params=None, steps=2, **options):
        loss = loss or (lambda params, data: params["w"].pow(2).sum(-1))
        params = {"w": torch.ones(2, 1)} if params is None else params
        return ml3.unroll(params, loss, None, ml3.SGD(0.1), steps, **options)

    def control(self, **options) -> ml3.GoalControl:
        policy = self.build(lambda: nn.Linear(6, 2))
        return ml3.GoalControl(ml3.PointMass(), policy, **({"horizon": 3} | options))

    # drex

    @cached_property
    def demos(self) -> drex.Demonstrations:
        return drex.Demonstrations([episode(seed) for seed in range(3)])

    @cached_property
    def reward(self) -> drex.RewardEnsemble:
        nets = self.build(lambda: [drex.RewardNet((2,), (4,), seed=seed) for seed in range(2)])
        return drex.RewardEnsemble(nets)

    @cached_property
    def written(self) -> Path:
        return self.made("d.npz", lambda path: drex.write_npz(path, self.demos))

    def learn_reward(self, **options):
        ranked = drex.from_ranks([episode(seed) for seed in range(4)], [0, 1, 2, 3], snippet=5)
        small = {"n_nets": 1, "hidden": (4,), "updates": 2, "pairs": 10, "batch": 4}
        return drex.learn_reward(ranked, **(small | options))

    def drex(self, demos=None, **options):
        return drex.drex(self.demos if demos is None else demos, drex.PointRun, **options)

    # bench

    @cached_property
    def matrix(self) -> bench.DecisionMatrix:
        return decide()

    @cached_property
    def survey(self) -> bench.Catalogue:
        return bench.load_catalogue("hardware")

    @cached_property
    def records(self) -> bench.Records:
        return simulated()


def add_one(state, index):
    return {"x": state["x"] + 1}


def claim(**changes) -> core.Claim:
    fields = dict(id="F1.1", source="Section 4", statement="is right", paper=1.0, paper_source="printed")
    return core.Claim(**(fields | dict(how="by hand", tolerance=0.1) | changes))


def spoilt(array, value=NAN):
    "A copy of `array` with one `value` in it."
    copy = array.clone()
    copy.view(-1)[1] = value
    return copy


class Pair(nn.Module):
    "Returns two outputs."

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2).double()

    def forward(self, x):
        return self.layer(x), x


class Mixing(Pair):
    "Returns the mean over the batch for every sample."

    def forward(self, x):
        return self.layer(x) + self.layer(x).mean(0)


FIRST = heads.HeadId("enc", 0, 1)


def score(model, batch):
    "One number for the whole batch."
    return model(**batch).last_hidden_state.mean()


def each_score(model, batch):
    "One number an example."
    return model(**batch).last_hidden_state.pow(2).mean(dim=(1, 2))


def cut_file(pattern: str, content: str | None = None):
    "A mishap: the file is gone, or holds something else."

    def change(folder: Path):
        for path in folder.glob(pattern):
            path.unlink() if content is None else path.write_text(content)

    return change


def draws() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def tasks(rows=(2, 3, 1), y=(2, 3, 1), value=1.0) -> ml3.StoredTasks:
    return ml3.from_arrays(np.full(rows, value), np.ones(y))


def quadratic(env=None, **options) -> ml3.ILQR:
    env = env or ml3.PointMass()
    return ml3.ILQR(env, lambda s, a: (s**2).sum(), lambda s: (s**2).sum(), **options)


def diverged(control, loss):
    "The meta-gradient of a policy whose weights have become NaN."
    first = ml3.initial_params(control.policy, 2, draws())
    params = {name: torch.full_like(each, NAN) for name, each in first.items()}
    parts = (loss, control.policy, control.task_loss, ml3.SGD(0.1))
    problem = ml3.MetaProblem(*parts, inner_loss=control.inner_loss)
    return problem.gradient(ml3.GoalReach(rollouts=1).sample(2, draws()), params)


def episode(seed=0, steps=12, paid=True, **changes) -> drex.Trajectory:
    rng = np.random.default_rng(seed)
    parts = {"obs": rng.normal(size=(steps + 1, 2)), "acts": rng.uniform(-1, 1, size=(steps, 2))}
    return drex.Trajectory(**(parts | {"rews": rng.normal(size=steps) if paid else None} | changes))


def groups(ranks, **options) -> drex.RankedTrajectories:
    three = [[episode(3 * each), episode(3 * each + 1)] for each in range(3)]
    return drex.RankedTrajectories(three, ranks, **({"snippet": 5} | options))


def archive(**arrays):
    return lambda path: np.savez(path, **arrays)


def choice(weights=(0.5, 0.5), **options) -> drex.LinearProblem:
    return drex.choice_problem([[1.0, 0.0], [0.0, 1.0]], weights, **options)


def zeros(obs) -> np.ndarray:
    return np.zeros((len(obs), 2), np.float32)


FOUR = drex.Chain(4, 5)
SEVEN = np.array([0, 1, 7])
UNIFORM = np.full((2, 2, 2), 0.5)
MARKS = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]])


def decide(values=MARKS, polarity=(1, 1, -1), **options) -> bench.DecisionMatrix:
    return bench.from_arrays(values, polarity, **options)


def simulated(**options) -> bench.Records:
    return bench.simulate_records(bench.Plan(workloads="mlp", batches=(1,)), **options)


def contrasts() -> list[bench.Contrast]:
    return [bench.contrast([1.0, 1.1, 1.2], [1.0, 1.1, 1.3], paired=True)]


# The table. A row: what the user does wrong, how, the class of the error, what its message must say.

CORE = [
    ("write over a folder", lambda p: core.write_atomic(p.dir(), "x"), "StorageError",
     "directory.*intact.*choose"),
    ("write below a file", lambda p: core.write_atomic(p.file("a") / "b", "x"), "StorageError",
     "cannot write.*choose"),
    ("JSON: NaN", lambda p: core.write_json(p.folder / "a", {"x": [1, NAN]}), "InputError",
     r"'x'.*finite.*write None"),
    ("JSON: key", lambda p: core.write_json(p.folder / "a", {1: 2}), "InputError",
     r"keys that are text.*str\(key\)"),
    ("JSON: object", lambda p: core.write_json(p.folder / "a", {"f": print}), "InputError",
     "a number.*Convert it"),
    ("JSON: no file", lambda p: core.read_json(p.folder / "a"), "MissingData", "no file.*write it"),
    ("JSON: torn", lambda p: core.read_json(p.file("a", '{"a": ')), "StateError", "not JSON.*Restore it"),
    ("JSON: binary", lambda p: core.read_json(p.file("a", b"\xff\xfe")), "StateError",
     "not JSON.*Restore it"),
    ("state: object", lambda p: core.save_state(p.folder / "s", {"f": print}), "InputError",
     r"'f'.*tensor.*snapshot"),
    ("state: key", lambda p: core.save_state(p.folder / "s", {(1, 2): 3}), "InputError",
     r"text or integers.*\(1, 2\)"),
    ("state: sparse tensor", lambda p: core.save_state(p.folder / "s", {"w": torch.eye(2).to_sparse()}),
     "InputError", "dense tensor.*Convert it"),
    ("state: words", lambda p: core.save_state(p.folder / "s", [np.array(["a"])]), "InputError",
     "numbers.*Convert"),
    ("state: no file", lambda p: core.load_state(p.folder / "s"), "MissingData",
     "no saved state.*check the path"),
    ("state: empty", lambda p: core.load_state(p.file("s")), "StateError", "damaged.*earlier one"),
    ("state: text", lambda p: core.load_state(p.file("s", "hello, hello")), "StateError",
     "damaged.*earlier one"),
    ("state: torn",
     lambda p: core.load_state(p.torn("s", lambda path: core.save_state(path, {"w": torch.ones(99)}))),
     "StateError", "damaged.*earlier one"),
    ("state: pickle", lambda p: core.load_state(p.made("s.pt", lambda path: torch.save({"a": 1}, path))),
     "StateError", "no saved state.*earlier one"),
    ("run: every 0", lambda p: p.run(every=0), "InputError",
     "`every`: expected an integer of at least 1, got 0"),
    ("run: every 2.5", lambda p: p.run(every=2.5), "InputError", "`every`: expected an integer.*got 2.5"),
    ("run: NaN setting", lambda p: p.run({"lr": NAN}), "InputError", r"config\['lr'\].*finite"),
    ("run: model as setting", lambda p: p.run({"f": print}), "InputError", r"config\['f'\].*Convert it"),
    ("run: setting changed", lambda p: p.started and p.run({"lr": 0.2}).loop(add_one, {"x": 0}, 3),
     "ConfigMismatch", "lr: 0.1 in the folder, 0.2 now.*another folder"),
    ("run: setting gone", lambda p: p.started and p.run({}).loop(add_one, {"x": 0}, 3), "ConfigMismatch",
     "lr: 0.1 in the folder, 'absent' now"),
    ("run: fewer steps", lambda p: p.started and p.run().loop(add_one, {"x": 0}, 1), "InputError",
     "`total`: expected at least the 2 steps.*new folder"),
    ("run: step forgets the state",
     lambda p: p.started and p.run().loop(lambda state, index: None, {"x": 0}, 3), "InputError",
     "`step`.*returns a dict, got None.*Return the state"),
    ("run: record has a step",
     lambda p: p.started and p.run().loop(lambda state, index: (state, {"step": 1}), {"x": 0}, 3),
     "InputError", "`record`.*'step'.*rename"),
    ("run: -1 steps", lambda p: p.run().loop(add_one, {"x": 0}, -1), "InputError",
     "`total`.*at least 0, got -1"),
    ("run: 3.0 steps", lambda p: p.run().loop(add_one, {"x": 0}, 3.0), "InputError",
     "`total`.*an integer.*got 3.0"),
    ("run: list as state", lambda p: p.run().loop(add_one, [0], 3), "InputError",
     "`state`: expected a dict.*Name"),
    ("run: folder is a file", lambda p: p.file("run") and p.run().loop(add_one, {"x": 0}, 3), "StorageError",
     "cannot write.*choose a folder"),
    ("run: config torn",
     lambda p: p.started and p.file("run/config.json", "{") and p.run().loop(add_one, {"x": 0}, 3),
     "StateError", "config.json is not JSON"),
    ("result: NaN", lambda p: core.save_result(p.folder / "r", {"x": NAN}, config={}, seeds=[0]),
     "InputError", r"numbers\['x'\].*finite"),
    ("result: a path in it",
     lambda p: core.save_result(p.folder / "r", {"x": 1}, config={"file": "/home/me"}, seeds=[0]),
     "InputError", "no absolute path.*Name the file"),
    ("result: seed 0.5", lambda p: core.save_result(p.folder / "r", {"x": 1}, config={}, seeds=[0.5]),
     "InputError", "`seeds`: expected an integer, got 0.5"),
    ("result: too large",
     lambda p: core.save_result(p.folder / "r", {"x": [0.5] * 50_000}, config={}, seeds=[0]), "InputError",
     "at most 100000 bytes.*summary"),
    ("result: none", lambda p: core.load_result(p.folder / "r"), "MissingData",
     "no result.*methodbook reproduce"),
    ("result: format 99", lambda p: core.load_result(p.file("r", '{"format": 99}')), "StateError",
     "format 99, this version reads 1.*measure again"),
    ("seeds: 0.5", lambda p: core.child_seeds(0.5, 3), "InputError", "`seed`: expected an integer.*got 0.5"),
    ("seeds: -1", lambda p: core.child_seeds(-1, 3), "InputError", "`seed`.*at least 0, got -1"),
    ("seeds: text", lambda p: core.child_seeds("0", 3), "InputError", "`seed`: expected an integer.*got '0'"),
    ("seeds: -3 of them", lambda p: core.child_seeds(0, -3), "InputError", "`count`.*at least 0, got -3"),
    ("map: no workers", lambda p: core.parallel_map(abs, [1], jobs=0), "InputError",
     "`jobs`.*-1 for all cores"),
    ("map: no function", lambda p: core.parallel_map([1], abs), "InputError",
     "`function`: expected a function"),
    ("sum: array", lambda p: core.sum_over_processes(np.ones(2)), "InputError",
     "a torch tensor, got float64 array"),
    ("claim: id", lambda p: claim(id="first"), "InputError", "`id`.*such as 'F2.1', got 'first'"),
    ("claim: NaN", lambda p: claim(paper=NAN), "InputError", "`paper`.*finite number, got nan.*F1.1"),
    ("claim: rule", lambda p: claim(rule="roughly"), "InputError", "`rule`.*'absolute'.*got 'roughly'"),
    ("claim: no number", lambda p: claim(paper=None), "InputError", "'not found'.*Give both"),
    ("claim: tolerance", lambda p: claim(tolerance=-1), "InputError", "`tolerance`: expected at least 0"),
    ("claim: measured NaN", lambda p: claim().measured(NAN), "InputError",
     "finite number, got nan.*Leave F1.1 out"),
    ("claim: in another chapter", lambda p: core.record([claim()], {"F1.1": 1.0}, chapter="heads"),
     "InputError", "`F1.1`: expected chapter 'fisher', got 'heads'"),
    ("claim: not declared", lambda p: core.record([claim()], {"F1.2": 1.0}, chapter="fisher"), "InputError",
     "`measured`.*declared claims, got F1.2"),
    ("ledger: row", lambda p: core.load_ledger().row("Z9"), "InputError",
     "`id`: expected one of 'H1'.*got 'Z9'"),
    ("data: unknown", lambda p: core.load("bostn"), "InputError",
     "one of.*got 'bostn'. Did you mean 'boston'"),
    ("data: number", lambda p: core.load(3), "InputError", "`name`: expected one of.*got 3"),
    ("file: unknown", lambda p: core.read_file("tatoeba"), "InputError",
     "one of 'tatoeba_deu_eng/train'.*got"),
    ("file: not here", lambda p: core.read_file("tatoeba_deu_eng/train", download=False), "MissingData",
     "not on this machine.*What helps: save http"),
    ("plot: method", lambda p: core.look("banana"), "InputError", "`method`: expected one of.*got 'banana'"),
    ("plot: no figure", lambda p: core.figure_png("fig"), "InputError", "a matplotlib Figure, got 'fig'"),
    ("plot: 20 frames", lambda p: core.scrub(range(20), print, "x"), "InputError", "1 to 10 values.*Choose"),
    ("plot: no frames", lambda p: core.scrub([], print, "x"), "InputError", "1 to 10 values.*length 0"),
    ("plot: no widgets", lambda p: p.without("ipywidgets") and core.import_widgets("scrub"),
     "MethodbookError", r"`scrub` needs ipywidgets.*pip install 'methodbook\[notebook\]'"),
    ("report: no table", lambda p: core.Report("t").table([1]), "InputError",
     "`frame`: expected a pandas DataFrame"),
    ("report: folder", lambda p: core.Report("t").write(p.dir()), "StorageError", "cannot write.*intact"),
    ("write a number", lambda p: core.write_atomic(p.folder / "a", 3), "InputError",
     "bytes or a text, got 3.*write_json"),
    ("JSON: folder", lambda p: core.read_json(p.dir()), "InputError",
     "a file, got the folder.*Name a file in it"),
    ("JSON: below a file", lambda p: core.read_json(p.file("a") / "b"), "MissingData", "no file.*write it"),
    ("state: folder", lambda p: core.load_state(p.dir()), "InputError",
     "a file, got the folder.*Name a file in it"),
    ("result: folder", lambda p: core.load_result(p.dir()), "InputError",
     "a file, got the folder.*Name a file in it"),
    ("log: none", lambda p: core.read_log(p.folder / "log"), "MissingData", "no log.*check the path"),
    ("log: text", lambda p: core.read_log(p.file("log", "hello\n")), "StateError",
     "no log of a run.*start another run"),
    ("run: list as config", lambda p: p.run([1]), "InputError",
     "`config`: expected a dict, got list of length 1"),
    ("restore: not saved", lambda p: core.restore({"a": p.net}, {"b": 1}), "StateError",
     "has no 'a'; it holds 'b'.*Save"),
    ("restore: generator", lambda p: core.restore([draws()], [3]), "StateError",
     "does not fit.*Generator.*Build it"),
    ("result: one seed", lambda p: core.save_result(p.folder / "r", {}, config={}, seeds=3), "InputError",
     r"Write `\[seed\]`"),
    ("map: a number", lambda p: core.parallel_map(abs, 3), "InputError", r"`items`.*got 3.*`range\(n\)`"),
    ("progress: a number", lambda p: core.progress(3), "InputError",
     r"something to loop over, got 3.*`range\(n\)`"),
    ("restore: another tree", lambda p: core.restore({"line": p.line}, None), "StateError",
     "the state has.*Save the same tree"),
    ("result: numbers in a list", lambda p: core.save_result(p.folder / "r", [1], config={}, seeds=[]),
     "InputError", "`numbers`: expected a dict.*Name its parts"),
    ("result: no config", lambda p: core.save_result(p.folder / "r", {}, config=None, seeds=[]),
     "InputError", "`config`: expected a dict, got None"),
    ("result: one package", lambda p: core.save_result(p.folder / "r", {}, config={}, seeds=[], packages="a"),
     "InputError", "`packages`: expected a list of names, got 'a'"),
    ("write to a number", lambda p: core.write_atomic(3, "x"), "InputError",
     "`path`: expected the name of a file or folder, got 3"),
    ("run: no function", lambda p: p.run().loop(3, {}, 1), "InputError",
     "`step`: expected a function of the state and the index, got 3"),
    ("claims: no folder", lambda p: core.load_claims("fisher", p.folder / "no"), "MissingData",
     r"no folder.*claims\.json below it, or give none"),
    ("ledger: no folder", lambda p: core.load_ledger(p.folder / "no"), "MissingData",
     r"no folder.*claims\.json below it, or give none"),
    ("claims: a single one", lambda p: core.record(claim(), {}, chapter="fisher"), "InputError",
     "a list of Claim objects, got.*into brackets"),
    ("claim: number of none", lambda p: core.record([claim()], {"F1.2": 1.0}, chapter="fisher"),
     "InputError", "declared claims, got F1.2. Declare"),
    ("claim: measured words", lambda p: claim().measured("2.5"), "InputError",
     "`ours of F1.1`: expected a finite number, got '2.5'"),
    ("prose: no ledger", lambda p: core.audit_prose("", None), "InputError", "Take that of `load_ledger`"),
    ("checks: list", lambda p: core.check_frame([1]), "InputError", "a dict of checks by number, got list"),
    ("checks: no tests", lambda p: core.untested({1: ("is right", "a.b")}, "fisher", p.dir()), "MissingData",
     "no tests in.*lie in a checkout"),
    ("plot: colour", lambda p: core.contrast("reddish"), "InputError", "a colour such as '#2546C4' or 'red'"),
    ("plot: dpi", lambda p: core.figure_png(plt.figure(), 0), "InputError", "`dpi`.*positive number, got 0"),
    ("command: one text", lambda p: main("reproduce fisher"), "InputError",
     r"`argv`: expected a list of words.*shlex\.split"),
]

FISHER = [
    ("loss: unknown", lambda p: p.fisher(loss="crossentropy"), "InputError", "Did you mean 'cross_entropy'"),
    ("loss: function", lambda p: p.fisher(loss=lambda f, y: f), "InputError",
     "minus the log of a likelihood.*Use a"),
    ("loss: L1", lambda p: p.fisher(loss=nn.L1Loss()), "InputError",
     "minus the log of a likelihood, got L1Loss.*Use"),
    ("loss: weighted BCE", lambda p: fisher.as_likelihood(nn.BCEWithLogitsLoss(weight=torch.ones(3))),
     "InputError", "without `weight`.*sample_weight="),
    ("kind", lambda p: p.fisher(kind="emprical"), "InputError",
     "one of 'true', 'mc', 'empirical'.*Did you mean"),
    ("structure", lambda p: p.fisher(structure="diagonal"), "InputError",
     "'kfac'.*got 'diagonal'. Did you mean 'diag'"),
    ("Hessian by kfac", lambda p: fisher.hessian(p.net, (p.x, p.labels), "kfac", loss="cross_entropy"),
     "InputError", "one of 'dense', 'diag', 'operator', got 'kfac'"),
    ("split", lambda p: fisher.ggn(p.net, (p.x, p.labels), loss="cross_entropy", split="half"), "InputError",
     "`split`: expected one of 'canonical', 'empirical', 'identity'"),
    ("reduction", lambda p: p.fisher(reduction="max"), "InputError", "one of 'mean', 'sum', got 'max'"),
    ("no draws", lambda p: p.fisher(kind="mc", mc_samples=0), "InputError",
     "`mc_samples`.*at least 1, got 0"),
    ("1.5 draws", lambda p: p.fisher(kind="mc", mc_samples=1.5), "InputError",
     "`mc_samples`: expected an integer"),
    ("seed 0.5", lambda p: p.fisher(kind="mc", seed=0.5), "InputError",
     "`seed`: expected an integer.*got 0.5"),
    ("option", lambda p: p.fisher(chunks=3), "InputError", "got 'chunks'. Did you mean 'chunk'"),
    ("chunk 0", lambda p: p.fisher(chunk=0), "InputError",
     "`chunk`: expected an integer of at least 1, got 0"),
    ("dtype int", lambda p: p.fisher(dtype=torch.int64), "InputError",
     "floating torch.dtype such as torch.float64"),
    ("sigma 0", lambda p: p.gradient(p.y, sigma=0.0), "InputError",
     "`sigma`: expected a finite positive.*got 0.0"),
    ("sigma of classes", lambda p: p.fisher(sigma=1.0), "InputError",
     "`sigma`: expected None with loss='cross_en"),
    ("engine", lambda p: p.fisher(engine="jax"), "InputError", "'auto', 'layers', 'vmap', 'loop', got 'jax'"),
    ("too large", lambda p: p.fisher(max_bytes=10), "CurvatureTooLarge", "26 x 26.*use another structure"),
    ("parameter", lambda p: p.fisher(params=["0.wight"]), "InputError", "names or parameters.*got 0.wight"),
    ("no parameters", lambda p: p.fisher(params=[]), "InputError", "at least one parameter, got none"),
    ("negative weights", lambda p: p.fisher(sample_weight=-torch.ones(6)), "InputError",
     "at least 0, got -1.0"),
    ("zero weights", lambda p: p.fisher(sample_weight=torch.zeros(6)), "InputError",
     "positive total weight, got 0"),
    ("five weights", lambda p: p.fisher(sample_weight=torch.ones(5)), "InputError",
     "same length.*sample_weight 5"),
    ("NaN in X", lambda p: p.fisher(spoilt(p.x)), "InputError",
     r"`X`.*1 not finite of 18.*position \(0, 1\)"),
    ("infinity in X", lambda p: p.fisher(spoilt(p.x, INF)), "InputError",
     "`X`: expected finite numbers.*overflow"),
    ("NaN in y", lambda p: p.gradient(spoilt(p.y)), "InputError",
     "`y`: expected finite numbers, got 1 not finite"),
    ("no rows", lambda p: p.fisher(p.x[:0], p.labels[:0]), "InputError", "at least one sample, got none"),
    ("no batches", lambda p: fisher.fisher(p.net, [], loss="mse"), "InputError",
     "at least one sample, got none"),
    ("path as data", lambda p: fisher.fisher(p.net, "a.csv", loss="mse"), "InputError",
     r"\(X, y\), or an iterable"),
    ("no labels", lambda p: fisher.fisher(p.net, p.x, "empirical", loss="cross_entropy"), "InputError",
     "labels y, which the empirical Fisher needs, got X only"),
    ("four labels", lambda p: p.fisher(y=p.labels[:4]), "InputError",
     "`X`, `y`: expected the same length.*6 and y 4"),
    ("third class", lambda p: p.fisher(y=p.labels + 1), "InputError", r"labels in 0\.\.1, got 2 in row 1"),
    ("real labels", lambda p: p.fisher(y=p.labels.double()), "InputError", r"integer dtype.*\.long\(\)"),
    ("labels of 3", lambda p: p.gradient(p.y * 3, "bce"), "InputError", "labels from 0 to 1.*become"),
    ("negative counts", lambda p: p.gradient(-p.y, "poisson"), "InputError",
     "counts of at least 0, got values"),
    ("one logit", lambda p: p.gradient(p.labels, "cross_entropy"), "InputError",
     "two logits.*use loss='bce'"),
    ("function as model", lambda p: fisher.gradient(torch.relu, (p.x, p.y), loss="mse"), "InputError",
     "`model`: expected a torch.nn.Module"),
    ("frozen model", lambda p: p.odd(lambda: nn.Linear(3, 2).double().requires_grad_(False)), "InputError",
     "requires a gradient, got 2 without"),
    ("dropout on", lambda p: p.odd(lambda: nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)).double()),
     "NonDeterministicModel", r"Dropout.*at random. Call model.eval\(\)"),
    ("batch norm on", lambda p: p.odd(lambda: nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).double()),
     "BatchCoupled", r"BatchNorm1d.*Call model.eval\(\)"),
    ("two outputs", lambda p: p.odd(Pair), "InputError",
     "one tensor of outputs, got tuple of length 2. Wrap it"),
    ("mixed samples", lambda p: p.odd(Mixing), "BatchCoupled", "other samples in its batch.*Look for"),
    ("damping -1", lambda p: p.curvature.solve(torch.ones(26), damping=-1.0), "InputError",
     "`damping`.*got -1.0"),
    ("damping NaN", lambda p: p.curvature.solve(torch.ones(26), damping=NAN), "InputError",
     "`damping`.*got nan"),
    ("short vector", lambda p: p.curvature.solve(torch.ones(3, dtype=torch.float64), damping=1.0),
     "InputError", r"shape \(26,\) or \(26, k\), got shape \(3,\)"),
    ("singular",
     lambda p: fisher.fisher(p.line, (p.x * 0, p.y), loss="gaussian").solve(torch.ones(4).double()),
     "SingularCurvature", "is singular.*larger damping, or method='pinv'"),
    ("wrong names", lambda p: p.curvature.flatten({"a": p.y}), "InputError", "exactly the names.*'a'"),
    ("load: none", lambda p: fisher.Curvature.load(p.folder / "c"), "MissingData",
     "no saved state.*check the path"),
    ("load: torn", lambda p: fisher.Curvature.load(p.torn("c", p.curvature.save)), "StateError",
     "damaged.*earlier"),
    ("load: another state",
     lambda p: fisher.Curvature.load(p.made("c", lambda path: core.save_state(path, {"a": 1}))), "InputError",
     r"written by `Curvature.save`, version 1"),
    ("save: folder", lambda p: p.curvature.save(p.dir()), "StorageError", "cannot write.*intact"),
    ("variance", lambda p: fisher.Gaussian(-1.0), "InputError",
     "`variance`: expected a finite positive number"),
    ("step size -1", lambda p: p.optimiser(lr=-1), "InputError",
     "`lr`: expected a finite number of at least 0"),
    ("step size NaN", lambda p: p.optimiser(lr=NAN), "InputError", "`lr`.*got nan"),
    ("update_every 0", lambda p: p.optimiser(update_every=0), "InputError",
     "`update_every`.*at least 1, got 0"),
    ("ema 1.5", lambda p: p.optimiser(ema=1.5), "InputError", "None or a number between 0 and 1, got 1.5"),
    ("momentum 1", lambda p: p.optimiser(momentum=1.0), "InputError", "at least 0 and below 1, got 1.0"),
    ("list as model", lambda p: p.optimiser(list(p.net.parameters())), "InputError",
     "Module, got list of length 4"),
    ("optimiser: option", lambda p: p.optimiser(beta=3), "InputError",
     "`option`: expected one of.*got 'beta'"),
    ("step: NaN", lambda p: p.optimiser().step((spoilt(p.x), p.labels)), "InputError",
     "`X`.*1 not finite of 18"),
    ("step: no rows", lambda p: p.optimiser().step((p.x[:0], p.labels[:0])), "InputError",
     "at least one sample"),
    ("step: text", lambda p: p.optimiser().step("batch"), "InputError", r"\(X, y\).*got 'batch'"),
    ("step: singular", lambda p: fisher.NaturalGradient(p.line, "mse", damping=0.0).step((p.x * 0, p.y)),
     "SingularCurvature", "step 0 of NaturalGradient.*Give `damping`"),
    ("other state", lambda p: p.optimiser().load_state_dict({"a": 1}), "InputError",
     "a state of NaturalGradient"),
    ("one sample, no variance",
     lambda p: fisher.VarianceAdaptedSGD(p.net, "cross_entropy").step((p.x[:1], p.labels[:1])), "InputError",
     "at least two samples, got 1.*no variance"),
    ("compare 2 with 3", lambda p: fisher.compare(torch.eye(2), torch.eye(3), torch.ones(2)), "InputError",
     r"`second`: expected shape \(2, 2\), got shape \(3, 3\)"),
    ("compare words", lambda p: fisher.compare("F", torch.eye(2), torch.ones(2)), "InputError",
     "a square matrix, or an object with `shape` and `@`"),
    ("spectrum k", lambda p: fisher.spectrum(torch.eye(3), k=0), "InputError", "`k`.*from 1 to 3, got 0"),
    ("spectrum which", lambda p: fisher.spectrum(torch.eye(3), 1, "middle"), "InputError",
     "'largest', 'smallest'"),
    ("spectrum of no symmetric matrix", lambda p: fisher.spectrum(torch.arange(9.0).reshape(3, 3), k=1),
     "InputError", "a symmetric matrix, got one that is not"),
    ("trace method", lambda p: fisher.trace_estimate(torch.eye(3), "monte"), "InputError",
     r"'hutch\+\+', 'hutch"),
    ("step of another model",
     lambda p: fisher.decrease(p.net, (p.x, p.labels), torch.ones(3), p.curvature, loss="cross_entropy"),
     "InputError", r"`step`: expected shape \(26,\), got shape \(3,\)"),
    ("data set", lambda p: fisher.logistic_set("C"), "InputError",
     "`which`: expected one of 'correct', 'A', 'B'"),
    ("table", lambda p: fisher.table_problem("iris"), "InputError", "one of 'breast_cancer'.*got 'iris'"),
    ("CSV: none", lambda p: fisher.read_table(p.folder / "t.csv"), "MissingData",
     "no file.*path of a CSV file, or"),
    ("CSV: folder", lambda p: fisher.read_table(p.dir()), "MissingData", "no file.*path of a CSV file"),
    ("CSV: empty", lambda p: fisher.read_table(p.file("t.csv")), "InputError",
     "cannot be read as CSV.*Save it"),
    ("CSV: binary", lambda p: fisher.read_table(p.file("t.csv", b"\xff\xfe")), "InputError",
     "Save it again.*UTF-8"),
    ("CSV: header", lambda p: fisher.read_table(p.file("t.csv", "a,b\n")), "InputError",
     "three rows or more, got 0"),
    ("CSV: one column", lambda p: fisher.read_table(p.file("t.csv", "a\n1\n2\n")), "InputError", "by commas"),
    ("noise -1", lambda p: fisher.vector_field_problem(noise=-1), "InputError",
     "`noise`.*at least 0, got -1"),
    ("explorer: noise", lambda p: fisher.Scene(noise=NAN), "InputError", "`noise`: expected a finite number"),
    ("experiment: scale", lambda p: fisher.compare_optimisers("huge", folder=p.folder), "InputError",
     "small, full"),
    ("no loss", lambda p: p.fisher(loss=None), "InputError",
     "`loss`: expected the loss of the model.*Say loss='mse'"),
    ("device", lambda p: p.fisher(device="gpu:9"), "InputError",
     "a device of this machine such as 'cpu', got 'gpu:9'"),
    ("load: folder", lambda p: fisher.Curvature.load(p.dir()), "InputError",
     "a file, got the folder.*Name a file"),
    ("solve: no function", lambda p: fisher.conjugate_gradient(3, p.y[:, 0]), "InputError",
     "from v to A v, got 3.*__mat"),
    ("solve: list", lambda p: fisher.conjugate_gradient(abs, [1.0]), "InputError",
     r"a tensor of shape \(p,\), got list"),
    ("solve: NaN", lambda p: fisher.conjugate_gradient(abs, spoilt(p.y[:, 0])), "InputError",
     "`b`: expected finite"),
    ("solve: short", lambda p: fisher.conjugate_gradient(lambda v: v[:1], p.y[:, 0]), "InputError",
     r"shape \(6,\), got"),
    ("sizes: a number", lambda p: fisher.error_curve("A", 100, [0]), "InputError",
     "`sizes`: expected a list with something in it, got 100"),
    ("hidden units", lambda p: fisher.training_problem("network", hidden=1.5), "InputError",
     "`hidden`: expected an integer.*got 1.5"),
    ("generator: a number", lambda p: fisher.trace_estimate(torch.eye(3), generator=3), "InputError",
     r"`generator`: expected a torch\.Generator, got 3"),
    ("classes that do not overlap",
     lambda p: fisher.logistic_optimum(np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])),
     "InputError", "classes that overlap"),
    ("labels of minus one", lambda p: fisher.logistic_optimum(np.ones((2, 1)), np.array([-1, 1])),
     "InputError", "labels 0 and 1, both of them"),
    ("data set: seed", lambda p: fisher.logistic_set("A", seed=-1), "InputError",
     "`seed`: expected an integer from 0.*got -1"),
    ("table: clip", lambda p: fisher.table_problem("wine", clip=-1), "InputError", "`clip`.*got -1"),
    ("table: weights", lambda p: fisher.table_problem("wine").loss(torch.zeros(2)), "InputError",
     r"`theta`: expected shape.*got shape \(2,\)"),
    ("matrix of NaN",
     lambda p: fisher.adaptation_error(torch.full((2, 2), NAN), torch.eye(2), torch.eye(2)),
     "InputError", "`matrix`: expected finite numbers"),
    ("mean as a list", lambda p: fisher.variance_adaptation([1.0], torch.ones(1)), "InputError",
     "`mean`: expected a tensor, got list"),
    ("no runs", lambda p: fisher.plot_interpolation([]), "InputError", "`runs`: expected at least one run"),
    ("parameter in two groups",
     lambda p: p.optimiser(params=[{"params": [p.net[0].weight]}, {"params": [p.net[0].weight]}]),
     "InputError", "each parameter in one group, got 0.weight twice"),
    ("inputs of another width", lambda p: p.fisher(x=p.x[:, :2]), "InputError",
     r"`X`: expected inputs that the model takes.*\(6, 2\)"),
    ("step from words", lambda p: fisher.two_point_descent("far"), "InputError",
     "`theta`: expected numbers, got 'far'"),
]

HEADS = [
    ("family", lambda p: heads.tiny_model("brt"), "InputError", "one of 'bert'.*Did you mean 'bert'"),
    ("no transformers", lambda p: p.without("transformers") and heads.tiny_model("bert"), "MissingData",
     r"needs transformers: pip install 'methodbook\[heads\]'"),
    ("no model", lambda p: heads.HeadView("bert"), "InputError",
     "`model`: expected a torch module, got 'bert'"),
    ("no attention", lambda p: heads.HeadView(p.net), "UnsupportedAttention",
     "no attention module.*register_adapter"),
    ("adapter", lambda p: heads.HeadView(p.view.model, "hf"), "InputError",
     "'auto' or a function of a module"),
    ("adapter finds nothing", lambda p: heads.HeadView(p.view.model, lambda module: None),
     "UnsupportedAttention", "cannot find query, key, value.*register_adapter"),
    ("register a word", lambda p: heads.register_adapter("Linear", print), "InputError",
     "`kind`: expected a class"),
    ("register no function", lambda p: heads.register_adapter(nn.Linear, 3), "InputError",
     "`function`: expected"),
    ("mask layer 9", lambda p: p.within(heads.masked(p.view, [heads.HeadId("enc", 9, 0)])), "UnknownHead",
     "no attention layer 'enc' 9: the model has enc 0 to 1"),
    ("mask head 99", lambda p: p.within(heads.masked(p.view, [heads.HeadId("enc", 0, 99)])), "UnknownHead",
     "no head 99 in enc 0: it had heads 0 to 3"),
    ("mask head -1", lambda p: p.within(heads.masked(p.view, [heads.HeadId("enc", 0, -1)])), "UnknownHead",
     "no head -1 in enc 0"),
    ("mask a decoder's head", lambda p: p.within(heads.masked(p.view, [heads.HeadId("dec", 0, 0)])),
     "UnknownHead", "no attention layer 'dec' 0: the model has enc"),
    ("mask a number", lambda p: p.within(heads.masked(p.view, [3])), "InputError",
     r"HeadId\(kind, layer, head\), got 3"),
    ("mask a pruned head", lambda p: p.within(heads.masked(p.pruned, [FIRST])), "AlreadyPruned",
     "head enc 0.1 has been removed; left in that layer: 0, 2, 3"),
    ("context of another shape",
     lambda p: p.within(p.view.on_context(lambda site, context: context[..., :2])), "InputError",
     r"a context of shape \(2, 6, 4, 8\) or None"),
    ("context is a word", lambda p: p.within(p.view.on_context(lambda site, context: "x")), "InputError",
     "a context of shape.*got 'x'"),
    ("weights of another shape", lambda p: p.within(p.view.on_weights(lambda site, weights: weights[:, :1])),
     "InputError", r"weights of shape \(2, 4, 6, 6\) or None"),
    ("capture: layer 9", lambda p: p.within(heads.capture(p.view))["enc", 9], "UnknownHead",
     r"nothing was kept of \('enc', 9\); layers kept"),
    ("capture: no contexts kept", lambda p: p.within(heads.capture(p.view))["enc", 0].context, "InputError",
     "`context`.*context=True"),
    ("token mask of another shape",
     lambda p: heads.confidence(p.view, [p.batch], heads.TokenMask(query_valid=torch.ones(1, 2) > 0)),
     "MaskShape", r"shape \(2, 6\) for the query tokens, got \(1, 2\)"),
    ("Taylor: reduce", lambda p: heads.taylor(p.view, [p.batch], score, "max"), "InputError",
     "'token_abs'.*'max'"),
    ("Taylor: no batch", lambda p: heads.taylor(p.view, [], each_score), "InputError",
     "at least one batch, got none"),
    ("Taylor: mean loss", lambda p: heads.taylor(p.view, [p.batch], score), "InputError",
     "one loss an example.*none'"),
    ("ablation: mode", lambda p: heads.ablation(p.view, [p.batch], score, "noise"), "InputError",
     "'zero', 'mean'"),
    ("ablation: no batch", lambda p: heads.ablation(p.view, [], each_score), "InputError",
     "at least one batch"),
    ("ablation: number as loss", lambda p: heads.ablation(p.view, [p.batch], lambda model, batch: 3.0),
     "InputError", "one loss an example.*got 3.0"),
    ("relevance: rule", lambda p: heads.lrp(p.view, [p.batch], rule="z"), "InputError",
     "'eps', 'ding', 'attnlrp'"),
    ("relevance: no batch", lambda p: heads.lrp(p.view, []), "InputError",
     "one prediction to explain, got none"),
    ("relevance: no logits", lambda p: heads.lrp(p.view, [p.batch]), "InputError",
     "logits of shape.*Say by `score`"),
    ("relevance: eps 0",
     lambda p: heads.propagate_linear(torch.ones(1, 2), torch.ones(3, 2), torch.ones(1, 3), eps=0),
     "InputError", "`eps`: expected a finite positive number"),
    ("Fisher of another size",
     lambda p: heads.fisher_importance(p.view, [p.batch], lambda *args, **options: torch.ones(3)),
     "InputError", "a diagonal of 8"),
    ("99 least heads", lambda p: heads.least_important(p.view, torch.ones(2, 4), 99), "InputError",
     "from 0 to 8, got 99"),
    ("positional: boundary", lambda p: heads.positional(p.view, [p.batch], boundary="wrap"), "InputError",
     "one of 'skip', 'count', got 'wrap'"),
    ("positional: threshold 0", lambda p: heads.positional(p.view, [p.batch], threshold=0), "InputError",
     "`threshold`: expected a finite positive number, got 0"),
    ("positional: offset -1", lambda p: heads.positional(p.view, [p.batch], max_offset=-1), "InputError",
     "`max_offset`.*at least 0, got -1"),
    ("rare: -1 words", lambda p: heads.rare(p.view, [p.batch], {1: 2}, top_k=-1), "InputError",
     "`top_k`.*at least 0"),
    ("trees: none", lambda p: heads.read_conllu(p.folder / "x"), "MissingData",
     "no file.*give a CoNLL-U file, or None"),
    ("trees: folder", lambda p: heads.read_conllu(p.dir()), "MissingData", "no file.*give a CoNLL-U file"),
    ("trees: no conllu", lambda p: p.file("x") and p.without("conllu") and heads.read_conllu(p.folder / "x"),
     "MethodbookError", r"conllu, which is not installed: pip install 'methodbook\[heads\]'"),
    ("roles: none", lambda p: heads.HeadRoles.load(p.folder / "r"), "MissingData", "no file"),
    ("roles: another file", lambda p: heads.HeadRoles.load(p.file("r", "{}")), "StateError",
     "no table.*`save`"),
    ("prune head 99", lambda p: heads.prune_heads(p.view, [FIRST, heads.HeadId("enc", 0, 99)]), "UnknownHead",
     "no head 99 in enc 0: it had heads 0 to 3"),
    ("prune twice", lambda p: heads.prune_heads(p.pruned, [FIRST]), "AlreadyPruned",
     "has been removed; left"),
    ("prune a number", lambda p: heads.prune_heads(p.view, [0]), "InputError",
     r"HeadId\(kind, layer, head\), got 0"),
    ("prune: gqa", lambda p: heads.prune_heads(p.view, [FIRST], "merge"), "InputError",
     "'error', 'group', 'balanced'"),
    ("prune one of a group", lambda p: heads.prune_heads(p.family("llama"), [heads.HeadId("dec", 0, 0)]),
     "GQAConstraint", "share a key head.*Remove whole groups.*gqa='expand'"),
    ("prune: length 0", lambda p: heads.prune_heads(p.view, [FIRST], length=0), "InputError",
     "`length`.*got 0"),
    ("prune: fraction 0", lambda p: heads.iterative_prune(p.view, lambda view: torch.ones(2, 4), 0),
     "InputError", "`fraction`: expected a number above 0 and at most 1"),
    ("prune: scores of another shape", lambda p: heads.iterative_prune(p.view, lambda view: torch.ones(3)),
     "InputError", r"`score`: expected shape \(2, 4\)"),
    ("save over a file", lambda p: heads.save_pruned(p.view, p.file("f")), "StorageError",
     "cannot write.*choose"),
    ("load: none", lambda p: p.load(p.folder / "no"), "MissingData", "no head_map.json.*`save_pruned`"),
    ("load: file", lambda p: p.load(p.file("f")), "MissingData", "no head_map.json.*`save_pruned`"),
    ("load: empty folder", lambda p: p.load(p.dir()), "MissingData", "no head_map.json.*`save_pruned`"),
    ("load: no weights", lambda p: p.load(p.saved(cut_file("*.safetensors"))), "MissingData",
     "copy the whole folder"),
    ("load: other weights", lambda p: p.load(p.saved(cut_file("*.safetensors", "x"))), "StateError",
     "damaged, or mixed"),
    ("load: torn map", lambda p: p.load(p.saved(cut_file("*.json", "{"))), "StateError",
     "not JSON.*Restore it"),
    ("load: format", lambda p: p.load(p.saved(cut_file("*.json", '{"format": 9}'))), "StateError",
     "format 9, this ver"),
    ("load: no module", lambda p: p.load(p.saved(), lambda: 3), "InputError",
     "something that makes a BertModel, got 3"),
    ("load: another model", lambda p: p.load(p.saved(), lambda: heads.tiny_model("gpt2")), "InputError",
     "`model_class`: expected a layer with kind enc.*Give the class"),
    ("speed: no rounds", lambda p: heads.speed(p.view, p.view, {6: p.batch}, 0), "InputError",
     "`rounds`.*at least 1"),
    ("speed: no batch", lambda p: heads.speed(p.view, p.view, {}), "InputError", r"\{length: batch\}"),
    ("gates: none", lambda p: heads.HardConcrete(0), "InputError", "`n`: expected an integer of at least 1"),
    ("gates: beta", lambda p: heads.HardConcrete(3, beta=0), "InputError",
     "`beta`: expected a finite positive"),
    ("gates: gamma", lambda p: heads.HardConcrete(3, gamma=0.1), "InputError",
     "`gamma`: expected a number below 0"),
    ("gates: start", lambda p: heads.HardConcrete(3, init_log_alpha="up"), "InputError",
     "a finite number or 'glorot'"),
    ("gates: kind", lambda p: heads.attach_gates(p.view, ("encoder",)), "InputError", "Did you mean 'enc'"),
    ("gates: no such layers", lambda p: heads.attach_gates(p.view, ("dec",)), "InputError",
     "the model has, got dec"),
    ("gates: rule", lambda p: heads.open_gates(torch.ones(3), "half"), "InputError",
     "'majority', 'eval_nonzero'"),
    ("gates: top 9", lambda p: heads.open_gates(torch.ones(3), "topk", 9), "InputError",
     "`k`.*from 0 to 3, got 9"),
    ("gates: price and target", lambda p: p.gates(target_heads=2), "InputError",
     "either `lam` or `target_heads`"),
    ("gates: price", lambda p: p.gates(lam=-0.1), "InputError",
     "`lam`: expected a finite number of at least 0"),
    ("gates: 99 left", lambda p: p.gates(lam=None, target_heads=99), "InputError",
     "`target_heads`.*from 0 to 8"),
    ("gates: train what", lambda p: p.gates(trainable=("top",)), "InputError",
     "beginnings of names such as 'embed"),
    ("sentences: -1", lambda p: heads.make_sentences(-1), "InputError",
     "`count`: expected an integer of at least 1"),
    ("width 10, 3 heads", lambda p: heads.Attention(10, 3), "InputError", "a divisor of the width 10, got 3"),
    ("3 pieces", lambda p: heads.train_pieces(["a b"], 3), "InputError", "`size`.*at least 10, got 3"),
    ("no training pairs", lambda p: heads.make_corpus({"dev": []}), "InputError",
     "expected one of 'dev', got 'train'"),
    ("BLEU of 1 and 2", lambda p: heads.score_translations(["a"], ["a", "b"]), "InputError",
     "1 and references 2"),
    ("bootstrap of 2 and 3", lambda p: heads.paired_bootstrap(np.ones((2, 3)), np.ones((3, 3))), "InputError",
     r"`second`: expected shape \(2, 3\)"),
    ("encoder: none", lambda p: heads.load_encoder(p.folder / "no"), "MissingData",
     "no model folder.*config.json"),
    ("encoder: no transformers", lambda p: p.without("transformers") and heads.load_encoder(p.folder),
     "MethodbookError", r"not installed: pip install 'methodbook\[heads\]'"),
    ("report: no text", lambda p: heads.report(p.view.model, None, []), "InputError",
     "at least one sentence, got none"),
]

ML3 = [
    ("loss of no inputs", lambda p: ml3.MetaLoss(0), "InputError",
     "`in_dim`: expected an integer of at least 1, got 0"),
    ("loss of 2.0 inputs", lambda p: ml3.MetaLoss(2.0), "InputError",
     "`in_dim`: expected an integer.*got 2.0"),
    ("loss: width 0", lambda p: ml3.MetaLoss(2, hidden=(0,)), "InputError", "`hidden`.*at least 1, got 0"),
    ("loss: activation", lambda p: ml3.MetaLoss(2, activation="gelu2"), "InputError", "Did you mean 'gelu'"),
    ("loss: output", lambda p: ml3.MetaLoss(2, output="exp"), "InputError", "'softplus', 'linear', 'square'"),
    ("loss: init", lambda p: ml3.MetaLoss(2, init="kaimin"), "InputError", "Did you mean 'kaiming'"),
    ("loss: one scale", lambda p: ml3.MetaLoss(2, in_scale=[1.0]), "InputError", "2 numbers, one a feature"),
    ("loss: inputs", lambda p: ml3.MetaLoss(2, inputs=("f", "z")), "InputError", "'x', 'f', 'y', got 'z'"),
    ("loss of nothing", lambda p: p.learned(), "InputError", "at least one tensor, got none"),
    ("loss of six numbers", lambda p: p.learned(torch.ones(3, 5), torch.ones(3, 1)), "InputError",
     r"2 numbers a sample, got 5 \+ 1 = 6. Make the loss with"),
    ("labels are real", lambda p: p.keep(ml3.ClasswiseLoss)(torch.ones(3, 2), torch.zeros(3)), "InputError",
     "integers of shape.*argmax"),
    ("two labels for three", lambda p: p.keep(ml3.ClasswiseLoss)(torch.ones(3, 2), torch.tensor([0, 1])),
     "InputError", r"integers of shape \(3,\), got int64 tensor of shape \(2,\)"),
    ("loss: save over folder", lambda p: p.learned.save(p.dir()), "StorageError", "cannot write.*intact"),
    ("loss: no file", lambda p: ml3.MetaLoss.load(p.folder / "no"), "MissingData",
     "no saved state.*check the path"),
    ("loss: torn", lambda p: ml3.MetaLoss.load(p.torn("l", p.learned.save)), "StateError",
     "damaged.*earlier one"),
    ("loss: another state",
     lambda p: ml3.MetaLoss.load(p.made("l", lambda path: core.save_state(path, {"a": 1}))), "StateError",
     "holds no learned loss.*MetaLoss.save"),
    ("features: width", lambda p: ml3.RLFeatures({"state": 0}), "InputError",
     r"widths\['state'\].*at least 1"),
    ("features: attached", lambda p: ml3.RLFeatures({"state": 2}), "InputError",
     "one of 'state', got 'action'"),
    ("features: no action", lambda p: ml3.RLFeatures({"state": 2, "action": 1}).stack(state=torch.ones(3, 2)),
     "InputError", "the parts state, action, got state"),
    ("values: word", lambda p: ml3.check_values("x", (3,)), "MetaLossTypeError",
     r"a tensor of shape \(3, 1\), got 'x'"),
    ("values: cube", lambda p: ml3.check_values(torch.ones(2, 2, 2), (3,)), "MetaLossShapeError",
     "one number per sam"),
    ("task loss", lambda p: ml3.task_loss_of("mea"), "InputError",
     "one of 'mse', 'half_mse', 'cross_entropy'"),
    ("SGD: -0.1", lambda p: ml3.SGD(-0.1), "InputError",
     "`lr`: expected a finite number of at least 0, got -0.1"),
    ("SGD: NaN", lambda p: ml3.SGD(NAN), "InputError", "`lr`.*got nan"),
    ("SGD: word", lambda p: ml3.SGD("fast"), "InputError", "`lr`: expected a finite number.*got 'fast'"),
    ("SGD: Nesterov alone", lambda p: ml3.SGD(0.1, nesterov=True), "InputError",
     "`nesterov`: expected momentum above 0"),
    ("Adam: beta 1", lambda p: ml3.Adam(0.1, betas=(0.9, 1.0)), "InputError", r"two numbers in \[0, 1\)"),
    ("Adam: eps", lambda p: ml3.Adam(0.1, eps=-1), "InputError", "`eps`: expected a finite positive number"),
    ("unroll -1 steps", lambda p: p.unroll(steps=-1), "InputError", "`steps`.*at least 0, got -1"),
    ("unroll 2.5 steps", lambda p: p.unroll(steps=2.5), "InputError",
     "`steps`: expected an integer.*got 2.5"),
    ("unroll: truncate", lambda p: p.unroll(truncate=0), "InputError", "`truncate`.*at least 1, got 0"),
    ("unroll: clip", lambda p: p.unroll(clip=-1.0), "InputError",
     "`clip`: expected a finite positive number"),
    ("unroll: list", lambda p: p.unroll(params=[torch.ones(2)]), "InputError",
     r"a dict of tensors.*named_parameters\(\)"),
    ("unroll: NaN", lambda p: p.unroll(lambda params, data: params["w"].sum(-1) * NAN), "NonFiniteError",
     "not finite at inner step 0 of task 0. Make the inner step size smaller"),
    ("unroll: constant", lambda p: p.unroll(lambda params, data: torch.ones(2)), "InputError",
     "depends on `params`, got a constant. Compute it from"),
    ("unroll: number", lambda p: p.unroll(lambda params, data: 3.0), "InputError",
     "returns a scalar tensor.*got 3.0"),
    ("no tasks", lambda p: ml3.TaskBatch(torch.ones(0, 3, 1)), "InputError",
     "at least one task and one sample"),
    ("targets of 3 tasks", lambda p: ml3.TaskBatch(torch.ones(2, 3, 1), torch.ones(3, 3, 1)), "InputError",
     "`y`: expected a tensor of 2 tasks"),
    ("array as tasks", lambda p: ml3.TaskBatch(np.ones((2, 3, 1))), "InputError",
     "a tensor.*got float64 array"),
    ("reinit", lambda p: ml3.initial_params(p.learner, 2, draws(), "new"), "InputError",
     "'each', 'xavier', 'fixed'"),
    ("no parameters", lambda p: ml3.initial_params(nn.ReLU(), 2, draws()), "InputError",
     "a module with parameters"),
    ("engine", lambda p: ml3.Forward(p.learner, "jit"), "InputError",
     "'auto', 'batched', 'vmap', 'loop', got 'jit'"),
    ("sines: no points", lambda p: ml3.SineTasks(points=0), "InputError", "`points`.*at least 1, got 0"),
    ("sines: range", lambda p: ml3.SineTasks(amplitude=(5.0, 1.0)), "InputError",
     "two finite ends, the lower first"),
    ("sines: NaN", lambda p: ml3.SineTasks(phase=(NAN, 1.0)), "InputError",
     "`phase`: expected two finite ends"),
    ("sines: 0 tasks", lambda p: p.sines.sample(0, draws()), "InputError",
     "`n`: expected an integer of at least 1"),
    ("digits: source", lambda p: ml3.DigitPairs("cifar"), "InputError",
     "one of 'sklearn', 'mnist', got 'cifar'"),
    ("digits: 1 and 1", lambda p: ml3.DigitPairs(pairs=[(1, 1)]), "InputError",
     "pairs of different digits from 0 to 9"),
    ("digits: 7 points", lambda p: ml3.DigitPairs(points=7), "InputError",
     "`points`: expected an even number, got 7"),
    ("digits: not here", lambda p: ml3.mnist_images(download=False), "MissingData",
     "not on this machine.*What helps"),
    ("arm: mass 0", lambda p: ml3.InverseDynamics2R(mass=(0.0, 1.0)), "InputError",
     "`mass`: expected a finite pos"),
    ("arrays: NaN", lambda p: tasks(value=NAN), "InputError",
     "`x`: expected finite numbers, got 6 not finite of 6"),
    ("arrays: 2-d", lambda p: tasks((3, 1), (3, 1)), "InputError", r"an array \(tasks, samples, width\)"),
    ("arrays: lengths", lambda p: tasks((2, 3, 1), (3, 3, 1)), "InputError",
     "the same length, got x 2 and y 3"),
    ("CSV: none", lambda p: ml3.read_tasks(p.folder / "t.csv"), "MissingData", "no file.*check the path"),
    ("CSV: folder", lambda p: ml3.read_tasks(p.dir()), "MissingData", "no file.*check the path"),
    ("CSV: columns", lambda p: ml3.read_tasks(p.file("t", "a,b\n1,2\n")), "InputError",
     "got a, b. Name the columns task"),
    ("CSV: words", lambda p: ml3.read_tasks(p.file("t", "task,x1,y1\na,red,1\n")), "InputError",
     "Encode words as num"),
    ("CSV: uneven tasks", lambda p: ml3.read_tasks(p.file("t", "task,x1,y1\na,1,1\na,2,2\nb,1,1\n")),
     "InputError", "as many rows in every task, got a: 2, b: 1. Cut"),
    ("CSV: gap", lambda p: ml3.read_tasks(p.file("t", "task,x1,y1\na,1,1\na,,2\n")), "InputError",
     "finite.*missing value"),
    ("split all", lambda p: tasks().split(1.5), "InputError", "tasks left to train on, got 1.5. Keep fewer"),
    ("train: list", lambda p: p.meta_train(tasks=[1, 2]), "InputError",
     r"an object with `sample\(n, generator\)`"),
    ("train: loss", lambda p: p.meta_train(task_loss="mae2"), "InputError",
     "`loss`: expected one of 'mse'.*got 'mae2'"),
    ("train: no steps", lambda p: p.meta_train(inner_steps=0), "InputError",
     "`inner_steps`.*at least 1, got 0"),
    ("train: outer", lambda p: p.meta_train(outer="lion"), "InputError",
     "one of 'adam', 'sgd', 'adamw', got 'lion'"),
    ("train: rate", lambda p: p.meta_train(outer_lr=-1), "InputError",
     "`outer_lr`: expected a finite positive"),
    ("train: no tasks", lambda p: p.meta_train(meta_batch=0), "InputError",
     "`meta_batch`.*at least 1, got 0"),
    ("train: iters 0", lambda p: p.meta_train(iters=0), "InputError",
     "`iters`: expected an integer of at least 1"),
    ("train: inner 0.1", lambda p: p.meta_train(inner=0.1), "InputError",
     r"an inner optimiser, for example SGD\(0.1\)"),
    ("train: weights", lambda p: p.meta_train(outer_at=[1.0, 2.0]), "InputError",
     "`outer_at`: expected 1 weights"),
    ("train: no query", lambda p: p.meta_train(query=True), "InputError",
     "`query`.*Give `query_x`.*or say query=False"),
    ("train: seed", lambda p: p.meta_train(seed=0.5), "InputError",
     "`seed`: expected an integer of at least 0, got 0.5"),
    ("train: clip", lambda p: p.meta_train(grad_clip=-1.0), "InputError",
     "`grad_clip`: expected a finite positive"),
    ("train: loss of many numbers", lambda p: p.meta_train(task_loss=lambda f, y: torch.ones(7)),
     "InputError", "a scalar tensor for one task.*Take the mean"),
    ("train: NaN in a task",
     lambda p: p.meta_train(tasks=ml3.TaskBatch(torch.full((2, 3, 1), NAN), torch.ones(2, 3, 1))),
     "NonFiniteError", "outer iteration 0.*task 0.*on_nonfinite='skip'"),
    ("train: in a file", lambda p: p.meta_train(folder=p.file("f")), "StorageError",
     "cannot write.*choose a folder"),
    ("test: steps", lambda p: p.meta_test(steps=-1), "InputError", "`steps`.*at least 0, got -1"),
    ("test: baseline", lambda p: p.meta_test(baselines=("maml2",)), "InputError",
     "'task', 'task_lr_grid', 'norm_matched'"),
    ("test: no seeds", lambda p: p.meta_test(seeds=()), "InputError", "at least one seed, got none"),
    ("test: no rates", lambda p: p.meta_test(lr_grid=[]), "InputError", "at least one step size, got none"),
    ("MAML: iters 0", lambda p: ml3.train_maml(p.learner, p.sines, inner=ml3.SGD(0.1), iters=0), "InputError",
     "`iters`.*at least 1, got 0"),
    ("mass: dt 0", lambda p: ml3.PointMass(dt=0), "InputError",
     "`dt`: expected a finite positive number, got 0"),
    ("car", lambda p: ml3.SwingCar("hard"), "InputError", "one of 'clip', 'straight', got 'hard'"),
    ("rollout: state of 3",
     lambda p: ml3.rollout(ml3.PointMass(), lambda state: state[..., :2], torch.zeros(1, 3), 2), "InputError",
     "`start`: expected states of width 4"),
    ("trajectory: too many actions", lambda p: ml3.Trajectory(torch.ones(1, 4, 2), torch.ones(1, 4, 2)),
     "InputError", "3 steps, one less than states"),
    ("control: horizon", lambda p: p.control(horizon=0), "InputError", "`horizon`.*at least 1, got 0"),
    ("goals: radius", lambda p: ml3.GoalReach(radius=(1.0, 0.3)), "InputError",
     "two distances, the nearer first"),
    ("iLQR: umax", lambda p: quadratic(umax=-1), "InputError", "`umax`: expected a finite positive number"),
    ("iLQR: NaN", lambda p: quadratic().solve(torch.full((4,), NAN), 3), "InputError",
     "`x0`: expected finite numbers"),
    ("gym: id", lambda p: ml3.GymAdapter("Nonsense-v0"), "GymError",
     "Nonsense-v0 cannot be made.*doesn't exist"),
    ("gym: discrete", lambda p: ml3.GymAdapter("CartPole-v1"), "InputError",
     "an environment with continuous actions"),
    ("gym: none", lambda p: ml3.GymAdapter("Pendulum-v1", num_envs=0), "InputError",
     "`num_envs`.*at least 1"),
    ("gym: not installed", lambda p: p.without("gymnasium") and ml3.GymAdapter("Pendulum-v1"), "GymError",
     r"need gymnasium: pip install 'methodbook\[ml3\]'"),
    ("dynamics: not fitted",
     lambda p: p.build(lambda: ml3.LearnedDynamics(2, 1)).step(torch.zeros(1, 2), torch.zeros(1, 1)),
     "InputError", "a fitted ensemble.*Call `fit` first"),
    ("discount 1.5", lambda p: ml3.advantages(torch.ones(3, 4), gamma=1.5), "InputError",
     "from 0 to 1, got 1.5"),
    ("std 0", lambda p: ml3.log_prob(torch.ones(2, 1), torch.ones(2, 1), 0.0), "InputError",
     "`std`: expected a finite"),
    ("waypoint of one number", lambda p: ml3.waypoint_loss(p.control(), (0.0,), steps=1), "InputError",
     "2 numbers, one for each entry"),
    ("view: no snapshot", lambda p: ml3.SineView({}), "InputError",
     "`snapshots`: expected at least one loss"),
    ("view: iteration", lambda p: ml3.SineView({0: p.learned}, iteration=7), "InputError",
     r"one of \[0\], got 7"),
    ("experiment", lambda p: ml3.run_experiment("sines", folder=p.folder), "InputError",
     "Did you mean 'sine'"),
    ("loss: folder", lambda p: ml3.MetaLoss.load(p.dir()), "InputError",
     "a file, got the folder.*Name a file in it"),
    ("policy of NaN", lambda p: diverged(p.control(), p.keep(lambda: ml3.MetaLoss(8, hidden=(4,)))),
     "NonFiniteError", "inner step 0 of task 0"),
]

DREX = [
    ("episode: no step", lambda p: episode(obs=np.zeros((1, 2)), acts=np.zeros((0, 2))), "EmptyDemosError",
     "at least one step, got none. Leave this episode out"),
    ("episode: lengths", lambda p: episode(obs=np.zeros((9, 2))), "LengthMismatch",
     "expected 13 for 12 acts.*from_legacy"),
    ("episode: rewards", lambda p: episode(rews=np.zeros(5)), "LengthMismatch",
     r"`rews`: expected shape \(12,\)"),
    ("episode: NaN", lambda p: episode(obs=np.full((13, 2), NAN)), "NonFiniteTrajectory",
     "`obs`.*26 not finite of 26"),
    ("episode: infinity", lambda p: episode(acts=np.full((12, 2), INF)), "NonFiniteTrajectory",
     "`acts`.*finite"),
    ("episode: dict", lambda p: episode(obs={"image": 1}), "NotSupported",
     "one array of numbers, got dict. Flatten it"),
    ("episode: no rewards", lambda p: episode(paid=False).total, "InputError",
     "a trajectory with rewards, got None"),
    ("layout: no actions", lambda p: drex.from_imitation({"obs": 1}), "InputError",
     "`item`: expected fields obs and acts"),
    ("layout: no last state",
     lambda p: drex.to_imitation_dict(drex.Trajectory.from_legacy(np.zeros((3, 2)), np.zeros((3, 2)))),
     "LengthMismatch", r"T\+1 observations.*final one is missing"),
    ("minari: not installed", lambda p: p.without("minari") and drex.to_minari_buffer(episode()),
     "MissingExtra", r"minari.*not installed: pip install 'methodbook\[drex\]'"),
    ("no demonstrations", lambda p: drex.Demonstrations([]), "EmptyDemosError",
     "at least one demonstration, got none"),
    ("demonstrations: 3", lambda p: drex.Demonstrations([3]), "InputError",
     "objects of class Trajectory, got 3"),
    ("demonstrations: items", lambda p: drex.Demonstrations.read([3]), "InputError",
     "fields obs and acts, got 3"),
    ("demonstrations: two shapes", lambda p: drex.Demonstrations([episode(), episode(obs=np.zeros((13, 3)))]),
     "InputError", r"`obs`: expected one shape in all demonstrations, got \[\(2,\), \(3,\)\]"),
    ("file: none", lambda p: drex.read_npz(p.folder / "no"), "MissingData",
     "no file.*`write_npz`, or check the path"),
    ("file: folder", lambda p: drex.read_npz(p.dir()), "StateError", "cannot be read.*directory"),
    ("file: text", lambda p: drex.read_npz(p.file("d", "hello")), "StateError",
     "cannot be read without unpickling, or"),
    ("file: empty", lambda p: drex.read_npz(p.file("d")), "StateError", "cannot be read.*damaged"),
    ("file: torn", lambda p: drex.read_npz(p.torn("d.npz", lambda path: drex.write_npz(path, p.demos))),
     "StateError", "cannot be read.*damaged"),
    ("file: format 9", lambda p: drex.read_npz(p.made("d.npz", archive(format=np.array(9)))), "StateError",
     "format 9, this version reads 1"),
    ("file: another layout", lambda p: drex.read_npz(p.made("d.npz", archive(states=np.zeros(3)))),
     "StateError", "none of the known layouts; it holds states"),
    ("file: pickle",
     lambda p: drex.read_npz(p.made("d.npz", archive(obs_0=np.array([{1: 2}], dtype=object)))), "StateError",
     "without unpickling"),
    ("file: write over folder", lambda p: drex.write_npz(p.dir(), p.demos), "StorageError",
     "cannot write.*intact"),
    ("authors: game", lambda p: drex.authors_demonstrations("ant"), "InputError",
     "one of 'hopper', 'halfcheetah'"),
    ("authors: not here", lambda p: drex.authors_demonstrations("hopper", download=False), "MissingData",
     "not on this machine.*What helps"),
    ("fit: states", lambda p: drex.fit_to(p.demos, drex.Chain(2, 5)), "InputError",
     r"observations of shape \(1,\), got"),
    ("fit: action 7",
     lambda p: drex.fit_to(drex.Demonstrations([episode(0, 3, obs=np.zeros((4, 1)), acts=SEVEN)]), FOUR),
     "ActionSpaceMismatch", r"integers in 0\.\.3, got.*to 7"),
    ("clone: updates", lambda p: drex.BehaviorCloning(drex.PointRun(), updates=0), "InputError",
     "`updates`.*least 1"),
    ("clone: lr", lambda p: drex.BehaviorCloning(drex.PointRun(), lr=-1), "InputError",
     "`lr`: expected a finite posit"),
    ("clone: batch", lambda p: drex.BehaviorCloning(drex.PointRun(), batch=2.5), "InputError",
     "`batch`.*an integer"),
    ("clone: states", lambda p: drex.BehaviorCloning(drex.PointRun(), (4,)).fit(p.demos), "InputError",
     r"`obs`: expected observations of shape \(3,\), got \(2,\)"),
    ("small images", lambda p: drex.nature_cnn((8, 8, 4), 2), "InputError", "images of at least 36 x 36"),
    ("noise: kind", lambda p: drex.NoiseInjection("gauss"), "InputError", "Did you mean 'gaussian'"),
    ("noise: 1.5", lambda p: drex.NoiseInjection(levels=(0.0, 1.5)), "InputError",
     r"numbers in \[0, 1\], got \(0.0, 1.5"),
    ("noise: -0.1", lambda p: drex.NoiseInjection(levels=(-0.1,)), "InputError", r"numbers in \[0, 1\]"),
    ("noise: NaN", lambda p: drex.NoiseInjection(levels=(NAN,)), "InputError",
     r"numbers in \[0, 1\], got \(nan"),
    ("noise: none", lambda p: drex.NoiseInjection(levels=()), "InputError", "one or more numbers"),
    ("noise: no rollouts", lambda p: drex.NoiseInjection(rollouts_per_level=0), "InputError",
     "`rollouts_per_level`.*got 0"),
    ("rollouts: seed", lambda p: drex.rollouts(drex.PointRun, zeros, [0.5], 0.5), "InputError",
     "`seed`.*got 0.5"),
    ("rollouts: kind", lambda p: drex.rollouts(drex.PointRun, zeros, [0.5], 0, kind="x"), "InputError",
     "'epsilon', 'gau"),
    ("rollouts: walk of discrete actions",
     lambda p: drex.rollouts(drex.Chain, lambda obs: np.zeros(len(obs), int), [0.5], 0, kind="ou"),
     "InputError", "'epsilon' for discrete actions, got 'ou'"),
    ("rollouts: NaN actions", lambda p: drex.rollouts(drex.PointRun, lambda obs: zeros(obs) * NAN, [0.0], 0),
     "NonFiniteTrajectory", "not finite of"),
    ("snippet 0", lambda p: groups([0, 1, 2], snippet=0), "InputError",
     "`snippet`: expected an integer of at least 1"),
    ("snippet 100", lambda p: groups([0, 1, 2], snippet=100), "SnippetTooLong",
     "shortest trajectory's 12.*Take shorter"),
    ("stride 0", lambda p: groups([0, 1, 2], stride=0), "InputError", "`stride`.*at least 1, got 0"),
    ("two ranks for three", lambda p: groups([0, 1]), "InputError", "same length, got groups 3 and ranks 2"),
    ("equal ranks", lambda p: groups([1, 1, 1]), "NoAdmissiblePairs", "widest difference is 0"),
    ("margin 9", lambda p: groups([0, 1, 2], margin=9.0), "NoAdmissiblePairs",
     "widest difference is 2. Lower it"),
    ("returns unknown",
     lambda p: drex.from_returns([episode(0, paid=False), episode(1, paid=False)], snippet=5), "InputError",
     "a trajectory with rewards"),
    ("one score for four",
     lambda p: drex.label_accuracy(drex.from_ranks([episode(0), episode(1)], [0, 1], snippet=5), [1.0]),
     "InputError", "same length, got scores 1 and trajectories 2"),
    ("label noise 1", lambda p: drex.bradley_terry(torch.ones(2), torch.ones(2), torch.ones(2), 1.0),
     "InputError", r"`label_noise`: expected a weight in \[0, 1\)"),
    ("reward: no networks", lambda p: drex.RewardEnsemble([]), "InputError", "at least one network"),
    ("reward: frames", lambda p: drex.RewardNet((84, 84, 4), actions=2), "InputError",
     "`actions`: expected 0 for frames"),
    ("reward: updates", lambda p: p.learn_reward(updates=0), "InputError", "`updates`.*at least 1, got 0"),
    ("reward: nets", lambda p: p.learn_reward(n_nets=0), "InputError", "`n_nets`.*at least 1, got 0"),
    ("reward: lr", lambda p: p.learn_reward(lr=0), "InputError",
     "`lr`: expected a finite positive number, got 0"),
    ("reward: label noise", lambda p: p.learn_reward(label_noise=1.5), "InputError",
     "`label_noise`.*got 1.5"),
    ("reward: in a file", lambda p: p.learn_reward(folder=p.file("f")), "StorageError",
     "cannot write.*choose a folder"),
    ("reward: setting changed",
     lambda p: p.made("f", lambda path: p.learn_reward(folder=path)) and p.learn_reward(folder="f", lr=0.5),
     "ConfigMismatch", "lr: 0.001 in the folder, 0.5 now.*another folder"),
    ("reward: no file", lambda p: drex.load_reward(p.folder / "no"), "MissingData",
     "no saved state.*check the path"),
    ("reward: torn", lambda p: drex.load_reward(p.torn("r", lambda path: drex.save_reward(path, p.reward))),
     "StateError", "damaged.*earlier one"),
    ("policy: no file", lambda p: drex.Policy.load(p.folder / "no"), "MissingData",
     "no saved state.*check the path"),
    ("report: no file", lambda p: drex.DrexReport.from_json(p.folder / "no"), "MissingData", "no file"),
    ("report: torn", lambda p: drex.DrexReport.from_json(p.file("r", "{")), "StateError",
     "not JSON.*Restore it"),
    ("PPO: steps", lambda p: drex.PPOSettings(steps=0), "InputError",
     "`steps`: expected an integer of at least 1"),
    ("PPO: 1e5 steps", lambda p: drex.PPOSettings(steps=1e5), "InputError",
     "`steps`: expected an integer.*100000.0"),
    ("PPO: lr", lambda p: drex.PPOSettings(lr=0), "InputError", "`lr`: expected a finite positive number"),
    ("learned reward: cost", lambda p: drex.LearnedReward(drex.PointRun(), p.reward, ctrl_coeff=-1),
     "InputError", "`ctrl_coeff`.*at least 0, got -1"),
    ("baselines: not installed",
     lambda p: p.without("stable_baselines3") and drex.train_policy(drex.PointRun, None, drex.PPOSettings()),
     "MissingExtra", r"stable_baselines3.*pip install 'methodbook\[drex\]'"),
    ("evaluate 0", lambda p: drex.evaluate(zeros, drex.PointRun, 0), "InputError",
     "`n_episodes`.*at least 1, got 0"),
    ("drex: preset", lambda p: p.drex(preset="quick"), "InputError",
     "one of 'fast', 'mujoco_reference', got 'quick'"),
    ("drex: option", lambda p: p.drex(snipet=20), "InputError", "got 'snipet'. Did you mean 'snippet'"),
    ("drex: select", lambda p: p.drex(select="gt"), "InputError", "uses the true reward.*i_know=True"),
    ("drex: algorithm", lambda p: p.drex(rl="sac"), "InputError",
     r"'ppo' or a function \(make, reward, seed\)"),
    ("drex: seed", lambda p: p.drex(seed=0.5), "InputError",
     "`seed`: expected an integer of at least 0, got 0.5"),
    ("drex: no demonstrations", lambda p: p.drex([]), "EmptyDemosError", "at least one demonstration"),
    ("drex: no file", lambda p: p.drex(p.folder / "no.npz"), "MissingData", "no file.*check the path"),
    ("drex: other states", lambda p: p.drex(), "InputError", r"observations of shape \(3,\), got \(2,\)"),
    ("trex: two lengths", lambda p: drex.trex([episode(0, 12), episode(1, 9)], drex.PointRun, [0, 1]),
     "VariableHorizonError", "got 9 to 12 steps. Wrap the environment.*allow_variable_horizon=True"),
    ("trex: three ranks", lambda p: drex.trex([episode(0), episode(1)], drex.PointRun, [0, 1, 2]),
     "InputError", "same length, got trajectories 2 and ranks 3"),
    ("horizon 0", lambda p: drex.FixedHorizon(drex.PointRun(), 0), "InputError",
     "`horizon`.*at least 1, got 0"),
    ("absorb", lambda p: drex.FixedHorizon(drex.PointRun(), 5, "none"), "InputError",
     "'repeat', 'zero', got 'none'"),
    ("grid of one", lambda p: drex.ColorGrid(size=1), "InputError",
     "`size`: expected an integer of at least 2"),
    ("action 5 of 2", lambda p: drex.as_probabilities(np.array([0, 5]), 2), "InputError",
     r"actions in 0\.\.1"),
    ("not all of it", lambda p: drex.as_probabilities(np.array([[0.5, 0.4]]), 2), "InputError",
     "that sum to one"),
    ("discount 1", lambda p: drex.state_visits(UNIFORM, np.array([0, 1]), 1.0, np.array([0.5, 0.5])),
     "InputError", r"a discount in \[0, 1\), got 1.0"),
    ("reward of three states", lambda p: drex.value_iteration(UNIFORM, np.ones(3), 0.9), "InputError",
     r"shape \(..., S, A, S\)"),
    ("three weights", lambda p: choice((0.5, 0.4, 0.1)), "InputError", "2 numbers, one a feature"),
    ("no trials", lambda p: drex.random_trial(0), "InputError", "`count`: expected an integer of at least 1"),
    ("pairs", lambda p: drex.order_halfspaces(np.ones((3, 2)), "some"), "InputError",
     "one of 'adjacent', 'all'"),
    ("one dimension", lambda p: drex.halfspace_volume(3, 1), "InputError", "`dimension`.*at least 2, got 1"),
    ("share 1.5", lambda p: drex.halfspaces_needed(1.5), "InputError", "a share between 0 and 1, got 1.5"),
    ("explorer: noise 2", lambda p: drex.GridScene(noise=2.0), "InputError",
     "a level from 0.02 to 1, got 2.0"),
    ("explorer: snippet", lambda p: drex.GridScene(snippet=100), "InputError", "1 to 60 states, got 100"),
    ("experiment", lambda p: drex.run_experiment("walker", 0), "InputError",
     "one of 'pointrun'.*got 'walker'"),
    ("game", lambda p: drex.blank_score(np.zeros((84, 84)), "Pitfall"), "InputError",
     "Did you mean 'VideoPinball'"),
    ("frames", lambda p: drex.preprocess(np.zeros((9, 9)), "Breakout"), "InputError",
     r"expected \(..., 84, 84\).*shrink"),
    ("judge: updates", lambda p: drex.Discriminator(p.demos, drex.PointRun().action_space, updates=0),
     "InputError", "`updates`.*at least 1, got 0"),
    ("reward: folder", lambda p: drex.load_reward(p.dir()), "InputError",
     "a file, got the folder.*Name a file in it"),
]

BENCH = [
    ("survey: kind", lambda p: bench.load_catalogue("software"), "InputError",
     "one of 'frameworks', 'hardware'"),
    ("survey: edition", lambda p: bench.load_catalogue("hardware", "v9"), "EditionUnavailable",
     r"got 'v9'.*`editions\(\)`"),
    ("survey: day", lambda p: bench.load_catalogue("hardware", as_of="now"), "InputError",
     "a day like.*got 'now'"),
    ("survey: too early", lambda p: bench.load_catalogue("hardware", as_of="1999-01-01"),
     "EditionUnavailable", "from 2019-07-09 on"),
    ("survey: prefer", lambda p: bench.load_catalogue("hardware", prefer="hearsay"), "InputError",
     "'table', 'text'"),
    ("entity", lambda p: p.survey.select(entities=["GPX"]), "UnknownEntity", "got 'GPX'.*'GPU'"),
    ("metric", lambda p: p.survey.select(metrics=["sped"]), "UnknownMetric",
     "got 'sped'. Known: performance"),
    ("compare one", lambda p: p.survey.compare(), "InputError", "at least two names, got 0"),
    ("compare with none", lambda p: p.survey.compare("gpu", "abacus"), "UnknownEntity",
     "got 'abacus'. Known: ASIC"),
    ("query", lambda p: p.survey.query(speed__gt=3), "UnknownMetric", "got 'speed'. Known: performance"),
    ("catalogue: columns", lambda p: bench.read_catalogue(p.file("c.csv", "a,b\n1,2\n"), "hardware"),
     "InputError", "the columns entity, metric, raw.*got no entity"),
    ("criteria", lambda p: bench.DecisionMatrix(p.survey, ["sped"]), "UnknownMetric", "got 'sped'. Known"),
    ("weights of a stranger", lambda p: p.matrix.reweighted({"speed": 1}), "UnknownMetric",
     "criteria among.*got 'speed'"),
    ("missing how", lambda p: bench.DecisionMatrix(p.survey, missing="guess"), "InputError",
     "'error', 'drop', 'worst'"),
    ("NaN cell", lambda p: decide(np.where(MARKS == 1, NAN, MARKS)), "InputError",
     "a value in every cell.*missing='drop'"),
    ("one row", lambda p: decide(MARKS[0]), "InputError", r"a table \(m, k\)"),
    ("no rows", lambda p: decide(MARKS[:0]), "InputError", "at least one cell"),
    ("two directions", lambda p: decide(polarity=(1, 1)), "InputError", "3 items, as `values` has, got 2"),
    ("direction 0", lambda p: decide(polarity=(1, 0, 1)), "PolarityMissing",
     r"\+1 or -1, got 0. Say which way"),
    ("zero weights", lambda p: decide(weights=[0, 0, 0]), "WeightError", "at least 0, not all 0"),
    ("negative weights", lambda p: decide(weights=[1, -1, 1]), "WeightError", "finite numbers of at least 0"),
    ("NaN weights", lambda p: decide(weights=[1, NAN, 1]), "WeightError", "finite numbers of at least 0"),
    ("two weights", lambda p: decide(weights=[1, 1]), "InputError",
     "same length, got weights 2 and criteria 3"),
    ("two names", lambda p: decide(entities=["a", "b"]), "InputError", "`entities`: expected 3 items"),
    ("normalise", lambda p: decide(normalise="softmax"), "InputError", "'none', 'minmax', got 'softmax'"),
    ("rank method", lambda p: p.matrix.rank("ahp"), "InputError",
     "'wsm', 'wpm', 'topsis', 'borda', got 'ahp'"),
    ("no draws", lambda p: p.matrix.acceptability(n=0), "InputError",
     "`n`: expected an integer of at least 1"),
    ("alpha", lambda p: p.matrix.acceptability(alpha=-1), "InputError",
     "`alpha`: expected a finite positive number"),
    ("radar", lambda p: bench.radar(p.matrix, ["z"]), "InputError", "`entities`: expected one of 'entity 1'"),
    ("plan: workload", lambda p: bench.Plan(workloads="gpt5"), "InputError",
     "'mlp', 'cnn', 'transformer', got 'gpt5'"),
    ("plan: library", lambda p: bench.Plan(arms="torhc"), "InputError", "Did you mean 'torch'"),
    ("plan: launches", lambda p: bench.Plan(launches=0), "InputError", "`launches`.*at least 1, got 0"),
    ("plan: rounds", lambda p: bench.Plan(rounds=0), "InputError", "`rounds`.*at least 1, got 0"),
    ("plan: block", lambda p: bench.Plan(block_ms=-1), "InputError",
     "`block_ms`: expected a finite positive number"),
    ("plan: target", lambda p: bench.Plan(target=NAN), "InputError", "`target`.*got nan"),
    ("plan: budget", lambda p: bench.Plan(budget_s=0), "InputError",
     "`budget_s`: expected a finite positive number"),
    ("plan: setting", lambda p: bench.load_plan({"workload": "mlp"}), "InputError",
     "Did you mean 'workloads'"),
    ("library", lambda p: bench.adapter("torhc"), "InputError", "Did you mean 'torch'"),
    ("library without a mode", lambda p: bench.adapter("sklearn").check(bench.workload("cnn"), "fwd", "cpu"),
     "Unsupported", "sklearn does not do cnn/fwd on cpu"),
    ("library without a device", lambda p: bench.adapter("numpy").check(bench.workload("mlp"), "fwd", "cuda"),
     "Unsupported", "numpy does not do mlp/fwd on cuda"),
    ("workload", lambda p: bench.workload("resnet"), "InputError", "one of 'mlp', 'cnn', 'transformer'"),
    ("batch 0", lambda p: bench.draw_inputs(bench.workload("mlp"), 0), "InputError",
     "`batch`.*at least 1, got 0"),
    ("other answer", lambda p: bench.check_parity([np.zeros(2)], [np.ones(2)]), "ParityError",
     "beyond rtol.*not timed"),
    ("NaN answer", lambda p: bench.check_parity([np.array([NAN])], [np.ones(1)]), "ParityError",
     "beyond rtol"),
    ("other shape", lambda p: bench.check_parity([np.zeros(2)], [np.zeros(3)]), "ParityError",
     r"shapes \[\(3,\)\], got"),
    ("records: none", lambda p: bench.read(p.folder / "r.jsonl"), "MissingData",
     "'r.jsonl', which is not there"),
    ("records: text", lambda p: bench.read(p.file("r.jsonl", "hello\nworld\n")), "SchemaError",
     "line 1: expected a JSON object, got 'hello'"),
    ("records: schema 99", lambda p: bench.read(p.file("r.jsonl", '{"record": "run", "schema": 99}\n')),
     "SchemaError", "got 99. Read the file with the version"),
    ("records: kind", lambda p: p.records.of("holiday"), "InputError",
     "one of run, env, probe.*got 'holiday'"),
    ("compare: arm", lambda p: bench.compare(p.records, "torhc"), "InputError", "Did you mean 'torch'"),
    ("compare: effect", lambda p: bench.compare(p.records, "torch", "numpy", min_effect=-1), "InputError",
     "`min_effect`: expected a finite positive number"),
    ("compare: machines", lambda p: bench.compare(p.records, simulated(machine="other")), "IncomparableError",
     "records of machine other, got made-up.*any_machine=True"),
    ("side by side: one", lambda p: bench.side_by_side({"a": print}), "InputError",
     "at least two callables by label"),
    ("side by side: numbers", lambda p: bench.side_by_side({"a": 1, "b": 2}), "InputError",
     "dict of label -> callable"),
    ("5 hits of 3", lambda p: bench.binomial_interval(5, 3), "InputError",
     "`hits`: expected an integer from 0 to 3"),
    ("interval of none", lambda p: bench.t_interval([]), "InputError", "a flat list of at least one time"),
    ("interval of NaN", lambda p: bench.t_interval([1, NAN, 2]), "InputError",
     "finite numbers, got 1 not finite of 3"),
    ("rank test of none", lambda p: bench.mann_whitney([], [1.0]), "InputError",
     "1 to 59 values each.*got 0 and 1"),
    ("sign test of none", lambda p: bench.sign_flip([]), "InputError", "a flat list of numbers"),
    ("pairs of 3 and 2", lambda p: bench.contrast([1.0, 2.0, 3.0], [1.0, 2.0], paired=True), "InputError",
     "3 launches, one a pair, got 2"),
    ("negative time", lambda p: bench.contrast([1.0, -2.0, 3.0], [1.0, 2.0, 3.0], paired=True), "InputError",
     "times above zero, got a smallest value of -2"),
    ("effect -0.1", lambda p: bench.judge(contrasts(), min_effect=-0.1), "InputError",
     "`min_effect`.*got -0.1"),
    ("99th of 1", lambda p: bench.percentile([1.0], 99), "InputError",
     "between 0 and 1, got 99. Write 0.99, not 99"),
    ("percentile of none", lambda p: bench.percentile([], 0.5), "InputError", "at least one time"),
    ("mean of zero", lambda p: bench.geometric_mean([1.0, 0.0]), "InputError", "times above zero"),
    ("Olympic mean of two", lambda p: bench.olympic_mean([1.0, 2.0]), "InputError",
     "at least 3 values, got 2"),
    ("time -1", lambda p: bench.speed_of_light(-1.0, 1.0, 1.0), "InputError",
     "`seconds`: expected a finite positive"),
    ("batches and times", lambda p: bench.batch_scaling([1, 2, 4], [1.0, 2.0]), "InputError",
     "3 times, one a batch"),
    ("one batch", lambda p: bench.batch_scaling([1], [1.0]), "InputError",
     "at least 3 batch sizes.*A line fits any two"),
    ("no single thread", lambda p: bench.thread_scaling([2, 4], [1.0, 0.5]), "InputError",
     "1 and at least one other"),
    ("roofline: seconds", lambda p: bench.measure_roofline(0), "InputError",
     "`seconds`: expected a finite positive"),
    ("threads 0", lambda p: bench.thread_environment(0), "InputError", "`threads`.*at least 1, got 0"),
    ("principle", lambda p: bench.audit(p.records).result("beauty"), "InputError",
     "one of 'P1'.*got 'beauty'"),
    ("report: ending", lambda p: bench.report(p.records).write(p.folder / "r.pdf"), "InputError",
     "ends in .md or .html"),
    ("report: baseline", lambda p: bench.report(p.records, baseline="torhc"), "InputError",
     "Did you mean 'torch'"),
    ("explorer: kind", lambda p: bench.Exploration("software"), "InputError",
     "one of 'hardware', 'frameworks'"),
    ("explorer: method", lambda p: bench.Exploration(method="ahp"), "InputError",
     "'wsm', 'wpm', 'topsis', 'borda'"),
    ("campaign: none", lambda p: bench.condense(p.folder / "no"), "MissingData",
     r"a complete run torch-0-\*.jsonl"),
    ("plan: no library", lambda p: bench.Plan(arms=()), "InputError",
     "`arms`: expected at least one value, got none"),
    ("plan: batch 0", lambda p: bench.Plan(batches=0), "InputError", "`batches`.*at least 1, got 0"),
    ("plan: batch 1.5", lambda p: bench.Plan(batches=1.5), "InputError",
     "`batches`: expected an integer.*got 1.5"),
    ("plan: threads", lambda p: bench.Plan(threads=(1, 0)), "InputError", "`threads`.*at least 1, got 0"),
    ("plan: seed", lambda p: bench.Plan(seed=0.5), "InputError", "`seed`: expected an integer.*got 0.5"),
    ("catalogue: none", lambda p: bench.read_catalogue(p.folder / "c", "x"), "MissingData",
     "no file.*path of a CSV"),
    ("catalogue: folder", lambda p: bench.read_catalogue(p.dir(), "x"), "MissingData",
     "no file.*path of a CSV"),
    ("catalogue: empty", lambda p: bench.read_catalogue(p.file("c"), "x"), "InputError",
     "a table in CSV.*Save it again"),
    ("records: folder", lambda p: bench.read(p.dir()), "InputError", "got the folder.*Name a file in it"),
    ("records: no gzip", lambda p: bench.read(p.file("r.gz", "text")), "SchemaError",
     "r.gz: expected a gzip file.*Name"),
    ("records: new kind", lambda p: bench.RecordWriter(p.folder / "r").write({"kind": "x"}), "InputError",
     "Its kind is one"),
    ("an arm with itself", lambda p: bench.compare(p.records, "torch", "torch"), "InputError",
     "`candidate`: expected another arm than the baseline, got 'torch'"),
    ("compare: a number", lambda p: bench.compare(p.records, 5), "InputError",
     "an arm, or the Records of an older run, got 5"),
    ("compare: file name", lambda p: bench.compare("run.jsonl", "torch"), "InputError",
     "`records`: expected Records.*got 'run.jsonl'"),
    ("campaign: name", lambda p: bench.campaign("mlp", "torch", p.folder), "InputError",
     "`plan`: expected a Plan, got 'mlp'. See `Plan`"),
    ("level 95", lambda p: bench.binomial_interval(1, 2, level=95), "InputError", "Write 0.95, not 95"),
    ("plan: a number", lambda p: bench.Plan(workloads=5), "InputError",
     "`workloads`: expected names, or work of your own.*got 5"),
    ("survey: another thing", lambda p: p.survey.select(entities="GPU"), "InputError",
     "`entities`: expected None or a list of names, got 'GPU'"),
]

ROWS = {"core": CORE, "fisher": FISHER, "heads": HEADS, "ml3": ML3, "drex": DREX, "bench": BENCH}

# The command line: words, exit code, what the last line of the error stream must say.

COMMANDS = [
    ("unknown command", lambda p: ["nonsense"], 2,
     "invalid choice: 'nonsense' .choose from 'tour', 'claims'"),
    ("no command", lambda p: [], 2, "exit codes|usage|nothing could be measured"),
    ("unknown option", lambda p: ["claims", "--frmt", "csv"], 2, "unrecognized arguments: --frmt csv"),
    ("unknown format", lambda p: ["claims", "--format", "pdf"], 2,
     "invalid choice: 'pdf' .choose from 'text'"),
    ("unknown row", lambda p: ["claims", "--row", "Z9"], 2, "expected one of 'H1'.*got 'Z9'"),
    ("unknown claim", lambda p: ["claims", "--row", "F1.99"], 2, "expected one of 'H1.1'.*got 'F1.99'"),
    ("chapter misspelt", lambda p: ["claims", "--chapter", "fishr"], 2, "got 'fishr'. Did you mean 'fisher'"),
    ("tour of no chapter", lambda p: ["tour", "--chapters", "fishr"], 2, "Did you mean 'fisher'"),
    ("tour into a folder", lambda p: ["tour", "--out", str(p.dir())], 2,
     "a file such as report.html, got the folder"),
    ("tour below a file", lambda p: ["tour", "--out", f"{p.file('a')}/r.html"], 2,
     "cannot be written; choose another"),
    ("reproduce nothing", lambda p: ["reproduce"], 2, "required: CHAPTER"),
    ("reproduce: chapter", lambda p: ["reproduce", "drexx"], 2, "Did you mean 'drex'"),
    ("reproduce: scale", lambda p: ["reproduce", "drex", "--scale", "huge"], 2,
     "choose from 'small', 'full'"),
    ("reproduce: seeds", lambda p: ["reproduce", "drex", "--seeds", "many"], 2,
     "a whole number, 1 or more, got 'many'"),
    ("reproduce: 0 seeds", lambda p: ["reproduce", "drex", "--seeds", "0"], 2,
     "a whole number, 1 or more, got '0'"),
    ("reproduce: record", lambda p: ["reproduce", "drex", "--record"], 2, "--record: .*add --scale full"),
    ("chapter's command", lambda p: ["fisher", "nonsense"], 2, "choose from 'figures', 'compare'"),
    ("fisher: no table", lambda p: ["fisher", "compare", "--data", "no.csv"], 3,
     "no file no.csv: give the path"),
    ("fisher: damping", lambda p: ["fisher", "compare", "--data", "wine", "--damping", "-1"], 2,
     "--damping.*positive"),
    ("fisher: figures", lambda p: ["fisher", "figures", "--out", "f", "--data", "iris"], 2,
     "invalid choice: 'iris'"),
    ("heads: no model", lambda p: ["heads", "report", "--model", "no"], 3,
     "no model came from the name 'no': .*Give a folder"),
    ("ml3: no table", lambda p: ["ml3", "train", "--csv", "no.csv"], 3, "no file no.csv: check the path"),
    ("ml3: columns", lambda p: ["ml3", "train", "--csv", str(p.file("t.csv", "a,b\n1,2\n"))], 2,
     "Name the columns task"),
    ("ml3: steps", lambda p: ["ml3", "train", "--csv", "no.csv", "--steps", "many"], 2,
     "invalid int value: 'many'"),
    ("drex: no file", lambda p: ["drex", "run", "--env", "Pendulum-v1", "--demos", "no.npz"], 3,
     "no file no.npz: .*check the path"),
    ("drex: no options", lambda p: ["drex", "run"], 2, "required: --env, --demos"),
    ("drex: environment", lambda p: ["drex", "run", "--env", "Nonsense-v9", "--demos", str(p.written)], 2,
     "--env: Environment `Nonsense` doesn't exist"),
    ("bench: no file", lambda p: ["bench", "compare", "no.jsonl"], 2, "'no.jsonl', which is not there"),
    ("bench: library", lambda p: ["bench", "run", "--arms", "torhc"], 2, "Did you mean 'torch'"),
    ("bench: plan", lambda p: ["bench", "run", str(p.file("p.json", '{"x": 1}'))], 2,
     "one of 'arms'.*got 'x'"),
    ("bench: torn", lambda p: ["bench", "principles", str(p.file("r", "a\nb\n"))], 2,
     "line 1: expected a JSON object"),
    ("bench: kind", lambda p: ["bench", "catalogue", "show", "--kind", "x"], 2,
     "choose from 'frameworks', 'hardware'"),
]

# Odd but right: what must not be refused, with what it gives.

GOOD = [
    ("seeds from a generator",
     lambda p: core.load_result(p.made("r.json", lambda path: core.save_result(
         path, {"a": 1}, config={}, seeds=(seed for seed in (3, 4)))))["seeds"], [3, 4]),
    ("numpy integers as seeds", lambda p: len(core.child_seeds(np.int64(3), np.int32(2))), 2),
    ("numpy numbers as settings", lambda p: p.run({"lr": np.float32(0.5)}, every=np.int64(3)).every, 3),
    ("unsigned integer", lambda p: core.check_integer("n", np.uint8(1), minimum=1), None),
    ("numpy float", lambda p: core.check_positive("x", np.float32(1)), None),
    ("numpy integers for draws",
     lambda p: p.fisher(kind="mc", mc_samples=np.int32(2), seed=np.int64(1)).shape, (26, 26)),
    ("labels of 32 bits", lambda p: p.fisher(y=p.labels.int()).shape, (26, 26)),
    ("a torch loss", lambda p: p.fisher(loss=nn.CrossEntropyLoss()).loss, "cross_entropy"),
    ("truth values as labels", lambda p: p.gradient(p.y > 0.5, "bce").shape, (4,)),
    ("numpy damping", lambda p: p.curvature.solve(torch.ones(26).double(), damping=np.float64(1)).shape,
     (26,)),
    ("batches of two sizes",
     lambda p: fisher.gradient(p.line, [(p.x[:1], p.y[:1]), (p.x[1:], p.y[1:])], loss="mse").shape, (4,)),
    ("plain tuple as head",
     lambda p: len(p.within(heads.masked(p.view, [("enc", np.int64(0), np.int64(1))])).heads()), 8),
    ("no heads to mask", lambda p: len(p.within(heads.masked(p.view, [])).heads()), 8),
    ("no heads to prune", lambda p: heads.prune_heads(p.view, []).heads_left, 8),
    ("batches from a generator", lambda p: heads.taylor(p.view, (b for b in [p.batch]), each_score).shape,
     (2, 4)),
    ("numpy step size", lambda p: float(ml3.SGD(np.float32(0.5)).lr), 0.5),
    ("lists as tasks", lambda p: len(ml3.from_arrays([[[1.0]], [[2.0]]], [[[1.0]], [[2.0]]])), 2),
    ("lists as an episode", lambda p: drex.Trajectory([[1], [2], [3], [4]], [0, 1, 0], [1, 2, 3]).total, 6.0),
    ("array of levels", lambda p: len(drex.NoiseInjection(levels=np.array([0.0, 0.5])).levels), 2),
    ("small integers as ranks",
     lambda p: len(drex.from_ranks([episode(0), episode(1)], np.int8([1, 0]), np.int64(5)).pairs), 1),
    ("pairs of arrays", lambda p: len(drex.Demonstrations.read([(np.zeros((3, 2)), np.zeros((3, 2)))])), 1),
    ("whole numbers as values",
     lambda p: len(decide(MARKS.astype(int), weights=np.array([1, 2, 3], np.int8)).rank("wsm")), 3),
    ("times of 32 bits", lambda p: bench.t_interval(np.array([1, 2, 3], np.float32)).launches, 3),
    ("one launch", lambda p: bench.t_interval([1.0]).low, None),
    ("numpy integers in a plan", lambda p: bench.Plan(batches=np.int64(4), launches=np.int32(3)).launches,
     (3,)),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    "A place in an empty folder, which is also the working folder; no data are on this machine."
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("METHODBOOK_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("METHODBOOK_QUIET", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is tested is the error that follows
        yield Place(tmp_path, monkeypatch)
    plt.close("all")


def _cases(rows):
    return [pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in rows]


def _all_rows():
    return [(f"{chapter}: {row[0]}", *row[1:]) for chapter, rows in ROWS.items() for row in rows]


@pytest.mark.parametrize(("act", "kind", "words"), _cases(_all_rows()))
def test_bad_input_is_refused_and_leaves_nothing_behind(place, act, kind, words):
    generators, raised = _global_generators(), None
    try:
        act(place)
    except Exception as error:  # any class: which one it must be is checked below
        raised = error
    assert raised is not None, "accepted"
    assert isinstance(raised, MethodbookError), f"raw {raised!r}"
    assert type(raised).__name__ == kind, f"{raised!r}"
    assert re.search(words, str(raised), re.DOTALL), str(raised)
    assert _global_generators() == generators, "a global generator was used"
    place.check_untouched()


@pytest.mark.parametrize(("act", "code", "words"), _cases(COMMANDS))
def test_a_wrong_command_ends_with_one_sentence(place, capsys, act, code, words):
    line = act(place)
    try:
        found = main(line)
    except SystemExit as stop:  # the way of argparse
        found = stop.code
    said = capsys.readouterr()
    assert found == code
    assert "Traceback" not in said.err
    last = said.err.strip().splitlines()[-1] if line else said.out + said.err
    assert not line or last.startswith("methodbook")
    assert re.search(words, last), said.err
    place.check_untouched()


@pytest.mark.parametrize(("act", "wanted"), _cases(GOOD))
def test_odd_but_right_input_is_taken(place, act, wanted):
    generators = _global_generators()
    assert act(place) == wanted
    assert _global_generators() == generators
    place.check_untouched()


def test_the_table_is_wide_enough():
    assert sum(map(len, ROWS.values())) >= 200
    assert all(len(rows) >= 40 for rows in ROWS.values())
    assert len(COMMANDS) >= 30
    for rows in (*ROWS.values(), COMMANDS, GOOD):
        names = [row[0] for row in rows]
        assert len(set(names)) == len(names)
