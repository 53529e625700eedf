import FerryCore

/// Divides changesets into transactions of about equal time, so another program waits for a slice in place of a batch. A changeset
/// is never divided.
struct ReplaySlices {
    /// How long a slice should hold SQLite's write lock.
    static let duration = Duration.milliseconds(70)
    /// The size of the first slice, whose time nobody knows.
    static let firstOperations = 4_000
    /// The bounds of the size. A smaller transaction is mostly commit, and a batch has no more operations.
    static let bounds = 500...LogReader.maximumOperations

    /// The number of operations that should take the time of a slice.
    private(set) var operations = firstOperations

    /// The first changesets with at most `operations` operations together; at least one changeset.
    func next(_ changesets: ArraySlice<Changeset>) -> ArraySlice<Changeset> {
        var total = 0
        let end = changesets.indices.first { index in
            total += changesets[index].operationCount
            return total > operations && index > changesets.startIndex
        }
        return changesets[..<(end ?? changesets.endIndex)]
    }

    /// Learns from a slice how many operations fit. A single slice at most halves or doubles the size.
    mutating func took(_ duration: Duration, operations count: Int) {
        guard duration > .zero, count > 0 else { return }
        let fitting = Double(count) * (Self.duration / duration)
        let size = min(max(fitting, Double(operations) / 2), Double(operations) * 2)
        operations = min(max(Int(size), Self.bounds.lowerBound), Self.bounds.upperBound)
    }
}
