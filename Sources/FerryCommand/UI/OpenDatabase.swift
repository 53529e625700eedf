import Dispatch
import Ferry
import FerryContainer
import Foundation

/// The database of the page: opened once, and opened again where another file is in its place. Between two calls it holds no lock.
///
/// All work is on one queue, because a replica's calls are synchronous and the page's threads must not wait.
///
/// `@unchecked Sendable` because everything that changes is touched on `queue` alone.
final class OpenDatabase: @unchecked Sendable {
    let path: String
    private let queue = DispatchQueue(label: "ferry.ui")
    private var replica: Replica?
    private var dataVersion: Int?

    init(path: String) { self.path = path }

    /// Calls `body` with the database that is at the path now.
    /// - Throws: as `Replica.init(path:)`, and what `body` throws.
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
            // The next call opens whatever is there then.
            close()
            throw error
        }
    }

    private func present() throws -> Replica {
        if let replica {
            // A file that cannot be asked is opened again, and says why.
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

    /// Errors after which the file at the path may be another one.
    private static let codesOfALostFile: Set<FerryError.Code> = [
        .databaseMissing, .databaseReplaced, .databaseCorrupt, .notADatabase, .notTracked, .storeIncomplete,
    ]

    /// True if somebody else has committed since the last call, or another file is in the database's place.
    func hasNews() -> Bool {
        queue.sync {
            let wasThere = dataVersion != nil
            do {
                let version = try performNow { try $0.store.dataVersion() }
                // Opening a file again forgets the number, which counts for each connection by itself.
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
            // A place that cannot be read is looked at when somebody asks.
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
