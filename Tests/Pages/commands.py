#!/usr/bin/env python3
"""Runs the commands that pages show, as they are written, with a built ferry.

    commands.py FERRY [PAGE...]

A command is a line of an indented or fenced block whose first word is a program. Each page has a folder of its own, which is a home and
has the databases that the page speaks of. Paths below /tmp are below that folder. Commands run on a pseudo-terminal, one after the other;
`watch`, `ui` and `invite` go on until the page speaks of Ctrl-C, or ends. What needs another machine, minutes, or the network is left out:
each such command has a reason, which is printed. A command without a reason has to succeed, and a reason without a command fails.
"""
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = set("""
    apt apt-get cd curl docker dpkg export ferry git install journalctl launchctl make mkdir mv pip pip3 python3 rclone reader rm sha256sum
    sqlite3 sudo swift systemctl tar
""".split())
LONGEST_SECONDS = 120
# Go on until Ctrl-C.
LASTING = re.compile(r"ferry (watch|ui|invite)\b(?!.*(--cancel|--json))")
NINE_WORDS = re.compile(r"^\s*((?:[bdfghjklmnprstvz][aiou][bdfghjklmnprstvz][aiou][bdfghjklmnprstvz]\s+){8}[a-z]{5})\s*$", re.M)
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# Why a command does not run here: a page, a pattern of the command, a reason.
REASONS = [
    ("", r"make (demo|test|check|lint|interface|docs|bench|simulate|fuzz|rosters|sanitize|crash|remote|ui|e2e|transparency|examples|format)",
     "builds or tests Ferry itself"),
    ("", r"(\w+=\S+ )*Scripts/\S+", "builds or tests Ferry itself"),
    ("", r"make (package|static|install|walk)", "builds Ferry anew; make package-test does so in a bare Debian"),
    ("", r"(sudo )?(apt|dpkg|sha256sum)\b", "installs the package; make package-test does so in a bare Debian"),
    ("Docs/Install.md", r"\(cd ~/\.local && rm|tar |ferry --version|systemctl|ferry service|ferry leave",
     "belongs to an installed ferry; make package-test and ServiceCommandTests"),
    ("Docs/Operations.md", r"ferry service|journalctl", "needs systemd; ServiceCommandTests has a stand-in"),
    ("Docs/Operations.md", r"docker", "needs Docker"),
    ("Docs/Stores.md", r"ferry|rclone", "needs an object storage or a remote of rclone's; make remote, RemoteCommandTests"),
    ("", r"pip install", "fetches from the network; PythonPackageTests uses the package in place"),
    ("Docs/Merging.md", r"ferry restore .*--at (\"2026|2h)", "names a time before the databases here; PointInTimeTests"),
    ("Docs/CoreData.md", r"cd Examples|\.build", "builds an example; make examples"),
    ("Examples/", r"cd |\.build|swift build|export|reader", "builds an example; make examples"),
]


