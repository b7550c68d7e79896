"""A headless Chromium without a network, driven through a pipe by the DevTools protocol; no package is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
)  # fmt: skip
PATIENCE = 60  # seconds for an answer
EYES = """(() => {
    // What a reader cannot see whole: text that ends beyond the window, a box that hides it, its cell or its drawing.
    const cut = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode()); ) {
        const parent = node.parentElement;
        if (!node.data.trim() || parent.closest("script, style, details:not([open]) > :not(summary), text")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) {
            let hidden = box.left < -1 || box.right > innerWidth + 1;
            for (let e = parent; e && e !== document.body && !hidden; e = e.parentElement) {
                const shows = getComputedStyle(e).overflowX;
                if (shows !== "visible" && !e.closest("svg"))
                    hidden = box.right > e.getBoundingClientRect().right + 1;
            }
            if (hidden) { cut.push(node.data.trim().slice(0, 60)); break; }
        }
    }
    for (const cell of document.querySelectorAll("td, th")) {
        const inner = document.createRange();
        inner.selectNodeContents(cell);
        const box = inner.getBoundingClientRect(), room = cell.getBoundingClientRect();
        if (box.width && (box.right > room.right + 1 || box.left < room.left - 1))
            cut.push("cell: " + cell.textContent.trim());
    }
    for (const label of document.querySelectorAll("svg text")) {
        const box = label.getBoundingClientRect(), room = label.closest("svg").getBoundingClientRect();
        const tick = label.closest(".role-axis-label");
        if (tick && label.textContent.endsWith("\u2026")) cut.push("shortened: " + label.textContent);
        const shown = label.textContent && getComputedStyle(label).opacity > 0 && label.getAttribute("opacity") !== "0";
        if (shown && box.width && (box.right > room.right + 2 || box.left < room.left - 2))
            cut.push("chart: " + label.textContent);
    }
    return {
    charts: [...document.querySelectorAll(".chart")].map((place) => {
        const box = place.querySelector("svg")?.getBoundingClientRect();
        const entries = [...place.parentElement.querySelectorAll(".legend .entry")];
        const strokes = new Set([...place.querySelectorAll(".role-mark path, .role-mark text")].flatMap((mark) =>
            [getComputedStyle(mark).fill, getComputedStyle(mark).stroke]));
        return { drawn: place.dataset.drawn === "yes", width: box?.width ?? 0, height: box?.height ?? 0,
                 marks: place.querySelectorAll(".role-mark path, .role-mark text").length,
                 colours: Object.fromEntries(entries.map((e) =>
                     [e.textContent, getComputedStyle(e.querySelector("i")).backgroundColor])),
                 missing: entries.map((e) => getComputedStyle(e.querySelector("i")).backgroundColor)
                                 .filter((colour) => !strokes.has(colour)) };
    }),
    cut,
    overflow: document.scrollingElement.scrollWidth - innerWidth,
    ready: document.readyState === "complete"
           && (document.body.dataset.drawn === "yes" || !document.querySelector(".chart")),
    };
})()"""


def executable() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page: `open` it, `evaluate` in it; what it asked the network for and what it complained of are kept."""

    def __init__(self, into: FileIO, out: FileIO) -> None:
        self.into, self.out, self.rest, self.number, self.session = into, out, b"", 0, None
        self.dialogs = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def tell(self, method: str, **parameters: Any) -> int:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        self.into.write(json.dumps(message).encode() + b"\0")
        return self.number

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = self.tell(method, **parameters)
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.out], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE} seconds.")
            chunk = self.out.read(1 << 20)
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
        elif event == "Page.javascriptDialogOpening":
            self.dialogs += 1
            self.tell("Page.handleJavaScriptDialog", accept=True)
        elif event == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description", ""))) for a in said["args"]))
        elif event == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])

    def open(self, path: Path, width: int, height: int = 900, scheme: str = "light") -> dict[str, Any]:
        """What is to be seen once every chart is drawn."""
        self.resize(width, height)
        self.colours(scheme)
        self.ask("Page.navigate", url=path.resolve().as_uri())
        return self.wait(lambda seen: True)

    def resize(self, width: int, height: int = 900) -> None:
        phone = width < 600
        scale = 2 if phone else 1
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )

    def colours(self, scheme: str) -> None:
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def wait(self, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What is to be seen, once all is drawn and as it should be."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            seen = self.evaluate(EYES)
            if seen and seen["ready"] and until(seen):
                return seen
            time.sleep(0.1)
        raise TimeoutError(f"not drawn in {PATIENCE} seconds; the page complained: {self.complaints}")

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
    profiles = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # its helpers may write to the last
    with profiles as profile, pipe() as (hear, into), pipe() as (out, speak):

        def connect() -> None:
            """The browser listens on 3 and answers on 4, wherever those were."""
            os.dup2(hear.fileno(), 3)
            os.dup2(speak.fileno(), 4)

        process = subprocess.Popen(
            [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"], close_fds=False, preexec_fn=connect,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        speak.close()  # so that its end is noticed
        try:
            yield Browser(into, out)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


@contextmanager
def pipe() -> Iterator[tuple[FileIO, FileIO]]:
    """Two ends, numbered out of the way of those that the browser wants."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    with FileIO(high[0], "r") as reads, FileIO(high[1], "w") as writes:
        yield reads, writes
