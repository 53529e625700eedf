import FerryContainer
import FerryCore

/// A single copying of a container between two places: the work of `Carrier.carry` once both are known.
///
/// The order of deeds: each device's records, segments, chunks, manifests, claim, head. Then the marker, where the
/// second place is new; then the memory; then files for removal; then `latest`. So a crash at any point leaves files
/// for the next run to continue, and nobody can open an incomplete place.
struct CarryRun {
    let carrier: Carrier
    /// The newer marker's content.
    let details: ContainerDescription
    let isNew: Bool
    private var isDryRun = false
    /// True: files in both places are held against each other.
    var isThorough = true
    let now: Int64
    /// The place with the newer marker; `nil` for equal markers, and for a new second place.
    private let newerMarker: CarrySide?
    private(set) var memory: CarryMemory
    private let proof: CarriedFile

    /// The findings and the work so far; shared by threads.
    struct Result {
        var ways = BothSides(from: CarryReport.Way(), to: CarryReport.Way())
        var left: [CarryReport.LeftBehind] = []
        var ofOpenTime = 0
        /// The devices with new files in a place.
        var told = BothSides<Set<DeviceID>>(from: [], to: [])
        var completed = 0
        /// Changing files after a copy or a removal: both places have them alike.
        var settled: [DeviceID: Set<DeviceFile>] = [:]
        /// Devices with a file left behind: no copied file may refer to the missing file.
        var withoutSegment: Set<DeviceID> = []
        var withoutChunk: Set<DeviceID> = []
    }

    let result = Locked(Result())

    init(
        _ carrier: Carrier, _ source: ContainerDescription, _ target: Carrier.Target, memory: CarryMemory, now: Int64
    ) throws {
        self.carrier = carrier
        self.memory = memory
        self.now = now
        isNew = target == .new
        var newer: CarrySide?
        var details = source
        if case .container(let there) = target {
            newer = try Self.newerMarker(source, there, memory, carrier.places.to.describe(""))
            if newer == .to { details = there }
        }
        (self.details, newerMarker) = (details, newer)
        let container = source.id
        proof = CarriedFile(container: details) { [carrier] in try carrier.keys(of: $0, in: container) }
    }

    /// Compares both markers.
    private static func newerMarker(
        _ source: ContainerDescription, _ target: ContainerDescription, _ memory: CarryMemory, _ path: String
    ) throws -> CarrySide? {
        guard target.id == source.id else { throw Carrier.mismatch(path, target, source) }
        if target == source { return nil }
        let sums = BothSides<Checksum?>(from: try source.encodedChecksum(), to: try target.encodedChecksum())
        let base = memory.marker.flatMap { Checksum($0) }
        if let newer = CarryPlan.newer(sums, base: base, isRemovable: false) { return newer }
        throw FerryError(
            .containerMismatch,
            "\(path) holds the same container, but sealed in another way, and nothing says which of both is newer. Nothing was "
                + "copied. Copy \(ContainerDescription.fileName) from the place where it was sealed last.", path: path)
    }

    // MARK: All devices

    /// Copies and removes, and fills in the report. `memory` is then ready to be saved.
    mutating func run(_ report: inout CarryReport, _ progress: ProgressHandler?) throws {
        isDryRun = report.isDryRun
        var devices = Set(try DeviceFiles.devices(in: carrier.places.from))
        if !isNew || !isDryRun { devices.formUnion(try DeviceFiles.devices(in: carrier.places.to)) }
        report.devices = devices.count
        var listed: [DeviceID: BothSides<DeviceFiles>] = [:]
        for device in devices { listed[device] = try files(of: device) }
        var former: Set<DeviceID> = []
        if case .sealed(let genesis) = details.sealing {
            former = carrier.formerLogs(genesis, in: listed, details.id)
        }
        let works = try listed.sorted { $0.key < $1.key }.compactMap { device, files in
            try look(at: device, files, isFormer: former.contains(device))
        }
        try perform(works, progress)
        if !isDryRun {
            try remember(works)
            try finish()
            report.removed = try removeSuperfluous(works)
            for side in CarrySide.allCases {
                let told = result.withLock { $0.told[side] }
                if !told.isEmpty { try carrier.places[side].announce(told.sorted()) }
            }
        }
        result.withLock { result in
            report.there = result.ways.from
            report.back = result.ways.to
            report.leftBehind = result.left.sorted { $0.path < $1.path }
            let ofOpenTime = works.reduce(result.ofOpenTime) { $0 + $1.plan.former }
            if ofOpenTime > 0 { report.openTimeFiles = ofOpenTime }
        }
    }

