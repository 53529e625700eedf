/// What a device fetches by itself, and how much it keeps beside the database. A person's choice, for this device alone.
public struct ContentSettings: Codable, Hashable, Sendable {
    /// Contents up to this length are fetched by themselves; 0: on request alone; `nil`: all.
    public var fetchBytes: Int? = 16 << 20
    /// How many bytes of whole contents stay beside the database. Pinned ones count, and stay; `nil`: all.
    public var keepBytes: Int? = 1 << 30
    /// How many bytes stay free on the disk. Nothing is fetched into them.
    public var leaveFreeBytes = 2 << 30

    public init() {}
}
