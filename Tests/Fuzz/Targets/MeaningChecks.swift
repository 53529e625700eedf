import FerryCore
import FerrySchema
import FerryStore
import Foundation

@testable import FerryEngine
@testable import FerryLog

/// A changeset that means nonsense is refused, or replayed so that rows are what the state says, in a database that goes on.
func checkMeaning(_ input: [UInt8]) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-fuzz-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // a temporary folder
    let path = folder.appendingPathComponent("a.sqlite").path
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    let store = try Store(path: path)
    try store.write { connection in
        for statement in ForgedGrammar.schema.split(separator: ";") where !statement.allSatisfy(\.isWhitespace) {
            try connection.execute(String(statement))
        }
    }
    let (own, other) = (DeviceID(high: 0, low: 1), DeviceID(high: 0xe, low: 0xe))
    _ = try store.beginTracking(
        StoreIdentity(
            device: own, deviceName: "a", container: ContainerID(high: 0, low: 9), containerName: "c",
            containerPath: "/c"), TableSelection(declaredIdentities: ["note": ["code"]]))
    let encode: SegmentEncoding = { changeset, previous, _ in
        let segment = try SegmentEncoder.encode(
            [changeset], container: ContainerID(high: 0, low: 9), previous: previous)
        return OutboxEntry(
            first: segment.firstSequence, last: segment.lastSequence, changes: changeset.operationCount,
            checksum: segment.checksum, bytes: segment.bytes)
    }
    _ = try store.pass(replaying: [], encode: encode)
    var grammar = ForgedGrammar(
        chance: Choices(bytes: input), devices: [own], objects: try objects(store),
        now: HybridTime(milliseconds: SystemClock().milliseconds()))
    var refusal: FerryError?
    var sequence: UInt64 = 0
    var position = HybridTime.zero
    for _ in 0..<2 {
        let said = grammar.changeset()
        position = max(position, said.time)
        sequence += 1
        let changeset = Changeset(
            device: other, sequence: sequence, time: position, context: said.context, schema: said.schema,
            tables: said.tables)
        // What cannot be written is no file.
        guard
            let segment = try? SegmentEncoder.encode(
                [changeset], container: ContainerID(high: 0, low: 9), previous: nil)
        else { throw Nothing() }
        let read = try SegmentDecoder.decode(segment.bytes, container: ContainerID(high: 0, low: 9), device: other).1
        do {
            refusal = try store.pass(replaying: read, encode: encode).refused[other]
        } catch let error as FerryError {
            refusal = error
        }
        try store.write { try $0.execute("INSERT INTO setting VALUES ('honest \(sequence)', 1)") }
        _ = try mustSucceed("packing beside it") { try store.pass(replaying: [], encode: encode) }
        if refusal != nil { break }
    }
    let honest = try store.read { try $0.count("SELECT count(*) FROM setting WHERE name LIKE 'honest %'") }
    try require(honest == Int(sequence), "\(honest) rows of \(sequence) are there")
    let verification = try store.verify(deep: true)
    try require(verification.differences.isEmpty, "rows differ: \(verification.differences)")
    try require(verification.integrity.isEmpty && verification.foreignKeys.isEmpty, "the database is not sound")
    if let refusal { throw refusal }
}

private func objects(_ store: Store) throws -> [String: [ObjectID]] {
    try store.read { connection in
        var objects: [String: [ObjectID]] = [:]
        for row in try connection.rows("SELECT number, name FROM ferry_table ORDER BY number") {
            guard case .integer(let number) = row[0], case .text(let name) = row[1] else { continue }
            objects[String(decoding: name, as: UTF8.self)] = try connection.rows(
                "SELECT object FROM ferry_object_\(number) ORDER BY 1"
            ).compactMap { if case .blob(let bytes) = $0[0] { ObjectID(bytes: bytes) } else { nil } }
        }
        return objects
    }
}
