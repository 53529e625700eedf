import FerryCore

/// The records of a sealed container's membership.
extension Store {
    /// The records that count, each after the records that it follows.
    package func records(after count: Int = 0) throws -> [StoredRecord] {
        try read { try count == 0 ? RecordTable($0).all() : RecordTable($0).after(count) }
    }

    /// The number of records that count.
    package func recordCount() throws -> Int { try read { try RecordTable($0).count() } }

    /// The records of this device's that wait to be published, in order.
    package func waitingRecords() throws -> [StoredRecord] { try read { try RecordTable($0).waiting() } }

    /// Adds records that count. A record of this device's is durable on return, so it may be published.
    package func add(_ records: [StoredRecord]) throws {
        if records.isEmpty { return }
        try note(durably: records.contains { !$0.isPublished }) { try RecordTable($0).add(records) }
    }

    /// Notes that a record lies in the container.
    package func notePublished(_ hash: RecordHash) throws { try note { try RecordTable($0).notePublished(hash) } }
}
