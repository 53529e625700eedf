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

    /// Reads a range of the bytes under a name, fewer where these end before; `nil` without such a name. The caller bounds the range.
    /// For names whose bytes never change: nothing is kept of what was read.
    /// - Throws: as `read(_:maximumBytes:)`.
    func read(_ name: String, range: Range<Int>) throws -> [UInt8]?

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

    /// Moves a file in: its bytes stand under a name for good, durable on return. The file keeps its own name, which the caller
    /// removes. On one disk nothing is copied, so nobody may write to the file any more.
    /// - Parameters:
    ///   - path: a file of a file system of this computer, whose content is durable.
    ///   - files: that file system.
    /// - Throws: as `writeOnce(_:_:)`; `inputOutput` also where the file is not there, `limitExceeded` where it is longer than the
    ///   place takes at once.
    func writeOnce(_ name: String, movingIn path: String, of files: any FileSystem) throws

    /// Replaces the bytes under a name; readers see either the old bytes or the new. Durable on return.
    /// - Throws: as `writeOnce`, whatever bytes are there.
    func replace(_ name: String, _ bytes: [UInt8]) throws

    /// Removes a name, if present. A crash may bring the name back, until `settle` was called on its directory.
    func remove(_ name: String) throws

    /// Makes removals from a directory durable, if the directory is there.
    func settle(_ directory: String) throws

    /// Removes a directory that is empty; any other stays. Nothing, where there are no directories.
    /// - Returns: true if a directory was removed.
    @discardableResult
    func removeDirectory(_ name: String) throws -> Bool

    /// Removes from a directory what interrupted writings left, where such leftovers have names.
    func removeLeftovers(in directory: String) throws

    /// Asks the files' provider for a file that is there as a placeholder only. Returns at once.
    func requestDownload(_ name: String)

    /// The path of a name in the local file system, for watching; `nil` where there is none.
    func localPath(_ name: String) -> String?

    /// The place of a name for people: a path, or `s3://bucket/music/devices/…`.
    func describe(_ name: String) -> String

    // MARK: Remote places

    /// True if names and versions come from a listing in memory, which `refresh` brings up to date. Then looking at all files costs
    /// nothing, and versions are exact.
    var answersFromListing: Bool { get }

    /// The pages of the last listing, at least 1.
    var pageCount: Int { get }

    /// Brings the listing up to date. Call once at the beginning of a pass.
    /// - Throws: `containerMissing` if the place cannot be reached.
    func refresh(_ depth: RefreshDepth) throws

    /// How long until a missing file is asked for again that was announced or listed, in milliseconds; `nil` without such a file. Never in
    /// a folder.
    var nextLateMilliseconds: Int64? { get }

    /// From now on a request without an answer concerns the file alone, where the place answers otherwise: the failure is `inputOutput`, and
    /// no longer `containerMissing`. For passes of a database that belongs to the container: a later pass makes up for the file. A join
    /// decides once, and not without a file.
    func goOnWithoutSilentFiles()

    /// Asks whether a file is still the known one. Before a publication that finds out whether a copy of the database is at work.
    func recheck(_ name: String) throws

    /// Says that these files will be read soon, in this order. A hint.
    func prefetch(_ names: [String])

    /// Tells the others that a device has new files. Call after the files are there. Repeating costs nothing.
    func announce(_ device: DeviceID) throws

    /// As `announce(_:)`, for devices whose files somebody else brought here.
    func announce(_ devices: [DeviceID]) throws

    /// True if a writing below a directory got no answer: the file may be there, whatever a listing says. Never in a folder.
    func isUnanswered(below directory: String) -> Bool

    /// Ends requests that are under way: they throw. From any thread.
    func interrupt()

    /// Tries the place, for `ferry doctor`; `nil` for a folder, which is tried otherwise.
    func examine() throws -> PlaceExamination?

    /// Makes the place itself, before the marker of a new container is written.
    func prepareForCreation() throws

    /// Makes what a new container has beside its marker.
    func completeCreation() throws
}

/// How a remote container's listing is brought up to date.
package enum RefreshDepth: Sendable {
    /// By what the devices announced: one request where nothing is new.
    case quick
    /// By listing all names: the truth.
    case full
}

extension ContainerBackend {
    package func describe(_ name: String) -> String { localPath(name) ?? name }
    package var answersFromListing: Bool { false }
    package var pageCount: Int { 1 }
    package var nextLateMilliseconds: Int64? { nil }
    package func goOnWithoutSilentFiles() {}

    // A folder is its own listing, and reports its changes.
    package func refresh(_ depth: RefreshDepth) throws {}
    package func recheck(_ name: String) throws {}
    package func prefetch(_ names: [String]) {}
    package func announce(_ device: DeviceID) throws {}
    package func announce(_ devices: [DeviceID]) throws {}
    package func isUnanswered(below directory: String) -> Bool { false }

    /// Whether the last reading of a file found the content of a version. A folder answers with what is there. A storage's reading tells the
    /// object's own version, which may be older than the listed one.
    package func hasRead(_ name: String, _ version: FileVersion) throws -> Bool {
        try !version.isExact || self.version(of: name) == version
    }
    package func interrupt() {}
    package func examine() throws -> PlaceExamination? { nil }
    package func prepareForCreation() throws {}
    package func completeCreation() throws {}

    /// Never told.
    package func version(of name: String) throws -> FileVersion? { nil }

    package func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool {
        // No error is lost: `false` makes the caller ask for each version alone, which throws the error again.
        versions.allSatisfy { (try? version(of: directory + "/" + $0.path)) == $0.version }
    }

    /// Nothing, where removing is for good.
    package func settle(_ directory: String) throws {}

    package func removeDirectory(_ name: String) throws -> Bool { false }

    /// Nothing, where an interrupted writing leaves nothing.
    package func removeLeftovers(in directory: String) throws {}

    /// Nothing, where files are there or not.
    package func requestDownload(_ name: String) {}
}
