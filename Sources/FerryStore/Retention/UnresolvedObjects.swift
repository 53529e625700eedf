import FerryCore
import FerryMerge
import FerrySchema

/// Finds unresolved objects: objects needed here whose insertion is unknown. Hidden rows refer to them by RESTRICT or
/// NO ACTION, or the objects were updated.
///
/// Either the insertion is still to come. Or the object was deleted, and the deletion forgotten here before the
/// reference or update arrived. Devices that remember the deletion show the row then.
///
/// So this device lists unresolved objects in its head, and a device with the row publishes the row again
/// (`Republication`). If two devices have replayed the same and hold different states, updated objects are searched.
/// Targets of hidden rows are always listed.
struct UnresolvedObjects {
    /// An updated object (`ferry_meta`, `updated`).
    struct Updated: Codable, Equatable {
        var table: Int
        /// The object's ID in hexadecimal.
        var object: String
    }

    private let access: StoreAccess
    /// Maximum number of requested objects.
    private let maximumCount: Int

    init(_ access: StoreAccess, atMost maximumCount: Int = .max) {
        self.access = access
        self.maximumCount = maximumCount
    }

    /// The IDs of all listed objects, ascending, up to the maximum.
    func find() throws -> [ObjectID] {
        var found = Set(try stillUpdated().compactMap { ObjectID($0.object) })
        for missing in try access.anomalies.objects(of: .missing) where found.count < maximumCount {
            let table = access.registry[missing.table]
            let state = try access.objects(of: table.id).load(missing.id)
            found.formUnion(try UnknownTargets(access).targets(of: table, state.kept.fields).map(\.id))
        }
        return Array(found.sorted().prefix(maximumCount))
    }
}

extension UnresolvedObjects {
    /// Searches all states for updated objects.
    func findUpdated() throws -> [Updated] {
        var found: [Updated] = []
        for table in access.registry.parentsFirst {
            var ids: [ObjectID] = []
            try access.connection.forEachRow(
                "SELECT object FROM \(table.objectTable) WHERE \(Visibility.way) = \(Visibility.none.rawValue) ORDER BY object"
            ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
            for id in ids where try isUpdated(id, table) {
                found.append(Updated(table: table.id, object: id.hex))
                if found.count == maximumCount { return found }
            }
        }
        return found
    }

    /// The listed updated objects whose insertion has not arrived since.
    func stillUpdated() throws -> [Updated] {
        try Updated.all(access.meta).filter { entry in
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

/// The objects missing on a remote device, from its head.
package struct MissingRequest: Sendable {
    package let objects: [ObjectID]
    /// The position replayed by the device, including its own changes.
    package let known: VersionVector

    package init(objects: [ObjectID], known: VersionVector) {
        self.objects = objects
        self.known = known
    }
}

extension UnresolvedObjects.Updated {
    static func all(_ meta: MetaTable) throws -> [Self] { try meta.json(.updated) ?? [] }

    static func save(_ found: [Self], _ meta: MetaTable) throws {
        if found.isEmpty { try meta.remove(.updated) } else { try meta.set(.updated, json: found) }
    }
}
