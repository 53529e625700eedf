import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Reads the whole state in snapshot order: tables by name, objects by ID. Only a single chunk is in memory at a time.
struct SnapshotSource {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Reads everything.
    /// - Parameter body: receives each chunk, and returns its entry for the manifest.
    func read(
        container: ContainerID, _ body: (SnapshotChunk) throws -> SnapshotManifest.Chunk
    ) throws -> SnapshotManifest {
        var manifest = SnapshotManifest(container: container)
        manifest.positions = try positions()
        manifest.contexts = try contexts()
        manifest.schema = try NewestSchema(access.connection).read()
        for table in access.registry.tables.values.sorted(by: Self.precedes) {
            let name = foldedText(table.name)
            var chunks: [SnapshotManifest.Chunk] = []
            try TableSource(access, table).read { chunks.append(try body($0)) }
            if chunks.isEmpty { continue }
            manifest.tables.append(.init(name: name, identity: table.identity.folded, chunks: chunks))
        }
        return manifest
    }

    /// Generations of a table are ordered by their identities.
    private static func precedes(_ left: TrackedTable, _ right: TrackedTable) -> Bool {
        let names = (foldedText(left.name), foldedText(right.name))
        if !equalBytes(names.0, names.1) { return names.0.utf8.lexicographicallyPrecedes(names.1.utf8) }
        return left.identity.folded.precedes(right.identity.folded)
    }

    private func positions() throws -> [DeviceID: SnapshotManifest.Position] {
        var positions: [DeviceID: SnapshotManifest.Position] = [:]
        let late = try BackdatedChanges.all(access.meta)
        try DeviceTable(access.connection).forEachLog { id, end in
            // Merged branches may contain more than the log up to here.
            positions[id] = .init(
                log: end.position, checksum: end.checksum, lastLate: min(late[id] ?? 0, end.position.sequence))
        }
        return positions
    }

    private func contexts() throws -> [SnapshotManifest.Context] {
        try access.contexts.entriesBeyondReplay().map {
            .init(author: $0.author, other: $0.other, time: $0.time, seen: $0.seen)
        }
    }
}

/// Reads a table's objects, each with its row.
private struct TableSource {
    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let translator: ReferenceTranslator
    /// The table's column numbers in a chunk's order.
    private let order: [Int]

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
        objects = access.objects(of: table.id)
        translator = ReferenceTranslator(access)
        order = table.columns.indices.sorted { left, right in
            foldedText(table.columns[left].name).utf8
                .lexicographicallyPrecedes(foldedText(table.columns[right].name).utf8)
        }
    }

    func read(_ body: (SnapshotChunk) throws -> Void) throws {
        let columns = order.flatMap { number in
            [false, true].map {
                SnapshotChunk.Column(name: foldedText(table.columns[number].travellingName), isRegister: $0)
            }
        }
        var builder = SnapshotChunkBuilder(
            table: foldedText(table.name), identity: table.identity.folded, columns: columns)
        let statement = try access.connection.makeStatement(query)
        let width = Int32(objects.stateColumns.count)
        while try statement.step() {
            guard let id: ObjectID = statement.id(0) else {
                throw FerryError(.internalInconsistency, "The state of \(table.name) holds an unreadable object.")
            }
            var state = ObjectState(object: id)
            try objects.read(statement, from: 1, into: &state)
            // Only referred to so far: every device makes such a state on its own.
            if state.registers.newest == nil { continue }
            var row: ColumnValues = [:]
            if table.isLocal, state.shown.hasRow {
                for (place, column) in table.localColumns.enumerated() {
                    row[column.id] = statement.value(1 + width + Int32(place))
                }
            }
            builder.append(state, fields: try fields(of: state, row))
            if builder.isComplete { try body(builder.take()) }
        }
        if !builder.isEmpty { try body(builder.take()) }
    }

    /// The table's states by ID, each with its row.
    private var query: String {
        let states = objects.stateColumns.map { "o.\($0)" }.joined(separator: ", ")
        guard table.isLocal else { return "SELECT o.object, \(states) FROM \(table.objectTable) o ORDER BY o.object" }
        let values = table.localColumns.map { ", r.\(quoted($0.name))" }.joined()
        let key = table.keyColumns.enumerated().map { place, name in
            // A 16-byte key equal to the ID is not stored twice.
            let own = table.keyColumns.count == 1 ? "coalesce(o.k0, o.object)" : "o.k\(place)"
            return "r.\(quoted(name)) = \(own)"
        }
        let shown = "\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue)"
        return """
            SELECT o.object, \(states)\(values) FROM \(table.objectTable) o
            LEFT JOIN \(table.rows) r ON \(Visibility.way(in: "o.")) IN (\(shown)) AND \(key.joined(separator: " AND "))
            ORDER BY o.object
            """
    }

    /// The fields with a stamp, in the order of a chunk's columns.
    private func fields(of state: ObjectState, _ row: ColumnValues) throws -> [SnapshotChunkBuilder.Field] {
        var fields: [SnapshotChunkBuilder.Field] = []
        fields.reserveCapacity(order.count)
        for (place, number) in order.enumerated() {
            guard let stamp = state.registers.stamp(of: number) else { continue }
            if let register = state.policies[number], register != Self.plain(register, stamp) {
                guard let bytes = PolicyCodec.encode([0: register], own: { _ in stamp }) else { continue }
                fields.append(.init(place: 2 * place + 1, cell: .init(stamp: stamp, content: .blob(bytes[...]))))
                continue
            }
            // A shadow value is the object's own; the row shows a different value.
            if let value = try state.kept.fields[number] ?? state.policies[number]?.plain?.value
                ?? row[number].map({ try translator.value($0, table.columns[number]) })
            {
                fields.append(.init(place: 2 * place, cell: .init(stamp: stamp, content: value)))
            }
        }
        return fields
    }

    /// The register holding only this stamp and a value.
    private static func plain(_ register: ColumnRegister, _ stamp: Stamp) -> ColumnRegister? {
        register.plain.flatMap { $0.stamp == stamp ? ColumnRegister(plain: $0) : nil }
    }
}

extension SnapshotSource {
    /// A written row not packed yet is newer than its state.
    static func refuseUnlessPublished(_ connection: SQLConnection, _ need: PassNeed) throws {
        try StoreIdentity.required(connection)
        if try need.isThere(connection) {
            throw FerryError(.busy, "Changes wait to be packed. A snapshot can be made after the next sync.")
        }
        if try Outbox(connection).count() > 0 {
            throw FerryError(.busy, "Changes wait to be published. A snapshot can be made after the next sync.")
        }
        if try ImportProgress.read(MetaTable(connection: connection)) != nil {
            throw FerryError(.busy, "A snapshot is being read in. Another can be made after that.")
        }
    }
}
