import FerryContainer
import FerryCore

/// A program that carries files between the devices' folders: late, in any order, in part, twice, under other names,
/// and sometimes in an older state. The program knows nothing of the files' content.
///
/// Paths are relative to the container. `settle` repairs the mischief done to a device's files; copies stay in place.
final class Provider {
    /// A content of a file; `nil` for a removed file.
    struct Version {
        var number: Int
        var content: [UInt8]?
    }

    /// The provider's knowledge of a device's file.
    struct Holding {
        /// The version that the device got or gave; 0 for none.
        var number: Int
        /// The content placed by the provider: any different content is the device's own change.
        var content: [UInt8]?
        /// True if the placed content differs from the version's content.
        var isSpoiled = false
    }

    let kind: ProviderKind
    private(set) var versions: [String: [Version]] = [:]
    private var count = 0
    private(set) var holdings: [Int: [String: Holding]] = [:]
    /// Names made by the provider on a device, which are no changes of the device: parts and placeholders.
    private var litter: [Int: Set<String>] = [:]
    /// Directories of which nothing comes to a device any more, until the provider is honest again.
    var withheld: [Int: [String]] = [:]
    /// What a malicious provider put somewhere, by path.
    var strays: [String: [UInt8]] = [:]
    var met: (String) -> Void = { _ in }

    init(_ kind: ProviderKind) { self.kind = kind }

    // MARK: From a device

    /// Accepts a device's changes.
    func upload(from device: Int, _ disk: MemoryFileSystem, time: Int64) throws {
        let files = try Self.files(on: disk)
        let held = holdings[device] ?? [:]
        for path in Set(files.keys).union(held.keys).sorted() {
            if litter[device]?.contains(path) == true { continue }
            let (here, before) = (files[path], held[path])
            if here == before?.content { continue }
            let newest = versions[path]?.last
            if newest?.number ?? 0 == before?.number ?? 0 || newest?.content == here {
                if newest?.content != here || newest == nil { add(path, here) }
                hold(path, device, versions[path]?.last, here)
            } else if let here, newest?.content != nil {
                // Both sides changed the file: the device's own content continues under a new name.
                met("conflicted copy")
                let copy = renamed(path) { kind.conflictName(of: $0, on: device, at: time) }
                try Self.put(here, at: copy, on: disk)
                add(copy, here)
                hold(copy, device, versions[copy]?.last, here)
                try download([path], to: device, disk)
            } else if here != nil {
                // A change wins over a removal.
                add(path, here)
                hold(path, device, versions[path]?.last, here)
            } else {
                try download([path], to: device, disk)
            }
        }
    }

    func add(_ path: String, _ content: [UInt8]?) {
        count += 1
        versions[path, default: []].append(Version(number: count, content: content))
    }

    func hold(_ path: String, _ device: Int, _ version: Version?, _ content: [UInt8]?, isSpoiled: Bool = false) {
        holdings[device, default: [:]][path] = Holding(
            number: version?.number ?? 0, content: content, isSpoiled: isSpoiled)
    }

    // MARK: To a device

    /// The paths without the newest version on a device, in the order of names.
    func pending(for device: Int) -> [String] {
        versions.keys.filter { path in
            if withheld[device]?.contains(where: path.hasPrefix) ?? false { return false }
            let held = holdings[device]?[path]
            return held?.isSpoiled == true || held?.number ?? 0 != versions[path]?.last?.number ?? 0
        }.sorted()
    }

    /// Brings the newest versions, in the order of `paths`.
    func download(_ paths: [String], to device: Int, _ disk: MemoryFileSystem) throws {
        for path in paths {
            guard let newest = versions[path]?.last else { continue }
            try clearLitter(of: path, device, disk)
            try place(newest, newest.content, at: path, device, disk)
        }
    }

    func place(
        _ version: Version, _ content: [UInt8]?, at path: String, _ device: Int, _ disk: MemoryFileSystem,
        isSpoiled: Bool = false
    ) throws {
        if let content {
            try Self.put(content, at: path, on: disk)
        } else {
            try Self.remove(path, on: disk)
        }
        hold(path, device, version, content, isSpoiled: isSpoiled)
    }

    private func clearLitter(of path: String, _ device: Int, _ disk: MemoryFileSystem) throws {
        let upper: (String) -> String? = { $0.uppercased() }
        for name in [kind.partialName, kind.placeholderName, upper] {
            let stray = renamed(path) { name($0) ?? $0 }
            guard stray != path, litter[device]?.remove(stray) != nil else { continue }
            try Self.remove(stray, on: disk)
        }
    }

    /// Accepts a device's changes, repairs all mischief done to the device's files, and brings all news.
    func settle(_ device: Int, _ disk: MemoryFileSystem, time: Int64) throws {
        try upload(from: device, disk, time: time)
        try download(pending(for: device), to: device, disk)
    }

    /// Copies the knowledge of a device's folder, after the folder was copied with its database.
    func copyHoldings(of device: Int, to other: Int) {
        holdings[other] = holdings[device]
        litter[other] = litter[device]
    }

    // MARK: Mischief

    /// What a provider can do to a file in transit.
    enum Mischief: String, CaseIterable {
        case partial
        case empty
        case duplicate
        case olderState
        case evicted
        case otherCase
        case vanished
        case garbled
        case exchanged
    }

