"""The same story with a sealed container: a device is invited while one side is offline, and removed in the middle of writes."""

import os
import shutil
import threading

from device import Device
from story import Story, check, say
from syncer import wait_until

# What every file would show if it were not sealed.
PLAIN = [b"author", b"setting", b"colour", b"by python", b"by shell", b"laptop", b"tablet", b"CREATE TABLE"]
NOT_LET_IN_YET, NO_PERMISSION = 75, 77


class SealedStory(Story):
    """Two devices and a sealed container; a third device comes, is removed, and comes back."""

    tablet = None

    def end(self):
        if self.tablet is not None and self.tablet not in self.devices:
            self.devices.append(self.tablet)
        super().end()

    def create(self):
        self.recovery = os.path.join(self.folder, "recovery")
        self.laptop.run(
            "init", self.laptop.container, "--name", "laptop", "--recovery-to", self.recovery, *self.option("--sealed"))

    # Letting in

    def invite(self):
        return self.laptop.run("invite")["code"]["words"]

    def ask(self, device, words):
        """Asks to be let in, or goes on with that: true once the device has joined."""
        result = device.attempt(
            "join", device.container, "--name", device.name, "--code", "-", "--no-wait", input=words)
        check(result.returncode in (0, NOT_LET_IN_YET), f"{device.name} waits to be let in: {result.stderr}")
        return result.returncode == 0

    def join(self, device):
        words = self.invite()
        check(not self.ask(device, words), f"{device.name} is not let in before the laptop has looked")

        def is_in():
            self.laptop.run("sync")
            return self.ask(device, words)

        took = wait_until(f"{device.name} is let in", is_in)
        self.laptop.run("sync")
        say(f"{device.name} was let in by a code after {took:.1f} s")

    def members(self, device):
        return {
            each["name"] for each in device.run("devices")["devices"]
            if each.get("membership") in ("founder", "member", "copy")}

    # Steps

    def more(self):
        self.invite_while_one_side_is_offline()
        self.remove_in_the_middle_of_writes()
        self.let_the_removed_device_in_again()

    def invite_while_one_side_is_offline(self):
        """The laptop makes a code and is cut off; the tablet asks on the phone's side, where nobody can answer."""
        self.tablet = Device(self.ferry, self.folder, "tablet")
        os.rmdir(self.tablet.container)
        self.tablet.container = self.phone.container
        self.here.pause(self.there)
        words = self.invite()
        check(not self.ask(self.tablet, words), "nobody answers the tablet while the laptop is away")
        self.write_on_both(5)
        # The phone reads the claim, and does not answer it: it did not make the code.
        self.phone.run("sync")
        check(not self.ask(self.tablet, words), "the phone does not answer a code of the laptop's")
        check(self.members(self.phone) == {"laptop", "phone"}, "the phone has let nobody in")
        self.here.resume(self.there)
        took = wait_until("the tablet is let in", lambda: self.ask(self.tablet, words))
        say(f"the tablet was let in {took:.1f} s after the laptop was there again")
        self.devices.append(self.tablet)
        self.tablet.start_watching()
        self.write_on_both(2)
        self.tablet.write(3)
        self.settle("with the tablet")
        check(self.members(self.phone) == {"laptop", "phone", "tablet"}, "three devices are members")

    def remove_in_the_middle_of_writes(self):
        """All three write; the laptop removes the tablet meanwhile."""
        writers = [
            threading.Thread(target=device.write, args=(15,)) for device in (self.laptop, self.phone, self.tablet)]
        for writer in writers:
            writer.start()
        self.phone.wait_for("laptop", self.laptop.count)
        self.laptop.run("devices", "remove", "tablet")
        for writer in writers:
            writer.join()
        self.devices.remove(self.tablet)
        self.settle("after the tablet was removed")
        kept = self.kept()
        wait_until(
            "the tablet hears of it", lambda: self.tablet.attempt("sync").returncode == NO_PERMISSION)
        self.tablet.write(5)
        self.laptop.write(1)
        self.settle("after the tablet wrote on")
        check(self.kept() == kept, "nothing of the tablet's comes in after its removal")
        check(
            not self.tablet.has("laptop", self.laptop.count), "the tablet reads nothing of what came after its removal")
        say(f"the tablet was removed in the middle of its writes; {kept} of its {self.tablet.count} notes were accepted")

    def kept(self):
        """How many notes of the tablet's the others have: the first ones, without a gap."""
        counts = [
            device.execute("SELECT count(*), coalesce(max(n), 0) FROM note WHERE author = 'tablet'")[0]
            for device in (self.laptop, self.phone)]
        check(counts[0] == counts[1] and counts[0][0] == counts[0][1], f"both have the same notes of the tablet: {counts}")
        return counts[0][0]

    def let_the_removed_device_in_again(self):
        """By a code, under another ID: what nobody has accepted of its notes is sent again."""
        self.tablet.stop_watching()
        words = self.invite()

        def is_back():
            result = self.tablet.attempt("enrol", "--code", "-", "--no-wait", input=words)
            check(result.returncode in (0, NOT_LET_IN_YET), f"the tablet waits to be let in again: {result.stderr}")
            return result.returncode == 0

        took = wait_until("the tablet is back", is_back)
        say(f"the tablet was back after {took:.1f} s")
        self.devices.append(self.tablet)
        self.tablet.start_watching()
        self.settle("with the tablet again")
        check(self.kept() == self.tablet.count, "all notes of the tablet are there")

    def bring_keys(self, copy):
        """A copy of the database alone waits; with the laptop's keys it goes on."""
        result = copy.attempt("sync")
        check(result.returncode == NO_PERMISSION, f"a copy without a key publishes nothing: {result.stderr}")
        shutil.copytree(self.laptop.keys, copy.keys)

    def check_everything(self):
        super().check_everything()
        searched = 0
        for container in (self.laptop.container, self.phone.container):
            for place, _, names in os.walk(os.path.join(container, "devices")):
                for name in names:
                    with open(os.path.join(place, name), "rb") as file:
                        content = file.read()
                    shown = [word for word in PLAIN if word in content]
                    check(not shown, f"{name} shows {shown}")
                    searched += 1
        say(f"{searched} files of the folder show nothing of what they hold")
