"""Runs the command `ferry` and reads its JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._errors import COMMAND_ENDED, COMMAND_MISSING, UNREADABLE_REPORT, FerryError

#: Names the command where it does not lie in PATH.
VARIABLE = "FERRY_COMMAND"


@dataclass(frozen=True)
class Command:
    """The command, and the environment in which it runs."""

    program: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def find(program: str | os.PathLike[str] | None = None, environment: Mapping[str, str] | None = None) -> Command:
        """Finds the command: `program`, else the environment variable `FERRY_COMMAND`, else `ferry` in PATH.

        `environment` is added to the environment of this process, `FERRY_KEYS` for one.
        """
        wanted = os.fspath(program) if program else os.environ.get(VARIABLE) or "ferry"
        found = shutil.which(wanted)
        if found is None:
            raise FerryError(
                COMMAND_MISSING,
                f"There is no command {wanted!r}. Install Ferry, or name the command by {VARIABLE}.", 127, path=wanted)
        return Command(found, dict(environment or {}))

    def run(self, arguments: Sequence[str], input: str | None = None) -> dict[str, Any]:
        """Runs a verb with `--json` and returns its object. `input` goes to standard input, a code for one."""
        ended = subprocess.run(
            self.words(arguments), input=input or "", capture_output=True, text=True, encoding="utf-8",
            errors="replace", env=self.full_environment(), check=False)
        return self.report(ended.stdout, ended.stderr, ended.returncode)

    def words(self, arguments: Sequence[str]) -> list[str]:
        """The words of a verb's command line with `--json`, which stands before `--`: what follows `--` is no option."""
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return [self.program, *arguments[:end], "--json", *arguments[end:]]

    def full_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    @staticmethod
    def report(output: str, errors: str, status: int) -> dict[str, Any]:
        """The object on standard output. Raises the failure that the object or the exit status tells."""
        try:
            report = json.loads(output)
        except ValueError:
            report = None
        if not isinstance(report, dict):
            said = (errors.strip() or output.strip()).splitlines()[-1:]
            reason = said[0] if said else f"It ended with status {status} and said nothing."
            if status == 0:
                raise FerryError(UNREADABLE_REPORT, f"The command gave no JSON object: {reason}", status)
            raise FerryError(COMMAND_ENDED, f"The command ended without a report: {reason}", status)
        if "error" in report:
            raise failure(report, status)
        if status != 0:
            raise FerryError(COMMAND_ENDED, f"The command ended with status {status}.", status, report=report)
        return report


def failure(report: Mapping[str, Any], status: int) -> FerryError:
    """The failure in an object that has an `error`."""
    error = report["error"]
    rest = {key: value for key, value in report.items() if key not in ("error", "event")}
    return FerryError(
        str(error.get("code", COMMAND_ENDED)), str(error.get("message", "")), status, path=error.get("path"), report=rest)


def call(
    verb: str, *arguments: str | os.PathLike[str], input: str | None = None, command: Command | None = None
) -> dict[str, Any]:
    """Runs any verb with `--json` and returns its object, as Docs/JSON.md describes it.

    For verbs without a method of their own: ``ferry.call("join", "music.sqlite", "/home/me/Sync/music", "--code", "-", input=code)``.
    """
    return (command or Command.find()).run([verb, *(os.fspath(argument) for argument in arguments)], input)
