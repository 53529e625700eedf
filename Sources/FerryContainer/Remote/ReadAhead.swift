/// Bytes of files that will be read, or that were read a short time ago. A value without I/O.
///
/// A reader may need a file twice: a batch had no room for the file, or a join has read the schemas of a log and replays the log next. So read
/// files stay while there is room.
///
/// Invariants:
/// - Files not read yet stay until they are read, or until `removeUnread`.
/// - All files together have at most `maximumBytes`, unless the files not read yet have more.
struct ReadAhead {
    typealias File = (bytes: [UInt8], tag: String)

    private struct Entry {
        var file: File
        /// The number of the last reading; `nil` before the first.
        var reading: UInt64?
    }

    private let maximumBytes: Int
    private var entries: [String: Entry] = [:]
    /// The readings, the earliest first. A reading of a file that was read again or removed since is void.
    private var readings: [(name: String, number: UInt64)] = []
    /// The position of the first reading that may count.
    private var firstReading = 0
    private var readingCount: UInt64 = 0
    /// The bytes of all files, and of those not read yet.
    private(set) var byteCount = 0
    private(set) var unreadByteCount = 0

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    func has(_ name: String) -> Bool { entries[name] != nil }

    /// Adds a file for a later reading.
    mutating func add(_ name: String, _ bytes: [UInt8], tag: String) {
        remove(name)
        entries[name] = Entry(file: (bytes, tag))
        byteCount += bytes.count
        unreadByteCount += bytes.count
        makeRoom()
    }

    /// Keeps a file that was read just now.
    mutating func keep(_ name: String, _ bytes: [UInt8], tag: String) {
        add(name, bytes, tag: tag)
        _ = read(name)
    }

    /// Gives a file's bytes out, and keeps them while there is room.
    mutating func read(_ name: String) -> File? {
        guard let entry = entries[name] else { return nil }
        if entry.reading == nil { unreadByteCount -= entry.file.bytes.count }
        readingCount += 1
        entries[name]?.reading = readingCount
        readings.append((name, readingCount))
        makeRoom()
        return entry.file
    }

    mutating func remove(_ name: String) {
        guard let entry = entries.removeValue(forKey: name) else { return }
        byteCount -= entry.file.bytes.count
        if entry.reading == nil { unreadByteCount -= entry.file.bytes.count }
    }

    /// Gives a file's bytes out, and keeps them no longer.
    mutating func take(_ name: String) -> File? {
        defer { remove(name) }
        return entries[name]?.file
    }

    /// Removes the files that were read.
    mutating func removeRead() {
        for (name, entry) in entries where entry.reading != nil { remove(name) }
    }

    /// Removes the files that were not read yet.
    mutating func removeUnread() {
        for (name, entry) in entries where entry.reading == nil { remove(name) }
    }

    /// Removes read files, those of the earliest readings first.
    private mutating func makeRoom() {
        while byteCount > maximumBytes, firstReading < readings.count {
            let reading = readings[firstReading]
            firstReading += 1
            if entries[reading.name]?.reading == reading.number { remove(reading.name) }
        }
        // Void readings go when they are most of the list, so each reading costs the same.
        guard readings.count > 64, readings.count > entries.count * 2 || firstReading * 2 > readings.count else {
            return
        }
        readings = readings[firstReading...].filter { entries[$0.name]?.reading == $0.number }
        firstReading = 0
    }
}
