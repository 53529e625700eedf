import FerryCore

extension FerryError {
    /// Whether it speaks of a file of the container, or of one device's files, and so of nothing beyond: whoever meets it
    /// goes on with the others.
    var concernsOneFile: Bool {
        [.damagedFile, .formatTooNew, .foreignFile, .limitExceeded, .inputOutput].contains(code)
    }

    /// Whether it may be the fault of what is replayed. What concerns this device's own log, its database, its disk or the app's
    /// hook is nobody else's.
    func mayConcernOneLog(besides own: DeviceID) -> Bool {
        let others: [FerryError.Code] = [
            .replayHookFailed, .busy, .databaseCorrupt, .databaseMissing, .notADatabase, .notTracked, .storeTooNew,
            .storeTooOld, .inputOutput,
        ]
        return device != own && !others.contains(code)
    }
}
