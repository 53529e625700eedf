import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import Foundation

/// Copies a container between two places, both ways, until both have the same files (`ferry carry`). The places are
/// folders, buckets, or places within rclone's reach. No database and no key is needed, and no file's content changes.
///
///     let carrier = try Carrier(from: "/home/me/Sync/music", to: "s3://music-bucket/music")
///     let report = try carrier.carry()
///
/// Every file has one writer and one content, so devices may go on in both places meanwhile. An interrupted copy goes
/// on at the next call. Calls block, and may come from any thread; one call works at a time.
public final class Carrier: Sendable {
    /// The time from finding a file superfluous to the removal, in milliseconds.
    package static let superfluousMilliseconds: Int64 = 3_600_000
    /// Requests side by side.
    static let maximumParallel = 8

    let environment: ReplicaEnvironment
    let places: BothSides<any ContainerBackend>
    /// The places as texts.
    let texts: BothSides<String>
    private let state = Locked(State())
    private let lock = NSLock()

    private struct State {
        /// True once a container was seen in the second place: from then on a missing container is an outage.
        var isThere = false
        /// Keys from records and claims, and the records read so far.
        var keys: [DeviceID: DevicePublicKeys] = [:]
        var read: Set<String> = []
        /// The first record of the membership, and the devices with logs from before.
        var formerLogs: (genesis: RecordHash, devices: Set<DeviceID>)?
        /// Heads and claims as they were last read.
        var kept: BothSides<[String: VersionedReading<[UInt8]>]> = BothSides(from: [:], to: [:])
        /// The memory, once read.
        var memory: CarryMemory?
    }

    /// Names two places. Nothing is asked of them yet.
    /// - Parameters:
    ///   - from: where the container is: a folder's path, or `s3://bucket/path?…`.
    ///   - to: the target place; a place without a container gets one.
    /// - Throws: `invalidArgument` for a text that is no place, for two equal places, and for a folder inside the other.
    public convenience init(from: String, to: String) throws {
        try self.init(from: from, to: to, environment: .live)
    }

    package init(from: String, to: String, environment: ReplicaEnvironment) throws {
        texts = BothSides(from: try Replica.fullPlace(from), to: try Replica.fullPlace(to))
        guard texts.from != texts.to else {
            throw FerryError(.invalidArgument, "Both places are the same. Name the one to carry to.", path: texts.to)
        }
        if let (outer, inner) = texts.nested {
            throw FerryError(
                .invalidArgument,
                "\(inner) lies inside \(outer): a container would be carried into itself. Name a place outside.",
                path: inner)
        }
        self.environment = environment
        places = BothSides(
            from: try environment.backend(at: texts.from), to: try environment.backend(at: texts.to))
    }

    /// Copies missing files in both directions, and removes files without readers.
    /// - Parameters:
    ///   - isThorough: true: list both places. Otherwise remote places are asked for announced news alone.
    ///   - dryRun: true: only report the copies to make.
    ///   - progress: called from several threads.
    /// - Throws: `containerMissing`, `containerEmpty` for an unreachable place, or for a first place without a
    ///   container; `containerMismatch` for two different containers; `containerExists` where the second place has
    ///   devices of an unknown container; `accessDenied`, `credentialsMissing`, `containerTooNew`, `inputOutput`. All
    ///   files copied by then are whole: repeat the call. A single file without a copy is no error but
    ///   `CarryReport.leftBehind`.
    @discardableResult
    public func carry(
        isThorough: Bool = true, dryRun: Bool = false, progress: ProgressHandler? = nil
    ) throws -> CarryReport {
        lock.lock()
        defer { lock.unlock() }
        let start = environment.clock.milliseconds()
        var report = CarryReport(from: try Self.short(texts.from), to: try Self.short(texts.to))
        report.isDryRun = dryRun
        try places.from.refresh(isThorough ? .full : .quick)
        let source = try Container.open(places.from).details
        let target = try openTarget(source, isThorough: isThorough, dryRun: dryRun)
        report.isNew = target == .new
        let memory = try memory(of: source.id, target)
        var run = try CarryRun(self, source, target, memory: memory, now: start)
        run.isThorough = isThorough
        try run.run(&report, progress)
        if !dryRun {
            var known = run.memory
            if known != memory {
                known.change = (known.change ?? 0) + 1
                try places.to.replace(CarryMemory.fileName(with: texts.from), known.encoded())
            }
            state.withLock { ($0.isThere, $0.memory) = (true, known) }
        }
        report.durationMilliseconds = environment.clock.milliseconds() - start
        return report
    }

