"""Drives a headless Chromium by the DevTools protocol over a pipe: no library, no port.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def program():
    """The path of Chromium, or nothing."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Failure(Exception):
    pass


class Chromium:
    """A browser with one page. Use it in a `with` statement, which ends it."""

    def __init__(self, wait=20):
        self.wait = wait
        self.profile = tempfile.mkdtemp(prefix="ferry-chromium-")
        read_by_browser, self.to_browser = os.pipe()
        self.from_browser, written_by_browser = os.pipe()

        def take_descriptors():
            # Descriptors above 4 first, so that none is overwritten.
            os.dup2(read_by_browser, 103)
            os.dup2(written_by_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        command = [
            program(), "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
            "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none",
            f"--user-data-dir={self.profile}", "about:blank",
        ]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        self.process = subprocess.Popen(
            command, preexec_fn=take_descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_by_browser)
        os.close(written_by_browser)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(one for one in targets if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    # The protocol

    def message(self, end):
        while b"\0" not in self.buffer:
            rest = end - time.monotonic()
            if rest <= 0 or not select.select([self.from_browser], [], [], rest)[0]:
                raise Failure("Chromium does not answer.")
            data = os.read(self.from_browser, 1 << 16)
            if not data:
                raise Failure("Chromium ended.")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + self.wait
        while True:
            message = self.message(end)
            if message.get("id") == self.number:
                if "error" in message:
                    raise Failure(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    # The page

    def set(self, width=1280, height=900, dark=False, scale=1, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        self.call("Page.navigate", url=address)

    def value(self, expression):
        """The value of an expression of JavaScript, awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def until(self, expression, what=None):
        """Waits until an expression is true, and gives its value."""
        end = time.monotonic() + self.wait
        while time.monotonic() < end:
            found = self.value(expression)
            if found:
                return found
            time.sleep(0.05)
        raise Failure(f"{what or expression} did not come true. The page says: {self.text()[:1500]}")

    def text(self):
        return self.value("document.body ? document.body.innerText : ''")

    def key(self, name, text=None):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": codes.get(name, 0)}
            if kind == "keyDown" and (text or name == "Enter"):
                event["text"] = text or "\r"
            self.call("Input.dispatchKeyEvent", **event)

    def picture(self, path, whole=False):
        # Not in the middle of a transition. An endless one would never end.
        self.value("""Promise.allSettled(document.getAnimations()
            .filter((one) => one.effect.getComputedTiming().endTime < Infinity).map((one) => one.finished)).then(() => 1)""")
        parameters = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            parameters["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
            parameters["captureBeyondViewport"] = True
        data = self.call("Page.captureScreenshot", **parameters)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the browser complained of: errors of scripts, and violations of the policy."""
        found = []
        for event in self.events:
            details = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(details["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif event["method"] == "Log.entryAdded" and details["entry"]["level"] == "error":
                found.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")
            elif event["method"] == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
                found.append(str(details["args"]))
        return found

    def requests(self):
        """The addresses that the browser asked for."""
        return [one["params"]["request"]["url"] for one in self.events if one["method"] == "Network.requestWillBeSent"]
