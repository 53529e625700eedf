import FerryCore

/// The bytes of parts and registers (Docs/Format.md, "Payloads"). Bytes from outside are checked: bytes that break the
/// format throw `damagedFile`.
package enum PolicyCodec {
    // MARK: Parts

    /// - Parameter own: the operation's stamp, the most likely stamp inside, which takes a single byte.
    package static func encode(_ part: PolicyPart, own: Stamp) -> [UInt8] {
        var writer = ByteWriter()
        switch part {
        case .maximum(let part), .minimum(let part):
            write(part.reset, own, to: &writer)
            write(part.best, own, to: &writer)
        case .counter(let part):
            write(part.base, own, to: &writer)
            writer.writeVarint(UInt64(part.totals.count))
            for total in part.totals.values.sorted(by: { $0.stamp.device < $1.stamp.device }) {
                write(total.stamp, own, to: &writer)
                writer.writeZigzag(total.amount)
            }
        case .set(let part):
            writer.writeVarint(UInt64(part.elements.count))
            for (content, element) in part.elements.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                write(element.stamp, own, to: &writer)
                writer.writeVarint(element.position.map { UInt64($0) + 1 } ?? 0)
                writer.writeCounted(content)
            }
        case .versions(let part):
            writer.writeVarint(UInt64(part.versions.count))
            for version in part.versions { write(version, own, to: &writer) }
            writer.writeVarint(UInt64(part.seen.count))
            for (device, time) in part.seen.sorted(by: { $0.key < $1.key }) {
                write(Stamp(time: time, device: device), own, to: &writer)
            }
        }
        return writer.bytes
    }

    /// - Parameter own: as for `encode`.
    package static func decode(
        _ bytes: ArraySlice<UInt8>, as kind: PayloadKind, own: Stamp
    ) throws(FerryError) -> PolicyPart {
        var reader = ByteReader(bytes)
        let part = try read(kind, own, from: &reader)
        guard reader.isAtEnd else { throw ByteReader.malformed("a policy's value goes on behind its end") }
        return part
    }

    private static func read(
        _ kind: PayloadKind, _ own: Stamp, from reader: inout ByteReader
    ) throws(FerryError) -> PolicyPart {
        switch kind {
        case .maximum, .minimum:
            let part = ExtremePart(
                reset: try readOptionalStamp(own, from: &reader), best: try readStamped(own, from: &reader))
            return kind == .maximum ? .maximum(part) : .minimum(part)
        case .counter:
            let base = try readStamped(own, from: &reader)
            var totals: [CounterPart.Total] = []
            for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
                totals.append(.init(try readStamp(own, from: &reader), try reader.readZigzag()))
            }
            return .counter(CounterPart(base: base, totals: totals))
        case .set:
            var elements: [[UInt8]: SetPart.Element] = [:]
            for _ in 0..<(try reader.readCount(minimumBytes: 3)) {
                let stamp = try readStamp(own, from: &reader)
                let place = try reader.readVarint()
                guard place <= UInt64(Int32.max) else { throw ByteReader.malformed("an element's place is too large") }
                let content = [UInt8](try reader.readCounted())
                // The visible value must be JSON, and an element must be the same element everywhere.
                guard JSONArray.elements(of: JSONArray.text(of: [content])) == [content] else {
                    throw ByteReader.malformed("an element of a set is not in its one form")
                }
                elements[content] = .init(stamp, position: place == 0 ? nil : Int(place) - 1)
            }
            return .set(SetPart(elements: elements))
        case .versions:
            var versions: [StampedValue] = []
            for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
                versions.append(try readStamped(own, from: &reader))
            }
            var seen: [DeviceID: HybridTime] = [:]
            for _ in 0..<(try reader.readCount()) {
                let stamp = try readStamp(own, from: &reader)
                seen[stamp.device] = stamp.time
            }
            guard Set(versions.map(\.stamp.device)).count == versions.count else {
                throw ByteReader.malformed("a device has two values beside each other")
            }
            return .versions(VersionsPart(versions: versions, seen: seen))
        }
    }

    // MARK: Registers

    /// The registers of an object's columns, as the state keeps them.
    /// - Parameter own: for each column its newest stamp, which is kept elsewhere too.
    package static func encode(_ registers: [Int: ColumnRegister], own: (Int) -> Stamp?) -> [UInt8]? {
        if registers.isEmpty { return nil }
        var writer = ByteWriter()
        for (column, register) in registers.sorted(by: { $0.key < $1.key }) {
            let own = own(column) ?? noStamp
            writer.writeVarint(UInt64(column))
            write(register.plain?.stamp, own, to: &writer)
            if let plain = register.plain { writer.write(plain.value) }
            let parts = register.parts
            writer.writeVarint(UInt64(parts.count))
            for part in parts {
                writer.write(part.kind.rawValue)
                writer.writeCounted(encode(part, own: own))
            }
        }
        return writer.bytes
    }

    package static func decodeRegisters(
        _ bytes: [UInt8], own: (Int) -> Stamp?
    ) throws(FerryError) -> [Int: ColumnRegister] {
        var registers: [Int: ColumnRegister] = [:]
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            let column = Int(clamping: try reader.readVarint())
            let own = own(column) ?? noStamp
            var register = ColumnRegister()
            if let stamp = try readOptionalStamp(own, from: &reader) {
                register.plain = StampedValue(stamp, try reader.readValue())
            }
            for _ in 0..<(try reader.readCount()) {
                let kind = try readKind(from: &reader)
                register.merge(.part(try decode(try reader.readCounted(), as: kind, own: own)), at: own)
            }
            registers[column] = register
        }
        return registers
    }

    private static func readKind(from reader: inout ByteReader) throws(FerryError) -> PayloadKind {
        guard let kind = PayloadKind(rawValue: try reader.readByte()) else {
            throw FerryError(.storeTooNew, "The state holds a policy of a newer Ferry. Update Ferry.")
        }
        return kind
    }

    private static let noStamp = Stamp(time: .zero, device: DeviceID(high: 0, low: 0))

    // MARK: Stamps: 0 none, 1 the operation's own, 2 in full

    private static func write(_ stamp: Stamp?, _ own: Stamp, to writer: inout ByteWriter) {
        guard let stamp else { return writer.write(0) }
        if stamp == own { return writer.write(1) }
        writer.write(2)
        writer.write64(stamp.time.rawValue)
        writer.write(stamp.device)
    }

    private static func write(_ value: StampedValue, _ own: Stamp, to writer: inout ByteWriter) {
        write(value.stamp, own, to: &writer)
        writer.write(value.value)
    }

    private static func readOptionalStamp(_ own: Stamp, from reader: inout ByteReader) throws(FerryError) -> Stamp? {
        switch try reader.readByte() {
        case 0: return nil
        case 1: return own
        case 2:
            let time = HybridTime(rawValue: try reader.read64())
            guard time <= .latest else { throw ByteReader.malformed("a time is out of range") }
            return Stamp(time: time, device: try reader.readID())
        default: throw ByteReader.malformed("a stamp has an unknown form")
        }
    }

    private static func readStamp(_ own: Stamp, from reader: inout ByteReader) throws(FerryError) -> Stamp {
        guard let stamp = try readOptionalStamp(own, from: &reader) else {
            throw ByteReader.malformed("a stamp is missing")
        }
        return stamp
    }

    private static func readStamped(_ own: Stamp, from reader: inout ByteReader) throws(FerryError) -> StampedValue {
        let stamp = try readStamp(own, from: &reader)
        let value = try reader.readValue()
        if case .reference = value { throw ByteReader.malformed("a policy's value refers to an object") }
        return StampedValue(stamp, value)
    }
}
