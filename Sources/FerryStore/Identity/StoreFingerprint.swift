import FerryCore

/// The place of a store at its last use: hashes of the machine's ID, of the database's path and of the file's number. A
/// copy of the database carries the original's fingerprint and is thereby recognized.
package struct StoreFingerprint: Equatable, Sendable {
    /// Hashes; `nil` without evidence.
    package var machine: String?
    package var path: String?
    package var file: String?

    package init(machine: String?, path: String?, file: String?) {
        self.machine = machine
        self.path = path
        self.file = file
    }

    /// Takes the fingerprint of the database at a path.
    /// - Parameter path: absolute and without symbolic links; empty for a database in memory, which leaves no evidence.
    package init(path: String, on host: any HostIdentity) {
        if path.isEmpty {
            self.init(machine: nil, path: nil, file: nil)
        } else {
            self.init(
                machine: host.machineID().map { Self.hash("machine " + $0) }, path: Self.hash("path " + path),
                file: host.fileNumber(at: path).map { Self.hash("file \($0)") })
        }
    }

    private static func hash(_ text: String) -> String { hexString(ContentHash.checksum(Array(text.utf8)).bytes) }

    /// The fate of a store since the fingerprint was taken.
    package enum Change: Equatable, Sendable {
        case none
        /// The same file in a new place, or a different file in the same place: the container decides.
        case moved
        /// A copy; the original may be in use.
        case copied
    }

    /// Compares with the fingerprint `former`: a pure function of both (Docs/Architecture/identity-and-forks.md).
    ///
    /// A changed path alone proves little. A folder may be renamed, and an app on iOS has a new path after every
    /// update, with the same file. A changed file number alone proves little, too. VACUUM INTO and a rename replace the
    /// file, and a network folder may renumber files.
    ///
    /// Both together, or a different machine, mean a copy. If that is wrong, the database gets an unneeded device ID,
    /// and nothing else happens.
    package func change(since former: StoreFingerprint) -> Change {
        if differs(\.machine, former) || differs(\.path, former) && differs(\.file, former) { return .copied }
        return self == former ? .none : .moved
    }

    /// True if a different file lies in the same place, as after the return of a backup.
    func isReplaced(since former: StoreFingerprint) -> Bool {
        change(since: former) == .moved && differs(\.file, former)
    }

    private func differs(_ part: KeyPath<StoreFingerprint, String?>, _ former: StoreFingerprint) -> Bool {
        guard let present = self[keyPath: part], let former = former[keyPath: part] else { return false }
        return present != former
    }

    // MARK: In `ferry_meta`

    var text: String { [machine, path, file].map { $0 ?? "-" }.joined(separator: " ") }

    init?(text: String) {
        let parts = text.split(separator: " ").map { $0 == "-" ? nil : String($0) }
        guard parts.count == 3 else { return nil }
        self.init(machine: parts[0], path: parts[1], file: parts[2])
    }
}
