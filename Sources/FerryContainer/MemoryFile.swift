import FerryCore

/// A file of `MemoryFileSystem`: its present content, the durable content, and every write in between. Guarded by the file system's
/// lock, never let out of the lock.
final class MemoryFile {
    private struct Write {
        var offset: Int
        var bytes: [UInt8]
    }

    /// As an inode's, but never used again.
    let number: UInt64
    /// True if other accounts may not read or change the file.
    let isPrivate: Bool
    var isReadOnly = false
    private(set) var content: [UInt8] = []
    private(set) var writeCount = 0
    private var durable: [UInt8] = []
    private var pending: [Write] = []
    /// True if all of the content was synchronized.
    private var isDurable = false

    init(number: UInt64, isPrivate: Bool) {
        self.number = number
        self.isPrivate = isPrivate
    }

    var version: FileVersion { FileVersion(number: number, size: content.count, modified: Int64(writeCount)) }

    /// Writes, not yet durably.
    func write(_ bytes: some Collection<UInt8>, at offset: Int) {
        let write = Write(offset: offset, bytes: Array(bytes))
        pending.append(write)
        Self.apply(write.bytes[...], at: offset, to: &content)
        writeCount += 1
        isDurable = false
    }

    /// Makes the content durable.
    func synchronize() {
        durable = content
        pending = []
        isDurable = true
    }

    /// Goes back to the remains of a crash. Of each lost write the first half had reached the disk.
    func crash(losing loss: MemoryFileSystem.Loss) {
        let isLost =
            switch loss {
            case .nothing: false
            case .contents, .everything: !isDurable
            case .random(let random): !isDurable && random.next() & 1 == 0
            }
        guard isLost else { return }
        content = durable
        for write in pending {
            Self.apply(write.bytes.prefix(write.bytes.count / 2), at: write.offset, to: &content)
        }
        pending = [Write(offset: 0, bytes: content)]
        writeCount += 1
    }

    private static func apply(_ bytes: ArraySlice<UInt8>, at offset: Int, to content: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let end = offset + bytes.count
        if content.count < end { content.append(contentsOf: repeatElement(0, count: end - content.count)) }
        content.replaceSubrange(offset..<end, with: bytes)
    }
}
