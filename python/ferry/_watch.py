"""`ferry watch` as an iterator."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ._command import Command, failure
from ._errors import COMMAND_ENDED, UNREADABLE_REPORT, FerryError
from ._reading import read
from ._reports import SyncReport

#: What is shown of the command's complaint where it ends without a report.
LONGEST_COMPLAINT = 4096


@dataclass(frozen=True)
class Event:
    """Something that `ferry watch` tells."""

    #: `started`, `synced`, `databaseChanged`, `failed`, `following`, `leading`, `reopened` or `stopped`; later versions may add some.
    kind: str
    #: The database's path.
    database: str
    #: With `synced`: what was done.
    report: SyncReport | None = None
    #: With `failed`: what went wrong. The watch goes on.
    error: FerryError | None = None


class Watch(Iterator[Event]):
    """A running `ferry watch`, and the iterator of its events.

    Begins when it is made, ends with `close` or at the end of a `with`. The events end with `stopped`. Where the watch cannot go on,
    because the database was left or deleted, the iterator raises `FerryError`.

    One thread iterates; any other may call `stop`.
    """

    def __init__(self, command: Command, path: str) -> None:
        self.path = path
        # A file rather than a pipe: nobody needs to read it while the watch runs.
        self._complaints = tempfile.TemporaryFile()
        self._last_failure: dict[str, Any] | None = None
        self._process = subprocess.Popen(
            [command.program, "watch", path, "--json", "--quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self._complaints, env=command.full_environment())

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Event:
        output = self._process.stdout
        while output is not None and not output.closed:
            line = output.readline()
            if not line:
                self._end()
                break
            event = self._event(line)
            if event is not None:
                return event
        raise StopIteration

    def stop(self) -> None:
        """Asks the watch to end. A running pass is finished first; the iterator gives the last events, and ends."""
        if self._process.poll() is None:
            self._process.terminate()

    def close(self) -> None:
        """Ends the watch and waits for its end. Events that nobody took are lost."""
        self.stop()
        output = self._process.stdout
        if output is not None and not output.closed:
            while output.read(65536):
                pass
        self._process.wait()
        self._release()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A watch that nobody closed ends with its last user.
        if hasattr(self, "_process"):
            self.close()

    def _event(self, line: bytes) -> Event | None:
        """The event of a line; `None` for the failure with which the command ends."""
        try:
            told = json.loads(line)
            kind = str(told["event"]) if "event" in told else None
            database = str(told.get("database", self.path))
        except (ValueError, TypeError) as error:
            raise FerryError(UNREADABLE_REPORT, f"The command gave a line that is no event: {line[:200]!r}", 0) from error
        if kind is None:
            self._last_failure = told
            return None
        if kind == "failed":
            self._last_failure = told
            return Event(kind, database, error=failure(told, 0))
        if kind == "synced":
            self._last_failure = None
            return Event(kind, database, report=read(SyncReport, told))
        return Event(kind, database)

    def _end(self) -> None:
        """Raises the reason where the command ended with a failure."""
        status = self._process.wait()
        complaint = self._complaint() if status != 0 else ""
        self._release()
        if status == 0:
            return
        if self._last_failure is not None and "error" in self._last_failure:
            raise failure(self._last_failure, status)
        raise FerryError(COMMAND_ENDED, complaint or f"`ferry watch` ended with status {status}.", status)

    def _complaint(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read(LONGEST_COMPLAINT).decode("utf-8", "replace").strip()

    def _release(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._complaints.close()
