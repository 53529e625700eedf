import FerryContainer
import FerryCore

/// The last look at all devices' files, if everything was known without reading any file. While the files look
/// unchanged, the next look finds the same.
///
/// Invariants:
/// - A look is kept only if `HeadCache` and `UnchangedLogs` answered every question, and no longer than their answers
///   hold.
/// - So a kept look never says more than their answers.
///
/// A look at a thousand devices then asks the file system two questions for each device, and nothing else.
final class UnchangedScan: Sendable {
    /// The inputs of a look.
    struct Question: Equatable {
        var container: ContainerID
        var positions: VersionVector
        var ended: Set<DeviceID>
        /// The devices with a directory, except this device.
        var devices: [DeviceID]
        /// True if the look included the directories of segments.
        var isThorough: Bool
    }

    /// The known versions of files during a look.
    struct Notes {
        /// By path below the directory of all devices.
        fileprivate var versions: [(path: String, version: FileVersion)] = []
        /// The first and the last time when the directories were listed.
        fileprivate var listed: ClosedRange<Int64>?
        fileprivate(set) var isComplete = true

        /// Records a file's version; `nil` if the file had to be read.
        mutating func note(_ path: @autoclosure () -> String, _ version: FileVersion?) {
            guard let version else { return recordUnknown() }
            if isComplete { versions.append((path(), version)) }
        }

        /// Records that a file of a device had to be read, or could not be examined.
        mutating func recordUnknown() { isComplete = false }

        /// Records a directory not listed now.
        /// - Parameter milliseconds: when the directory was listed.
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

    /// Returns the last look's batch, if a new look certainly finds the same.
    /// - Parameter milliseconds: the time of the look.
    func batch(_ question: Question, in container: Container, _ milliseconds: Int64) -> LogReader.Batch? {
        guard let look = last.withLock({ $0 }), look.question == question else { return nil }
        if let listed = look.notes.listed, !UnchangedLogs.holds(listed, at: milliseconds) { return nil }
        return container.haveVersions(look.notes.versions) ? look.batch : nil
    }

    /// Keeps a look if everything was known.
    func keep(_ question: Question, _ notes: Notes, _ batch: LogReader.Batch) {
        guard notes.isComplete, batch.changesets.isEmpty, batch.problems.isEmpty, !batch.isFull else { return }
        last.withLock { $0 = Look(question: question, notes: notes, batch: batch) }
    }
}
