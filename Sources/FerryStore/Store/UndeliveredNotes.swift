import FerryCore
import FerrySchema

extension Store {
    /// Keeps which logs the container does not give, in place of those that were known (`StoreSummary.undelivered`). Writes only
    /// where that changed.
    package func noteUndelivered(_ logs: UndeliveredLogs, known: UndeliveredLogs) throws {
        if logs == known { return }
        try note { try logs.save(MetaTable(connection: $0)) }
    }
}
