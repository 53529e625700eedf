import FerryContainer
import FerryCore
import FerryMembers
import FerryStore

/// The result of removing files from before a container was sealed. The JSON keys are fixed.
package struct FormerFilesReport: Codable, Equatable, Sendable {
    package struct Cleaned: Codable, Equatable, Sendable {
        /// The ID of the former device.
        package var id: String
        package var name: String
        package var files: Int
    }

    package struct Kept: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        package var reason: String
    }

    package var cleaned: [Cleaned]
    package var keptFiles: [Kept]
}

/// Files from before a container was sealed: everybody with the folder can read them, and no member does
/// (Docs/Architecture/membership.md, "Sealing an open container").
extension Replica {
    /// The time after the enrolment at which a database removes its files from before, in milliseconds.
    static let formerFilesMilliseconds: Int64 = 3_600_000

    /// Removes this database's files under IDs from before the container was sealed, an hour after the admission. Each
    /// database removes only its own files, so no two devices change the same directory. A crash in between leaves
    /// fewer files, and the next thorough sync goes on.
    func removeOwnFormerFiles(_ container: Container, _ reading: StoreSummary, heads: [DeviceID: Head]) throws {
        guard let membership = try membershipOfPass(), let member = membership.roster.members[membership.device],
            environment.clock.milliseconds().milliseconds(since: Int64(clamping: member.admittedMilliseconds))
                >= Self.formerFilesMilliseconds
        else { return }
        let own = reading.formerDevices.map(\.device).filter { FormerFiles.isFormer($0, membership) }
        if own.isEmpty { return }
        let rule = FormerFiles(
            container, membership, heads: heads, forked: reading.forkedLogs, needsPacks: store.hasPacks)
        let present = Set(try container.directories())
        for device in own where present.contains(device) {
            do {
                let remains = try container.remains(of: device)
                // Without files an interrupted attempt may have left directories.
                if try remains.isEmpty || rule.obstacle(to: remains) == nil { try container.remove(remains) }
            } catch let error as FerryError where error.concernsOneFile {
                continue  // `doctor` names the directory, and the next thorough sync tries again
            }
        }
    }

    /// Seals some of the plain packs of lost computers.
    /// - Returns: true if others may be left.
    private func sealPlainPacks() throws -> Bool {
        try betweenSyncs { container in
            let heads = try ContainerView(container, except: identity.device).heads
            return try sealPlainPacks(plainPacksOfOthers(requiredMembership(), heads: heads, container), container)
        }
    }

    /// Removes the files of all devices from before the container was sealed, also the files of lost computers.
    /// - Parameter anyway: true: also files with changes unknown to every member. These changes are lost unless the
    ///   device's own database enrols.
    /// - Throws: `invalidArgument` for an open container; `notMember`, `keyMissing`, and as `sync`.
    package func removeFormerFiles(anyway: Bool = false) throws -> FormerFilesReport {
        // Documents of lost computers lie in plain packs alone. Each sync publishes a part, sealed.
        while try sealPlainPacks() {}
        return try betweenSyncs { container in
            let membership = try requiredMembership()
            let reading = try store.reading()
            let view = try ContainerView(container, except: identity.device)
            let rule = FormerFiles(
                container, membership, heads: view.heads, forked: reading.forkedLogs,
                needsPacks: store.hasPacks)
            let own = reading.formerDevices.map(\.device).filter { FormerFiles.isFormer($0, membership) }
            var report = FormerFilesReport(cleaned: [], keptFiles: [])
            for device in Set(FormerFiles.logs(membership) + own).sorted() {
                let remains = try container.remains(of: device)
                if remains.isEmpty { continue }
                let name = reading.names[device] ?? device.description
                if !remains.others.isEmpty {
                    report.keptFiles.append(
                        .init(id: device.description, name: name, reason: FormerFiles.foreign(remains.others)))
                    // Nothing of Ferry's, and directories of an interrupted attempt.
                    if remains.files.isEmpty && remains.copies.isEmpty {
                        try container.remove(remains)
                        continue
                    }
                }
                if let obstacle = try rule.obstacle(to: remains), !anyway || remains.files.isEmpty {
                    report.keptFiles.append(
                        .init(id: device.description, name: name, reason: obstacle.sentence(reading.names)))
                    continue
                }
                try container.remove(remains)
                report.cleaned.append(.init(id: device.description, name: name, files: remains.files.count))
            }
            return report
        }
    }
}
