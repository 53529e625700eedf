"""A temporary folder with databases and a container, and the command that FERRY_COMMAND names."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import unittest

import ferry

MUSIC = """
    CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL, picture BLOB, plays INTEGER, rating REAL);
    INSERT INTO artist VALUES (1, 'Clara Schumann', x'00ff', 3, 4.5), (2, 'Amy Beach', NULL, NULL, NULL);
    """


def reason_to_skip() -> str | None:
    """Why tests that need the command cannot run; `None` where they can."""
    try:
        ferry.Command.find()
    except ferry.FerryError as error:
        return f"{error} These tests need it."
    return None


@unittest.skipIf(reason_to_skip(), reason_to_skip() or "")
class Workshop(unittest.TestCase):
    """A test with a laptop (`a.sqlite`) and a phone (`b.sqlite`)."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="ferry-python-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {"FERRY_KEYS": self.path("keys")}
        self.command = ferry.Command.find(environment=self.environment)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def sql(self, name: str, script: str) -> list[tuple[object, ...]]:
        """Runs SQL as the app would, and gives the rows of the last statement."""
        with sqlite3.connect(self.path(name), timeout=10, isolation_level=None) as connection:
            rows: list[tuple[object, ...]] = []
            for statement in filter(str.strip, script.split(";")):
                rows = connection.execute(statement).fetchall()
        connection.close()
        return rows

    def begin(self) -> ferry.Database:
        self.sql("a.sqlite", MUSIC)
        ferry.call(
            "init", self.path("a.sqlite"), self.path("shared"), "--name", "laptop", "--open", command=self.command)
        return self.open("a.sqlite")

    def begin_two(self) -> tuple[ferry.Database, ferry.Database]:
        laptop = self.begin()
        ferry.call("join", self.path("b.sqlite"), self.path("shared"), "--name", "phone", command=self.command)
        laptop.sync()
        return laptop, self.open("b.sqlite")

    def open(self, name: str) -> ferry.Database:
        return ferry.open(self.path(name), environment=self.environment)
