import FerryCore
import FerryStore
import Foundation

/// Notices that somebody emptied a database that belonged to a container, as GRDB's `eraseDatabaseOnSchemaChange` does.
///
/// SQLite counts the changes of a schema (https://www.sqlite.org/pragma.html#pragma_schema_version). The device's lock file beside the
/// database has the count at the last opening. Emptying a database counts on, and a new file in its place begins anew.
struct SchemaMark {
    private let store: Store
    private let path: String

    init(_ store: Store) {
        self.store = store
        path = DeviceLock(databasePath: store.path).path
    }

    /// Notes the count in the lock file. Other processes may hold the lock: the file stays the same file.
    func note() throws {
        if path.isEmpty { return }
        let version = try store.schemaVersion()
        if noted() == version { return }
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? file.close() }  // what is not written is not noticed, and nothing worse
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data("schema \(version)\n".utf8))
    }

    /// Refuses a database without Ferry's tables that was emptied since the last opening.
    /// - Throws: `storeIncomplete`.
    func checkContent() throws {
        guard !path.isEmpty, let noted = noted(), try store.schemaVersion() > noted else { return }
        throw FerryError(
            .storeIncomplete,
            "Somebody emptied the database since it was last opened: Ferry's tables are gone, and the database did not leave its container. "
                + "Changes that were not sent are lost. GRDB's eraseDatabaseOnSchemaChange does this at each start, because no migration makes "
                + "Ferry's tables: turn it off. To join as a new device, delete \(path) and open again.", path: path)
    }

    /// The noted count; `nil` without one.
    private func noted() -> Int64? {
        // A file that cannot be read tells nothing.
        guard let bytes = FileManager.default.contents(atPath: path), bytes.count < 100 else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        return words.count == 2 && words[0] == "schema" ? Int64(words[1]) : nil
    }
}
