import Ferry
import Foundation
import GRDB

/// The reader's database on this device, and all that can be done with it but fetching.
///
/// One for a process. Safe to use from any thread; every call is one short transaction.
public final class Library: Sendable {
    static let busySeconds = 10.0

    public let pool: DatabasePool
    public let store: Store
    public let path: String

    /// Opens the database, and makes it where it is missing.
    public init(path: String) throws {
        self.path = path
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else {
            throw ReaderError(.inputOutput, "the folder \(folder) of the database is not there; make it first")
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busySeconds)
        pool = try DatabasePool(path: path, configuration: configuration)
        try ReaderSchema.migrator.migrate(pool)
        store = Store(pool)
    }

    // MARK: The shared folder

    /// Makes the shared folder: this is the first device.
    /// - Parameters:
    ///   - sharesArticles: whether articles travel too; else each device fetches them for itself.
    ///   - sealing: whether the devices alone can read the folder, or whoever has it.
    public func create(
        folder: String, name: String?, sharesArticles: Bool, sealing: ContainerSealing
    ) throws -> InitReport {
        let tables = ReaderSchema.alwaysTravelling + (sharesArticles ? ReaderSchema.articleTables : [])
        let selection = TableSelection(
            only: tables, declaredIdentities: ReaderSchema.identities.filter { tables.contains($0.key) })
        return try Replica.create(
            store, containerPath: folder, sealing: sealing, name: name, selection: selection
        ).report
    }

    /// Joins the folder that another device made. Which tables travel was decided there.
    /// - Parameter enrolment: where the folder is sealed.
    public func join(folder: String, name: String?, enrolment: Enrolment? = nil) throws -> JoinReport {
        guard let enrolment else { return try Replica.join(store, containerPath: folder, name: name).report }
        return try enrolment.join(store, name: name).report
    }

    /// Asks a sealed folder to be let in, or goes on with what was begun; `nil` for an open folder.
    /// - Parameter code: gives the code, where nothing was begun before.
    public func enrolment(folder: String, code: () throws -> String) throws -> Enrolment? {
        guard try Enrolment.isNeeded(containerPath: folder) else { return nil }
        if let pending = try Enrolment.pending(for: store, containerPath: folder) { return pending }
        let code = try SecretCode(parsing: code(), as: .invitation)
        return try Enrolment.begin(for: store, containerPath: folder, by: .code(code))
    }

    /// Makes nine words that let another device in, once.
    public func invite() throws -> String {
        try requireSetUp()
        return try Replica(store).members.invite().code.words
    }

    /// - Throws: `notSetUp` where the database belongs to no folder yet.
    public func requireSetUp() throws {
        if try store.identity() == nil { throw ReaderError.notSetUp(path) }
    }

    /// What keeps the database in step. `start` it, or call `sync`.
    public func engine() throws -> SyncEngine {
        try requireSetUp()
        return try SyncEngine(store)
    }
}
