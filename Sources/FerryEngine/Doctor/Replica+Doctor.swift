import FerryContainer
import FerryCore
import FerryStore

extension Replica {
    /// Examines the database and every file of the container, and reports problems with remedies. Pending changes are
    /// packed; nothing else is changed.
    ///
    /// - Parameter isRepairing: true: repair whatever can be repaired without risk, and mark repaired findings.
    /// - Parameter progress: is told of the phases `checking`, `comparing` and `examining`.
    /// - Throws: `busy`, `notTracked`, `database`. Problems of the container are findings.
    package func examine(isRepairing: Bool = false, progress: ProgressHandler? = nil) throws -> DoctorReport {
        let start = environment.clock.milliseconds()
        var (report, lost, faults, isOut) = try findings(isRepairing: isRepairing, progress)
        // A device that is out changes nothing in the container.
        if isRepairing, !isOut, report.findings.contains(where: \.canBeRepaired) {
            let before = report.findings
            try repair(lost: lost, faults)
            // Missing findings were repaired.
            report = try findings(isRepairing: true, progress).report
            for var finding in before where !report.findings.contains(where: { $0.isSame(as: finding) }) {
                finding.isRepaired = true
                report.findings.append(finding)
            }
        }
        report.sort()
        report.durationMilliseconds = environment.clock.milliseconds() - start
        return report
    }

    /// Examines the database and the container.
    /// - Returns: also the last of this device's changesets in need of a snapshot instead of a file, 0 for none. Also the faults of packs,
    ///   after a look at the packs, and whether this device takes no part in its sealed container.
    private func findings(
        isRepairing: Bool, _ progress: ProgressHandler?
    ) throws -> (report: DoctorReport, lost: UInt64, faults: PackFaults?, isOut: Bool) {
        var report = DoctorReport()
        var (lost, faults): (UInt64, PackFaults?) = (0, nil)
        do {
            try Store.checkClock(environment.clock)
            try StoreExamination(replica: self, progress: progress).run(&report)
        } catch let error as FerryError where error.code == .clockAhead {
            // The database is examined only when changes can be packed.
            report.add(
                .init(.fault, "clock", error.message, advice: "Set the date of this computer, and run `ferry sync`."))
        }
        if let reason = reasonAgainstPlace() {
            report.add(
                .init(
                    .fault, "database", reason.message,
                    advice:
                        "Nothing is lost: what is written here waits. Move the database with all files beside it, and run `ferry sync` "
                        + "there.", file: reason.path))
        }
        do {
            if let (reason, advice) = try reasonOutside() {
                report.findings.removeAll { $0.subject == "folder" }
                report.add(
                    .init(
                        .fault, "database", reason.message, advice: advice,
                        since: try store.reading().failure.flatMap {
                            $0.isSame(as: reason) ? $0.sinceMilliseconds : nil
                        }))
                report.examined.append("no file of the container, because this device is out")
                return (report, lost, faults, true)
            }
            var examination = try ContainerExamination(self, openContainer(), progress)
            try examination.run(&report)
            let container = examination.container
            faults = try ContentExamination(
                replica: self, container: container, isDeep: isRepairing || !container.answersFromListing
            ).run(&report, progress)
            if let found = try place().examine() { report.add(found, of: try place().describe("")) }
            lost = examination.lost
            try MembershipExamination(replica: self).run(&report)
            try AgreementExamination(replica: self).run(&report)
        } catch let error as FerryError where isMendable(error) {
            report.findings.removeAll { $0.subject == "folder" }
            report.add(
                .init(
                    .fault, "folder", hinting(error).message,
                    advice:
                        "Nothing is lost. First bring the folder back from another device or place, if one has it. Else `ferry doctor "
                        + "--repair` here writes the present membership into the folder again; then run `ferry sync` on every device.",
                    file: error.path, canBeRepaired: true))
        } catch let error as FerryError where [.keyMissing, .keyExposed, .notSealed].contains(error.code) {
            report.findings.removeAll { $0.subject == "folder" }
            report.add(
                .init(
                    .fault, "folder", error.message,
                    advice: try isLeavingWithoutKey(error) ? Self.adviceOfLeaving : Self.advice(error.code),
                    file: error.path))
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            // The last sync failed for the same reason.
            report.findings.removeAll { $0.subject == "folder" }
            let lacksMarker = try lacksMarker()
            let remedy =
                lacksMarker
                ? "`ferry doctor --repair` writes the file again."
                : isAnotherMembership(error)
                    ? "Founded anew: run `ferry enrol`." : Self.remedy(error.code, identity.containerPath)
            report.add(
                .init(
                    .fault, "folder", error.message,
                    advice: "Nothing is lost: what is written here waits. " + remedy,
                    file: error.path, canBeRepaired: lacksMarker,
                    since: try store.reading().failure.flatMap { $0.isSame(as: error) ? $0.sinceMilliseconds : nil }))
        }
        return (report, lost, faults, false)
    }

