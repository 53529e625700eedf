import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// The membership of a sealed container in a pass: reads records, finds this device in the roster, and publishes this
/// device's records (Docs/Architecture/membership.md).
extension Replica {
    /// The known membership; `nil` for an open container.
    /// - Throws: `keyMissing` where this computer has no key for the device; `keyExposed`, `damagedFile`.
    func membership() throws -> Membership? {
        let identity = identity
        guard let genesis = identity.genesis else { return nil }
        return try memory.current(
            genesis, of: identity.device, count: store.recordCount(), load: { try keyFile() },
            records: { try store.records(after: $0) })
    }

    /// The membership as known in the running pass; `nil` for an open container. For passes alone: a pass holds the
    /// device's lock and began with `membership`, so nobody else adds records meanwhile.
    func membershipOfPass() throws -> Membership? {
        let identity = identity
        guard let genesis = identity.genesis else { return nil }
        return try memory.present(genesis, of: identity.device) ?? membership()
    }

    /// The membership of a sealed container.
    /// - Throws: `invalidArgument` for an open container; as `membership`.
    func requiredMembership() throws -> Membership {
        guard let membership = try membership() else {
            throw FerryError(
                .invalidArgument,
                "The container is open: everybody who has the folder can read and write it. "
                    + "`ferry seal` seals it.", path: identity.containerPath)
        }
        return membership
    }

    /// The key file of this device.
    /// - Throws: `keyMissing`; `keyExposed` where the keys lie in the shared folder; as `KeyStore.load`.
    func keyFile() throws -> KeyFile {
        try Self.refuseKeys(environment.keys, inside: identity.containerPath)
        do {
            if let file = try environment.keys.load(identity.device) { return file }
        } catch let error as FerryError where error.code == .damagedFile {
            throw FerryError(
                .keyMissing,
                "This computer's key for this database cannot be read, at \(error.path ?? environment.keys.place ?? "its place"). "
                    + "Its rows are here, and its changes wait. Put the key file back from a backup; or `ferry enrol` makes it a "
                    + "device of its own.", path: error.path ?? store.path, device: identity.device, cause: error)
        }
        if try store.leavingDevice() == identity.device {
            throw FerryError(
                .keyMissing,
                "This device has left the container, and its key is gone. Run `ferry leave` again: it was interrupted.",
                path: store.path, device: identity.device)
        }
        throw FerryError(
            .keyMissing,
            "This computer has no key for this database\(environment.keys.place.map { " in \($0)" } ?? ""): it was copied from another one, "
                + "the keys were lost, or they are elsewhere, as with another account or FERRY_KEYS. Its rows are here, and its changes "
                + "wait. `ferry enrol` makes it a device of its own.", path: store.path, device: identity.device)
    }

    /// The container without a seal: for records and claims.
    func plainContainer() throws -> Container {
        do {
            return try Container.open(
                place(), expecting: ContainerPin(id: identity.container, genesis: identity.genesis), heads: heads
            ).remembering(opened.withLock { $0 })
        } catch let error as FerryError
            where [.containerMissing, .containerEmpty, .containerMismatch].contains(error.code)
        {
            throw hinting(error)
        }
    }

    /// The error of a database that belongs to a container, with advice: `ferry relocate` for a container missing in its
    /// folder, and the promise that nothing is lost for a storage that cannot be reached.
    func hinting(_ error: FerryError) -> FerryError {
        let isRemote = openPlace.withLock { $0 != nil }
        let hint: String
        switch error.code {
        case .containerMissing where isRemote: hint = " What you write is kept and sent later."
        case .containerMissing, .containerEmpty:
            hint = " If the container was moved, tell this database: `ferry relocate`."
        case .containerMismatch:
            // The error says more than a second failure.
            guard (try? isMarkerOfFormerTime()) ?? false else { return error }
            var told = error
            told.message =
                "The folder shows the membership before the present one: the folder was set back, or somebody replaced its "
                + "\(ContainerDescription.fileName). Nothing was read. Bring the folder back from another device or place; or "
                + "`ferry doctor --repair` on a member writes the present membership again, and `ferry sync` on every device brings the rest."
            return told
        default: return error
        }
        if error.message.hasSuffix(hint) { return error }
        var error = error
        error.message += hint
        return error
    }

    func openContainer() throws -> Container {
        let container = try plainContainer()
        guard let membership = try membership() else { return container }
        return try container.sealed(by: membership.seal())
    }

