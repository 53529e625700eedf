import FerryCore

@testable import FerryLog

/// What files of the log and of snapshots say, in the words of `Tests/Golden/read.py`.
enum PlainText {
    static func lines(_ header: SegmentHeader, _ changesets: [Changeset]) -> [String] {
        var lines = [
            "segment \(header.container.hex) \(header.device.hex) \(header.firstSequence) to \(header.lastSequence) "
                + "at \(header.lastTime.rawValue)",
            "after \(header.previous?.hex ?? "-") tail \(header.tail?.hex ?? "-") "
                + "with \(header.operationCount) operations, \(header.valueCount) values",
        ]
        for changeset in changesets {
            lines.append("changeset \(changeset.sequence) at \(changeset.time.rawValue)")
            for (device, position) in changeset.context.positions.sorted(by: { $0.key < $1.key }) {
                lines.append("context \(device.hex) \(position.sequence) \(position.time.rawValue)")
            }
            if let schema = changeset.schema { lines += self.lines(schema) }
            for table in changeset.tables { lines += self.lines(table) }
        }
        return lines.flatMap(unfolded)
    }

    static func lines(_ manifest: SnapshotManifest) -> [String] {
        var lines = ["snapshot of \(manifest.container.hex)"]
        for (device, position) in manifest.positions.sorted(by: { $0.key < $1.key }) {
            lines.append(
                "device \(device.hex) \(position.log.sequence) \(position.log.time.rawValue) "
                    + (position.checksum?.hex ?? "-") + (position.lastLate > 0 ? " late \(position.lastLate)" : ""))
        }
        for context in manifest.contexts {
            lines.append(
                "context \(context.author.hex) \(context.other.hex) \(context.time.rawValue) \(context.seen.rawValue)")
        }
        if let schema = manifest.schema {
            lines.append("schema at \(text(schema.stamp))")
            lines += self.lines(schema.record)
        }
        for table in manifest.tables {
            lines.append("table \(table.name): \(text(table.identity))")
            for chunk in table.chunks {
                lines.append("chunk \(chunk.checksum.hex) \(chunk.bytes) bytes \(chunk.objects) objects")
                for part in chunk.parts { lines.append("part \(part.checksum.hex) \(part.bytes) bytes") }
            }
        }
        return lines.flatMap(unfolded)
    }

    static func lines(_ chunk: SnapshotChunk) -> [String] {
        var lines = ["chunk of \(chunk.table): \(text(chunk.identity))"]
        for object in chunk.objects {
            lines.append("object \(object.id.hex) key \(object.key.map(text) ?? "-")")
            lines.append("  inserted \(object.inserted.map(text) ?? "-")")
            lines.append("  deleted \(object.deleted.map(text) ?? "-")")
            for deletion in object.earlierDeletions { lines.append("  deleted \(text(deletion))") }
            for (column, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
                let form = chunk.columns[column].isRegister ? " register" : ""
                lines.append("  \(chunk.columns[column].name)\(form) at \(text(cell.stamp)): \(text(cell.content))")
            }
        }
        return lines.flatMap(unfolded)
    }

    private static func lines(_ table: TableChanges) -> [String] {
        var lines = ["table \(table.name): \(text(table.identity))"]
        for operation in table.operations {
            lines.append(
                "\(operation.kind) \(operation.object.hex) at \(operation.time.rawValue) "
                    + "key \(operation.key.map(text) ?? "-")")
            for (column, value) in zip(table.shapes[operation.shape], table.values(of: operation)) {
                let form = table.payload(of: column).map { " payload \($0.rawValue)" } ?? ""
                lines.append("  \(table.columns[column])\(form): \(text(value))")
            }
        }
        return lines
    }

    private static func lines(_ schema: SchemaRecord) -> [String] {
        ["schema \(schema.userVersion) \(schema.applicationID)"]
            + schema.statements.map { "statement \($0.type) \($0.name) \($0.table): \($0.sql)" }
            + schema.tracked.map { "tracked \($0.name): \(text($0.identity))" }
            + schema.references.map { "reference \($0.table).\($0.column): \($0.parent)" }
            + schema.bookkeeping.flatMap { table in
                ["bookkeeping \(table.table): \(table.columns.joined(separator: ", "))"]
                    + table.rows.map { row in "row " + row.map { text($0) }.joined(separator: ", ") }
            }
    }

    private static func text(_ identity: TableIdentity) -> String {
        switch identity {
        case .surrogate: "surrogate"
        case .surrogateBy(let column): "surrogate by \(column)"
        case .key(let columns): "key \(columns.joined(separator: ", "))"
        case .declared(let columns): "declared \(columns.joined(separator: ", "))"
        }
    }

    private static func text(_ stamp: Stamp) -> String { "\(stamp.time.rawValue) \(stamp.device.hex)" }

    static func text(_ value: FieldValue) -> String {
        switch value {
        case .null: "null"
        case .integer(let integer): "integer \(integer)"
        case .real(let real): "real \(hexString(withUnsafeBytes(of: real.bitPattern.bigEndian) { Array($0) }))"
        case .text(let content): "text \(hexString(content))"
        case .blob(let content): "blob \(hexString(content))"
        case .reference(let object): "reference \(object.hex)"
        }
    }

    /// Statements of a schema may have several lines.
    private static func unfolded(_ line: String) -> [String] {
        line.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
