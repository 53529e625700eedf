import FerryContainer
import FerryCore

/// The reason a device's log cannot be read further, and the first changeset that cannot be read.
struct LogStall {
    enum Reason {
        /// Older changesets were removed; the log begins at this number.
        case collected(start: UInt64)
        /// The device was removed, and its log counts up to this number.
        case removed(end: UInt64)
        case notThereYet
        /// A part of a file is there, of so many bytes.
        case incomplete(SegmentFile, bytes: Int)
        /// A provider has not downloaded the file.
        case placeholder
        /// A copy of the device's database wrote the file that is there.
        case forked
        /// The head is damaged or incomplete, or cannot be opened. The log is read all the same.
        case damagedHead(FerryError)
        /// A file of the log is damaged, or cannot be read.
        case unreadable(FerryError)
    }

    let reason: Reason
    let sequence: UInt64
    /// The file that may become whole, or that is damaged.
    var path: String?

    init(_ reason: Reason, at sequence: UInt64, path: String? = nil) {
        self.reason = reason
        self.sequence = sequence
        self.path = path
    }

    /// True if the log needs a snapshot to go on: the next changeset is damaged.
    var isDamage: Bool {
        if case .unreadable(let error) = reason { return error.isReplacedContent }
        return false
    }

    var isFork: Bool { if case .forked = reason { true } else { false } }

    /// True if the file is expected and missing, without any part of the file here.
    var isAbsence: Bool { if case .notThereYet = reason { path == nil } else { false } }

    /// True if the file is missing, or cut off: the rest may still arrive.
    var isExpected: Bool {
        switch reason {
        case .notThereYet, .incomplete, .placeholder: true
        case .collected, .removed, .forked, .damagedHead, .unreadable: false
        }
    }

    // MARK: In words

    /// The error for people and reports.
    /// - Parameters:
    ///   - peer: the log's device.
    ///   - isSuperseded: true if the device's database goes on under another ID.
    func error(of peer: DeviceID, isSuperseded: Bool) -> FerryError {
        let hint =
            isSuperseded && code == .fileNotThereYet
            ? " Its database goes on under another ID, so this may never come: then retire the former one (`ferry devices` "
                + "tells its ID)." : ""
        switch reason {
        case .unreadable(var error):
            error.message = message + hint
            return error
        case .damagedHead(let cause):
            return FerryError(code, message + hint, path: cause.path, device: peer, cause: cause)
        case .collected, .removed, .notThereYet, .incomplete, .placeholder, .forked:
            return FerryError(code, message + hint, path: path, device: peer, sequence: sequence)
        }
    }

    private var code: FerryError.Code {
        switch reason {
        case .collected, .removed: .logCollected
        case .notThereYet, .incomplete, .placeholder: .fileNotThereYet
        case .forked: .deviceForked
        case .damagedHead(let cause): cause.code == .damagedFile ? .fileNotThereYet : cause.code
        case .unreadable(let error): error.code
        }
    }

    private var message: String {
        switch reason {
        case .collected(let start):
            "Its changes from \(sequence) to \(start - 1) were removed from the container after all devices that were there had "
                + "them. A snapshot that holds them is not there yet, or is damaged: wait until one arrives, or run "
                + "`ferry sync` on another device."
        case .removed(let end):
            "It was removed, and its changes from \(sequence) to \(end) count. They come by a snapshot of a device that has them, "
                + "which is not there yet: wait until it arrives, or run `ferry sync` on another device."
        case .notThereYet:
            "Its segment \(sequence) is not there yet, and has still to arrive."
        case .incomplete(let file, let bytes):
            "\(file.fileName) has not arrived whole yet (\(bytes) bytes so far); the rest has still to arrive."
        case .placeholder:
            "Its segment \(sequence) is in the folder as a placeholder only, without its content. It was asked for; "
                + "tell the folder's app to keep the folder downloaded on this device."
        case .forked:
            "Its log was written anew from segment \(sequence) on: its database was restored or copied. What is missing "
                + "comes by itself when it has synced again. If it is gone for good, retire it (`ferry devices` tells its ID): "
                + "then this device takes in all that it sent."
        case .damagedHead(let cause) where cause.code != .damagedFile:
            "Its file \"head\": \(cause.message) Its changes are read all the same."
        case .damagedHead:
            "Its file \"head\" is damaged or has not arrived whole. Its changes are read all the same, and its next "
                + "sync writes the file anew."
        case .unreadable(let error):
            // An error of a file's bytes does not know the file's name.
            if [.fileNotThereYet, .damagedFile].contains(error.code), let file = error.path?.split(separator: "/").last,
                !error.message.contains(file)
            {
                "Its file \"\(file)\": \(error.message)"
            } else {
                error.message
            }
        }
    }
}
