"""Settings of every test run: one thread, no hidden randomness, headless figures, no network."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("reproducible")


def pytest_collection_modifyitems(config, items):
    "Leave `slow` tests to `-m slow` and `gpu` tests to machines that have one."
    wanted = config.getoption("-m")
    for item in items:
        if "slow" in item.keywords and "slow" not in wanted:
            item.add_marker(pytest.mark.skip(reason="slow: run with `pytest -m slow`"))
        if "gpu" in item.keywords and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(autouse=True)
def seeded_globals():
    "Start every test from the same global random state, so that the order of tests changes nothing."
    torch.manual_seed(0)
