import FerryContainer
import FerryCore

extension S3Storage {
    package func examine() throws -> StorageExamination {
        var examination = StorageExamination()
        examination.isBucket = true
        if let answer = try setting("versioning") {
            // A bucket gives an empty answer if the bucket never kept versions.
            examination.keepsVersions = answer.root?.value("Status") == "Enabled"
        }
        if let answer = try setting("lifecycle") {
            let rules = (answer.root?.children ?? []).compactMap { S3Rule($0) }
            examination.expiringRules = rules.filter { $0.expires && $0.concerns(prefix: key("")) }.map(\.name)
            examination.expiresVersions = rules.contains { $0.expiresVersions && $0.covers(prefix: key("")) }
        }
        examination.clockOffsetMilliseconds = clockOffsetMilliseconds
        return examination
    }

    /// A setting of the bucket.
    /// - Returns: the setting's document, or no document if the bucket lacks the setting. `nil` if the key may not ask,
    ///   or the storage has no such setting.
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

/// A bucket's rule for removing objects or their old versions after a while; a pure reading.
struct S3Rule {
    let name: String
    /// True if the rule removes objects.
    let expires: Bool
    /// True if the rule removes old versions, of objects of any size.
    let expiresVersions: Bool
    private let prefix: String

    /// - Returns: `nil` for a further kind of element, for a rule not in force, and for a rule about tags: Ferry's
    ///   objects have no tags.
    init?(_ element: XMLElement) {
        guard element.name == "Rule", element.value("Status") == "Enabled" else { return nil }
        let filter = element.child("Filter")
        let both = filter?.child("And")
        let expiration = element.child("Expiration")
        expires = expiration?.child("Days") != nil || expiration?.child("Date") != nil
        let hasSizes = [filter, both].contains {
            $0?.child("ObjectSizeGreaterThan") != nil || $0?.child("ObjectSizeLessThan") != nil
        }
        expiresVersions = element.child("NoncurrentVersionExpiration")?.child("NoncurrentDays") != nil && !hasSizes
        guard expires || expiresVersions else { return nil }
        if filter?.child("Tag") != nil || both?.child("Tag") != nil { return nil }
        prefix = element.value("Prefix") ?? filter?.value("Prefix") ?? both?.value("Prefix") ?? ""
        name = element.value("ID").map(S3Answer.word) ?? "a rule without a name"
    }

    /// True if a rule removes objects below a prefix.
    func concerns(prefix other: String) -> Bool { other.hasPrefix(prefix) || prefix.hasPrefix(other) }

    /// True if a rule concerns everything below a prefix.
    func covers(prefix other: String) -> Bool { other.hasPrefix(prefix) }
}
