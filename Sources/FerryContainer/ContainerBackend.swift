import FerryCore

/// A place that keeps bytes under names: a folder, or an object store.
///
/// Names are relative and separated by slashes (`devices/…/head`). Ferry's own consist of lower-case ASCII letters,
/// digits, `-` and `.`. Nothing is ever visible under a name before it is whole. Methods throw `FerryError`, and
/// `invalidArgument` for a name that leads elsewhere.
package protocol ContainerBackend: Sendable {
    /// Throws `containerMissing` if the place itself is not there: not mounted, not connected.
    func checkRoot() throws

    /// Lists the names directly in a directory after `name` (all for `nil`), in ascending order.
    ///
    /// Foreign names are among them; an absent directory has none.
    /// - Throws: `limitExceeded` for an absurd number of names.
    func list(_ directory: String, after name: String?) throws -> [String]

    /// Reads the bytes under a name, or `nil`.
    /// - Throws: `limitExceeded` above `maximumBytes`, `damagedFile` for anything that can be no file of Ferry's,
    ///   `inputOutput`.
    func read(_ name: String, maximumBytes: Int) throws -> [UInt8]?

    /// The version of a file or a directory under a name, as in `FileSystem.version(at:)`; `nil` if unknown.
    /// Directories on the way are not examined: an equal version means the same file.
    func version(of name: String) throws -> FileVersion?

    /// True if all of these files and directories in a directory certainly have these versions, as in `version(of:)`;
    /// `false` if any is unknown.
    /// - Parameter versions: by their names within the directory, each a part of a name asked for before.
    func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool

    /// Writes bytes under a name for good; durable on return. Writing the same bytes again has no effect.
    /// - Throws: `damagedFile` if other bytes are there already, `containerMissing` and `containerEmpty` if the
    ///   container is not there (any more), `inputOutput`. The caller can try again after any of them.
    func writeOnce(_ name: String, _ bytes: [UInt8]) throws

    /// Replaces the bytes under a name; readers see either the old bytes or the new. Durable on return.
    /// - Throws: as `writeOnce`, whatever bytes are there.
    func replace(_ name: String, _ bytes: [UInt8]) throws

    /// Removes a name, if present. A crash may bring the name back, until `settle` was called on its directory.
    func remove(_ name: String) throws

    /// Makes removals from a directory durable, if the directory is there.
    func settle(_ directory: String) throws

    /// Asks the files' provider for a file that is there as a placeholder only. Returns at once.
    func requestDownload(_ name: String)

    /// The path of a name in the local file system, for watching and for messages; `nil` where there is none.
    func localPath(_ name: String) -> String?
}

extension ContainerBackend {
    /// Never told.
    package func version(of name: String) throws -> FileVersion? { nil }

    package func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool {
        // No error is lost: `false` makes the caller ask for each version alone, which throws the error again.
        versions.allSatisfy { (try? version(of: directory + "/" + $0.path)) == $0.version }
    }

    /// Nothing, where removing is for good.
    package func settle(_ directory: String) throws {}

    /// Nothing, where files are there or not.
    package func requestDownload(_ name: String) {}
}
