import FerryCore
import FerryMerge
import FerryReferenceModel
import FerrySchema

/// Compares the rows and marks of a store with the outcomes of `RowModel`.
struct RowComparison {
    private let stored: StoredState
    private let schema: ModelSchema
    private let equality: ModelEquality
    /// True if the store keeps checksums of how objects are shown.
    private let tellsRows: Bool
    private let outcomes: [ModelOutcome]
    /// The outcomes that other devices hear of: without the rows that stay on this device (`KeylessRows`).
    private let told: [ModelOutcome]
    /// Representatives whose rows stand for further objects.
    private var joining: Set<RowToken> = []
    /// The store's list of anomalies: by table, the object and the kind.
    private let listed: [Int: [ObjectID: AnomalyKind]]
    /// The stored checksums of how these objects are shown.
    private let shownChecks: [Int: [ObjectID: UInt64]]
    /// The store's list of unified objects with their representatives, by table.
    private let listedJoined: [Int: [ObjectID: ObjectID]]
    /// The stored digests by table: sum of object checksums and number of living objects, and the same for anomalies.
    private let digests: [Int: StateDigests.Change]

    /// The outcomes of all objects, in the order of the stored tables.
    struct Outcomes {
        var here: [ModelOutcome]
        /// `nil` for the same.
        var told: [ModelOutcome]?
    }

    init(
        _ access: StoreAccess, _ stored: StoredState, _ outcomes: Outcomes, _ schema: ModelSchema,
        _ equality: ModelEquality
    ) throws {
        self.stored = stored
        self.schema = schema
        self.equality = equality
        self.outcomes = outcomes.here
        told = outcomes.told ?? outcomes.here
        var place = 0
        for table in stored.tables {
            for outcome in outcomes.here[place..<place + table.objects.count] {
                guard case .joined(let representative) = outcome else { continue }
                joining.insert(RowToken(table: table.table.id, id: representative))
            }
            place += table.objects.count
        }
        tellsRows = try StoreTables.tellsRows(access.meta)
        var listed: [Int: [ObjectID: AnomalyKind]] = [:]
        var checks: [Int: [ObjectID: UInt64]] = [:]
        try access.anomalies.forEach(hasChecks: tellsRows) { object, kind, check in
            listed[object.table, default: [:]][object.id] = kind
            checks[object.table, default: [:]][object.id] = check
        }
        self.listed = listed
        shownChecks = checks
        var joined: [Int: [ObjectID: ObjectID]] = [:]
        try access.unified.forEachMember { joined[$0.table, default: [:]][$0.id] = $1 }
        listedJoined = joined
        var digests: [Int: StateDigests.Change] = [:]
        for entry in try DigestTable(access.connection).all(tellsRows: tellsRows) {
            var digest = StateDigests.Change()
            (digest.sum, digest.count) = (entry.sum, Int(entry.count))
            (digest.shown, digest.exceptions) = (entry.shown, Int(entry.exceptions))
            digests[entry.table] = digest
        }
        self.digests = digests
    }

    /// - Parameter given: tables, in lower case, without computed outcomes: only their values and checksums are
    ///   compared.
    func compare(_ report: inout VerificationReport, without given: Set<String>) {
        var place = 0
        for table in stored.tables {
            let isGiven = given.contains(foldedName(table.table.name))
            if !isGiven {
                report.tables.append(
                    .init(
                        name: table.table.name,
                        objects: table.objects.count { $0.shown != .none && $0.shown != .joined },
                        rows: table.rowCount))
            }
            let checks = ObjectChecksums(table.table)
            let shownChecks = VisibilityChecksums(table.table)
            var digest = StateDigests.Change()
            for object in table.objects {
                compare(object, isGiven ? nil : outcomes[place], table.table, checks, &report)
                digest.add(StateDigests.Change(from: 0, to: object.check))
                if !isGiven { compareTold(object, place, table.table, shownChecks, &report) }
                add(object.plain.id, table.table, to: &digest)
                place += 1
            }
            compare(digest, table.table, &report)
            for key in table.unknownRows {
                report.add(
                    .init(
                        table: table.table.name, key: Self.text(key), kind: .unknownRow,
                        problem: "is a row that Ferry was not told of"))
            }
        }
    }

    /// Compares the objects alone: without digests, and without rows that Ferry was not told of.
    func compareObjects(_ report: inout VerificationReport) {
        var place = 0
        for table in stored.tables {
            let (checks, shownChecks) = (ObjectChecksums(table.table), VisibilityChecksums(table.table))
            for object in table.objects {
                compare(object, outcomes[place], table.table, checks, &report)
                compareTold(object, place, table.table, shownChecks, &report)
                place += 1
            }
        }
    }

