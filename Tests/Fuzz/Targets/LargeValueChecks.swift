import FerryCore

@testable import FerryLog

func checkPart(_ input: [UInt8]) throws {
    let file = try withChecksum(input)
    _ = PartFile.isIncomplete(input)
    let container: ContainerID = try id(input, at: 8)
    let (body, _, checksum) = try SnapshotFile.decode(file, .part, container: container)
    if body.isEmpty { throw Nothing() }
    try require(!PartFile.isIncomplete(file), "a whole file counts as one that has not arrived")
    try require(try PartFile.verify(file, container: container) == checksum, "a part has two checksums")
    let part = LargeValue.Part(checksum: checksum, count: body.count)
    let content = try mustSucceed("reading a part again") { try PartFile.decode(file, part, container: container) }
    try require(content.elementsEqual(body), "a part has two contents")
    let again = try mustSucceed("writing what was read") { try PartFile.encode(content, container: container) }
    let second = try mustSucceed("reading what was written") {
        try PartFile.decode(
            again.bytes, LargeValue.Part(checksum: again.checksum, count: content.count), container: container)
    }
    try require(second.elementsEqual(content), "the part changed")
    do {
        _ = try PartFile.decode(
            file, LargeValue.Part(checksum: checksum, count: body.count + 1), container: container)
        throw FuzzFailure("a part of another length is taken")
    } catch is FerryError {
        // As it has to be.
    }
}

/// The input is the length of a list (2 bytes, least significant first), the list, and the bytes of the only part there is. A list
/// that names another part is refused; a seed has the right name.
func checkLargeValues(_ input: [UInt8]) throws {
    guard input.count > 2 else { throw Nothing() }
    let length = min(Int(input[0]) | Int(input[1]) << 8, input.count - 2)
    let content = input[(2 + length)...]
    if content.isEmpty { throw Nothing() }
    let container = ContainerID(high: 1, low: 2)
    let (file, checksum) = try PartFile.encode(content, container: container)
    var reader = ByteReader(input[2..<2 + length])
    var budget = SegmentBudget.forEncoding
    let large = try LargeContents(
        from: .files(read: { _ in file }, place: { _ in nil }), container: container, budget: &budget, &reader)
    try require(!large.areLeftOut && !large.values.isEmpty, "a list without values is read")
    for (index, value) in large.values.enumerated() {
        try require(value.parts.allSatisfy { $0.checksum == checksum }, "another part is taken")
        let expected = value.parts.flatMap { _ in content }
        try require(large[index].elementsEqual(expected), "a value has other bytes than its parts")
        try require(value.count == expected.count, "a value has another length than its parts")
    }
}
