import Foundation

/// Who knows the database: answers questions and acts with the JSON that the page reads.
///
/// Calls may come from any thread, several at once.
package protocol PageSource: Sendable {
    /// - Throws: a `FerryError` that says what failed and what to do.
    func answer(_ question: PageQuestion) async throws -> Data

    /// - Throws: a `FerryError` that says what failed and what to do; nothing is changed then.
    func perform(_ act: PageAct) async throws -> Data
}