    /// True if the store lists an object as anomalous, or as a member of a unified row.
    func isListed(_ object: ObjectID, _ table: TrackedTable) -> Bool {
        listed[table.id]?[object] != nil || listedJoined[table.id]?[object] != nil
    }

    /// The value as the table's column stores the value: a device with another column type may have written it.
    private func stored(_ value: FieldValue, _ name: String, _ table: TrackedTable) -> FieldValue {
        let columns = schema.place(of: table.name).map { schema.tables[$0].columns } ?? []
        return columns.first { equalNames($0.name, name) }.map { equality.shown(value, in: $0) } ?? value
    }

    private func compare(
        _ object: StoredState.Object, _ outcome: ModelOutcome?, _ table: TrackedTable, _ checks: ObjectChecksums,
        _ report: inout VerificationReport
    ) {
        let key = object.key.isEmpty ? object.plain.id.description : Self.text(object.key)
        func note(_ kind: VerificationReport.Difference.Kind, _ column: String? = nil, _ problem: String) {
            var remedy: VerificationRemedy?
            if case .refused = outcome, kind == .needlessRow || kind == .mark, object.row != nil { remedy = .mend }
            report.add(
                .init(table: table.localName, key: key, kind: kind, column: column, problem: problem, remedy: remedy))
        }
        // The values are lost with the row, so nothing more can be compared.
        if object.shown.hasRow, object.row == nil { return note(.missingRow, nil, "has lost its row") }
        // A dropped column lost its values. For an object never inserted here, or gone with its table, the stamps
        // suffice.
        for column in table.localColumns where object.plain.inserted != nil {
            guard let field = object.plain.fields[foldedName(column.name)], field.value == nil else { continue }
            note(.lostValue, column.name, "has lost the value of \(column.name)")
        }
        if checks.check(of: object.plain, table) != object.check {
            note(.check, nil, "is not what it was when Ferry last wrote it: it was changed unnoticed")
        }
        guard let outcome else { return }
        guard case .shown(let row) = outcome else {
            if object.row != nil { note(.needlessRow, nil, "has a row, although \(Self.words(outcome))") }
            compareMarks(object, outcome, table, note)
            return
        }
        guard let present = object.row else {
            return note(.missingRow, nil, "has no row, although it should be shown")
        }
        for (column, value) in zip(table.localColumns, present) {
            let name = foldedName(column.name)
            guard let expected = row.values[name], expected != value, expected != object.plainValues[column.id],
                row.spellings[name] != value, stored(expected, name, table) != value
            else { continue }
            note(.value, column.name, "shows another \(column.name) than the state says")
        }
        compareMarks(object, outcome, table, note)
    }

    func compare(
        _ digest: StateDigests.Change, _ table: TrackedTable, _ report: inout VerificationReport
    ) {
        func note(_ problem: String) {
            report.add(.init(table: table.localName, key: "", kind: .digest, problem: problem))
        }
        guard let kept = digests[table.id] else { return note("has no digest") }
        if kept.sum != digest.sum || kept.count != digest.count { note("has a digest that is not that of its objects") }
        if tellsRows, kept.shown != digest.shown || kept.exceptions != digest.exceptions {
            note("has a digest of rows that is not that of its rows")
        }
    }

    /// Adds the stored checksum of how an object is shown to the table's digest.
    func add(_ object: ObjectID, _ table: TrackedTable, to digest: inout StateDigests.Change) {
        let shown = StateDigests.Change(from: 0, to: shownCheck(of: object, table))
        (digest.shown, digest.exceptions) = (digest.shown &+ shown.sum, digest.exceptions + shown.count)
    }

    /// The stored checksum of how an object is shown.
    private func shownCheck(of object: ObjectID, _ table: TrackedTable) -> UInt64 {
        shownChecks[table.id]?[object] ?? 0
    }

