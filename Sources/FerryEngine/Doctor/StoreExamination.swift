import FerryCore
import FerryStore

/// Examines the database: the file's integrity, rows against the state, and waiting changes.
struct StoreExamination {
    let replica: Replica
    let progress: ProgressHandler?

    /// Failed syncs count as a fault after this many milliseconds.
    private static let patienceMilliseconds: Int64 = 3_600_000

    func run(_ report: inout DoctorReport) throws {
        let verification = try replica.verify(deep: true, progress: progress)
        note(verification, &report)
        // A database unreadable to SQLite gives no further findings.
        guard verification.isReadable else { return }
        try reportBacklog(&report)
        try recordRows(&report)
    }

    private func note(_ verification: VerificationReport, _ report: inout DoctorReport) {
        let tables = verification.tables.filter { !isFerryName($0.name) }
        let objects = tables.reduce(0) { $0 + $1.objects }
        report.examined.append(
            "\(DoctorReport.count(objects, "row")) in \(DoctorReport.count(tables.count, "table"))")
        if let first = verification.integrity.first {
            let remedies = verification.remedies.filter { [.replaceFile, .reindex, .mend].contains($0) }
            report.add(
                .init(
                    .fault, "database", "SQLite finds something wrong: \(first)",
                    advice: remedies.map(\.advice).joined(separator: " ")))
        }
        if let first = verification.foreignKeys.first {
            report.add(
                .init(
                    .fault, "database",
                    "\(verification.foreignKeys.count) rows refer to rows that are not there, the first of them in "
                        + "\(first.table).",
                    advice:
                        "A program wrote with foreign keys off, or rows of a table that stays on this device refer, by RESTRICT "
                        + "or NO ACTION, to some that another device deleted. Mend the rows by SQL; `ferry verify` lists them."
                ))
        }
        if let first = verification.differences.first {
            let remedies = Set(verification.differences.map(\.remedy))
            let advice = VerificationRemedy.allCases.filter(remedies.contains).map(\.advice).joined(separator: " ")
            report.add(
                .init(
                    .fault, "database",
                    verification.differenceCount == 1
                        ? "A row of \(first.table) is not what the changes say."
                        : "\(verification.differenceCount) rows are not what the changes say, the first of them in \(first.table).",
                    advice: "`ferry verify --deep` lists them. \(advice)"))
        }
        for table in verification.unchecked {
            report.add(
                .init(
                    .warning, "database", "\(table.table) could not be checked: \(table.reason).",
                    advice: VerificationRemedy.checkInApp.advice))
        }
    }

    private func reportBacklog(_ report: inout DoctorReport) throws {
        let status = try replica.store.status(counting: false)
        let now = replica.environment.clock.milliseconds()
        let unpublished = status.pendingNotes + status.outboxChanges
        if unpublished > 0 {
            report.examined.append(
                unpublished == 1
                    ? "1 change that waits to be published" : "\(unpublished) changes that wait to be published")
        }
        if let failure = try replica.store.reading().failure {
            let isOld = now - failure.sinceMilliseconds > Self.patienceMilliseconds
            report.add(
                .init(
                    isOld ? .fault : .warning, "folder",
                    "Syncs have failed"
                        + (unpublished == 1
                            ? ", and 1 change waits" : unpublished > 0 ? ", and \(unpublished) changes wait" : "")
                        + ": "
                        + failure.note.error().message,
                    advice: "What is written here is safe meanwhile. Run `ferry sync` once the reason is gone.",
                    since: failure.sinceMilliseconds))
        }
    }

    private func recordRows(_ report: inout DoctorReport) throws {
        let status = try replica.store.status(counting: false)
        if status.hidden > 0 {
            report.add(
                .init(
                    .note, "database", "\(status.hidden) rows are hidden, because the schema would refuse them.",
                    advice: "They come back when what they wait for does. `ferry conflicts` shows them."))
        }
        for obstacle in try replica.store.keylessObstacles() {
            let terms = obstacle.terms.joined(separator: ", ")
            report.add(
                .init(
                    .warning, "table \(obstacle.table)",
                    "\(DoctorReport.count(obstacle.hidden, "row")) of other devices cannot be shown here: a row with NULL in its key, which "
                        + "stays on this device, has the same \(terms).",
                    advice:
                        "Give the row here a key, or another \(terms), or delete it. It is among these: \(obstacle.query)"
                ))
        }
        for apart in try replica.tablesApart(replica.store.reading()) {
            report.add(.init(.warning, "table \(apart.table)", apart.problem, advice: TableApart.advice))
        }
        for table in status.kept {
            report.add(
                .init(
                    .warning, "table \(table.name)",
                    "The table travels on other devices, and stays here: \(table.reason).",
                    advice: "Everything else goes on. Changes of both sides are kept, and meet once the reason is gone."
                ))
        }
        for (table, count) in try replica.store.status().left.sorted(by: { $0.key < $1.key }) {
            let name = plainText(table)
            report.add(
                .init(
                    .warning, "table \(name)",
                    "\(DoctorReport.count(count, "row")) \(count == 1 ? "is" : "are") not here: the table was dropped or emptied without "
                        + "a deletion. Other devices may have them, and a new file that joins gets them back.",
                    advice:
                        "`ferry conflicts … bring-back` brings them back, and with --delete deletes them everywhere."
                ))
        }
        for policy in try replica.store.policies() where !policy.isApplied {
            report.add(
                .init(
                    .warning, "database", "The policy “\(policy.word)” of “\(policy.target)” is not known here.",
                    advice: "Changes of its table wait. Sync from an app that knows the policy, or update Ferry here."))
        }
        for table in try replica.store.reading().waitingTables {
            report.add(.init(.warning, "table \(table.table)", table.problem, advice: WaitingTable.advice))
        }
        for reference in try replica.store.plainReferences() {
            report.add(
                .init(
                    .note, "database",
                    "The foreign key \(reference.table)(\(reference.columns.joined(separator: ", "))) to \(reference.parent) is a "
                        + "plain reference: \(reference.reason).",
                    advice: "No row is hidden or deleted because of it. Nothing need be done."))
        }
        for reference in try replica.store.undeclaredReferences() {
            report.add(
                .init(
                    .warning, "table \(reference.table)",
                    "The column \(reference.column) looks like a reference to \(reference.parent), and no foreign key says so. The integers "
                        + "travel as they are, and other devices may number the rows of \(reference.parent) otherwise.",
                    advice:
                        "If the column is a reference, let a migration make the table anew with REFERENCES \(reference.parent), on each "
                        + "device. A new container can name the column instead: `ferry init … --reference "
                        + "\(reference.table).\(reference.column)=\(reference.parent)`."))
        }
        for index in try replica.store.foreignUniqueIndexes() {
            let columns = index.columns.joined(separator: ", ")
            report.add(
                .init(
                    .warning, "table \(index.table)",
                    "Another device has a UNIQUE index on \(columns), and this database does not yet. "
                        + (index.values == 1 ? "One value stands" : "\(index.values) values stand")
                        + " in several rows here, so a migration that makes the index fails.",
                    advice:
                        "Change or delete all rows but one of each value, and then run the migration. This lists them: "
                        + index.query))
        }
        for trigger in try replica.store.leftOutTriggers() {
            report.add(.init(.warning, "database", trigger.problem, advice: LeftOutTrigger.advice))
        }
        if status.conflicts > 0 {
            report.add(
                .init(
                    .note, "database", "\(status.conflicts) conflicts are not resolved.",
                    advice: "`ferry conflicts` shows what lost, and brings it back."))
        }
    }
}