    /// Why this device takes no part in a sealed container, by all records in the container, and what to do; `nil` for a member, and for
    /// an open container.
    private func reasonOutside() throws -> (FerryError, advice: String)? {
        try place().goOnWithoutSilentFiles()
        try place().refresh(.full)
        guard var membership = try membership() else { return nil }
        let container = try plainContainer()
        let reader = MemberReader(container: container, now: environment.clock.milliseconds())
        try membership.insert(reader.look(membership).records)
        do {
            try checkMember(membership)
            return nil
        } catch let error as FerryError where error.code == .notMember {
            if try isLeaving(membership) { return (error, Self.adviceOfLeaving) }
            let roster = membership.roster
            var advice = "All rows are here, also those that were not sent."
            let isOver = roster.members.isEmpty && roster.recovery == nil
            if !isOver { advice += " `ferry enrol` makes the database a device of its own again, and sends them." }
            // To leave would be a second remedy for a database that was put back, and would lose what was not sent.
            if isOver || roster.left[membership.device] == nil {
                advice += " `ferry leave` makes it a database without a container."
            }
            return (error, advice)
        }
    }

    private static let adviceOfLeaving = "`ferry leave` ends what was begun. All rows stay."

    /// Whether `leave` was interrupted after it had removed the key.
    private func isLeavingWithoutKey(_ error: FerryError) throws -> Bool {
        try error.code == .keyMissing && store.leavingDevice() == identity.device
    }

    /// Whether the folder has this database's container, under another membership.
    private func isAnotherMembership(_ error: FerryError) -> Bool {
        guard error.code == .containerMismatch, identity.genesis != nil else { return false }
        // An unreadable marker tells of no membership.
        let container = try? environment.open(at: identity.containerPath)
        return container?.id == identity.container
    }

    /// What to do where the container cannot be used.
    private static func remedy(_ code: FerryError.Code, _ place: String) -> String {
        switch code {
        case .credentialsMissing, .accessDenied: "Mend the credentials or their rights, and run `ferry sync`."
        default:
            // A place was read before.
            (try? ContainerLocation(place).folderPath) == nil
                ? "Make the place reachable again, and run `ferry sync`."
                : "Bring the folder back, and run `ferry sync`."
        }
    }

    private static func advice(_ code: FerryError.Code) -> String {
        switch code {
        case .keyMissing:
            "Nothing is lost: what is written here waits. Run as the account that has the key, or run `ferry enrol`."
        case .keyExposed: "Do so, and run `ferry sync`. If others may have read the keys, run `ferry keys … renew`."
        default: "Somebody put a plain marker or file into the folder. Find out who, and restore the folder."
        }
    }

    /// Whether the container's marker is damaged or gone, and this device can write it again.
    private func lacksMarker() throws -> Bool {
        do {
            return try Container.lacksMarker(place(), of: identity.device)
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            return false
        }
    }

    /// Whether an error comes from a marker of an earlier time, and this device is a member and can write the present marker.
    private func isMendable(_ error: FerryError) -> Bool {
        guard error.code == .notSealed || error.code == .containerMismatch else { return false }
        return (try? mayRenewMarker()) ?? false  // the error says more than a second failure
    }

    /// Whether this device is a member, and the marker is of an earlier time.
    private func mayRenewMarker() throws -> Bool {
        do {
            return try membership()?.isMember ?? false && isMarkerOfFormerTime()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) || error.code == .keyExposed {
            return false
        }
    }

    private func repair(lost: UInt64, _ faults: PackFaults?) throws {
        if try lacksMarker() || mayRenewMarker() {
            try Container.restoreMarker(
                ContainerPin(id: identity.container, genesis: identity.genesis), name: identity.containerName,
                in: place())
        }
        // Publishes waiting changes, and writes the own head.
        _ = try sync()
        // Written where the object that announces news was damaged; else everything is announced already.
        try openContainer().announce(identity.device)
        try mendRecords()
        if try store.hasDocumentTables() { _ = try fetchContents(damagedContentsBesideDatabase()) }
        let replaced = try repairContents(openContainerAfresh(), faults).replaced
        _ = try sync()
        try removeReplacedPacks(replaced, openContainerAfresh())
        _ = try compact(mending: lost)
    }
}

extension DoctorReport.Finding {
    fileprivate func isSame(as other: Self) -> Bool { subject == other.subject && problem == other.problem }
}
