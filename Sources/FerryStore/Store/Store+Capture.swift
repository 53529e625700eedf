import FerryCore

extension Store {
    /// Maximum number of pending changes packed as a changeset.
    package static let maximumNotes = StoreLimits.maximumNotes

    /// Refuses an impossible clock. Meanwhile writes are recorded as pending changes, and packed once the clock is
    /// right.
    /// - Throws: `clockAhead` beyond the year 5000: set the date, and try again.
    package static func checkClock(_ clock: any WallClock) throws { try ClockCheck.check(clock) }
}
