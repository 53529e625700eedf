import FerryCore
import FerrySQL
import FerrySchema

/// Counts the objects of tables for `ferry status`, without a look at each of them: the digests have the numbers of
/// living objects, and an index has the objects that are not simply shown by a row.
struct ObjectCounts {
    private let connection: SQLConnection
    /// The number of living objects by table.
    private let living: [Int: Int]

    init(_ connection: SQLConnection) throws {
        self.connection = connection
        living = try DigestTable(connection).livingObjects()
    }

    /// The number of objects with a row, or alive and hidden. The objects of a unified row count once.
    func present(in table: TrackedTable) throws -> Int {
        try (living[table.id] ?? 0) + connection.count(Self.difference(table))
    }

    /// The number of objects without a row because their table was dropped or emptied without deletions.
    func left(in table: TrackedTable) throws -> Int {
        try connection.count(ObjectState.leftCount(table.objectTable))
    }

    /// The number of objects to add to the living ones: retained rows of deleted objects. Living objects of a unified
    /// row are taken off.
    static func difference(_ table: TrackedTable) -> String {
        """
        SELECT sum((\(Visibility.way) NOT IN (\(Visibility.none.rawValue), \(Visibility.joined.rawValue)))
            - ("check" <> 0)) FROM \(table.objectTable) WHERE \(Visibility.anomalyCondition)
        """
    }
}
