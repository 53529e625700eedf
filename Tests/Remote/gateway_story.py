#!/usr/bin/env python3
"""A container in Ceph's gateway: watches, writers, kill -9, a gateway that goes and comes, a thousand devices. `make remote` runs it.

Prints what was measured. Ends with a failure at the first thing that is not as it should be.
"""
import hashlib
import json
import pathlib
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import gateway
import signing

SCHEMA = "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"


def checksum_of(content):
    """The checksum of a file's content: a UUID of version 5."""
    digest = bytearray(hashlib.sha1(b"ferry-checksum-1" + content).digest()[:16])
    digest[6], digest[8] = digest[6] & 0x0F | 0x50, digest[8] & 0x3F | 0x80
    return bytes(digest)


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
            raise SystemExit(f"ferry {' '.join(arguments)}: {done.returncode}\n{(done.stdout + done.stderr)[:4000]}")
        return done.stdout

    def sql(self, name, text, values=()):
        with sqlite3.connect(self.path(name), timeout=60) as database:
            return database.execute(text, values).fetchall()

    def watch(self, name):
        return self.process("watch", self.path(name), "--json", log=name)

    def process(self, *arguments, log="carry"):
        output = open(self.path(log + ".log"), "ab")
        process = subprocess.Popen([self.ferry, *arguments], env=self.environment, stdout=output, stderr=output)
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
        # Heads of others that have written nothing (Docs/Format.md, "Heads", "Checksums").
        for number in range(1, count + 1):
            content = (b"FRYH\x03" + head[5:21] + number.to_bytes(16, "big") + b"\x01d" + bytes(1 + 8 + 1 + 16 + 1)
                       + int(time.time() * 1000).to_bytes(8, "little") + b"\x010" + bytes(1 + 1 + 1 + 1))
            status, _ = self.client.request(
                "PUT", f"/ferry-test/many/devices/{number:032x}/head", body=content + checksum_of(content))
            assert status == 200
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

    def carry(self):
        """A container in a folder and in a bucket at once: `ferry carry --watch` between both."""
        for name in ("carried-a.sqlite", "carried-b.sqlite"):
            pathlib.Path(self.path(name)).unlink(missing_ok=True)
        with sqlite3.connect(self.path("carried-a.sqlite")) as database:
            database.executescript(SCHEMA + "INSERT INTO note(text) VALUES ('from the folder');")
        self.run("init", self.path("carried-a.sqlite"), self.path("carried"), "--no-recovery", "--name", "a")
        report = json.loads(self.run("carry", self.path("carried"), self.place("carried"), "--json"))
        assert report["isNew"] and not report["leftBehind"] and report["there"]["files"] >= 3, report
        carrier = self.process("carry", self.path("carried"), self.place("carried"), "--watch", "--json")
        watch = self.watch("carried-a.sqlite")
        code = json.loads(self.run("invite", self.path("carried-a.sqlite"), "--json"))["code"]["text"]
        # The newcomer asks in the bucket, and the member that answers looks at the folder.
        done = subprocess.run([self.ferry, "join", self.path("carried-b.sqlite"), self.place("carried"), "--code", "-", "--name", "b"],
                              env=self.environment, input=code + "\n", capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        other = self.watch("carried-b.sqlite")
        times = []
        for number in range(5):
            for writer, reader in (("a", "b"), ("b", "a")):
                start, text = time.monotonic(), f"{number} of {writer}"
                self.sql(f"carried-{writer}.sqlite", "INSERT INTO note(text) VALUES (?)", (text,))
                self.until("a row is carried", lambda: self.sql(f"carried-{reader}.sqlite", "SELECT 1 FROM note WHERE text = ?", (text,)))
                times.append(time.monotonic() - start)
        carrier.kill()
        carrier.wait()
        self.sql("carried-a.sqlite", "INSERT INTO note(text) VALUES ('while nobody carries')")
        carrier = self.process("carry", self.path("carried"), self.place("carried"), "--watch", "--json")
        self.until("the row is carried", lambda: self.sql(
            "carried-b.sqlite", "SELECT 1 FROM note WHERE text = 'while nobody carries'"))
        for process in (watch, other, carrier):
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        print(f"a folder and a bucket, sealed, carried without keys: {self.agree('carried-a.sqlite', 'carried-b.sqlite')} rows on both; "
              f"from one to the other median {statistics.median(times):.2f} s, worst {max(times):.2f} s")

    def by_rclone(self):
        """The same container over three kinds of remote of rclone's: a folder, the gateway, and WebDAV."""
        if shutil.which("rclone") is None:
            raise SystemExit("not installed: rclone; Scripts/setup rclone installs it")
        port = gateway.free_ports(1)[0]
        (self.folder / "dav").mkdir()
        (self.folder / "rclone.conf").write_text(
            "[folder]\ntype = local\n"
            f"[gateway]\ntype = s3\nprovider = Ceph\naccess_key_id = {self.storage.key}\nsecret_access_key = {self.storage.secret}\n"
            f"endpoint = {self.storage.endpoint}\nregion = {self.storage.region}\n"
            f"[dav]\ntype = webdav\nurl = http://127.0.0.1:{port}\nvendor = other\n")
        self.environment["RCLONE_CONFIG"] = self.path("rclone.conf")
        server = subprocess.Popen(["rclone", "serve", "webdav", self.path("dav"), "--addr", f"127.0.0.1:{port}"], env=self.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.watches.append(server)
        self.until("WebDAV answers", lambda: self.answers(port))
        for kind, place in (("a folder", f"rclone:folder:{self.folder}/by-rclone"), ("the gateway", "rclone:gateway:ferry-test/by-rclone"),
                            ("WebDAV", "rclone:dav:by-rclone")):
            names = [f"rclone-{each}.sqlite" for each in "ab"]
            for name in names:
                pathlib.Path(self.path(name)).unlink(missing_ok=True)
            with sqlite3.connect(self.path(names[0])) as database:
                database.executescript(SCHEMA)
            start = time.monotonic()
            self.run("init", self.path(names[0]), place, "--name", "a", "--open")
            self.run("join", self.path(names[1]), place, "--name", "b")
            began = time.monotonic() - start
            for number, name in enumerate(names):
                self.sql(name, "INSERT INTO note(text) VALUES (?)", (f"{number} of {kind}",))
            start = time.monotonic()
            for name in (*names, *names):
                self.run("sync", self.path(name))
            synced = (time.monotonic() - start) / 4
            assert self.agree(*names) == 2
            report = json.loads(self.run("carry", place, self.path(f"from-{place.split(':')[1]}"), "--json"))
            assert report["isNew"] and not report["leftBehind"], report
            self.run("relocate", self.path(names[1]), self.path(f"from-{place.split(':')[1]}"))
            self.run("sync", self.path(names[1]))
            self.run("verify", self.path(names[1]), "--deep")
            print(f"rclone over {kind}: begun and joined in {began:.1f} s, a sync takes {synced:.1f} s")
        server.terminate()
        server.wait(30)

    @staticmethod
    def answers(port):
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

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
            self.carry()
            self.by_rclone()
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
