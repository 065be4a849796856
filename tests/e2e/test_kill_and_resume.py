"""Work killed with SIGKILL, at random moments and at each step of a checkpoint, ends in the same bytes.

First a plain `Run`, then the long operations of every chapter. The file is also the program that is killed.
Started by itself it reads orders from standard input, one JSON object a line, and for each forks a child that
works; so torch and the chapters are loaded once, not once a kill.
"""

import contextlib
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from tqdm import tqdm

from methodbook.bench.records import launch_table, read
from methodbook.core.runs import Run, RunBusy, load_result, load_state, read_log

CONFIG = {"seed": 0, "lr": 0.01, "hidden": 16}
TOTAL, EVERY = 60, 3


def begin():
    "A small regression with dropout: state of a module, of Adam, of a schedule and of three generators."
    torch.manual_seed(CONFIG["seed"])
    first, last = torch.nn.Linear(4, CONFIG["hidden"]), torch.nn.Linear(CONFIG["hidden"], 1)
    model = torch.nn.Sequential(first, torch.nn.Dropout(0.2), last)
    adam = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
    return {
        "model": model,
        "adam": adam,
        "schedule": torch.optim.lr_scheduler.CosineAnnealingLR(adam, TOTAL),
        "batches": torch.Generator().manual_seed(1),
        "noise": np.random.default_rng(2),
        "dropout": torch.default_generator,
        "best": (float("inf"), 0),
    }


def fit(state, index):
    x = torch.randn(32, 4, generator=state["batches"])
    y = x.prod(1) + 0.1 * torch.from_numpy(state["noise"].normal(size=32).astype(np.float32))
    loss = ((state["model"](x)[:, 0] - y) ** 2).mean()
    state["adam"].zero_grad()
    loss.backward()
    state["adam"].step()
    state["schedule"].step()
    state["best"] = min(state["best"], (loss.item(), index))
    return state, {"loss": loss.item()}


def kill_after(events):
    "Make this process kill itself before the system call number `events` among those that write the run."
    left = [events]

    def counted(call):
        def wrapper(*args, **options):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return call(*args, **options)

        return wrapper

    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    Path.unlink = counted(Path.unlink)


def plain():
    "The regression above."
    with tempfile.TemporaryDirectory() as folder:  # load what torch and safetensors load on their first use
        Run(folder, CONFIG).loop(fit, begin(), 1)
    return lambda folder, total=TOTAL: Run(folder, CONFIG, every=EVERY).loop(fit, begin(), total)


def gates():
    "heads: gates, and the model under them, with dropout."
    from methodbook.heads.attention import HeadView
    from methodbook.heads.gates import attach_gates, train_gates
    from methodbook.heads.translation import Transformer, token_loss

    def loss(model, batch):
        return token_loss(model(*batch), batch[1])

    def work(folder, steps=60):
        rng = torch.Generator().manual_seed(0)
        model = Transformer(50, 60, 32, 4, 2, 1, 32, dropout=0.1, generator=rng)
        source, target = (torch.randint(4, 50, (3, n), generator=rng) for n in (7, 5))
        options = {"steps": steps, "target_heads": 3, "folder": folder, "every": 4}
        train_gates(attach_gates(HeadView(model)), [(source, target)], loss, **options)

    return work


def translation():
    "heads: an encoder-decoder Transformer of 1,850 weights, with dropout, on pairs of made-up tokens."
    from methodbook.heads.translation import Corpus, Schedule, Transformer, train_translation

    rng = random.Random(0)
    pairs = [[[rng.randrange(4, 20) for _ in range(rng.randrange(2, 6))] for _ in "ab"] for _ in range(30)]
    corpus = Corpus({}, None, None, {"train": pairs})
    schedule = Schedule(epochs=15, batch=8, warmup=10)

    def work(folder):
        model = Transformer(20, 20, 8, 2, 1, 1, 9, generator=torch.Generator().manual_seed(0))
        train_translation(model, corpus, schedule, folder=folder, every=4)

    return work


