import FerryCore

/// Heads of devices (Docs/Format.md, "Heads"): hints of what the device has published and replayed.
extension Container {
    /// Writes a device's head in place of the head before. Publish its segments first.
    /// - Parameter epoch: the epoch for the head, in a sealed container (`sealingEpoch`).
    /// - Throws: `invalidArgument` for another container's head, for a head beyond its limits (`Head.encoded`), and for a head
    ///   without the sealed part in a sealed container, or the reverse; otherwise as `ContainerBackend.replace`.
    package func writeHead(_ head: Head, under epoch: EpochID? = nil) throws {
        guard head.container == id else {
            throw FerryError(.invalidArgument, "The head belongs to another container.", device: head.device)
        }
        guard (head.sealed != nil) == isSealed else {
            throw FerryError(
                .invalidArgument, "The head of a sealed container has a part that others lack.", device: head.device)
        }
        let content = try head.encoded()
        let bytes = try fileBytes(content, .head, of: head.device, under: epoch)
        try backend.replace(Self.headName(of: head.device), bytes)
        guard let heads else { return }
        heads.note(try Head(decoding: content, container: id, device: head.device, isSealed: isSealed), bytes)
    }

    /// Reads a device's head; `nil` without a head. A head is a hint: a head that is missing, older or newer than the
    /// segments is nothing unusual.
    /// - Throws: `damagedFile`, `foreignFile`, `formatTooNew`, `inputOutput`, and in a sealed container `notSealed` and
    ///   `fileNotThereYet`; go by the segments then.
    package func readHead(of device: DeviceID) throws -> Head? { try lookAtHead(of: device).head }

    /// The number of heads that are read ahead.
    package static let headsAhead = RemoteBackend.maximumAheadFiles

    /// Reads changed heads ahead, side by side, where each reading is a request. `readHead(of:)` follows for each.
    /// - Parameter devices: the first `headsAhead` count.
    package func prefetchHeads(of devices: some Sequence<DeviceID>) {
        guard backend.answersFromListing else { return }
        let changed = devices.prefix(Self.headsAhead).filter { device in
            // A listing answers without a request; its failure is told when the head is read.
            guard let version = try? backend.version(of: Self.headName(of: device)) else { return false }
            return !(heads?.knows(device, in: id, version) ?? false)
        }
        backend.prefetch(changed.map(Self.headName))
    }

    /// Reads the heads of devices, side by side where each reading is a request.
    /// - Parameter body: called for each device, with the head or the error of `readHead(of:)`.
    package func forEachHead(
        of devices: [DeviceID], _ body: (DeviceID, Result<Head?, any Error>) throws -> Void
    ) rethrows {
        for (index, device) in devices.enumerated() {
            if index.isMultiple(of: Self.headsAhead) { prefetchHeads(of: devices[index...]) }
            try body(device, Result { try readHead(of: device) })
        }
    }

    /// Reads a device's head as `readHead(of:)` does.
    /// - Returns: also the version of its file, if the head was known and not read. As long as the file has that
    ///   version, the head need not be read.
    package func lookAtHead(of device: DeviceID) throws -> (head: Head?, known: FileVersion?) {
        let name = Self.headName(of: device)
        let seal = try requiredSeal()
        return try locating(device, name, limitMeansDamage: true) {
            let read = { try readBytes(name, .head) }
            let decode = { (bytes: [UInt8]) in
                let content = try openFile(bytes, .head, of: device).content
                return try Head(decoding: content, container: id, device: device, isSealed: seal != nil)
            }
            // A head that was read before its device was removed counts no more.
            guard try counts(device), let heads, let version = try backend.version(of: name) else {
                return (try read().map(decode), nil)
            }
            let versionedRead = { () throws -> (bytes: [UInt8], areOfVersion: Bool)? in
                try read().map { ($0, try backend.hasRead(name, version)) }
            }
            let (head, isKnown) = try heads.head(of: device, in: id, version, read: versionedRead, decode: decode)
            return (head, isKnown ? version : nil)
        }
    }
}
