from __future__ import annotations

import os

import ferry

from .workshop import Workshop


class DatabaseTests(Workshop):
    def test_a_pass_sends_and_receives(self) -> None:
        laptop, phone = self.begin_two()
        self.sql("a.sqlite", "UPDATE artist SET name = 'Amy Cheney' WHERE id = 2")
        sent = laptop.sync()
        self.assertEqual((sent.published.changes, sent.replayed.changes), (1, 0))
        self.assertTrue(sent.has_news)
        received = phone.sync()
        self.assertEqual((received.replayed.changes, received.conflicts, received.waiting), (1, 0, []))
        self.assertEqual(self.sql("b.sqlite", "SELECT name FROM artist WHERE id = 2"), [("Amy Cheney",)])
        self.assertFalse(laptop.sync().has_news)

    def test_the_status_tells_whether_devices_are_in_step(self) -> None:
        laptop, phone = self.begin_two()
        phone.sync()
        status = laptop.status()
        self.assertEqual(status.device.name, "laptop")
        self.assertEqual([table.name for table in status.tables], ["artist"])
        self.assertEqual([(peer.name, peer.standing, peer.activity) for peer in status.devices], [("phone", "inStep", "active")])
        self.assertTrue(status.container.reachable)
        self.assertTrue(status.in_step)
        self.sql("a.sqlite", "DELETE FROM artist WHERE id = 2")
        status = laptop.status()
        self.assertEqual(status.unpublished, 1)
        self.assertFalse(status.in_step)

    def test_a_lost_value_is_listed_and_brought_back(self) -> None:
        laptop, phone = self.begin_two()
        self.sql("a.sqlite", "UPDATE artist SET picture = x'aa' WHERE id = 1")
        laptop.sync()
        self.sql("b.sqlite", "UPDATE artist SET picture = x'bb' WHERE id = 1")
        phone.sync()
        laptop.sync()
        [conflict] = phone.conflicts()
        self.assertEqual((conflict.table, conflict.key, conflict.column, conflict.kind), ("artist", [1], "picture", "field"))
        self.assertEqual((conflict.lost.value, conflict.lost.device), (b"\xaa", "laptop"))
        self.assertEqual((conflict.kept.value, conflict.kept.device), (b"\xbb", "phone"))
        self.assertEqual(phone.conflicts(table="artist", kind="deleted"), [])
        restored = phone.restore(conflict)
        self.assertEqual((restored.table, restored.key, restored.action, restored.columns), ("artist", [1], "updated", ["picture"]))
        self.assertEqual(self.sql("b.sqlite", "SELECT picture FROM artist WHERE id = 1"), [(b"\xaa",)])
        self.assertEqual(phone.conflicts(), [])
        self.assertEqual([one.number for one in phone.conflicts(resolved=True)], [conflict.number])

    def test_conflicts_are_resolved_by_their_numbers(self) -> None:
        laptop, phone = self.begin_two()
        self.sql("a.sqlite", "UPDATE artist SET name = 'A', plays = 7 WHERE id = 1")
        self.sql("b.sqlite", "UPDATE artist SET name = 'B', plays = 8 WHERE id = 1")
        for database in (laptop, phone):
            database.sync()
        conflicts = phone.conflicts()
        self.assertEqual(len(conflicts), 2)
        self.assertEqual(phone.resolve(), 0)
        self.assertEqual(phone.resolve(conflicts[0], conflicts[1].number), 2)
        self.assertEqual(phone.conflicts(), [])

    def test_a_hidden_row_tells_its_values_and_the_reason(self) -> None:
        self.sql(
            "a.sqlite",
            "CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);"
            "CREATE TABLE song(id TEXT PRIMARY KEY, album INTEGER REFERENCES album(id) ON DELETE CASCADE, length REAL);"
            "INSERT INTO album VALUES (1, 'Trio')")
        ferry.call("init", self.path("a.sqlite"), self.path("shared"), "--open", command=self.command)
        ferry.call("join", self.path("b.sqlite"), self.path("shared"), command=self.command)
        laptop, phone = self.open("a.sqlite"), self.open("b.sqlite")
        self.sql("a.sqlite", "DELETE FROM album")
        self.sql("b.sqlite", "INSERT INTO song VALUES ('late', 1, 2.5)")
        for database in (laptop, phone, laptop):
            database.sync()
        hidden = laptop.hidden(table="song")
        self.assertEqual([(row.table, row.key, row.values["length"]) for row in hidden], [("song", ["late"], 2.5)])
        self.assertTrue(hidden[0].reason)
        self.assertEqual(laptop.status().hidden, 1)

    def test_any_verb_can_be_called(self) -> None:
        laptop, _ = self.begin_two()
        self.assertEqual([one["name"] for one in laptop.call("devices", "list")["devices"]].count("phone"), 1)
        self.assertEqual(laptop.call("verify")["integrity"], [])

    def test_a_path_that_begins_with_a_dash_is_no_option(self) -> None:
        self.assertEqual(ferry.Database("-x.sqlite", self.command).path, os.path.join(".", "-x.sqlite"))


class FailureTests(Workshop):
    def test_a_missing_database_is_told_at_the_opening(self) -> None:
        with self.assertRaises(ferry.FerryError) as caught:
            self.open("none.sqlite")
        error = caught.exception
        self.assertEqual((error.code, error.exit_status), ("databaseMissing", 66))
        self.assertTrue(error.path and error.path.endswith("none.sqlite"), error.path)
        self.assertIn("none.sqlite", error.message)
        self.assertEqual(str(error), error.message)

    def test_a_plain_database_is_told_at_the_opening(self) -> None:
        self.sql("plain.sqlite", MUSIC_TABLE)
        with self.assertRaises(ferry.FerryError) as caught:
            self.open("plain.sqlite")
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("notTracked", 65))

    def test_a_container_that_is_away_is_an_error_of_the_pass(self) -> None:
        laptop = self.begin()
        os.rename(self.path("shared"), self.path("away"))
        with self.assertRaises(ferry.FerryError) as caught:
            laptop.sync()
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("containerMissing", 69))
        self.assertFalse(laptop.status().container.reachable)

    def test_a_damaged_file_is_an_error_with_the_report(self) -> None:
        laptop, phone = self.begin_two()
        self.sql("a.sqlite", "UPDATE artist SET plays = 1")
        laptop.sync()
        newest = max(
            (os.path.join(place, name) for place, _, names in os.walk(self.path("shared")) for name in names if name.endswith(".segment")),
            key=lambda path: os.stat(path).st_mtime_ns)
        with open(newest, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 0xFF]))
        with self.assertRaises(ferry.FerryError) as caught:
            phone.sync()
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("damagedFile", 65))
        self.assertEqual(caught.exception.report["waiting"][0]["device"], "laptop")

    def test_wrong_usage_has_a_code(self) -> None:
        laptop = self.begin()
        with self.assertRaises(ferry.FerryError) as caught:
            laptop.conflicts(kind="strange")
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("invalidArgument", 64))


MUSIC_TABLE = "CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT)"