def units():
    "heads: units of the translation experiment, each of which needs those before it and writes a result."
    import warnings

    from methodbook.heads.translation import invented_pairs, make_corpus
    from methodbook.heads.units import TranslationPlan, translation_unit

    pairs = invented_pairs(48)
    corpus = make_corpus({"train": pairs, "dev": pairs[:4], "test": pairs[4:8]}, size=60)
    layers = {"width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 1, "hidden": 9}
    plan = TranslationPlan(epochs=2, more_epochs=2, batch=16, beam=1, **layers)

    def work(folder):
        places = {"folder": Path(folder) / "results", "work": Path(folder) / "work"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the gates of so short a run are undecided
            for setting in ("base", "keep_3", "rewound_3"):
                if not (places["folder"] / f"translation_{setting}_0.json").is_file():
                    translation_unit(setting, 0, corpus, plan, **places)

    with tempfile.TemporaryDirectory() as folder:  # load what the score needs
        work(folder)
    return work


def grammar():
    "heads: the stages of the experiment on the invented language."
    import warnings

    from methodbook.heads.grammar import GrammarPlan, save_grammar_unit
    from methodbook.heads.ranking import ranking_unit

    plan = GrammarPlan(steps=4, gate_steps=4, batch=8, among=64, lams=(1e-2,), targets=(8,), tested=20)

    def work(folder):
        results, stages = Path(folder) / "results", Path(folder) / "work"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the gates of so short a run are undecided
            save_grammar_unit(0, plan, results, stages)
            ranking_unit(0, plan, results, stages, orders=2, looked=8)

    return work


def natural():
    "fisher: natural gradient with drawn labels, an average of matrices, momentum and moving damping."
    from methodbook.fisher.optimisers import NaturalGradient

    def start():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        options = {"kind": "mc", "structure": "kfac", "ema": 0.9, "momentum": 0.5, "adapt_damping": True}
        optimiser = NaturalGradient(model, "cross_entropy", lr=0.3, damping=0.1, **options)
        return {"model": model, "optimiser": optimiser, "batches": torch.Generator().manual_seed(1)}

    def step(state, index):
        x = torch.randn(16, 4, generator=state["batches"])
        return state, {"loss": state["optimiser"].step((x, x[:, :3].argmax(1)))}

    return lambda folder: Run(folder, {"seed": 0}, every=3).loop(step, start(), 40)


def comparison():
    "fisher: optimisers tuned and compared; processor times, which no run repeats, are left out."
    from methodbook.fisher.comparison import Budget, compare_optimisers

    budget = Budget({"logistic": 2}, longer={"logistic": 2}, trials=1, tuning=(7,), hidden=2)

    def work(folder):
        compare_optimisers(budget, 1, folder, resume=True, problems=("logistic",))

    return work


def reproduce():
    "fisher: `methodbook reproduce` with three of the seven files of its small scale."
    from methodbook.core.cli import main
    from methodbook.fisher import results

    every = results._jobs
    chosen = ("figure_5", "convergence", "noise")
    results._jobs = lambda scale, seeds: {name: every(scale, seeds)[name] for name in chosen}

    def work(folder):
        words = ["reproduce", "fisher", "--scale", "small", "--seeds", "1", "--resume", "--folder", folder]
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(words) == 0

    return work


def meta():
    "ml3: a learned loss."
    from methodbook.ml3.engines import TaskBatch
    from methodbook.ml3.inner import SGD
    from methodbook.ml3.loss import MetaLoss
    from methodbook.ml3.meta import meta_train

    class Sines:
        def sample(self, n, generator):
            x = 4 * torch.rand(n, 12, 1, generator=generator) - 2
            return TaskBatch(x, torch.sin(x - torch.rand(n, 1, 1, generator=generator)))

    def work(folder):
        layers = torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        loss = MetaLoss.supervised(1, hidden=(6,), generator=torch.Generator().manual_seed(0))
        options = {"inner_steps": 2, "meta_batch": 3, "iters": 40, "folder": folder, "every": 4}
        meta_train(loss, torch.nn.Sequential(*layers), Sines(), "mse", inner=SGD(0.1), **options)

    return work


def seeds():
    "ml3: an experiment on six seeds, which writes its file after each."
    from methodbook.ml3.experiments import EXPERIMENTS, run_experiment

    def experiment(seed):
        rng = torch.Generator().manual_seed(seed)
        matrix = torch.randn(40, 40, generator=rng) / 40
        for _ in range(1000):
            matrix = matrix + 1e-3 * (matrix @ matrix.T - matrix)
        return {"path": matrix[0].tolist()}

    EXPERIMENTS["car"] = experiment
    return lambda folder: run_experiment("car", 6, folder, resume=True)


def reward():
    "drex: an ensemble of rewards, with parts of the input hidden at random."
    from methodbook.core.runs import save_state, snapshot
    from methodbook.drex.environments import PointRun
    from methodbook.drex.ranking import from_returns, rollouts
    from methodbook.drex.reward import learn_reward

    rng = np.random.default_rng(1)
    episodes = rollouts(PointRun, lambda obs: rng.uniform(-1, 1, (len(obs), 2)), [0.0] * 4, 1)
    ranked = from_returns(episodes, snippet=10)
    tiny = {"n_nets": 2, "hidden": (4,), "pairs": 40, "batch": 8, "updates": 600, "input_dropout": 0.5}

    def work(folder):
        ensemble, _ = learn_reward(ranked, **tiny, early_stop=50, folder=folder)
        save_state(Path(folder) / "reward", snapshot(ensemble.nets))

    return work


def stages():
    "drex: clone, noise, reward, policy and report; the policy's training belongs to a library."
    import warnings

    from methodbook.drex.environments import PointRun, point_run_demonstrator
    from methodbook.drex.pipeline import drex
    from methodbook.drex.policy import PPOSettings
    from methodbook.drex.ranking import NoiseInjection, rollouts
    from methodbook.drex.trajectories import Demonstrations

    rng = np.random.default_rng(1)
    demos = Demonstrations(rollouts(PointRun, lambda obs: point_run_demonstrator(obs, rng), [0.0] * 2, 1))
    tiny = {
        "bc": {"updates": 20, "hidden": (8,)},
        "noise": NoiseInjection(levels=(0.0, 0.5, 1.0), rollouts_per_level=2),
        "snippet": 10,
        "reward": {"updates": 20, "pairs": 40, "hidden": (8,), "n_nets": 2},
        "ppo": PPOSettings(steps=64, n_envs=2, n_steps=32, epochs=1, warm_steps=5),
        "episodes": 3,
    }

    def work(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gates may fire in so short a run
            drex(demos, PointRun, folder=folder, **tiny)

    with tempfile.TemporaryDirectory() as folder:  # load what stable-baselines3 loads
        work(folder)
    return work


def launches():
    "bench: a plan of three launches, each of which starts processes of its own."
    from methodbook.bench.runner import Plan, run

    arms = {"arms": ("numpy",), "batches": (3,), "rounds": 2, "block_ms": 2.0, "launches": 3}
    return lambda folder: run(Plan(workloads="mlp", **arms), Path(folder) / "run.jsonl", resume=True)


def campaign():
    "bench: two files of records, a launch each, in which an arm meets its copy."
    from methodbook.bench.comparison import campaign as collect
    from methodbook.bench.runner import Plan

    plan = Plan(workloads="mlp", batches=(3,), rounds=2, block_ms=2.0, launches=1)
    return lambda folder: collect(plan, "numpy", folder, comparisons=2)


_HEADS, _FISHER, _ML3 = (gates, translation, units, grammar), (natural, comparison, reproduce), (meta, seeds)
JOBS = {job.__name__: job for job in (plain, *_HEADS, *_FISHER, *_ML3, reward, stages, launches, campaign)}


def serve():
    "Fork a child for each order; print its pid, and its exit status when it has ended."
    torch.set_num_threads(1)
    # tqdm's own lock is shared by all forks: a child killed while it holds it would stop all that come after
    tqdm.set_lock(threading.RLock())
    ready = {"plain": plain()}
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        job = order.pop("job")
        if job not in ready:
            ready[job] = JOBS[job]()
        if (pid := os.fork()) == 0:
            signal.alarm(600)  # nobody waits for a child whose test was killed: it ends by itself
            if (events := order.pop("kill_after", None)) is not None:
                kill_after(events)
            ready[job](**order)
            os._exit(0)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


class Server:
    "The process that forks the children; `start` one, `kill` it or not, and `wait` for its exit status."

    def __init__(self):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        quiet = os.environ | {"METHODBOOK_QUIET": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, __file__], env=quiet, **options)
        assert self.process.stdout.readline() == "ready\n"

    def start(self, folder, job="plain", **order):
        self.process.stdin.write(json.dumps({"folder": str(folder), "job": job, **order}) + "\n")
        self.process.stdin.flush()
        self.child = int(self.process.stdout.readline())

    def kill(self):
        with contextlib.suppress(ProcessLookupError):  # it had ended already
            os.kill(self.child, signal.SIGKILL)
        return self.wait()

    def wait(self):
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.process.stdin.close()
    server.process.wait()


def content(folder):
    "The bytes of all files, but for the day on which a result was written."
    day = re.compile(rb'"date": "[-\d]{10}"')
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): day.sub(b"", each.read_bytes()) for each in files}


