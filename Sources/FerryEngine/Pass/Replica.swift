import FerryContainer
import FerryContent
import FerryCore
import FerryLog
import FerrySchema
import FerryStore
import Foundation

/// A database and its container: every action of the command line, as synchronous calls.
///
/// Every writing call holds the device's lock, so several processes may have a replica of the same database. An app
/// with a long life uses `SyncEngine`, because the engine calls a replica from a separate thread.
public final class Replica: Sendable {
    public let store: Store
    package let environment: ReplicaEnvironment
    let lock: DeviceLock
    /// The files beside the database, as of the opening.
    let files: DatabaseFiles
    /// How long the container keeps files.
    let retention: RetentionSettings
    private let known: Locked<Known>
    /// The last opened remote place of the container, and the place's text.
    let openPlace = Locked<(text: String, backend: any ContainerBackend)?>(nil)
    let heads: HeadCache
    /// The segments opened by a join before its first sync; `nil` otherwise.
    let opened = Locked<OpenedSegments?>(nil)
    /// The bytes of contents beside the database.
    package let shelf: ContentShelf
    /// The content fetcher's knowledge from the last scan.
    let fetching = Locked(ContentFetching())
    /// The known membership of a sealed container.
    let memory = MembershipMemory()
    /// Memory of earlier looks at the container, for the syncs of this process.
    let quiet: UnchangedLogs
    let last = UnchangedScan()

    private struct Known {
        var identity: StoreIdentity
        /// A new device ID, not mentioned in a report yet.
        var unreported: Renewal?
    }

    /// The device and container of the database. The device changes if the database proves to be a copy.
    public var identity: StoreIdentity { known.withLock { $0.identity } }

    func take(_ identity: StoreIdentity) { known.withLock { $0.identity = identity } }

    /// A new device ID, for the next report.
    var unreported: Renewal? {
        get { known.withLock { $0.unreported } }
        set { known.withLock { $0.unreported = newValue } }
    }

    /// Uses a tracked store.
    /// - Throws: `notTracked`; `storeIncomplete` if somebody dropped a table of Ferry's.
    public convenience init(_ store: Store) throws { try self.init(store, environment: .live(for: store)) }

    /// Uses a tracked store, and the given outside world.
    package init(
        _ store: Store, environment: ReplicaEnvironment = .live, retention: RetentionSettings = RetentionSettings()
    ) throws {
        try store.checkOwnTables()
        guard let identity = try store.identity() else { throw Store.untracked(store.path) }
        self.store = store
        known = Locked(Known(identity: identity))
        self.environment = environment
        self.retention = retention
        heads = HeadCache(clock: environment.clock)
        quiet = UnchangedLogs(clock: environment.clock)
        lock = DeviceLock(databasePath: store.path, check: store.checkAccess)
        files = DatabaseFiles(of: store.path)
        shelf = ContentShelf(
            besideDatabase: store.path, fileSystem: environment.fileSystem, random: environment.random)
    }

    /// Opens the database at a path.
    public convenience init(path: String) throws { try self.init(path: path, environment: .live) }

    /// Opens the database at a path, and uses the given outside world.
    package convenience init(
        path: String, environment: ReplicaEnvironment = .live, retention: RetentionSettings = RetentionSettings()
    ) throws {
        try self.init(
            Store(path: path, clock: environment.clock, random: environment.random), environment: environment,
            retention: retention)
    }

    // MARK: Sync

    /// Makes a pass both ways: reads the remaining devices' logs, packs local changes, replays, and publishes, until
    /// nothing is left to do.
    ///
    /// - Parameter isThorough: true: read every device's files, even if the head announces nothing new.
    /// - Throws:
    ///   - `notTracked` if the database left the container after the replica was made;
    ///   - `containerMissing`, `containerEmpty`, `containerMismatch`: local changes are packed all the same, and wait;
    ///   - `replayHookFailed`: local changes are published all the same;
    ///   - `clockAhead` if this device's clock is beyond the year 5000: nothing is packed before the clock is
    ///     corrected;
    ///   - `busy`, `inputOutput`.
    public func sync(isThorough: Bool = true, progress: ProgressHandler? = nil) throws -> SyncReport {
        try lock.withLock {
            try refreshIdentity()
            if isThorough { try Self.refuseDatabase(at: store.path, inside: identity.containerPath) }
            return try notingFailure {
                try Store.checkClock(environment.clock)
                return try syncLocked(isThorough: isThorough, progress)
            }
        }
    }

    /// Records a failure of the container or clock with the failure's age, for `status`, and throws the failure again.
    private func notingFailure(_ body: () throws -> SyncReport) throws -> SyncReport {
        do {
            return try body()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) || error.code == .clockAhead {
            // The same words wherever the place was missed: a failure is told once.
            let told = hinting(error)
            try store.recordFailure(told)
            throw told
        }
    }

    static func isOfTheContainer(_ code: FerryError.Code) -> Bool {
        let codes: [FerryError.Code] = [
            .containerMissing, .containerEmpty, .containerMismatch, .containerTooNew, .damagedFile, .foreignFile,
            .inputOutput, .limitExceeded, .notSealed, .keyMissing, .accessDenied, .credentialsMissing,
        ]
        return codes.contains(code)
    }

