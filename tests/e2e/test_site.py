"""The built site in a real browser: no page asks the network, maths, search and sliders work.

Build the site first: `methodbook-dev pages build` (METHODBOOK_SITE names a site built elsewhere).
Chromium comes from the variable CHROMIUM or the search path.
"""

import functools
import http.server
import os
import re
import threading
from pathlib import Path

import pytest

from methodbook.pages import check_site

SITE = Path(os.environ.get("METHODBOOK_SITE", Path(__file__).parents[2] / "docs" / "_build" / "html"))
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENCE = 120_000  # milliseconds; a loaded machine is slow


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


@pytest.fixture
def visit(browser, address):
    "Give a function that opens a page and records what goes wrong; at the end nothing may have."
    contexts, outside, errors = [], [], []

    def note(request):
        if not request.url.startswith((address, "data:", "blob:")):
            outside.append(request.url)

    def open_page(name, viewport=WIDE, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
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


@pytest.mark.parametrize(
    ("words", "chapter"),
    [
        ("checkpoint", "core/"),
        ("empirical Fisher", "fisher/"),
        ("HeadView", "heads/"),
        ("MetaLoss", "ml3/"),
        ("drex", "drex/"),
        ("DecisionMatrix", "bench/"),
    ],
)
def test_search_finds_words_of_the_book(visit, address, words, chapter):
    page = visit("index.html")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input[type=search]").fill(words)
    page.keyboard.press("Enter")
    found = page.locator(f"ul.search li a[href*='{chapter}']").first
    found.wait_for(timeout=PATIENCE)
    found.click()
    page.wait_for_url(lambda url: not url.startswith(f"{address}search.html"))
    text = page.locator("article").text_content().lower()
    assert all(word in text for word in words.lower().split())


def test_no_link_leads_nowhere_and_nothing_is_loaded_from_elsewhere(address):
    assert check_site(SITE) == []


SLIDERS = r'"model_name": ?"\w*SliderModel"'  # as the page's widget state has them
DISPLAY_NAMES = ["wide light", "wide dark", "narrow light", "narrow dark"]
DISPLAYS = [(viewport, scheme) for viewport in (WIDE, NARROW) for scheme in ("light", "dark")]
SHOWN = """frame => {
    const seen = [...frame.querySelectorAll('img')].filter(i => i.offsetParent && i.naturalWidth > 1);
    return seen.length ? seen[0].src : null;
}"""


def move_sliders(page):
    "Move each slider of the page by the keyboard and see its picture change; give how many there are."
    frames = page.locator(".jupyter-widgets.widget-vbox:has([role=slider]):has(img)")
    frames.first.wait_for(timeout=PATIENCE)
    for place in range(frames.count()):
        frame = frames.nth(place)
        handle, picture = frame.locator("[role=slider]").first, frame.locator("img").first
        picture.scroll_into_view_if_needed()
        page.wait_for_function(f"frame => ({SHOWN})(frame) !== null", arg=frame.element_handle())
        former, value = frame.evaluate(SHOWN), handle.get_attribute("aria-valuenow")
        handle.focus()
        page.keyboard.press("ArrowRight" if value != handle.get_attribute("aria-valuemax") else "ArrowLeft")
        changed = f"([frame, former]) => ![null, former].includes(({SHOWN})(frame))"
        page.wait_for_function(changed, arg=[frame.element_handle(), former], timeout=PATIENCE)
        assert handle.get_attribute("aria-valuenow") != value
    return frames.count()


def test_the_keyboard_moves_every_slider(visit):
    names = pages_with(SLIDERS)
    chapters = {name.partition("/")[0] for name in names}
    assert chapters >= {"heads", "fisher", "ml3", "drex", "bench"}, "every chapter has a slider"
    for place, name in enumerate(names):  # each page on one of the displays
        page = visit(name, *DISPLAYS[place % len(DISPLAYS)])
        written = len(re.findall(SLIDERS, (SITE / name).read_text(encoding="utf-8")))
        assert move_sliders(page) == written, name
        page.close()


@pytest.mark.parametrize(("viewport", "scheme"), DISPLAYS, ids=DISPLAY_NAMES)
def test_a_slider_moves_on_every_display(visit, viewport, scheme):
    assert move_sliders(visit("core/plot.html", viewport, scheme)) == 1


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


@pytest.mark.parametrize(("viewport", "scheme"), DISPLAYS, ids=DISPLAY_NAMES)
def test_the_theme_follows_the_system(visit, address, viewport, scheme):
    names = ["index.html", *pages_with(SLIDERS)[:1]]
    for name in names:
        page = visit(name, viewport, scheme)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
        assert (brightness < 80) == (scheme == "dark"), background
        assert page.evaluate(BEYOND) <= 0