def whole(server, folder, job):
    "Let `job` work in `folder` to the end; give the seconds it took."
    start = time.monotonic()
    server.start(folder, job)
    assert server.wait() == 0
    return time.monotonic() - start


def broken(server, folder, job, seconds, kills=20):
    "Yield folders in which `job` came to its end after kills at random moments, `kills` in all."
    rng, run = random.Random(0), 0
    while kills > 0:  # a run that ends before its turn is compared, and the next one takes the rest
        run += 1
        place = folder / f"run{run}"
        while True:
            server.start(place, job)
            if kills > 0:
                time.sleep(rng.uniform(0, seconds / 5))
                status = server.kill()
            else:
                status = server.wait()
            kills -= status == signal.SIGKILL
            assert status in (0, signal.SIGKILL)
            if status == 0:
                break
        yield place


def test_twenty_kills_at_random_moments_leave_no_trace(server, tmp_path):
    reference = tmp_path / "unbroken"
    seconds = whole(server, reference, "plain")
    for folder in broken(server, tmp_path, "plain", seconds):
        assert content(folder) == content(reference)
    last = load_state(reference / f"state-{TOTAL:010d}.safetensors")
    assert last["step"] == TOTAL
    assert [record["step"] for record in read_log(reference / "log.jsonl")] == list(range(TOTAL))


