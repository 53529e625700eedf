import FerryCore
import FerryMerge
import XCTest

@testable import FerryStore

/// Bytes of the state that Ferry did not write: a damaged database is told, and nothing is made of it.
final class StateCodecTests: XCTestCase {
    private func assertDamaged(_ bytes: [UInt8], line: UInt = #line, _ decode: ([UInt8]) throws -> Void) {
        XCTAssertThrowsError(try decode(bytes), line: line) {
            XCTAssertEqual(($0 as? FerryError)?.code, .databaseCorrupt, "\($0)", line: line)
        }
    }

    func testAColumnOrDeviceThatCannotBeIsDamage() {
        let fields = { (bytes: [UInt8]) in
            _ = try StateCodec.decode(bytes) { _ in DeviceID(high: 0, low: 1) }
        }
        var writer = ByteWriter()
        writer.writeVarint(0)
        writer.writeVarint(1 << 20)
        writer.writeVarint(0)
        assertDamaged(writer.bytes, fields)
        writer = ByteWriter()
        writer.writeVarint(1 << 23)
        assertDamaged(writer.bytes, fields)
        writer = ByteWriter()
        writer.writeVarint(0)
        writer.writeVarint(UInt64(UInt32.max))
        writer.writeVarint(0)
        assertDamaged(writer.bytes, fields)
        writer = ByteWriter()
        writer.writeVarint(0)
        writer.writeVarint(0)
        writer.writeVarint(.max)
        writer.write64(0)
        assertDamaged(writer.bytes, fields)
        for column: UInt64 in [1 << 20 + 1, .max] {
            writer = ByteWriter()
            writer.writeVarint(column)
            writer.write(FieldValue.null)
            assertDamaged(writer.bytes) { _ = try StateCodec.decodeKeptAndGiven($0) }
        }
    }

    private func stamp(_ time: UInt64, _ device: UInt64) -> Stamp {
        Stamp(time: HybridTime(rawValue: time), device: DeviceID(high: 0, low: device))
    }

    private func assertKept(
        _ registers: ObjectRegisters, _ policies: [Int: ColumnRegister] = [:], count: Int?, line: UInt = #line
    ) throws {
        let bytes = StateCodec.encode(registers, policies) { Int($0.low) }
        XCTAssertEqual(bytes?.count, count, line: line)
        let decoded = try StateCodec.decode(bytes ?? []) { DeviceID(high: 0, low: UInt64($0)) }
        XCTAssertEqual(decoded.registers, registers, line: line)
        XCTAssertEqual(decoded.policies, policies, line: line)
        let inserted = try StateCodec.decodeInsertion(bytes ?? []) { DeviceID(high: 0, low: UInt64($0)) }
        XCTAssertEqual(inserted, registers.inserted, line: line)
    }

    func testAFieldsStampIsFoundAndSetWhereItLies() throws {
        let (first, second, third) = (stamp(1 << 60, 1), stamp(1 << 60 + 1, 2), stamp(.max, 300))
        for fields: [Stamp?] in [
            [first, first, first], [first, second, nil], [second, third, first], [nil, nil, third], [third],
        ] {
            let registers = ObjectRegisters(inserted: first, fields: fields)
            let bytes = StateCodec.encode(registers) { Int($0.low) } ?? []
            for column in 0..<4 {
                let found = try StateCodec.find(column, in: bytes)
                XCTAssertEqual(found.map { stamp($0.time.rawValue, UInt64($0.device)) }, registers.stamp(of: column))
                guard let found else { continue }
                var (changed, expected) = (bytes, registers)
                StateCodec.set(column, to: third.time, device: 300, in: &changed, at: found.entry)
                expected.fields[column] = third
                XCTAssertEqual(changed, StateCodec.encode(expected) { Int($0.low) })
            }
        }
    }

