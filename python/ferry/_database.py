"""A database that belongs to a container."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._command import Command
from ._reading import read
from ._reports import Conflict, ConflictList, HiddenRow, RestoredRow, Status, SyncReport
from ._watch import Watch


def open(
    path: str | os.PathLike[str], *, command: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Database:
    """Opens a database that was made by `ferry init` or `ferry join`.

    Asks for the status once, so that a missing database, or one without a container, is told now (`FerryError`).

    - `command`: the program `ferry`; without it `FERRY_COMMAND`, else `ferry` in PATH.
    - `environment`: variables for the command, such as `FERRY_KEYS`.
    """
    database = Database(path, Command.find(command, environment))
    database.status()
    return database


class Database:
    """Runs the command on one database. Holds nothing open between two calls; every call may come from any thread."""

    def __init__(self, path: str | os.PathLike[str], command: Command) -> None:
        name = os.fspath(path)
        # A name with a leading dash would be an option.
        self.path = os.path.join(".", name) if name.startswith("-") else name
        self.command = command

    def __repr__(self) -> str:
        return f"<ferry.Database {self.path!r}>"

    def call(self, verb: str, *arguments: str, input: str | None = None) -> dict[str, Any]:
        """Runs any verb on this database and returns its JSON: ``music.call("devices", "list")``."""
        return self.command.run([verb, self.path, *arguments], input)

    def sync(self) -> SyncReport:
        """Makes one pass both ways.

        Raises `FerryError` where the container is away, or where another device's files are damaged. In the latter case everything
        else is done, and the error has the `report`.
        """
        return read(SyncReport, self.call("sync"))

    def status(self) -> Status:
        """Compares this device with the others. Changes nothing."""
        return read(Status, self.call("status"))

    def conflicts(self, *, table: str | None = None, kind: str | None = None, resolved: bool = False) -> list[Conflict]:
        """The losses of concurrent writes, newest first: those that nobody resolved, or with `resolved` the others.

        `kind` is `field`, `deleted`, `revived` or `joined`.
        """
        options = ["list", "--all", *_option("--table", table), *_option("--kind", kind)]
        return self._listing(options + (["--resolved"] if resolved else [])).conflicts

    def hidden(self, *, table: str | None = None) -> list[HiddenRow]:
        """The rows that are hidden, or joined to another row, and why."""
        return self._listing(["list", "--hidden", "--all", *_option("--table", table)]).hidden

    def _listing(self, options: list[str]) -> ConflictList:
        return read(ConflictList, self.call("conflicts", *options))

    def restore(self, conflict: Conflict | int) -> RestoredRow:
        """Brings back what was lost, as an ordinary change. The next sync sends it."""
        return read(RestoredRow, self.call("conflicts", "restore", str(_number(conflict))))

    def resolve(self, *conflicts: Conflict | int) -> int:
        """Takes conflicts off the list. Returns how many."""
        if not conflicts:
            return 0
        return int(self.call("conflicts", "resolve", *(str(_number(one)) for one in conflicts))["resolved"])

    def watch(self) -> Watch:
        """Keeps the database in step, and gives the events, until the watch is closed::

            with music.watch() as events:
                for event in events:
                    print(event.kind)
        """
        return Watch(self.command, self.path)


def _number(conflict: Conflict | int) -> int:
    return conflict.number if isinstance(conflict, Conflict) else conflict


def _option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [name, value]
