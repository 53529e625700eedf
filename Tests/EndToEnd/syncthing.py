#!/usr/bin/env python3
"""Two devices that a real syncer keeps in touch: `make e2e` runs it.

    syncthing.py FERRY [--sealed]

Two Syncthing instances on loopback share a folder; a `ferry watch` on each side keeps a database in step with it; programs
that know nothing of either write to both. The connection is cut, Syncthing is ended and started again, a file of Ferry's is
changed on both sides so that Syncthing makes a conflicted copy, and a database is copied with its folder. In the end both
databases hold everything that was ever written. What a step took is printed, and nothing stays behind.

With --sealed the container is sealed, and more happens (`sealed.py`).
"""

import os
import shutil
import signal
import sys
import tempfile
import time

from sealed import SealedStory
from story import Story, say


def main():
    ferry = os.path.abspath(sys.argv[1])
    kind = SealedStory if "--sealed" in sys.argv[2:] else Story
    folder = tempfile.mkdtemp(prefix="ferry-e2e-")
    story = None
    is_kept = True
    begin = time.monotonic()
    # So that `finally` runs when somebody ends the script.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        story = kind(ferry, folder)
        story.begin()
        story.measure()
        story.write_on_both(10)
        story.settle("after programs wrote on both sides")
        story.cut_the_connection()
        story.end_and_start_the_syncer()
        story.provoke_a_conflicted_copy(is_newer=False)
        story.provoke_a_conflicted_copy(is_newer=True)
        story.more()
        story.copy_the_database()
        story.check_everything()
        story.here.stop()
        story.there.stop()
        is_kept = False
        say(f"passed in {time.monotonic() - begin:.0f} s")
    finally:
        if story is not None:
            story.end()
        if is_kept:
            say(f"what there was is in {folder}")
        else:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
