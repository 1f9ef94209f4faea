"""`re.search` in a separate process: a search that takes forever can only be stopped by killing its process."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from threading import Lock, Timer
from typing import BinaryIO, cast

from medcontract.errors import CallError

SECONDS = 1.0
"""The time limit of one search. On a busy computer a shorter one would reject harmless patterns."""
_SCRIPT = f"""
import json, re, sys, warnings
warnings.simplefilter("ignore")
try:
    from signal import alarm
except ImportError:
    def alarm(seconds): pass
answer = sys.stdout.buffer
answer.write(b"r")
answer.flush()
for line in sys.stdin.buffer:
    alarm({int(SECONDS) + 10})  # in case the parent process is gone
    pattern, text = json.loads(line)
    found = re.search(pattern, text) is not None
    alarm(0)
    answer.write(b"1" if found else b"0")
    answer.flush()
"""


class TooSlow(Exception):
    """Matching the pattern takes too long."""


def search_in_time(pattern: str, text: str) -> bool:
    """Whether `re` finds a (valid) pattern in a text. Raises `TooSlow` after a second."""
    with _lock:
        return _helper.search(pattern, text)


class _Helper:
    """One process, started when it is first needed and again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def search(self, pattern: str, text: str) -> bool:
        process = self._process = self._process or _start()
        questions, answers = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            questions.write(json.dumps([pattern, text]).encode() + b"\n")
            questions.flush()
            answer = answers.read(1)
        except OSError:
            answer = b""
        finally:
            timer.cancel()
        if not answer:
            self.stop()
            raise TooSlow
        return answer == b"1"

    def stop(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()


def _start() -> subprocess.Popen[bytes]:
    """Start the process. With -I and -S it imports modules neither from the current folder nor from site-packages."""
    process = subprocess.Popen(  # noqa: S603  # a constant script
        [sys.executable, "-I", "-S", "-c", _SCRIPT],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if cast(BinaryIO, process.stdout).read(1) != b"r":
        process.communicate()
        raise CallError("a pattern with lookaround or backreferences needs a separate process, which cannot be started")
    return process


_lock = Lock()
_helper = _Helper()
atexit.register(_helper.stop)
