#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// All other encodings, as the system's iconv knows them: Shift_JIS, GB18030, KOI8-R, the other windows and ISO ones.
///
/// The one place with unsafe code: each pointer that iconv is given lives for the call alone and comes with the count
/// of the buffer that it points into.
struct SystemDecoding: TextDecoding {
    private final class Handle {
        let descriptor: iconv_t
        init(_ descriptor: iconv_t) { self.descriptor = descriptor }
        deinit { iconv_close(descriptor) }
    }

    private let handle: Handle
    private var waiting: [UInt8] = []
    private(set) var repairs = 0

    /// nil if the system knows no encoding of that name.
    init?(named name: String) {
        // Letters, digits and what names contain; no suffixes such as "//IGNORE".
        guard !name.isEmpty, name.utf8.count <= 40,
            name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.:+".contains($0)) })
        else { return nil }
        guard let descriptor = iconv_open("UTF-8", name), descriptor != iconv_t(bitPattern: -1) else { return nil }
        handle = Handle(descriptor)
    }

    mutating func decode(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) throws(FeedError) {
        var input = waiting + bytes
        waiting = []
        var offset = 0
        var room = [UInt8](repeating: 0, count: 64 << 10)
        while offset < input.count {
            let (taken, given, code) = convert(&input, from: offset, into: &room)
            output.append(contentsOf: room[..<given])
            // Seen with glibc: a wrong byte, and one byte more left than there was before. It must not lead back there.
            offset += max(taken, 0)
            switch code {
            case 0 where taken > 0, E2BIG where taken > 0 || given > 0: continue
            case EINVAL:  // the bytes end within a character
                waiting = Array(input[offset...])
                return
            default:  // EILSEQ: a byte that is not of the encoding
                output.append(contentsOf: UTF8.encodedReplacementCharacter)
                repairs += 1
                offset += 1
            }
        }
    }

    mutating func finish(into output: inout [UInt8]) {
        if !waiting.isEmpty {
            output.append(contentsOf: UTF8.encodedReplacementCharacter)
            repairs += 1
        }
        waiting = []
    }

    /// Converts as much as there is room for: bytes taken, bytes given, and the error's number or 0.
    private func convert(_ input: inout [UInt8], from offset: Int, into room: inout [UInt8]) -> (Int, Int, Int32) {
        input.withUnsafeMutableBytes { input in
            room.withUnsafeMutableBytes { room in
                var source = input.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
                var sourceLeft = input.count - offset
                var target = room.baseAddress?.assumingMemoryBound(to: CChar.self)
                var targetLeft = room.count
                let result = iconv(handle.descriptor, &source, &sourceLeft, &target, &targetLeft)
                // C's (size_t)-1: https://pubs.opengroup.org/onlinepubs/9799919799/functions/iconv.html
                let code = result == -1 ? errno : 0
                return (input.count - offset - sourceLeft, room.count - targetLeft, code)
            }
        }
    }
}
