import Feeds
import Ferry
import Foundation
import GRDB

/// The one error of the reader: one line that says what failed and what to do, and what kind of failure it is.
public struct ReaderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it is; `Reader`'s `ExitStatus` gives each its exit status.
    public enum Code: String, Sendable, CaseIterable {
        /// What was asked for makes no sense.
        case usage
        /// There is no such feed or article.
        case nothingFound
        /// The database belongs to no shared folder yet.
        case notSetUp
        /// It is there already.
        case existsAlready
        /// A file or feed is not what it should be.
        case badData
        /// Some feeds could not be fetched.
        case unavailable
        /// A file could not be read or written.
        case inputOutput
    }

    public var code: Code
    public var message: String
    public var description: String { message }

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ReaderError {
    static func notSetUp(_ path: String) -> ReaderError {
        ReaderError(
            .notSetUp,
            "the reader's database \(path) belongs to no shared folder yet; run `reader init FOLDER`, or on a further "
                + "device `reader join FOLDER`")
    }

    static func noFeed(_ word: String) -> ReaderError {
        ReaderError(.nothingFound, "there is no feed “\(word)”; `reader feeds` lists them")
    }

    public static func noArticle(_ id: Int64) -> ReaderError {
        ReaderError(.nothingFound, "there is no article \(id) on this device; `reader list` lists them")
    }
}
