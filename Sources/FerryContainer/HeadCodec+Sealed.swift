import FerryCore

/// The part of heads in sealed containers (Docs/Format.md, "Heads in sealed containers").
extension Head {
    func write(_ sealed: SealedPart, to writer: inout ByteWriter) {
        writer.writeBigEndian(sealed.lastSegmentHash)
        for device in acknowledgements.keys.sorted() { writer.writeBigEndian(sealed.chainEnds[device] ?? 0) }
        writer.writeVarint(UInt64(sealed.oldestEpoch))
        writer.writeVarint(UInt64(sealed.knowledge.records))
        writer.write(contentsOf: sealed.knowledge.recordsDigest)
        writer.write(contentsOf: sealed.knowledge.rosterDigest)
    }

    mutating func readSealed(_ reader: inout ByteReader) throws(FerryError) {
        let hash = try reader.readBigEndian()
        var chainEnds: [DeviceID: UInt64] = [:]
        for device in acknowledgements.keys.sorted() {
            let end = try reader.readBigEndian()
            if end != 0 { chainEnds[device] = end }
        }
        guard let oldestEpoch = UInt32(exactly: try reader.readVarint()),
            let records = Int(exactly: try reader.readVarint())
        else { throw ByteReader.malformed("a number is too large") }
        let length = MembershipKnowledge.digestLength
        sealed = SealedPart(
            lastSegmentHash: hash, chainEnds: chainEnds, oldestEpoch: oldestEpoch,
            knowledge: MembershipKnowledge(
                records: records, recordsDigest: Array(try reader.read(length)),
                rosterDigest: Array(try reader.read(length))))
    }

    static func fault(of sealed: SealedPart, _ acknowledgements: [DeviceID: LogPosition]) -> String? {
        let knowledge = sealed.knowledge
        if !(0...MembershipKnowledge.maximumRecords).contains(knowledge.records) { return "it knows too many records" }
        let length = MembershipKnowledge.digestLength
        if knowledge.recordsDigest.count != length || knowledge.rosterDigest.count != length {
            return "a digest has a wrong length"
        }
        let areRight = sealed.chainEnds.allSatisfy { $0.value != 0 && acknowledgements[$0.key] != nil }
        return areRight ? nil : "it has a chain end without an acknowledgement"
    }
}

extension ByteWriter {
    /// The beginning of a hash: eight bytes as they stand in the hash, the most significant first.
    fileprivate mutating func writeBigEndian(_ value: UInt64) {
        for shift in stride(from: UInt64(56), through: 0, by: -8) { write(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}

extension ByteReader {
    fileprivate mutating func readBigEndian() throws(FerryError) -> UInt64 {
        try read(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