    /// Ends running requests: `carry` throws. From any thread.
    public func interrupt() {
        places.from.interrupt()
        places.to.interrupt()
    }

    private func memory(of container: ContainerID, _ target: Target) throws -> CarryMemory {
        if let memory = state.withLock({ $0.memory }) { return memory }
        // In a dry run the second place may not be there at all.
        if target == .new { return CarryMemory(container: container) }
        func memory(_ side: CarrySide) throws -> CarryMemory {
            let name = CarryMemory.fileName(with: texts[side.other])
            do {
                return CarryMemory(
                    decoding: try places[side].read(name, maximumBytes: CarryMemory.maximumBytes), container: container)
            } catch let error as FerryError where error.code == .limitExceeded {
                // Damaged: as without the file.
                return CarryMemory(container: container)
            }
        }
        return try .last(there: memory(.to), here: memory(.from))
    }

    /// Reads a file of a place.
    /// - Parameter isKept: true: keep the bytes, and read them again only after a new version of the file.
    func read(_ path: String, maximumBytes: Int, _ side: CarrySide, isKept: Bool) throws -> [UInt8]? {
        guard isKept, let version = try places[side].version(of: path) else {
            return try places[side].read(path, maximumBytes: maximumBytes)
        }
        let former = state.withLock { $0.kept[side][path] }
        if let former, former.holds(for: version) { return former.value }
        let now = environment.clock.milliseconds()
        guard let bytes = try places[side].read(path, maximumBytes: maximumBytes) else { return nil }
        let reading = VersionedReading(
            bytes, version, isOfVersion: try places[side].hasRead(path, version), after: former, milliseconds: now)
        state.withLock { $0.kept[side][path] = reading }
        return bytes
    }

    private static func short(_ text: String) throws -> String { try ContainerLocation(text).shortText }

    // MARK: The second place

    /// The state of the second place before anything is copied.
    enum Target: Equatable {
        /// The place has no container yet, or an interrupted copy of this container.
        case new
        case container(ContainerDescription)
    }

    private func openTarget(_ source: ContainerDescription, isThorough: Bool, dryRun: Bool) throws -> Target {
        let place = places.to
        if !state.withLock({ $0.isThere }) {
            if dryRun {
                // A missing folder would be made.
                do { try place.checkRoot() } catch let error as FerryError where error.code == .containerMissing {
                    return .new
                }
            } else if try !isContainer(place) {
                try Replica.refuseContainer(at: texts.to, environment)
                return try prepare(place, source)
            }
        }
        try place.refresh(isThorough ? .full : .quick)
        do {
            return .container(try Container.open(place).details)
        } catch let error as FerryError where error.code == .containerEmpty && dryRun {
            return .new
        }
    }

    private func isContainer(_ place: any ContainerBackend) throws -> Bool {
        do {
            try place.refresh(.full)
            try place.checkRoot()
            return try place.list("", after: nil).contains(ContainerDescription.fileName)
        } catch let error as FerryError where error.code == .containerMissing && !place.answersFromListing {
            return false
        }
    }

