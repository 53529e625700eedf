import FerryCore
import FerrySQL
import FerrySchema

/// Contents and packs (Docs/Documents.md).
extension Store {
    /// True if the store has tables of contents and documents: since the first content, of this device or of another one.
    package func hasDocumentTables() throws -> Bool {
        try read { try DocumentTables.areMade(MetaTable(connection: $0)) }
    }

    /// Makes the tables of contents and documents, if the store has none.
    /// - Throws: `notTracked`; `unsupportedTable` where the app uses one of the names.
    package func makeDocumentTables() throws {
        if try hasDocumentTables() { return }
        try writeAsFerry { connection in
            try StoreIdentity.required(connection)
            let meta = MetaTable(connection: connection)
            guard try !DocumentTables.areMade(meta) else { return ((), []) }
            let tracking = Tracking(connection, clock: clock, random: random)
            _ = try tracking.currentRegistry()
            if try !DocumentTables.areMade(meta) { try tracking.makeDocumentTables() }
            return ((), [])
        }
    }

    /// Makes the tables of contents and documents when the first of them arrive. Where the app uses one of the names, what arrives is
    /// kept and not shown.
    func makeDocumentTables(for changesets: [Changeset]) throws {
        guard changesets.contains(where: { $0.tables.contains { DocumentTables.contains($0.name) } }),
            try read({
                try !DocumentTables.areMade(MetaTable(connection: $0)) && DocumentTables.nameInTheWay($0) == nil
            })
        else { return }
        try makeDocumentTables()
    }

    /// The contents that are deleted, and stay because something refers to them.
    package func heldBackContents() throws -> Set<ContentID> {
        try read { try ContentRows($0).heldBack() }
    }

    /// The epochs whose keys name contents, or under which packs are sealed: members need them as long as they are used.
    package func contentEpochs() throws -> Set<EpochID> {
        try read { connection in
            try lastContentEpochs.value(connection) { connection in
                guard try DocumentTables.areMade(MetaTable(connection: connection)) else { return [] }
                return try ContentRows(connection).epochs()
            }
        }
    }

    /// Brings the index of chunks up to date, where there are contents. Tables of Ferry's alone are written.
    package func updateChunkIndex() throws {
        let isOutdated = try read { connection in
            try DocumentTables.areMade(MetaTable(connection: connection)) && ChunkIndex(connection).isOutdated()
        }
        guard isOutdated else { return }
        try note { try ChunkIndex($0).update() }
    }

    /// The contents that somebody may want to open (`ContentUses.wanted`).
    package func wantedContents(maximumBytes: Int?, includingWhole: Bool) throws -> [WantedContent] {
        try readAccess { try ContentUses($0).wanted(maximumBytes: maximumBytes, includingWhole: includingWhole) }
    }

    /// The contents in files of mirrors (`DocumentTables.mirroredContents`).
    package func mirroredContents() throws -> Set<ContentID> { try read(DocumentTables.mirroredContents) }

    /// The paths of the mirrors' files with a content.
    package func mirrorFiles(of content: ContentID) throws -> [String] {
        try read { try DocumentTables.mirrorFiles(of: content, $0) }
    }

    /// The contents that declared columns refer to, each once.
    package func attachedContents() throws -> [ContentID] {
        guard try hasDocumentTables() else { return [] }
        return try readAccess { try ContentUses($0).attached() }
    }

    /// True if a row names a pack of a device.
    package func hasPacks(of device: DeviceID) throws -> Bool {
        guard try hasDocumentTables() else { return false }
        return try readContents { rows, _ in try !rows.packs(of: device).isEmpty }
    }

    /// What the store has of documents and contents; `nil` without any.
    package func contentStatistics() throws -> ContentStatistics? {
        guard try hasDocumentTables() else { return nil }
        return try readAccess { try ContentStatistics($0) }
    }

    /// Reads what this device knows of contents.
    package func readContentStates<Result>(_ body: (ContentStates) throws -> Result) throws -> Result {
        try read { try body(ContentStates($0)) }
    }

    /// Records what this device knows of contents.
    package func noteContentStates(_ body: (ContentStates) throws -> Void) throws {
        try note { try body(ContentStates($0)) }
    }

    /// What this device keeps of contents, by a person's choice.
    package func contentSettings() throws -> ContentSettings {
        try read { try MetaTable(connection: $0).json(.contentSettings) ?? ContentSettings() }
    }

    package func setContentSettings(_ settings: ContentSettings) throws {
        try note { try MetaTable(connection: $0).set(.contentSettings, json: settings) }
    }

    /// Files beside the database that nobody needs, with the time when each was first seen, in milliseconds.
    package func contentLitter() throws -> [String: Int64] {
        try read { try MetaTable(connection: $0).json(.contentLitter) ?? [:] }
    }

    package func setContentLitter(_ litter: [String: Int64]) throws {
        try note { try MetaTable(connection: $0).set(.contentLitter, json: litter) }
    }

    /// Reads contents and packs in one transaction.
    package func readContents<Result>(_ body: (ContentRows, ChunkIndex) throws -> Result) throws -> Result {
        try read { try body(ContentRows($0), ChunkIndex($0)) }
    }
}

/// Attachments: columns of the app's that hold IDs of contents.
extension Store {
    /// The names under which a column travels that somebody calls by its names here, so that all devices mean the same one. A table
    /// that a migration has just made counts.
    /// - Returns: `nil` for a column that does not travel from this database.
    package func attachmentTarget(_ called: AttachmentTarget) throws -> AttachmentTarget? {
        try transaction { session in
            guard !isFerryName(called.table), let table = session.access.registry.table(called: called.table),
                table.isLocal
            else { return nil }
            let local = table.columns.first {
                $0.isLocal && equalNames($0.presentName ?? $0.name, called.column)
            }
            return (local ?? table.localColumn(called: called.column)).map {
                AttachmentTarget(table: table.name, column: $0.baseName)
            }
        }
    }
}