    /// Compares the stored checksum with the expected display. A wrong mark or a lost row is reported elsewhere.
    /// - Parameter place: the object's position among all objects.
    private func compareTold(
        _ object: StoredState.Object, _ place: Int, _ table: TrackedTable, _ checks: VisibilityChecksums,
        _ report: inout VerificationReport
    ) {
        let outcome = outcomes[place]
        let isLost = object.shown.hasRow && object.row == nil
        if !tellsRows || isLost || object.shown != mark(object, outcome, table) { return }
        let isListed = listed[table.id]?[object.plain.id] != nil
        let expected =
            switch told[place] {
            case _ where !isListed: UInt64(0)
            case .gone: UInt64(0)
            case .waits, .outranked, .refused: checks.ofHidden(object.plain.id)
            case .joined(let representative): checks.ofJoined(object.plain.id, to: representative)
            case .shown(let row):
                checks.ofRow(
                    object.plain.id, isDeleted: row.isRevived,
                    shown: table.localColumns.compactMap { column in
                        let name = foldedName(column.name)
                        guard row.isRevived || row.borrowed.contains(name) || row.cleared.contains(name) else {
                            return nil
                        }
                        return row.values[name].map { (column.id, $0) }
                    })
            }
        if expected == shownCheck(of: object.plain.id, table) { return }
        let key = object.key.isEmpty ? object.plain.id.description : Self.text(object.key)
        report.add(
            .init(
                table: table.localName, key: key, kind: .mark,
                problem: "shows something else than Ferry keeps of its row: another device may be told what is not so"))
    }

    private func compareMarks(
        _ object: StoredState.Object, _ outcome: ModelOutcome, _ table: TrackedTable,
        _ note: (VerificationReport.Difference.Kind, String?, String) -> Void
    ) {
        let expected = mark(object, outcome, table)
        if object.shown != expected {
            note(.mark, nil, "is marked as \(Self.words(object.shown)), although \(Self.words(outcome))")
            return
        }
        let kind = listed[table.id]?[object.plain.id]
        let kinds: [AnomalyKind?] =
            switch outcome {
            case .gone: [nil]
            case .waits: [.waiting, .missing]
            case .outranked: [.outranked]
            // In a cycle of references, a row may be refused and wait for its target at once. The list has the reason that was met first.
            case .refused: [.refused, .waiting, .missing]
            // An anomaly of a deleted and retained object says `heldBack`.
            case .joined: [.joined, .heldBack]
            case .shown: expected == .row ? [nil] : [.heldBack, .clearedReference, .joining, .resolvedKey]
            }
        if !kinds.contains(kind) { note(.mark, nil, "is not listed as what it is: \(Self.words(outcome))") }
        var representative: ObjectID?
        if case .joined(let id) = outcome { representative = id }
        if listedJoined[table.id]?[object.plain.id] != representative {
            note(.mark, nil, "is listed under the row of another object, or of none, although \(Self.words(outcome))")
        }
    }

    private func mark(_ object: StoredState.Object, _ outcome: ModelOutcome, _ table: TrackedTable) -> Visibility {
        switch outcome {
        case .gone: return .none
        case .waits, .outranked, .refused: return .hidden
        case .joined: return .joined
        case .shown(let row):
            if row.isRevived || !row.cleared.isEmpty || joining.contains(RowToken(table: table.id, id: object.plain.id))
            {
                return .anomalousRow
            }
            let showsAnother = table.telltaleColumns.contains { column in
                let name = foldedName(table.columns[column].name)
                guard let own = object.plain.fields[name]?.value else { return false }
                return row.values[name] != own
            }
            return showsAnother ? .anomalousRow : .row
        }
    }

    static func text(_ key: [FieldValue]) -> String { key.map(\.text).joined(separator: ", ") }

    private static func words(_ outcome: ModelOutcome) -> String {
        switch outcome {
        case .gone: "it is deleted"
        case .shown: "it should be shown"
        case .joined: "another row shows it"
        case .waits: "it should be hidden: what it refers to is not there"
        case .outranked: "it should be hidden: an older row has the same value"
        case .refused: "it should be hidden: the schema refuses it"
        }
    }

    private static func words(_ shown: Visibility) -> String {
        switch shown {
        case .none: "deleted"
        case .row: "simply shown"
        case .anomalousRow: "shown in a special way"
        case .hidden: "hidden"
        case .joined: "shown by another row"
        }
    }
}

extension ObjectChecksums {
    /// An object's checksum from registers and values by name; 0 for an object that is not alive.
    fileprivate func check(of object: ModelObject, _ table: TrackedTable) -> UInt64 {
        let fields = table.modelNames.map { object.fields[$0] }
        var registers = ObjectRegisters(
            inserted: object.inserted, deleted: object.deleted, fields: fields.map { $0?.stamp })
        registers.deletionWins = table.deletionWins
        guard registers.isAlive else { return 0 }
        return check(object.id, registers) { fields[$0]?.value }
    }
}
