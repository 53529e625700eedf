"""A device: a database that programs write to, a container's folder, and `ferry watch` as a process."""

import json
import os
import signal
import sqlite3
import subprocess

from syncer import wait_until

SCHEMA = """
CREATE TABLE author(name TEXT PRIMARY KEY NOT NULL, written INTEGER NOT NULL DEFAULT 0);
CREATE TABLE note(id INTEGER PRIMARY KEY, author TEXT NOT NULL REFERENCES author(name), n INTEGER NOT NULL,
    text TEXT NOT NULL, UNIQUE(author, n));
CREATE TABLE tag(note_id INTEGER NOT NULL REFERENCES note(id) ON DELETE CASCADE, word TEXT NOT NULL,
    PRIMARY KEY(note_id, word)) WITHOUT ROWID;
CREATE TABLE setting(name TEXT PRIMARY KEY NOT NULL, value TEXT);
INSERT INTO author(name) VALUES ('laptop'), ('phone'), ('copy'), ('tablet');
INSERT INTO setting VALUES ('colour', 'none');
"""

# Integer keys may differ from device to device; everything else may not.
CONTENT = """
SELECT 'author', name, written FROM author
UNION ALL SELECT 'note', author || ' ' || n, text FROM note
UNION ALL SELECT 'tag', author || ' ' || n, word FROM tag JOIN note ON note.id = note_id
UNION ALL SELECT 'setting', name, value FROM setting
ORDER BY 1, 2, 3
"""


class Device:
    def __init__(self, ferry, folder, name):
        self.ferry, self.name = ferry, name
        self.folder = os.path.join(folder, name)
        self.database = os.path.join(self.folder, "notes.sqlite")
        self.container = os.path.join(self.folder, "shared")
        self.watch = None
        self.count = 0
        # The computer's own key store.
        self.keys = os.path.join(self.folder, "keys")
        self.environment = dict(os.environ, FERRY_KEYS=self.keys)
        os.makedirs(self.container)

    # The command

    def attempt(self, command, *arguments, input=None):
        """Runs a command that may well fail."""
        return subprocess.run(
            [self.ferry, command, self.database, *arguments, "--json"], capture_output=True, text=True, input=input,
            env=self.environment)

    def run(self, command, *arguments):
        result = self.attempt(command, *arguments)
        if result.returncode != 0:
            raise SystemExit(f"e2e: ferry {command} on {self.name}: {result.stdout}{result.stderr}")
        return json.loads(result.stdout)

    def start_watching(self):
        log = open(os.path.join(self.folder, "watch.log"), "a")
        with log:
            self.watch = subprocess.Popen(
                [self.ferry, "watch", self.database, "--json"], stdout=log, stderr=log, env=self.environment)

    def stop_watching(self):
        """Ends the process that `start_watching` started, and nothing else."""
        if self.watch is None:
            return
        self.watch.send_signal(signal.SIGTERM)
        try:
            status = self.watch.wait(60)
        except subprocess.TimeoutExpired:
            self.watch.kill()
            status = self.watch.wait()
        self.watch = None
        if status != 0:
            raise SystemExit(f"e2e: ferry watch on {self.name} ended with {status}")

    # Programs that know nothing of Ferry

    def connect(self):
        connection = sqlite3.connect(self.database, timeout=30)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def write(self, notes, by="python"):
        """Writes so many notes, each with a tag, in as many transactions; every second call by the `sqlite3` shell."""
        for _ in range(notes):
            self.count += 1
            statements = [
                f"INSERT INTO note(author, n, text) VALUES ('{self.name}', {self.count}, 'by {by}')",
                f"INSERT INTO tag SELECT id, 'new' FROM note WHERE author = '{self.name}' AND n = {self.count}",
                f"UPDATE author SET written = {self.count} WHERE name = '{self.name}'",
            ]
            if by == "python":
                connection = self.connect()
                with connection:
                    for statement in statements:
                        connection.execute(statement)
                connection.close()
            else:
                subprocess.run(
                    ["sqlite3", "-bail", "-cmd", ".timeout 30000", self.database],
                    input="PRAGMA foreign_keys = ON;\nBEGIN IMMEDIATE;\n" + ";\n".join(statements) + ";\nCOMMIT;\n",
                    text=True, check=True)
        return self.count

    def execute(self, statement):
        connection = self.connect()
        with connection:
            rows = connection.execute(statement).fetchall()
        connection.close()
        return rows

    def has(self, author, n):
        return self.execute(f"SELECT count(*) FROM note WHERE author = '{author}' AND n = {n}")[0][0] == 1

    def content(self):
        return self.execute(CONTENT)

    # What Ferry says

    def conflicted_copies(self):
        return [
            os.path.join(place, name)
            for place, _, names in os.walk(self.container) for name in names if ".sync-conflict-" in name]

    def is_in_step(self):
        status = self.run("status")
        return status["unpublished"] == 0 and all(
            other.get("standing") == "inStep" and other["behind"] == 0 and "problem" not in other
            for other in status["devices"] if other["activity"] == "active")

    def wait_for(self, author, n):
        return wait_until(f"{self.name} has note {n} of {author}", lambda: self.has(author, n))
