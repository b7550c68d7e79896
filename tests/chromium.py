"""A headless Chromium without a network, driven through a pipe by the DevTools protocol; no package is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
)  # fmt: skip
PATIENCE = 60  # seconds for an answer
EYES = """(() => ({
    charts: [...document.querySelectorAll(".chart")].map((place) => {
        const box = place.querySelector("svg")?.getBoundingClientRect();
        return { drawn: place.dataset.drawn === "yes", width: box?.width ?? 0, height: box?.height ?? 0,
                 marks: place.querySelectorAll(".mark-symbol path, .mark-rect path, .mark-text text").length };
    }),
    overflow: document.scrollingElement.scrollWidth - innerWidth,
    ready: document.readyState === "complete"
           && (document.body.dataset.drawn === "yes" || !document.querySelector(".chart")),
}))()"""


def executable() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page: `open` it, `evaluate` in it; what it asked the network for and what it complained of are kept."""

    def __init__(self, into: int, out: int) -> None:
        self.into, self.out, self.rest, self.number, self.session = into, out, b"", 0, None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.out], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE} seconds.")
            chunk = os.read(self.out, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser ended.")
            self.rest += chunk
        message, self.rest = self.rest.split(b"\0", 1)
        answer = json.loads(message)
        self.note(answer.get("method", ""), answer.get("params", {}))
        return answer

    def note(self, event: str, said: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(said["exceptionDetails"]["text"])
        elif event == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description", ""))) for a in said["args"]))
        elif event == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])

    def open(self, path: Path, width: int, height: int = 900, scheme: str = "light") -> dict[str, Any]:
        """What is to be seen once every chart is drawn."""
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=2 if phone else 1, mobile=phone)  # fmt: skip
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            seen = self.evaluate(EYES)
            if seen and seen["ready"]:
                return seen
            time.sleep(0.1)
        raise TimeoutError(f"{path} was not drawn in {PATIENCE} seconds; it complained: {self.complaints}")

    def evaluate(self, expression: str) -> Any:
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self, path: Path) -> None:
        """The whole page, as long as it is."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    program = executable()
    if program is None:
        raise FileNotFoundError(f"no browser is installed: one of {', '.join(NAMES)} is needed (`make browser`).")
    reads, writes = os.pipe(), os.pipe()  # the browser reads from 3 and writes to 4
    with tempfile.TemporaryDirectory() as profile:
        command = f'exec "$0" "$@" 3<&{reads[0]} 4>&{writes[1]}'
        process = subprocess.Popen(
            ["sh", "-c", command, program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(reads[0], writes[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(reads[0])
        os.close(writes[1])
        try:
            yield Browser(reads[1], writes[0])
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)
            os.close(reads[1])
            os.close(writes[0])