    // MARK: A single device

    /// The facts about a device in both places.
    struct Work {
        let device: DeviceID
        let plan: CarryPlan
        let heads: BothSides<HeadFacts?>
        let claims: BothSides<Checksum?>
        let newerHead: CarrySide?
        let newerClaim: CarrySide?
        /// The contents of the changing files.
        let contents: BothSides<[DeviceFile: [UInt8]]>
        /// Whether the places ever had files of the device.
        let presence: BothSides<Bool>
    }

    private func files(of device: DeviceID) throws -> BothSides<DeviceFiles> {
        var files = BothSides(from: DeviceFiles(), to: DeviceFiles())
        for side in CarrySide.allCases where !(isNew && isDryRun && side == .to) {
            files[side] = try DeviceFiles(of: device, in: carrier.places[side])
        }
        return files
    }

    private func look(at device: DeviceID, _ files: BothSides<DeviceFiles>, isFormer: Bool) throws -> Work? {
        if files.from.isEmpty, files.to.isEmpty { return nil }
        var presence = memory.presence(of: device)
        for side in CarrySide.allCases where !files[side].content.isEmpty { presence[side] = true }
        if isFormer {
            var plan = CarryPlan(former: files, presence: presence)
            plan.uneven = try uneven(files, of: device, recordsAlone: true)
            return Work(
                device: device, plan: plan, heads: BothSides(from: nil, to: nil), claims: BothSides(from: nil, to: nil),
                newerHead: nil, newerClaim: nil, contents: BothSides(from: [:], to: [:]), presence: presence)
        }
        var heads = BothSides<HeadFacts?>(from: nil, to: nil)
        var claims = BothSides<Checksum?>(from: nil, to: nil)
        var contents = BothSides<[DeviceFile: [UInt8]]>(from: [:], to: [:])
        for side in CarrySide.allCases {
            if files[side].segments.last != files[side.other].segments.last { recheckHead(of: device, side) }
            if files[side].hasHead, let bytes = read(.head, of: device, side) {
                heads[side] = try proof.facts(bytes, of: device)
                contents[side][.head] = bytes
            }
            if files[side].hasClaim, let bytes = read(.claim, of: device, side) {
                claims[side] = ContentHash.checksum(bytes)
                contents[side][.claim] = bytes
            }
        }
        let logs = BothSides(from: files.from.segments.last?.last ?? 0, to: files.to.segments.last?.last ?? 0)
        let newerHead = CarryPlan.newerHead(heads, base: memory.head(of: device), logs: logs)
        var plan = CarryPlan(files, heads: heads, newerHead: newerHead, home: memory.home(of: device))
        plan.uneven = try uneven(files, of: device)
        let newerClaim = CarryPlan.newer(claims, base: memory.claim(of: device), isRemovable: true)
        return Work(
            device: device, plan: plan, heads: heads, claims: claims, newerHead: newerHead,
            newerClaim: claims.from == claims.to ? nil : newerClaim ?? plan.author ?? .from, contents: contents,
            presence: presence)
    }

    /// The unchanging files of a device that both places have with different lengths.
    private func uneven(
        _ files: BothSides<DeviceFiles>, of device: DeviceID, recordsAlone: Bool = false
    ) throws -> [DeviceFile] {
        guard isThorough else { return [] }
        let records = Set(files.from.records).intersection(files.to.records).sorted().map { DeviceFile.record($0) }
        let present = Set(files.to.content)
        let common = recordsAlone ? [] : files.from.content.filter { !$0.changes && present.contains($0) }
        return try (records + common).filter { file in
            let path = file.path(of: device)
            // A place that knows no version of a file knows no length.
            guard let here = try carrier.places.from.version(of: path)?.size,
                let there = try carrier.places.to.version(of: path)?.size
            else { return false }
            return here != there
        }
    }

    /// Asks a remote place for a device's present head, if the device's log goes further there. Readers find segments
    /// by heads, so the head must go with the log.
    private func recheckHead(of device: DeviceID, _ side: CarrySide) {
        guard carrier.places[side].answersFromListing else { return }
        // A failure is told by the reading, or the next listing brings the head.
        try? carrier.places[side].recheck(DeviceFile.head.path(of: device))
    }

    // MARK: Copying

