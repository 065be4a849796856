"""A letter in a table of symbols is one that the page on notation explains, for all or for its chapter."""

import json
import re
from pathlib import Path

import pytest

NBS = Path(__file__).parents[2] / "nbs"
CHAPTERS = {"fisher": "Fisher", "heads": "Heads", "ml3": "ML³", "drex": "D-REX", "bench": "Bench"}
SIGNS = set(  # commands that name nothing
    "arg bar cdot cos dot dots frac hat langle lVert le log lvert mathbb mathcal mathrm max mid nabla ne "
    "operatorname partial pm prec rVert rangle rvert sim sum text tilde to top".split()
)
INDICES = set("ijklpoE")  # positions in a sum, a matrix or a list; the sign of an expectation


def prose(page):
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def letters(text):
    "Letters and names of Greek ones in the formulas of `text`, without words and indices below or above."
    found = set()
    for formula in re.findall(r"\$([^$]+)\$", text):
        bare = re.sub(r"\\(text|operatorname|mathrm)\{[^}]*\}", " ", formula)
        bare = re.sub(r"[_^](\{[^{}]*(\{[^{}]*\}[^{}]*)*\}|\\?\w+|\*)", " ", bare)
        commands = set(re.findall(r"\\([A-Za-z]+)", bare))
        found |= (commands | set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", bare)))) - SIGNS
    return found


def tables(page):
    "The first column of each table of symbols on a page; the second on an overview."
    for text in prose(page):
        rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
        heads = [head.strip() for head in rows[0]] if rows else []
        if "symbol" in heads:
            yield from (row[heads.index("symbol")] for row in rows[2:])


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_letters_of_a_chapter_are_explained(chapter):
    texts = prose(NBS / "00_notation.ipynb")
    sections = {text.splitlines()[0].strip("# ").split(":")[0]: text for text in texts}
    known = [sections["Sizes"], sections["Shared by all chapters"], sections[CHAPTERS[chapter]]]
    known = letters("\n".join(known)) | INDICES
    pages = sorted((NBS / chapter).glob("*.ipynb"))
    unknown = {page.name: letters(" ".join(tables(page))) - known for page in pages}
    assert {name: sorted(each) for name, each in unknown.items() if each} == {}
    assert chapter == "bench" or any(letters(" ".join(tables(page))) for page in pages)
