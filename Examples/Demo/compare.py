#!/usr/bin/env python3
"""Compares two databases table by table, and checks that both are sound.

Integer keys may differ between devices: where both gave the same number to different new rows, each keeps its own and
the other's gets a free one. So a row is compared by what it says, with every foreign key replaced by the row that it
refers to. How many keys agree all the same is told beside.

Usage: compare.py <database> <database>; the exit status is 1 where anything differs or is not sound.
"""
import sqlite3
import sys
from collections import Counter

# Employees may report to each other in a circle: references are followed this deep.
DEPTH = 3


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Database:
    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.tables = [
            row[0]
            for row in self.connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'ferry\\_%' ESCAPE '\\' ORDER BY name"
            )
        ]
        self.rows, self.columns, self.keys, self.parents = {}, {}, {}, {}
        for table in self.tables:
            info = self.connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
            self.columns[table] = [column[1] for column in info]
            key = [column for column in info if column[5]]
            self.keys[table] = [column[1] for column in sorted(key, key=lambda column: column[5])]
            self.parents[table] = {
                row[3]: row[2] for row in self.connection.execute(f"PRAGMA foreign_key_list({quoted(table)})")
            }
            self.rows[table] = {}
            for row in self.connection.execute(f"SELECT * FROM {quoted(table)}"):
                values = dict(zip(self.columns[table], row))
                self.rows[table][tuple(values[column] for column in self.keys[table])] = values

    def meaning(self, table, values, depth=DEPTH):
        """What a row says, without integer keys."""
        said = []
        for column in self.columns[table]:
            value = values[column]
            parent = self.parents[table].get(column)
            if parent and value is not None:
                target = self.rows[parent].get((value,))
                said.append(self.meaning(parent, target, depth - 1) if target and depth > 0 else "…")
            elif self.keys[table] != [column]:
                said.append(value)
        return repr(said)

    def meanings(self, table):
        return Counter(self.meaning(table, row) for row in self.rows[table].values())

    def problems(self):
        found = [row[0] for row in self.connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return found + [
            f"{row[0]}: a row refers to no row of {row[2]}" for row in self.connection.execute("PRAGMA foreign_key_check")
        ]


def main():
    first, second = (Database(path) for path in sys.argv[1:3])
    failed = first.tables != second.tables
    if failed:
        print(f"  The tables differ: {first.tables} and {second.tables}")
    for table in first.tables:
        here, there = first.meanings(table), second.meanings(table)
        agreeing = len([
            key for key, row in first.rows[table].items()
            if key in second.rows[table] and first.meaning(table, row) == second.meaning(table, second.rows[table][key])
        ])
        verdict = "same" if here == there else "DIFFERENT"
        rows = sum(here.values())
        note = "" if agreeing == rows else f"   ({rows - agreeing} under another integer key)"
        print(f"  {table:<16}{rows:>7} rows   {verdict}{note}")
        if here != there:
            failed = True
            for row in list((here - there))[:3]:
                print(f"      only in the first:  {row[:150]}")
            for row in list((there - here))[:3]:
                print(f"      only in the second: {row[:150]}")
    for name, database in (("first", first), ("second", second)):
        problems = database.problems()
        failed = failed or bool(problems)
        for problem in problems[:5]:
            print(f"  The {name} database is not sound: {problem}")
    print("  foreign_key_check, integrity_check: " + ("NOT clean, or rows differ" if failed else "clean on both"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
