"""A headless Chromium over its debugging pipe, with the standard library alone: what a page does, and how it looks."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import select
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Every name resolves to nothing, so that a page that asks a network is seen to fail; profiles and crashes stay local.
_OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync --disable-default-apps "
    "--disable-extensions --disable-crash-reporter --remote-debugging-pipe"
).split()
_SECONDS = 120.0

# Keys by their names in scripts, with the codes of Windows that a browser goes by.
_KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, " ": 32}
_KEYS |= {"PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}


class Chromium:
    """A running browser: `call` sends a command and waits for its answer; events that come meanwhile are kept."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Return what the browser answers; RuntimeError with its reason where it refuses."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        message |= {"sessionId": session} if session else {}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait(self, method: str, session: str) -> None:
        def found(event: dict[str, Any]) -> bool:
            return event.get("method") == method and event.get("sessionId") == session

        while not any(map(found, self.events)):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium ended" if ready else f"Chromium did not answer within {_SECONDS:g} s")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, url: str, *, width: int, dark: bool = False, media: str = "", calm: bool = False) -> Tab:
        """Return a tab that has loaded a page; media: "print"; calm: whether the reader asked for less motion."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", session)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session, **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"}
        self.call("Emulation.setEmulatedMedia", session, media=media, features=[scheme, motion])
        self.events = [event for event in self.events if event.get("sessionId") != session]
        self.call("Page.navigate", session, url=url)
        self.wait("Page.loadEventFired", session)
        return Tab(self, session)


class Tab:
    """An open page: what it said and asked for, and what a script finds in it."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session

    def _events(self, *methods: str) -> Iterator[dict[str, Any]]:
        for event in self._browser.events:
            if event.get("sessionId") == self._session and event["method"] in methods:
                yield event["params"]

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression, or what its promise keeps; RuntimeError where it throws or breaks."""
        how = {"awaitPromise": True, "returnByValue": True}
        answer = self._browser.call("Runtime.evaluate", self._session, expression=script, **how)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Return when an expression is true; RuntimeError if it is not within half a minute."""
        script = f"""new Promise((kept, broken) => {{
          const begun = Date.now(), look = () => {{
            if ({condition}) kept();
            else if (Date.now() - begun > 30000) broken(new Error("never true"));
            else setTimeout(look, 15);
          }};
          look();
        }})"""
        answer = self._browser.call("Runtime.evaluate", self._session, expression=script, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{condition}: {answer['exceptionDetails']['exception']['description']}")

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, "ArrowLeft" or " ", as a reader does: it goes to what has the focus."""
        code = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": _KEYS[key]}
        text = {"text": key} if key == " " else {}
        for _ in range(times):
            self._input("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **code, **text)
            self._input("Input.dispatchKeyEvent", type="keyUp", **code)

    def point(self, x: float, y: float, click: bool = False) -> None:
        self._input("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self._input("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def middle(self, element: str) -> tuple[float, float]:
        """Return the middle of what an expression gives, an element, after scrolling it into sight."""
        script = f"""(() => {{ const element = {element};
          element.scrollIntoView({{ block: "center" }});
          const box = element.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        x, y = self.evaluate(script)
        return x, y

    def _input(self, method: str, **params: Any) -> None:
        self._browser.call(method, self._session, **params)

    def printed_pages(self) -> int:
        """Return how many sheets of A4 the page takes in print."""
        pdf = self._browser.call("Page.printToPDF", self._session, paperWidth=8.27, paperHeight=11.69)
        return len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(pdf["data"])))

    @property
    def messages(self) -> list[str]:
        events = self._events("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(params) for params in events]

    @property
    def requests(self) -> list[str]:
        urls = (params["request"]["url"] for params in self._events("Network.requestWillBeSent"))
        return [url for url in urls if not url.startswith("data:")]

    @property
    def failures(self) -> list[str]:
        failed = self._events("Network.loadingFailed")
        return [params["errorText"] or params.get("blockedReason", "") for params in failed]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Start a browser with a profile of its own, and end it after the last test."""
    program, profile = next(filter(None, map(shutil.which, _NAMES)), None), tmp_path_factory.mktemp("profile")
    if program is None:
        pytest.skip("Chromium or Chrome: install one of them, as Debian's package chromium")
    (answers, their_answers), (their_commands, commands) = _pipe(), _pipe()
    quiet = os.open(os.devnull, os.O_RDWR)
    # It reads commands from descriptor 3 and answers on 4.
    actions = [(os.POSIX_SPAWN_DUP2, quiet, descriptor) for descriptor in (0, 1, 2)]
    actions += [(os.POSIX_SPAWN_DUP2, their_commands, 3), (os.POSIX_SPAWN_DUP2, their_answers, 4)]
    argv = [program, *_OPTIONS, f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    process = os.posix_spawn(program, argv, os.environ, file_actions=actions)
    for descriptor in (their_commands, their_answers, quiet):
        os.close(descriptor)
    try:
        started = Chromium(answers, commands)
        yield started
        started.call("Browser.close")
    finally:
        # Without its pipe the browser ends by itself, whatever happened here.
        os.close(commands)
        os.close(answers)
        os.waitpid(process, 0)


def _pipe() -> tuple[int, int]:
    """Return the reading and the writing end of a pipe, numbered above the descriptors that the browser is given."""
    ends = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return read, write


# For every element with text of its own: its selector, and the contrast of its colour to what is painted behind it.
CONTRASTS = Path(__file__).with_name("contrasts.js").read_text(encoding="utf-8")
