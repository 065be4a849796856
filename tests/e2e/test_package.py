"""The source archive builds, a wheel builds from it, and the wheel works away from the checkout."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = "settings.ini setup.py pyproject.toml MANIFEST.in README.md LICENSE constraints.txt".split()
CHAPTERS = ("heads", "fisher", "ml3", "drex", "bench")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    "The two archives, built from a copy of the checkout, so that nothing is left in it."
    pytest.importorskip("build", reason="build is not installed (extra `dev`)")
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for name in ("methodbook", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def test_the_wheel_has_the_whole_package_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    folder = ROOT / "methodbook"
    there = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {path.relative_to(ROOT).as_posix() for path in there}
    assert "methodbook/py.typed" in names
    assert {f"methodbook/data/{chapter}/claims.json" for chapter in CHAPTERS} <= names


def test_the_source_archive_has_what_a_build_reads_and_the_tests(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {*SOURCES, "methodbook/py.typed", "tests/conftest.py", "tests/e2e/test_package.py"} <= names


def test_the_metadata_names_every_extra(built):
    with zipfile.ZipFile(built[1]) as wheel:
        inside = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        text = wheel.read(inside).decode()
    extras = set(re.findall(r"^Provides-Extra: (.+)$", text, re.MULTILINE))
    assert extras >= {*CHAPTERS, "atari", "notebook", "all", "dev", "docs"} - {"fisher"}  # which needs none
    assert re.search(r"^Requires-Dist: torch<3,>=2\.8$", text, re.MULTILINE)
    assert re.search(r"^Requires-Python: >=3\.11$", text, re.MULTILINE)


PROBE = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import methodbook, methodbook.heads, methodbook.fisher, methodbook.ml3, methodbook.drex, methodbook.bench
optional = {"transformers", "gymnasium", "stable_baselines3", "matplotlib", "pandas", "sklearn"}
assert not optional & set(sys.modules), "importing the chapters must stay quick"
assert pathlib.Path(methodbook.__file__).is_relative_to(sys.argv[1]), methodbook.__file__
from methodbook.core.cli import main
sys.exit(main(["claims"]))
"""


def test_the_wheel_works_away_from_the_checkout(built, tmp_path):
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(built[1])], check=True)
    ours = ("METHODBOOK", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, str(site)],
        cwd=home, env=kept | {"HOME": str(home)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all(row in done.stdout for row in ("H1", "F1", "M1", "D1", "B1"))