    func testADeletionIsAddedWhereTheStateLies() throws {
        let (first, second, third) = (stamp(1 << 60, 1), stamp(1 << 60 + 1, 300), stamp(1 << 60 + 1, 2))
        let last = stamp(1 << 61, 400)
        for fields: [Stamp?] in [[], [first], [first, second, nil], [second, third, first], [nil, nil, third]] {
            var registers = ObjectRegisters(inserted: first, fields: fields)
            var bytes = StateCodec.encode(registers) { Int($0.low) } ?? []
            let newest = try XCTUnwrap(bytes.withUnsafeBytes { try StateCodec.newestWrite(in: $0) })
            XCTAssertEqual(newest.time, registers.newest?.time)
            let rivals = Set(([first] + fields).compactMap { $0 }.filter { $0.time == newest.time })
            if rivals.count == 1 { XCTAssertEqual(newest.device, Int(rivals.first?.device.low ?? 0)) }
            XCTAssertTrue(newest.isTied || rivals.count == 1)
            StateCodec.insertDeletion(last.time, device: 400, at: newest.end, in: &bytes)
            registers.mergeDeletion(last)
            XCTAssertEqual(bytes, StateCodec.encode(registers) { Int($0.low) })
            XCTAssertNil(try bytes.withUnsafeBytes { try StateCodec.newestWrite(in: $0) })
        }
    }

    func testAStateThatIsNotPlainHasNoPlace() throws {
        let (first, second) = (stamp(1 << 60, 1), stamp(1 << 60 + 1, 2))
        for registers in [
            ObjectRegisters(fields: [first]), ObjectRegisters(deleted: second),
            ObjectRegisters(inserted: first, deleted: second, fields: [first]),
            ObjectRegisters(inserted: first, deleted: second, earlierDeletions: [first], fields: [first]),
        ] {
            let bytes = StateCodec.encode(registers) { Int($0.low) } ?? []
            XCTAssertNil(try StateCodec.find(0, in: bytes))
            XCTAssertNil(try bytes.withUnsafeBytes { try StateCodec.newestWrite(in: $0) })
        }
        let registers = ObjectRegisters(inserted: first, fields: [first, second])
        let register = ColumnRegister(plain: StampedValue(first, .integer(1)))
        let bytes = StateCodec.encode(registers, [1: register]) { Int($0.low) } ?? []
        XCTAssertNil(try StateCodec.find(0, in: bytes))
        XCTAssertNil(try bytes.withUnsafeBytes { try StateCodec.newestWrite(in: $0) })
        XCTAssertNil(try StateCodec.find(0, in: []))
    }

    func testWhatIsWrittenIsReadAgain() throws {
        let (first, second, third) = (stamp(1 << 60, 1), stamp(1 << 60 + 1, 2), stamp(.max, 300))
        try assertKept(ObjectRegisters(), count: nil)
        try assertKept(ObjectRegisters(inserted: first, fields: [first, first, first]), count: 10)
        try assertKept(ObjectRegisters(inserted: first, fields: [first, second, nil]), count: 22)
        try assertKept(ObjectRegisters(deleted: third), count: 11)
        try assertKept(ObjectRegisters(fields: [nil, second]), count: 11)
        let all = ObjectRegisters(
            inserted: second, deleted: third, earlierDeletions: [first, second], fields: [nil, second, third])
        try assertKept(all, count: 61)
        let policies = [1: ColumnRegister(plain: StampedValue(first, .integer(7)))]
        try assertKept(all, policies, count: 95)
    }

    func testAnInsertionIsWrittenAsAnyOtherState() throws {
        for columns in [[], [0, 1, 2], [2], [1, 40]] {
            let inserted = stamp(1 << 60, 200)
            var fields: [Stamp?] = Array(repeating: nil, count: (columns.max() ?? -1) + 1)
            for column in columns { fields[column] = inserted }
            let registers = ObjectRegisters(inserted: inserted, fields: fields)
            var state = StateCodec.Insertion(columns, device: 200)
            state.set(HybridTime(rawValue: .max))
            state.set(inserted.time)
            XCTAssertEqual(state.bytes, StateCodec.encode(registers) { Int($0.low) })
        }
    }
}
