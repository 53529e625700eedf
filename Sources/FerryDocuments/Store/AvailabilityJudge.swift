import FerryContent
import FerryCore
import FerrySQL
import FerryStore

/// Says where the bytes of contents are, by rows and by the directory beside the database. No container is asked.
struct AvailabilityJudge {
    private let connection: SQLConnection
    private let shelf: ContentShelf

    init(_ connection: SQLConnection, _ shelf: ContentShelf) {
        self.connection = connection
        self.shelf = shelf
    }

    /// Where a content's bytes are; `none` without a content.
    func availability(of content: ContentID?) throws -> ContentAvailability {
        guard let content else { return .none }
        let row: ContentRow
        do {
            guard let found = try ContentRows(connection).content(content) else {
                return .waiting(
                    reason: "what it is made of has not arrived", code: .contentNotHere, file: nil,
                    sinceMilliseconds: nil)
            }
            row = found
        } catch let error as FerryError where error.code == .damagedFile {
            return .waiting(
                reason: "its row in the database is damaged", code: .damagedFile, file: nil, sinceMilliseconds: nil)
        }
        if row.list.chunks.isEmpty { return .here }
        let state = try ContentStates(connection).state(of: content)
        if state.isWhole, try shelf.path(ofWhole: content, byteCount: row.byteCount) != nil { return .here }
        if let obstacle = state.obstacle {
            if obstacle.code == .contentLost { return .lost(sinceMilliseconds: obstacle.sinceMilliseconds) }
            return .waiting(
                reason: Self.sentence(obstacle.code), code: obstacle.code, file: obstacle.file,
                sinceMilliseconds: obstacle.sinceMilliseconds)
        }
        let index = ChunkIndex(connection)
        for chunk in row.list.chunks {
            let isHere = try index.places(of: chunk.id).contains { try shelf.openPending($0.pack) != nil }
            if !isHere { return .inContainer }
        }
        return .here
    }

    /// Why a content waits, for people.
    private static func sentence(_ code: FerryError.Code) -> String {
        switch code {
        case .contentNotHere: "what it is made of has not arrived"
        case .fileNotThereYet: "the pack that has it is not there yet"
        case .limitExceeded: "the disk has no room for it"
        case .formatTooNew: "a newer Ferry wrote it; update Ferry"
        case .notSealed, .foreignFile: "the pack that has it does not belong there"
        case .inputOutput, .accessDenied: "the pack that has it cannot be read"
        default: "the pack that has it is damaged"
        }
    }
}
