#!/usr/bin/env python3
"""Runs the reader's screen on a pseudoterminal, for TerminalTests.swift.

usage: terminal.py READER DATABASE WORD END

Waits until WORD is on the screen, makes the terminal larger, waits until the screen is drawn anew, and ends the reader: END
is a key to press or the name of a signal. Prints one line, JSON: {"status", "restored", "left"}: the exit status, whether
the terminal's settings are those from before, and whether the alternate screen was left and the cursor shown.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_SECONDS = 60  # a reader that hangs fails the test instead of hanging it


def main():
    reader, database, word, end = sys.argv[1:]
    keeper, terminal = pty.openpty()
    resize(terminal, 12, 80)
    before = termios.tcgetattr(terminal)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        for descriptor in range(3):
            os.dup2(terminal, descriptor)
        os.environ["SWIFT_BACKTRACE"] = "enable=no"
        os.execv(reader, [reader, "--database", database])
    screen = Screen(keeper)
    screen.wait_for(word.encode())
    resize(terminal, 20, 100)
    os.kill(pid, signal.SIGWINCH)
    screen.wait_for(b"\x1b[20;1H")  # the last line of the larger screen
    if end.startswith("SIG"):
        os.kill(pid, getattr(signal, end))
    else:
        os.write(keeper, end.encode())
    screen.wait_for(b"\x1b[?1049l")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps({
        "status": status,
        "restored": termios.tcgetattr(terminal) == before,
        "left": b"\x1b[?25h" in screen.text,
    }))


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Screen:
    """What the reader wrote so far."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.text = b""

    def wait_for(self, word):
        until = time.monotonic() + PATIENCE_SECONDS
        while word not in self.text:
            ready, _, _ = select.select([self.descriptor], [], [], max(until - time.monotonic(), 0))
            if not ready:
                sys.exit(f"{word!r} was not shown; the screen got {self.text[-2000:]!r}")
            self.text += os.read(self.descriptor, 65536)


if __name__ == "__main__":
    main()