    /// Spoils a file of a device, chosen at random.
    /// - Returns: the path and the mischief; `nil` if nothing could be spoiled.
    func spoil(
        _ device: Int, _ disk: MemoryFileSystem, _ mischief: Mischief, _ random: SimulatedRandom, time: Int64
    ) throws -> String? {
        // Otherwise the device's unsent changes would be lost.
        try upload(from: device, disk, time: time)
        let present = (holdings[device] ?? [:]).filter { $0.value.content?.isEmpty == false && !$0.value.isSpoiled }
            .keys.sorted()
        let coming = pending(for: device).filter { versions[$0]?.last?.content?.isEmpty == false }
        let foreign = present.filter { $0 != "container.json" }
        switch mischief {
        case .partial:
            guard let path = random.element(of: coming), let newest = versions[path]?.last, let content = newest.content
            else { return nil }
            let part = Array(content.prefix(random.below(content.count)))
            if let name = kind.partialName(of: Self.name(path)) {
                let stray = renamed(path) { _ in name }
                try Self.put(part, at: stray, on: disk)
                litter[device, default: []].insert(stray)
            } else {
                try place(newest, part, at: path, device, disk, isSpoiled: true)
            }
            return done(mischief, path)
        case .empty:
            guard let path = random.element(of: coming), let newest = versions[path]?.last else { return nil }
            try place(newest, [], at: path, device, disk, isSpoiled: true)
            return done(mischief, path)
        case .duplicate:
            guard let path = random.element(of: foreign), let content = holdings[device]?[path]?.content else {
                return nil
            }
            let copy = renamed(path) { kind.conflictName(of: $0, on: device, at: time) }
            try Self.put(content, at: copy, on: disk)
            return done(mischief, path)
        case .olderState:
            let changed = foreign.filter { versions[$0, default: []].filter { $0.content != nil }.count > 1 }
            guard let path = random.element(of: changed),
                let older = random.element(of: versions[path, default: []].dropLast().filter { $0.content != nil })
            else { return nil }
            try place(older, older.content, at: path, device, disk)
            return done(mischief, path)
        case .evicted:
            guard let path = random.element(of: foreign), let name = kind.placeholderName(of: Self.name(path)),
                let held = holdings[device]?[path],
                let version = versions[path]?.last(where: { $0.number == held.number })
            else { return nil }
            try place(version, nil, at: path, device, disk, isSpoiled: true)
            let stray = renamed(path) { _ in name }
            try Self.put(Array("bplist00".utf8), at: stray, on: disk)
            litter[device, default: []].insert(stray)
            return done(mischief, path)
        case .otherCase:
            guard kind.foldsCase, let path = random.element(of: foreign.filter { $0.hasSuffix(".segment") }),
                let held = holdings[device]?[path], let content = held.content,
                let version = versions[path]?.last(where: { $0.number == held.number })
            else { return nil }
            try place(version, nil, at: path, device, disk, isSpoiled: true)
            let stray = renamed(path) { $0.uppercased() }
            try Self.put(content, at: stray, on: disk)
            litter[device, default: []].insert(stray)
            return done(mischief, path)
        case .vanished:
            guard let path = random.element(of: present), let held = holdings[device]?[path],
                let version = versions[path]?.last(where: { $0.number == held.number })
            else { return nil }
            try place(version, nil, at: path, device, disk, isSpoiled: true)
            return done(mischief, path)
        case .garbled:
            guard let path = random.element(of: coming + foreign), let version = versions[path]?.last,
                var content = version.content, !content.isEmpty
            else { return nil }
            for _ in 0...random.below(4) { content[random.below(content.count)] = UInt8(random.below(256)) }
            if content == version.content { content.removeLast() }
            try place(version, content, at: path, device, disk, isSpoiled: true)
            return done(mischief, path)
        case .exchanged:
            guard let path = random.element(of: coming + foreign), let other = random.element(of: foreign),
                let version = versions[path]?.last, let content = versions[other]?.last?.content,
                content != version.content
            else { return nil }
            try place(version, content, at: path, device, disk, isSpoiled: true)
            return done(mischief, path)
        }
    }

    private func done(_ mischief: Mischief, _ path: String) -> String {
        met("file \(mischief.rawValue)")
        return "\(path) \(mischief.rawValue)"
    }

    // MARK: Files

    private static func name(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    private func renamed(_ path: String, _ name: (String) -> String) -> String {
        var parts = path.split(separator: "/").map(String.init)
        parts[parts.count - 1] = name(parts[parts.count - 1])
        return parts.joined(separator: "/")
    }

    /// All files below the container, by path in the container.
    static func files(on disk: MemoryFileSystem) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        func visit(_ directory: String) throws {
            for name in try disk.entryNames(ofDirectoryAt: DeviceFileSystem.root + "/" + directory, maximumCount: .max)
                ?? []
            {
                let path = directory.isEmpty ? name : directory + "/" + name
                switch try disk.item(at: DeviceFileSystem.root + "/" + path) {
                case .directory: try visit(path)
                case .file:
                    files[path] = try disk.readFile(at: DeviceFileSystem.root + "/" + path, maximumBytes: .max)
                case .missing, .other: continue
                }
            }
        }
        try visit("")
        return files
    }

    /// Writes a file in an uninterrupted step, durably, with missing folders.
    static func put(_ content: [UInt8], at path: String, on disk: MemoryFileSystem) throws {
        var directory = "/shared"
        for part in ["container"] + path.split(separator: "/").dropLast().map(String.init) {
            let parent = directory
            directory += "/" + part
            if try disk.createDirectory(at: directory) { try disk.synchronizeDirectory(at: parent) }
        }
        let file = DeviceFileSystem.root + "/" + path
        try disk.removeFile(at: file)
        try disk.write(content, toNewFileAt: file)
        try disk.synchronizeDirectory(at: directory)
    }

    static func remove(_ path: String, on disk: MemoryFileSystem) throws {
        let file = DeviceFileSystem.root + "/" + path
        guard try disk.removeFile(at: file) else { return }
        try disk.synchronizeDirectory(at: String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)]))
    }
}
