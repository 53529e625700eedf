#!/usr/bin/env python3
"""Runs every SQL script below a folder on a plain database and on one that Ferry tracks: `make transparency CORPUS=folder`.

    corpus.py FERRY FOLDER [--only SUBSTRING] [--keys] [--from N] [--count N]

Each statement must give the same rows, the same error, the same `changes()` and the same `last_insert_rowid()` in both.
After each change of the schema Ferry looks at its database, as it does in the field. At the end of a script a second
device joins, and must show the same rows; `ferry verify --deep` must find nothing on either.

`--keys` gives tables without a PRIMARY KEY one in their first column, so that more of them travel.
"""

import argparse
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

# The most statements of one script, and virtual machine steps of one statement in units of 1,000.
MAXIMUM_STATEMENTS = 600
MAXIMUM_STEPS = 2_000

# Statements whose answer speaks of the whole file, of chance, of the clock, or of other files.
INCOMPARABLE = re.compile(
    r"sqlite_(master|schema|temp_master|sequence|stat|dbpage)|dbstat|pageno|total_changes|pragma|explain|julianday|"
    r"strftime|'now'|current_|rootpage|sqlite_source|sqlite_compileoption|changes\(\)|load_extension", re.I)
# Statements that are left out: other files, the file's own form, and settings that are not about statements.
LEFT_OUT = re.compile(
    r"^\s*(attach|detach|vacuum|pragma\s+(main\.|aux\w*\.|temp\.)?(writable_schema|page_size|encoding|journal|locking|mmap|"
    r"auto_vacuum|incremental|max_page|schema_version|user_version|wal|synchronous|temp_store|cache|trusted|hard_heap|"
    r"soft_heap|key|lock|quick|integrity|data_version|reverse|full_column|short_column|empty_result|count_changes|"
    r"vdbe|parser|case_sensitive|busy|freelist|secure|shrink|threads|checkpoint|default_|legacy_file))", re.I)
# SQLite refuses to drop a column that a trigger names (Docs/Merging.md, "Columns and tables that a device lacks").
DROP_COLUMN = re.compile(r"^\s*alter\s+table\s+.*\bdrop\b", re.I | re.S)
INSERTS = re.compile(r"^\s*(insert|replace|with)\b", re.I)
CHANGES_SCHEMA = re.compile(r"^\s*(create|drop|alter)\b", re.I)


