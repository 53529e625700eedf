import FerryContainer
import FerryCore

/// What a malicious provider does beside what happens to files by accident: it moves and renames files, invents some, withholds
/// directories, and serves old states of them. Once it is honest again, nothing of that is left.
extension Provider {
    enum Deed: String, CaseIterable {
        /// A file lies in another device's directory as well.
        case moved
        /// A file lies under another name.
        case renamed
        /// A file comes from nowhere.
        case invented
        /// Nothing of a directory comes any more.
        case withheld
        /// A directory is as it was before.
        case rolledBack
    }

    /// Does a deed to a device's folder, or to the storage, chosen at random.
    /// - Returns: what was done; `nil` if nothing could be.
    func deceive(_ machine: Machine, _ deed: Deed, _ random: SimulatedRandom, time: Int64) throws -> String? {
        let (device, disk) = (machine.index, machine.files.disk)
        if kind.isReplicated { try upload(from: device, disk, time: time) }
        let files = try machine.place.containerFiles().filter { $0.key.hasPrefix("devices/") && !$0.value.isEmpty }
        let directories = Set(files.keys.compactMap { Self.directory(of: $0) }).sorted()
        guard let path = random.element(of: files.keys.sorted()), let content = files[path],
            let directory = random.element(of: directories)
        else { return nil }
        switch deed {
        case .moved:
            guard let own = Self.directory(of: path) else { return nil }
            let target = directory + path.dropFirst(own.count)
            guard files[target] == nil else { return nil }
            try place(content, asStrayAt: target, machine)
            return done(deed, "\(path) as \(target)")
        case .renamed, .invented:
            let name = Self.changed(path, random)
            guard files[name] == nil else { return nil }
            var invented = content
            if deed == .invented {
                if random.isOne(in: 2), let other = random.element(of: files.keys.sorted()) {
                    invented = files[other] ?? []
                }
                for _ in 0..<random.below(8) { invented[random.below(invented.count)] = UInt8(random.below(256)) }
            }
            try place(invented, asStrayAt: name, machine)
            return done(deed, name)
        case .withheld:
            guard kind.isReplicated || kind.isRemote else { return nil }
            let hidden = directory + (random.isOne(in: 2) ? "/" : "/members/")
            if let storage = machine.storage {
                storage.withhold(hidden, past: [:])
            } else {
                withheld[device, default: []].append(hidden)
            }
            return done(deed, directory)
        case .rolledBack:
            guard kind.isReplicated || kind.isRemote else { return nil }
            if let storage = machine.storage {
                storage.withhold(directory + "/", past: random.element(of: storage.shared.moments) ?? [:])
            } else {
                try rollBack(directory + "/", device, disk, random)
            }
            return done(deed, directory)
        }
    }

    /// Brings the files of a directory to a former moment, on one device.
    private func rollBack(
        _ directory: String, _ device: Int, _ disk: MemoryFileSystem, _ random: SimulatedRandom
    ) throws {
        let paths = versions.keys.filter { $0.hasPrefix(directory) }.sorted()
        let numbers = paths.flatMap { versions[$0, default: []].map(\.number) }.sorted()
        guard let moment = random.element(of: numbers) else { return }
        for path in paths {
            guard let held = holdings[device]?[path], !held.isSpoiled, let newest = versions[path]?.last,
                held.number == newest.number
            else { continue }
            let former = versions[path, default: []].last { $0.number <= moment }
            if former?.number == newest.number { continue }
            try place(newest, former?.content, at: path, device, disk, isSpoiled: true)
        }
    }

    private func place(_ content: [UInt8], asStrayAt path: String, _ machine: Machine) throws {
        strays[path] = content
        try machine.place.putContainerFile(content, at: path)
        guard kind.isReplicated else { return }
        plant(content, at: path)
        hold(path, machine.index, versions[path]?.last, content)
    }

    private func done(_ deed: Deed, _ what: String) -> String {
        met("file \(deed.rawValue)")
        return "\(deed.rawValue): \(what)"
    }

    /// The directory of a device in which a file lies.
    private static func directory(of path: String) -> String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? parts.prefix(2).joined(separator: "/") : nil
    }

    /// A path with one digit changed: of a file's name, or of a device's ID.
    private static func changed(_ path: String, _ random: SimulatedRandom) -> String {
        var bytes = Array(path.utf8)
        let digits = Array("0123456789abcdef".utf8)
        let places = bytes.indices.filter { digits.contains(bytes[$0]) && $0 > "devices/".utf8.count }
        guard let place = random.element(of: places) else { return path }
        bytes[place] = digits[random.below(digits.count)]
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Ends all deceit: what was invented is removed, and nothing is withheld. `settle` brings everything else.
    func becomeHonest(_ sharedPlace: any SimulatedPlace) throws {
        withheld = [:]
        for (path, content) in strays.sorted(by: { $0.key < $1.key }) {
            if kind.isReplicated {
                if newest[path] == content { plant(nil, at: path) }
            } else if try sharedPlace.containerFiles()[path] == content {
                try sharedPlace.removeContainerFile(path)
            }
        }
        strays = [:]
    }

    // MARK: What anybody may do who has the folder

    /// Puts a file into the folder of a replicated kind, or removes one: it arrives as everything does.
    func plant(_ content: [UInt8]?, at path: String) { add(path, content) }

    /// The newest version of each file.
    var newest: [String: [UInt8]] { versions.compactMapValues { $0.last?.content } }

    /// Every content that ever was in the folder, in the order of paths.
    var everything: [(path: String, content: [UInt8])] {
        versions.sorted { $0.key < $1.key }.flatMap { path, versions in
            versions.compactMap { version in version.content.map { (path, $0) } }
        }
    }
}
