import FerryCore

extension FerryError {
    /// True if the error concerns a single file of the container, or a single device's files, and nothing beyond. The
    /// caller goes on with the rest. A storage's refusal of a single object is such a case. A storage with a refusal of
    /// everything refuses the pass before any device's files are asked for.
    var concernsOneFile: Bool {
        saysNothing || [.limitExceeded, .inputOutput, .accessDenied].contains(code)
    }

    /// True if a file is there and its content must not be used. The file is damaged, foreign, of a newer Ferry, plain
    /// in a sealed container, or incomplete so far.
    var saysNothing: Bool {
        isReplacedContent || [.formatTooNew, .fileNotThereYet].contains(code)
    }

    /// True if other content is in the file's place than its author wrote, as after a mix-up of files: no device can read the file until
    /// the author writes it again.
    var isReplacedContent: Bool { [.damagedFile, .foreignFile, .notSealed].contains(code) }

    /// True if the cause may be the log of `device`. Errors of this device's own log, database, disk or app's hook do
    /// not come from a different device.
    func mayConcernOneLog(besides own: DeviceID) -> Bool {
        let others: [FerryError.Code] = [
            .replayHookFailed, .busy, .databaseCorrupt, .databaseMissing, .notADatabase, .notTracked, .storeTooNew,
            .storeTooOld, .storeIncomplete, .inputOutput,
        ]
        return device != own && !others.contains(code)
    }
}
