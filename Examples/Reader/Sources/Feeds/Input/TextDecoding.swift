/// Turns the bytes of one encoding into UTF-8, piece by piece.
///
/// What comes out is always valid UTF-8. Where the bytes are not of the encoding, something legible takes their place
/// and `repairs` counts it: a feed with one wrong byte is still worth reading.
protocol TextDecoding {
    /// How many places were not of the encoding.
    var repairs: Int { get }

    /// Appends what `bytes` mean to `output`. A character that `bytes` only begin waits for the next call.
    mutating func decode(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) throws(FeedError)

    /// Appends what the end of the text means for bytes that still wait.
    mutating func finish(into output: inout [UInt8])
}

/// UTF-8. A byte that is not of it is read as windows-1252, which is nearly always what it was meant as.
struct UTF8Decoding: TextDecoding {
    private(set) var repairs = 0
    /// The beginning of a character, at most three bytes.
    private var waiting: [UInt8] = []

    mutating func decode(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) {
        if waiting.isEmpty {
            decode(whole: bytes, into: &output)
        } else {
            let joined = waiting + bytes
            waiting = []
            decode(whole: joined[...], into: &output)
        }
    }

    private mutating func decode(whole bytes: ArraySlice<UInt8>, into output: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { bytes in
            var index = 0
            var copied = 0
            while index < bytes.count {
                if bytes[index] < 0x80 {
                    index += 1
                    continue
                }
                switch Self.length(of: bytes, at: index) {
                case .some(0):
                    output.append(contentsOf: bytes[copied..<index])
                    waiting = Array(bytes[index...])
                    return
                case .some(let length):
                    index += length
                case .none:
                    output.append(contentsOf: bytes[copied..<index])
                    output.append(contentsOf: String(Windows1252.scalar(bytes[index])).utf8)
                    repairs += 1
                    index += 1
                    copied = index
                }
            }
            output.append(contentsOf: bytes[copied..<index])
        }
    }

    mutating func finish(into output: inout [UInt8]) {
        for byte in waiting {
            output.append(contentsOf: String(Windows1252.scalar(byte)).utf8)
            repairs += 1
        }
        waiting = []
    }

    /// The length of the character at `start`, which is not ASCII (Unicode, table 3-7); 0 if the bytes end within it,
    /// nil if it is none.
    private static func length(of bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int? {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[start] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        for offset in 1..<length {
            guard start + offset < bytes.count else { return 0 }
            let allowed = offset == 1 ? second : 0x80...0xBF
            guard allowed.contains(bytes[start + offset]) else { return nil }
        }
        return length
    }
}

/// UTF-16 in either byte order, without its mark. Halves of pairs that stand alone become U+FFFD.
struct UTF16Decoding: TextDecoding {
    let isBigEndian: Bool
    private(set) var repairs = 0
    private var oddByte: UInt8?
    private var highSurrogate: UInt16?

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func decode(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) {
        for byte in bytes {
            guard let first = oddByte else {
                oddByte = byte
                continue
            }
            oddByte = nil
            let unit = isBigEndian ? UInt16(first) << 8 | UInt16(byte) : UInt16(byte) << 8 | UInt16(first)
            take(unit, into: &output)
        }
    }

    private mutating func take(_ unit: UInt16, into output: inout [UInt8]) {
        if let high = highSurrogate {
            highSurrogate = nil
            if UTF16.isTrailSurrogate(unit) {
                let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
                append(Unicode.Scalar(value), to: &output)
                return
            }
            append(nil, to: &output)
        }
        if UTF16.isLeadSurrogate(unit) {
            highSurrogate = unit
        } else {
            append(Unicode.Scalar(unit), to: &output)
        }
    }

    private mutating func append(_ scalar: Unicode.Scalar?, to output: inout [UInt8]) {
        if scalar == nil { repairs += 1 }
        output.append(contentsOf: UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
    }

    mutating func finish(into output: inout [UInt8]) {
        if oddByte != nil || highSurrogate != nil { append(nil, to: &output) }
        oddByte = nil
        highSurrogate = nil
    }
}

/// windows-1252, and ISO-8859-1 and ASCII, which on the web mean the same.
struct Windows1252: TextDecoding {
    let repairs = 0

    func decode(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) {
        for byte in bytes {
            if byte < 0x80 {
                output.append(byte)
            } else {
                output.append(contentsOf: String(Self.scalar(byte)).utf8)
            }
        }
    }

    func finish(into output: inout [UInt8]) {}

    /// The character that a byte means. The five bytes that mean none are control characters, as in browsers.
    static func scalar(_ byte: UInt8) -> Unicode.Scalar {
        (0x80...0x9F).contains(byte) ? upper[Int(byte) - 0x80] : Unicode.Scalar(byte)
    }

    private static let upper: [Unicode.Scalar] = [
        "€", "\u{81}", "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", "\u{8D}", "Ž", "\u{8F}",
        "\u{90}", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "•", "–", "—", "\u{2DC}", "™", "š", "›", "œ",
        "\u{9D}", "ž", "Ÿ",
    ]
}
