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

    // MARK: Deletions

    /// The newest write to an object with a plain state.
    struct NewestWrite {
        var time: HybridTime
        var device: Int
        /// True if a further device wrote at the same time.
        var isTied = false
        /// The end of the insertion's stamp: the place of a deletion.
        var end: Int
    }

    /// Finds the newest write.
    /// - Parameter state: as encoded by `encode`.
    /// - Returns: `nil` for a state with a deletion or a policy, or without an insertion.
    /// - Throws: `databaseCorrupt` for bytes not written by `encode`.
    static func newestWrite(in state: UnsafeRawBufferPointer) throws -> NewestWrite? {
        if state.isEmpty { return nil }
        var reader = StateReader(state)
        guard let head = try readPlainHead(&reader) else { return nil }
        var newest = NewestWrite(time: head.time, device: head.device, end: reader.position)
        while !reader.isAtEnd {
            if try reader.readVarint() >= columns { return nil }
            let device = try readDevice(&reader)
            if device == 0 { continue }
            let time = HybridTime(rawValue: try reader.read64())
            if time < newest.time { continue }
            newest.isTied = time == newest.time && (newest.isTied || newest.device != device - 1)
            (newest.time, newest.device) = (time, device - 1)
        }
        return newest
    }

    /// Adds the only deletion to a plain state.
    /// - Parameter place: the end of the insertion's stamp.
    static func insertDeletion(_ time: HybridTime, device: Int, at place: Int, in state: inout [UInt8]) {
        // The head of a plain state says that no deletion is known, in its lowest bits.
        state[0] |= UInt8(deletionKnown)
        withUnsafeBytes(of: time.rawValue.littleEndian) { state.insert(contentsOf: $0, at: place) }
        var (rest, end) = (UInt64(device), place + 8)
        while rest >= 0x80 {
            state.insert(UInt8(truncatingIfNeeded: rest) | 0x80, at: end)
            (rest, end) = (rest >> 7, end + 1)
        }
        state.insert(UInt8(rest), at: end)
    }
}
