import FerryCore
import FerryMerge

/// Objects whose insertion this device does not know, though it matters: what hidden rows refer to by RESTRICT or NO ACTION, and
/// what was updated.
///
/// Either the insertion is still to come, or the object was deleted, and forgotten here before this device had heard of who
/// refers to it or wrote to it. Those who remember the deletion show the row then. So the device says in its head what it
/// lacks, and who has it publishes it again (`KeptRows`). Where both have replayed the same and hold different states, what was
/// updated is looked for; what hidden rows lack is listed with them.
struct MissingObjects {
    /// An object that was updated (`ferry_meta`, `updated`).
    struct Updated: Codable, Equatable {
        var table: Int
        /// Its ID in hexadecimal.
        var object: String
    }

    private let access: StoreAccess
    private let meaning: References
    /// The most that are asked for at once.
    private let maximumCount: Int

    init(_ access: StoreAccess, atMost maximumCount: Int = .max) {
        self.access = access
        self.maximumCount = maximumCount
        meaning = References(registry: access.registry)
    }

    /// - Parameter values: of an object that is hidden because something it refers to is not there.
    func targets(of table: TrackedTable, _ values: FieldValues) throws -> [RowToken] {
        try table.foreignKeys.compactMap { key in
            guard case .restrict = key.action else { return nil }
            switch key.target {
            // What has values that others refer to is never forgotten (`TombstoneCollection`).
            case .unique: return nil
            case .mapped: guard case .reference = values[key.columns[0]] else { return nil }
            case .key: break
            }
            guard let target = meaning.target(key, values),
                try access.objects(of: target.table).load(target.id).registers.inserted == nil
            else { return nil }
            return target
        }
    }

    /// The IDs of all that are listed, in ascending order; no more than are asked for.
    func find() throws -> [ObjectID] {
        var found = Set(try stillUpdated().compactMap { ObjectID($0.object) })
        let statement = try access.connection.prepare(
            "SELECT \"table\", object FROM ferry_exception WHERE kind = \(ExceptionKind.missing.rawValue)")
        defer { statement.reset() }
        while try found.count < maximumCount && statement.step() {
            guard let id: ObjectID = statement.id(1) else { continue }
            let table = access.registry[statement.int(0)]
            let state = try access.objects(of: table.id).load(id)
            found.formUnion(try targets(of: table, state.kept.fields).map(\.id))
        }
        return Array(found.sorted().prefix(maximumCount))
    }
}

extension MissingObjects {
    /// Looks for objects that were updated through all states.
    func findUpdated() throws -> [Updated] {
        var found: [Updated] = []
        for table in access.registry.parentsFirst {
            var ids: [ObjectID] = []
            try access.connection.forEachRow(
                "SELECT object FROM \(table.objectTable) WHERE \(Shown.way) = \(Shown.none.rawValue) ORDER BY object"
            ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
            for id in ids where try isUpdated(id, table) {
                found.append(Updated(table: table.id, object: id.hex))
                if found.count == maximumCount { return found }
            }
        }
        return found
    }

    /// Those of the ones listed whose insertion has not come meanwhile.
    func stillUpdated() throws -> [Updated] {
        let listed: [Updated] = try access.meta.json(.updated) ?? []
        return try listed.filter { entry in
            guard let table = access.registry.tables[entry.table], let object = ObjectID(entry.object) else {
                return false
            }
            return try isUpdated(object, table)
        }
    }

    private func isUpdated(_ object: ObjectID, _ table: TrackedTable) throws -> Bool {
        let registers = try access.objects(of: table.id).load(object).registers
        guard registers.inserted == nil, let written = registers.newestWrite else { return false }
        return registers.deleted.map { $0 < written } ?? true
    }
}

/// What another device lacks, as its head says.
public struct MissingRequest: Sendable {
    public let objects: [ObjectID]
    /// What it has replayed, its own changes included.
    public let known: VersionVector

    public init(objects: [ObjectID], known: VersionVector) {
        self.objects = objects
        self.known = known
    }
}

extension Store {
    /// Lists what was updated here and never inserted; writes only where that changes.
    /// - Parameters:
    ///   - isContradicted: whether another device has replayed the same and holds another state; otherwise only what
    ///   is listed is looked at.
    ///   - maximumCount: the most that are listed.
    public func noteUpdatedObjects(isContradicted: Bool, atMost maximumCount: Int) throws {
        guard try isContradicted || read({ try StoreMeta(connection: $0).string(.updated) }) != nil else { return }
        let (known, found) = try readAccess { access in
            let objects = MissingObjects(access, atMost: maximumCount)
            let known: [MissingObjects.Updated] = try access.meta.json(.updated) ?? []
            return (known, try isContradicted ? objects.findUpdated() : objects.stillUpdated())
        }
        if known == found { return }
        try note { connection in
            let meta = StoreMeta(connection: connection)
            if found.isEmpty { try meta.remove(.updated) } else { try meta.set(.updated, json: found) }
        }
    }

    /// Objects whose insertion this device does not know, though it matters here, for its head: IDs in ascending order. None while
    /// a snapshot is read in, since what is missing may be in it.
    public func missingObjects(atMost maximumCount: Int) throws -> [ObjectID] {
        try readAccess { access in
            try lastMissing.value(access.connection) { _ in
                try SnapshotProgress.read(access.meta) == nil ? MissingObjects(access, atMost: maximumCount).find() : []
            }
        }
    }
}