WORK = (*_HEADS, natural, reproduce, *_ML3, reward, stages)


@pytest.mark.parametrize("job", [job.__name__ for job in WORK])
def test_a_chapters_training_is_the_same_after_kills(server, tmp_path, job):
    reference = tmp_path / "unbroken"
    whole(server, reference, job)  # loads the chapter
    seconds = whole(server, tmp_path / "again", job)
    assert content(tmp_path / "again") == content(reference)
    for folder in broken(server, tmp_path, job, seconds):
        assert content(folder) == content(reference)


def untimed(path):
    "The numbers of a comparison without processor times."
    drop = {"seconds"}

    def strip(value):
        if isinstance(value, dict):
            return {name: strip(each) for name, each in value.items() if name not in drop}
        return value

    return strip(load_result(path)["numbers"])


def test_a_comparison_of_optimisers_is_the_same_after_kills(server, tmp_path):
    name = Path("fisher") / "optimisers_logistic.json"
    whole(server, tmp_path / "unbroken", "comparison")
    seconds = whole(server, tmp_path / "again", "comparison")
    for folder in broken(server, tmp_path, "comparison", seconds):
        assert untimed(folder / name) == untimed(tmp_path / "unbroken" / name)
        assert list(content(folder)) == [str(name)]


def check_launches(folder, expected):
    "Each file of records in `folder` is one run with the launches that its namesake in `expected` has."
    assert sorted(content(folder)) == sorted(content(expected))
    for path in folder.iterdir():
        records = read(path)
        assert len({row["run_id"] for row in records.rows}) == 1
        found, wanted = (launch_table(each) for each in (records, read(expected / path.name)))
        columns = ["cell", "arm", "launch"]
        assert found[columns].equals(wanted[columns])
        assert records.of("end")[-1]["reason"] == "launches"


@pytest.mark.parametrize("job", ["launches", "campaign"])
def test_a_measurement_keeps_its_launches_and_does_the_rest_after_kills(server, tmp_path, job):
    whole(server, tmp_path / "unbroken", job)
    seconds = whole(server, tmp_path / "again", job)
    for folder in broken(server, tmp_path, job, seconds):
        check_launches(folder, tmp_path / "unbroken")


def test_a_kill_before_each_system_call_leaves_no_trace(server, tmp_path):
    total = 3 * EVERY + 1  # four checkpoints, so that old ones are removed too
    server.start(tmp_path / "unbroken", total=total)
    assert server.wait() == 0
    for event in range(1000):
        folder = tmp_path / f"killed{event}"
        server.start(folder, total=total, kill_after=event)
        killed = server.wait() == signal.SIGKILL
        if killed:
            server.start(folder, total=total)
            assert server.wait() == 0
        assert content(folder) == content(tmp_path / "unbroken"), f"killed before call {event}"
        if not killed:
            break
    # a checkpoint takes at least four: sync the log, sync the file, rename it, sync the folder
    assert 16 <= event < 100


def test_the_folder_of_a_living_process_is_refused_and_free_when_it_is_killed(server, tmp_path):
    server.start(tmp_path, total=1_000_000)
    deadline = time.monotonic() + 30
    while Run(tmp_path, CONFIG).steps_done == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(RunBusy, match="another process is working in"):
        Run(tmp_path, CONFIG).loop(fit, {}, TOTAL)
    assert server.kill() == signal.SIGKILL
    done = Run(tmp_path, CONFIG).steps_done
    server.start(tmp_path, total=done + 1)
    assert server.wait() == 0
    assert Run(tmp_path, CONFIG).steps_done == done + 1


if __name__ == "__main__":
    serve()
