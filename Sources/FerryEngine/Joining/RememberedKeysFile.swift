import FerryContainer
import FerryCore
import FerryStore
import Foundation

/// The file beside a database that left its container, with the rows meant by the database's integer keys: `<database>-ferry-keys`.
///
/// Plain JSON. `ferry leave` writes the file where a table has integer keys, and `ferry join` takes the file away.
struct RememberedKeysFile {
    /// A longer file is not read, in bytes.
    static let maximumBytes = 1 << 30

    let path: String
    /// Where an earlier version of Ferry wrote the file, for a database under the name of a symbolic link.
    private let formerPath: String?
    let fileSystem: any FileSystem

    /// - Parameter databasePath: empty for a database in memory, where no such file exists.
    init(besideDatabase databasePath: String, _ fileSystem: any FileSystem) {
        let files = DatabaseFiles(of: databasePath)
        path = files.path(.keys)
        formerPath = files.pathBesideLink(.keys)
        self.fileSystem = fileSystem
    }

    /// Writes the file in place of a former file.
    /// - Returns: false without a table with integer keys: there is no file then.
    func write(_ keys: RememberedKeys) throws -> Bool {
        if path.isEmpty { return false }
        try remove()
        if keys.tables.isEmpty { return false }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try fileSystem.write(Array(encoder.encode(keys)), toNewFileAt: path)
        return true
    }

    /// Reads the file; `nil` without a file, and for a file of a different container.
    /// - Throws: `damagedFile`.
    func read(of container: ContainerID) throws -> RememberedKeys? {
        guard let path = try present.first,
            let bytes = try fileSystem.readFile(at: path, maximumBytes: Self.maximumBytes)
        else { return nil }
        guard let keys = try? JSONDecoder().decode(RememberedKeys.self, from: Data(bytes)) else {
            throw FerryError(
                .damagedFile,
                "\(path) is damaged. The file says which rows the integer keys mean. Remove the file to join without it.",
                path: path)
        }
        return keys.container == container.description ? keys : nil
    }

    func remove() throws { for path in try present { _ = try fileSystem.removeFile(at: path) } }

    /// The paths with a file, the present one first.
    private var present: [String] {
        get throws {
            try [path, formerPath].compactMap { $0 }.filter { try !$0.isEmpty && fileSystem.item(at: $0) != .missing }
        }
    }
}
