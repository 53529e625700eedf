import FerryCore

/// A place that keeps bytes under names: a folder, or an object store.
///
/// Names are relative and separated by slashes (`devices/…/head`). Ferry's own consist of lower-case ASCII letters,
/// digits, `-` and `.`. Nothing is ever visible under a name before it is whole. Methods throw `FerryError`, and
/// `invalidArgument` for a name that leads elsewhere.
public protocol ContainerBackend: Sendable {
    /// Throws `containerMissing` where the place itself is not there: not mounted, not connected.
    func checkRoot() throws

    /// Lists the names directly in a directory that come after `name` (all for `nil`), in ascending order.
    ///
    /// Names that Ferry did not make are among them; an absent directory has none.
    /// - Throws: `limitExceeded` for an absurd number of names.
    func list(_ directory: String, after name: String?) throws -> [String]

    /// Reads what was written under a name, or `nil`.
    /// - Throws: `limitExceeded` above `maximumBytes`, `damagedFile` for what can be no file of Ferry's, `inputOutput`.
    func read(_ name: String, maximumBytes: Int) throws -> [UInt8]?

    /// Tells which version of a file or a directory is under a name, as `FileSystem.version(at:)` does; `nil` where that cannot
    /// be told. What is on the way to it is not looked at: a version that is the same as before says that it is the same file.
    func version(of name: String) throws -> FileVersion?

    /// Whether all of these files and directories in a directory certainly have these versions, as `version(of:)` tells them;
    /// `false` where one of them cannot be told.
    /// - Parameter versions: by their names within the directory, each of which was a part of a name asked for before.
    func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool

    /// Writes bytes under a name for good; durable when it returns. Writing the same bytes again has no effect.
    /// - Throws: `damagedFile` where other bytes are there already, `containerMissing` and `containerEmpty` where the
    ///   container is not there (any more), `inputOutput`. It can be tried again after any of them.
    func writeOnce(_ name: String, _ bytes: [UInt8]) throws

    /// Writes bytes under a name in place of what is there; readers see the one or the other. Durable when it returns.
    /// - Throws: as `writeOnce`, except that it never minds what is there.
    func replace(_ name: String, _ bytes: [UInt8]) throws

    /// Removes a name, if it is there. A crash may bring it back, until `settle` was called on its directory.
    func remove(_ name: String) throws

    /// Makes what was removed from a directory gone for good, if it is there.
    func settle(_ directory: String) throws

    /// Asks whoever provides the files to bring one that is there as a placeholder only. Returns at once.
    func requestDownload(_ name: String)

    /// The path of a name in the local file system, for watching and for messages; `nil` where there is none.
    func localPath(_ name: String) -> String?
}

extension ContainerBackend {
    /// Never told.
    public func version(of name: String) throws -> FileVersion? { nil }

    public func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool {
        // An error is not lost: `false` makes the caller ask for each alone, which throws it again.
        versions.allSatisfy { (try? version(of: directory + "/" + $0.path)) == $0.version }
    }

    /// Nothing, where removing is for good.
    public func settle(_ directory: String) throws {}

    /// Nothing, where files are there or not.
    public func requestDownload(_ name: String) {}
}
