import FerryContainer
import FerryCore

/// Reads the XML answers of an S3-compatible storage. Pure readings, with every limit checked.
enum S3Answer {
    /// A longer page is not read, in bytes.
    static let maximumPageBytes = XMLElement.maximumBytes
    /// A longer error is not read, in bytes.
    static let maximumErrorBytes = 64 * 1024

    /// The code of an error, such as `NoSuchKey`, and the region named by the error.
    struct Failure: Equatable {
        var code: String
        var region: String?
    }

    /// Reads the body of an error; the code is empty for a body without a code.
    static func failure(_ body: [UInt8]) -> Failure {
        guard body.count <= maximumErrorBytes, let root = XMLElement(body), root.name == "Error" else {
            return Failure(code: "")
        }
        return Failure(code: word(root.value("Code") ?? ""), region: root.value("Region").map(word))
    }

    /// Makes a word of the storage's fit for a message: short, and without control characters.
    static func word(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.isASCII && $0.value > 0x20 && $0.value < 0x7f }.prefix(64).map(
                Character.init))
    }

    /// Reads a page of `ListObjectsV2`.
    /// - Parameter base: the beginning of all keys; names in the container lack this beginning.
    /// - Throws: `inputOutput` for a body that is no page.
    static func page(_ body: [UInt8], below base: String, of place: String) throws(FerryError) -> ObjectPage {
        guard let root = XMLElement(body), root.name == "ListBucketResult" else {
            throw refused(place, "it is no listing")
        }
        let isEncoded = root.value("EncodingType") == "url"
        var objects: [ListedObject] = []
        for content in root.children where content.name == "Contents" {
            guard let text = content.value("Key"), let key = isEncoded ? decoded(text) : text,
                let size = content.value("Size").flatMap({ Int($0) }), size >= 0, let tag = content.value("ETag"),
                tag.utf8.count <= 256
            else { throw refused(place, "an object has no key, size or tag") }
            guard key.hasPrefix(base) else { throw refused(place, "it names objects that were not asked for") }
            objects.append(ListedObject(key: String(key.dropFirst(base.count)), size: size, tag: tag))
        }
        guard objects.count <= ObjectPage.maximumObjects else { throw refused(place, "a page has too many objects") }
        var next: String?
        if root.value("IsTruncated") == "true" {
            next = root.value("NextContinuationToken")
            guard let next, !next.isEmpty, next.utf8.count <= 4096 else {
                throw refused(place, "it does not say how it goes on")
            }
        }
        return ObjectPage(objects: objects, next: next)
    }

    /// Of an encoded key: a plus is a space.
    private static func decoded(_ text: String) -> String? {
        PercentEncoding.decode(Substring(text.replacing("+", with: "%20")))
    }

    private static func refused(_ place: String, _ why: String) -> FerryError {
        FerryError(
            .inputOutput, "The listing of \(place) cannot be read: \(why). Is this an S3-compatible storage?",
            path: place)
    }
}
