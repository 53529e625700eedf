"""Ceph's gateway on loopback, over one monitor and one OSD that keeps its objects in memory: a real object storage in a few seconds.

The programs are Debian's (`Scripts/setup radosgw ceph-mon ceph-osd`). Everything lies in one folder, on ports that were free, and is
ended by the process IDs that were started here. As a program it runs a gateway until its standard input ends.
"""
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

import signing
import slow_line

PROGRAMS = ["radosgw", "ceph-mon", "ceph-osd"]
BUCKET = "ferry-test"
# A line of 100 Mbit/s, in bytes a second.
LINE_SPEED = 12_500_000


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Gateway:
    """A running gateway. `stop` and `start` end and begin the gateway alone: what is stored stays in the OSD's memory."""

    region = "default"

    def __init__(self, folder):
        self.root = pathlib.Path(folder).resolve()
        self.key, self.secret = "ferrytest", secrets.token_hex(12)
        self.conf = self.root / "ceph.conf"
        self.running = []
        for name in ("mon", "osd", "run", "log"):
            (self.root / name).mkdir(parents=True)
        first, second, self.port = free_ports(3)
        self.write_configuration(first, second)
        self.start_cluster(first, second)
        # The user is made before the gateway starts, so that only one of the two makes the pools.
        self.call("radosgw-admin", "-n", "client.rgw.test", "user", "create", "--uid", "test", "--display-name", "test",
                  "--access-key", self.key, "--secret-key", self.secret)
        self.gateway = None
        self.start()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def write_configuration(self, first, second):
        root = self.root
        self.fsid = str(uuid.uuid4())
        sections = {
            "global": {
                "fsid": self.fsid, "mon_host": f"[v2:127.0.0.1:{first},v1:127.0.0.1:{second}]",
                "public_addr": "127.0.0.1", "cluster_addr": "127.0.0.1", "ms_bind_ipv6": "false",
                "auth_cluster_required": "none", "auth_service_required": "none", "auth_client_required": "none",
                "ms_mon_client_mode": "crc", "run_dir": root / "run", "admin_socket": f"{root}/run/$name.asok",
                "log_file": f"{root}/log/$name.log", "crash_dir": root / "run",
                # No copies, few groups, and nobody who would spread them.
                "osd_pool_default_size": 1, "osd_pool_default_min_size": 1, "osd_pool_default_pg_num": 1,
                "osd_pool_default_pg_autoscale_mode": "off", "osd_crush_chooseleaf_type": 0,
                "mon_allow_pool_size_one": "true", "paxos_propose_interval": 0.02, "paxos_min_wait": 0.01,
                "mon_max_pg_per_osd": 1000,
            },
            "mon": {"mon_data": root / "mon", "mon_cluster_log_file": root / "log" / "cluster.log"},
            "osd": {
                "osd_data": root / "osd", "osd_objectstore": "memstore", "memstore_device_bytes": 4 << 30,
                "osd_journal_size": 0, "osd_op_num_shards": 1, "osd_op_num_threads_per_shard": 1,
            },
            "client.rgw.test": {
                # Without tcp_nodelay every small answer waits 40 ms.
                "rgw_frontends": f"beast endpoint=127.0.0.1:{self.port} tcp_nodelay=1", "rgw_thread_pool_size": 16,
                "rgw_run_sync_thread": "false", "rgw_enable_ops_log": "false", "rgw_dynamic_resharding": "false",
            },
        }
        lines = []
        for name, values in sections.items():
            lines.append(f"[{name}]")
            lines += [f"    {key} = {value}" for key, value in values.items()]
        self.conf.write_text("\n".join(lines) + "\n")

    def call(self, program, *arguments):
        """Runs a program to its end."""
        done = subprocess.run([program, "-c", str(self.conf), *arguments], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise SystemExit(f"{program} failed: {done.stderr[-2000:]}")

    def launch(self, program, *arguments):
        """Starts a program that stays."""
        log = open(self.root / "log" / f"{program}.out", "ab")
        process = subprocess.Popen([program, "-c", str(self.conf), *arguments, "-f"], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.running.append(process)
        return process

    def start_cluster(self, first, second):
        plan = self.root / "monmap"
        subprocess.run(["monmaptool", "--create", "--clobber", "--fsid", self.fsid, "--addv", "a",
                        f"[v2:127.0.0.1:{first},v1:127.0.0.1:{second}]", str(plan)], check=True, capture_output=True)
        self.call("ceph-mon", "--mkfs", "-i", "a", "--monmap", str(plan))
        self.launch("ceph-mon", "-i", "a")
        name = str(uuid.uuid4())
        self.call("ceph", "--connect-timeout", "30", "osd", "new", name, "0")
        self.call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", name)
        self.launch("ceph-osd", "-i", "0")

    def start(self):
        self.gateway = self.launch("radosgw", "-n", "client.rgw.test")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(self.endpoint, timeout=5).read()
                return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
        raise SystemExit("the gateway does not answer")

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def stop(self):
        self.end(self.gateway)
        self.running.remove(self.gateway)

    def close(self):
        for process in reversed(self.running):
            self.end(process)
        self.running = []

    def environment(self):
        return {**os.environ, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret}


def main():
    """Runs a gateway with an empty bucket until standard input ends. Prints how to reach the bucket, as JSON."""
    folder = tempfile.mkdtemp(prefix="ferry-gateway-")
    gateway = Gateway(folder)
    try:
        client = signing.Client(gateway.endpoint, gateway.key, gateway.secret, gateway.region)
        status, body = client.request("PUT", f"/{BUCKET}")
        if status != 200:
            raise SystemExit(f"the gateway makes no bucket: {body.decode(errors='replace')}")
        line = slow_line.SlowLine(gateway.port, LINE_SPEED)
        print(json.dumps({"endpoint": gateway.endpoint, "bucket": BUCKET, "region": gateway.region, "key": gateway.key,
                          "secret": gateway.secret, "slowEndpoint": f"http://127.0.0.1:{line.port}"}), flush=True)
        sys.stdin.read()
        line.close()
    finally:
        gateway.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
