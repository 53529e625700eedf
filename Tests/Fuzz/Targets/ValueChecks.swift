import FerryCore
import FerrySchema

@testable import FerryMerge
@testable import FerryStore

private let own = Stamp(time: HybridTime(milliseconds: 1_700_000_000_000), device: DeviceID(high: 1, low: 2))

func checkValue(_ input: [UInt8]) throws {
    var reader = ByteReader(input)
    let value = try reader.readValue()
    var writer = ByteWriter()
    writer.write(value)
    var second = ByteReader(writer.bytes)
    let again = try mustSucceed("reading what was written") { try second.readValue() }
    try require(again == value && second.isAtEnd, "the value changed")
}

func checkPayload(_ input: [UInt8]) throws {
    guard let first = input.first, let kind = PayloadKind(rawValue: first) else { throw Nothing() }
    let part = try PolicyCodec.decode(input[1...], as: kind, own: own)
    let again = PolicyCodec.encode(part, own: own)
    let second = try mustSucceed("reading what was written") {
        try PolicyCodec.decode(again[...], as: kind, own: own)
    }
    try require(second == part, "the payload changed")
    var once = ColumnRegister()
    once.merge(.part(part), at: own)
    var twice = once
    twice.merge(.part(part), at: own)
    try require(once == twice, "a payload that comes twice has another effect")
    for policy in [ColumnPolicy.lastWriterWins, .max, .min, .counter, .set, .firstWriterWins] {
        _ = once.shown(under: policy)
        _ = once.written(.integer(1), own, under: policy)
    }
}

func checkRegisters(_ input: [UInt8]) throws {
    let registers = try PolicyCodec.decodeRegisters(input) { _ in own }
    guard let again = PolicyCodec.encode(registers, own: { _ in own }) else { return }
    let second = try mustSucceed("reading what was written") {
        try PolicyCodec.decodeRegisters(again) { _ in own }
    }
    try require(second == registers, "the registers changed")
}

func checkArray(_ input: [UInt8]) throws {
    guard let elements = JSONArray.elements(of: .text(input[...])) else { throw Nothing() }
    try require(JSONArray.elements(of: JSONArray.text(of: elements)) == elements, "the array has two forms")
}

/// The first byte says which: even the state, odd the values that no row shows.
func checkState(_ input: [UInt8]) throws {
    guard let kind = input.first else { throw Nothing() }
    let bytes = Array(input.dropFirst())
    if kind.isMultiple(of: 2) { try checkStamps(bytes) } else { try checkKept(bytes) }
}

private func checkStamps(_ bytes: [UInt8]) throws {
    let device = { (number: Int) in DeviceID(high: 7, low: UInt64(bitPattern: Int64(number))) }
    let encode = { (registers: ObjectRegisters, policies: [Int: ColumnRegister]) in
        StateCodec.encode(registers, policies) { Int(Int64(bitPattern: $0.low)) } ?? []
    }
    let state = try StateCodec.decode(bytes, device: device)
    let written = encode(state.registers, state.policies)
    let again = try mustSucceed("reading what was written") { try StateCodec.decode(written, device: device) }
    try require(encode(again.registers, again.policies) == written, "the state changed")
}

private func checkKept(_ bytes: [UInt8]) throws {
    let (kept, given) = try StateCodec.decodeKeptAndGiven(bytes)
    guard let again = StateCodec.encodeKept(kept, given: given) else { return }
    let second = try mustSucceed("reading what was written") { try StateCodec.decodeKeptAndGiven(again) }
    try require(second.kept == kept && second.given == given, "what is kept changed")
}

func checkSchema(_ input: [UInt8]) throws {
    let statements = input.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    for statement in statements {
        _ = IndexText(statement, columns: ["a", "b"])
        _ = IndexText.generatedColumns(statement, columns: ["a", "b"])
    }
    let record = SchemaRecord(
        userVersion: 0, applicationID: 0,
        statements: statements.map { .init(type: "table", name: $0, table: $0, sql: $0) }, tracked: [])
    _ = try DatabaseCreator.create(record, at: ":memory:")
}