class Terminal:
    """A command on a pseudo-terminal."""

    def __init__(self, command, folder, environment):
        self.said = ""
        self.status = None
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "-c", command], environment)

    def read(self, seconds):
        """Takes what the command says within so many seconds; False at its end."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return True
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:
            piece = b""
        self.said += STYLE.sub("", piece.decode(errors="replace")).replace("\r\n", "\n")
        return bool(piece)

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def wait_for(self, is_there, seconds=LONGEST_SECONDS):
        end = time.monotonic() + seconds
        while not is_there(self.said):
            if not self.read(0.1) or time.monotonic() > end:
                return is_there(self.said)
        return True

    def end(self, interrupting=False):
        """Waits for the end. True: with the status 0, or ended by Ctrl-C."""
        if interrupting:
            self.type("\x03")
        end = time.monotonic() + LONGEST_SECONDS
        while self.read(0.1):
            if time.monotonic() > end:
                os.kill(self.process, signal.SIGKILL)
                self.said += "\n(it did not end)"
                break
        _, status = os.waitpid(self.process, 0)
        os.close(self.descriptor)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status == 0 or interrupting and self.status in (130, -signal.SIGINT)


def blocks(page):
    """The blocks of a page, each a list of lines."""
    lines, fenced, before = [], None, ""
    for line in page.read_text().splitlines() + [""]:
        if line.startswith("```"):
            if fenced is not None and fenced in ("", "sh", "bash", "console"):
                yield lines
            fenced, lines = (None if fenced is not None else line[3:].strip()), []
            continue
        if fenced is not None:
            lines.append(line)
        elif line.startswith("    ") and (lines or not before.strip()):
            lines.append(line[4:])
        elif line.strip() and lines:
            yield lines
            lines = []
        elif lines:
            lines.append("")
        before = line
    if lines:
        yield lines


def is_whole(text):
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return not text.rstrip().endswith("\\")


def commands(block):
    """The commands of a block, and the comments between them."""
    has_prompts = any(line.startswith("$ ") for line in block)
    gathered = ""
    for line in block:
        if not gathered:
            if has_prompts and not line.startswith("$ "):
                continue
            line = line.removeprefix("$ ")
            if line.startswith("#"):
                yield line
                continue
            word = re.sub(r"^(\(|\w+=\S* )+", "", line).split(" ")[0].split("(")[0]
            if word not in PROGRAMS and not word.startswith((".build/", "Scripts/")):
                continue
        gathered += ("\n" if gathered else "") + line
        if is_whole(gathered):
            yield gathered.rstrip()
            gathered = ""
    if gathered:
        yield gathered


class Page:
    """The commands of a page in their order, in a folder of their own."""

    def __init__(self, path, ferry, used):
        self.path, self.ferry, self.used = path, ferry, used
        self.name = str(path.relative_to(ROOT))
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ferry-page-"))
        self.lasting, self.failures, self.words = [], [], ""
        self.ran = self.skipped = 0
        for folder in ("bin", "tmp", "Sync", "Dropbox"):
            (self.home / folder).mkdir()
        (self.home / "bin/ferry").symlink_to(ferry)
        self.folder = str(self.home)
        self.environment = {**os.environ, "HOME": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}", "TERM": "xterm"}
        for name in ("FERRY_KEYS", "XDG_DATA_HOME", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "NO_COLOR"):
            self.environment.pop(name, None)

    def setup(self, script):
        """Makes what a page takes for granted."""
        terminal = Terminal("set -e\n" + script, self.folder, self.environment)
        if not terminal.end():
            sys.exit(f"{self.name}: what the page begins with cannot be made:\n{terminal.said}")

    def reason(self, command):
        for entry in REASONS:
            page, pattern, reason = entry
            if self.name.startswith(page) and re.match(pattern, command):
                self.used.add(entry)
                return reason
        return None

    def run(self):
        for block in blocks(self.path):
            for command in commands(block):
                if command.startswith("#"):
                    if "Ctrl-C" in command:
                        self.stop()
                    continue
                reason = self.reason(command)
                if reason:
                    self.skipped += 1
                    print(f"{self.name}: left out, because it {reason}: {command}")
                    continue
                self.execute(command)
        self.stop()

    def execute(self, command):
        place = self.home / "place"
        written = command.replace("/tmp/", f"{self.home}/tmp/")
        terminal = Terminal(f"{written}\nstatus=$?; pwd >'{place}'; exit $status", self.folder, self.environment)
        self.ran += 1
        if LASTING.match(command):
            # What a person waits for before the next command.
            signs = {"watch": "Ctrl-C", "ui": "http://", "invite": ""}
            verb = command.split()[1]
            found = terminal.wait_for(lambda said: bool(NINE_WORDS.search(said)) if verb == "invite" else signs[verb] in said)
            if not found:
                self.failures.append(f"{self.name}: {command}\n{terminal.said}")
            if verb == "invite" and found:
                self.words = NINE_WORDS.search(terminal.said).group(1)
            self.lasting.append((command, terminal))
            return
        if command.split("#")[0].rstrip().endswith("--code -"):
            terminal.wait_for(lambda said: ": " in said)
            terminal.type(self.words + "\n")
        if not terminal.end():
            self.failures.append(f"{self.name}: {command}\nended with {terminal.status}:\n{terminal.said}")
        if place.exists():
            self.folder = place.read_text().strip()
        for pattern, words in EXPECTED.get(self.name, {}).items():
            if re.match(pattern, command):
                self.expect(command, written, words, terminal.said)

    def expect(self, command, written, words, said):
        """Looks for words that the page promises. A watch may take a moment to bring them."""
        end = time.monotonic() + LONGEST_SECONDS
        while any(word not in said for word in words) and time.monotonic() < end and self.lasting:
            again = Terminal(written, self.folder, self.environment)
            again.end()
            said = again.said
        missing = [word for word in words if word not in said]
        if missing:
            self.failures.append(f"{self.name}: {command}\nlacks {missing}:\n{said}")

    def stop(self):
        """Ctrl-C in each terminal. An invitation that was used has ended by itself."""
        for command, terminal in self.lasting:
            if not terminal.end(interrupting=not command.startswith("ferry invite")):
                self.failures.append(f"{self.name}: {command}\nended with {terminal.status}:\n{terminal.said}")
        self.lasting = []


# Words that a command must say, because the page says so.
EXPECTED = {
    "README.md": {
        r"sqlite3 .*phone\.sqlite  \"SELECT \* FROM album": ["Romances"],
        r"sqlite3 laptop\.sqlite \"SELECT \* FROM artist": ["2|Amy Beach", "3|Ethel Smyth", "2|Ethel Smyth", "3|Amy Beach"],
    },
    "Docs/Documents.md": {
        r"ferry documents music\.sqlite list": ["Scores/Trio.pdf"],
        r"ferry documents music\.sqlite conflicts": ["Notes.md", "shown", "rival"],
    },
}

MUSIC = """
    sqlite3 music.sqlite "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT NOT NULL);
        WITH RECURSIVE number(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM number WHERE value < 14)
        INSERT INTO song SELECT value, 'Song ' || value FROM number"
    ferry init music.sqlite Sync/music --open --name laptop
    ferry join phone.sqlite Sync/music --name phone
