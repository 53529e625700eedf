"""A bare Debian without a toolchain, and two devices in it: what Scripts/package-test and Scripts/walk have in common."""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / ".build-package"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
SCHEMA = """
    CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT NOT NULL, artist_id INTEGER NOT NULL REFERENCES artist);
    INSERT INTO artist VALUES (1, 'Clara Schumann');
    INSERT INTO album VALUES (1, 'Piano Trio', 1);
"""
WAIT_SECONDS = 60
MIRROR_SECONDS = 20
# A mirror that stops in the middle holds nobody up for longer.
DEBOOTSTRAP_SECONDS = 15 * 60

NAME = pathlib.Path(sys.argv[0]).name


def skip(reason):
    """Ends the script well: this computer does not permit it, or lacks something."""
    print(f"{NAME}: skipped: {reason}", flush=True)
    sys.exit(0)


def need(condition, message):
    if not condition:
        sys.exit(f"{NAME}: {message}")


def done(text):
    print(f"  ok  {text}", flush=True)


def the(pattern):
    files = sorted(RESULTS.glob(pattern))
    need(len(files) == 1, f"{RESULTS} has {len(files)} files {pattern}; run `make package`")
    return files[0]


def until(condition, what):
    """Asks again until it is so: other processes make it so."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    sys.exit(f"{NAME}: after {WAIT_SECONDS} seconds still not: {what}")


def begin(tools):
    """Makes sure of the rights and the tools for a bare root, before anything is made. What is mounted from here on goes with this
    process, also where somebody kills it.

    - tools: a list of programs, each with the package of Debian that has it.
    """
    if sys.platform != "linux":
        skip("the package is for Linux")
    if os.geteuid() != 0:
        skip(f"only root may chroot and mount; run it as root, as in `sudo make {NAME}`")
    tools = {"debootstrap": "debootstrap", "chroot": "coreutils", "mount": "mount", "unshare": "util-linux", "tar": "tar", **tools}
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        skip(f"{', '.join(missing)}: missing (apt-get install {' '.join(sorted({tools[tool] for tool in missing}))})")
    if "FERRY_OWN_MOUNTS" not in os.environ:
        tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
        if tried.returncode:
            skip(f"this computer permits no mounts: {tried.stderr.strip()}")
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, "FERRY_OWN_MOUNTS": "1"})
    # The default would end this process without a word, and without removing the bare root.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))


class BareRoot:
    """A Debian with nothing but its smallest set of packages, in a folder that goes away. Use it in a `with` statement."""

    def __init__(self, suite, is_fresh=False):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="ferry-bare-")).resolve()
        try:
            self.fill(suite, is_fresh)
            # A folder of `mkdtemp` is for root alone, and so would be the users' root.
            self.path.chmod(0o755)
            self.mount()
            self.try_chroot()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def fill(self, suite, is_fresh):
        archive = RESULTS / f"bare-{suite}.tar"
        if archive.exists() and not is_fresh:
            unpacked = subprocess.run(["tar", "-xf", str(archive), "-C", str(self.path)], capture_output=True, text=True)
            if unpacked.returncode:
                skip(f"{archive.name} cannot be unpacked: {unpacked.stderr.strip()[-300:]}")
            return
        try:
            urllib.request.urlopen(f"{MIRROR}/dists/{suite}/Release", timeout=MIRROR_SECONDS).close()
        except OSError as error:
            skip(f"{MIRROR} does not answer: {error}")
        print(f"  debootstrap --variant=minbase {suite}, some minutes …", flush=True)
        making = subprocess.Popen(
            ["debootstrap", "--variant=minbase", suite, str(self.path), MIRROR], text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            said, complained = making.communicate(timeout=DEBOOTSTRAP_SECONDS)
        except subprocess.TimeoutExpired:
            skip(f"debootstrap was not done after {DEBOOTSTRAP_SECONDS // 60} minutes")
        finally:
            if making.poll() is None:
                os.killpg(making.pid, signal.SIGKILL)
                making.wait()
        if making.returncode:
            skip(f"debootstrap failed: {' '.join(said.strip().splitlines()[-1:])} {complained.strip()[-300:]}")
        subprocess.run(["tar", "-cf", f"{archive}.new", "-C", str(self.path), "."], check=True)
        os.replace(f"{archive}.new", archive)

    def mount(self):
        mounted = subprocess.run(["mount", "-t", "proc", "proc", str(self.path / "proc")], capture_output=True, text=True)
        if mounted.returncode:
            skip(f"mount failed: {mounted.stderr.strip()}")

    def try_chroot(self):
        tried = subprocess.run(self.command(["true"]), capture_output=True, text=True, env=ENVIRONMENT)
        if tried.returncode:
            skip(f"chroot failed: {tried.stderr.strip()}")

    def close(self):
        # A failed debootstrap leaves mounts of its own, too. What is below a mount must not be removed.
        for place in sorted(self.mounts(), reverse=True):
            subprocess.run(["umount", place], check=True)
        shutil.rmtree(self.path)

    def mounts(self):
        lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
        places = [line.split()[1].replace("\\040", " ") for line in lines]
        return [place for place in places if place.startswith(f"{self.path}/")]

    def __truediv__(self, path):
        return self.path / path.lstrip("/")

    def command(self, words, user=None):
        """The words that run a command inside, as root or as a user."""
        return ["chroot", *([f"--userspec={user}:{user}"] if user else []), str(self.path), *words]

    def start(self, *words, **options):
        return subprocess.Popen(self.command(words), text=True, env=ENVIRONMENT, **options)

    def run(self, *words, status=0, given=None):
        """Runs a command inside, and returns what it printed."""
        result = subprocess.run(
            self.command(words), input=given, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
        need(result.returncode == status,
             f"{' '.join(words)} ended with {result.returncode}, not {status}:\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr


class Devices:
    """A laptop and a phone that share a folder of the bare root. SQLite of this computer writes and reads their databases."""

    def __init__(self, root, ferry, folder):
        self.root, self.ferry, self.folder = root, ferry, folder
        (root / folder / "shared").mkdir(parents=True)

    def path(self, name):
        return f"{self.folder}/{name}.sqlite"

    def sql(self, name, text):
        connection = sqlite3.connect(self.root / self.path(name), timeout=30)
        try:
            with connection:
                if ";" in text:
                    connection.executescript(text)
                    return []
                return connection.execute(text).fetchall()
        finally:
            connection.close()

    def run(self, verb, name, *words, **options):
        return self.root.run(self.ferry, verb, self.path(name), *words, **options)
