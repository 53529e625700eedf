import FerryCore

/// The shared place through which the devices of a database exchange their logs (Docs/Format.md, "Container").
///
/// A device writes only below its own directory. Nothing but heads is ever replaced. An absent thing was never deleted:
/// it is not mounted, not synced yet, or lost. No method here creates a container's folders without its marker. A value
/// without state of its own; safe to use from any thread. One process at a time publishes for a device.
package struct Container: Sendable {
    /// The largest segment that is read or written, in bytes.
    package static let maximumSegmentBytes = 256 * 1024 * 1024
    package static let devicesDirectory = "devices"

    /// The content of `container.json`.
    package let details: ContainerDescription
    /// Where the bytes are.
    package let backend: any ContainerBackend
    /// Heads that were read before, for callers that open the container again and again.
    let heads: HeadCache?
    /// A member's seal; `nil` in an open container, and before anything is known of the members.
    package let seal: (any FileSealing)?
    /// Opened segments for a second reading; `nil` unless a database joins.
    private(set) var opened: OpenedSegments?

    /// The container's ID.
    package var id: ContainerID { details.id }
    /// The container's name for people.
    package var name: String { details.name }

    // MARK: Creating and opening

    init(
        details: ContainerDescription, backend: any ContainerBackend, heads: HeadCache? = nil,
        seal: (any FileSealing)? = nil
    ) {
        self.details = details
        self.backend = backend
        self.heads = heads
        self.seal = seal
    }

    /// The same container, with the memory of opened segments for a second reading.
    package func remembering(_ opened: OpenedSegments?) -> Container {
        var container = self
        container.opened = opened
        return container
    }

    /// Creates an open container in a folder; as `create(at:describedBy:fileSystem:random:)`.
    /// - Throws: also `invalidArgument` for an impossible name.
    package static func create(
        at path: String, name: String, fileSystem: any FileSystem = PosixFileSystem(),
        clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom()
    ) throws -> Container {
        let details = try ContainerDescription(
            id: random.makeID(), name: name, createdMilliseconds: clock.milliseconds())
        return try create(at: path, describedBy: details, fileSystem: fileSystem, random: random)
    }

    /// Creates a container in a folder, and the folder if missing; files of other kinds inside do not matter.
    /// - Parameter details: the marker's content. The first record of a sealed container is made before, so that the marker names
    ///   the record.
    /// - Throws: `containerMissing` if the folder's parent is not there. `containerExists` if the folder is a
    ///   container, was a container and lost its marker, or becomes one (`signOfArrival`). `inputOutput`.
    package static func create(
        at path: String, describedBy details: ContainerDescription, fileSystem: any FileSystem = PosixFileSystem(),
        random: any RandomSource = SystemRandom()
    ) throws -> Container {
        try create(
            in: FolderBackend(root: path, fileSystem: fileSystem, random: random), describedBy: details)
    }

    /// Creates a container in any place; as `create(at:describedBy:fileSystem:random:)`.
    package static func create(
        in backend: any ContainerBackend, describedBy details: ContainerDescription
    ) throws -> Container {
        try backend.prepareForCreation()
        let existing = try backend.list("", after: nil)
        let (path, noun) = (backend.describe(""), backend.answersFromListing ? "place" : "folder")
        if existing.contains(ContainerDescription.fileName) {
            throw FerryError.containerExists(at: path, isFolder: !backend.answersFromListing)
        }
        if let sign = existing.first(where: isSignOfArrival) {
            throw FerryError(
                .containerExists,
                "The \(noun) \(path) looks like a container whose \(ContainerDescription.fileName) is missing: \(sign) is there. "
                    + "Wait until it is synced, or choose another \(noun).", path: path)
        }
        let bytes = try details.encoded()
        try backend.writeOnce(ContainerDescription.fileName, bytes)
        // Of two processes that create the container at once, the later marker stays; the other process finds out here.
        let present = try open(backend)
        guard present.details == details else {
            throw FerryError.containerExists(at: path, isFolder: !backend.answersFromListing)
        }
        try backend.completeCreation()
        return present
    }

    /// Opens the container in a folder; changes nothing. A sealed container needs a seal before its files can be read
    /// (`sealed(by:)`).
    /// - Parameter pin: what the database knows of its container; `nil` for a newcomer.
    /// - Throws: `containerMissing` if the folder is not there, `containerEmpty` without a marker, `containerMismatch`,
    ///   `notSealed` and `keyMissing` for another marker than the pin's, `containerTooNew`, `damagedFile`, `inputOutput`. Wait
    ///   for the disk or the syncer after the first two; the rest needs a person.
    package static func open(
        at path: String, expecting pin: ContainerPin? = nil, fileSystem: any FileSystem = PosixFileSystem(),
        random: any RandomSource = SystemRandom(), heads: HeadCache? = nil
    ) throws -> Container {
        try open(FolderBackend(root: path, fileSystem: fileSystem, random: random), expecting: pin, heads: heads)
    }

    /// Opens the container in any place; as `open(at:expecting:fileSystem:random:)`.
    package static func open(
        _ backend: any ContainerBackend, expecting pin: ContainerPin? = nil, heads: HeadCache? = nil
    ) throws -> Container {
        let details = try readDescription(in: backend)
        if let pin { try pin.check(details, path: backend.describe("")) }
        return Container(details: details, backend: backend, heads: heads)
    }

    /// Makes sure that the container is still there and still the same. Call at the start of each pass; the cost is a
    /// small read.
    /// - Throws: as `open(at:expecting:fileSystem:random:)`.
    package func checkReachable() throws {
        _ = try Self.open(backend, expecting: pin)
    }

    private static func readDescription(in backend: any ContainerBackend) throws -> ContainerDescription {
        let name = ContainerDescription.fileName
        try backend.checkRoot()
        do {
            guard let bytes = try backend.read(name, maximumBytes: ContainerDescription.maximumBytes) else {
                throw ContainerDescription.missing(
                    in: backend.describe(""), isEmpty: try backend.list("", after: nil).isEmpty,
                    isFolder: !backend.answersFromListing)
            }
            return try ContainerDescription(decoding: bytes)
        } catch let error as FerryError {
            var located = error.locating(backend.describe(name), limitMeansDamage: true)
            if located.code == .damagedFile {
                located.message =
                    "\(backend.describe(name)) is damaged, so the container cannot be read. Changes wait. Run `ferry doctor --repair` on a "
                    + "device that has synced with the container before: the device writes the file again."
            }
            throw located
        }
    }

    // MARK: Devices and their segments

    /// Lists the devices whose files count, in ascending order: those with a directory, and in a sealed container members and
    /// devices that left.
    /// - Throws: as `checkReachable`, so that no devices and no container are never confused; `keyMissing` for a sealed container
    ///   without a seal.
    package func devices() throws -> [DeviceID] {
        let seal = try requiredSeal()
        let listed = try directories()
        return seal?.readable(listed) ?? listed
    }

    /// Lists the devices with a directory, in ascending order, whoever they are; other names are ignored.
    /// - Throws: as `checkReachable`.
    package func directories() throws -> [DeviceID] {
        let names = try backend.list(Self.devicesDirectory, after: nil)
        if names.isEmpty { try checkReachable() }
        return names.compactMap { name in
            guard name.utf8.count == 32, let device = DeviceID(name), device.hex == name else { return nil }
            return device
        }.sorted()
    }

    /// The version of the directory that holds all devices' directories: the same as before if no device came or went. `nil` if
    /// unknown: list it.
    package func directoriesVersion() throws -> FileVersion? { try backend.version(of: Self.devicesDirectory) }

    /// Writes a segment into a device's own directory. Durable on return; publishing again has no effect, and mends a
    /// file damaged since.
    /// - Parameter epoch: the epoch of the name, in a sealed container (`sealingEpoch`).
    /// - Throws: `invalidArgument` if the name's hash is not the bytes' own, `limitExceeded` above
    ///   `maximumSegmentBytes`; otherwise as `ContainerBackend.writeOnce`. Try again later: nothing half-written is
    ///   visible.
    package func publish(
        _ segment: [UInt8], name: SegmentName, of device: DeviceID, under epoch: EpochID? = nil
    ) throws {
        guard let checksum = ContentHash.verifiedTrailer(of: segment),
            name.matches(try nameHash(checksum, .segment, of: device, under: epoch))
        else {
            throw FerryError(.invalidArgument, "The segment \(name) has another checksum than its name.")
        }
        guard segment.count <= Self.maximumSegmentBytes else {
            throw FerryError(
                .limitExceeded, "The segment \(name) is longer than \(Self.maximumSegmentBytes) bytes. Split it.",
                device: device)
        }
        let path = Self.segmentsDirectory(of: device) + "/" + name.fileName
        try writeFile(path, segment, .segment, of: device, under: epoch)
    }

    /// Lists the segments of a device with changesets after a sequence number, in ascending order. Names that are not
    /// exactly a segment's are ignored; rolled-up segments can overlap.
    /// - Throws: `limitExceeded` for an absurd number of files, `damagedFile`, `inputOutput`: skip the device this
    ///   time.
    package func segments(of device: DeviceID, after sequence: UInt64 = 0) throws -> [SegmentName] {
        try segmentFiles(of: device, after: sequence).filter { !$0.isCopy }.map(\.name)
    }

    /// Lists the segments of a device as `segments(of:after:)` does, and probable copies by a syncer, each after the
    /// proper name. Try copies at a gap of the log.
    package func segmentFiles(of device: DeviceID, after sequence: UInt64 = 0) throws -> [SegmentFile] {
        guard try counts(device) else { return [] }
        return try locating(device, Self.segmentsDirectory(of: device)) {
            try backend.list(Self.segmentsDirectory(of: device), after: nil)
                .compactMap { SegmentFile(fileName: $0) }
                .filter { $0.name.last > sequence }
                .sorted()
        }
    }

    /// Returns the numbers of a device's changesets with files, copies or placeholders, in ascending order.
    package func segmentRanges(of device: DeviceID) throws -> [ClosedRange<UInt64>] {
        guard try counts(device) else { return [] }
        let directory = Self.segmentsDirectory(of: device)
        return try locating(device, directory) {
            try backend.list(directory, after: nil)
                .compactMap { SegmentFile(fileName: $0)?.name ?? SegmentName(placeholder: $0) }.sorted()
                .map { $0.first...$0.last }
        }
    }

    /// The version of the directory of a device's segments: the same as before if no file came or went. `nil` if
    /// unknown: list the directory.
    package func segmentsVersion(of device: DeviceID) throws -> FileVersion? {
        let directory = Self.segmentsDirectory(of: device)
        return try locating(device, directory) { try backend.version(of: directory) }
    }

    /// Reads the bytes of a segment, unverified; `nil` if the segment is not there (any more): look again. Of a sealed segment
    /// the content, whose writer, name and wholeness are proved.
    /// - Throws: `limitExceeded` above `maximumSegmentBytes`, `damagedFile`, `inputOutput`; in a sealed container also what
    ///   `FileSealing.open` throws.
    package func readSegment(_ name: SegmentName, of device: DeviceID) throws -> [UInt8]? {
        try readSegment(SegmentFile(name), of: device)
    }

    /// Reads the bytes of a segment or of a copy; as `readSegment(_:of:)` with a name.
    package func readSegment(_ file: SegmentFile, of device: DeviceID) throws -> [UInt8]? {
        try readSegmentFile(file, of: device)?.bytes
    }

    /// Reads the bytes of a segment or of a copy, and in a sealed container the epoch: all parts of its large values are sealed under
    /// the same. Otherwise as `readSegment(_:of:)`.
    package func readSegmentFile(
        _ file: SegmentFile, of device: DeviceID
    ) throws -> (bytes: [UInt8], epoch: EpochID?)? {
        let path = Self.segmentsDirectory(of: device) + "/" + file.fileName
        if let known = opened?.take(path) { return (known.content, known.epoch) }
        let found = try readFile(path, .segment, of: device) { file.name.matches($0) }
        guard let found else { return nil }
        if isSealed { opened?.keep(path, found) }
        return (found.content, found.epoch)
    }

    /// The place of a segment or of a copy, for messages.
    package func path(of file: SegmentFile, _ device: DeviceID) -> String {
        backend.describe(Self.segmentsDirectory(of: device) + "/" + file.fileName)
    }

    /// A missing segment may have left a placeholder for a file that a provider has not downloaded
    /// (`.….segment.icloud`). Asks the provider for the file, as far as the system knows how.
    /// - Returns: the placeholder's path; `nil` without a placeholder.
    package func requestDownload(of device: DeviceID, sequence: UInt64) throws -> String? {
        let directory = Self.segmentsDirectory(of: device)
        for entry in try backend.list(directory, after: nil) {
            guard let name = SegmentName(placeholder: entry), name.first <= sequence, sequence <= name.last else {
                continue
            }
            backend.requestDownload(directory + "/" + name.fileName)
            return backend.describe(directory + "/" + entry)
        }
        return nil
    }

    /// Removes segments from a device's own directory, if present. For the log's author alone, once a rolled-up segment
    /// or a snapshot is durable in their place. They are gone for good on return.
    package func removeSegments(_ names: [SegmentName], of device: DeviceID) throws {
        let directory = Self.segmentsDirectory(of: device)
        for name in names { try backend.remove(directory + "/" + name.fileName) }
        if !names.isEmpty { try backend.settle(directory) }
    }

    // MARK: Remote places

    /// Brings the listing of a remote container up to date; as `ContainerBackend.refresh`.
    package func refresh(_ depth: RefreshDepth) throws { try backend.refresh(depth) }

    /// True if looking at all files costs no request (`ContainerBackend.answersFromListing`).
    package var answersFromListing: Bool { backend.answersFromListing }

    /// Asks whether a device's head is still the known one. A head that cannot be read says nothing, as for `readHead(of:)`.
    package func recheckHead(of device: DeviceID) throws {
        let name = Self.headName(of: device)
        do {
            try locating(device, name) { try backend.recheck(name) }
        } catch let error as FerryError where error.isOfOneObject {
            return
        }
    }

    /// Says that segments of a device will be read soon, in this order. A hint.
    package func prefetch(_ files: some Sequence<SegmentFile>, of device: DeviceID) {
        backend.prefetch(files.map { Self.segmentsDirectory(of: device) + "/" + $0.fileName })
    }

    /// Tells the others that a device has new files; as `ContainerBackend.announce`.
    package func announce(_ device: DeviceID) throws { try backend.announce(device) }

    /// True if others may know a device by its log: the place has a segment or a head, or this process's writing of one got no answer.
    /// The place must know this process's deeds: ask by the container with which the device published.
    package func mayBeKnown(_ device: DeviceID) throws -> Bool {
        if backend.isUnanswered(below: Self.directory(of: device)) { return true }
        if try !segments(of: device).isEmpty { return true }
        // Others may have read a head that is damaged now, or cannot be read at the moment.
        return try backend.list(Self.directory(of: device), after: nil).contains(Self.headFileName)
    }

    // MARK: Places

    /// The folders to watch for the devices' news, missing folders among them. Empty for a container in no local
    /// folder.
    package func watchedDirectories(of devices: some Sequence<DeviceID>) -> [String] {
        var names = ["", Self.devicesDirectory]
        for device in devices {
            names += [Self.directory(of: device), Self.segmentsDirectory(of: device), Self.partsDirectory(of: device)]
        }
        return names.compactMap { backend.localPath($0) }
    }

    /// The folders to watch for newcomers, and for what members say of each other. Empty for a container in no local folder.
    package func watchedMemberDirectories(of devices: some Sequence<DeviceID>) -> [String] {
        var names = ["", Self.devicesDirectory]
        for device in devices { names += [Self.directory(of: device), Self.membersDirectory(of: device)] }
        return names.compactMap { backend.localPath($0) }
    }

    /// The path of a device's head below the directory of all devices.
    package static func headPath(of device: DeviceID) -> String { device.hex + "/" + headFileName }

    /// The path of the directory of a device's segments below the directory of all devices.
    package static func segmentsPath(of device: DeviceID) -> String { device.hex + "/segments" }

    /// True if files and directories of devices certainly have these versions now, as they had when they were looked at.
    /// - Parameter versions: by `headPath(of:)` and `segmentsPath(of:)`.
    package func haveVersions(_ versions: [(path: String, version: FileVersion)]) -> Bool {
        backend.haveVersions(versions, below: Self.devicesDirectory)
    }

    package static func directory(of device: DeviceID) -> String { devicesDirectory + "/" + device.hex }
    static func segmentsDirectory(of device: DeviceID) -> String {
        devicesDirectory + "/" + segmentsPath(of: device)
    }
    static func headName(of device: DeviceID) -> String { devicesDirectory + "/" + headPath(of: device) }
    private static let headFileName = "head"

    /// Adds the device and the path to errors of `body`.
    func locating<Result>(
        _ device: DeviceID, _ name: String, limitMeansDamage: Bool = false, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as FerryError {
            var located = error.locating(backend.describe(name), limitMeansDamage: limitMeansDamage)
            located.device = device
            throw located
        }
    }
}

extension FerryError {
    /// The error where somebody wants to make a container in a container's place.
    static func containerExists(at path: String, isFolder: Bool) -> FerryError {
        let noun = isFolder ? "folder" : "place"
        return FerryError(
            .containerExists, "The \(noun) \(path) holds a container already. Join it, or choose another \(noun).",
            path: path)
    }

    /// The same error with a path, unless the error has a path. A file beyond its size limit is a damaged file.
    fileprivate func locating(_ path: String?, limitMeansDamage: Bool) -> FerryError {
        var error = self
        if error.path == nil { error.path = path }
        if limitMeansDamage, error.code == .limitExceeded { error.code = .damagedFile }
        return error
    }
}
