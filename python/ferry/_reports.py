"""The command's reports. Times are milliseconds since the Unix epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

#: A value of a row. Infinite numbers come as text.
Value = Union[None, int, float, str, bytes]


@dataclass(frozen=True)
class Device:
    id: str
    name: str


@dataclass(frozen=True)
class Amount:
    """What was sent or received."""

    segments: int
    #: Insertions, updates and deletions.
    changes: int


@dataclass(frozen=True)
class Waiting:
    """A device whose changes cannot be merged further for now."""

    device: str
    #: In a sentence.
    reason: str
    #: `fileNotThereYet`, `logCollected`, `olderState` and `clockAhead` resolve by themselves; any other code is damage.
    code: str
    since_milliseconds: int | None
    file: str | None


@dataclass(frozen=True)
class TableApart:
    """A table that other devices have by another primary key."""

    table: str
    here: str
    there: str
    devices: list[str]


@dataclass(frozen=True)
class WaitingTable:
    """A table with rows, or changes, that wait for a process with the app's own functions."""

    table: str
    rows: int
    unpacked: int
    missing: str


@dataclass(frozen=True)
class Renewal:
    """The database got a new device ID, because it is a copy or was restored."""

    #: `copied`, `restored`, `cloned`, `keys` or `enrolled`.
    reason: str
    former_device: str
    device: str
    sent_again: int


@dataclass(frozen=True)
class AdmittedCopy:
    """A copy that came into a sealed container. Where nobody made one, remove it."""

    id: str
    of: str
    admitted_milliseconds: int


@dataclass(frozen=True)
class SyncReport:
    """The result of a pass."""

    published: Amount
    replayed: Amount
    #: Hidden rows in the whole database.
    hidden: int
    #: Conflicts that this pass found.
    conflicts: int
    waiting: list[Waiting]
    tables_apart: list[TableApart]
    waiting_tables: list[WaitingTable]
    renewed: Renewal | None
    #: IDs of devices that this device let in.
    admitted: list[str]
    copies: list[AdmittedCopy]
    #: The number of devices that ask to be let in.
    claims: int | None
    #: Why nothing is published for now.
    held: str | None
    duration_milliseconds: int

    @property
    def has_news(self) -> bool:
        """True if changes were sent or received."""
        return self.published.changes > 0 or self.replayed.changes > 0


@dataclass(frozen=True)
class Container:
    id: str
    name: str
    path: str
    #: `folder`, `s3` or `rclone`.
    kind: str
    reachable: bool
    #: Why the container is not reachable.
    problem: str | None
    #: Why the last sync failed, and since when.
    failure: str | None
    failing_since_milliseconds: int | None
    sealed: bool | None
    epoch: int | None
    members: int | None
    claims: int | None
    copies: list[AdmittedCopy]


@dataclass(frozen=True)
class Table:
    name: str
    identity: str
    #: Living rows, hidden rows included.
    objects: int
    is_here: bool


@dataclass(frozen=True)
class Peer:
    """Another device, as this one knows it."""

    id: str
    name: str
    #: Sets of changes that are not merged here yet.
    behind: int
    #: Sets of changes of this device that the other has not merged.
    unacknowledged: int
    last_seen_milliseconds: int | None
    #: `active`, `silent` or `retired`.
    activity: str
    is_left_behind: bool
    problem: str | None
    problem_code: str | None
    problem_since_milliseconds: int | None
    problem_file: str | None
    #: `inStep`, `behind`, `ahead`, `apart`, `waits`, `differs`, `unproven`, or nothing.
    standing: str | None
    changesets_behind: int | None
    changesets_ahead: int | None
    differing: list[str]
    waiting_tables: list[str]
    differing_rows: list[str]
    differing_schemas: list[str]
    differing_by_keys: list[str]
    successors: list[str]
    #: `removed` or `left`, for a device that is out of a sealed container.
    membership: str | None


@dataclass(frozen=True)
class Exceptional:
    """A count of rows that are not shown as written."""

    table: str
    kind: str
    reason: str
    columns: list[str]
    count: int


@dataclass(frozen=True)
class Status:
    device: Device
    container: Container
    tables: list[Table]
    devices: list[Peer]
    #: Changes that are not in the container yet.
    unpublished: int
    hidden: int
    #: Conflicts that nobody resolved.
    conflicts: int
    exceptions: list[Exceptional]
    tables_apart: list[TableApart]
    waiting_tables: list[WaitingTable]
    unseen_tables: list[str]

    @property
    def in_step(self) -> bool:
        """True if everything is sent, and every active device is proven to show the same rows."""
        active = [peer for peer in self.devices if peer.activity == "active" and not peer.successors]
        return (
            self.container.reachable and self.unpublished == 0 and not self.unseen_tables
            and all(peer.standing == "inStep" for peer in active))


@dataclass(frozen=True)
class ConflictSide:
    """One of two concurrent writes."""

    value: Value
    device: str
    time_milliseconds: int | None


@dataclass(frozen=True)
class Conflict:
    """What a concurrent write lost. `Database.restore` brings it back."""

    number: int
    table: str
    #: A value for each column of the key.
    key: list[Value]
    object: str
    #: Absent where a whole row is concerned.
    column: str | None
    #: `field`, `deleted`, `revived` or `joined`.
    kind: str
    lost: ConflictSide
    kept: ConflictSide
    noticed_milliseconds: int
    resolved_milliseconds: int | None


@dataclass(frozen=True)
class HiddenRow:
    """A row that is hidden, or joined to another row."""

    table: str
    key: list[Value]
    object: str
    kind: str
    reason: str
    columns: list[str]
    values: dict[str, Value]


@dataclass(frozen=True)
class RestoredRow:
    """What a restoration did."""

    table: str
    key: list[Value]
    #: `inserted`, `updated`, `deleted` or `unchanged`.
    action: str
    columns: list[str]
    #: References that could not come back.
    without_reference: list[str]


@dataclass(frozen=True)
class ConflictList:
    conflicts: list[Conflict]
    total: int
    hidden: list[HiddenRow]
    hidden_total: int


