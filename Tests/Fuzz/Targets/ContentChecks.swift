import FerryContent
import FerryCore

private enum FuzzContent {
    static let container = ContainerID(high: 1, low: 2)
    static let device = DeviceID(high: 3, low: 4)
    static let key = ContentKey(openContainer: container)
    static let surroundings = PackReader.Surroundings(container: container, key: key)
}

/// The input is what stands between the header and the checksum, and then the directory's place in 2 bytes, least significant first,
/// less the header. No input would have a chunk with a right ID by chance: what a chunk's bytes are is looked at all the same.
func checkPack(_ input: [UInt8]) throws {
    guard input.count >= 2 else { throw Nothing() }
    let header = PackWriter(container: FuzzContent.container, device: FuzzContent.device).header
    let place = header.count + (Int(input[input.count - 2]) | Int(input[input.count - 1]) << 8)
    let content = input.dropLast(2)
    var end = ByteWriter()
    let start = min(max(place - header.count, 0), content.count)
    end.write(contentsOf: content.dropFirst(start))
    end.write64(UInt64(place))
    let checksum = ContentHash.checksum(header + end.bytes)
    let pack = header + content.prefix(start) + end.bytes + checksum.bytes
    let reader = try PackReader(
        { Array(pack[$0.clamped(to: 0..<pack.count)]) }, byteCount: pack.count, of: FuzzContent.device,
        in: FuzzContent.surroundings)
    try require(reader.id == checksum, "a pack has another ID than its checksum")
    let directory = reader.directory
    let second = try mustSucceed("reading what was written") {
        try PackDirectory(decoding: directory.encoded[...], start: header.count)
    }
    try require(second == directory, "the directory changed")
    for entry in directory.entries {
        do { _ = try reader.chunk(entry) } catch is FerryError {
            // Not the chunk of the ID, which is well.
        }
    }
}

/// The first 8 bytes are the size that the row tells, least significant first.
func checkList(_ input: [UInt8]) throws {
    guard input.count >= 8 else { throw Nothing() }
    let bytes = Array(input.dropFirst(8))
    let told = Int64(bitPattern: input.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    let list = try ContentList(decoding: bytes, byteCount: told)
    let count = try mustSucceed("counting what was read") { try list.byteCount() }
    try require(Int64(count) == told, "a list has another size than was told")
    let again = try mustSucceed("writing what was read") { try list.encoded() }
    let second = try mustSucceed("reading what was written") { try ContentList(decoding: again, byteCount: told) }
    try require(second == list, "the list changed")
    _ = try mustSucceed("naming what was read") { try FuzzContent.key.contentID(of: list) }
}
