import FerryEngine

/// Removes versions and deleted documents whose time is over, with the syncs of each program that uses documents.
package struct DocumentUpkeep: SyncCompanion {
    package let name = "documents"
    private let retention: DocumentRetention

    package init(_ retention: DocumentRetention = DocumentRetention()) { self.retention = retention }

    /// Makes all syncs of this process do so.
    package static func register(_ retention: DocumentRetention = DocumentRetention()) {
        SyncCompanions.register(DocumentUpkeep(retention))
    }

    package func prepareCollection(_ replica: Replica) throws {
        try DocumentAccess(replica).removeExpired(retention)
    }
}
