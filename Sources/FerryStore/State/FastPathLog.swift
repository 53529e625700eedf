import FerryCore

/// Counts how often each fast path was taken, and the reasons against it: by rows, objects, tables or flushes.
///
/// Not thread-safe; belongs to a transaction.
final class FastPathLog {
    @exclusivity(unchecked) private var taken = [Int](repeating: 0, count: FastPaths.named.count)
    @exclusivity(unchecked) private var declined = [Int](
        repeating: 0, count: FastPaths.named.count * reasonCount)

    /// The reasons' names. Making one takes longer than a count, and most passes name none.
    private static let reasons = FastPathDecline.allCases.map { "\($0)" }
    private static let reasonCount = FastPathDecline.allCases.count

    private func place(_ path: FastPaths) -> Int { path.rawValue.trailingZeroBitCount }

    func count(_ path: FastPaths, _ number: Int = 1) { taken[place(path)] += number }

    func decline(_ path: FastPaths, _ reason: FastPathDecline) {
        declined[place(path) * Self.reasonCount + reason.rawValue] += 1
    }

    /// Takes a fast path of packing, and counts what was packed, or why nothing was.
    /// - Parameter body: returns the outcome, and the number of packed rows. Writes in a savepoint: nothing written may remain where the
    ///   path is declined (`FastPathDecline`).
    /// - Returns: `nil` if the path is declined; the clock is unchanged then.
    func attempt<Outcome>(
        _ path: FastPaths, _ clock: inout HybridClock,
        _ body: (inout HybridClock) throws -> (outcome: Outcome, rows: Int)
    ) throws -> Outcome? {
        let before = clock
        do {
            let (outcome, rows) = try body(&clock)
            count(path, rows)
            return outcome
        } catch let reason as FastPathDecline {
            decline(path, reason)
            clock = before
            return nil
        }
    }

    /// Counts a decision.
    /// - Parameter reason: the reason if the path is not taken.
    func record(_ path: FastPaths, isTaken: Bool, otherwise reason: FastPathDecline) {
        if isTaken { count(path) } else { decline(path, reason) }
    }

    /// Gives the counts since the previous call.
    func takeCounts() -> FastPathCounts {
        var counts = FastPathCounts()
        for place in taken.indices where taken[place] > 0 {
            counts.taken[FastPaths.named[place].name] = taken[place]
            taken[place] = 0
        }
        for place in declined.indices where declined[place] > 0 {
            let (path, reason) = place.quotientAndRemainder(dividingBy: Self.reasonCount)
            counts.declined[FastPaths.named[path].name, default: [:]][Self.reasons[reason]] = declined[place]
            declined[place] = 0
        }
        return counts
    }
}

/// How often fast paths were taken and declined.
package struct FastPathCounts: Equatable, Sendable, Codable {
    /// By the path's name.
    package var taken: [String: Int] = [:]
    /// By the path's name and the reason.
    package var declined: [String: [String: Int]] = [:]

    package init() {}

    package mutating func add(_ other: FastPathCounts) {
        taken.merge(other.taken, uniquingKeysWith: +)
        for (path, reasons) in other.declined { declined[path, default: [:]].merge(reasons, uniquingKeysWith: +) }
    }
}
