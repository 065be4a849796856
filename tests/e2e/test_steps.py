"""The set-up behind `make`: what is wrong with a machine gets a sentence, and a second run is free."""

import builtins
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "steps.py"


@pytest.fixture
def steps(tmp_path, monkeypatch):
    "A fresh copy of the script's module whose environment lies in a folder of its own."
    spec = importlib.util.spec_from_file_location("steps", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    monkeypatch.setattr(module, "VENV", str(venv))
    monkeypatch.setattr(module, "BIN", str(venv / "bin"))
    return module


def failing_pip(steps, text):
    "An environment whose Python prints `text` and fails whenever it is asked to install."
    python = Path(steps.BIN) / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit 1\n")
    python.chmod(0o755)


@pytest.mark.parametrize("version", [(3, 8, 1), (3, 10, 0), (3, 14, 0)])
def test_an_unsupported_python_is_refused_before_anything_is_installed(steps, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(steps.Stop, match=r"needs Python 3\.11 to 3\.13"):
        steps.setup("run")
    assert not os.path.exists(steps.VENV)


def test_a_python_without_venv_says_what_to_install(steps, monkeypatch):
    real = builtins.__import__

    def without_ensurepip(name, *args, **kwargs):
        if name == "ensurepip":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_ensurepip)
    with pytest.raises(steps.Stop, match="python3-venv"):
        steps.create()


def test_an_environment_that_cannot_be_written_is_named(steps, monkeypatch):
    os.mkdir(steps.VENV)
    # permissions do not bind root, who runs this test on many machines: ask as another user would
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(steps.Stop, match=r"\.venv cannot be written to"):
        steps.create()
    os.rmdir(steps.VENV)
    with pytest.raises(steps.Stop, match="not yours to write to"):
        steps.create()


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (
            "ERROR: Could not find a version\nERROR: No matching distribution found for torch",
            "check the network",
        ),
        ("NewConnectionError: Failed to establish a new connection", "check the network"),
        ("ERROR: No space left on device", "Mend what pip names above"),
    ],
)
def test_a_failed_installation_shows_what_pip_said_and_what_to_do(steps, said, advice):
    failing_pip(steps, said)
    with pytest.raises(steps.Stop, match=advice) as caught:
        steps.pip("torch")
    assert said.splitlines()[-1] in str(caught.value)


def test_requirements_unchanged_install_nothing(steps, monkeypatch, capsys):
    failing_pip(steps, "must not be called")
    Path(steps.stamp_file("docs")).write_text(steps.stamp("docs"))
    steps.setup("run")  # a larger level serves a smaller one
    assert "unchanged" in capsys.readouterr().out
    monkeypatch.setattr(steps, "TORCH", "another-torch.whl")
    assert not steps.is_current("run")


def test_a_torch_of_the_users_choice_is_not_pinned_away(steps, monkeypatch):
    os.mkdir(steps.VENV)
    assert steps.constraints_file() == steps.CONSTRAINTS
    monkeypatch.setattr(steps, "TORCH", "folder/torch-9-cpu.whl")
    kept = Path(steps.constraints_file()).read_text()
    assert "torch==" not in kept
    assert "numpy==" in kept


def test_the_pages_are_run_without_progress_bars_and_once(steps, monkeypatch, tmp_path, capsys):
    ran = []
    monkeypatch.setattr(steps, "EXECUTED", str(tmp_path))
    monkeypatch.setattr(steps, "step", lambda *words, **variables: ran.append(variables) or tmp_path.mkdir())
    steps.run_notebooks()
    steps.run_notebooks()
    assert ran == [{"METHODBOOK_QUIET": "1"}]
    assert "nothing has changed" in capsys.readouterr().out


def test_a_step_runs_with_its_variables_and_stops_at_a_failure(steps, monkeypatch):
    monkeypatch.setattr(steps, "tool", lambda name: sys.executable)
    look = "import os, sys; sys.exit(os.environ['MINE'] != 'yes')"
    steps.step("looks", "python", "-c", look, MINE="yes")
    with pytest.raises(steps.Stop, match=r"looks: FAILED \(exit code 1"):
        steps.step("looks", "python", "-c", look, MINE="no")


def test_an_unknown_job_is_a_usage_error():
    done = subprocess.run([sys.executable, SCRIPT, "dance"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage" in done.stdout
