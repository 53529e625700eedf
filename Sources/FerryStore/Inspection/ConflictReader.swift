import FerryCore
import FerrySQL
import FerrySchema

/// Reads conflicts in readable form.
struct ConflictReader {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    static func clause(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    func conditions(_ filter: ConflictFilter) throws -> (conditions: [String], values: [FieldValue]) {
        var conditions: [String] = []
        var values: [FieldValue] = []
        if let table = filter.table {
            conditions.append("\"table\" = ?")
            values.append(.integer(Int64(try access.registry.travellingTable(table).id)))
        }
        if let kind = filter.kind {
            conditions.append("kind = ?")
            values.append(.text(kind.rawValue))
        }
        switch filter.resolution {
        case .unresolved: conditions.append("resolved IS NULL")
        case .resolved: conditions.append("resolved IS NOT NULL")
        case .any: break
        }
        return (conditions, values)
    }

    func conflict(_ number: Int64) throws -> Conflict {
        guard let conflict = try read(["number = ?"], "", [.integer(number)]).first else {
            throw Self.nothingFound(number)
        }
        return conflict
    }

    static func nothingFound(_ number: Int64) -> FerryError {
        FerryError(.nothingFound, "There is no conflict \(number). `ferry conflicts` lists those that there are.")
    }

    /// - Returns: true if the conflict was unresolved.
    /// - Throws: `nothingFound`.
    static func resolve(_ number: Int64, at milliseconds: Int64, _ connection: SQLConnection) throws -> Bool {
        let resolved = try connection.rows("SELECT resolved FROM ferry_conflict WHERE number = ?", .integer(number))
        guard let row = resolved.first else { throw nothingFound(number) }
        if row[0] != .null { return false }
        try connection.execute(
            "UPDATE ferry_conflict SET resolved = ? WHERE number = ?", .integer(milliseconds), .integer(number))
        return true
    }

    /// Removes conflicts in which nothing was lost.
    static func forget(_ numbers: [Int64], _ connection: SQLConnection) throws {
        for number in numbers {
            try connection.execute("DELETE FROM ferry_conflict WHERE number = ?", .integer(number))
        }
    }

    /// A stored conflict with portable values.
    struct Entry {
        var number: Int64
        var table: TrackedTable
        var object: ObjectID
        var column: Int?
        var kind: Conflict.Kind
        var lost: (value: FieldValue?, device: DeviceID, time: Int64)
        var kept: (value: FieldValue?, device: DeviceID, time: Int64)
        var noticed: Int64
        var resolved: Int64?
    }

    func entries(_ conditions: [String], _ order: String, _ values: [FieldValue]) throws -> [Entry] {
        var entries: [Entry] = []
        try connection.forEachRow(
            """
            SELECT number, "table", object, "column", kind, lost_value, lost_device, lost_time, kept_value, kept_device,
                kept_time, noticed, resolved
            FROM ferry_conflict\(Self.clause(conditions)) \(order)
            """, values
        ) { row in
            guard let table = access.registry.tables[row.int(1)], let object: ObjectID = row.id(2),
                let kind = Conflict.Kind(rawValue: row.string(4))
            else { throw FerryError(.storeTooNew, "A conflict was noted by a newer Ferry. Update Ferry.") }
            entries.append(
                Entry(
                    number: row.integer(0), table: table, object: object, column: row.int(3) < 0 ? nil : row.int(3),
                    kind: kind, lost: try side(row, 5), kept: try side(row, 8), noticed: row.integer(11),
                    resolved: row.isNull(12) ? nil : row.integer(12)))
        }
        return entries
    }

    private func side(
        _ row: SQLStatement, _ place: Int32
    ) throws -> (value: FieldValue?, device: DeviceID, time: Int64) {
        var value: FieldValue?
        if !row.isNull(place) {
            var reader = ByteReader(row.bytes(place))
            value = try reader.readValue()
        }
        return (value, try access.devices.device(row.int(place + 1)), row.integer(place + 2))
    }

    func read(_ conditions: [String], _ order: String, _ values: [FieldValue]) throws -> [Conflict] {
        let entries = try entries(conditions, order, values)
        if entries.isEmpty { return [] }
        let names = LocalNames(access)
        let devices = try access.deviceNames()
        return try entries.map { entry in
            let column = entry.column.flatMap { number in
                number < entry.table.columns.count ? entry.table.columns[number] : nil
            }
            func side(_ side: (value: FieldValue?, device: DeviceID, time: Int64)) throws -> Conflict.Side {
                let time = HybridTime(rawValue: UInt64(bitPattern: side.time))
                return Conflict.Side(
                    value: try side.value.map { value in try column.map { try names.value(value, $0) } ?? value },
                    device: side.device, deviceName: devices[side.device] ?? side.device.description,
                    timeMilliseconds: time.isKnown ? time.milliseconds : nil)
            }
            return Conflict(
                number: entry.number, table: entry.table.localName, object: entry.object,
                key: try names.key(of: entry.object, entry.table), column: column?.name, kind: entry.kind,
                lost: try side(entry.lost), kept: try side(entry.kept), noticedMilliseconds: entry.noticed,
                resolvedMilliseconds: entry.resolved)
        }
    }

    /// Lists conflicts, the latest noticed first.
    func list(_ filter: ConflictFilter, limit: Int, before number: Int64?) throws -> [Conflict] {
        var (conditions, values) = try conditions(filter)
        if let number {
            conditions.append("number < ?")
            values.append(.integer(number))
        }
        values.append(.integer(Int64(limit)))
        return try read(conditions, "ORDER BY number DESC LIMIT ?", values)
    }

    /// Lists the conflicts noticed after one, the earliest first.
    func list(after number: Int64, limit: Int) throws -> [Conflict] {
        try read(["number > ?"], "ORDER BY number LIMIT ?", [.integer(number), .integer(Int64(limit))])
    }

    func count(_ filter: ConflictFilter) throws -> Int {
        let (conditions, values) = try conditions(filter)
        return try connection.count("SELECT count(*) FROM ferry_conflict" + Self.clause(conditions), values: values)
    }

    /// - Returns: how many were not resolved before.
    static func resolve(_ numbers: [Int64], at milliseconds: Int64, _ connection: SQLConnection) throws -> Int {
        try StoreIdentity.required(connection)
        return try Set(numbers).sorted().filter { try resolve($0, at: milliseconds, connection) }.count
    }
}
