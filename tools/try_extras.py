"""Build both archives, install the wheel with each extra in an empty environment, and use it there.

`python tools/try_extras.py [EXTRA ...] [--folder DIR] [--python PATH] [--tests CHAPTER ...]`: `none` stands
for the package alone; all are tried when none is named. In each environment every module is imported, every
public name is resolved, the commands answer, calls that need no extra run, what needs a missing library says
which extra has it, and the extra does something of its own. `--python` tries another interpreter; `--tests`
runs the exported tests of chapters on the installed wheel. The package index is asked for some hundred
megabytes, so this is no test: run it before a release. The build of torch is installed once, as in the
Makefile (TORCH=...), and its files are linked into each environment; uv installs the rest where it is found,
else pip. A finished environment is deleted unless --folder keeps it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCH = os.environ.get("TORCH") or "torch==2.13.0"
SOURCES = "settings.ini setup.py pyproject.toml MANIFEST.in README.md LICENSE constraints.txt".split()
MADE = {"PKG-INFO", "setup.cfg", "methodbook.egg-info"}  # what a build adds to the source archive

EVERYWHERE = """
import contextlib, importlib, io, pathlib, pkgutil, sys
import methodbook, torch
from methodbook.core.cli import CHAPTERS, main

assert pathlib.Path(methodbook.__file__).is_relative_to(sys.prefix), methodbook.__file__
ours = [each.name for each in pkgutil.walk_packages(methodbook.__path__, "methodbook.")]
kept = [name for name in ours if not name.startswith(("methodbook.dev", "methodbook.pages", "methodbook._"))]
names = [(name, public) for name in kept for public in getattr(importlib.import_module(name), "__all__", ())]
for name, public in names:
    getattr(sys.modules[name], public)
for words in (["claims"], ["--version"], *([chapter, "--help"] for chapter in CHAPTERS)):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(words)
    assert code == 0 and said.getvalue(), (words, code)
print(len(kept), "modules,", len(names), "names")

from methodbook.bench import DecisionMatrix, load_catalogue
from methodbook.drex import ColorGrid
from methodbook.fisher import fisher
from methodbook.heads import HeadView
from methodbook.heads.zoo import tiny_model
from methodbook.ml3 import MetaLoss

data = torch.ones(4, 2), torch.ones(4, 1)
assert fisher(torch.nn.Linear(2, 1), data, loss="mse").to_dense().shape == (3, 3)
assert len(HeadView(tiny_model("nn.TransformerEncoder")).heads()) == 8
loss = MetaLoss.supervised(out_dim=1, generator=torch.Generator().manual_seed(0))
assert all(each.isfinite().all() for each in loss.parameters())
assert ColorGrid(0).features.shape == (64, 5)
assert DecisionMatrix(load_catalogue("hardware")).rank()["entity"][0] == "GPU"
"""  # the developers' tools need the extra `dev` and are not a user's

MISSING = {  # library -> what to do without it, and what the error must then say
    "transformers": ("from methodbook.heads import load_encoder as f; f()", "methodbook[heads]"),
    "sentencepiece": (
        "from methodbook.heads.translation import train_pieces as f; f(['a'])",
        "methodbook[heads]",
    ),
    "sacrebleu": (
        "from methodbook.heads.translation import score_translations as f; f(['a'], ['a'])",
        "methodbook[heads]",
    ),
    "conllu": ("from methodbook.heads import read_conllu as f; f()", "methodbook[heads]"),
    "gymnasium": ("from methodbook.ml3 import GymAdapter as f; f('Reacher-v5', 2)", "methodbook[ml3]"),
    "stable_baselines3": (
        "from methodbook.ml3 import PointMass, ppo_returns as f; f(PointMass(), torch.zeros(2), 1)",
        "methodbook[ml3]",
    ),
    "minari": ("from methodbook.drex.environments import need as f; f('minari')", "methodbook[drex]"),
    "ale_py": (
        "from methodbook.drex.environments import need as f; f('ale_py', 'atari')",
        "methodbook[atari]",
    ),
    "onnxruntime": (
        "from methodbook.bench.adapters import OnnxruntimeAdapter as f; f().start(1)",
        "pip install onnxruntime onnx",
    ),
    "ipywidgets": ("from methodbook.fisher import explorer as f; f()", "methodbook[notebook]"),
}
REFUSED = """
from importlib.util import find_spec
from methodbook.core.errors import MethodbookError

absent = {name: way for name, way in MISSING.items() if find_spec(name) is None}
for name, (line, told) in absent.items():
    try:
        exec(line)
    except MethodbookError as error:
        assert told in str(error), (name, error)
    else:
        raise SystemExit(f"{name} is not here, and {line!r} said nothing")
print("absent and said so:", ", ".join(absent) or "none")
"""

PROBES = {  # extra -> a line or two of its own, which print what they found
    "none": """
assert len(absent) == len(MISSING), "a library is here that nobody asked for"
""",
    "heads": """
from methodbook.heads import load_encoder
print(HeadView(load_encoder()[0]), HeadView(tiny_model("bert")))
""",
    "ml3": """
from methodbook.ml3 import GymAdapter
print(GymAdapter("Reacher-v5", 2))
""",
    "drex": """
from methodbook.drex import PointRun, PPOSettings, train_policy
print(type(train_policy(PointRun, None, PPOSettings(steps=512, n_envs=4, n_steps=64, epochs=1))).__name__)
""",
    "atari": """
from methodbook.drex.atari import atari_game
print(atari_game("Pong", 12)().observation_space)
""",
    "bench": """
from methodbook.bench.adapters import OnnxruntimeAdapter
from methodbook.bench.machine import describe_machine
OnnxruntimeAdapter().start(1)
print(describe_machine()["cpu_model"])
""",
    "notebook": """
