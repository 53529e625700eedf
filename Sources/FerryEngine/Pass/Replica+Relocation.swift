import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

extension Replica {
    /// Records the new folder of a moved container in the database (`ferry relocate`). Nothing is copied, and no ID
    /// changes.
    ///
    /// Each device must be told of the move by this call. A running `SyncEngine` or `ferry watch` goes on with the new
    /// folder by itself.
    ///
    /// A container that was sealed, or founded anew, since this database's last sync is the same container. The database takes the folder,
    /// and the report says that the device has to be let in again (`Replica.enrol`).
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
            let container = try openedAsFarAsPossible(at: path)
            let comparison = try container.map(comparison) ?? Comparison(needsEnrolment: true)
            if let first = comparison.missing.first, !anyway {
                throw Self.olderCopy(path, comparison.missing.count, first)
            }
            let isFormerThere = isContainer(former, besides: path)
            if !equalBytes(path, former) {
                try store.recordContainerPath(path)
                try refreshIdentity()
            }
            return RelocationReport(
                path: path, formerPath: former, missing: comparison.missing.count, behind: comparison.behind,
                isFormerThere: isFormerThere, needsEnrolment: comparison.needsEnrolment)
        }
    }

    /// The files and logs known to this database and missing in a place.
    private struct Comparison {
        /// Missing segments of this device, published and not removed, by their numbers.
        var missing: [ClosedRange<UInt64>] = []
        /// The names of devices with an older head there than replayed here.
        var behind: [String] = []
        /// Whether this device has no key, or is no member: the device publishes nothing more under its ID, so nothing of the device is missing.
        var needsEnrolment = false
    }

    private func opened(at path: String) throws -> Container {
        try environment.open(at: path, expecting: ContainerPin(id: identity.container, genesis: identity.genesis))
    }

    /// The container in a folder; `nil` where the folder has this database's container, sealed or founded anew since.
    ///
    /// The marker's first record must be in the folder, and name a log that this database knows. The database keeps its pin. So nothing of
    /// the folder is read before somebody has let the device in, with a code that proves the first record.
    private func openedAsFarAsPossible(at path: String) throws -> Container? {
        do {
            return try opened(at: path)
        } catch let error as FerryError where error.code == .keyMissing || error.code == .containerMismatch {
            guard try isFoundedSince(environment.open(at: path)) else { throw error }
            return nil
        }
    }

    /// Whether a membership was founded over the logs of this database's container.
    private func isFoundedSince(_ container: Container) throws -> Bool {
        guard container.id == identity.container, case .sealed(let genesis) = container.details.sealing else {
            return false
        }
        let known = Set(try store.versionVector().positions.keys).union([identity.device])
        for device in try container.directories() {
            guard let bytes = try container.readRecord(RecordName(genesis), of: device) else { continue }
            let record = try MemberRecord(decoding: bytes, container: container.id)
            guard record.hash == genesis, case .found(let founding)? = record.acts.first else { continue }
            return record.isSigned(by: founding.founder)
                && founding.formerLogs.contains { known.contains($0.device) }
        }
        return false
    }

    private func comparison(with container: Container) throws -> Comparison {
        var comparison = Comparison()
        let membership: Membership?
        do {
            membership = try self.membership()
        } catch let error as FerryError where error.code == .keyMissing {
            return Comparison(needsEnrolment: true)
        }
        let container = try membership.map { try container.sealed(by: $0.seal()) } ?? container
        comparison.needsEnrolment = membership.map { !$0.isMember } ?? false
        if !comparison.needsEnrolment {
            let present = Set(try container.segments(of: identity.device))
            // Compaction may have been interrupted between the removal of segments before the log's beginning and its note.
            let start = try store.reading().logStart
            let expected = try store.ownSegments().filter { $0.replacedMilliseconds == nil && $0.last >= start }
            comparison.missing = try expected.compactMap { segment in
                let numbers = segment.first...segment.last
                let names = try container.segmentNames(numbers, segment.checksum, of: identity.device)
                return names.contains(where: present.contains) ? nil : numbers
            }
        }
        let vector = try store.versionVector()
        for device in try container.devices() where device != identity.device {
            // An unreadable head says nothing; the next sync names the device.
            guard let head = try? container.readHead(of: device) else { continue }
            if head.position.sequence < vector[device].sequence { comparison.behind.append(head.deviceName) }
        }
        return comparison
    }

    /// True if the former folder still holds a container, and is not the new folder by a second name.
    private func isContainer(_ former: String, besides path: String) -> Bool {
        if equalBytes(former, path) || (try? Self.fullPlace(former)).map({ equalBytes($0, path) }) ?? false {
            return false
        }
        return (try? opened(at: former)) != nil  // any failure means: nobody can use the former folder
    }

    private static func olderCopy(_ path: String, _ count: Int, _ first: ClosedRange<UInt64>) -> FerryError {
        let which =
            first.count == 1 ? "changeset \(first.lowerBound)" : "changesets \(first.lowerBound) to \(first.upperBound)"
        let what = count == 1 ? "a file with \(which)" : "\(count) files, the first with \(which)"
        return FerryError(
            .olderState,
            "\(path) lacks what this device published: \(what). It is an older copy, or is not synced yet. Wait, or "
                + "say --anyway: the next sync publishes that anew.", path: path)
    }
}
