"""Set up the project's environment and run its jobs: what the Makefile calls.

Standard library only, and nothing that Python 3.6 could not read, so that a wrong Python gets a sentence and
no traceback. Jobs: setup, demo, test, check, types, docs, bench, lab.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from configparser import ConfigParser

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
CONSTRAINTS = os.path.join(ROOT, "constraints.txt")
EXECUTED = os.path.join(ROOT, "docs", "_build", "nbs")
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
# each level installs all that stands before it, so a later job never takes away what an earlier one needs
LEVELS = {
    "run": "[heads,ml3,drex,bench]",
    "test": "[heads,ml3,drex,bench,atari,dev,notebook]",
    "docs": "[heads,ml3,drex,bench,atari,dev,notebook,docs]",
}
TORCH = os.environ.get("TORCH") or "torch==2.13.0"
DOWNLOAD = (
    "about 200 MB where a CPU build is taken; Linux's default wheel brings several GB of CUDA libraries, "
    "TORCH=<path or address of a CPU wheel> avoids that"
)


class Stop(Exception):
    "A sentence for the user; the job ends with exit code 1."


def say(text):
    print(text, flush=True)


def took(start):
    return f"{time.time() - start:.0f} s"


def settings():
    ini = ConfigParser(delimiters=["="])
    ini.read(os.path.join(ROOT, "settings.ini"), encoding="utf-8")
    return ini["DEFAULT"]


def check_python():
    "Refuse an unsupported interpreter before anything is installed."
    config = settings()
    low, high = (tuple(int(part) for part in config[key].split(".")) for key in ("min_python", "max_python"))
    if not low <= sys.version_info[:2] <= high:
        raise Stop(
            f"methodbook needs Python {config['min_python']} to {config['max_python']}; "
            f"this is Python {PYTHON} ({sys.executable}). "
            f"Install a supported one and say `make PYTHON=python{config['max_python']} ...`."
        )


def stamp(level):
    "What the environment of `level` depends on, as a hash: a change of any of it means a new installation."
    config = settings()
    parts = [level, TORCH, PYTHON, ROOT, config["version"], config["console_scripts"]]
    parts += [value for key, value in sorted(config.items()) if key.endswith("requirements")]
    with open(CONSTRAINTS, encoding="utf-8") as file:
        parts.append(file.read())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def stamp_file(level):
    return os.path.join(VENV, f"methodbook-{level}.stamp")


def tool(name):
    "The path of the command `name` in the environment."
    return os.path.join(BIN, name + (".exe" if os.name == "nt" else ""))


def is_current(level):
    "Whether `level`, or a level that contains it, is installed from today's requirements."
    if not os.path.exists(tool("python")):
        return False
    names = list(LEVELS)
    for each in names[names.index(level) :]:
        try:
            with open(stamp_file(each), encoding="utf-8") as file:
                if file.read() == stamp(each):
                    return True
        except OSError:
            continue
    return False


def create():
    "Make `.venv` with the running interpreter, unless it is there and works."
    if os.path.isdir(VENV) and not os.access(VENV, os.W_OK):
        raise Stop(
            f"The environment {VENV} cannot be written to by this user. "
            "Remove it, or give yourself write access, and run make again."
        )
    if not os.path.isdir(VENV) and not os.access(ROOT, os.W_OK):
        raise Stop(f"The folder {ROOT} is not yours to write to: copy the project to a folder of your own.")
    if os.path.exists(tool("python")):
        probe = "import sys, pip; print('.'.join(map(str, sys.version_info[:2])))"
        same = subprocess.run(
            [tool("python"), "-c", probe], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if same.returncode == 0 and same.stdout.decode().strip() == PYTHON:
            return
        say("  the environment in .venv is broken or of another Python: making a new one")
        shutil.rmtree(VENV)
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError:
        raise Stop(
            "This Python has no `venv` module, which makes the environment. On Debian and Ubuntu: "
            "`apt-get install python3-venv`; elsewhere install a complete Python."
        ) from None
    try:
        venv.EnvBuilder(with_pip=True).create(VENV)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Stop(f"The environment {VENV} could not be made: {error}") from error


def pip(*words):
    "Install quietly; on failure show the end of what pip said, and what to do."
    command = [tool("python"), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0:
        return
    said = done.stdout.decode(errors="replace").strip()
    tail = "\n".join("    " + line for line in said.splitlines()[-12:])
    signs = ("connection", "timed out", "resolution", "no matching distribution", "network")
    if any(sign in said.lower() for sign in signs):
        hint = "The package index was not reached, or does not have it: check the network and pip's settings,"
    else:
        hint = "Mend what pip names above"
    raise Stop(f"pip install {' '.join(words)} failed:\n{tail}\n{hint} and run make again.")


def constraints_file():
    "The tested versions; without torch's line when the user chose another build, which must stay."
    with open(CONSTRAINTS, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if TORCH in lines:
        return CONSTRAINTS
    own = os.path.join(VENV, "constraints-without-torch.txt")
    with open(own, "w", encoding="utf-8") as file:
        file.write("\n".join(line for line in lines if not line.startswith("torch==")) + "\n")
    return own


def setup(level):
    "Bring `.venv` to `level`; does nothing when the requirements are unchanged."
    check_python()
    start = time.time()
    if is_current(level):
        say("environment: ready (.venv, unchanged)")
        return
    say("environment: installing into .venv (once; later runs reuse it)")
    create()
    for each in LEVELS:
        if os.path.exists(stamp_file(each)):
            os.remove(stamp_file(each))
    say(f"  1/2 {TORCH} ({DOWNLOAD})")
    pip(TORCH, "-c", constraints_file())
    say(f"  2/2 methodbook{LEVELS[level]} and what it needs")
    pip("-e", ROOT + LEVELS[level], "-c", constraints_file())
    with open(stamp_file(level), "w", encoding="utf-8") as file:
        file.write(stamp(level))
    say(f"environment: ready, {took(start)}")


def step(what, *command, **variables):
    "Run one command of the environment, with more `variables`; say what it is, and how long it took."
    start = time.time()
    say(f"{what} ...")
    words = [tool(command[0]), *command[1:]]
    code = subprocess.run(words, cwd=ROOT, env={**os.environ, **variables}).returncode
    if code:
        raise Stop(f"{what}: FAILED (exit code {code}, {took(start)})")
    say(f"{what}: ok, {took(start)}")


def demo():
    setup("run")
    say("demo: every finished chapter on real input, with the paper's numbers beside ours")
    report = os.path.join("report", "methodbook.html")
    return subprocess.run([tool("methodbook"), "tour", "--out", report], cwd=ROOT).returncode


def check():
    setup("test")
    step("generated files equal the notebooks", "methodbook-dev", "check")
    step("ruff", "ruff", "check", ".")
    step("ruff format", "ruff", "format", "--check", ".")
    mypy()


def types():
    setup("test")
    mypy()


def mypy():
    step("signatures name types that exist, overrides fit (mypy)", "mypy")


def sources():
    "A hash of all that decides what a notebook prints: the notebooks, the package and the tested versions."
    digest = hashlib.sha256()
    for folder in ("nbs", "methodbook"):
        for path, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders[:] = sorted(each for each in folders if not each.startswith((".", "__pycache__")))
            for name in sorted(names):
                with open(os.path.join(path, name), "rb") as file:
                    digest.update(name.encode() + file.read())
    with open(CONSTRAINTS, "rb") as file:
        digest.update(file.read())
    return digest.hexdigest()


def run_notebooks():
    "Run all notebooks whole and compare their outputs, unless just these have run for the documentation."
    what, stamp = "whole notebooks in fresh kernels, outputs compared", os.path.join(EXECUTED, "sources")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == sources():
                say(f"{what}: ok, nothing has changed since they ran")
                return
    shutil.rmtree(EXECUTED, ignore_errors=True)
    before = sources()
    # quiet: a progress bar of a finished run would stand in the page for ever
    step(what, "methodbook-dev", "run", "--compare", "--out", EXECUTED, METHODBOOK_QUIET="1")
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(before)


def test():
    check()
    run_notebooks()
    say("pytest ...")
    return subprocess.run([tool("python"), "-m", "pytest"], cwd=ROOT).returncode


def docs():
    setup("docs")
    run_notebooks()
    what = "documentation (warnings are errors, no page asks the network)"
    step(what, "methodbook-dev", "pages", "build", "--executed", EXECUTED)
    say("open docs/_build/html/index.html")


def bench():
    setup("test")
    scripts = sorted(name for name in os.listdir(os.path.join(ROOT, "benchmarks")) if name.endswith(".py"))
    for script in scripts:
        step(f"benchmark {script}", "python", os.path.join("benchmarks", script))
    say(f"{len(scripts)} benchmarks; results in results/benchmarks/")


def lab():
    setup("test")
    return subprocess.run([tool("jupyter"), "lab", "--notebook-dir", "nbs"], cwd=ROOT).returncode


JOBS = {"demo": demo, "test": test, "check": check, "types": types, "docs": docs, "bench": bench, "lab": lab}


def main(words):
    if len(words) == 2 and words[0] == "setup" and words[1] in LEVELS:
        job, arguments = setup, words[1:]
    elif len(words) == 1 and words[0] in JOBS:
        job, arguments = JOBS[words[0]], []
    else:
        say(f"usage: steps.py {' | '.join(JOBS)} | setup {'|'.join(LEVELS)}")
        return 2
    try:
        return job(*arguments) or 0
    except Stop as stop:
        print(stop, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; run the same command to go on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
