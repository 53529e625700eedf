import FerryCore

/// The error of Ferry's that a call ends with; `nil` where the call succeeds, or ends with another error.
package func failure(_ body: () throws -> Void) -> FerryError? {
    do {
        try body()
        return nil
    } catch {
        return error as? FerryError
    }
}
