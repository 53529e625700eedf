import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Something that the subject of a `FaultHome` does, and what it does it to.
struct FaultSituation: Sendable {
    var name: String
    /// Makes the devices, and the state in which the subject is.
    var prepare: @Sendable (FaultHome) throws -> Void
    /// What the subject does.
    var act: @Sendable (FaultHome) throws -> Void
    /// What else holds once everything is at rest.
    var checkEnd: @Sendable (FaultHome, _ context: String) throws -> Void = { _, _ in }

    private static let subject = FaultHome.subject
    private static let peer = 1

    static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artist(id) ON DELETE CASCADE);
        CREATE TABLE tag(name TEXT PRIMARY KEY, note BLOB) WITHOUT ROWID;

        """
    static let rows = """
        INSERT INTO artist VALUES (1, 'Nina'), (2, 'Tom'), (3, 'Gone');
        INSERT INTO album VALUES (1, 'Pastel Blues', 1), (2, 'Rain Dogs', 2), (3, 'Lost', 3);
        INSERT INTO tag VALUES ('soul', zeroblob(3000)), ('night', NULL), ('doomed', x'01')
        """

    /// All of the app's rows, without integers that devices choose by themselves.
    static func rows(of store: Store) throws -> [String] {
        let query = """
            SELECT 'artist ' || name FROM artist
            UNION ALL SELECT 'album ' || title || ' by ' || coalesce(name, 'nobody')
                FROM album LEFT JOIN artist ON artist.id = artist_id
            UNION ALL SELECT 'tag ' || name || ' ' || coalesce(length(note) || ' ' || hex(substr(note, 1, 4)), 'NULL')
                FROM tag ORDER BY 1
            """
        return try store.read {
            try $0.rows(query).map { row in
                if case .text(let bytes) = row[0] { String(decoding: bytes, as: UTF8.self) } else { "" }
            }
        }
    }

    /// A peer with rows, and the subject in step with it.
    private static func pair(_ home: FaultHome) throws {
        try peerAlone(home)
        try home.join(subject, try home.makeStore(subject))
        try settle(home)
    }

    private static func peerAlone(_ home: FaultHome) throws {
        try home.create(peer, try home.makeStore(peer, rows))
    }

    private static func settle(_ home: FaultHome) throws {
        for _ in 0..<2 { for index in [subject, peer] { try home.sync(index) } }
    }

    private static let ownChanges = """
        INSERT INTO artist VALUES (10, 'Ann'); INSERT INTO album VALUES (10, 'One', 10);
        UPDATE album SET title = 'Blues' WHERE title = 'Pastel Blues'; DELETE FROM artist WHERE name = 'Gone';
        INSERT INTO tag VALUES ('own', zeroblob(9000)); UPDATE tag SET note = x'02' WHERE name = 'soul'
        """
    private static let peersChanges = """
        INSERT INTO artist VALUES (10, 'Zoe'); INSERT INTO album VALUES (10, 'Two', 10);
        UPDATE album SET title = 'Dogs' WHERE title = 'Rain Dogs'; DELETE FROM tag WHERE name = 'doomed';
        INSERT INTO tag VALUES ('theirs', zeroblob(9000)); UPDATE tag SET note = x'03' WHERE name = 'night'
        """

    // MARK: Every situation

    static let initialization = FaultSituation(
        name: "init", prepare: { _ = try $0.makeStore(subject, rows) },
        act: { home in
            if try home.isTracked(subject) {
                try home.sync(subject)
            } else {
                try home.create(subject, try home.openStore(subject))
            }
        })

    static let packing = FaultSituation(
        name: "packing",
        prepare: {
            try pair($0)
            try $0.write(subject, ownChanges)
        }, act: { try $0.sync(subject) })

    static let replay = FaultSituation(
        name: "replay",
        prepare: {
            try pair($0)
            try $0.write(peer, peersChanges)
            try $0.sync(peer)
            $0.clock.advance(hours: 1)
            try $0.write(
                subject, "UPDATE tag SET note = x'04' WHERE name = 'doomed'; DELETE FROM artist WHERE name = 'Tom'")
        }, act: { try $0.sync(subject) })

    static let gathering = FaultSituation(
        name: "gathering",
        prepare: { home in
            try pair(home)
            for number in 1...3 {
                try home.write(subject, "INSERT INTO tag VALUES ('waits \(number)', NULL)")
                try home.pack(subject)
            }
        }, act: { try $0.sync(subject) })

    /// A log of which a part is only in a snapshot.
    private static func collected(_ home: FaultHome) throws {
        try home.write(peer, peersChanges)
        try home.sync(peer)
        for number in 1...3 {
            try home.write(peer, "INSERT INTO artist VALUES (\(20 + number), 'Later \(number)')")
            try home.sync(peer)
        }
        home.clock.advance(days: 90)
        _ = try home.replica(peer).compact()
        home.clock.advance(hours: 2)
        _ = try home.replica(peer).compact()
        XCTAssertGreaterThan(try home.replica(peer).store.reading().logStart, 1)
    }

    static let bulkLoad = FaultSituation(
        name: "joining anew by a snapshot",
        prepare: {
            try peerAlone($0)
            try collected($0)
        },
        act: { home in
            if try home.isTracked(subject) { try home.sync(subject) } else { try home.joinAnew(subject) }
        })

    static let joining = FaultSituation(
        name: "joining with rows by a snapshot",
        prepare: {
            try peerAlone($0)
            try collected($0)
            _ = try $0.makeStore(
                subject,
                "INSERT INTO artist VALUES (1, 'Nina'), (2, 'Own'); INSERT INTO album VALUES (1, 'Mine', 2), (2, 'Nina''s', 1);"
                    + "INSERT INTO tag VALUES ('soul', x'05'), ('own', NULL)")
        },
        act: { home in
            if try home.isTracked(subject) {
                try home.sync(subject)
            } else {
                try home.join(subject, try home.openStore(subject))
            }
        })

    static let returning = FaultSituation(
        name: "returning by a snapshot",
        prepare: {
            try pair($0)
            try $0.write(
                subject, "UPDATE tag SET note = x'06' WHERE name = 'doomed'; INSERT INTO tag VALUES ('away', NULL)")
            try collected($0)
        }, act: { try $0.sync(subject) })

    static let renewal = FaultSituation(
        name: "a copy's new device ID",
        prepare: {
            try pair($0)
            try $0.write(peer, peersChanges)
            try $0.sync(peer)
            $0.clock.advance(hours: 1)
            try $0.write(subject, ownChanges)
            try $0.pack(subject)
            $0.clock.advance(hours: 1)
            try $0.write(subject, "INSERT INTO tag VALUES ('noted', NULL)")
            $0.host.become("another machine")
        }, act: { try $0.sync(subject) })

    static let restored = FaultSituation(
        name: "a restored backup's new device ID",
        prepare: { home in
            try pair(home)
            try home.write(subject, "INSERT INTO tag VALUES ('before', NULL)")
            try home.pack(subject)
            let backup = try home.backup(subject)
            try home.sync(subject)
            try home.write(subject, ownChanges)
            try home.sync(subject)
            try home.restore(subject, backup)
            try home.write(subject, "INSERT INTO tag VALUES ('after', NULL); DELETE FROM tag WHERE name = 'doomed'")
        }, act: { try $0.sync(subject) })

    static let collection = FaultSituation(
        name: "collecting tombstones",
        prepare: {
            try pair($0)
            try $0.write(subject, ownChanges + "; DELETE FROM tag WHERE name = 'doomed'")
            try settle($0)
        },
        act: { home in
            let store = try home.replica(subject).store
            try store.collectTombstones(stable: store.versionVector())
        })

    /// The rows stay with the app, and the peer goes on.
    static let leaving = FaultSituation(
        name: "leaving",
        prepare: {
            try pair($0)
            try $0.write(subject, ownChanges)
            try settle($0)
        }, act: { try $0.leave(subject) }, checkEnd: { try assertPlain($0, $1) })

    /// Nobody else has ever used the container.
    static let leavingAlone = FaultSituation(
        name: "leaving alone",
        prepare: { home in
            try home.create(subject, try home.makeStore(subject, rows))
            try home.sync(subject)
        }, act: { try $0.leave(subject) }, checkEnd: { try assertPlain($0, $1) })

    /// Nothing of Ferry's is left in the subject's database or beside the database, but for the file that joining again reads.
    private static func assertPlain(_ home: FaultHome, _ context: String) throws {
        XCTAssertFalse(try home.isTracked(subject), context)
        let names = try home.openStore(subject).read {
            try $0.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'")
        }
        XCTAssertEqual(names, [], context)
        let path = home.databasePath(subject)
        for suffix in ["-ferry-lock", "-ferry-leader"] {
            XCTAssertFalse(FileManager.default.fileExists(atPath: path + suffix), context)
        }
    }

    static let rejoining = FaultSituation(
        name: "joining again after leaving",
        prepare: { home in
            try pair(home)
            try home.write(subject, ownChanges)
            try settle(home)
            try home.leave(subject)
            try home.write(
                peer,
                "UPDATE album SET title = 'Dogs' WHERE title = 'Rain Dogs'; INSERT INTO tag VALUES ('theirs', NULL)")
            try home.sync(peer)
            home.clock.advance(hours: 1)
        },
        act: { home in
            if try home.isTracked(subject) {
                try home.sync(subject)
            } else {
                try home.join(subject, try home.openStore(subject), JoinOptions(match: .keys))
            }
        })

    static let compaction = FaultSituation(
        name: "compaction",
        prepare: { home in
            try pair(home)
            for number in 1...17 {
                try home.write(subject, "INSERT INTO tag VALUES ('flush \(number)', zeroblob(100))")
                try home.pack(subject)
                try home.publish(subject)
            }
            try home.sync(peer)
            home.clock.advance(hours: 30)
        },
        act: { home in
            // GRDB changes the schema's version when it opens a pool, and a snapshot waits for the pass that looks.
            try home.sync(subject)
            _ = try home.replica(subject).compact()
        })
}

extension FaultSituation {
    /// What the devices show once the subject has done it and everything is in step.
    struct Rest: Equatable {
        var rows: [String]
        /// How many devices ever published.
        var devices: Int
        /// What each device's `status` says of the others.
        var standings: [[String]]
    }

    /// Does again what may have been interrupted, and syncs everybody until nothing is left to do.
    func settle(_ home: FaultHome, _ context: String) throws -> Rest {
        try act(home)
        try checkEnd(home, context)
        let devices = try [Self.subject, Self.peer].filter(home.isTracked)
        if devices.isEmpty {
            return try Rest(
                rows: Self.rows(of: home.openStore(Self.subject)), devices: home.container.devices().count,
                standings: [])
        }
        var (hasNews, rounds) = (true, 0)
        while hasNews && rounds < 10 {
            hasNews = false
            for index in devices { hasNews = try home.sync(index).hasNews || hasNews }
            rounds += 1
        }
        XCTAssertFalse(hasNews, "\(context): the devices do not come to rest")
        let standings = try devices.map { index in
            try home.replica(index).status().devices.map { "\($0.name): \($0.standing?.rawValue ?? "no head")" }
                .sorted()
        }
        let rest = try Rest(
            rows: Self.rows(of: home.replica(devices[0]).store), devices: home.container.devices().count,
            standings: standings)
        for index in devices {
            XCTAssertEqual(try Self.rows(of: home.replica(index).store), rest.rows, "\(context): device \(index)")
            let report = try home.replica(index).verify(deep: true)
            XCTAssertTrue(report.isSound, "\(context): device \(index): \(report)")
            XCTAssertEqual(
                try home.replica(index).store.statePosition().digests,
                try home.replica(devices[0]).store.statePosition().digests, "\(context): device \(index)")
        }
        return rest
    }

    /// Whether the database is whole, the app's own rows are there, and the container holds nothing of this device's that
    /// the database does not know.
    /// - Parameter before: the app's rows before the subject did anything.
    func check(_ home: FaultHome, before: Set<String>, after: Set<String>, _ context: String) throws {
        guard FileManager.default.fileExists(atPath: home.databasePath(Self.subject)) else {
            return XCTAssertTrue(before.isEmpty, "\(context): the database is gone")
        }
        let isTracked = try home.isTracked(Self.subject)
        let store = try isTracked ? home.replica(Self.subject).store : home.openStore(Self.subject)
        defer { if !isTracked && home.keeping != .pool { try? store.close() } }  // a test that fails has said why
        let checks = try store.read {
            try $0.rows("PRAGMA integrity_check") + $0.rows("PRAGMA foreign_key_check")
        }
        XCTAssertEqual(checks, [[.text(Array("ok".utf8)[...])]], context)
        if try store.read({ try $0.count("SELECT count(*) FROM sqlite_schema WHERE name = 'artist'") }) == 1 {
            let rows = Set(try Self.rows(of: store))
            XCTAssertEqual(before.intersection(after).subtracting(rows), [], "\(context): lost")
            XCTAssertEqual(rows.subtracting(before).subtracting(after), [], "\(context): neither old nor new")
        }
        guard isTracked else { return }
        let identity = try home.replica(Self.subject).identity
        let packed = try store.versionVector()[identity.device].sequence
        for name in try home.container.segments(of: identity.device) where name.last > packed {
            // Another copy may have published it, in a situation that is about that.
            XCTAssertEqual(self.name, Self.restored.name, "\(context): \(name.last) is published, \(packed) is known")
        }
    }
}