import matplotlib
matplotlib.use("agg")
from methodbook.core.plot import plt, scrub
print(type(scrub([1, 2], lambda value: plt.figure(figsize=(1, 1)), "value")).__name__)
""",
    "dev": """
from methodbook.dev import main as developers
import methodbook.dev_project, methodbook.dev_rules, methodbook.dev_run, methodbook.dev_tests
import build, hypothesis, jupytext, mypy, nbdev, playwright, pytest
print(developers.__module__)
""",
    "docs": """
import methodbook.pages, methodbook.pages_reader
import myst_nb, pydata_sphinx_theme, sphinx, sphinx_copybutton, sphinx_design
print("sphinx", sphinx.__version__)
""",
}
PROBES["all"] = "".join(PROBES[name] for name in ("heads", "ml3", "drex", "atari", "bench", "notebook"))
WITH = {"atari": "drex,atari"}  # what an extra is installed with, where it adds to another


def run(words, where, **options):
    "Run a command; on failure print the end of what it said and stop."
    done = subprocess.run(list(map(str, words)), cwd=where, capture_output=True, text=True, **options)
    if done.returncode:
        told = " ".join(str(words[0]).split() + [word for word in map(str, words[1:]) if len(word) < 200])
        sys.exit(f"{told} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def build(folder):
    "The source archive and the wheel from it, built from a copy: nothing is left in the checkout."
    copy, out = folder / "copy", folder / "dist"
    copy.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for name in ("methodbook", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, copy], folder)
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def look_into(source, wheel):
    "Refuse archives that lack a file of the package or have one that is not a user's; the wheel's extras."
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "methodbook").rglob("*") if path.is_file()}
    package = {name for name in there if "__pycache__" not in name}
    assert {"methodbook/py.typed", "methodbook/data/core/rows.json"} <= package
    with tarfile.open(source) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert package <= names, package - names
    assert all(name.endswith(".py") for name in names if name.startswith("tests/"))
    tops = {name.split("/")[0] for name in names}
    assert tops == {*SOURCES, *MADE, "methodbook", "tests"}, tops
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        extras = re.findall(r"^Provides-Extra: (.+)$", archive.read(metadata).decode(), re.MULTILINE)
    assert {name for name in names if ".dist-info/" not in name} == package
    for path in (source, wheel):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, as it should be", flush=True)
    return set(extras)


def install(venv, *words):
    "Install into `venv`; sources are compiled when they are first imported."
    python, uv = venv / "bin" / "python", shutil.which("uv")
    if uv and words != (TORCH,):  # a build of torch may lie where only pip looks
        command = [uv, "pip", "install", "--python", python]
    else:
        command = [python, "-m", "pip", "install", "--no-compile", "--disable-pip-version-check"]
    run([*command, "--quiet", "-c", ROOT / "constraints.txt", *words], venv)


def site(venv):
    "The folder of the installed packages."
    return next((venv / "lib").glob("python3*")) / "site-packages"


def make(python, venv, base=None):
    "Make an environment with torch: installed when there is no `base`, else linked from it file by file."
    run([python, "-m", "venv", venv], ROOT)
    if base is None:
        return install(venv, TORCH)
    ignore = there(site(venv), site(base))
    shutil.copytree(site(base), site(venv), copy_function=os.link, dirs_exist_ok=True, ignore=ignore)


def there(new, base):
    "What `copytree` is to leave out: files that the new environment has already, such as pip's."
    return lambda folder, names: [
        name for name in names if (new / Path(folder, name).relative_to(base)).is_file()
    ]


def attempt(extra, wheel, venv, tests):
    "Install the wheel with `extra` beside torch and look whether it works; the lines that it printed."
    home = venv.parent / f"{extra}-home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    install(venv, wheel if extra == "none" else f"{wheel}[{WITH.get(extra, extra)}]")
    ours = ("METHODBOOK", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment = kept | {"HOME": str(home), "METHODBOOK_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    helped = run([venv / "bin" / "methodbook", "--help"], home, env=environment)
    assert "measure the claims" in helped, helped
    code = EVERYWHERE + f"MISSING = {MISSING!r}\n" + REFUSED + PROBES[extra]
    said = run([venv / "bin" / "python", "-P", "-W", "ignore", "-c", code], home, env=environment)
    if tests:
        install(venv, "pytest", "hypothesis", "cloudpickle")
        words = [
            venv / "bin" / "python",
            "-P",
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-c",
            ROOT / "pyproject.toml",
        ]
        paths = [ROOT / "tests" / chapter for chapter in tests]
        said += "\n" + run([*words, *paths], home, env=environment).splitlines()[-1]
    return said.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=", ".join(PROBES))
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the environments here")
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="interpreter (default: this one)"
    )
    parser.add_argument(
        "--tests", nargs="+", default=[], metavar="CHAPTER", help="run these tests there as well"
    )
    args = parser.parse_args()
    if unknown := sorted(set(args.extras) - set(PROBES)):
        parser.error(f"no extra {', '.join(unknown)}; there are {', '.join(PROBES)}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        archives, base = build(Path(scratch)), folder / "torch"
        named = look_into(*archives)
        assert named == set(PROBES) - {"none"}, named ^ set(PROBES)
        if not base.is_dir():
            make(args.python, base)
        for extra in args.extras or PROBES:
            start = time.monotonic()
            shutil.rmtree(folder / extra, ignore_errors=True)
            make(args.python, folder / extra, base)
            said = attempt(extra, archives[1], folder / extra, args.tests)
            print(f"{extra}: ok, {time.monotonic() - start:.0f} s; {'; '.join(said)}", flush=True)
            if args.folder is None:
                shutil.rmtree(folder / extra)


if __name__ == "__main__":
    main()
