"""The one exception of this package."""

from __future__ import annotations

from typing import Any

#: Codes of this package; every other code is one of the command's (Docs/CommandLine.md, "Exit status").
COMMAND_MISSING = "commandMissing"
COMMAND_ENDED = "commandEnded"
UNREADABLE_REPORT = "unreadableReport"


class FerryError(Exception):
    """A failure of the command.

    Scripts rely on `code`; `message` says what failed and what to do. Status 75 means: try again.

    - `code`: as the command tells it, such as `notTracked` or `busy`; or `commandMissing` (there is no command `ferry`),
      `commandEnded` (by a signal, or without a report), `unreadableReport` (the command is of another version).
    - `message`: a sentence for people.
    - `exit_status`: the command's, of sysexits(3); the negative number of a signal that ended the command; 127 without a command.
    - `path`: the file or folder concerned, where one is known.
    - `report`: what the command did in spite of the failure, as its JSON; empty where it did nothing.
    """

    def __init__(
        self, code: str, message: str, exit_status: int, path: str | None = None, report: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.exit_status = exit_status
        self.path = path
        self.report = report or {}

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"FerryError({self.code!r}, {self.message!r}, {self.exit_status})"
