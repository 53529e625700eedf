import FerryCore

/// Where a store was when it was last in use: hashes of the machine's ID, of the database's path and of its file's
/// number. A copy of the database carries the original's along, and is recognised by that.
public struct StoreFingerprint: Equatable, Sendable {
    /// Hashes; `nil` where there is no evidence.
    public var machine: String?
    public var path: String?
    public var file: String?

    public init(machine: String?, path: String?, file: String?) {
        self.machine = machine
        self.path = path
        self.file = file
    }

    /// Looks where the database at a path is now.
    /// - Parameter path: absolute and without symbolic links; empty for a database in memory, of which nothing is known.
    public init(path: String, on host: any HostIdentity) {
        if path.isEmpty {
            self.init(machine: nil, path: nil, file: nil)
        } else {
            self.init(
                machine: host.machineID().map { Self.hash("machine " + $0) }, path: Self.hash("path " + path),
                file: host.fileNumber(at: path).map { Self.hash("file \($0)") })
        }
    }

    private static func hash(_ text: String) -> String { hexString(ContentHash.checksum(Array(text.utf8)).bytes) }

    /// What became of a store since its fingerprint was taken.
    public enum Change: Equatable, Sendable {
        case none
        /// It is the same file elsewhere, or another one in its place: what the container shows decides.
        case moved
        /// It is a copy; the original may be in use.
        case copied
    }

    /// What became of a store that had the fingerprint `former`: a pure function of both
    /// (Docs/Architecture/identity-and-forks.md).
    ///
    /// A path alone says little: a folder is renamed, and an app on iOS lies elsewhere after every update, in the same
    /// file. A file's number alone says little too: VACUUM INTO and a rename put another file in the same place, and a
    /// network folder may number its files anew. Together, or on another machine, they say that it is a copy; where
    /// that is a mistake, the database gets a device ID that it did not need, and nothing else.
    public func change(since former: StoreFingerprint) -> Change {
        func differs(_ part: KeyPath<StoreFingerprint, String?>) -> Bool {
            guard let present = self[keyPath: part], let former = former[keyPath: part] else { return false }
            return present != former
        }
        if differs(\.machine) || differs(\.path) && differs(\.file) { return .copied }
        return self == former ? .none : .moved
    }

    // MARK: In `ferry_meta`

    var text: String { [machine, path, file].map { $0 ?? "-" }.joined(separator: " ") }

    init?(text: String) {
        let parts = text.split(separator: " ").map { $0 == "-" ? nil : String($0) }
        guard parts.count == 3 else { return nil }
        self.init(machine: parts[0], path: parts[1], file: parts[2])
    }
}

extension Store {
    /// The fingerprint that was noted last; `nil` where there is none yet.
    public func fingerprint() throws -> StoreFingerprint? {
        try read { try StoreMeta(connection: $0).string(.fingerprint).flatMap { StoreFingerprint(text: $0) } }
    }

    /// Notes where the store is.
    public func note(_ fingerprint: StoreFingerprint) throws {
        try note { try StoreMeta(connection: $0).set(.fingerprint, fingerprint.text) }
    }
}
