/// The result of `Replica.relocate`.
public struct RelocationReport: Codable, Equatable, Sendable {
    /// Where the container lies now.
    public var path: String
    /// Where the container lay before.
    public var formerPath: String
    /// The number of this device's files that the place lacks. The next sync publishes their content anew.
    public var missing: Int
    /// The names of devices whose files there are older than what is known here. They have to arrive, or be told, too.
    public var behind: [String]
    /// True if the former place still holds the container. Devices that were not told yet go on there, and hear nothing from here.
    public var isFormerThere: Bool
    /// True if this device takes part again only after an enrolment: it has no key, was removed or has left, or the container was sealed or
    /// founded anew since.
    package var needsEnrolment: Bool

    private enum CodingKeys: String, CodingKey {
        case path, formerPath, isFormerThere, needsEnrolment
        case missing = "missingFiles"
        case behind = "behindDevices"
    }
}
