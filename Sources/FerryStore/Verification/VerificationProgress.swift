import FerrySQL
import FerrySchema

/// Counts the objects that a verification has compared, and tells now and then. Not thread-safe.
final class VerificationProgress {
    private let tell: (_ completed: Int, _ total: Int) -> Void
    private var completed = 0
    private var total = 0
    /// After how many objects a telling comes.
    private static let step = 4096

    init(_ tell: @escaping (_ completed: Int, _ total: Int) -> Void) { self.tell = tell }

    /// Begins with the objects of these tables.
    func begin(of tables: [TrackedTable], _ connection: SQLConnection) throws {
        total = try tables.reduce(0) { try $0 + connection.count("SELECT count(*) FROM \($1.objectTable)") }
        tell(0, total)
    }

    func advance() {
        completed += 1
        if completed % Self.step == 0 { tell(completed, total) }
    }
}
