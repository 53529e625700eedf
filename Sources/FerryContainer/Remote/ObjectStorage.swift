import FerryCore

/// A storage of whole objects under keys, as `RemoteBackend` uses it: six requests, and nothing of Ferry's rules.
///
/// Keys are names below the container's place, separated by slashes. An object appears whole or not at all, and is durable when the
/// request is answered. Every request can be repeated. Methods are synchronous, and may be called from several threads.
///
/// Errors are `FerryError`: `containerMissing` where the storage or the bucket cannot be reached, `accessDenied`,
/// `credentialsMissing`, `inputOutput` for one object or for a refusal, `limitExceeded` for answers beyond the bounds.
package protocol ObjectStorage: Sendable {
    /// What the storage can and cannot do.
    var traits: StorageTraits { get }

    /// A page of the keys that begin with a prefix, ascending by their bytes.
    /// - Parameters:
    ///   - key: only keys behind this one; `nil` for all.
    ///   - token: what the page before named as the next one; `nil` for the first page.
    func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage

    /// Reads an object.
    /// - Parameters:
    ///   - tag: the tag of the content that the caller has; the answer is `.same` while the object has this tag.
    ///   - maximumBytes: nothing is allocated for a larger object.
    /// - Throws: also `limitExceeded` for a larger object.
    func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer

    /// Reads a range of an object's bytes, fewer where it ends before; `nil` without such an object.
    /// - Parameter range: not empty; the caller bounds its length.
    func get(_ key: String, range: Range<Int>) throws -> [UInt8]?

    /// Writes an object. Durable on return.
    /// - Parameter onlyIfAbsent: true: keep what is there, where the storage honours the condition (`StorageTraits`).
    func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer

    /// Removes an object, if present.
    func delete(_ key: String) throws

    /// What the storage says about itself, for `ferry doctor`.
    func examine() throws -> StorageExamination

    /// A place for people: of an object, or of the container for an empty key.
    func describe(_ key: String) -> String

    /// Ends requests that are under way, and waits between attempts: they throw. From any thread; later requests are as before.
    func interrupt()
}

extension ObjectStorage {
    /// Nothing, where no request takes long.
    package func interrupt() {}
}

/// What a storage can and cannot do.
package struct StorageTraits: Hashable, Sendable {
    /// False where a listing may lag behind what was written.
    package var isConsistent = true
    /// The least time between two writes of one key, in milliseconds.
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
    /// What tells this content of the object from another one: opaque.
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
    /// The object has the tag that the caller named.
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
