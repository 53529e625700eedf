import FerryCore

/// A local table or view, and the reason.
package struct LeftOutTable: Equatable, Sendable {
    package var name: String
    package var reason: String
}
