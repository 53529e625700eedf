import XCTest

extension FaultSituation {
    /// How a situation goes where nothing fails: what every disturbed run is held against.
    struct Undisturbed {
        /// Everything as it is before the subject does anything.
        var prepared: FaultHome.Prepared
        /// The app's rows before and after it.
        var before: Set<String>
        var after: Set<String>
        /// How everything is once nothing goes either way.
        var rest: Rest
    }

    /// Prepares a situation, and plays it once.
    /// - Parameter measure: called when the subject is done, before anything else happens.
    func undisturbed(_ home: FaultHome, _ measure: () -> Void) throws -> Undisturbed {
        try prepare(home)
        let prepared = try home.prepared()
        try home.begin(prepared)
        let before = try home.rows()
        try home.begin(prepared)
        try act(home)
        measure()
        let after = try home.rows()
        return Undisturbed(prepared: prepared, before: before, after: after, rest: try settle(home, name))
    }

    /// Asserts that a disturbed run left the old state or the new one, and comes to the same rest.
    func checkAndSettle(_ home: FaultHome, _ undisturbed: Undisturbed, _ context: String) throws {
        try check(home, before: undisturbed.before, after: undisturbed.after, context)
        XCTAssertEqual(try settle(home, context), undisturbed.rest, context)
    }
}
