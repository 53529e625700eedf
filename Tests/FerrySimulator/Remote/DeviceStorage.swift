import FerryContainer
import FerryCore

/// A device's view of the object storage: reachable or not, full, slow, with answers of a former state for a while.
///
/// Whether the storage is there, and whether it is full, are those of the device's file system: a step treats folders and storages
/// alike. `@unchecked Sendable` because a simulation runs on a single thread.
final class DeviceStorage: ObjectStorage, @unchecked Sendable {
    /// What a device sees in place of the present state, for a while.
    struct Distortion {
        enum Reads {
            case present
            /// An object of the former state is read as it was.
            case pastWhereKnown
            /// An object without a former state is not there.
            case absentWhereNew
            /// All objects are as they were.
            case past
        }

        var name: String
        /// Keys with this prefix are concerned.
        var prefix = ""
        var past: MemoryStorage
        var keys: Set<String>
        var listsPast: Bool
        var reads: Reads
        /// The end, in milliseconds of the simulation's time.
        var until: Int64

        init(
            _ name: String, of prefix: String = "", past: MemoryStorage, listsPast: Bool, reads: Reads, until: Int64
        ) {
            self.name = name
            self.prefix = prefix
            self.past = past
            keys = Set(past.contents.keys)
            self.listsPast = listsPast
            self.reads = reads
            self.until = until
        }
    }

    let shared: SimulatedStorage
    private let files: DeviceFileSystem
    private var distortions: [Distortion] = []
    /// Until then the device's requests are refused.
    private var unavailableUntil: Int64 = 0
    /// Until then each answer takes so long, in milliseconds.
    private var slow: (until: Int64, milliseconds: Int64) = (0, 0)
    /// What the device finds in place of the container, where the container is away and the place is not.
    private var elsewhere: [DeviceFileSystem.Mount: MemoryStorage] = [:]
    /// Counts an occurrence of a fault, by kind.
    var met: (String) -> Void = { _ in }
    /// Told of a write to a place that is not the container.
    var wroteElsewhere: (String) -> Void = { _ in }

    init(_ shared: SimulatedStorage, _ files: DeviceFileSystem) {
        self.shared = shared
        self.files = files
    }

    var traits: StorageTraits { shared.memory.traits }
    func describe(_ key: String) -> String { shared.place + (key.isEmpty ? "" : "/" + key) }

    // MARK: Faults

    func add(_ distortion: Distortion) { distortions.append(distortion) }

    /// Shows a directory as it was, until the storage is honest again; `[:]` hides the directory.
    func withhold(_ prefix: String, past: [String: [UInt8]]) {
        add(
            Distortion(
                "withheld", of: prefix, past: shared.storage(of: past), listsPast: true, reads: .past, until: .max))
    }

    func refuse(milliseconds: Int64) { unavailableUntil = shared.now + milliseconds }

    func slowDown(milliseconds: Int64, each: Int64) { slow = (shared.now + milliseconds, each) }

    /// True if the device sees the present state, and every request is answered.
    var isHonest: Bool {
        distortions.allSatisfy { $0.until <= shared.now } && unavailableUntil <= shared.now && shared.isHonest
    }

    /// True if something is withheld for good, until `becomeHonest`.
    var isDeceived: Bool { distortions.contains { $0.until == .max } }

    /// Ends all faults.
    func becomeHonest() {
        distortions = []
        unavailableUntil = 0
        slow = (0, 0)
        elsewhere = [:]
        shared.becomeHonest()
    }

    // MARK: Requests

    /// Begins a request.
    /// - Returns: the storage that answers.
    private func begin(writing key: String? = nil) throws -> MemoryStorage {
        files.meanwhile?()
        if slow.until > shared.now {
            met("storage slow")
            shared.pass(milliseconds: slow.milliseconds)
        }
        shared.expire()
        distortions.removeAll { $0.until <= shared.now }
        switch files.mount {
        case .there: break
        case .missing:
            met("storage missing")
            throw FerryError(.containerMissing, "The storage cannot be reached. Try again.", path: describe(""))
        case .empty, .foreign:
            met("storage \(files.mount.rawValue)")
            if let key { wroteElsewhere(key) }
            return place(of: files.mount)
        }
        if unavailableUntil > shared.now {
            met("storage unavailable")
            throw FerryError(
                .containerMissing, "The storage asks for fewer requests (503 SlowDown). Try again.", path: describe(""))
        }
        if key != nil, files.isFull {
            met("storage full")
            throw FerryError(
                .inputOutput, "The storage is full (507). Changes wait until there is room.", path: describe(""))
        }
        return shared.memory
    }

    private func place(of mount: DeviceFileSystem.Mount) -> MemoryStorage {
        if let place = elsewhere[mount] { return place }
        let place = shared.storage(
            of: mount == .foreign ? [ContainerDescription.fileName: DeviceFileSystem.foreign] : [:])
        elsewhere[mount] = place
        return place
    }

    func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage {
        let memory = try begin()
        let page = try memory.list(prefix, after: key, token)
        guard memory === shared.memory else { return page }
        let lagging = shared.laggingIndex()
        let former = distortions.filter(\.listsPast)
        if former.isEmpty {
            guard let lagging else { return page }
            return try counted("storage lagging", lagging.list(prefix, after: key, token), insteadOf: page)
        }
        var contents = (lagging ?? memory).contents
        for distortion in former {
            contents = contents.filter { !$0.key.hasPrefix(distortion.prefix) }
            contents.merge(distortion.past.contents.filter { $0.key.hasPrefix(distortion.prefix) }) { $1 }
        }
        let seen = try shared.storage(of: contents).list(prefix, after: key, token)
        return counted("storage \(former[0].name)", seen, insteadOf: page)
    }

    /// Counts an answer that is not the present one.
    private func counted<Answer: Equatable>(_ kind: String, _ answer: Answer, insteadOf present: Answer) -> Answer {
        if answer != present { met(kind) }
        return answer
    }

    /// The former state of an object in an answer, and the distortion's name; `nil`: the present one.
    private func former(_ key: String) -> (storage: MemoryStorage?, name: String)? {
        for distortion in distortions where key.hasPrefix(distortion.prefix) {
            let isKnown = distortion.keys.contains(key)
            switch distortion.reads {
            case .present: continue
            case .pastWhereKnown: if isKnown { return (distortion.past, distortion.name) }
            case .absentWhereNew: if !isKnown, key != LatestSegments.name { return (nil, distortion.name) }
            case .past: return (distortion.past, distortion.name)
            }
        }
        return nil
    }

    func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        let memory = try begin()
        let answer = try memory.get(key, unless: tag, maximumBytes: maximumBytes)
        guard memory === shared.memory, let (storage, name) = former(key) else { return answer }
        let seen = try storage?.get(key, unless: tag, maximumBytes: maximumBytes) ?? .absent
        return counted("storage \(name)", seen, insteadOf: answer)
    }

    func get(_ key: String, range: Range<Int>) throws -> [UInt8]? {
        let memory = try begin()
        let answer = try memory.get(key, range: range)
        guard memory === shared.memory, let (storage, name) = former(key) else { return answer }
        return counted("storage \(name)", try storage?.get(key, range: range), insteadOf: answer)
    }

    func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        let memory = try begin(writing: key)
        if memory === shared.memory {
            shared.awaitTurn(of: key)
            shared.note(key, bytes)
        }
        return try memory.put(key, bytes, onlyIfAbsent: onlyIfAbsent)
    }

    func delete(_ key: String) throws { try begin(writing: key).delete(key) }
}
