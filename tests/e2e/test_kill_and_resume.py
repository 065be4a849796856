"""A `Run` killed with SIGKILL, at random moments and at each step of a checkpoint, ends in the same bytes.

The file is also the program that is killed. Started by itself it reads orders from standard input, one JSON
object a line, and for each forks a child that trains; so torch is loaded once, not once a kill.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from methodbook.core.runs import Run, RunBusy, load_state, read_log

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


def serve():
    "Fork a training child for each order; print its pid, and its exit status when it has ended."
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:  # load what torch and safetensors load on their first use
        Run(folder, CONFIG).loop(fit, begin(), 1)
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if (pid := os.fork()) == 0:
            signal.alarm(180)  # nobody waits for a child whose test was killed: it ends by itself
            if "kill_after" in order:
                kill_after(order["kill_after"])
            Run(order["folder"], CONFIG, every=EVERY).loop(fit, begin(), order["total"])
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

    def start(self, folder, total=TOTAL, **order):
        self.process.stdin.write(json.dumps({"folder": str(folder), "total": total, **order}) + "\n")
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


@pytest.fixture(scope="module")
def unbroken(server, tmp_path_factory):
    "The folder of a run that nobody stopped, and the seconds it took."
    folder = tmp_path_factory.mktemp("unbroken")
    start = time.monotonic()
    server.start(folder)
    assert server.wait() == 0
    return folder, time.monotonic() - start


def content(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_twenty_kills_at_random_moments_leave_no_trace(server, unbroken, tmp_path):
    reference, seconds = unbroken
    rng = random.Random(0)
    kills, run = 0, 0
    while kills < 20:  # a run that ends before its turn is compared, and the next one takes the rest
        run += 1
        folder = tmp_path / f"run{run}"
        while True:
            server.start(folder)
            if kills < 20:
                time.sleep(rng.uniform(0, seconds / 5))
                status = server.kill()
            else:
                status = server.wait()
            kills += status == signal.SIGKILL
            assert status in (0, signal.SIGKILL)
            if status == 0:
                break
        assert content(folder) == content(reference)
    last = load_state(reference / f"state-{TOTAL:010d}.safetensors")
    assert last["step"] == TOTAL
    assert [record["step"] for record in read_log(reference / "log.jsonl")] == list(range(TOTAL))


def test_a_kill_before_each_system_call_leaves_no_trace(server, tmp_path):
    total = 3 * EVERY + 1  # four checkpoints, so that old ones are removed too
    server.start(tmp_path / "unbroken", total)
    assert server.wait() == 0
    for event in range(1000):
        folder = tmp_path / f"killed{event}"
        server.start(folder, total, kill_after=event)
        killed = server.wait() == signal.SIGKILL
        if killed:
            server.start(folder, total)
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