    /// Makes the place, and writes the note about the container to come: the container's own marker comes last.
    private func prepare(_ place: any ContainerBackend, _ source: ContainerDescription) throws -> Target {
        try place.prepareForCreation()
        let (path, name) = (place.describe(""), ContainerDescription.carriedFileName)
        if let bytes = try place.read(name, maximumBytes: ContainerDescription.maximumBytes) {
            let begun = try ContainerDescription(decoding: bytes)
            guard begun.id == source.id else { throw Self.mismatch(path, begun, source) }
        } else if try place.list("", after: nil).contains(DeviceFiles.directory) {
            throw FerryError(
                .containerExists,
                "\(path) looks like a container whose \(ContainerDescription.fileName) is missing. Wait until it is synced, or "
                    + "choose another place.", path: path)
        }
        try place.replace(name, source.encoded())
        return .new
    }

    static func mismatch(_ path: String, _ there: ContainerDescription, _ source: ContainerDescription) -> FerryError {
        FerryError(
            .containerMismatch,
            "\(path) holds another container, \(there.name). Nothing was copied; choose another place for \(source.name).",
            path: path)
    }

    // MARK: Keys

    /// The keys of a device, as a record or a claim in either place states them; `nil` if none does.
    func keys(of device: DeviceID, in container: ContainerID) throws -> DevicePublicKeys? {
        if let known = state.withLock({ $0.keys[device] }) { return known }
        for side in CarrySide.allCases { try learnKeys(places[side], container) }
        return state.withLock { $0.keys[device] }
    }

    private func learnKeys(_ place: any ContainerBackend, _ container: ContainerID) throws {
        for device in try DeviceFiles.devices(in: place) {
            let files = try DeviceFiles(of: device, in: place)
            let claims: [DeviceFile] = files.hasClaim ? [.claim] : []
            for file in files.records.sorted().map({ DeviceFile.record($0) }) + claims {
                let path = file.path(of: device)
                if state.withLock({ $0.read.contains(path) }) { continue }
                // Unreadable and damaged files state no keys. A copy of such a file reports the problem.
                guard let bytes = try? place.read(path, maximumBytes: file.maximumBytes),
                    let stated = StatedKeys.all(in: bytes, file, container)
                else { continue }
                state.withLock { state in
                    state.keys.merge(stated) { first, _ in first }
                    if file != .claim { state.read.insert(path) }
                }
            }
        }
    }

    /// The devices with logs from before a membership was founded: no member reads these logs.
    /// - Parameters:
    ///   - genesis: the hash of the membership's first record.
    ///   - files: the listings of both places.
    /// - Returns: no device where the first record is in neither place.
    func formerLogs(
        _ genesis: RecordHash, in files: [DeviceID: BothSides<DeviceFiles>], _ container: ContainerID
    ) -> Set<DeviceID> {
        if let known = state.withLock({ $0.formerLogs }), known.genesis == genesis { return known.devices }
        let file = DeviceFile.record(RecordName(genesis))
        for (device, listed) in files {
            for side in CarrySide.allCases where listed[side].records.contains(RecordName(genesis)) {
                // The copy of an unreadable or damaged record reports the problem.
                guard
                    let bytes = try? places[side].read(file.path(of: device), maximumBytes: file.maximumBytes),
                    let record = try? MemberRecord(decoding: bytes, container: container), record.hash == genesis,
                    case .found(let founding)? = record.acts.first
                else { continue }
                let devices = Set(founding.formerLogs.map(\.device))
                state.withLock { $0.formerLogs = (genesis, devices) }
                return devices
            }
        }
        return []
    }
}

extension BothSides<String> {
    /// The folder around the other folder, and the folder inside; `nil` for two places apart.
    fileprivate var nested: (outer: String, inner: String)? {
        if !from.hasPrefix("/") || !to.hasPrefix("/") { return nil }
        if to.hasPrefix(from == "/" ? from : from + "/") { return (from, to) }
        if from.hasPrefix(to == "/" ? to : to + "/") { return (to, from) }
        return nil
    }
}
