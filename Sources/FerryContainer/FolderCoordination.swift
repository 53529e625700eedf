#if canImport(Darwin)
import Foundation
#endif

/// Takes turns with the other programs of a computer that look at a container's folder through Apple's file coordination: the provider
/// of iCloud Drive above all. Elsewhere bodies run as they are.
///
/// Ferry's files need no turns to be whole: a file appears by a rename, and never changes. The provider hears of a change at once this way, and
/// a file that the provider has not downloaded is there when the body reads it. **Untested:** written by the manual pages, and never compiled
/// on Apple's systems.
enum FolderCoordination {
    #if canImport(Darwin)
    /// Whether a folder belongs to a provider. Asked once for a folder: its files are in the same place.
    static func isNeeded(at path: String) -> Bool {
        FileManager.default.isUbiquitousItem(at: URL(fileURLWithPath: path))
    }

    /// Runs a body that reads a file.
    static func reading<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        var result: Swift.Result<Result, any Error>?
        var refusal: NSError?
        let url = URL(fileURLWithPath: path)
        NSFileCoordinator().coordinate(readingItemAt: url, options: .withoutChanges, error: &refusal) { _ in
            result = Swift.Result { try body() }
        }
        // A turn that was refused is no reason to wait: nothing depends on turns.
        return try result?.get() ?? body()
    }

    /// Runs a body that puts a file in the place of another one, or where there is none.
    static func replacing<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        var result: Swift.Result<Result, any Error>?
        var refusal: NSError?
        let url = URL(fileURLWithPath: path)
        NSFileCoordinator().coordinate(writingItemAt: url, options: .forReplacing, error: &refusal) { _ in
            result = Swift.Result { try body() }
        }
        return try result?.get() ?? body()
    }
    #else
    static func isNeeded(at path: String) -> Bool { false }
    static func reading<Result>(_ path: String, _ body: () throws -> Result) throws -> Result { try body() }
    static func replacing<Result>(_ path: String, _ body: () throws -> Result) throws -> Result { try body() }
    #endif
}
