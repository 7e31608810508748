# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that tells what a page did: console messages, requests, layout, pictures."""

import base64
import json
import pathlib
import shutil
import tempfile

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars", "--disable-dev-shm-usage", "--force-color-profile=srgb")
# Seconds of wall time: a busy machine is to make tests slow, not red, and only what hangs is waited for so long.
HANGS_S = 300
STARTS = 3


def missing():
    """What keeps the browser from starting here, '' for nothing."""
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: {package})"
    return ""


def own(folder, program):
    """A program that is this one, and ends with whoever starts it."""
    script = pathlib.Path(folder, program)
    script.write_text(f'#!/bin/sh\nexec setpriv --pdeathsig KILL {shutil.which(program)} "$@"\n')
    script.chmod(0o755)
    return str(script)


class Browser:
    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="delaycc-report-")
        for attempt in range(1, STARTS + 1):
            try:
                self.driver = self._start(f"{self._folder}/{attempt}")
                break
            except WebDriverException:  # selenium and chromedriver wait for each other by the clock
                if attempt == STARTS:
                    shutil.rmtree(self._folder, ignore_errors=True)
                    raise
        self.driver.set_script_timeout(HANGS_S)

    @staticmethod
    def _start(folder):
        options = Options()
        pathlib.Path(folder).mkdir()
        options.binary_location = own(folder, "chromium")
        for flag in FLAGS:
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={folder}/profile")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        return webdriver.Chrome(service=Service(own(folder, "chromedriver")), options=options)

    def close(self):
        self.driver.quit()
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(self, path, width=1440, height=900, dark=False, wait_ready=True):
        """Shows the page at `path`; the logs begin anew."""
        cdp = self.driver.execute_cdp_cmd
        cdp("Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        cdp("Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.resolve().as_uri())
        if wait_ready:
            WebDriverWait(self.driver, HANGS_S, poll_frequency=0.05).until(
                lambda d: d.execute_script("return document.documentElement.dataset.ready") == "yes")
        self.settle()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def settle(self):
        """Waits until what was asked to be drawn is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));")

    def console(self):
        """Messages of the console, of any level, since open() or the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """URLs the page asked for since open(), its own excepted, data: too."""
        urls = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(message["params"]["request"]["url"])
        own = self.driver.current_url.split("#")[0]
        return [u for u in urls if u.split("#")[0] != own and not u.startswith("data:")]

    def picture(self, path, whole=True):
        """Writes a PNG of the page (whole) or of the window."""
        if whole:
            # Bring every part near once: charts far below the fold are drawn when they come near.
            size = self.js("return [document.documentElement.clientWidth, document.documentElement.scrollHeight]")
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False})
            self.settle()
            self.settle()
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))
