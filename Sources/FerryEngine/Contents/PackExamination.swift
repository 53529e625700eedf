import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// A fault of a pack.
enum PackFault {
    case missing
    /// The file's length differs from the row's.
    case wrongLength(Int)
    /// Bytes of these chunks, or around the chunks, are wrong.
    case damaged(Set<ChunkID>, FerryError)
    /// Nobody can say now: a key or a part of the file has not arrived, or the disk fails.
    case unreadable(FerryError)
}

/// Holds packs against their rows: names and lengths, and on request every byte. One chunk at a time is in memory.
struct PackExamination {
    let replica: Replica
    let container: Container
    /// True: read every chunk, and prove the chunk by its ID.
    let isDeep: Bool
    private let source: ChunkSource
    private let epochs: Set<EpochID>

    init(_ replica: Replica, _ container: Container, isDeep: Bool) throws {
        self.replica = replica
        self.container = container
        self.isDeep = isDeep
        source = try ChunkSource(replica, container)
        epochs = try replica.store.readContents { rows, _ in try rows.epochs() }
    }

    /// A pack with a row, and the row's device and length.
    typealias Named = (id: PackID, device: DeviceID, byteCount: Int)

    /// All packs with a row of a length that Ferry may have written.
    func packs() throws -> [Named] {
        var packs: [Named] = []
        try replica.store.readContents { rows, _ in try rows.forEachPack { packs.append(($0, $1, $2)) } }
        return packs
    }

    /// Examines a pack, in the container or beside the database.
    /// - Returns: `nil` where nothing is wrong.
    func fault(of pack: Named) throws -> PackFault? {
        do {
            if try replica.shelf.openPending(pack.id) == nil {
                guard let length = try container.packByteCount(pack.id, of: pack.device) else { return .missing }
                guard length == pack.byteCount else { return .wrongLength(length) }
            }
            // Another examination tells of rows not written by Ferry.
            guard isDeep, let row = try replica.store.readContents({ rows, _ in try rows.soundPack(pack.id) }) else {
                return nil
            }
            return try fault(of: row)
        } catch let error as FerryError where error.concernsOneFile {
            return .unreadable(error)
        }
    }

    private func fault(of pack: PackRow) throws -> PackFault? {
        var (damaged, failure): (Set<ChunkID>, FerryError?) = ([], nil)
        do {
            try source.checkFrame(of: pack)
        } catch let error as FerryError where error.saysNothing && error.code != .fileNotThereYet {
            failure = error
        }
        for entry in pack.directory.entries {
            do {
                _ = try source.chunk(entry, in: pack, among: epochs)
            } catch let error as FerryError where error.code == .damagedFile {
                damaged.insert(entry.id)
                failure = failure ?? error
            }
        }
        return failure.map { .damaged(damaged, $0) }
    }
}

/// The faulty packs of an examination.
struct PackFaults {
    private(set) var all: [PackID: PackFault] = [:]

    /// Examines packs.
    /// - Parameter progress: called with the number of examined packs.
    init(
        of packs: [PackExamination.Named], _ examination: PackExamination, progress: (Int) -> Void = { _ in }
    ) throws {
        try examine(packs, examination, progress: progress)
    }

    /// Examines packs, perhaps once more.
    mutating func examine(
        _ packs: [PackExamination.Named], _ examination: PackExamination, progress: (Int) -> Void = { _ in }
    ) throws {
        for (number, pack) in packs.enumerated() {
            progress(number)
            all[pack.id] = try examination.fault(of: pack)
        }
    }

    /// Whether a pack gives a chunk, as far as the examination can say.
    func give(_ chunk: ChunkID, in pack: PackID) -> Bool {
        switch all[pack] {
        case nil, .unreadable: true
        case .missing, .wrongLength: false
        case .damaged(let chunks, _): !chunks.contains(chunk)
        }
    }

    /// Whether a pack besides a given pack gives a chunk.
    func give(_ chunk: ChunkID, besides pack: PackID, _ store: Store) throws -> Bool {
        try store.readContents { _, index in try index.places(of: chunk) }.contains {
            $0.pack != pack && give(chunk, in: $0.pack)
        }
    }
}
