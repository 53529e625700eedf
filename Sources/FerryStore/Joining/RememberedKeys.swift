import FerryCore
import FerrySQL
import FerrySchema

/// Which rows a database's integer keys mean. Integers alone do not tell: a device may have given a row another integer than other devices
/// did, and after leaving two databases give new rows the same integer. A database that leaves its container keeps this for the case that
/// it joins again (`JoinOptions.Match.keys`).
package struct RememberedKeys: Codable, Equatable, Sendable {
    /// Rows under consecutive keys with consecutive IDs. Rows inserted by a flush are such rows.
    package struct Run: Equatable, Sendable {
        package var firstKey: Int64
        package var firstObject: ObjectID
        package var count: Int

        package init(_ firstKey: Int64, _ firstObject: ObjectID, count: Int = 1) {
            (self.firstKey, self.firstObject, self.count) = (firstKey, firstObject, count)
        }

        /// Takes the row behind the run's last row into the run.
        /// - Returns: false if the row is no such row.
        fileprivate mutating func extend(with key: Int64, _ object: ObjectID) -> Bool {
            guard Int64(count) == key.subtractingReportingOverflow(firstKey).partialValue,
                firstObject.advanced(by: count) == object
            else { return false }
            count += 1
            return true
        }
    }

    package struct Table: Codable, Equatable, Sendable {
        /// All rows, in the order of their keys.
        package var runs: [Run] = []
        /// What some of the rows showed at that moment.
        package var sample: RowSample?

        package init() {}

        package mutating func append(_ key: Int64, _ object: ObjectID) {
            if runs.isEmpty || !runs[runs.count - 1].extend(with: key, object) { runs.append(Run(key, object)) }
        }

        /// Some of the keys, spread over all of them.
        fileprivate var sampledKeys: [Int64] {
            let count = runs.reduce(0) { $0 + $1.count }
            let wanted = min(count, RowSample.maximumRows)
            var places = (0..<wanted).map { wanted == 1 ? 0 : $0 * (count - 1) / (wanted - 1) }[...]
            var keys: [Int64] = []
            var start = 0
            for run in runs {
                while let place = places.first, place < start + run.count {
                    keys.append(run.firstKey &+ Int64(place - start))
                    places.removeFirst()
                }
                start += run.count
            }
            return keys
        }

        fileprivate var objects: [FieldValue: ObjectID] {
            var objects: [FieldValue: ObjectID] = [:]
            for run in runs {
                for place in 0..<run.count {
                    objects[.integer(run.firstKey &+ Int64(place))] = run.firstObject.advanced(by: place)
                }
            }
            return objects
        }
    }

    /// The container's ID.
    package var container: String
    /// The tables with integer keys, by travelling name in lower case, with or without rows.
    package var tables: [String: Table] = [:]

    package init(container: ContainerID) { self.container = container.description }

    /// The number of rows.
    package var count: Int { tables.values.reduce(0) { $0 + $1.runs.reduce(0) { $0 + $1.count } } }

    /// Returns the objects of integer keys by what is remembered. In a remembered table all further rows are new.
    /// - Parameter holders: for each table, by name in lower case, the object that each key was given to.
    package func applied(to holders: [String: [FieldValue: ObjectID]]) -> [String: [FieldValue: ObjectID]] {
        holders.merging(tables.byNameKeys.mapValues(\.objects)) { $1 }
    }
}

extension RememberedKeys.Run: Codable {
    /// More rows than a database can have are damage, and would be taken for rows.
    private static var maximumCount: Int { 1 << 40 }

    /// Reads the text `<first key> <number of rows> <first ID>`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let parts = try container.decode(String.self).split(separator: " ")
        guard parts.count == 3, let key = Int64(parts[0]), let count = Int(parts[1]), let object = ObjectID(parts[2]),
            1...Self.maximumCount ~= count, !key.addingReportingOverflow(Int64(count - 1)).overflow
        else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no key, number and ID of a row")
        }
        self.init(key, object, count: count)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode("\(firstKey) \(count) \(firstObject.hex)")
    }
}

extension ObjectID {
    /// The ID minted so many rows later by the same flush.
    fileprivate func advanced(by count: Int) -> ObjectID {
        ObjectID(high: high, low: low &+ UInt64(truncatingIfNeeded: count))
    }
}

