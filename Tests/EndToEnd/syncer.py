"""Syncthing as a process: one instance that shares one folder with one other, on loopback only."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
import xml.etree.ElementTree as xml

FOLDER = "ferry"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(what, condition, seconds=90):
    """Looks until a condition holds, and says how long that took. Fails after a deadline."""
    begin = time.monotonic()
    while True:
        result = condition()
        if result:
            return time.monotonic() - begin
        if time.monotonic() - begin > seconds:
            raise SystemExit(f"e2e: gave up after {seconds} s: {what}")
        time.sleep(0.05)


class Syncthing:
    """Started and stopped by its process ID. `pause` and `resume` cut the connection and leave it running."""

    def __init__(self, home, folder, port, interface_port):
        self.home, self.folder = home, folder
        self.port, self.interface_port = port, interface_port
        self.key = "key-of-" + os.path.basename(home)
        self.process = None
        subprocess.run(
            ["syncthing", "generate", f"--home={home}", "--no-default-folder", "--skip-port-probing"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.id = subprocess.run(
            ["syncthing", "serve", f"--home={home}", "--device-id"], check=True, capture_output=True, text=True
        ).stdout.strip()

    def configure(self, other):
        """Writes the configuration: nothing but the two of them, and no way out of this computer."""
        path = os.path.join(self.home, "config.xml")
        tree = xml.parse(path)
        root = tree.getroot()
        for element in root.findall("device") + root.findall("folder"):
            root.remove(element)
        folder = xml.SubElement(
            root, "folder", id=FOLDER, path=self.folder, type="sendreceive", rescanIntervalS="30",
            fsWatcherEnabled="true", fsWatcherDelayS="1")
        for device in (self, other):
            xml.SubElement(folder, "device", id=device.id)
            entry = xml.SubElement(root, "device", id=device.id, name=os.path.basename(device.home))
            xml.SubElement(entry, "address").text = f"tcp://127.0.0.1:{device.port}"
        # Without this the older of two concurrent versions of a file is thrown away.
        xml.SubElement(folder, "maxConflicts").text = "10"
        interface = root.find("gui")
        interface.find("address").text = f"127.0.0.1:{self.interface_port}"
        interface.find("apikey").text = self.key
        options = root.find("options")
        for name, value in {
            "listenAddress": f"tcp://127.0.0.1:{self.port}", "globalAnnounceEnabled": "false",
            "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false",
            "crashReportingEnabled": "false", "autoUpgradeIntervalH": "0", "urAccepted": "-1",
            "startBrowser": "false", "reconnectionIntervalS": "1",
        }.items():
            element = options.find(name)
            if element is None:
                element = xml.SubElement(options, name)
            element.text = value
        tree.write(path)

    def start(self):
        environment = dict(os.environ, STNORESTART="1", STNOUPGRADE="1")
        with open(os.path.join(self.home, "log"), "a") as log:
            self.process = subprocess.Popen(
                ["syncthing", "serve", f"--home={self.home}", "--no-browser", "--no-restart"],
                stdout=log, stderr=log, env=environment)
        wait_until("Syncthing answers", lambda: self.ask("GET", "/rest/system/ping") is not None)

    def stop(self):
        """Ends the process that `start` started, and nothing else."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def ask(self, method, path):
        """What the REST interface answers; `None` where it does not yet."""
        connection = http.client.HTTPConnection("127.0.0.1", self.interface_port, timeout=10)
        try:
            connection.request(method, path, headers={"X-API-Key": self.key})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                return None
            return json.loads(content) if content.strip() else {}
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def is_connected(self):
        answer = self.ask("GET", "/rest/system/connections") or {"connections": {}}
        return any(each["connected"] for each in answer["connections"].values())

    def pause(self, other):
        self.ask("POST", f"/rest/system/pause?device={other.id}")
        wait_until("the connection is cut", lambda: not self.is_connected())

    def resume(self, other):
        self.ask("POST", f"/rest/system/resume?device={other.id}")
        wait_until("the two are connected again", self.is_connected)