def statements(text):
    """The statements of a script, split where SQLite says that one is complete."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    pending = ""
    for part in text.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \n\t;"):
                yield pending.strip(" \n\t;")
            pending = ""
        elif len(pending) > 100_000:
            return


def with_key(statement):
    """The statement, with a PRIMARY KEY in the first column of a table that has none."""
    match = re.match(r"\s*create\s+table\s+[^\s(]+\s*\(\s*([^,()]+)([,)])", statement, re.I)
    if not match or re.search(r"primary\s+key|\bas\s+select\b", statement, re.I):
        return statement
    end = match.end(1)
    return statement[:end] + " PRIMARY KEY " + statement[end:]


def broken_rows(connection):
    """How many rows refer to nothing, where SQLite can tell."""
    try:
        return len(connection.execute("PRAGMA foreign_key_check").fetchall())
    except sqlite3.Error:
        return 0


class Side:
    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=10)
        self.connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
        self.steps = 0
        self.connection.set_progress_handler(self.step, 1000)
        # Chance is the same on both sides.
        chance = random.Random(7)
        self.connection.create_function("random", 0, lambda: chance.getrandbits(64) - (1 << 63))
        self.connection.create_function("randomblob", 1, lambda count: chance.randbytes(max(1, min(int(count or 1), 100_000))))

    def step(self):
        self.steps += 1
        return 1 if self.steps > MAXIMUM_STEPS else 0

    def run(self, statement):
        """What a statement gives: rows or an error, changes and the last key."""
        self.steps = 0
        try:
            rows = self.connection.execute(statement).fetchall()
            outcome = ("rows", rows)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError, ValueError) as error:
            outcome = (type(error).__name__, str(error))
        self.steps = 0
        # Where a foreign key refuses an INSERT, any trigger on the table changes what `last_insert_rowid()` says
        # (SQLite then checks the key after the row is written), so only what succeeded is compared.
        counts = self.connection.execute("SELECT changes(), last_insert_rowid()").fetchone()
        return outcome, counts if outcome[0] == "rows" and INSERTS.match(statement) else None

    def is_interrupted(self, outcome):
        return outcome[1] == "interrupted"


class Script:
    def __init__(self, ferry, path, has_keys):
        self.ferry, self.path, self.has_keys = ferry, path, has_keys
        self.name = os.path.basename(path)
        self.failures = []
        self.folder = tempfile.mkdtemp(prefix="ferry-corpus-")
        self.is_tracked = False
        self.statement = ""

    def fail(self, what):
        self.failures.append(f"{self.name}: {what}\n    after: {' '.join(self.statement.split())[:400]}")

    def command(self, *arguments):
        done = subprocess.run([self.ferry, *arguments], capture_output=True, text=True, errors="replace", cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=120)
        return done.returncode, (done.stdout + done.stderr).strip()

    def look(self):
        """Lets Ferry see the schema as it is now."""
        if not self.is_tracked:
            status, said = self.command("init", *OPEN, "tracked.db", "box", "--name", "tracked", "-q")
            self.is_tracked = status == 0
            if status < 0 or (status != 0 and "No table can travel" not in said):
                self.fail(f"init {status}: {said[-300:]}")
            return
        status, said = self.command("sync", "tracked.db", "-q")
        if status != 0:
            self.fail(f"sync {status}: {said[-300:]}")

    def run(self):
        plain, tracked = Side(os.path.join(self.folder, "plain.db")), Side(os.path.join(self.folder, "tracked.db"))
        with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        wants_look = False
        wants_comparison = True
        for number, statement in enumerate(statements(text)):
            if number > MAXIMUM_STATEMENTS or len(self.failures) > 3:
                break
            if LEFT_OUT.match(statement) or DROP_COLUMN.match(statement):
                continue
            if re.search(r"ferry", statement, re.I):
                continue
            self.statement = with_key(statement) if self.has_keys else statement
            here, there = plain.run(self.statement), tracked.run(self.statement)
            if plain.is_interrupted(here[0]) or tracked.is_interrupted(there[0]):
                # Triggers take steps, so one side may have been interrupted alone: nothing is left to compare.
                wants_comparison = False
                break
            if here != there and not INCOMPARABLE.search(self.statement):
                if here[0][0] == "rows" == there[0][0] and sorted(map(repr, here[0][1])) == sorted(map(repr, there[0][1])) \
                        and here[1] == there[1]:
                    continue
                self.fail(f"plain {str(here)[:200]}\n    tracked {str(there)[:200]}")
                if (here[0][0] == "rows") != (there[0][0] == "rows"):
                    break
            wants_look = wants_look or bool(CHANGES_SCHEMA.match(self.statement))
            if wants_look and not tracked.connection.in_transaction:
                wants_look = False
                self.look()
        for side in (plain, tracked):
            if side.connection.in_transaction:
                side.connection.execute("COMMIT")
            side.connection.close()
        if self.is_tracked and wants_comparison and not self.failures:
            self.compare()
        shutil.rmtree(self.folder)
        return self.failures

    def compare(self):
        self.statement = "(end)"
        self.look()
        status, said = self.command("join", "joined.db", "box", "--name", "joined")
        if status != 0:
            return self.fail(f"join {status}: {said[-400:]}")
        self.look()
        plain, tracked, joined = (sqlite3.connect(os.path.join(self.folder, name)) for name in
                                  ("plain.db", "tracked.db", "joined.db"))
        for connection in (plain, tracked, joined):
            connection.text_factory = bytes
        # A script may break foreign keys and constraints by itself: then the plain database has the same rows.
        for name, connection in (("tracked.db", tracked), ("joined.db", joined)):
            status, said = self.command("verify", name, "--deep")
            is_own = "Refers to nothing" in said and broken_rows(connection) <= broken_rows(plain) \
                or "CHECK constraint failed" in said and plain.execute("PRAGMA integrity_check").fetchone() != (b"ok",)
            if status != 0 and not is_own:
                self.fail(f"verify {name} {status}: {said[-400:]}")
        status, said = self.command("status", "tracked.db", "--json")
        if status not in (0, 65, 69):
            return self.fail(f"status {status}: {said[-300:]}")
        report = json.loads(said.splitlines()[-1])
        # A dropped table's rows are no deletions: a device that joins has them (Docs/Merging.md).
        dropped = {entry["table"] for entry in report["exceptions"] if entry["kind"] == "left"}
        here = [table["name"] for table in report["tables"] if table["isHere"]]
        for table in [name for name in here if name not in dropped]:
            quoted = '"' + table.replace('"', '""') + '"'
            try:
                rows = sorted(map(repr, plain.execute(f"SELECT * FROM {quoted}")))
            except sqlite3.Error:
                continue  # the script dropped the table
            # Functions and collations of the script's own are not here.
            try:
                there = sorted(map(repr, tracked.execute(f"SELECT * FROM {quoted}")))
                elsewhere = sorted(map(repr, joined.execute(f"SELECT * FROM {quoted}")))
            except sqlite3.Error as error:
                self.fail(f"{table} cannot be read: {error}")
                continue
            if rows != there:
                self.fail(f"{table} differs from plain: {rows[:3]} {there[:3]}")
            if there != elsewhere:
                missing = [row for row in there if row not in elsewhere][:3]
                if any("NULL" in row or "None" in row for row in missing) and len(there) > len(elsewhere):
                    continue  # a row whose key holds a NULL stays on its device
                self.fail(f"{table} differs on the device that joined: {missing} {elsewhere[:3]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    global OPEN
    help_text = subprocess.run([options.ferry, "init", "--help"], capture_output=True, text=True).stdout
    OPEN = ["--open"] if "--open" in help_text else []
    ferry = os.path.abspath(options.ferry)
    paths = sorted(os.path.join(root, name) for root, _, names in os.walk(options.folder) for name in names
                   if name.endswith(".sql") and options.only in name)
    paths = paths[options.first:options.first + options.count:options.every]
    passed = failed = 0
    for path in paths:
        try:
            failures = Script(ferry, path, options.keys).run()
        except subprocess.TimeoutExpired as error:
            failures = [f"{os.path.basename(path)}: {error}"]
        if failures:
            failed += 1
            print("\n".join(failures), flush=True)
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
