import FerryCore
import FerrySQL
import FerryStore

/// Counters that sum concurrent additions: every device keeps a row with its own additions, and the counter is the sum
/// of the rows.
extension KeyValueStore {
    /// Adds to a counter; a negative number subtracts.
    /// - Returns: the counter as this device knows it then.
    /// - Throws: `invalidArgument` for an empty name; `limitExceeded` for a long name, or if this device's additions or
    ///   the sum would leave the range of `Int64`. Nothing is added then.
    @discardableResult
    public func increment(_ counter: String, by amount: Int64 = 1) throws -> Int64 {
        let counter = try checked(counter)
        return try write(KeyValueName(.counter, counter)) { connection in
            // A copy of the database becomes another device, perhaps in another process: asked each time.
            let device = try connection.thisDevice()
            let present = try connection.firstValue(
                "SELECT amount FROM ferry_kv_counter WHERE counter = ? AND device = ?", .text(counter), device)
            let (own, isTooLarge) = Self.integer(present).addingReportingOverflow(amount)
            guard !isTooLarge else { throw Self.outOfRange }
            if amount != 0 {
                try connection.execute(
                    """
                    INSERT INTO ferry_kv_counter(counter, device, amount) VALUES (?1, ?2, ?3)
                    ON CONFLICT(counter, device) DO UPDATE SET amount = ?3
                    """, .text(counter), device, .integer(own))
            }
            let (sum, overflow) = try Self.sum(of: counter, connection)
            guard overflow == 0 || amount == 0 || (overflow < 0) != (amount < 0) else { throw Self.outOfRange }
            return (sum, amount != 0, nil)
        }
    }

    /// The known additions of all devices to a counter; 0 without any. A sum beyond the range of `Int64` is the nearest
    /// number in the range.
    public func counter(_ counter: String) throws -> Int64 {
        let counter = Self.composed(counter)
        return try store.read { try Self.sum(of: counter, $0).sum }
    }

    /// The names of all counters.
    public func counterNames() throws -> Set<String> {
        try store.read { connection in
            Set(try connection.rows("SELECT DISTINCT counter FROM ferry_kv_counter").compactMap { $0[0].string })
        }
    }

    /// - Returns: the sum, cut to the range, and the sign of the excess.
    private static func sum(of counter: String, _ connection: SQLConnection) throws -> (sum: Int64, overflow: Int) {
        // In two words, because amounts of opposite signs may leave the range on the way and come back.
        var sum = (high: Int64(0), low: UInt64(0))
        for row in try connection.rows("SELECT amount FROM ferry_kv_counter WHERE counter = ?", .text(counter)) {
            let amount = integer(row[0])
            let (low, carry) = sum.low.addingReportingOverflow(UInt64(bitPattern: amount))
            sum = (sum.high + (amount < 0 ? -1 : 0) + (carry ? 1 : 0), low)
        }
        let value = Int64(bitPattern: sum.low)
        if sum.high == (value < 0 ? -1 : 0) { return (value, 0) }
        return sum.high < 0 ? (.min, -1) : (.max, 1)
    }

    private static func integer(_ value: FieldValue?) -> Int64 {
        if case .integer(let integer)? = value { integer } else { 0 }
    }

    private static var outOfRange: FerryError {
        FerryError(.limitExceeded, "The counter would leave the range of 64-bit integers. Begin another one.")
    }
}
