from __future__ import annotations

import os
import threading

import ferry

from .workshop import Workshop


def first(watch: ferry.Watch, kind: str) -> ferry.Event:
    """The next event of a kind; an error where the watch ends without one."""
    return next(event for event in watch if event.kind == kind)


class WatchTests(Workshop):
    def test_events_come_as_they_happen(self) -> None:
        laptop, phone = self.begin_two()
        with laptop.watch() as here, phone.watch() as there:
            first(here, "synced")
            first(there, "synced")
            self.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
            sent = first(here, "synced").report
            self.assertEqual(sent and sent.published.changes, 1)
            self.assertEqual(here.path, laptop.path)
            received = first(there, "synced").report
            self.assertEqual(received and received.replayed.changes, 1)
        self.assertEqual(self.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), [("heard",)])

    def test_another_thread_ends_it_and_the_last_event_is_stopped(self) -> None:
        watch = self.begin().watch()
        kinds = []
        for event in watch:
            kinds.append(event.kind)
            if event.kind == "synced":
                threading.Thread(target=watch.stop).start()
        self.assertEqual((kinds[0], kinds[-1]), ("started", "stopped"))
        self.assertEqual(list(watch), [])
        watch.close()

    def test_a_failure_that_may_pass_is_an_event(self) -> None:
        with self.begin().watch() as events:
            first(events, "synced")
            os.rename(self.path("shared"), self.path("away"))
            self.sql("a.sqlite", "UPDATE artist SET plays = 9")
            failed = first(events, "failed").error
            self.assertEqual(failed and failed.code, "containerMissing")
            os.rename(self.path("away"), self.path("shared"))
            self.assertIsNotNone(first(events, "synced").report)

    def test_the_end_of_the_database_is_an_exception(self) -> None:
        laptop = self.begin()
        with laptop.watch() as events:
            first(events, "synced")
            for name in ("a.sqlite", "a.sqlite-wal", "a.sqlite-shm"):
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))
            with self.assertRaises(ferry.FerryError) as caught:
                for _ in events:
                    pass
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("databaseMissing", 66))
        self.assertEqual(list(events), [])

    def test_a_database_that_cannot_be_watched_is_an_exception(self) -> None:
        watch = ferry.Database(self.path("none.sqlite"), self.command).watch()
        with self.assertRaises(ferry.FerryError) as caught:
            next(watch)
        self.assertEqual((caught.exception.code, caught.exception.exit_status), ("databaseMissing", 66))

    def test_closing_twice_is_no_error(self) -> None:
        watch = self.begin().watch()
        watch.close()
        watch.close()
        self.assertEqual(list(watch), [])
