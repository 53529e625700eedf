import FerryContainer
import FerryCore
import FerryMembers
import Foundation

@testable import FerryEngine
@testable import FerryLog

private let container = ContainerID(high: 1, low: 2)

func checkSnapshotFile(_ input: [UInt8]) throws {
    let file = try withChecksum(input)
    let container: ContainerID = try id(input, at: 8)
    if input[3] == UInt8(ascii: "C") {
        try requireSame(try SnapshotChunkDecoder.decode(file, container: container).chunk)
    } else {
        let (manifest, _) = try SnapshotManifestDecoder.decode(file, container: container)
        try require(manifest.container == container, "the manifest belongs elsewhere")
    }
}

func checkManifest(_ input: [UInt8]) throws {
    // Most bytes make sense in one version only: what one refuses another may read, and what all refuse is nothing.
    let read = (1...SnapshotFile.Kind.manifest.version).compactMap { version in
        try? SnapshotManifestDecoder.decode(body: input[...], version: version, container: container)
    }
    if read.isEmpty { throw Nothing() }
    for manifest in read { try requireSame(manifest) }
}

private func requireSame(_ manifest: SnapshotManifest) throws {
    let version = SnapshotManifestEncoder.version(of: manifest)
    let again = try mustSucceed("writing what was read") { try SnapshotManifestEncoder.body(of: manifest) }
    let second = try mustSucceed("reading what was written") {
        try SnapshotManifestDecoder.decode(body: again[...], version: version, container: container)
    }
    try require(second == manifest, "the manifest changed")
}

func checkChunk(_ input: [UInt8]) throws { try requireSame(try SnapshotChunkDecoder.decode(body: input[...])) }

private func requireSame(_ chunk: SnapshotChunk) throws {
    let again = try mustSucceed("writing what was read") { try SnapshotChunkEncoder.body(of: chunk) }
    let second = try mustSucceed("reading what was written") { try SnapshotChunkDecoder.decode(body: again[...]) }
    try require(second == chunk, "the chunk changed")
}

/// The input is the length of what stands in place of the chunks (2 bytes, least significant first), these bytes, and a
/// manifest's body.
func checkArchive(_ input: [UInt8]) throws {
    guard input.count >= 2 else { throw Nothing() }
    let length = min(Int(input[0]) | Int(input[1]) << 8, input.count - 2)
    let manifest = try SnapshotFile.encode(Array(input[(2 + length)...]), .manifest, container: container)
    var writer = ByteWriter()
    writer.write(contentsOf: ArchiveFile.magic)
    writer.write(contentsOf: [ArchiveFile.plainVersion, 0, 0, 0])
    writer.write(container)
    writer.write(contentsOf: input[2..<2 + length])
    let place = UInt64(writer.bytes.count)
    writer.write(contentsOf: manifest.bytes)
    writer.write64(place)
    writer.write64(UInt64(manifest.bytes.count))
    writer.write(contentsOf: ArchiveFile.magic)
    try withFile(writer.bytes) { path in
        let archive = try SnapshotArchive(ArchiveFile(path: path))
        for table in archive.manifest.tables {
            for chunk in table.chunks { _ = try archive.chunk(chunk, of: table.name) }
        }
    }
}

/// The input is the lengths of what stands in place of the chunks, and of a manifest's body (2 bytes each, least significant first);
/// both; and what stands in place of the records.
func checkSealedArchive(_ input: [UInt8]) throws {
    guard input.count >= 4 else { throw Nothing() }
    let chunks = min(Int(input[0]) | Int(input[1]) << 8, input.count - 4)
    let body = min(Int(input[2]) | Int(input[3]) << 8, input.count - 4 - chunks)
    let member = try FuzzMember()
    let plain = try SnapshotFile.encode(
        Array(input[(4 + chunks)..<(4 + chunks + body)]), .manifest, container: member.container
    ).bytes
    let manifest = try member.seal.seal(plain, .manifest, of: member.device, under: member.epoch)
    let records = input[(4 + chunks + body)...]
    var writer = ByteWriter()
    writer.write(contentsOf: ArchiveFile.magic)
    writer.write(contentsOf: [ArchiveFile.sealedVersion, 0, 0, 0])
    writer.write(member.container)
    writer.write(contentsOf: input[4..<4 + chunks])
    let place = UInt64(writer.bytes.count)
    writer.write(contentsOf: manifest)
    writer.write(contentsOf: records)
    writer.write64(place)
    writer.write64(UInt64(manifest.count))
    writer.write64(place + UInt64(manifest.count))
    writer.write64(UInt64(records.count))
    writer.write(contentsOf: ArchiveFile.magic)
    try withFile(writer.bytes) { path in
        let file = try ArchiveFile(path: path)
        do {
            let records = try file.readRecords()
            var graph = MemberGraph(genesis: records[0].hash, container: member.container)
            for record in records { try graph.insert(record) }
            _ = Roster(graph).digest
        } catch is FerryError {
            // The records are refused: the parts are looked at all the same.
        }
        let archive = try SnapshotArchive(file, seal: member.seal)
        for table in archive.manifest.tables {
            for chunk in table.chunks { _ = try archive.chunk(chunk, of: table.name) }
        }
    }
}

private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
    let file = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("ferry-fuzz-\(getpid()).ferry")
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }  // a temporary file
    try body(file.path)
}
