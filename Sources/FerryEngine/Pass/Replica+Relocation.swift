import FerryContainer
import FerryCore
import FerryStore

extension Replica {
    /// Records the new folder of a moved container in the database (`ferry relocate`). Nothing is copied, and no ID
    /// changes.
    ///
    /// Each device must be told of the move by this call. A running `SyncEngine` or `ferry watch` goes on with the new
    /// folder by itself.
    /// - Parameters:
    ///   - path: the folder.
    ///   - anyway: true: also take a folder without some files of this device. The next sync publishes their content
    ///     anew.
    /// - Throws: as `Container.open` (`containerMissing`, `containerEmpty`, `containerMismatch`, `notSealed`);
    ///   `invalidArgument` for a folder around the database, `keyExposed` for a folder with secret keys. `olderState`
    ///   for a folder without segments published by this device: wait until the folder has been synced. The database is
    ///   unchanged then.
    @discardableResult
    public func relocate(to path: String, anyway: Bool = false) throws -> RelocationReport {
        try lock.withLock {
            try refreshIdentity()
            let (former, path) = (identity.containerPath, try Self.fullPlace(path))
            try Self.refuseDatabase(at: store.path, inside: path)
            if identity.genesis != nil { try Self.refuseKeys(environment.keys, inside: path) }
            let comparison = try comparison(with: opened(at: path))
            if let first = comparison.missing.first, !anyway {
                throw Self.olderCopy(path, comparison.missing.count, first)
            }
            let isFormerThere = isContainer(former, besides: path)
            if path != former {
                try store.recordContainerPath(path)
                try refreshIdentity()
            }
            return RelocationReport(
                path: path, formerPath: former, missing: comparison.missing.count, behind: comparison.behind,
                isFormerThere: isFormerThere)
        }
    }

    /// The files and logs known to this database and missing in a place.
    private struct Comparison {
        /// Missing segments of this device, published and not removed, by their numbers.
        var missing: [ClosedRange<UInt64>] = []
        /// The names of devices with an older head there than replayed here.
        var behind: [String] = []
    }

    private func opened(at path: String) throws -> Container {
        try environment.open(at: path, expecting: ContainerPin(id: identity.container, genesis: identity.genesis))
    }

    private func comparison(with container: Container) throws -> Comparison {
        var comparison = Comparison()
        let container = try sealedIfPossible(container)
        // Without a key this device publishes nothing more, so it misses nothing.
        guard let container else { return comparison }
        let present = Set(try container.segments(of: identity.device))
        // Compaction may have been interrupted between the removal of segments before the log's beginning and its note.
        let start = try store.reading().logStart
        let expected = try store.ownSegments().filter { $0.replacedMilliseconds == nil && $0.last >= start }
        comparison.missing = try expected.compactMap { segment in
            let numbers = segment.first...segment.last
            let names = try container.segmentNames(numbers, segment.checksum, of: identity.device)
            return names.contains(where: present.contains) ? nil : numbers
        }
        let vector = try store.versionVector()
        for device in try container.devices() where device != identity.device {
            // An unreadable head says nothing; the next sync names the device.
            guard let head = try? container.readHead(of: device) else { continue }
            if head.position.sequence < vector[device].sequence { comparison.behind.append(head.deviceName) }
        }
        return comparison
    }

    /// The container with this device's seal, if the container is sealed; `nil` without a key on this computer.
    private func sealedIfPossible(_ container: Container) throws -> Container? {
        do {
            guard let membership = try membership() else { return container }
            return try container.sealed(by: membership.seal())
        } catch let error as FerryError where error.code == .keyMissing {
            return nil
        }
    }

    /// True if the former folder still holds a container, and is not the new folder by a second name.
    private func isContainer(_ former: String, besides path: String) -> Bool {
        if former == path || (try? Self.fullPlace(former)) == path { return false }
        return (try? opened(at: former)) != nil  // any failure means: nobody can use the former folder
    }

    private static func olderCopy(_ path: String, _ count: Int, _ first: ClosedRange<UInt64>) -> FerryError {
        let which =
            first.count == 1 ? "changeset \(first.lowerBound)" : "changesets \(first.lowerBound) to \(first.upperBound)"
        let what = count == 1 ? "a file with \(which)" : "\(count) files, the first with \(which)"
        return FerryError(
            .olderState,
            "The folder \(path) lacks what this device published: \(what). It is an older copy, or is not synced yet. Wait, or "
                + "say --anyway: the next sync publishes that anew.", path: path)
    }
}
