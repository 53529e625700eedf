import FerryCore
import FerryMerge
import FerrySQL

/// The objects that a snapshot being imported does not have (`ferry_absent`, of which this is the owner).
struct AbsentList {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    func add(_ object: RowToken) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_absent VALUES (?, ?)", .integer(Int64(object.table)),
            .blob(object.id.bytes[...]))
    }

    /// The first objects by table and ID, and how many entries they are.
    func first(_ number: Int) throws -> (objects: [Int: [ObjectID]], count: Int) {
        var objects: [Int: [ObjectID]] = [:]
        var count = 0
        try connection.forEachRow("SELECT \"table\", object FROM ferry_absent ORDER BY 1, 2 LIMIT \(number)") { row in
            if let id: ObjectID = row.id(1) { objects[row.int(0), default: []].append(id) }
            count += 1
        }
        return (objects, count)
    }

    func remove(_ object: RowToken) throws {
        try connection.execute(
            "DELETE FROM ferry_absent WHERE \"table\" = ? AND object = ?", .integer(Int64(object.table)),
            .blob(object.id.bytes[...]))
    }

    func removeAll() throws { try connection.execute("DELETE FROM ferry_absent") }
}
