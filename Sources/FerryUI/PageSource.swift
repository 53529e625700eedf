import Foundation

/// Knows the database: answers questions and acts with JSON for the page.
///
/// Calls may come from any thread, several at once.
package protocol PageSource: Sendable {
    /// - Throws: a `FerryError` with the failure and the remedy.
    func answer(_ question: PageQuestion) async throws -> Data

    /// - Throws: a `FerryError` with the failure and the remedy; nothing is changed then.
    func perform(_ act: PageAct) async throws -> Data
}
