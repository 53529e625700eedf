import Foundation

/// Finds the encoding of a document from its first bytes and from what is said about it.
///
/// In this order:
/// 1. a byte order mark, or the zero bytes that UTF-16 has in `<?` and `{"`;
/// 2. where HTTP and the document itself disagree and one of them says UTF-8: UTF-8 if the first bytes are, or else the
///    other (servers that add a charset to every text are a frequent cause);
/// 3. HTTP's charset, as RFC 7303 wants it; 4. the document's XML declaration; 5. UTF-8.
///
/// A name that is not known counts as not said; if it is the document's and HTTP says nothing, it is an error.
enum TextEncoding {
    /// How many of the first bytes are looked at.
    static let sampleSize = 64 << 10

    /// A decoder, and how many bytes of the sample are the byte order mark.
    static func decoder(
        for sample: ArraySlice<UInt8>, charset: String?
    ) throws(FeedError) -> (decoder: any TextDecoding, markLength: Int) {
        let start = sample.prefix(4)
        if start.starts(with: [0xEF, 0xBB, 0xBF]) { return (UTF8Decoding(), 3) }
        if start.starts(with: [0xFF, 0xFE, 0, 0]) || start.starts(with: [0, 0, 0xFE, 0xFF]) {
            guard let decoder = SystemDecoding(named: start.first == 0 ? "UTF-32BE" : "UTF-32LE") else {
                throw unknown("UTF-32")
            }
            return (decoder, 4)
        }
        if start.starts(with: [0xFE, 0xFF]) { return (UTF16Decoding(isBigEndian: true), 2) }
        if start.starts(with: [0xFF, 0xFE]) { return (UTF16Decoding(isBigEndian: false), 2) }
        if start.count >= 2 {
            let (first, second) = (start[start.startIndex], start[start.startIndex + 1])
            if first == 0, second != 0 { return (UTF16Decoding(isBigEndian: true), 0) }
            if first != 0, second == 0 { return (UTF16Decoding(isBigEndian: false), 0) }
        }
        return (try said(http: charset, document: declaredEncoding(in: sample), sample: sample), 0)
    }

    private static func said(
        http: String?, document: String?, sample: ArraySlice<UInt8>
    ) throws(FeedError) -> any TextDecoding {
        let names = [http, document].compactMap { $0?.trimmedOrNil }
        let known = names.compactMap { name in decoder(named: name).map { (name, $0) } }
        guard let first = known.first else {
            if let name = document?.trimmedOrNil { throw unknown(name) }
            return UTF8Decoding()
        }
        if let utf8 = known.first(where: { $0.1 is UTF8Decoding }),
            let other = known.first(where: { !($0.1 is UTF8Decoding) })
        {
            return isUTF8(sample) ? utf8.1 : other.1
        }
        return first.1
    }

    private static func unknown(_ name: String) -> FeedError {
        FeedError(
            .encoding,
            "the feed says that its encoding is “\(name.prefix(40))”, which is not known here; tell its publisher")
    }

    /// nil if the name is not known.
    static func decoder(named name: String) -> (any TextDecoding)? {
        switch name.trimmed.lowercased().filter({ !"\"'".contains($0) }) {
        case "utf-8", "utf8": UTF8Decoding()
        case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "windows-1252", "cp1252", "us-ascii",
            "ascii":
            Windows1252()
        // No byte of it was zero, or it would have been found: the name is wrong, as in a file that was converted.
        case "utf-16", "utf-16le", "utf-16be", "utf16", "ucs-2", "iso-10646-ucs-2": UTF8Decoding()
        case "gb2312", "gbk", "x-gbk": SystemDecoding(named: "GB18030")
        case "shift_jis", "shift-jis", "sjis", "x-sjis": SystemDecoding(named: "CP932")
        case let name: SystemDecoding(named: name)
        }
    }

    private static func isUTF8(_ sample: ArraySlice<UInt8>) -> Bool {
        var decoder = UTF8Decoding()
        var ignored: [UInt8] = []
        decoder.decode(sample, into: &ignored)  // a character that the sample cuts off counts as none
        return decoder.repairs == 0
    }

    /// The encoding that the XML declaration names.
    private static func declaredEncoding(in sample: ArraySlice<UInt8>) -> String? {
        let start = sample.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(400)
        guard start.starts(with: Array("<?xml".utf8)), let end = start.firstIndex(of: UInt8(ascii: ">")) else {
            return nil
        }
        let declaration = String(decoding: start[..<end], as: UTF8.self)
        guard let range = declaration.range(of: "encoding") else { return nil }
        let rest = declaration[range.upperBound...].drop { $0.isWhitespace || $0 == "=" }
        guard let quote = rest.first, quote == "\"" || quote == "'" else { return nil }
        return String(rest.dropFirst().prefix { $0 != quote })
    }
}

/// A document as UTF-8 in pieces, whatever its encoding.
final class DecodedText {
    private let reader: SourceReader
    private let charset: String?
    private let onProgress: (FeedProgress) throws -> Void
    private var decoder: (any TextDecoding)?
    private var isAtEnd = false

    init(
        _ reader: SourceReader, charset: String?, onProgress: @escaping (FeedProgress) throws -> Void
    ) {
        self.reader = reader
        self.charset = charset
        self.onProgress = onProgress
    }

    /// What had to be mended so far.
    var repairs: [String] {
        guard let count = decoder?.repairs, count > 0 else { return [] }
        let (noun, verb) = count == 1 ? ("character", "was") : ("characters", "were")
        return ["\(count) \(noun) \(verb) not in the encoding that the feed says it is in"]
    }

    /// The next bytes of UTF-8, never none of them; nil at the end.
    func next() throws -> [UInt8]? {
        var output: [UInt8] = []
        while output.isEmpty, !isAtEnd {
            if decoder == nil {
                try begin(into: &output)
            } else if let bytes = try reader.next() {
                try decoder?.decode(bytes, into: &output)
            } else {
                isAtEnd = true
                decoder?.finish(into: &output)
            }
            try onProgress(reader.progress)
        }
        return output.isEmpty ? nil : output
    }

    /// Reads the sample, chooses the decoder and decodes the sample.
    private func begin(into output: inout [UInt8]) throws {
        var sample: [UInt8] = []
        while sample.count < TextEncoding.sampleSize, let bytes = try reader.next() { sample += bytes }
        var (decoder, markLength) = try TextEncoding.decoder(for: sample[...], charset: charset)
        try decoder.decode(sample[markLength...], into: &output)
        self.decoder = decoder
    }
}
