import FerryContainer
import FerryCore

/// The last look at all devices' files, where everything was known without reading anything: as long as they look the same,
/// the next one finds the same.
///
/// It shortens what `HeadCache` and `QuietLogs` would answer one by one, and never says more than they would: it is kept only
/// of a look that they answered, and no longer than they do. A look at a thousand devices is then two questions for each to
/// the file system and nothing else.
final class QuietLook: Sendable {
    /// What the look went by.
    struct Question: Equatable {
        var container: ContainerID
        var positions: VersionVector
        var ended: Set<DeviceID>
        /// The devices that have a directory, this one excepted.
        var devices: [DeviceID]
        /// Whether the directories of segments were looked at, too.
        var isThorough: Bool
    }

    /// What is known of the files while they are looked at.
    struct Notes {
        /// By their paths below the directory of all devices.
        fileprivate var versions: [(path: String, version: FileVersion)] = []
        /// When the directories were listed: the first and the last of them.
        fileprivate var listed: ClosedRange<Int64>?
        fileprivate(set) var isComplete = true

        /// Notes a file's version; `nil` where the file had to be read.
        mutating func note(_ path: @autoclosure () -> String, _ version: FileVersion?) {
            guard let version else { return noteUnknown() }
            if isComplete { versions.append((path(), version)) }
        }

        /// Notes that something of a device had to be read, or could not be looked at.
        mutating func noteUnknown() { isComplete = false }

        /// Notes a directory that was not listed now.
        /// - Parameter milliseconds: when it was listed.
        mutating func note(
            _ path: @autoclosure () -> String, _ version: FileVersion?, listed milliseconds: Int64
        ) {
            note(path(), version)
            let former = listed ?? milliseconds...milliseconds
            listed = min(former.lowerBound, milliseconds)...max(former.upperBound, milliseconds)
        }
    }

    private struct Look {
        var question: Question
        var notes: Notes
        var batch: LogReader.Batch
    }

    private let last = Locked<Look?>(nil)

    /// What the look finds, if it is certainly what the last one found.
    /// - Parameter milliseconds: the time of the look.
    func batch(_ question: Question, in container: Container, _ milliseconds: Int64) -> LogReader.Batch? {
        guard let look = last.withLock({ $0 }), look.question == question else { return nil }
        if let listed = look.notes.listed, !QuietLogs.holds(listed, at: milliseconds) { return nil }
        return container.haveVersions(look.notes.versions) ? look.batch : nil
    }

    /// Keeps a look of which everything was known.
    func keep(_ question: Question, _ notes: Notes, _ batch: LogReader.Batch) {
        guard notes.isComplete, batch.changesets.isEmpty, batch.problems.isEmpty, !batch.isFull else { return }
        last.withLock { $0 = Look(question: question, notes: notes, batch: batch) }
    }
}
