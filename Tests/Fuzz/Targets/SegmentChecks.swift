import FerryCore

@testable import FerryLog

/// Rows that are alike take hardly any bytes, so a small file may well hold millions of values (`SegmentLimits`). Those that
/// claim more than this are passed over, so that the bound on memory can be a small one.
private let mostClaimed: UInt32 = 1 << 18
/// So may they hold contents many times over, which takes long to compare.
private let mostContents = 1 << 26

func checkSegment(_ input: [UInt8]) throws {
    let file = try withChecksum(input)
    _ = SegmentDecoder.isIncomplete(input)
    if input.count >= 104 {
        var counts = ByteReader(input[96..<104])
        let (operations, values) = (try counts.read32(), try counts.read32())
        guard operations <= mostClaimed, values <= mostClaimed else { throw Nothing() }
    }
    let (header, changesets) = try SegmentDecoder.decode(file, container: id(input, at: 8), device: id(input, at: 24))
    if header.contentBytes > mostContents { return }
    let again = try mustSucceed("writing what was read") {
        try SegmentEncoder.encode(
            changesets, container: header.container, previous: header.previous, tail: header.tail)
    }
    let (secondHeader, second) = try mustSucceed("reading what was written") {
        try SegmentDecoder.decode(again.bytes, container: header.container, device: header.device)
    }
    try requireSame(changesets, second)
    try require(
        secondHeader.operationCount == header.operationCount && secondHeader.valueCount == header.valueCount
            && secondHeader.chainEnd == (header.tail ?? again.checksum),
        "the header changed")
}

/// The bytes before the body: version, number of changesets, operations and values (2 bytes each, least significant first),
/// time of the last changeset (8 bytes).
private let prefixBytes = 14

func checkSegmentBody(_ input: [UInt8]) throws {
    guard input.count >= prefixBytes else { throw Nothing() }
    var reader = ByteReader(input[..<prefixBytes])
    // Large values need parts beside the file.
    let version = try reader.readByte() % SegmentHeader.rolledUpVersion + 1
    let count = UInt64(try reader.readByte())
    let counts = try reader.read32()
    let time = HybridTime(rawValue: try reader.read64())
    guard count > 0, time <= .latest else { throw Nothing() }
    let body = Array(input[prefixBytes...])
    var header = SegmentHeader(
        container: ContainerID(high: 1, low: 2), device: DeviceID(high: 3, low: 4), firstSequence: 1,
        lastSequence: count, lastTime: time, previous: nil, checksum: Checksum(high: 0, low: 0), tail: nil,
        bodyBytes: body.count, operationCount: Int(counts & 0xffff), valueCount: Int(counts >> 16), codec: .stored,
        storedBytes: body.count, formatVersion: version)
    let changesets = try BodyDecoder.decode(body[...], header: &header)
    if header.contentBytes > mostContents { return }
    let late = try mustSucceed("reading values when they are asked for") {
        try BodyDecoder.decode(body[...], header: &header, valuesAtOnce: 16)
    }
    try requireSame(changesets, late)
    var budget = SegmentBudget.forEncoding
    let again = try mustSucceed("writing what was read") {
        try BodyEncoder.encode(changesets, formatVersion: version, budget: &budget).bytes
    }
    let second = try mustSucceed("reading what was written") {
        try BodyDecoder.decode(again[...], header: &header)
    }
    try requireSame(changesets, second)
    var secondBudget = SegmentBudget.forEncoding
    let third = try mustSucceed("writing values that are read when they are asked for") {
        try BodyEncoder.encode(late, formatVersion: version, budget: &secondBudget).bytes
    }
    try require(third == again, "the same changesets give other bytes")
}

private func requireSame(_ left: [Changeset], _ right: [Changeset]) throws {
    try require(left.count == right.count, "a changeset is lost")
    for (left, right) in zip(left, right) {
        try require(
            left.device == right.device && left.sequence == right.sequence && left.time == right.time
                && left.context == right.context && left.schema == right.schema
                && left.tables.count == right.tables.count,
            "the changeset \(left.sequence) changed")
        for (left, right) in zip(left.tables, right.tables) { try requireSame(left, right) }
    }
}

private func requireSame(_ left: TableChanges, _ right: TableChanges) throws {
    try require(
        Array(left.name.utf8) == Array(right.name.utf8) && left.identity == right.identity
            && left.columns == right.columns && left.shapes == right.shapes
            && left.columns.indices.allSatisfy { left.payload(of: $0) == right.payload(of: $0) }
            && left.operations.count == right.operations.count,
        "the table \(left.name) changed")
    for (one, other) in zip(left.operations, right.operations) {
        try require(
            one.object == other.object && one.kind == other.kind && one.time == other.time && one.key == other.key
                && one.shape == other.shape && left.values(of: one) == right.values(of: other),
            "an operation on \(one.object) changed")
    }
}
