import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// The encoded state of an object in the common case: shown by a row, never deleted, without shadow values.
struct EncodedState {
    var object: ObjectID
    /// The local row's key.
    var key: [FieldValue]
    var check: UInt64
    /// Stamps, as encoded by `StateCodec`.
    var stamps: [UInt8]
}

extension ObjectTable {
    /// Reads a state from `stateColumns`, if the state may be plain. The stamps may still contain a policy's registers.
    func readPlain(_ object: ObjectID, _ statement: SQLStatement, from first: Int32) -> EncodedState? {
        let base = first + Int32(keyWidth)
        guard statement.int(base) == Visibility.row.rawValue, statement.isNull(base + 3) else { return nil }
        return EncodedState(
            object: object, key: key(of: object, statement, from: first),
            check: UInt64(bitPattern: statement.integer(base + 1)), stamps: statement.bytes(base + 2))
    }

    /// Decodes a state.
    func state(of known: StatePrefetcher.Known) throws -> ObjectState {
        let plain: EncodedState
        switch known.state {
        case .whole(let state): return state
        case .plain(let state): plain = state
        }
        var state = new(plain.object)
        state.isStored = true
        state.shown = .row
        state.key = plain.key
        state.check = plain.check
        state.storedCheck = plain.check
        (state.registers, state.policies) = try StateCodec.decode(plain.stamps) { try devices.device($0) }
        state.registers.deletionWins = table.deletionWins
        if table.isMapped { state.givenKey = state.ownKey }
        return state
    }
}

extension StateCodec {
    /// The position of a column's stamp in an encoded state.
    struct PlacedStamp {
        var time: HybridTime
        var device: Int
        /// The column's entry. Empty, at the place of insertion, for a column with the insertion's stamp.
        var entry: Range<Int>
    }

    /// Finds a column's stamp.
    /// - Returns: `nil` if the column has none, or the state has a deletion or a policy.
    /// - Throws: `databaseCorrupt` for bytes not written by `encode`.
    static func find(_ column: Int, in state: [UInt8]) throws -> PlacedStamp? {
        if state.isEmpty { return nil }
        return try state.withUnsafeBytes { bytes in
            var reader = StateReader(bytes)
            guard let head = try readPlainHead(&reader), column < head.span else { return nil }
            var found = PlacedStamp(time: head.time, device: head.device, entry: bytes.count..<bytes.count)
            var isPassed = false
            while !reader.isAtEnd {
                let start = reader.position
                let code = try reader.readVarint()
                if code >= columns { return nil }
                let device = try readDevice(&reader)
                let time = device == 0 ? 0 : try reader.read64()
                if isPassed || code < column { continue }
                isPassed = true
                if code > column {
                    found.entry = start..<start
                } else if device == 0 {
                    return nil
                } else {
                    found = PlacedStamp(
                        time: HybridTime(rawValue: time), device: device - 1, entry: start..<reader.position)
                }
            }
            return found
        }
    }

    private static func readPlainHead(
        _ reader: inout StateReader
    ) throws -> (span: Int, time: HybridTime, device: Int)? {
        let head = try reader.readVarint()
        guard head % spanUnit == insertionKnown, head / spanUnit <= columns else { return nil }
        let time = HybridTime(rawValue: try reader.read64())
        return (Int(head / spanUnit), time, try readDevice(&reader))
    }

    /// Sets a column's stamp.
    static func set(
        _ column: Int, to time: HybridTime, device: Int, in state: inout [UInt8], at entry: Range<Int>
    ) {
        var writer = ByteWriter(reservingCapacity: 16)
        writer.writeVarint(UInt64(column))
        writer.writeVarint(UInt64(device + 1))
        writer.write64(time.rawValue)
        state.replaceSubrange(entry, with: writer.bytes)
    }
}
