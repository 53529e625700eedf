import FerryCore
import FerryMerge

/// Converts chunks of a snapshot to changesets: a changeset for each writing device, with each operation at its stamp.
/// Together they are the remainder of the logs the snapshot stands for.
struct SnapshotOperations {
    private let vector: VersionVector

    init(_ vector: VersionVector) { self.vector = vector }

    /// Converts chunks to changesets by device. The context of each is the position the snapshot covers.
    /// - Throws: `damagedFile` for an unreadable register.
    func changesets(of chunks: [SnapshotChunk]) throws -> [Changeset] {
        var tables: [DeviceID: [TableChanges]] = [:]
        for chunk in chunks {
            var parts: [DeviceID: Part] = [:]
            for object in chunk.objects { try add(object, of: chunk, to: &parts) }
            for (device, part) in parts { tables[device, default: []].append(part.changes) }
        }
        return tables.sorted { $0.key < $1.key }.map { device, tables in
            Changeset(
                device: device, sequence: vector[device].sequence, time: vector[device].time, context: vector,
                tables: tables)
        }
    }

    /// A field, or a part of a field, in an operation.
    private struct Written {
        var stamp: Stamp
        var column: Part.Column
        var value: FieldValue
    }

    private func add(
        _ object: SnapshotChunk.Object, of chunk: SnapshotChunk, to parts: inout [DeviceID: Part]
    ) throws {
        var inserted: [Written] = []
        var others: [Written] = []
        for (column, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
            for written in try self.written(cell, chunk.columns[column]) {
                if written.stamp == object.inserted { inserted.append(written) } else { others.append(written) }
            }
        }
        var operations: [(stamp: Stamp, kind: ObjectOperation.Kind, written: [Written])] = []
        if let stamp = object.inserted { operations.append((stamp, .insert, inserted)) }
        if !others.isEmpty {
            for (stamp, written) in Dictionary(grouping: others, by: \.stamp) {
                operations.append((stamp, .update, written))
            }
        }
        for stamp in object.earlierDeletions { operations.append((stamp, .delete, [])) }
        if let stamp = object.deleted { operations.append((stamp, .delete, [])) }
        for operation in operations.sorted(by: { $0.stamp < $1.stamp }) {
            parts[operation.stamp.device, default: Part(chunk)].append(
                object.id, operation.kind, operation.stamp.time, key: operation.kind == .insert ? object.key : nil,
                operation.written.map { ($0.column, $0.value) })
        }
    }

    /// The register in a cell.
    static func register(_ cell: SnapshotChunk.Cell) throws -> ColumnRegister {
        do {
            return try decodedRegister(cell)
        } catch let error as FerryError where error.code == .storeTooNew {
            throw FerryError(
                .formatTooNew,
                "The snapshot holds values under a policy that this Ferry does not know. Update Ferry on this device.")
        }
    }

    private static func decodedRegister(_ cell: SnapshotChunk.Cell) throws -> ColumnRegister {
        let stamp = cell.stamp
        guard case .blob(let bytes) = cell.content,
            let register = try PolicyCodec.decodeRegisters(Array(bytes), own: { _ in stamp })[0]
        else { throw ByteReader.malformed("a register is unreadable") }
        return register
    }

    /// A register's plain write and parts travel as in the original operations.
    private func written(_ cell: SnapshotChunk.Cell, _ column: SnapshotChunk.Column) throws -> [Written] {
        guard column.isRegister else {
            return [Written(stamp: cell.stamp, column: .init(name: column.name), value: cell.content)]
        }
        let register = try Self.register(cell)
        var result: [Written] = []
        if let plain = register.plain {
            result.append(Written(stamp: plain.stamp, column: .init(name: column.name), value: plain.value))
        }
        for part in register.parts {
            let bytes = PolicyCodec.encode(part, own: cell.stamp)
            result.append(
                Written(
                    stamp: cell.stamp, column: .init(name: column.name, payload: part.kind), value: .blob(bytes[...])))
        }
        return result
    }
}

/// A device's operations on a table.
private struct Part {
    struct Column: Hashable {
        @ComparedByBytes var name: String
        var payload: PayloadKind?
    }

    private(set) var changes: TableChanges
    private var places: [Column: Int] = [:]
    private var shapes: [[Int]: Int] = [:]

    init(_ chunk: SnapshotChunk) { changes = TableChanges(name: chunk.table, identity: chunk.identity) }

    mutating func append(
        _ object: ObjectID, _ kind: ObjectOperation.Kind, _ time: HybridTime, key: FieldValue?,
        _ fields: [(column: Column, value: FieldValue)]
    ) {
        let placed = fields.map { (place: place(of: $0.column), value: $0.value) }.sorted { $0.place < $1.place }
        let shape = placed.map(\.place)
        let number = shapes[shape] ?? changes.shapes.count
        if number == changes.shapes.count {
            shapes[shape] = number
            changes.shapes.append(shape)
        }
        changes.operations.append(
            ObjectOperation(
                object: object, kind: kind, time: time, key: key, shape: number, firstValue: changes.values.count))
        for field in placed { changes.values.append(field.value) }
    }

    private mutating func place(of column: Column) -> Int {
        if let known = places[column] { return known }
        let made = changes.columns.count
        places[column] = made
        changes.columns.append(column.name)
        if column.payload != nil || !changes.payloads.isEmpty {
            changes.payloads += Array(repeating: nil, count: made - changes.payloads.count) + [column.payload]
        }
        return made
    }
}
