#!/usr/bin/env python3
"""A container in Ceph's gateway: watches, writers, kill -9, a gateway that goes and comes, a thousand devices. `make remote` runs it.

Prints what was measured. Ends with a failure at the first thing that is not as it should be.
"""
import json
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import gateway
import signing

SCHEMA = "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"


class Story:
    def __init__(self, ferry, folder, storage):
        self.ferry, self.folder, self.storage = ferry, pathlib.Path(folder), storage
        self.environment = {**storage.environment(), "FERRY_KEYS": str(self.folder / "keys")}
        self.client = signing.Client(storage.endpoint, storage.key, storage.secret, storage.region)
        self.watches = []

    def path(self, name):
        return str(self.folder / name)

    def run(self, *arguments, status=0):
        done = subprocess.run([self.ferry, *arguments], env=self.environment, capture_output=True, text=True, timeout=600)
        if done.returncode != status:
            raise SystemExit(f"ferry {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def sql(self, name, text, values=()):
        with sqlite3.connect(self.path(name), timeout=60) as database:
            return database.execute(text, values).fetchall()

    def watch(self, name):
        log = open(self.path(name + ".log"), "ab")
        process = subprocess.Popen([self.ferry, "watch", self.path(name), "--json"], env=self.environment, stdout=log, stderr=log)
        self.watches.append(process)
        return process

    def until(self, what, condition, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.02)
        raise SystemExit(f"did not happen in {seconds} s: {what}")

    def place(self, prefix):
        return f"s3://ferry-test/{prefix}?endpoint={self.storage.endpoint}&region={self.storage.region}"

    def agree(self, *names):
        rows = [self.sql(name, "SELECT text FROM note ORDER BY text") for name in names]
        if any(other != rows[0] for other in rows):
            raise SystemExit(f"{names} have other rows: {[len(each) for each in rows]}")
        return len(rows[0])

    # The chapters.

    def begin(self, prefix, *options):
        for name in ("a", "b"):
            pathlib.Path(self.path(f"{prefix}-{name}.sqlite")).unlink(missing_ok=True)
        with sqlite3.connect(self.path(f"{prefix}-a.sqlite")) as database:
            database.executescript(SCHEMA)
        self.run("init", self.path(f"{prefix}-a.sqlite"), self.place(prefix), "--name", "a", *options)
        self.run("join", self.path(f"{prefix}-b.sqlite"), self.place(prefix), "--name", "b")
        return f"{prefix}-a.sqlite", f"{prefix}-b.sqlite"

    def latency(self):
        first, second = self.begin("latency", "--open")
        watches = [self.watch(first), self.watch(second)]
        times = []
        for number in range(30):
            start = time.monotonic()
            self.sql(first, "INSERT INTO note(text) VALUES (?)", (f"number {number}",))
            self.until("a row arrives", lambda: self.sql(second, "SELECT 1 FROM note WHERE text = ?", (f"number {number}",)))
            times.append(time.monotonic() - start)
        for watch in watches:
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(30) == 0
        times.sort()
        print(f"latency while both are at work: median {statistics.median(times):.2f} s, worst {times[-1]:.2f} s")

    def disturbances(self):
        first, second = self.begin("disturbed", "--open")
        watches = [self.watch(first), self.watch(second)]
        for number in range(40):
            self.sql(first, "INSERT INTO note(text) VALUES (?)", (f"of a {number}",))
            self.sql(second, "INSERT INTO note(text) VALUES (?)", (f"of b {number}",))
            if number == 10:
                watches[0].send_signal(signal.SIGKILL)
                watches[0].wait()
                watches[0] = self.watch(first)
            if number == 20:
                self.storage.stop()
            if number == 25:
                self.storage.start()
            time.sleep(0.1)
        count = "SELECT count(*) FROM note"
        self.until("both have all rows", lambda: self.sql(first, count) == self.sql(second, count) == [(80,)])
        for watch in watches:
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(60) == 0
        for name in (first, second):
            self.run("verify", self.path(name), "--deep")
        print(f"kill -9 and a gateway that was away: {self.agree(first, second)} rows on both")

    def many_devices(self, count=1000):
        first, second = self.begin("many", "--open")
        own = [key for key in self.client.keys("ferry-test", "many/devices/") if key.endswith("/head")]
        _, head = self.client.request("GET", f"/ferry-test/{own[0]}")
        # Directories of others with a head that is none: each is named, and nobody is held up.
        for number in range(count):
            self.client.request("PUT", f"/ferry-test/many/devices/{number:032x}/segments/readme", body=b"x")
        start = time.monotonic()
        self.run("sync", self.path(first))
        listed = time.monotonic() - start
        self.sql(first, "INSERT INTO note(text) VALUES ('among many')")
        watch = self.watch(second)
        self.run("sync", self.path(first))
        self.until("the row arrives", lambda: self.sql(second, "SELECT 1 FROM note WHERE text = 'among many'"))
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(60) == 0
        print(f"{count} more directories: a sync that lists all takes {listed:.2f} s")

    def join_large(self, rows):
        first, second = self.begin("large", "--open")
        with sqlite3.connect(self.path(first)) as database:
            database.executemany("INSERT INTO note(text) VALUES (?)", ((f"row {number} of many",) for number in range(rows)))
        start = time.monotonic()
        self.run("sync", self.path(first))
        sent = time.monotonic() - start
        start = time.monotonic()
        self.run("sync", self.path(second))
        received = time.monotonic() - start
        assert self.agree(first, second) == rows
        print(f"{rows} rows: sent in {sent:.1f} s, received in {received:.1f} s")

    def sealed(self):
        with sqlite3.connect(self.path("sealed-a.sqlite")) as database:
            database.executescript(SCHEMA)
        self.run("init", self.path("sealed-a.sqlite"), self.place("sealed"), "--no-recovery", "--name", "a")
        code = json.loads(self.run("invite", self.path("sealed-a.sqlite"), "--json"))["code"]["text"]
        watch = self.watch("sealed-a.sqlite")
        done = subprocess.run([self.ferry, "join", self.path("sealed-b.sqlite"), self.place("sealed"), "--code", "-", "--name", "b"],
                              env=self.environment, input=code + "\n", capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        self.sql("sealed-b.sqlite", "INSERT INTO note(text) VALUES ('a secret of b')")
        self.run("sync", self.path("sealed-b.sqlite"))
        self.until("the row arrives", lambda: self.sql("sealed-a.sqlite", "SELECT 1 FROM note"))
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(60) == 0
        for key in self.client.keys("ferry-test", "sealed/"):
            _, body = self.client.request("GET", f"/ferry-test/{key}")
            assert b"a secret of b" not in body, key
        print("a sealed container: a device was let in, and no object has a row")

    def refusals(self):
        name = "latency-a.sqlite"
        self.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
        try:
            self.run("sync", self.path(name), status=77)
        finally:
            self.environment["AWS_SECRET_ACCESS_KEY"] = self.storage.secret
        self.run("join", self.path("none.sqlite"), self.place("none").replace("ferry-test", "no-such-bucket"), status=69)
        self.run("doctor", self.path(name))
        print("a wrong secret and a missing bucket are told")

    def play(self, rows):
        status, body = self.client.request("PUT", "/ferry-test")
        assert status == 200, body
        try:
            self.latency()
            self.disturbances()
            self.sealed()
            self.refusals()
            self.many_devices()
            self.join_large(rows)
        finally:
            for watch in self.watches:
                if watch.poll() is None:
                    watch.kill()


def main():
    ferry, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    missing = [name for name in gateway.PROGRAMS if shutil.which(name) is None]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)}; Scripts/setup {' '.join(gateway.PROGRAMS)} installs them")
    folder = tempfile.mkdtemp(prefix="ferry-gateway-")
    start = time.monotonic()
    storage = gateway.Gateway(folder + "/ceph")
    try:
        print(f"the gateway started in {time.monotonic() - start:.1f} s")
        Story(ferry, folder, storage).play(rows)
    finally:
        storage.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("all is as it should be")


main()
