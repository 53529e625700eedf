/// A key of the terminal.
enum Key: Equatable, Sendable {
    case character(Character)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, backspace
    /// Control and C, which the terminal does not turn into a signal in raw mode.
    case interrupt
}

/// Makes keys of the bytes that a terminal sends.
struct KeyParser {
    /// Longer sequences are not keys of any terminal; what is left of one is dropped.
    private static let maximumSequence = 16

    private var pending: [UInt8] = []

    /// Whether an escape has come that may be a key of its own or the beginning of one.
    var isWaiting: Bool { pending.first == 0x1B }

    mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while let (key, length) = first() {
            pending.removeFirst(length)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// What is pending when nothing more comes: an escape was the key.
    mutating func end() -> [Key] {
        defer { pending = [] }
        return pending == [0x1B] ? [.escape] : []
    }

    /// The first key and its length; a length without a key for what is none; nil where more bytes are needed.
    private func first() -> (Key?, Int)? {
        guard let byte = pending.first else { return nil }
        switch byte {
        case 0x03: return (.interrupt, 1)
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x1B: return escapeSequence()
        case 0..<0x20: return (nil, 1)
        default: return character(byte)
        }
    }

    private func character(_ byte: UInt8) -> (Key?, Int)? {
        let length =
            switch byte {
            case 0..<0x80: 1
            case 0xC2..<0xE0: 2
            case 0xE0..<0xF0: 3
            case 0xF0..<0xF5: 4
            default: 0
            }
        if length == 0 { return (nil, 1) }
        if pending.count < length { return nil }
        guard let text = String(validating: pending.prefix(length), as: UTF8.self), let character = text.first else {
            return (nil, 1)
        }
        return (.character(character), length)
    }

    /// `ESC [ A`, `ESC O A`, `ESC [ 5 ~` and the like.
    private func escapeSequence() -> (Key?, Int)? {
        guard pending.count > 1 else { return nil }
        guard pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            return pending.count > Self.maximumSequence ? (nil, pending.count) : nil
        }
        let parameters = String(decoding: pending[2..<end], as: UTF8.self)
        let key: Key? =
            switch (pending[end], parameters) {
            case (UInt8(ascii: "A"), _): .up
            case (UInt8(ascii: "B"), _): .down
            case (UInt8(ascii: "C"), _): .right
            case (UInt8(ascii: "D"), _): .left
            case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
            case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
            case (UInt8(ascii: "~"), "5"): .pageUp
            case (UInt8(ascii: "~"), "6"): .pageDown
            default: nil
            }
        return (key, end + 1)
    }
}
