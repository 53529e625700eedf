import FerryCore

extension FerryError {
    /// Whether it speaks of a file of the container, or of one device's files, and so of nothing beyond: whoever meets it
    /// goes on with the others.
    var concernsOneFile: Bool {
        [.damagedFile, .formatTooNew, .foreignFile, .limitExceeded, .inputOutput].contains(code)
    }
}