/// What some rows of a table showed when their database left its container. A database in the same place, made anew, shows other rows.
package struct RowSample: Codable, Equatable, Sendable {
    fileprivate static let maximumRows = 64

    fileprivate var columns: [String]
    /// A hash of each row's values, by key.
    fileprivate var hashes: [String: String]
    /// A short hash of each row's single values, by key, in the order of `columns`; `nil` in a file of an earlier version.
    fileprivate var fields: [String: [String]]?
}

/// Finds the rows to remember.
struct ShownKeys {
    let access: StoreAccess

    /// Whether the database is the one that left, by what its rows showed then: of the rows that are still there, a quarter has not changed.
    func showRows(of remembered: RememberedKeys) throws -> Bool {
        var (present, unchanged) = (0, 0)
        for (name, table) in remembered.tables {
            guard let sample = table.sample, let tracked = access.registry.table(named: name), tracked.isLocal else {
                continue
            }
            let known = Set(tracked.localColumns.map { exactKey($0.name) })
            let left = sample.columns.indices.filter { known.contains(exactKey(sample.columns[$0])) }
            for key in sample.hashes.keys {
                guard let isUnchanged = try isUnchanged(key, of: sample, left, in: tracked) else { continue }
                present += 1
                if isUnchanged { unchanged += 1 }
            }
        }
        return unchanged > 0 && unchanged * 4 >= present
    }

    /// True if a sampled row shows what it showed then; `nil` if the row cannot be found. Where a migration renamed or dropped columns, the
    /// others tell, if they are half of them at least.
    /// - Parameter left: the places of the sample's columns that the table still has.
    private func isUnchanged(
        _ key: String, of sample: RowSample, _ left: [Int], in table: TrackedTable
    ) throws -> Bool? {
        guard let number = Int64(key) else { return nil }
        func shown() throws -> [String]? { try values(of: number, in: table, left.map { sample.columns[$0] }) }
        if left.count == sample.columns.count { return try shown().map { Self.hash($0) == sample.hashes[key] } }
        guard let fields = sample.fields?[key], fields.count == sample.columns.count,
            left.count * 2 >= sample.columns.count
        else { return false }
        return try shown().map { $0.map(Self.shortHash) == left.map { fields[$0] } }
    }

    private func sample(_ found: RememberedKeys.Table, of table: TrackedTable) throws -> RowSample? {
        let keys = found.sampledKeys
        if keys.isEmpty { return nil }
        var sample = RowSample(columns: table.localColumns.map(\.name).sorted(), hashes: [:], fields: [:])
        for key in keys {
            let values = try values(of: key, in: table, sample.columns)
            sample.hashes["\(key)"] = values.map(Self.hash)
            sample.fields?["\(key)"] = values?.map(Self.shortHash)
        }
        return sample
    }

    /// A row's values in columns, as texts; `nil` without the row. Of a long value the length counts.
    private func values(of key: Int64, in table: TrackedTable, _ columns: [String]) throws -> [String]? {
        let values = columns.map { name in
            let column = quoted(name)
            return
                "CASE WHEN length(\(column)) > 4096 THEN typeof(\(column)) || length(\(column)) ELSE quote(\(column)) END"
        }
        let row = try access.connection.rows(
            "SELECT \((["1"] + values).joined(separator: ", ")) FROM \(table.quotedName) WHERE \(quoted(table.keyColumns[0])) = ?",
            .integer(key)
        ).first
        return row.map { $0.dropFirst().map(\.text) }
    }

    private static func hash(_ values: [String]) -> String {
        let bytes = Array(values.joined(separator: "\0").utf8)
        let hash: ObjectID = bytes.withUnsafeBytes { ContentHash.hash($0, in: ObjectID(high: 0, low: 0)) }
        return hash.hex
    }

    private static func shortHash(_ value: String) -> String { String(hash([value]).prefix(8)) }

    func remembered(in container: ContainerID) throws -> RememberedKeys {
        var remembered = RememberedKeys(container: container)
        for table in access.registry.tables.values
        where table.isLocal && table.identity.isSurrogate && !isFerryName(table.name) {
            var found = RememberedKeys.Table()
            try access.connection.forEachRow(
                """
                SELECT k0, object FROM \(table.objectTable)
                WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue)) ORDER BY k0
                """
            ) { row in
                if case .integer(let key) = row.value(0), let object: ObjectID = row.id(1) { found.append(key, object) }
            }
            found.sample = try sample(found, of: table)
            remembered.tables[foldedName(table.name)] = found
        }
        return remembered
    }
}