    private func syncLocked(isThorough: Bool, _ progress: ProgressHandler?) throws -> SyncReport {
        let start = environment.clock.milliseconds()
        var container: Container
        let members: MemberReader.Look?
        do {
            try place().goOnWithoutSilentFiles()
            try place().refresh(isThorough ? .full : .quick)
            container = try openContainer()
            members = try learn(&container, isForced: isThorough)
        } catch {
            // Local changes are packed even while the folder is away. A copy's changes stay pending until the folder is
            // back: only the folder shows the changes sent so far.
            if try !isCopied() && store.needsPass() {
                _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity))
            }
            throw error
        }
        let run = SyncRun(self, container, isThorough: isThorough, progress)
        var report = try run.run(members)
        report.durationMilliseconds = environment.clock.milliseconds() - start
        return report
    }

    /// The devices whose heads show for the first time that they count this device before they forget deletions: they
    /// acknowledge this log. Empty until everything mentioned in the heads is replayed here, so deletions forgotten
    /// earlier are known here, too.
    func newlyCounting(_ look: ContainerView) throws -> Set<DeviceID> {
        let (known, first) = try store.countingDevices()
        if look.heads.keys.allSatisfy({ known.contains($0) }) { return [] }
        let acknowledging = look.heads.filter { device, head in
            !known.contains(device) && (head.acknowledgements[identity.device]?.sequence ?? 0) >= first
        }
        if acknowledging.isEmpty || !look.gaps.isEmpty { return [] }
        let vector = try store.versionVector()
        func isReplayed(_ device: DeviceID, _ position: LogPosition) -> Bool {
            // Changesets unreadable here come from the device's successors.
            position.sequence <= vector[device].sequence || look.abandoned.contains(device)
        }
        guard look.heads.allSatisfy({ isReplayed($0.key, $0.value.position) }) else { return [] }
        return Set(
            acknowledging.filter { $0.value.acknowledgements.allSatisfy { isReplayed($0.key, $0.value) } }.keys)
    }

    /// Devices with a last change further ahead of this device's clock than the clock follows, without retired devices: those write no
    /// more.
    func clocksAhead(_ reading: StoreSummary) -> [DeviceID: FerryError] {
        let others = reading.vector.positions.filter { $0.key != identity.device && !reading.retired.contains($0.key) }
        return others.compactMapValues { position in
            daysAhead(position).map { days in
                FerryError(
                    .clockAhead,
                    "Its clock is more than \(days == 1 ? "a day" : "\(days) days") ahead of this device's, or was once. Its changes win "
                        + "over later ones until that time has come. Set the date on that device, and run `ferry doctor` there."
                )
            }
        }
    }

    /// The days by which the last change of a log is further ahead of this device's clock than the clock follows; `nil` for none.
    func daysAhead(_ position: LogPosition) -> Int64? {
        let latest = environment.clock.milliseconds() + HybridClock.maximumLeadMilliseconds
        if position.time.milliseconds <= latest { return nil }
        return (position.time.milliseconds - latest) / HybridClock.maximumLeadMilliseconds + 1
    }

    /// Makes a reader of the remaining devices' logs, with this device's knowledge of the devices.
    func reader(_ container: Container, _ reading: StoreSummary) throws -> LogReader {
        LogReader(
            container: container, device: identity.device, ends: try logEnds(), former: reading.formerDevices,
            unforked: try unforked(reading), ended: try endedDevices(reading), retired: reading.retired,
            room: availableBytes)
    }

    /// The free bytes of the database's disk; `nil` if unknown.
    func availableBytes() -> Int? { environment.fileSystem.availableBytes(at: store.path) }

    func publisher(_ container: Container) -> Publisher {
        Publisher(
            container: container, store: store, identity: identity,
            packs: PackPublisher(container: container, store: store, device: identity.device, shelf: shelf),
            clock: environment.clock, retention: retention, hold: hold(container))
    }

    /// Opens the container by the present files, also after changes by further programs since the last pass.
    func openContainerAfresh() throws -> Container {
        try place().refresh(.full)
        return try openContainer()
    }

    /// Why nothing may be published now in a sealed container; `nil`: all may be.
    private func hold(_ container: Container) -> FerryError? {
        do {
            _ = try container.sealingEpoch()
            return nil
        } catch {
            return (error as? FerryError) ?? FerryError(.internalInconsistency, "\(error)")
        }
    }

    /// Saves the names in the devices' heads.
    /// - Returns: all known names.
    func recordNames(_ heads: [DeviceID: Head], known: [DeviceID: String]) throws -> [DeviceID: String] {
        var names = known
        for (device, head) in heads where !String?.areEqualBytes(known[device], head.deviceName) {
            try store.recordName(head.deviceName, of: device)
            names[device] = head.deviceName
        }
        return names
    }

    /// Returns a closure for encoding segments of a device.
    func segmentEncoding(for identity: StoreIdentity) -> SegmentEncoding {
        { [settings = environment.largeValues] changeset, previous, keep in
            try OutboxEntry(
                encoding: [changeset], container: identity.container, previous: previous, largeValues: settings, keep)
        }
    }
}

extension Store {
    static func untracked(_ path: String) -> FerryError {
        var message = "The database belongs to no container yet. Run `ferry init` or `ferry join` first."
        let files = DatabaseFiles(of: path)
        if !path.isEmpty, FileManager.default.fileExists(atPath: files.path(.keys)) {
            message =
                "The database has left its container. \(files.shownPath(.keys)) says which rows its integer keys meant then: run "
                + "`ferry join` to join again, or remove the file."
        }
        return FerryError(.notTracked, message, path: path.isEmpty ? nil : path)
    }
}
