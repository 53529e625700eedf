import FerryCore

/// A storage of whole objects under keys, for `RemoteBackend`: six requests, and nothing of Ferry's rules.
///
/// Keys are names below the container's place, separated by slashes. An object appears whole or not at all, and is durable when the
/// request is answered. Every request can be repeated. Methods are synchronous, and may be called from several threads.
///
/// Errors are `FerryError`: `containerMissing` where the storage or the bucket cannot be reached, `accessDenied`,
/// `credentialsMissing`, `inputOutput` for a single object or for a refusal, `limitExceeded` for answers beyond the
/// bounds.
package protocol ObjectStorage: Sendable {
    /// The abilities of the storage.
    var traits: StorageTraits { get }

    /// A page of the keys with a prefix, ascending by their bytes.
    /// - Parameters:
    ///   - key: only keys behind this key; `nil` for all.
    ///   - token: the next page's token from the page before; `nil` for the first page.
    func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage

    /// Reads an object.
    /// - Parameters:
    ///   - tag: the tag of the caller's content; the answer is `.same` while the object has this tag.
    ///   - maximumBytes: nothing is allocated for a larger object.
    /// - Throws: also `limitExceeded` for a larger object.
    func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer

    /// Reads a range of an object's bytes, fewer at the object's end; `nil` without such an object.
    /// - Parameter range: not empty; the caller bounds the length.
    func get(_ key: String, range: Range<Int>) throws -> [UInt8]?

    /// Writes an object. Durable on return.
    /// - Parameter onlyIfAbsent: true: keep a present object, if the storage honors the condition (`StorageTraits`).
    func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer

    /// Removes an object, if present.
    func delete(_ key: String) throws

    /// The storage's facts about itself, for `ferry doctor`.
    func examine() throws -> StorageExamination

    /// A place for people: of an object, or of the container for an empty key.
    func describe(_ key: String) -> String

    /// Ends running requests, and waits between attempts: they throw. From any thread; later requests are as before.
    func interrupt()
}

extension ObjectStorage {
    /// Nothing, where no request takes long.
    package func interrupt() {}
}

extension FerryError {
    /// True for a failed request that may concern a single object alone: too long, refused, or failed. A storage with a refusal of
    /// everything refuses the marker as well.
    var isOfOneObject: Bool { [.limitExceeded, .inputOutput, .accessDenied].contains(code) }
}

/// The abilities of a storage.
package struct StorageTraits: Hashable, Sendable {
    /// False if a listing may lag behind the writes.
    package var isConsistent = true
    /// The least time between two writes of the same key, in milliseconds.
    package var minimumWriteMilliseconds = 2000
    /// The number of requests side by side.
    package var maximumParallel = 8

    package init(isConsistent: Bool = true, minimumWriteMilliseconds: Int = 2000, maximumParallel: Int = 8) {
        self.isConsistent = isConsistent
        self.minimumWriteMilliseconds = minimumWriteMilliseconds
        self.maximumParallel = maximumParallel
    }
}

/// An object in a listing.
package struct ListedObject: Hashable, Sendable {
    package var key: String
    /// In bytes.
    package var size: Int
    /// Distinguishes contents of the object: opaque.
    package var tag: String

    package init(key: String, size: Int, tag: String) {
        self.key = key
        self.size = size
        self.tag = tag
    }
}

/// A page of a listing.
package struct ObjectPage: Hashable, Sendable {
    /// The most objects of a page.
    package static let maximumObjects = 1000

    package var objects: [ListedObject]
    /// Names the next page; `nil` at the end.
    package var next: String?

    package init(objects: [ListedObject], next: String? = nil) {
        self.objects = objects
        self.next = next
    }
}

/// The answer to a read.
package enum ObjectAnswer: Hashable, Sendable {
    /// The object has the caller's tag.
    case same
    case absent
    case found(bytes: [UInt8], tag: String)
}

/// The answer to a write.
package enum PutAnswer: Hashable, Sendable {
    case written(tag: String)
    /// An object was there, and stays.
    case present
}
