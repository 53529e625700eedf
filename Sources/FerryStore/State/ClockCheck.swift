import FerryCore

enum ClockCheck {
    /// Refuses an impossible clock. Meanwhile writes are recorded as pending changes, and packed once the clock is
    /// right.
    /// - Throws: `clockAhead` beyond the year 5000: set the date, and try again.
    static func check(_ clock: any WallClock) throws {
        let milliseconds = clock.milliseconds()
        if milliseconds <= HybridTime.latestOfClock.milliseconds { return }
        // Years of 365.2425 days: exact enough to name the year.
        let year = 1970 + milliseconds / 31_556_952_000
        throw FerryError(
            .clockAhead,
            "This device's clock says that it is the year \(year). Set the date, and run `ferry sync`. Nothing is lost: what is "
                + "written here waits, and is sent with the time at which the clock is right again.", detail: "\(year)")
    }
}
