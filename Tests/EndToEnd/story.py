"""What happens to two devices that a syncer keeps in touch, step by step."""

import os
import shutil
import subprocess
import threading
import time

from device import SCHEMA, Device
from syncer import Syncthing, free_ports, wait_until


def say(text):
    print(f"e2e: {text}", flush=True)


def check(condition, what):
    if not condition:
        raise SystemExit(f"e2e: this does not hold: {what}")


class Story:
    """Two devices and an open container."""

    def __init__(self, ferry, folder):
        self.ferry, self.folder = ferry, folder
        ports = free_ports(4)
        self.laptop, self.phone = Device(ferry, folder, "laptop"), Device(ferry, folder, "phone")
        self.devices = [self.laptop, self.phone]
        self.here = Syncthing(os.path.join(folder, "syncthing-laptop"), self.laptop.container, ports[0], ports[1])
        self.there = Syncthing(os.path.join(folder, "syncthing-phone"), self.phone.container, ports[2], ports[3])
        self.here.configure(self.there)
        self.there.configure(self.here)

    def end(self):
        """Ends every process that is still there, even where one of them did not end well."""
        try:
            for device in self.devices:
                device.stop_watching()
        finally:
            for process in [device.watch for device in self.devices] + [self.here.process, self.there.process]:
                if process is not None:
                    process.kill()
                    process.wait()

    # Steps

    def begin(self):
        self.here.start()
        self.there.start()
        took = wait_until("the two are connected", lambda: self.here.is_connected() and self.there.is_connected())
        say(f"Syncthing is connected after {took:.1f} s")
        connection = self.laptop.connect()
        connection.executescript(SCHEMA)
        connection.close()
        self.create()
        marker = os.path.join(self.phone.container, "container.json")
        took = wait_until("the container is on the phone", lambda: os.path.exists(marker) and self.has_first_segment())
        say(f"the container crossed in {took:.1f} s")
        self.join(self.phone)
        for device in self.devices:
            device.start_watching()
        check(self.phone.execute("SELECT count(*) FROM author") == [(4,)], "the phone has the laptop's rows")

    def create(self):
        self.laptop.run("init", self.laptop.container, "--name", "laptop", *self.option("--open"))

    def option(self, name):
        """An option of `ferry init`, where the command has it: without it, it is what the command does by default."""
        usage = subprocess.run([self.ferry, "init", "--help"], capture_output=True, text=True, check=True).stdout
        return [name] if name in usage else []

    def join(self, device):
        device.run("join", device.container, "--name", device.name)

    def has_first_segment(self):
        devices = os.path.join(self.phone.container, "devices")
        return any(name.endswith(".segment") for _, _, names in os.walk(devices) for name in names)

    def measure(self):
        """One change after another, each way."""
        for writer, reader in ((self.laptop, self.phone), (self.phone, self.laptop)):
            times = [reader.wait_for(writer.name, writer.write(1)) for _ in range(5)]
            say(
                f"a change from {writer.name} to {reader.name} took {min(times):.1f} to {max(times):.1f} s "
                f"(median {sorted(times)[2]:.1f} s)")

    def write_on_both(self, notes):
        """By two programs on each side at once."""
        def write(device):
            device.write(notes, by="python")
            device.write(notes, by="shell")

        threads = [threading.Thread(target=write, args=(device,)) for device in (self.laptop, self.phone)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def settle(self, what):
        took = wait_until(
            f"all are in step {what}",
            lambda: all(device.content() == self.laptop.content() for device in self.devices)
            and all(device.is_in_step() for device in self.devices))
        say(f"in step {what}, {took:.1f} s after the last write")

    def cut_the_connection(self):
        self.here.pause(self.there)
        self.laptop.execute("UPDATE setting SET value = 'red' WHERE name = 'colour'")
        self.write_on_both(10)
        self.phone.execute("UPDATE setting SET value = 'blue' WHERE name = 'colour'")
        check(not self.phone.has("laptop", self.laptop.count), "nothing crosses a connection that is cut")
        self.here.resume(self.there)
        self.settle("after the connection was cut")
        lost = self.laptop.run("conflicts")["conflicts"]
        check(
            any(each["lost"]["value"] == "red" and each["kept"]["value"] == "blue" for each in lost),
            "the colour that lost is a conflict on the list")

    def end_and_start_the_syncer(self):
        for syncthing in (self.there, self.here):
            syncthing.stop()
            self.write_on_both(5)
            syncthing.start()
        self.settle("after Syncthing was ended and started again on either side")

    def provoke_a_conflicted_copy(self, is_newer):
        """While nothing is connected, the laptop's head changes on both sides: on the phone's it is what a restored backup
        of the folder brings back. Syncthing keeps the newer file and gives the other one another name."""
        device = self.laptop.run("status")["device"]["id"].replace("-", "")
        here = os.path.join(self.laptop.container, "devices", device, "head")
        there = os.path.join(self.phone.container, "devices", device, "head")
        with open(there, "rb") as file:
            old = file.read()
        self.laptop.wait_for("phone", self.phone.write(1))
        self.phone.wait_for("laptop", self.laptop.write(1))
        self.settle("before the conflict")
        before = set(self.laptop.conflicted_copies())
        self.here.stop()
        self.there.stop()
        self.laptop.write(1)
        with open(there, "rb") as file:
            present = file.read()
        wait_until("the laptop's head has moved", lambda: open(here, "rb").read() != present)
        with open(there, "wb") as file:
            file.write(old)
        then = time.time() + (60 if is_newer else -3600)
        os.utime(there, (then, then))
        self.write_on_both(2)
        self.here.start()
        self.there.start()
        took = wait_until(
            "Syncthing makes a conflicted copy on both sides",
            lambda: len(self.laptop.conflicted_copies()) > len(before)
            and len(self.phone.conflicted_copies()) > len(before))
        which = "the older one won" if is_newer else "the newer one won"
        say(f"Syncthing made a conflicted copy of a head after {took:.1f} s; {which}")
        self.settle("beside the conflicted copy")

    def copy_the_database(self):
        """Somebody copies the laptop's database to a second computer, whose folder is the phone's: both would write into
        the laptop's directory. The copy takes another ID before it writes anything."""
        self.laptop.stop_watching()
        self.here.stop()
        self.there.stop()
        copy = Device(self.ferry, self.folder, "copy")
        os.rmdir(copy.container)
        copy.container = self.phone.container
        os.rename(self.laptop.container, self.laptop.container + "-away")
        # What was written and not sent when the copy was made is in both.
        self.laptop.write(3)
        for suffix in ("", "-wal"):
            if os.path.exists(self.laptop.database + suffix):
                shutil.copyfile(self.laptop.database + suffix, copy.database + suffix)
        os.rename(self.laptop.container + "-away", self.laptop.container)
        copy.execute(
            f"UPDATE ferry_meta SET value = '{copy.container}' WHERE name = 'containerPath'")
        copy.write(2)
        self.bring_keys(copy)
        report = copy.run("sync")
        check(report.get("renewed", {}).get("reason") == "copied", "the copy took an ID of its own")
        copy.start_watching()
        self.devices.append(copy)
        self.laptop.start_watching()
        self.laptop.write(2)
        before = len(self.phone.conflicted_copies())
        self.here.start()
        self.there.start()
        self.settle("with the copy as a third device")
        check(len(self.phone.conflicted_copies()) == before, "a copied database makes no conflicted copy")

    def bring_keys(self, copy):
        """What a copy needs beside the database: nothing, while the container is open."""

    def more(self):
        """What happens in a sealed container alone."""

    def check_everything(self):
        for device in self.devices:
            device.stop_watching()
        for device in self.devices:
            report = device.run("sync")
            check(report["waiting"] == [], f"{device.name} waits for nothing: {report['waiting']}")
        contents = [device.content() for device in self.devices]
        check(all(content == contents[0] for content in contents), "all databases hold the same")
        for device in self.devices:
            check(device.is_in_step(), f"{device.name} is in step with the others")
            report = device.run("verify", "--deep")
            check(not report["differences"] and report["integrity"] in ([], ["ok"]), f"{device.name} is sound")
            for author in self.devices:
                found = device.execute(f"SELECT count(*), max(n) FROM note WHERE author = '{author.name}'")
                check(found == [(author.count, author.count)], f"{device.name} has all notes of {author.name}: {found}")
            faults = [each for each in device.run("doctor")["findings"] if each["severity"] != "note"]
            check(not faults, f"the doctor finds nothing on {device.name}: {faults}")
        notes = sum(device.count for device in self.devices)
        copies = len(self.phone.conflicted_copies())
        say(f"{len(self.devices)} databases hold the same {notes} notes; {copies} conflicted copies lie about")
