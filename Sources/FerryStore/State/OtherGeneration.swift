import FerryCore
import FerrySQL
import FerrySchema

/// A table with a different primary key on a remote device: writes of either side wait on the opposite side.
package struct OtherGeneration: Equatable, Sendable {
    package var table: String
    /// The table's identity in this database, and on that device.
    package var identity: TableIdentity
    package var otherIdentity: TableIdentity
    package var device: DeviceID

    /// All such tables in this database, by table and device.
    static func all(_ connection: SQLConnection) throws -> [OtherGeneration] {
        let generations = try Generations.load(MetaTable(connection: connection))
        if generations.writers.isEmpty { return [] }
        var found: [OtherGeneration] = []
        for (name, writers) in generations.writers.sorted(by: { $0.key < $1.key }) {
            guard let own = try TableGeneration.shown(name, generations, connection),
                try DigestTable(connection).isShown(own.number)
            else { continue }
            let all = try TableGeneration.all(name, connection)
            for (hex, number) in writers.sorted(by: { $0.key < $1.key }) where number != own.number {
                guard let device = DeviceID(hex), let other = all.first(where: { $0.number == number }) else {
                    continue
                }
                found.append(
                    OtherGeneration(
                        table: own.name, identity: own.identity, otherIdentity: other.identity, device: device))
            }
        }
        return found
    }
}
