import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Examines packs and contents: whether the container has every pack of the rows with the right bytes, and whether every content has bytes.
struct ContentExamination {
    let replica: Replica
    let container: Container
    /// True: read every byte of every pack.
    let isDeep: Bool

    /// - Returns: the faults of packs.
    func run(_ report: inout DoctorReport, _ progress: ProgressHandler?) throws -> PackFaults? {
        guard try replica.store.hasDocumentTables() else { return nil }
        try replica.store.updateChunkIndex()
        let examination = try PackExamination(replica, container, isDeep: isDeep)
        let packs = try examination.packs()
        let faults = try PackFaults(of: packs, examination) {
            progress?(SyncProgress(phase: .examining, completed: $0, total: packs.count))
        }
        let contents = try replica.store.readContents { rows, _ in try rows.total() }
        report.examined.append(
            "\(DoctorReport.count(contents.contents, "content")) in \(DoctorReport.count(packs.count, "pack"))"
                + (isDeep || packs.isEmpty ? "" : " by name and length"))
        try tell(faults, packs, &report)
        try tellLost(&report)
        if isDeep { try tellDamagedBesideDatabase(&report) }
        try tellDamagedRows(&report)
        if let strange = try replica.documentsStatus()?.strangeSentence {
            report.add(.init(.warning, "documents", strange, advice: "Mend the rows, and the app that writes them."))
        }
        for problem in try replica.store.readContents({ _, index in try index.problems() }) {
            report.add(
                .init(
                    .warning, "database", "A row of a content or a pack is not Ferry's: \(problem.reason).",
                    advice: "Look who writes to Ferry's tables. The row \(problem.row) is not used."))
        }
        return faults
    }

    // MARK: Packs

    /// The kinds of findings on packs: one finding for each device and kind.
    private enum Kind: Int, CaseIterable {
        case missing, wrongLength, damaged, spare, unreadable
    }

    private func tell(
        _ faults: PackFaults, _ packs: [PackExamination.Named], _ report: inout DoctorReport
    ) throws {
        if faults.all.isEmpty { return }
        let names = try replica.store.reading().names
        var found: [Kind: [DeviceID: [PackID]]] = [:]
        for pack in packs {
            guard let fault = faults.all[pack.id] else { continue }
            found[try kind(of: fault, pack, faults), default: [:]][pack.device, default: []].append(pack.id)
        }
        for kind in Kind.allCases {
            for (device, packs) in (found[kind] ?? [:]).sorted(by: { $0.key < $1.key }) {
                report.add(finding(kind, packs, faults, of: device, names))
            }
        }
    }

    private func kind(of fault: PackFault, _ pack: PackExamination.Named, _ faults: PackFaults) throws -> Kind {
        switch fault {
        case .missing: return .missing
        case .wrongLength: return .wrongLength
        case .unreadable: return .unreadable
        case .damaged(let chunks, _):
            if pack.device == replica.identity.device { return .damaged }
            let isNeeded = try chunks.contains { chunk in
                try replica.store.readContents { _, index in try index.isListed(chunk) }
                    && !faults.give(chunk, besides: pack.id, replica.store)
            }
            return isNeeded ? .damaged : .spare
        }
    }

    private func finding(
        _ kind: Kind, _ packs: [PackID], _ faults: PackFaults, of device: DeviceID, _ names: [DeviceID: String]
    ) -> DoctorReport.Finding {
        let isOwn = device == replica.identity.device
        let subject = isOwn ? "this device" : names[device] ?? device.description
        let are = packs.count == 1 ? "1 pack is" : "\(packs.count) packs are"
        let file = container.packPath(packs[0], of: device)
        let mending =
            isOwn
            ? "`ferry doctor --repair` packs what is on this device again. Devices that have the rest can do the same."
            : "Wait until they arrive, or run `ferry doctor --repair` on a device that has the documents."
        switch kind {
        case .missing, .wrongLength:
            let what = kind == .missing ? "not in the container" : "of another length than their rows say"
            return .init(
                isOwn ? .fault : .warning, subject, "\(are) \(what).", advice: mending, file: file, canBeRepaired: true)
        case .damaged:
            return .init(
                .fault, subject, "\(are) damaged.",
                advice: isOwn ? mending : "Run `ferry doctor --repair` on a device that has the documents, here too.",
                file: file, canBeRepaired: true)
        case .spare:
            return .init(
                .note, subject, "\(are) damaged. Nothing that is needed of it is lost.",
                advice: "`ferry doctor --repair` on that device takes it away.", file: file)
        case .unreadable:
            var reason = ""
            if case .unreadable(let error) = faults.all[packs[0]] { reason = error.message }
            return .init(
                .warning, subject,
                "\(packs.count == 1 ? "1 pack" : "\(packs.count) packs") cannot be read now: \(reason)",
                advice: "Nothing is known of these packs. Run `ferry doctor` again later.", file: file)
        }
    }

    /// Adds rows of contents that Ferry cannot have written, and versions with a content without a row.
    private func tellDamagedRows(_ report: inout DoctorReport) throws {
        var damaged: [ContentID] = []
        for id in try replica.store.readContents({ rows, _ in try rows.contents() }) {
            do {
                _ = try replica.store.readContents { rows, _ in try rows.content(id) }
            } catch let error as FerryError where error.code == .damagedFile {
                damaged.append(id)
            }
        }
        let advice =
            "Look who writes to Ferry's tables. `ferry documents list --state waiting` names the documents; put them again."
        if let first = damaged.first {
            let rows = DoctorReport.count(damaged.count, "row")
            report.add(
                .init(
                    .fault, "documents", "\(rows) of contents cannot be right, the first of them x'\(first.hex)'.",
                    advice: advice))
        }
        let missing = try replica.store.readContents { rows, _ in try rows.versionsWithoutContent() }
        if missing > 0 {
            let versions = DoctorReport.count(missing, "version")
            report.add(
                .init(.fault, "documents", "\(versions) of documents refer to contents without a row.", advice: advice))
        }
    }

    private func tellDamagedBesideDatabase(_ report: inout DoctorReport) throws {
        for content in try replica.damagedContentsBesideDatabase() {
            report.add(
                .init(
                    .warning, "documents", try replica.damageSentence(of: content),
                    advice:
                        "The bytes count as missing. `ferry doctor --repair` fetches them again, and so does opening them.",
                    file: replica.shelf.path(ofDamaged: content), canBeRepaired: true))
        }
    }

    private func tellLost(_ report: inout DoctorReport) throws {
        let obstacles = try replica.store.readContentStates { try $0.obstacles() }
        let lost = obstacles.filter { $0.obstacle.code == .contentLost }
        if lost.isEmpty { return }
        report.add(
            .init(
                .fault, "documents",
                "\(DoctorReport.count(lost.count, "content")) has bytes that no pack has and that are not on this device.",
                advice:
                    "`ferry documents list --state lost` names the documents. A device that has one mends it by `ferry doctor --repair`.",
                since: lost.map(\.obstacle.sinceMilliseconds).min()))
    }
}
