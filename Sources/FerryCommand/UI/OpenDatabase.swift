import Dispatch
import Ferry
import FerryContainer
import Foundation

/// The database of the page: opened once, and opened again if a new file is in its place. Between two calls the object
/// holds no lock.
///
/// All work is on a single queue, because a replica's calls are synchronous and the page's threads must not wait.
///
/// `@unchecked Sendable` because only `queue` touches the variables.
final class OpenDatabase: @unchecked Sendable {
    let path: String
    private let queue = DispatchQueue(label: "ferry.ui")
    private var replica: Replica?
    private var dataVersion: Int?

    init(path: String) { self.path = path }

    /// Calls `body` with the database at the path now.
    /// - Throws: as `Replica.init(path:)`, and errors of `body`.
    func perform<Result: Sendable>(_ body: @escaping @Sendable (Replica) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try self.performNow(body) }) }
        }
    }

    /// As `perform`, on a thread that may wait.
    func performAndWait<Result>(_ body: (Replica) throws -> Result) throws -> Result {
        try queue.sync { try performNow(body) }
    }

    private func performNow<Result>(_ body: (Replica) throws -> Result) throws -> Result {
        let present = try present()
        do {
            return try body(present)
        } catch let error as FerryError where Self.codesOfALostFile.contains(error.code) {
            // The next call opens the file of its time.
            close()
            throw error
        }
    }

    private func present() throws -> Replica {
        if let replica {
            // A file without an answer is opened again, and opening gives the reason.
            if (try? !replica.store.hasMoved()) ?? false { return replica }
            close()
        }
        let opened = try Replica(path: path)
        replica = opened
        return opened
    }

    private func close() {
        try? replica?.store.close()  // only read, or committed
        replica = nil
        dataVersion = nil
    }

    /// Errors after which a new file may be at the path.
    private static let codesOfALostFile: Set<FerryError.Code> = [
        .databaseMissing, .databaseReplaced, .databaseCorrupt, .notADatabase, .notTracked, .storeIncomplete,
    ]

    /// True after a commit by a different connection since the last call, or with a new file in the database's place.
    func hasNews() -> Bool {
        queue.sync {
            let wasThere = dataVersion != nil
            do {
                let version = try performNow { try $0.store.dataVersion() }
                // Opening a file again forgets the number, because the number counts for each connection by itself.
                defer { dataVersion = version }
                return version != dataVersion
            } catch {
                // A page tells the reason once.
                return wasThere
            }
        }
    }

    /// True if looking at the container costs requests to a storage.
    var isRemote: Bool {
        queue.sync {
            // An unreadable place counts as local: it is read when somebody asks.
            (try? performNow { try ContainerLocation($0.identity.containerPath).folderPath == nil }) ?? false
        }
    }

    /// Where news may come from; nowhere but the database's path while there is no database.
    func watchedPlaces() -> (directories: [String], files: [String]) {
        queue.sync { (try? performNow { $0.watchedPlaces() }) ?? ([], [FerryPath.absolute(path)]) }
    }
}

/// Paths from the root on.
private enum FerryPath {
    static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}
