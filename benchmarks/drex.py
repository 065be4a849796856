"""Measure reward learning and cloning of `methodbook.drex` beside `imitation`; both must learn the same.

    python benchmarks/drex.py [--quick] [--assert] [--rounds 3]

Reward learning: pairs of snippets with labels, a network of 64-64 hidden units, Adam at 0.001, 64 pairs an
update; one reward, and an ensemble of three. Cloning: a policy of 64-64 hidden units, 128 samples an update.
Both sides get the same arrays, the same pairs and the same initial weights. Times are CPU times of the
process, one thread; the two take turns in every round and the least is kept. Exit code 1: a loss is
wrong, the held-out losses differ, or, with --assert, a goal is missed.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when torch loads: waiting threads must not count
os.environ.setdefault("METHODBOOK_QUIET", "1")

import argparse
import contextlib
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from methodbook.core.runs import load_result, save_result
from methodbook.drex.cloning import BehaviorCloning, network
from methodbook.drex.ranking import Pairs, RankedTrajectories
from methodbook.drex.reward import RewardNet, bradley_terry, learn_reward
from methodbook.drex.trajectories import Trajectory

SEED, HIDDEN, BATCH, RATE = 0, (64, 64), 64, 1e-3
LEVELS, EPISODES, STEPS = np.linspace(0, 0.95, 20), 5, 100
PROBLEMS = {"3 numbers, snippets of 25": (3, 25), "17 numbers, snippets of 50": (17, 50)}
REWARD_GOAL = 5.0  # times imitation's pairs per CPU second
CLONING_GOAL = 1.0  # times imitation's samples per CPU second
SAME_LOSS = 1e-6  # of one pair of rewards, as in float32
SAME_START = 1e-5  # of the mean loss at the start, relative: float32 sums in another order
SAME_END = 0.1  # of the held-out loss, relative to the greater: batches are drawn differently


# ------------------------------------------------------------------------------------------------------ data


def episodes(wide: int) -> RankedTrajectories:
    "Noisy walks, ranked by their noise; standardised, so that no side gains by doing it."
    rng = np.random.default_rng([SEED, wide])
    along = rng.normal(size=wide)
    levels = np.repeat(LEVELS, EPISODES)
    walks = rng.normal(size=(len(levels), STEPS + 1, wide))
    walks += 0.6 * (1 - levels)[:, None, None] * along / np.linalg.norm(along)
    reached = walks[:, 1:].reshape(-1, wide)
    walks = ((walks - reached.mean(0)) / reached.std(0)).astype(np.float32)
    acts = np.zeros((STEPS, 1), np.float32)
    groups = [[Trajectory(each, acts) for each in walks[levels == level]] for level in LEVELS]
    return RankedTrajectories(groups, -LEVELS, dict(PROBLEMS.values())[wide], margin=0.3)


def cloning_data(wide: int = 17, choices: int = 6, count: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    "States and the actions of a noisy teacher."
    rng = np.random.default_rng([SEED, 7])
    states = rng.normal(size=(count, wide)).astype(np.float32)
    states = (states - states.mean(0)) / states.std(0)
    worth = np.tanh(states @ rng.normal(size=(wide, choices))) + 0.2 * rng.normal(size=(count, choices))
    return states, worth.argmax(1)


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    "Copy all linear layers in order."
    pairs = [[m for m in each.modules() if isinstance(m, nn.Linear)] for each in (source, target)]
    for one, other in zip(*pairs, strict=True):
        other.load_state_dict(one.state_dict())


@torch.no_grad()
def pair_loss(net: nn.Module, pairs: Pairs, rows: slice) -> float:
    "Mean cross-entropy of some pairs under one network of ours."
    reward = net(torch.as_tensor(pairs.states))
    sums = [reward[torch.as_tensor(each[rows])].sum(1) for each in (pairs.first, pairs.second)]
    return float(bradley_terry(*sums, torch.as_tensor(pairs.label[rows]).float()).mean())


# ------------------------------------------------------------------------------------------------- imitation


def silent_logger() -> Any:
    from imitation.util import logger

    return logger.configure(tempfile.mkdtemp(), [])


def peer_net(source: RewardNet) -> Any:
    "imitation's network with the weights of ours."
    import gymnasium
    from imitation.rewards.reward_nets import BasicRewardNet

    box = gymnasium.spaces.Box(-np.inf, np.inf, source.shape, np.float32)
    act = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    net = BasicRewardNet(box, act, use_action=False, hid_sizes=HIDDEN)
    copy_weights(source.net, net)
    return net


def fragments(pairs: Pairs, count: int) -> list[tuple[Any, Any]]:
    "The first `count` pairs as imitation's trajectories; the last observation is not looked at."
    from imitation.data.types import TrajectoryWithRew

    def cut(rows: np.ndarray) -> Any:
        obs = pairs.states[np.append(rows, rows[-1])]
        acts, rews = np.zeros((len(rows), 1), np.float32), np.zeros(len(rows))
        return TrajectoryWithRew(obs=obs, acts=acts, infos=None, terminal=False, rews=rews)

    return [(cut(one), cut(two)) for one, two in zip(pairs.first[:count], pairs.second[:count], strict=True)]


def peer_trainer(source: RewardNet, pairs: Pairs, count: int, epochs: int) -> tuple[Any, Callable[[], Any]]:
    "imitation's network and what trains it."
    from imitation.algorithms import preference_comparisons as pc

    net = peer_net(source)
    loss, rng, log = pc.CrossEntropyRewardLoss(), np.random.default_rng(SEED), silent_logger()
    model = pc.PreferenceModel(net)
    trainer = pc.BasicRewardTrainer(
        model, loss, rng, batch_size=BATCH, epochs=epochs, lr=RATE, custom_logger=log
    )
    dataset = pc.PreferenceDataset()
    dataset.push(fragments(pairs, count), pairs.label[:count].astype(np.float32))
    return net, lambda: trainer.train(dataset)


def peer_start_loss(net: Any, pairs: Pairs, count: int) -> float:
    "imitation's own loss of the first pairs."
    from imitation.algorithms import preference_comparisons as pc

    wanted = pairs.label[:count].astype(np.float32)
    with torch.no_grad():
        found = pc.CrossEntropyRewardLoss()(fragments(pairs, count), wanted, pc.PreferenceModel(net))
    return float(found.loss)


def one_pair() -> dict[str, float]:
    "Rewards that sum to 3.5 and 2.0, a tenth of the labels tossed: the probability by both."
    from imitation.algorithms import preference_comparisons as pc

    sums = torch.tensor([[1.5, 2.0], [0.5, 1.5]])
    model = pc.PreferenceModel(peer_net(RewardNet((3,), HIDDEN)), noise_prob=0.1)
    ours = bradley_terry(*sums.sum(1), torch.tensor(1.0), label_noise=0.1)
    return {"imitation": float(model.probability(*sums)), "methodbook": float((-ours).exp())}


# ----------------------------------------------------------------------------------------------------- tasks


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    with open(os.devnull, "w") as sink, contextlib.redirect_stderr(sink), contextlib.redirect_stdout(sink):
        found = call()
    return time.process_time() - start, found


def reward_task(wide: int, nets: int, rounds: int, updates: int, peer: bool) -> dict[str, Any]:
    "Both sides learn a reward from the same pairs; a round is a whole training."
    ranked, count, held = episodes(wide), 1280, 320
    assert updates * BATCH % count == 0
    sets = [ranked.sample(count + held, [SEED, n]) for n in range(nets)]  # what `learn_reward` draws
    starts = [RewardNet((wide,), HIDDEN, seed=1000 * SEED + n) for n in range(nets)]  # and begins with
    seconds: dict[str, list[float]] = {"methodbook": [], "imitation": []}
    settings = {"n_nets": nets, "hidden": HIDDEN, "pairs": count + held, "updates": updates, "batch": BATCH}
    late = slice(count, None)
    losses: dict[str, float] = {}
    for _ in range(rounds):
        spent, found = timed(lambda: learn_reward(ranked, **settings, lr=RATE, l2=0.0, seed=SEED))
        seconds["methodbook"].append(spent)
        learned = found[0].nets
        losses["methodbook"] = float(
            np.mean([pair_loss(n, p, late) for n, p in zip(learned, sets, strict=True)])
        )
        if peer:
            trained, spent = [], 0.0
            for start, pairs in zip(starts, sets, strict=True):
                net, train = peer_trainer(start, pairs, count, updates * BATCH // count)
                spent += timed(train)[0]
                copy = RewardNet((wide,), HIDDEN)
                copy_weights(net, copy.net)
                trained.append(pair_loss(copy, pairs, late))
            seconds["imitation"].append(spent)
            losses["imitation"] = float(np.mean(trained))
    drawn = nets * updates * BATCH
    row = {"state": wide, "nets": nets, "updates": updates, "pairs": drawn, "held_loss": losses}
    row["seconds"] = {name: min(each) for name, each in seconds.items() if each}
    row["pairs_per_second"] = {name: drawn / each for name, each in row["seconds"].items()}
    row["untrained_loss"] = float(np.mean([pair_loss(n, p, late) for n, p in zip(starts, sets, strict=True)]))
    wrong = [] if max(losses.values()) < 0.8 * row["untrained_loss"] else ["nothing was learned"]
    if peer:
        row["ratio"] = row["pairs_per_second"]["methodbook"] / row["pairs_per_second"]["imitation"]
        begin = [
            pair_loss(starts[0], sets[0], slice(200)),
            peer_start_loss(peer_net(starts[0]), sets[0], 200),
        ]
        row["start_loss"] = dict(zip(("methodbook", "imitation"), begin, strict=True))
        wrong += (
            [] if abs(begin[0] - begin[1]) <= SAME_START * begin[1] else ["the losses at the start differ"]
        )
        wrong += [] if close(losses) else ["the losses reached differ"]
    return row | {"wrong": wrong}


def close(losses: dict[str, float]) -> bool:
    low, high = sorted(losses.values())
    return high - low <= SAME_END * high


def peer_policy(source: nn.Module, box: Any, act: Any) -> Any:
    "The policy of stable-baselines3 that imitation clones into, with the weights of our network."
    from stable_baselines3.common.policies import ActorCriticPolicy

    layers = {"net_arch": list(HIDDEN), "activation_fn": nn.ReLU}
    policy = ActorCriticPolicy(box, act, lambda _: RATE, **layers)
    inner = nn.ModuleList([policy.mlp_extractor.policy_net, policy.action_net])
    copy_weights(source, inner)
    return policy


def cloning_task(rounds: int, updates: int, peer: bool) -> dict[str, Any]:
    "Both sides clone the same teacher; a round is a whole training."
    import gymnasium

    states, acts = cloning_data()
    cut = 4096
    box = gymnasium.spaces.Box(-np.inf, np.inf, states.shape[1:], np.float32)
    act = gymnasium.spaces.Discrete(int(acts.max()) + 1)
    place = SimpleNamespace(observation_space=box, action_space=act)
    demos = [Trajectory.from_legacy(states[:cut], acts[:cut])]
    late = torch.as_tensor(states[cut:]), torch.as_tensor(acts[cut:])

    def loss_of(logits: Tensor) -> float:
        return float(nn.functional.cross_entropy(logits, late[1]))

    def train_ours() -> BehaviorCloning:
        options = {"lr": RATE, "l2": 0.0, "batch": 128, "updates": updates, "normalize": False}
        clone = BehaviorCloning(place, HIDDEN, **options, seed=SEED)
        clone.fit(demos)
        return clone

    def prepare_theirs() -> tuple[Any, Callable[[], Any]]:
        from imitation.algorithms.bc import BC
        from imitation.data.types import Transitions

        policy = peer_policy(start, box, act)
        data = Transitions(
            obs=states[:cut],
            acts=acts[:cut],
            infos=np.array([{}] * cut),
            next_obs=states[:cut],  # not looked at
            dones=np.zeros(cut, bool),
        )
        log = {"rng": np.random.default_rng(SEED), "custom_logger": silent_logger()}
        options = {"batch_size": 128, "optimizer_kwargs": {"lr": RATE}, "ent_weight": 0.0, "l2_weight": 0.0}
        spaces = {"observation_space": box, "action_space": act, "device": "cpu"}
        bc = BC(**spaces, **log, **options, policy=policy, demonstrations=data)
        return policy, lambda: bc.train(n_batches=updates, progress_bar=False, log_interval=10**9)

    start = network(states.shape[1:], int(act.n), HIDDEN, SEED)  # what `BehaviorCloning` begins with
    seconds: dict[str, list[float]] = {"methodbook": [], "imitation": []}
    losses: dict[str, float] = {}
    first: dict[str, float] = {}
    with torch.no_grad():
        first["methodbook"] = loss_of(start(late[0]))
    for _ in range(rounds):
        spent, clone = timed(train_ours)
        seconds["methodbook"].append(spent)
        losses["methodbook"] = loss_of(clone.outputs(states[cut:]))
        if peer:
            policy, train = prepare_theirs()
            with torch.no_grad():
                first["imitation"] = loss_of(policy.get_distribution(late[0]).distribution.logits)
            seconds["imitation"].append(timed(train)[0])
            with torch.no_grad():
                losses["imitation"] = loss_of(policy.get_distribution(late[0]).distribution.logits)
    row = {"state": states.shape[1], "updates": updates, "start_loss": first, "held_loss": losses}
    row["seconds"] = {name: min(each) for name, each in seconds.items() if each}
    row["samples_per_second"] = {name: 128 * updates / each for name, each in row["seconds"].items()}
    wrong = [] if max(losses.values()) < 0.8 * first["methodbook"] else ["nothing was learned"]
    if peer:
        row["ratio"] = row["seconds"]["imitation"] / row["seconds"]["methodbook"]
        same = abs(first["methodbook"] - first["imitation"]) <= SAME_START * first["methodbook"]
        wrong += [] if same else ["the losses at the start differ"]
        wrong += [] if close(losses) else ["the losses reached differ"]
    return row | {"wrong": wrong}


# -------------------------------------------------------------------------------------------------- verdicts


def show(title: str, row: dict[str, Any]) -> None:
    rates = row.get("pairs_per_second") or row["samples_per_second"]
    text = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    ratio = f"; {row['ratio']:.1f} times" if "ratio" in row else ""
    losses = ", ".join(f"{name} {loss:.3f}" for name, loss in row["held_loss"].items())
    print(f"{title}: a CPU second {text}{ratio}; held-out loss {losses}", flush=True)


def rounded(value: Any) -> Any:
    "Numbers of four digits."
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value


def measure(quick: bool, rounds: int, peer: bool) -> tuple[dict[str, Any], list[str], list[str]]:
    "Rows, what is wrong, which goals are missed."
    rows, wrong, missed = {}, [], []
    cloning = "cloning, 17 numbers, 6 actions"
    rows[cloning] = cloning_task(rounds + 1, 200 if quick else 600, peer)  # a short task, one round more
    show(cloning, rows[cloning])
    updates = 40 if quick else 80
    for name, (wide, _) in PROBLEMS.items():
        for nets in (1, 3):
            title = f"reward, {name}, {nets} network{'s' * (nets > 1)}"
            rows[title] = reward_task(wide, nets, rounds, updates, peer)
            show(title, rows[title])
    for title, row in rows.items():
        wrong += [f"{title}: {each}" for each in row.pop("wrong")]
        goal = REWARD_GOAL if title.startswith("reward") else CLONING_GOAL
        if peer and row["ratio"] < goal:
            missed.append(f"{title}: {row['ratio']:.2f} times imitation, goal {goal:g}")
    if peer:
        rows["one pair"] = one_pair()
        gap = abs(rows["one pair"]["imitation"] - rows["one pair"]["methodbook"])
        right = gap <= SAME_LOSS and abs(rows["one pair"]["methodbook"] - 0.7858170) <= SAME_LOSS
        wrong += [] if right else [f"one pair: {rows['one pair']}"]
    return rows, wrong, missed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one short round; nothing is written")
    parser.add_argument(
        "--assert", dest="strict", action="store_true", help="exit code 1 when a goal is missed"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each task")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rounds = 1 if given.quick else max(2, given.rounds)
    peer = importlib.util.find_spec("imitation") is not None
    if not peer:
        print("imitation is not installed: see benchmarks/README.md for an environment with it")
    before = os.getloadavg()[0]
    rows, wrong, missed = measure(given.quick, rounds, peer)
    for text in (*[f"wrong: {each}" for each in wrong], *[f"goal missed: {each}" for each in missed]):
        print(text)
    if not given.quick and not wrong:
        path = Path(__file__).parents[1] / "results" / "benchmarks" / "drex.json"
        known = path.exists() and "one pair" in load_result(path)["numbers"]["rows"]
        if known and not peer:
            print(f"{path.name} has imitation, which is missing here: not overwritten")
        else:
            load = {"before": before, "after": os.getloadavg()[0], "cores": os.cpu_count()}
            numbers = {"rows": rounded(rows), "missed": missed, "load_average": rounded(load)}
            numbers["one_pair"] = rows.get("one pair", {})
            config = {"hidden": list(HIDDEN), "batch": BATCH, "rate": RATE, "rounds": rounds}
            config |= {"episodes": EPISODES, "levels": len(LEVELS), "steps": STEPS, "dtype": "float32"}
            config |= {"time": "least CPU time, one thread"}
            packages = ["imitation", "stable-baselines3", "gymnasium"]
            save_result(path, numbers, config=config, seeds=[SEED], packages=packages)
            print(f"written: {path.name}")
    return 1 if wrong or (given.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
