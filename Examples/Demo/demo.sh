#!/usr/bin/env bash
# Two devices, one shared folder, and people who change the same things at once.
#
# $FERRY: the path of the ferry command; without it, the one on the PATH. $DEMO_DATABASE: another Chinook database.
# Exits with 1 where the devices differ at the end, or a database is not sound.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
ferry=${FERRY:-ferry}
source_database=${DEMO_DATABASE:-$root/../shared/data/chinook.sqlite}

place=$(mktemp -d "${TMPDIR:-/tmp}/ferry-demo.XXXXXX")
trap 'rm -rf "$place"' EXIT
laptop=$place/laptop/music.sqlite
phone=$place/phone/music.sqlite
folder=$place/shared/music
mkdir "$place/laptop" "$place/phone" "$place/shared"
# The devices of the demo are on one computer, and their keys go with the demo.
export FERRY_KEYS=$place/keys

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' dim=$'\e[2m' off=$'\e[0m'
else
    bold='' dim='' off=''
fi

heading() { printf '\n%s== %s%s\n' "$bold" "$*" "$off"; }
told() { printf '%s\n' "$*" | sed 's/^/  /'; }

# Runs a command and shows it, with paths shortened.
run() {
    printf '\n%s$ %s%s\n' "$dim" "${*//$place\//}" "$off"
    "$ferry" "${@:2}" | sed "s|$place/||g"
}

# The laptop's person uses the sqlite3 shell, the phone's a Python script. Neither knows of Ferry.
on_laptop() { sqlite3 -bail "$laptop" "PRAGMA foreign_keys = ON; $1"; }
on_phone() {
    python3 - "$phone" "$1" <<'PYTHON'
import sqlite3, sys

connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA foreign_keys = ON")
connection.executescript(sys.argv[2])
connection.close()
PYTHON
}

# case_ <title> <laptop's SQL> <phone's SQL> <question> <what Ferry makes of it>
titles=() questions=() answers=()
case_() {
    heading "$1"
    printf '  laptop, sqlite3   %s\n' "${2//$'\n'/$'\n'                    }"
    printf '  phone, Python     %s\n' "${3//$'\n'/$'\n'                    }"
    on_laptop "$2"
    on_phone "$3"
    titles+=("$1") questions+=("$4") answers+=("$5")
}

# The answers of both databases to one question, side by side.
side_by_side() {
    local -a left right
    mapfile -t left < <(sqlite3 -separator '  ' -nullvalue NULL "$laptop" "$1")
    mapfile -t right < <(sqlite3 -separator '  ' -nullvalue NULL "$phone" "$1")
    local count=$((${#left[@]} > ${#right[@]} ? ${#left[@]} : ${#right[@]})) row
    printf '  %s%-46s | %s%s\n' "$dim" laptop phone "$off"
    for ((row = 0; row < count; row++)); do
        printf '  %-46s | %s\n' "${left[row]:-}" "${right[row]:-}"
    done
    if ((count == 0)); then printf '  %-46s | %s\n' '(no row)' '(no row)'; fi
}

printf '%sFerry: one database on two devices%s\n' "$bold" "$off"
if [ -f "$source_database" ]; then
    cp "$source_database" "$laptop"
    chmod u+w "$laptop"
    # Chinook has no UNIQUE column; the demo wants one.
    sqlite3 "$laptop" 'CREATE UNIQUE INDEX IF NOT EXISTS GenreName ON Genre(Name)'
    told "The laptop has the Chinook sample database."
else
    sqlite3 "$laptop" <"$here/music.sql"
    told "The laptop has a small music shop's database (music.sql)."
fi

run ferry init "$laptop" "$folder" --name laptop --recovery-to "$place/recovery-code"
printf '\n'
told "${dim}Meanwhile the folder travels: here both devices simply see the same one. Only members can read it.$off"
run ferry invite "$laptop" --no-wait | tee "$place/invitation"
words=$(sed -n 's/^    //p' "$place/invitation")
printf '\n'
told "${dim}Somebody types the words on the phone, which asks; the laptop lets it in with its next sync.$off"
ask() { run ferry join "$phone" "$folder" --name phone --quiet --no-wait --code - <<<"$words"; }
ask 2>/dev/null || [ $? -eq 75 ]    # not let in yet
run ferry sync "$laptop"
ask
run ferry sync "$laptop"

heading "Now both change things, and neither sees the other"

case_ "1. Two fields of one row" \
    "UPDATE Track SET Composer = 'Corrected by the laptop' WHERE TrackId = 2;" \
    "UPDATE Track SET UnitPrice = 1.49 WHERE TrackId = 2;" \
    "SELECT TrackId, Composer, UnitPrice FROM Track WHERE TrackId = 2" \
    "Both stand: fields merge one by one."

case_ "2. The same field" \
    "UPDATE Artist SET Name = 'Renamed on the laptop' WHERE ArtistId = 1;" \
    "UPDATE Artist SET Name = 'Renamed on the phone, later' WHERE ArtistId = 1;" \
    "SELECT ArtistId, Name FROM Artist WHERE ArtistId = 1" \
    "The later one stands; the other is kept as a conflict."

case_ "3. Two new rows, one integer key" \
    "INSERT INTO Artist(Name) VALUES ('Ada Meadow');
INSERT INTO Album(Title, ArtistId) VALUES ('Field Notes', last_insert_rowid());" \
    "INSERT INTO Artist(Name) VALUES ('Bo Winter');
INSERT INTO Album(Title, ArtistId) VALUES ('Snowed In', last_insert_rowid());" \
    "SELECT ArtistId, Name, '-', Title FROM Artist JOIN Album USING (ArtistId)
     WHERE Name IN ('Ada Meadow', 'Bo Winter') ORDER BY Name" \
    "SQLite gave both artists the same key. Each device keeps its own, the other's gets a free one, and the albums follow."

case_ "4. One new value under a UNIQUE index, twice" \
    "INSERT INTO Genre(Name) VALUES ('Ambient');
UPDATE Track SET GenreId = last_insert_rowid() WHERE TrackId = 7;" \
    "INSERT INTO Genre(Name) VALUES ('Ambient');
UPDATE Track SET GenreId = last_insert_rowid() WHERE TrackId = 8;" \
    "SELECT Genre.Name, count(*) || ' tracks' FROM Genre JOIN Track USING (GenreId) WHERE Genre.Name = 'Ambient' GROUP BY GenreId" \
    "The index holds, and nothing is lost: both mean one genre, and it has both tracks."

case_ "5. Deleted here, renamed there" \
    "DELETE FROM PlaylistTrack WHERE PlaylistId = 2;
DELETE FROM Playlist WHERE PlaylistId = 2;" \
    "UPDATE Playlist SET Name = 'Saved by the phone' WHERE PlaylistId = 2;" \
    "SELECT PlaylistId, Name FROM Playlist WHERE PlaylistId = 2 OR Name = 'Saved by the phone'" \
    "The rename came later and had not seen the deletion: the playlist lives."

case_ "6. Deleted here, used there" \
    "DELETE FROM PlaylistTrack WHERE PlaylistId = 3;
DELETE FROM Playlist WHERE PlaylistId = 3;" \
    "INSERT INTO PlaylistTrack(PlaylistId, TrackId) VALUES (3, 1);" \
    "SELECT PlaylistId, Playlist.Name, '-', Track.Name
     FROM Playlist JOIN PlaylistTrack USING (PlaylistId) JOIN Track USING (TrackId) WHERE PlaylistId = 3" \
    "A row that somebody still refers to cannot go: it comes back for the track that was added."

case_ "7. The same pair under a compound key" \
    "INSERT INTO PlaylistTrack(PlaylistId, TrackId) VALUES (4, 5);" \
    "INSERT INTO PlaylistTrack(PlaylistId, TrackId) VALUES (4, 5);" \
    "SELECT PlaylistId, TrackId, count(*) || ' row' FROM PlaylistTrack WHERE PlaylistId = 4 AND TrackId = 5" \
    "The key says that it is one thing: one row."

case_ "8. A circle in a table that refers to itself" \
    "UPDATE Employee SET ReportsTo = 5 WHERE EmployeeId = 3;" \
    "UPDATE Employee SET ReportsTo = 3 WHERE EmployeeId = 5;" \
    "SELECT e.FirstName || ' ' || e.LastName, 'reports to', b.FirstName || ' ' || b.LastName
     FROM Employee e JOIN Employee b ON b.EmployeeId = e.ReportsTo WHERE e.EmployeeId IN (3, 5) ORDER BY e.EmployeeId" \
    "The schema allows it, so both stand."

heading "They meet again"
run ferry status "$laptop" | sed -n 1,4p
run ferry sync "$laptop"
run ferry sync "$phone"
run ferry sync "$laptop"
run ferry sync "$phone"

run ferry log "$laptop" --limit 8
run ferry conflicts "$laptop"
run ferry status "$phone" | sed -n '/Other device/,/^$/p'

heading "What it came to"
for index in "${!titles[@]}"; do
    printf '\n%s%s%s\n' "$bold" "${titles[index]}" "$off"
    side_by_side "${questions[index]}"
    told "$dim-> ${answers[index]}$off"
done

heading "9. A database is copied, and both go on"
tablet=$place/tablet/music.sqlite
mkdir "$place/tablet"
told "tablet, sqlite3   .backup of the laptop's database; then it adds an artist"
sqlite3 "$laptop" ".backup '$tablet'"
sqlite3 "$tablet" "INSERT INTO Artist(Name) VALUES ('Cleo Summer');"
on_laptop "INSERT INTO Artist(Name) VALUES ('Dan Autumn');"
run ferry sync "$tablet"
run ferry devices "$tablet" rename tablet
for database in "$laptop" "$tablet" "$phone" "$laptop"; do "$ferry" sync "$database" --quiet; done
run ferry devices "$phone"
printf '\n'
side_by_side "SELECT ArtistId, Name FROM Artist WHERE Name IN ('Cleo Summer', 'Dan Autumn') ORDER BY Name"
told "$dim-> The copy is recognised and becomes a device of its own; nobody has to do anything.$off"

heading "The folder stays small"
for ((number = 1; number <= 40; number++)); do
    on_laptop "UPDATE Artist SET Name = 'Again and again $number' WHERE ArtistId = 5;"
    "$ferry" sync "$laptop" --quiet
done
for database in "$phone" "$tablet"; do "$ferry" sync "$database" --quiet; done
run ferry compact "$laptop"
told "$dim-> 40 changes, one by one. It happens by itself too, at the end of a sync.$off"

heading "Table by table"
python3 "$here/compare.py" "$laptop" "$phone"
run ferry verify "$laptop" --deep
run ferry verify "$phone" --deep
printf '\n%sBoth devices hold the same.%s\n' "$bold" "$off"
