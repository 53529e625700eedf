import FerryCore
import FerryDocuments

/// The names of files in a mirror's own folder.
enum WorkName {
    /// A file in the middle of a write, seen by nobody.
    static func new(_ version: VersionID) -> String { "new-" + version.hex }

    /// A file on the way out of its place, or, before both exchange their names, the file on the way in.
    /// - Parameter incoming: the version for the place; `nil` without such a version.
    static func out(_ document: DocumentID, _ version: VersionID, _ incoming: VersionID?) -> String {
        "out-\(document.hex)-\(version.hex)" + (incoming.map { "-" + $0.hex } ?? "")
    }

    /// Something out of the way, so that two files or folders can exchange names.
    static func aside(_ key: MirrorKey) -> String {
        "aside-" + key.document.hex + (key.rival.map { "-" + $0.hex } ?? "")
    }

    static func parseAside(_ name: String) -> MirrorKey? {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(parts.count), parts[0] == "aside", let document = DocumentID(parts[1]) else {
            return nil
        }
        if parts.count == 2 { return MirrorKey(document: document) }
        return VersionID(parts[2]).map { MirrorKey(document: document, rival: $0) }
    }

    /// The place where people see the rest of a folder known to nobody else.
    static func leftOver(_ document: DocumentID) -> DiskPath { DiskPath("left over \(document.hex.prefix(8))") }

    /// Reads a name made by `out`.
    static func parseOut(_ name: String) -> (document: DocumentID, version: VersionID, incoming: VersionID?)? {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard (3...4).contains(parts.count), parts[0] == "out", let document = DocumentID(parts[1]),
            let version = VersionID(parts[2])
        else { return nil }
        if parts.count == 3 { return (document, version, nil) }
        guard let incoming = VersionID(parts[3]) else { return nil }
        return (document, version, incoming)
    }
}

/// The files in a mirror's own folder at the beginning of a pass. They are leftovers of a dead process, and files with a writer at the
/// moment of leaving their places.
struct MirrorWork<Disk: MirrorDisk, Base: MirrorBase> where Disk.Source == Base.Source {
    private let disk: Disk
    private let base: Base

    init(_ disk: Disk, _ base: Base) {
        self.disk = disk
        self.base = base
    }

    func recover(_ report: inout MirrorReport) throws {
        let names = try disk.workNames()
        if names.isEmpty { return }
        let entries = try base.entries()
        for name in names.sorted() {
            if let out = WorkName.parseOut(name) {
                let isPlaced = out.incoming.map { !names.contains(WorkName.new($0)) } ?? false
                try recover(name, out, entries, isPlaced: isPlaced, &report)
            } else if name.hasPrefix("new-") {
                try disk.removeWork(name)
            } else if let key = WorkName.parseAside(name) {
                try recoverAside(name, key, entries, &report)
            }
        }
    }

    /// Recovers something put out of the way by a process that died before the entry was written.
    private func recoverAside(
        _ name: String, _ key: MirrorKey, _ entries: [MirrorEntry], _ report: inout MirrorReport
    ) throws {
        let path = DiskPath.work.appending(name)
        if entries.contains(where: { $0.path == path }) { return }
        let entry = entries.first { $0.key == key }
        if let entry, try disk.item(at: entry.path) == nil, try disk.rename(path, to: entry.path) { return }
        // Somebody made something new in the entry's place.
        if try disk.item(at: path)?.kind == .folder {
            _ = try disk.rename(path, to: WorkName.leftOver(key.document))
        } else {
            let version = entry?.version ?? key.rival ?? VersionID(high: 0, low: 0)
            try recover(name, (key.document, version, nil), [], isPlaced: false, &report)
        }
    }

    /// - Parameter isPlaced: the incoming version took the place of the file.
    private func recover(
        _ name: String, _ out: (document: DocumentID, version: VersionID, incoming: VersionID?),
        _ entries: [MirrorEntry], isPlaced: Bool, _ report: inout MirrorReport
    ) throws {
        let path = DiskPath.work.appending(name)
        guard let before = try disk.item(at: path) else { return }
        if before.kind == .folder {
            // Somebody put a folder in a file's place while two files exchanged their names.
            _ = try disk.rename(path, to: WorkName.leftOver(out.document))
            return
        }
        // A copy of a rival is removed, and never replaced.
        let entry = entries.first {
            $0.key.document == out.document && $0.version == out.version && ($0.key.rival == nil || out.incoming == nil)
        }
        let reading = try read(path, before)
        guard let reading else {
            report.waiting += 1
            return
        }
        let incoming = try base.change { rows in
            try rows.versions(of: out.document).first { $0.id == out.incoming }?.content
        }
        // The process died before the incoming file got a name: the old file goes back to its place.
        if let entry, reading.content != incoming || incoming == entry.content,
            try disk.item(at: entry.path) == nil, try disk.rename(path, to: entry.path)
        {
            return
        }
        let isSaved = try base.change { rows in
            if isPlaced, var entry, let version = out.incoming, let incoming, reading.content != incoming {
                // The process died before the entry of the incoming file. The stamp from then is unknown, so the next look reads the file.
                (entry.version, entry.content) = (version, incoming)
                entry.stamp = .unknown(isExecutable: entry.stamp.isExecutable)
                try rows.put(entry)
            }
            return try Self.save(reading, out, rows)
        }
        if isSaved { report.taken += 1 }
        try disk.synchronize()
        try disk.removeWork(name)
    }

    private func read(_ path: DiskPath, _ before: DiskItem) throws -> FileReading? {
        if try disk.isOpenForWriting(path) { return nil }
        guard case .success(let content) = try base.store([disk.source(at: path)])[0],
            try disk.item(at: path)?.stamp == before.stamp
        else { return nil }
        return FileReading(content: content, stamp: before.stamp)
    }

    /// Saves bytes without a version of the document.
    /// - Returns: true if no version had the bytes.
    private static func save(
        _ reading: FileReading, _ out: (document: DocumentID, version: VersionID, incoming: VersionID?),
        _ rows: any MirrorRows
    ) throws -> Bool {
        guard try rows.document(out.document) != nil else {
            let name = "recovered \(out.document.hex.prefix(8))"
            let id = try DocumentID.free(folder: nil, name: name, kind: .file, isTaken: rows.isTaken)
            try rows.apply(
                .making(DocumentRow(id: id, name: name, kind: .file), reading.bytes, by: rows.author))
            return true
        }
        let versions = try rows.versions(of: out.document)
        if versions.contains(where: { $0.content == reading.content }) { return false }
        guard let edited = versions.first(where: { $0.id == out.version }) else {
            try rows.apply(.joining(reading.bytes, to: out.document, by: rows.author))
            return true
        }
        try rows.apply(.saving(reading.bytes, over: edited, among: versions, by: rows.author))
        return true
    }
}
