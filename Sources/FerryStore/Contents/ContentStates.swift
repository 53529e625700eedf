import FerryCore
import FerrySQL
import FerrySchema

/// What a device knows of a content besides its row (`ferry_content_state`).
package struct ContentState: Hashable, Sendable {
    /// Whether a person wants the content here for good.
    package var isPinned = false
    /// Whether the content was whole beside the database when it was last looked at.
    package var isWhole = false
    /// When somebody last used the content here, in milliseconds since the Unix epoch.
    package var usedMilliseconds: Int64?
    /// Why the content could not be fetched; `nil` where nothing is known to be in the way.
    package var obstacle: Obstacle?

    package init() {}

    /// Why a content is not here.
    package struct Obstacle: Hashable, Sendable {
        package var code: FerryError.Code
        /// The pack's file, for people.
        package var file: String?
        /// The device that the pack is of.
        package var device: DeviceID?
        package var sinceMilliseconds: Int64

        package init(_ error: FerryError, sinceMilliseconds: Int64) {
            code = error.code
            file = error.path
            device = error.device
            self.sinceMilliseconds = sinceMilliseconds
        }

        fileprivate init?(_ row: ArraySlice<FieldValue>) {
            let row = Array(row)
            guard case .text = row[0], case .integer(let since) = row[3] else { return nil }
            code = FerryError.Code(rawValue: row[0].text)
            if case .text = row[1] { file = row[1].text }
            if case .blob(let bytes) = row[2] { device = DeviceID(bytes: bytes) }
            sinceMilliseconds = since
        }

        /// True where both say the same of the content, whenever it began.
        package func isSame(_ other: Obstacle?) -> Bool {
            other.map { code == $0.code && file == $0.file && device == $0.device } ?? false
        }
    }
}

/// The states of contents. Tables of Ferry's alone: nothing of this travels.
package struct ContentStates {
    private let connection: SQLConnection

    /// - Parameter connection: of a store that has the tables (`DocumentTables`).
    package init(_ connection: SQLConnection) { self.connection = connection }

    /// A content's state.
    package func state(of content: ContentID) throws -> ContentState {
        let rows = try connection.rows(
            "SELECT pinned, whole, used, reason, file, device, since FROM ferry_content_state WHERE content = ?",
            .blob(content.bytes[...]))
        return rows.first.map(Self.state) ?? ContentState()
    }

    private static func state(_ row: [FieldValue]) -> ContentState {
        var state = ContentState()
        state.isPinned = row[0].number != 0
        state.isWhole = row[1].number != 0
        if case .integer(let used) = row[2] { state.usedMilliseconds = used }
        state.obstacle = ContentState.Obstacle(row[3...])
        return state
    }

    private func set(_ assignment: String, _ values: [FieldValue], of content: ContentID) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_content_state(content) VALUES (?)", .blob(content.bytes[...]))
        try connection.execute(
            "UPDATE ferry_content_state SET \(assignment) WHERE content = ?", values + [.blob(content.bytes[...])])
    }

    /// Records that a content is whole here, or no longer.
    package func setWhole(_ isWhole: Bool, _ content: ContentID) throws {
        let rest = isWhole ? ", reason = NULL, file = NULL, device = NULL, since = NULL" : ""
        try set("whole = ?" + rest, [.integer(isWhole ? 1 : 0)], of: content)
    }

    /// Records that a content went to make room. It comes back on request alone, so it counts as used here before.
    package func setEvicted(_ content: ContentID) throws {
        try set("whole = 0, used = coalesce(used, 0)", [], of: content)
    }

    /// Records a use.
    package func setUsed(_ milliseconds: Int64, _ content: ContentID) throws {
        try set("used = ?", [.integer(milliseconds)], of: content)
    }

    /// Records a person's choice.
    package func setPinned(_ isPinned: Bool, _ content: ContentID) throws {
        try set("pinned = ?", [.integer(isPinned ? 1 : 0)], of: content)
    }

    /// Records why a content could not be fetched. An obstacle that is known keeps its age.
    package func setObstacle(_ obstacle: ContentState.Obstacle, _ content: ContentID) throws {
        if obstacle.isSame(try state(of: content).obstacle) { return }
        try set(
            "whole = 0, reason = ?, file = ?, device = ?, since = ?",
            [
                .text(obstacle.code.rawValue), obstacle.file.map { .text($0) } ?? .null,
                obstacle.device.map { .blob($0.bytes[...]) } ?? .null, .integer(obstacle.sinceMilliseconds),
            ], of: content)
    }

    /// The contents that are pinned, or whole, with their states.
    package func here() throws -> [(content: ContentID, state: ContentState)] {
        try connection.rows(
            """
            SELECT pinned, whole, used, reason, file, device, since, content FROM ferry_content_state
            WHERE whole <> 0 OR pinned <> 0
            """
        ).compactMap { row in
            guard case .blob(let bytes) = row[7], let id = ContentID(bytes: bytes) else { return nil }
            return (id, Self.state(row))
        }
    }

    /// The bytes of the contents that are whole here.
    package func wholeBytes() throws -> Int {
        try connection.count(
            """
            SELECT coalesce(sum(c.size), 0) FROM ferry_content_state AS s JOIN ferry_content AS c ON c.id = s.content
            WHERE s.whole <> 0 AND \(ContentRows.hasSize("c.size"))
            """)
    }

    /// The contents that could not be fetched.
    package func obstacles() throws -> [(content: ContentID, obstacle: ContentState.Obstacle)] {
        try connection.rows(
            """
            SELECT reason, file, device, since, content FROM ferry_content_state
            WHERE reason IS NOT NULL AND content IN (SELECT id FROM ferry_content) ORDER BY since, content
            """
        ).compactMap { row in
            guard case .blob(let bytes) = row[4], let id = ContentID(bytes: bytes),
                let obstacle = ContentState.Obstacle(row[0..<4])
            else { return nil }
            return (id, obstacle)
        }
    }
}
