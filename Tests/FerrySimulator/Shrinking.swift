/// Removes unneeded steps from a failing list of steps: delta debugging (Zeller and Hildebrandt, "Simplifying and
/// Isolating Failure-Inducing Input").
public enum Shrinking {
    /// Tries to remove ever smaller parts, until no single step can be removed.
    /// - Parameters:
    ///   - attempts: the maximum number of calls of `fails`.
    ///   - fails: true if these steps alone still fail.
    /// - Returns: steps that still fail; all steps if none can be removed.
    public static func smallest(
        of steps: [Int], attempts: Int = 300, fails: ([Int]) throws -> Bool
    ) rethrows -> [Int] {
        var (steps, attempts) = (steps, attempts)
        var size = max(steps.count / 2, 1)
        while attempts > 0, !steps.isEmpty {
            var isSmaller = false
            var start = 0
            while start < steps.count, attempts > 0 {
                var fewer = steps
                fewer.removeSubrange(start..<min(start + size, steps.count))
                attempts -= 1
                if try fails(fewer) {
                    steps = fewer
                    isSmaller = true
                } else {
                    start += size
                }
            }
            if size == 1, !isSmaller { break }
            size = max(size / 2, 1)
        }
        return steps
    }
}

extension Simulation {
    /// Shrinks a failing plan.
    /// - Returns: the plan with the steps needed for the failure, and its outcome.
    public static func shrink(_ plan: Plan, _ outcome: Outcome) throws -> (plan: Plan, outcome: Outcome) {
        var result = (plan: plan, outcome: outcome)
        _ = try Shrinking.smallest(of: (plan.only ?? Set(0..<plan.steps)).sorted()) { steps in
            var fewer = plan
            fewer.only = Set(steps)
            let outcome = try run(fewer)
            if outcome.problems.isEmpty { return false }
            result = (fewer, outcome)
            return true
        }
        return result
    }
}
