"""The page of the benchmarks says what their files say."""

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _page(folder):
    return runpy.run_path(str(ROOT / "benchmarks" / "summary.py"))["page"](folder)


def test_the_page_is_the_one_that_the_files_give():
    folder = ROOT / "results" / "benchmarks"
    kept = (folder / "README.md").read_text(encoding="utf-8")
    assert kept == _page(folder), "run `python benchmarks/summary.py`"
    assert all(f"`{path.name}`" in kept for path in folder.glob("*.json"))


def test_a_missed_goal_is_said(tmp_path):
    rows = {"10x1": {"times_ours": {"higher": 5.9, "torchopt": 3.6, "methodbook, one step": 1.0}}}
    (tmp_path / "ml3.json").write_text(json.dumps({"date": "2026-01-02", "numbers": {"rows": rows}}))
    text = _page(tmp_path)
    assert "higher's time over ours | 5.90 | at least 6 | **no** |" in text
    assert "torchopt's time over ours | 3.60 | at least 3.5 | yes |" in text
    assert "one step" not in text
    assert "measured 2026-01-02" in text