    private func perform(_ works: [Work], _ progress: ProgressHandler?) throws {
        let total = works.reduce(0) { $0 + $1.plan.copies.count }
        let copies = works.map { work in work.plan.copies.map { (device: work.device, copy: $0) } }
        let (manifests, others) = (
            copies.map { $0.filter(\.copy.isManifest) }, copies.map { $0.filter { !$0.copy.isManifest } }
        )
        // Where nobody reads yet, the order of files does not matter: all of them go side by side. Elsewhere devices do.
        try perform(isNew ? others.flatMap { $0.map { [$0] } } : others, total, progress)
        try perform(manifests, total, progress)
        for work in works { for file in work.plan.uneven { try mend(file, of: work.device) } }
        for work in works { try copyChanging(work) }
    }

    private func perform(
        _ parts: [[(device: DeviceID, copy: CarryPlan.Copy)]], _ total: Int, _ progress: ProgressHandler?
    ) throws {
        let failure = Locked<(any Error)?>(nil)
        SideBySide.perform(parts.count, atOnce: Carrier.maximumParallel) { [self] index in
            for (device, copy) in parts[index] where failure.withLock({ $0 == nil }) {
                do {
                    try self.copy(copy, of: device)
                } catch {
                    failure.withLock { $0 = $0 ?? error }
                }
                let completed = result.withLock { result in
                    result.completed += 1
                    return result.completed
                }
                progress?(SyncProgress(phase: .publishing, completed: completed, total: total))
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Copies an unchanging file, or leaves it behind.
    /// - Throws: errors about a whole place.
    private func copy(_ copy: CarryPlan.Copy, of device: DeviceID) throws {
        if isDryRun { return count(copy.source, 0, device) }
        // A manifest without a chunk helps nobody, and would keep the chunk from being copied later.
        if copy.isManifest, result.withLock({ $0.withoutChunk.contains(device) }) { return }
        let (path, target) = (copy.file.path(of: device), carrier.places[copy.source.other])
        guard let bytes = read(copy.file, of: device, copy.source) else {
            return result.withLock { result in
                if case .segment = copy.file { result.withoutSegment.insert(device) }
                if case .chunk = copy.file { result.withoutChunk.insert(device) }
                if case .part = copy.file {
                    result.withoutSegment.insert(device)
                    result.withoutChunk.insert(device)
                }
            }
        }
        do {
            try target.writeOnce(path, bytes)
        } catch let error as FerryError where error.code == .damagedFile {
            // The name determines the content: the present file is no file of the container.
            try target.replace(path, bytes)
        }
        count(copy.source, bytes.count, device)
    }

    /// Replaces a damaged file by the whole file of the other place. If both are damaged, both are recorded as left behind.
    private func mend(_ file: DeviceFile, of device: DeviceID) throws {
        var whole: [CarrySide: [UInt8]] = [:]
        var damage: [CarrySide: any Error] = [:]
        let path = file.path(of: device)
        for side in CarrySide.allCases {
            do {
                guard let bytes = try carrier.read(path, maximumBytes: file.maximumBytes, side, isKept: false) else {
                    return  // gone since the listing
                }
                try proof.check(bytes, file, of: device)
                whole[side] = bytes
            } catch is FileOfOpenTime {
                return
            } catch {
                damage[side] = error
            }
        }
        if whole.count == 1, let (side, bytes) = whole.first {
            if !isDryRun { try carrier.places[side.other].replace(path, bytes) }
            return count(side, isDryRun ? 0 : bytes.count, device)
        }
        for (side, error) in damage { leave(file, of: device, side, error) }
    }

    private func count(_ source: CarrySide, _ bytes: Int, _ device: DeviceID) {
        result.withLock { result in
            result.ways[source].files += 1
            result.ways[source].bytes += bytes
            result.told[source.other].insert(device)
        }
    }

    /// Copies claim and head, or removes a claim after the author's removal.
    private func copyChanging(_ work: Work) throws {
        let decided: [(DeviceFile, CarrySide?)] = [(.claim, work.newerClaim), (.head, work.newerHead)]
        for (file, side) in decided {
            // A head that refers to a segment left behind would make readers wait.
            guard let side, file == .claim || !result.withLock({ $0.withoutSegment.contains(work.device) })
            else { continue }
            let path = file.path(of: work.device)
            let target = carrier.places[side.other]
            if let bytes = work.contents[side][file] {
                if !isDryRun { try target.replace(path, bytes) }
                // A damaged file there is mended.
                result.withLock { $0.left.removeAll { $0.path == target.describe(path) } }
                count(side, isDryRun ? 0 : bytes.count, work.device)
            } else if file == .claim, !isDryRun {
                try target.remove(path)
            }
            result.withLock { _ = $0.settled[work.device, default: []].insert(file) }
        }
    }

    /// Reads a file and checks the content against the name; otherwise records the file as left behind.
    /// - Returns: `nil` also for a file gone since the listing: the author removed the file.
    private func read(_ file: DeviceFile, of device: DeviceID, _ side: CarrySide) -> [UInt8]? {
        let path = file.path(of: device)
        do {
            guard let bytes = try carrier.read(path, maximumBytes: file.maximumBytes, side, isKept: file.changes) else {
                return nil
            }
            try proof.check(bytes, file, of: device)
            return bytes
        } catch is FileOfOpenTime {
            result.withLock { $0.ofOpenTime += 1 }
            return nil
        } catch {
            leave(file, of: device, side, error)
            return nil
        }
    }

    /// Records a file as left behind.
    private func leave(_ file: DeviceFile, of device: DeviceID, _ side: CarrySide, _ error: any Error) {
        let failure =
            error as? FerryError ?? FerryError(.inputOutput, "The file cannot be read: \(error).", cause: error)
        let path = carrier.places[side].describe(file.path(of: device))
        result.withLock {
            $0.left.append(
                CarryReport.LeftBehind(path: path, code: failure.code.rawValue, reason: failure.message))
        }
    }

    // MARK: Afterwards

    /// Writes the marker if it is missing or older, and removes the note about the container to come.
    private func finish() throws {
        let name = ContainerDescription.fileName
        func marker(_ side: CarrySide) throws -> [UInt8] {
            guard let bytes = try carrier.places[side].read(name, maximumBytes: ContainerDescription.maximumBytes)
            else {
                throw FerryError(
                    .containerMissing, "\(carrier.places[side].describe(name)) is gone since the container was opened.",
                    path: carrier.places[side].describe(name))
            }
            return bytes
        }
        if isNew {
            try carrier.places.to.writeOnce(name, marker(.from))
            try carrier.places.to.completeCreation()
        } else if let newer = newerMarker {
            try carrier.places[newer.other].replace(name, marker(newer))
        }
        for side in CarrySide.allCases {
            let begun = ContainerDescription.carriedFileName
            if try carrier.places[side].list("", after: nil).contains(begun) { try carrier.places[side].remove(begun) }
        }
    }

    private mutating func remember(_ works: [Work]) throws {
        memory.marker = try details.encodedChecksum().hex
        var devices: [String: CarryMemory.Device] = [:]
        for work in works {
            var device = memory.devices[work.device.hex] ?? CarryMemory.Device()
            let settled = result.withLock { $0.settled[work.device] ?? [] }
            if let side = work.newerHead {
                if settled.contains(.head) { device.head = work.heads[side]?.checksum.hex }
            } else if let head = work.heads.from {
                device.head = head.checksum.hex
            }
            device.claim = (work.newerClaim.map { work.claims[$0] } ?? work.claims.from)?.hex
            device.isAtSource = work.plan.author.map { $0 == .from }
            if work.presence.from { device.wasAtSource = true }
            if work.presence.to { device.wasAtTarget = true }
            devices[work.device.hex] = device
        }
        memory.devices = devices
    }

    /// Removes files after an hour of being superfluous.
    /// - Returns: the number of files.
    private mutating func removeSuperfluous(_ works: [Work]) throws -> Int {
        var removed = 0
        for side in CarrySide.allCases {
            var seen: [String: Int64] = [:]
            var directories: Set<String> = []
            for work in works {
                for copy in work.plan.superfluous where copy.source == side {
                    let path = copy.file.path(of: work.device)
                    let since = memory[superfluous: side][path] ?? now
                    if now - since >= Carrier.superfluousMilliseconds, now >= since {
                        try carrier.places[side].remove(path)
                        directories.insert(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
                        removed += 1
                    } else {
                        seen[path] = min(since, now)
                    }
                }
            }
            for directory in directories.sorted() { try carrier.places[side].settle(directory) }
            memory[superfluous: side] = seen
        }
        return removed
    }
}

extension ContainerDescription {
    /// The checksum of the marker's content as encoded by this Ferry.
    fileprivate func encodedChecksum() throws -> Checksum { ContentHash.checksum(try encoded()) }
}

extension CarryPlan.Copy {
    fileprivate var isManifest: Bool { if case .manifest = file { true } else { false } }
}
