import FerryCore

@testable import FerryStore

/// The fast path of verification found something else than the general path.
struct PathDifference: Error, CustomStringConvertible {
    var description: String
}

extension Store {
    /// Verifies deep on the fast path and on the general path.
    /// - Throws: `PathDifference` where both do not say the same, or where a sound store is not found sound by the fast path.
    func verifyBothWays() throws -> VerificationReport {
        let drawn = fastPaths
        defer { fastPaths = drawn }
        fastPaths = .none
        let general = try report()
        fastPaths = drawn.union(.plainObjects)
        let before = fastPathCounts
        let fast = try report()
        if fast != general {
            throw PathDifference(
                description: "the fast path says \(fast.differences), the general \(general.differences)")
        }
        let isTaken = fastPathCounts.taken["plainObjects"] != before.taken["plainObjects"]
        if general.isSound, !isTaken, fastPathCounts.declined["plainObjects"]?["anomalies"] == nil {
            throw PathDifference(description: "the fast path declines a sound store: \(fastPathCounts.declined)")
        }
        return general
    }

    private func report() throws -> VerificationReport {
        var report = try verify(deep: true)
        report.durationMilliseconds = 0
        return report
    }
}
