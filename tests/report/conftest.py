# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def out_dir():
    """Pages and pictures of the tests, kept to be looked at."""
    path = ROOT / "build" / "report-tests"
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="session")
def renderer():
    """The program delaycc-report-render: DELAYCC_REPORT_RENDER, or the project's, or one built here."""
    named = os.environ.get("DELAYCC_REPORT_RENDER")
    if named:
        return pathlib.Path(named)
    built = ROOT / "build" / "delaycc-report-render"
    if built.exists():
        return built
    build = ROOT / "build" / "report"
    subprocess.run(["cmake", "-S", ROOT / "harness" / "report", "-B", build], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "-j2"], check=True, stdout=subprocess.DEVNULL)
    return build / "delaycc-report-render"


@pytest.fixture(scope="session")
def render(renderer, out_dir):
    """render(data, name) writes the page of `data` and returns its path."""

    def run(data, name):
        source = out_dir / f"{name}.json"
        page = out_dir / f"{name}.html"
        # Whole or not at all: another process may render the same data at the same time.
        with tempfile.TemporaryDirectory(dir=out_dir) as made:
            own_source, own_page = pathlib.Path(made, source.name), pathlib.Path(made, page.name)
            own_source.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
            done = subprocess.run([renderer, own_source, own_page], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            own_source.replace(source)
            own_page.replace(page)
        return page

    return run


class Start:
    """The browser, or why there is none; the first test to ask says it."""

    running = why = told = None


@pytest.fixture(scope="session")
def browser_start():
    try:
        import browser as module
    except ImportError:
        pytest.skip("selenium is not installed (Debian: python3-selenium)")
    reason = module.missing()
    if reason:
        pytest.skip(reason)
    start = Start()
    try:
        start.running = module.Browser()
    except Exception as error:  # whatever selenium has for it
        start.why = f"the browser does not start: {str(error).strip().splitlines()[0]}"
    yield start
    if start.running:
        start.running.close()


@pytest.fixture
def browser(browser_start, request):
    if browser_start.running:
        return browser_start.running
    if browser_start.told:
        pytest.skip(f"the browser does not start: {browser_start.told} says why")
    browser_start.told = request.node.name
    pytest.fail(browser_start.why, pytrace=False)
