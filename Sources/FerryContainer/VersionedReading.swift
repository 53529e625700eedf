/// The content of a file or directory, and its version then.
///
/// Writes within a tick of a file system's clock may look alike. So the content is read again until it has looked the
/// same for two seconds.
package struct VersionedReading<Value: Sendable>: Sendable {
    package let value: Value
    private let version: FileVersion
    /// When this version was first seen, in milliseconds of the wall clock.
    private let seen: Int64
    /// True if the reading came long enough after that.
    private let isSettled: Bool

    /// Longer than a tick of any file system. FAT's tick is two seconds for the content's time, but a head is never
    /// written in place there, so its inode or size differs too.
    private static var settlingMilliseconds: Int64 { 2000 }

    /// - Parameters:
    ///   - version: the version before the reading.
    ///   - isOfVersion: false if the content is not that of `version`: a storage may list a new object and answer with the one before. Then
    ///     the content is read again.
    ///   - former: the reading before.
    ///   - milliseconds: when the version was asked for.
    package init(
        _ value: Value, _ version: FileVersion, isOfVersion: Bool = true, after former: Self?, milliseconds: Int64
    ) {
        self.value = value
        self.version = version
        seen = former.map { $0.version == version ? $0.seen : milliseconds } ?? milliseconds
        isSettled = isOfVersion && (version.isExact || milliseconds - seen >= Self.settlingMilliseconds)
    }

    /// True if the content need not be read again for this version.
    package func holds(for version: FileVersion) -> Bool { isSettled && self.version == version }
}
