# Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A headless Chromium, spoken to in its DevTools protocol over a pair of pipes: no packages are needed for it."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell")
    return os.environ.get("KPC_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Browser:
    """One page of one browser. What it says on its console and asks of the network is kept."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="kpc-chromium-")
        command_read, self._command = os.pipe()
        self._answer, answer_write = os.pipe()

        def place_pipes():  # the protocol's are 3 and 4
            ends = os.dup(command_read), os.dup(answer_write)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        # A user namespace of its own may be forbidden where tests run; the pages are kpc's.
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                   "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}"]
        self.process = subprocess.Popen([program, *options, "about:blank"], preexec_fn=place_pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_read)
        os.close(answer_write)
        self._bytes, self._number, self._session = b"", 0, None
        self.console, self.requests = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def _message(self, deadline):
        while b"\0" not in self._bytes:
            if not select.select([self._answer], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._answer, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self._bytes += part
        one, self._bytes = self._bytes.split(b"\0", 1)
        return json.loads(one)

    def _keep(self, message):
        method, facts = message.get("method", ""), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = facts["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(one.get("value", one.get("description"))) for one in facts["args"]))
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.console.append(facts["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])

    def ask(self, method, limit=60, **facts):
        self._number += 1
        message = {"id": self._number, "method": method, "params": facts}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._command, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + limit
        while True:
            answer = self._message(deadline)
            self._keep(answer)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, path, width, height=900, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.readyState === 'complete' && document.querySelectorAll('section').length > 0")
        # The figures are drawn for the window's width in a frame after the one that lays the page out.
        self.wait("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))")

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "the script failed"))
        return answer["result"].get("value")

    def wait(self, expression, limit=30):
        deadline = time.monotonic() + limit
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise TimeoutError("never became true: " + expression)
            time.sleep(0.05)

    def screenshot(self, path):
        picture = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def close(self):
        try:
            self.ask("Browser.close", limit=5)
        except (OSError, EOFError, TimeoutError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for end in (self._command, self._answer):
            os.close(end)
        self.folder.cleanup()