"""
CONFLICTS = MUSIC + """
    sqlite3 music.sqlite "UPDATE song SET title = title || ' of the laptop'"
    sqlite3 phone.sqlite "UPDATE song SET title = title || ' of the phone'"
    ferry sync music.sqlite; ferry sync phone.sqlite; ferry sync music.sqlite
"""
DOCUMENTS = MUSIC + """
    head -c 3100000 /dev/urandom >Trio.pdf
    echo first >Notes.md; ferry documents music.sqlite add Notes.md
    ferry sync music.sqlite; ferry sync phone.sqlite
    echo by the laptop >laptop.md; ferry documents music.sqlite put laptop.md Notes.md
    echo by the phone >phone.md; ferry documents phone.sqlite put phone.md Notes.md
    ferry sync music.sqlite; ferry sync phone.sqlite; ferry sync music.sqlite
    echo both >merged.md; mkdir Papers; echo paper >Papers/paper.md
"""
SETUPS = {
    "README.md": """
        mkdir tmp/walk; cd tmp/walk
        sqlite3 music.sqlite "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT NOT NULL)"
        ferry init music.sqlite ~/Sync/music --open
    """,
    "Docs/Browser.md": MUSIC,
    "Docs/Documents.md": DOCUMENTS,
    "Docs/Merging.md": CONFLICTS,
    "Docs/Testing.md": MUSIC + f"\nln -s '{ROOT}/Tests' Tests; ln -s Sync/music shared",
    "Docs/Upkeep.md": MUSIC,
}


def pages():
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md")
    for folder in ("Docs", "Examples", "python", "Benchmarks"):
        found = sorted((ROOT / folder).rglob("*.md"))
        # Hidden folders have the packages that a build took.
        yield from (path for path in found if not any(part.startswith(".") for part in path.relative_to(ROOT).parts))
    yield from sorted((ROOT / "Sources/Ferry/Ferry.docc").glob("*.md"))


def main():
    ferry = str(pathlib.Path(sys.argv[1]).resolve())
    chosen = sys.argv[2:]
    used, failures, ran, skipped = set(), [], 0, 0
    for path in pages():
        if chosen and str(path.relative_to(ROOT)) not in chosen:
            continue
        page = Page(path, ferry, used)
        try:
            if page.name in SETUPS:
                page.setup(SETUPS[page.name])
            page.run()
        finally:
            shutil.rmtree(page.home)
        failures += page.failures
        ran, skipped = ran + page.ran, skipped + page.skipped
    if not chosen:
        failures += [f"no page has a command for the reason {entry}" for entry in REASONS if entry not in used]
    for failure in failures:
        print("FAILED:", failure)
    print(f"{ran} commands ran, {skipped} were left out, {len(failures)} failed")
    sys.exit(1 if failures or not ran else 0)


main()
