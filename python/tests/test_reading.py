"""Reports and failures of a command that does not exist, so that these tests run everywhere."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest

import ferry
from ferry._reading import key, read
from ferry._reports import ConflictSide, Peer, SyncReport


class ReadingTests(unittest.TestCase):
    def test_names_of_fields_become_keys(self) -> None:
        self.assertEqual(key("last_seen_milliseconds"), "lastSeenMilliseconds")
        self.assertEqual(key("id"), "id")

    def test_absent_keys_are_nothing_and_unknown_keys_are_passed_over(self) -> None:
        report = read(
            SyncReport,
            {"published": {"segments": 0, "changes": 0}, "replayed": {"segments": 1, "changes": 2}, "hidden": 0, "conflicts": 0,
             "durationMilliseconds": 1, "later": True})
        self.assertEqual((report.waiting, report.renewed, report.duration_milliseconds), ([], None, 1))
        self.assertTrue(report.has_news)

    def test_a_blob_comes_as_bytes_and_nothing_as_none(self) -> None:
        self.assertEqual(read(ConflictSide, {"value": {"base64": "AP8="}, "device": "a", "timeMilliseconds": 1}).value, b"\x00\xff")
        self.assertIsNone(read(ConflictSide, {"device": "a"}).value)
        self.assertEqual(read(ConflictSide, {"value": 2.5, "device": "a"}).value, 2.5)

    def test_a_report_without_what_must_be_there_is_refused(self) -> None:
        wrong: object
        for wrong in ({"id": 7}, [], "text", None):
            with self.assertRaises(ferry.FerryError) as caught:
                read(Peer, wrong)
            self.assertEqual(caught.exception.code, "unreadableReport")


class CommandTests(unittest.TestCase):
    def command(self, script: str) -> ferry.Command:
        place = tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False)
        self.addCleanup(os.remove, place.name)
        with place as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(place.name, stat.S_IRWXU)
        return ferry.Command.find(place.name, {"WORD": "given"})

    def test_a_missing_command_is_told(self) -> None:
        with self.assertRaises(ferry.FerryError) as caught:
            ferry.Command.find("/nowhere/ferry")
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("commandMissing", 127))
        self.assertIn("FERRY_COMMAND", caught.exception.message)

    def test_arguments_input_and_environment_arrive(self) -> None:
        command = self.command("""read line; printf '{"said": "%s %s %s"}' "$*" "$line" "$WORD" """)
        self.assertEqual(command.run(["sync", "a"], input="typed\n"), {"said": "sync a --json typed given"})

    def test_a_text_after_two_dashes_stays_a_text(self) -> None:
        command = self.command("""printf '{"said": "%s"}' "$*" """)
        self.assertEqual(command.run(["kv", "a", "add", "read", "--", "-x"]), {"said": "kv a add read --json -- -x"})
        self.assertEqual(command.run(("sync", "a")), {"said": "sync a --json"})

    def test_a_failure_carries_all_that_the_command_told(self) -> None:
        command = self.command("""echo '{"error": {"code": "busy", "message": "Later.", "path": "/a"}, "hidden": 3}'; exit 75""")
        with self.assertRaises(ferry.FerryError) as caught:
            command.run(["sync", "a"])
        error = caught.exception
        self.assertEqual((error.code, error.message, error.exit_status, error.path), ("busy", "Later.", 75, "/a"))
        self.assertEqual(error.report, {"hidden": 3})

    def test_an_end_without_a_report_is_told(self) -> None:
        for script, code, status in [
            ("echo broken >&2; exit 70", "commandEnded", 70), ("kill -9 $$", "commandEnded", -9),
            ("echo nonsense", "unreadableReport", 0), ("echo '[]'", "unreadableReport", 0), ("echo '{}'; exit 3", "commandEnded", 3),
        ]:
            with self.subTest(script), self.assertRaises(ferry.FerryError) as caught:
                self.command(script).run(["sync", "a"])
            self.assertEqual((caught.exception.code, caught.exception.exit_status), (code, status))

    def test_events_that_are_no_events_are_told(self) -> None:
        watch = ferry.Database("a", self.command("echo nonsense")).watch()
        with self.assertRaises(ferry.FerryError) as caught:
            next(watch)
        self.assertEqual(caught.exception.code, "unreadableReport")

    def test_events_of_a_later_version_are_given(self) -> None:
        watch = ferry.Database("a", self.command("""echo '{"event": "dreaming"}'""")).watch()
        self.assertEqual([event.kind for event in watch], ["dreaming"])

    def test_a_watch_that_ends_without_a_word_is_an_exception(self) -> None:
        watch = ferry.Database("a", self.command("echo 'no libc' >&2; exit 1")).watch()
        with self.assertRaises(ferry.FerryError) as caught:
            list(watch)
        self.assertEqual((caught.exception.code, caught.exception.message, caught.exception.exit_status), ("commandEnded", "no libc", 1))
