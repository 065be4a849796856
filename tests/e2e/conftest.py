"""The browser of the tests that look at pages: the system's Chromium, cut off from every other machine."""

import os
import shutil

import pytest

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
BLOCK = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # unlike routes, this leaves the cache in use
)


@pytest.fixture(scope="module")
def browser():
    "Start the system's Chromium, named by the variable CHROMIUM or found in the search path."
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