    /// The devices from which nothing is expected any more: removed and departed devices. None without a has no key,
    /// because nothing is known of the members then.
    package func devicesThatAreOut() throws -> Set<DeviceID> {
        guard let roster = try rosterWithKey() else { return [] }
        return Set(roster.removed.keys).union(roster.left.keys)
    }

    /// Changes the membership under the lock and by all records in the container, with a sync before and after. The
    /// sync before reads the devices' changes up to now. The sync after publishes the results, and the head tells of
    /// the record.
    func betweenSyncs<Result>(_ body: (inout Container) throws -> Result) throws -> Result {
        _ = try sync()
        let result = try lock.withLock {
            try refreshIdentity()
            var container = try openContainer()
            try learn(&container, isForced: true)
            try checkUnderstood(requiredMembership())
            return try body(&container)
        }
        _ = try sync()
        return result
    }

    // MARK: A pass

    /// Brings the membership up to date, and makes sure this device is a member. Publishes nothing.
    /// - Parameters:
    ///   - container: gets the present seal.
    ///   - isForced: true: scan all directories, even directories scanned before.
    /// - Returns: the scan's result; `nil` without a scan.
    /// - Throws: `notMember`, `keyMissing`.
    @discardableResult
    func learn(_ container: inout Container, isForced: Bool) throws -> MemberReader.Look? {
        guard var membership = try membershipOfPass() else { return nil }
        let now = environment.clock.milliseconds()
        guard try isForced || !memory.hasLooked(at: memory.listings.directories(in: container, now)) else {
            try checkMember(membership)
            return nil
        }
        let reader = MemberReader(
            container: container, now: now, listings: memory.listings, checking: isForced ? .some : .none)
        let look = try reader.look(membership)
        let (before, count) = (membership.roster, membership.graph.count)
        try take(look.records, arePublished: true, &membership)
        memory.listings.note(look.read, now)
        if membership.graph.count > count {
            let copies = membership.roster.members.filter { $0.value.way == .copy && before.members[$0.key] == nil }
            memory.note(copies: copies.map(\.key))
            container = try container.sealed(by: membership.seal(after: container.seal))
        }
        memory.noteLook(at: look)
        memory.note(damaged: look.unread, membership.roster)
        try checkMember(membership)
        return look
    }

    /// Takes records by other devices, durably. Records that do not count are passed over.
    /// - Parameter arePublished: whether the records lie in the container; records outside are published with the next
    ///   pass.
    func take(_ news: [MemberRecord], arePublished: Bool, _ membership: inout Membership) throws {
        if !news.isEmpty {
            let counting = try membership.insert(news)
            try store.add(counting.map { StoredRecord(hash: $0.hash, bytes: $0.bytes, isPublished: arePublished) })
            memory.keep(membership, count: try store.recordCount())
        }
        try remember(&membership)
    }

    /// Does the duties that come before any publication: waiting records, lost records, newcomers, epochs. Without a
    /// scan and without new records nothing is due.
    /// - Parameter look: the scan's result; `nil` without a scan.
    /// - Returns: the newly admitted devices.
    func fulfilDuties(_ look: MemberReader.Look?, _ container: inout Container) throws -> [DeviceID] {
        guard var membership = try membershipOfPass() else { return [] }
        let isSettled = memory.isSettled(at: membership.graph.count)
        if isSettled && look == nil { return [] }
        let count = membership.graph.count
        let isEnrolling = try !isSettled && isEnrolling(membership, container)
        if !isSettled { try publishRecords(container) }
        if membership.roster.needsUpdate { return [] }
        var admitted: [DeviceID] = []
        if let look {
            try putBack(look, membership, container)
            memory.lateClaims = try lateClaims(look, membership)
            admitted = try letIn(look.claims, &membership, container)
        }
        if !isSettled || membership.graph.count > count { try prepareEpoch(&membership, container) }
        if membership.graph.count > count {
            container = try container.sealed(by: membership.seal(after: container.seal))
        }
        if !isEnrolling { memory.noteSettled(at: membership.graph.count) }
        return admitted
    }

    /// Looks for records announced by heads.
    /// - Returns: true if records came: then the logs are read again.
    func learn(
        _ container: inout Container, told heads: [DeviceID: Head], _ admitted: inout [DeviceID]
    ) throws -> Bool {
        guard let membership = try membershipOfPass() else { return false }
        let digests = Set(heads.values.compactMap { $0.sealed?.knowledge.recordsDigest })
            .subtracting([membership.knowledge.recordsDigest])
        guard memory.isNews(digests) else {
            memory.noteLook(for: digests)
            return false
        }
        let look = try learn(&container, isForced: true)
        admitted += try fulfilDuties(look, &container)
        memory.noteLook(for: digests)
        return try membershipOfPass().map { $0.graph.count > membership.graph.count } ?? false
    }

