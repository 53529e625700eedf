"""Keeps one SQLite database in step on several devices, through any folder they share.

This package runs the command `ferry` and gives its reports as typed objects::

    import ferry

    music = ferry.open("music.sqlite")
    print(music.sync().replayed.changes)
    for conflict in music.conflicts():
        print(conflict.table, conflict.column, conflict.lost.value)
    with music.watch() as events:
        for event in events:
            print(event.kind)

Reading and writing rows stays the task of `sqlite3`, or of any other program.
"""

from ._command import Command, call
from ._database import Database, open
from ._errors import FerryError
from ._reports import (
    AdmittedCopy,
    Amount,
    Conflict,
    ConflictSide,
    Container,
    Device,
    Exceptional,
    HiddenRow,
    Peer,
    Renewal,
    RestoredRow,
    Status,
    SyncReport,
    Table,
    TableApart,
    Value,
    Waiting,
    WaitingTable,
)
from ._watch import Event, Watch

__all__ = [
    "AdmittedCopy",
    "Amount",
    "Command",
    "Conflict",
    "ConflictSide",
    "Container",
    "Database",
    "Device",
    "Event",
    "Exceptional",
    "FerryError",
    "HiddenRow",
    "Peer",
    "Renewal",
    "RestoredRow",
    "Status",
    "SyncReport",
    "Table",
    "TableApart",
    "Value",
    "Waiting",
    "WaitingTable",
    "Watch",
    "call",
    "open",
]
__version__ = "0.1.0"
