import FerryContainer
import FerryCore
import Foundation

/// A database in the making, beside its place. The database gets its name once it is whole: whoever is interrupted leaves nothing at the
/// place, and may begin again.
struct UnfinishedDatabase {
    /// Where the database is made.
    let path: String
    /// The path of the whole database.
    private let place: String
    private let files = PosixFileSystem()

    /// - Parameter place: the path of the whole database.
    init(of place: String) {
        let files = DatabaseFiles(of: place)
        (self.place, path) = (files.database, files.path(.unfinished))
    }

    /// Runs `body`, which makes the database, while no other process makes it. Removes an earlier attempt before, and the leftovers after.
    /// - Throws: `busy` while another process makes the database; `inputOutput`.
    func whileAlone<Result>(_ body: () throws -> Result) throws -> Result {
        // Not the database's own lock: `leave` removes that.
        let lock = LeaderLock(databasePath: path + "-lock")
        guard try lock.acquire() else {
            throw FerryError(
                .busy, "Another Ferry makes this database already. Try again when it is done.", path: place)
        }
        defer {
            lock.remove()
            lock.release()
        }
        remove()
        defer { remove() }
        return try body()
    }

    /// Gives the database its name. The database is closed.
    /// - Throws: `invalidArgument` where somebody made a file there meanwhile; `inputOutput`.
    func finish() throws {
        for suffix in ["-wal", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
            throw FerryError(
                .inputOutput, "SQLite left the file \(path + suffix) open. Run the same command again.", path: place)
        }
        if FileManager.default.fileExists(atPath: place) {
            throw FerryError(
                .invalidArgument, "There is a file at \(place) already. Name one that is not there.", path: place)
        }
        // Of `leave`; nobody needs them before the database is there.
        let keys = (made: DatabaseFiles(of: path).path(.keys), kept: DatabaseFiles(of: place).path(.keys))
        if FileManager.default.fileExists(atPath: keys.made) { try files.rename(keys.made, to: keys.kept) }
        try files.rename(path, to: place)
        try files.synchronizeDirectory(at: (place as NSString).deletingLastPathComponent)
    }

    private func remove() {
        ReplicaSetup.removeDatabase(at: path)
        for suffix in [DatabaseFiles.Suffix.content, .keys] {
            try? FileManager.default.removeItem(atPath: DatabaseFiles(of: path).path(suffix))  // mostly missing
        }
    }
}
