/// A schema, and what is done to it. Every database, plain or tracked, gets exactly the same statements and values;
/// these are made beforehand, so that making them is not measured.
protocol Workload: Sendable {
    var name: String { get }
    var schema: String { get }
    /// The query that two devices are compared by; it does not depend on local keys.
    var fingerprint: String { get }

    /// Inserts all rows in transactions of 1,000.
    /// - Returns: the number of rows.
    func insert(_ database: Database) throws -> Int
    /// What `update` updates.
    var updated: (table: String, column: String) { get }
    /// The number of rows that `update` can reach.
    var updatableRows: Int { get }
    /// Updates one column of `count` rows, none of them twice, in random order from the `first` on, in transactions of
    /// `size`.
    func update(_ database: Database, first: Int, count: Int, transactionSize size: Int) throws
    /// Deletes half of the rows that nothing else is about.
    /// - Returns: the number of rows.
    func delete(_ database: Database) throws -> Int
}
