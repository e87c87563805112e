"""Drives headless Chromium over its DevTools protocol, through a pipe: nothing but the standard library is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_TIMEOUT_S = 60.0


def find_chromium() -> str | None:
    """The browser's path; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A browser with one page.

    Attributes:
        problems: Errors and warnings of the page's console, exceptions and refused requests.
        requests: Addresses that the page asked for.
    """

    def __init__(self, browser: str, profile: Path) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The protocol's pipe is file descriptors 3 and 4 of the browser.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
        options += ["--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, browser, *options, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session, self._events = b"", 0, "", set[str]()
        self._context = ""
        self.renew()

    def renew(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Begin with an empty page of that size that knows nothing of those before it."""
        self._session = ""
        if self._context:
            self._call("Target.disposeBrowserContext", browserContextId=self._context)
        self._context = self._call("Target.createBrowserContext")["browserContextId"]
        target = self._call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.problems.clear()
        self.requests.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer(dark=dark)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size; a narrow one is a phone's."""
        phone = width < 600
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, *, dark: bool) -> None:
        """Let the system prefer dark or light colours."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)

    def open(self, path: Path) -> float:
        """Open a file and return the seconds until it was loaded."""
        self._events.clear()
        begin = time.monotonic()
        self._call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._take(self._read())
        return time.monotonic() - begin

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        found = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(str(found["exceptionDetails"])[:500])
        return found["result"].get("value")

    def wait_for(self, script: str, seconds: float = 20.0) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and release a key, as a keyboard does."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        code = {"Enter": 13, " ": 32, "Tab": 9}.get(key, 0)
        fields: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code}
        self._call("Input.dispatchKeyEvent", type="keyDown", **fields, **({"text": text} if text else {}))
        self._call("Input.dispatchKeyEvent", type="keyUp", **fields)

    def type(self, text: str) -> None:
        """Type text where the focus is."""
        self._call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of what is in view, or of the whole page."""
        clip = {}
        if whole:
            size = self._call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        found = self._call("Page.captureScreenshot", captureBeyondViewport=whole, **clip)
        path.write_bytes(base64.b64decode(found["data"]))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self._take(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], _TIMEOUT_S)
            chunk = os.read(self._in, 1 << 20) if ready else b""
            assert chunk, "the browser does not answer"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _take(self, event: dict[str, Any]) -> None:
        method, params = event.get("method", ""), event.get("params", {})
        self._events.add(method)
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(f"{params['type']}: {[item.get('value') for item in params['args']]}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
