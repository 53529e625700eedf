import FerryCore
import FerrySQL
import FerryStore

/// How long versions and deleted documents stay: a choice for all devices, in `ferry_document_setting`.
extension DocumentAccess {
    private static let setting = "keep"

    /// The present choice. Documents under an unreadable setting stay for ever.
    package func retention() throws -> DocumentRetention {
        guard try store.hasDocumentTables() else { return DocumentRetention() }
        return try store.read(Self.retention)
    }

    private static func retention(_ connection: SQLConnection) throws -> DocumentRetention {
        let rows = try connection.rows("SELECT value FROM ferry_document_setting WHERE name = ?", .text(setting))
        guard let row = rows.first else { return DocumentRetention() }
        guard case .integer(let days) = row[0], let retention = DocumentRetention(days: days) else { return .forever }
        return retention
    }

    /// Says how long versions and deleted documents stay, on all devices.
    /// - Parameter days: `nil`: for ever.
    /// - Throws: `invalidArgument` for less than a day, or more than a hundred years.
    package func setRetention(days: Int?) throws {
        if let days, DocumentRetention(days: Int64(days)) == nil {
            throw FerryError(
                .invalidArgument,
                "Versions and deleted documents stay for 1 to \(DocumentRetention.maximumDays) days, or for ever.")
        }
        try store.makeDocumentTables()
        try store.write { connection in
            try connection.execute(
                """
                INSERT INTO ferry_document_setting(name, value) VALUES (?1, ?2)
                ON CONFLICT(name) DO UPDATE SET value = ?2 WHERE value IS NOT ?2
                """, .text(Self.setting), days.map { .integer(Int64($0)) } ?? .text("forever"))
        }
    }

    /// Removes expired versions and documents.
    /// - Parameter retention: in place of the present choice.
    /// - Returns: how many of each.
    @discardableResult
    package func removeExpired(_ retention: DocumentRetention? = nil) throws -> (versions: Int, documents: Int) {
        guard try store.hasDocumentTables() else { return (0, 0) }
        let now = replica.environment.clock.milliseconds()
        return try store.write { connection in
            let rule = try retention ?? Self.retention(connection)
            if rule == .forever { return (0, 0) }
            let table = DocumentTable(connection)
            let plan = rule.plan(
                documents: try table.documents(), versions: try table.versions(), nowMilliseconds: now)
            try table.remove(plan)
            return (plan.versions.count, plan.documents.count)
        }
    }
}