    /// Throws `formatTooNew` for a record of a later Ferry: this device cannot tell the members, and changes nothing
    /// about them.
    func checkUnderstood(_ membership: Membership) throws {
        guard membership.roster.needsUpdate else { return }
        throw FerryError(
            .formatTooNew,
            "A record of the container's members is from a newer Ferry. Nothing can be changed for members from here before Ferry "
                + "is updated.", path: store.path, device: membership.device)
    }

    /// Notes the greatest number of an epoch in the key store, so a restored database does not fall behind this number.
    private func remember(_ membership: inout Membership) throws {
        guard membership.storedEpoch < membership.highestEpoch else { return }
        if var file = try environment.keys.load(membership.device), file.highestEpoch < membership.highestEpoch {
            file.highestEpoch = membership.highestEpoch
            try environment.keys.save(file)
        }
        membership.storedEpoch = membership.highestEpoch
        memory.keep(membership, count: try store.recordCount())
    }

    /// Mends damaged files of counted records, in any directory: the name says the content, so every member writes the same. Puts
    /// records missing in all directories into this device's own directory.
    func putBack(_ look: MemberReader.Look, _ membership: Membership, _ container: Container) throws {
        var present = look.present
        var unmended: [MemberReader.Damaged] = []
        for file in look.damaged {
            guard let record = membership.record(named: file.name) else { continue }
            do {
                try container.mendRecord(record.bytes, name: file.name, of: file.device)
                present.insert(file.name)
            } catch let error as FerryError where error.concernsOneFile {
                // Something that cannot be replaced, such as a directory: whoever needs the record finds it in this device's directory.
                unmended.append(file)
                if file.device == membership.device { present.insert(file.name) }
            }
        }
        memory.note(damaged: look.unread + unmended, membership.roster)
        let lost = membership.records.filter { !present.contains(RecordName($0.key)) }
        if lost.isEmpty { return }
        let waiting = Set(try store.waitingRecords().map(\.hash))
        for (hash, record) in lost where !waiting.contains(hash) {
            try container.publishRecord(record.bytes, name: RecordName(hash), of: membership.device)
        }
    }

    /// Reads every record's file, and mends damaged files of counted records.
    func mendRecords() throws {
        try lock.withLock {
            guard let membership = try membership() else { return }
            let container = try plainContainer()
            let reader = MemberReader(
                container: container, now: environment.clock.milliseconds(), checking: .all)
            try putBack(reader.look(membership), membership, container)
        }
    }

    // MARK: Saying something

    /// Makes a record, keeps it durably, and publishes it. After a crash the next pass publishes the kept record.
    /// - Parameter recovery: the recovery key, for a record by the recovery key.
    @discardableResult
    func say(
        _ acts: [MemberAct], byRecovery recovery: DeviceKeys? = nil, _ membership: inout Membership,
        _ container: Container
    ) throws -> MemberRecord {
        let record = try membership.record(
            acts, byRecovery: recovery, milliseconds: environment.clock.milliseconds())
        guard try membership.insert([record]).map(\.hash) == [record.hash] else {
            throw FerryError(
                .internalInconsistency, "A record of this device's does not count.", device: identity.device)
        }
        try store.add([StoredRecord(hash: record.hash, bytes: record.bytes, isPublished: false)])
        memory.keep(membership, count: try store.recordCount())
        try remember(&membership)
        try publishRecords(container)
        return record
    }

    /// Ends an enrolment whose join or `enrol` was interrupted after the device had published. Before the publication a failed join goes
    /// back, and needs its enrolment again.
    /// - Returns: true if the enrolment goes on.
    private func isEnrolling(_ membership: Membership, _ container: Container) throws -> Bool {
        guard try Enrolment.isOpen(of: membership.device, container, environment.keys) else { return false }
        guard try container.mayBeKnown(membership.device) else { return true }
        _ = try sendFormerLogs(membership.roster)
        try Enrolment.end(of: membership.device, container, environment.keys)
        return false
    }

    /// Publishes the waiting records of this device.
    func publishRecords(_ container: Container) throws {
        for record in try store.waitingRecords() {
            try container.publishRecord(record.bytes, name: RecordName(record.hash), of: identity.device)
            try store.notePublished(record.hash)
        }
    }
}
