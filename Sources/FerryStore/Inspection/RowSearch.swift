import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// An object found by a person's key, present or former.
public struct FoundRow: Equatable, Sendable {
    public enum Presence: Equatable, Sendable {
        /// The object has a row.
        case shown
        /// Alive without a row, for this reason.
        case hidden(reason: String)
        /// Alive and unified: the row with this key shows the object.
        case joined(key: [FieldValue])
        case deleted
        /// Rows refer to the object, and nothing more is known yet.
        case unknown
    }

    public var table: String
    public var object: ObjectID
    /// The row's present or former key on this device; empty if unknown.
    public var key: [FieldValue]
    public var presence: Presence
}

/// Finds objects by the text of a key.
struct RowSearch {
    /// Maximum number of objects for a key.
    static let maximumResults = 1000

    let access: StoreAccess
    let table: TrackedTable
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    func find(_ key: [String]) throws -> [FoundRow] {
        guard key.count == table.keyColumns.count else {
            throw FerryError(
                .invalidArgument,
                "The key of \(table.localName) is \(table.keyColumns.joined(separator: ", ")): give "
                    + "\(table.keyColumns.count == 1 ? "one value" : "\(table.keyColumns.count) values").")
        }
        var objects: [ObjectID] = []
        for object in try table.isMapped ? mapped(key[0]) : derived(key)
        where !objects.contains(object) && objects.count < Self.maximumResults { objects.append(object) }
        let found = try objects.map(describe)
        if found.isEmpty {
            throw FerryError(
                .nothingFound,
                "No row of \(table.localName) has that key, and none had it. (What was written since the last sync is not "
                    + "looked at.)")
        }
        return found
    }

    /// - Throws: `nothingFound` for an object of which nothing is known.
    func find(_ object: ObjectID) throws -> FoundRow {
        guard try access.objects(of: table.id).load(object).isStored else {
            throw FerryError(.nothingFound, "No row of \(table.localName) has the ID \(object), and none had it.")
        }
        return try describe(object)
    }

    private func describe(_ object: ObjectID) throws -> FoundRow {
        let state = try access.objects(of: table.id).load(object)
        let presence: FoundRow.Presence
        switch state.shown {
        case .row, .anomalousRow: presence = .shown
        case .hidden:
            presence = .hidden(
                reason: try access.anomalies.reason(of: RowToken(table: table.id, id: object))?.sentence ?? "")
        case .joined: presence = .joined(key: try LocalNames(access).key(of: object, table))
        case .none: presence = state.registers.newest == nil ? .unknown : .deleted
        }
        return FoundRow(
            table: table.localName, object: object, key: try LocalNames(access).ownKey(of: state, table),
            presence: presence)
    }

    // MARK: Mapped keys

    /// The objects with a present or former mapped key.
    private func mapped(_ text: String) throws -> [ObjectID] {
        try mapped(text, table)
    }

    private func mapped(_ text: String, _ table: TrackedTable) throws -> [ObjectID] {
        var objects: [ObjectID] = []
        let states = access.objects(of: table.id)
        // Local keys have no collation in the state. The rows' own comparison finds the key a person means.
        let readings = Self.readings(of: text, as: .blob)
        for value in readings where table.isLocal {
            let rows = try connection.rows(
                "SELECT \(table.keyList) FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))", value)
            objects += try rows.compactMap { try states.object(forKey: $0[0]) }
        }
        for value in readings {
            if let object = try states.object(forKey: value) { objects.append(object) }
        }
        for value in readings {
            // Shadow values begin with the object's former key, after a zero: `StateCodec`.
            let prefix = StateCodec.encodeKept(ShadowValues(key: value)) ?? []
            try connection.forEachRow(
                Self.formerKeys(table),
                [.integer(Int64(prefix.count)), .blob(prefix[...]), .integer(Int64(Self.maximumResults))]
            ) { row in
                if let object: ObjectID = row.id(0) { objects.append(object) }
            }
        }
        return objects
    }

    /// The query for the objects without a row of their own that had a key. Its parameters: the length of the key's
    /// bytes, the bytes, and how many objects at most.
    static func formerKeys(_ table: TrackedTable) -> String {
        "SELECT object FROM \(table.objectTable) WHERE \(Visibility.apartCondition) AND k0 IS NULL "
            + "AND substr(kept, 1, ?) = ? LIMIT ?"
    }

    // MARK: Derived keys

    /// The known objects with IDs derived from the key.
    private func derived(_ key: [String]) throws -> [ObjectID] {
        var keys: [[FieldValue]] = [[]]
        for (text, column) in zip(key, table.keyColumnIDs) {
            let values = try portable(text, table.columns[column])
            keys = keys.flatMap { key in values.map { key + [$0] } }
            if keys.count > Self.maximumResults { keys.removeLast(keys.count - Self.maximumResults) }
        }
        let states = access.objects(of: table.id)
        return try keys.compactMap { key in
            let object = table.derivedID(key)
            // A row may be shown under a key its object does not have.
            return try states.load(object).isStored ? object : access.unified.representative(of: object, table.id)
        }
    }

    /// The portable values a key's part may have: references if the column refers to a mapped table.
    private func portable(_ text: String, _ column: TrackedColumn) throws -> [FieldValue] {
        guard let parent = column.reference else { return Self.readings(of: text, as: column.affinity) }
        return try mapped(text, access.registry[parent]).map { .reference($0) }
    }

    /// The values a command line's word may mean for a column: https://www.sqlite.org/datatype3.html#type_affinity. A
    /// column without affinity stores any value unchanged, so every reading is possible.
    static func readings(of text: String, as affinity: SchemaColumn.Affinity) -> [FieldValue] {
        var blob: FieldValue?
        if text.count >= 3, text.hasPrefix("x'") || text.hasPrefix("X'"), text.hasSuffix("'") {
            blob = bytes(ofHex: text.dropFirst(2).dropLast()).map { .blob($0[...]) }
        }
        let number: FieldValue? = Int64(text).map { .integer($0) } ?? real(text)
        switch affinity {
        case .text: return [.text(text)] + (blob.map { [$0] } ?? [])
        case .integer, .real, .numeric:
            if case .real = affinity, case .integer(let integer)? = number { return [.real(Double(integer))] }
            return [number ?? blob ?? .text(text)]
        case .blob:
            let id = ObjectID(text).map { FieldValue.blob($0.bytes[...]) }
            return [.text(text)] + [number, blob, id].compactMap { $0 }
        }
    }

    /// Parses a decimal number, without the words and hexadecimal forms accepted by Swift.
    private static func real(_ text: String) -> FieldValue? {
        guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text).map { .real($0) }
    }

    private static func bytes(ofHex text: Substring) -> [UInt8]? {
        let digits = text.utf8.compactMap { hexDigitValue($0) }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
