import FerryEngine

/// Removes expired versions and deleted documents during the syncs of each program with documents.
package struct DocumentUpkeep: SyncCompanion {
    package let name = "documents"
    private let retention: DocumentRetention?

    /// - Parameter retention: in place of people's choice.
    package init(_ retention: DocumentRetention? = nil) { self.retention = retention }

    /// Makes all syncs of this process do so.
    package static func register() { SyncCompanions.register(DocumentUpkeep()) }

    package func prepareCollection(_ replica: Replica) throws {
        try DocumentAccess(replica).removeExpired(retention)
    }
}
