import FerryContainer
import FerryCore

extension S3Storage {
    package func examine() throws -> StorageExamination {
        var examination = StorageExamination()
        if let answer = try setting("versioning") {
            // A bucket that never kept versions has an empty answer.
            examination.keepsVersions = answer.root?.value("Status") == "Enabled"
        }
        if let answer = try setting("lifecycle") {
            examination.expiringRules = (answer.root?.children ?? []).compactMap { S3Rule($0) }
                .filter { $0.concerns(prefix: key("")) }.map(\.name)
        }
        examination.clockOffsetMilliseconds = clockOffsetMilliseconds
        return examination
    }

    /// A setting of the bucket.
    /// - Returns: its document, or none where the bucket has no such setting; `nil` where the key may not ask, or the storage has none.
    private func setting(_ name: String) throws -> Setting? {
        var call = Call("GET", key: "")
        call.query = [(name, "")]
        let response = try send(call)
        switch response.status {
        case 200: return XMLElement(response.body).map { Setting(root: $0) }
        case 404: return Setting()
        default: return nil
        }
    }

    private struct Setting {
        var root: XMLElement?
    }
}

/// A rule of a bucket that removes objects after a while; a pure reading.
struct S3Rule {
    let name: String
    private let prefix: String

    /// - Returns: `nil` for an element that is no such rule, or not in force, or for objects with tags, which Ferry's lack.
    init?(_ element: XMLElement) {
        guard element.name == "Rule", element.value("Status") == "Enabled",
            let expiration = element.child("Expiration"),
            expiration.child("Days") != nil || expiration.child("Date") != nil
        else { return nil }
        let filter = element.child("Filter")
        let both = filter?.child("And")
        if filter?.child("Tag") != nil || both?.child("Tag") != nil { return nil }
        prefix = element.value("Prefix") ?? filter?.value("Prefix") ?? both?.value("Prefix") ?? ""
        name = element.value("ID").map(S3Answer.word) ?? "a rule without a name"
    }

    /// True if a rule removes objects below a prefix.
    func concerns(prefix other: String) -> Bool { other.hasPrefix(prefix) || prefix.hasPrefix(other) }
}
