"""The built site in a real browser: no page asks the network, maths, search and sliders work.

Build the site first: `methodbook-dev pages build` (METHODBOOK_SITE names a site built elsewhere).
Chromium comes from the variable CHROMIUM or the search path.
"""

import functools
import http.server
import os
import re
import shutil
import threading
from pathlib import Path

import pytest

SITE = Path(os.environ.get("METHODBOOK_SITE", Path(__file__).parents[2] / "docs" / "_build" / "html"))
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
BLOCK = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # unlike routes, this leaves the cache in use
)
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


class Quiet(http.server.SimpleHTTPRequestHandler):
    "A server of files that writes no log."

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address():
    "Serve the built site on this machine."
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built; run `methodbook-dev pages build` first")
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    "Start the system's Chromium."
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (extra `dev`)"
    )
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, filter(None, names))), None)
    if program is None:
        pytest.skip("no Chromium on this machine; install it or name it in the variable CHROMIUM")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=[*FLAGS, BLOCK])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, address):
    "Give a function that opens a page and records what goes wrong; at the end nothing may have."
    contexts, outside, errors = [], [], []

    def note(request):
        if not request.url.startswith((address, "data:", "blob:")):
            outside.append(request.url)

    def open_page(name, viewport=WIDE, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("request", note)
        page.on("console", lambda m: errors.append(f"{page.url}: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda e: errors.append(f"{page.url}: {e}"))
        page.on("response", lambda r: errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.goto(address + name, wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert outside == [], "a page asked another host"
    assert errors == [], "the browser reports errors"


def pages_with(pattern):
    "List the built pages whose HTML has `pattern`."
    found = (
        page.relative_to(SITE).as_posix()
        for page in sorted(SITE.rglob("*.html"))
        if "_static" not in page.parts
    )
    return [name for name in found if re.search(pattern, (SITE / name).read_text(encoding="utf-8"))]


def typeset(page):
    "Wait until MathJax has typeset the page."
    page.wait_for_function("() => window.MathJax?.startup?.promise !== undefined")
    page.evaluate("() => window.MathJax.startup.promise.then(() => true)")


def test_maths_is_typeset(visit, address):
    names = pages_with(r'class="math[ "]')
    assert names, "the book has equations"
    page = visit(names[0])
    typeset(page)
    assert page.locator("mjx-container svg").count() >= page.locator(".math").count() > 0
    assert page.locator("mjx-merror").count() == 0


@pytest.mark.parametrize("words", ["checkpoint", "empirical Fisher"])
def test_search_finds_words_of_the_book(visit, address, words):
    page = visit("index.html")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input[type=search]").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_selector("ul.search li a", timeout=20_000)
    page.locator("ul.search li a").first.click()
    page.wait_for_url(lambda url: not url.startswith(f"{address}search.html"))
    text = page.locator("article").text_content().lower()
    assert all(word in text for word in words.lower().split())


def shown_picture(page):
    "Give the source of the slider's picture that can be seen, None before there is one."
    return page.evaluate(
        """() => [...document.querySelectorAll('.jupyter-widgets img')]
                 .filter(image => image.offsetParent && image.naturalWidth > 1)
                 .map(image => image.src)[0] ?? null"""
    )


def test_the_keyboard_moves_a_slider(visit, address):
    names = pages_with("application/vnd.jupyter.widget-view")
    assert names, "the book has sliders"
    page = visit("core/plot.html" if "core/plot.html" in names else names[0])
    handle = page.locator(".jupyter-widgets .noUi-handle, .jupyter-widgets [role=slider]").first
    handle.wait_for(timeout=20_000)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jupyter-widgets img')].some(image => image.naturalWidth > 1)"
    )
    first, value = shown_picture(page), handle.get_attribute("aria-valuenow")
    assert first
    handle.focus()
    page.keyboard.press("ArrowRight" if value != handle.get_attribute("aria-valuemax") else "ArrowLeft")
    page.wait_for_timeout(500)  # the widgets hand the value on in a later turn of the event loop
    assert handle.get_attribute("aria-valuenow") != value
    assert shown_picture(page) != first


BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_all_pages_fit_their_window_and_have_no_broken_equation(visit, address):
    page = visit("index.html")
    for name in pages_with("<article"):
        page.set_viewport_size(WIDE)
        page.goto(address + name, wait_until="load")
        if page.locator(".math").count():
            typeset(page)
        broken = page.locator("[data-mml-node='merror']")
        assert broken.count() == 0, f"{name}: {broken.first.text_content()}"
        assert page.evaluate(BEYOND) <= 0, f"{name} is wider than its window"
        page.set_viewport_size(NARROW)
        assert page.evaluate(BEYOND) <= 0, f"{name} is wider than a narrow window"


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system(visit, address, viewport, scheme):
    names = ["index.html", *pages_with("application/vnd.jupyter.widget-view")[:1]]
    for name in names:
        page = visit(name, viewport, scheme)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
        assert (brightness < 80) == (scheme == "dark"), background
        assert page.evaluate(BEYOND) <= 0
