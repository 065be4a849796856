"""Each chapter's `explorer()` in a real JupyterLab: it opens, a slider moves, the picture changes, no error.

One server for all chapters, on a free port of this machine, with settings and kernels of its own; one page
and one kernel a chapter.
"""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time

import nbformat
import pytest

PATIENCE = 300_000  # milliseconds; a loaded machine is slow
SHOW = "from methodbook.{} import explorer\n\nexplorer({})"
CELLS = {
    "heads": SHOW.format("heads", ""),
    "fisher": SHOW.format("fisher", "samples=50"),
    "ml3": "from methodbook.ml3 import MetaLoss, explorer\n\n"
    "losses = {n: MetaLoss.with_inputs(1, 1, hidden=(4,), activation='elu') for n in (1, 5)}\n"
    "explorer(losses)",
    "drex": SHOW.format("drex", "episodes=4"),
    "bench": SHOW.format("bench", ""),
}
QUIET = {  # what would ask other machines, or ask the user
    "@jupyterlab/apputils-extension:announcements": True,
    "@jupyterlab/extensionmanager-extension": True,
}


def free_of(variables):
    "The environment without `variables`, and without what another server or kernel has set."
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "JPY_"))}
    return kept | variables


def address_of(folder, process, log):
    "Wait until the server says where it listens: on another port when the one it wanted is taken."
    note = folder / "runtime" / f"jpserver-{process.pid}.json"
    deadline = time.monotonic() + PATIENCE / 1000
    while not note.is_file() or not note.read_text(encoding="utf-8"):
        text = log.read_text(encoding="utf-8")
        assert process.poll() is None, f"the server stopped:\n{text}"
        assert time.monotonic() < deadline, f"the server does not start:\n{text}"
        time.sleep(0.2)
    return json.loads(note.read_text(encoding="utf-8"))["url"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    "A running JupyterLab with a notebook for each chapter: its address, and the file of its log."
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed (extra `notebook`)")
    folder = tmp_path_factory.mktemp("lab")
    settings = folder / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "page_config.json").write_text(json.dumps({"disabledExtensions": QUIET}))
    books = folder / "books"
    books.mkdir()
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for chapter, code in CELLS.items():
        cells = [nbformat.v4.new_code_cell(code)]
        book = nbformat.v4.new_notebook(metadata={"kernelspec": spec}, cells=cells)
        nbformat.write(book, books / f"{chapter}.ipynb")
    places = {f"JUPYTER_{name.upper()}_DIR": str(folder / name) for name in ("config", "data", "runtime")}
    environment = free_of(places | {"IPYTHONDIR": str(folder / "ipython"), "OMP_NUM_THREADS": "1"})
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    options = {"ip": "127.0.0.1", "port": port, "open_browser": False, "allow_root": True, "root_dir": books}
    words = [f"--ServerApp.{name}={value}" for name, value in options.items()]
    words += [f"--IdentityProvider.token={token}", "--LabApp.news_url=None"]
    log = folder / "log"
    with log.open("w") as file:
        program = [sys.executable, "-m", "jupyterlab", *words]
        process = subprocess.Popen(program, env=environment, stdout=file, stderr=file)
    try:
        yield address_of(folder, process, log), token, log
    finally:
        process.terminate()  # the server ends its kernels
        process.wait(60)


@pytest.fixture
def visit(browser, lab):
    "Give a function that opens a chapter's notebook; neither browser nor kernel may complain."
    address, token, log = lab
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    context.set_default_timeout(PATIENCE)
    outside, errors, start = [], [], log.stat().st_size

    def note(request):
        if not request.url.startswith((address, address.replace("http", "ws"), "data:", "blob:")):
            outside.append(request.url)

    def listen(socket):
        socket.on("framereceived", hear)

    def hear(frame):  # a message of the kernel; an error in what a slider calls is in no cell's output
        text = frame if isinstance(frame, str) else frame.decode(errors="replace")
        early = "No such comm" in text  # the page asks for widgets before the kernel has loaded any
        if "Traceback" in text or (re.search(r'"name": ?"stderr"', text) and not early):
            errors.append(text)

    def open_notebook(chapter):
        page = context.new_page()
        page.on("request", note)
        page.on("websocket", listen)
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: errors.append(str(e)))
        page.goto(f"{address}doc/tree/{chapter}.ipynb?token={token}", wait_until="domcontentloaded")
        return page

    yield open_notebook
    context.close()
    assert outside == [], "the page asked another host"
    assert errors == [], "the browser or the kernel reports errors"
    with log.open() as file:
        file.seek(start)
        text = file.read()
    assert not re.search(r"^Traceback|Error\b|Exception", text, re.MULTILINE), text


IDLE = re.compile(r"Python 3.* \| Idle")
SHOWN = """former => {
    const image = document.querySelector('.jp-Notebook .jp-OutputArea-output img');
    return image && image.naturalWidth > 100 && image.src !== former ? image.src : null;
}"""
READ = "source => fetch(source).then(r => r.arrayBuffer()).then(b => Array.from(new Uint8Array(b)))"


def picture(page, former=None):
    "Wait for a picture whose address is not `former`; give its address and its bytes."
    source = page.wait_for_function(SHOWN, arg=former).json_value()
    return source, bytes(page.evaluate(READ, source))


def move(page):
    "Move the first slider one step by the keyboard."
    handle = page.locator(".jp-OutputArea-output [role=slider]").first
    last = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    handle.focus()
    page.keyboard.press("ArrowLeft" if last else "ArrowRight")


@pytest.mark.parametrize("chapter", CELLS)
def test_an_explorer_opens_and_follows_its_slider(visit, chapter):
    page = visit(chapter)
    page.get_by_text(IDLE).wait_for()
    page.locator(".jp-Spinner").wait_for(state="detached")
    page.locator(".lm-MenuBar-item", has_text="Run").click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
    source, first = picture(page)
    move(page)
    assert picture(page, source)[1] != first
    page.wait_for_timeout(1000)  # for what the kernel may still have to say
    page.get_by_text(IDLE).wait_for()
