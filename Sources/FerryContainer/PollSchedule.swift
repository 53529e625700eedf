/// Says how long to wait before looking at the container again: briefly after something happened, then twice as long
/// each time, up to a maximum. Where the platform's events reach the watcher, the maximum can be long; on network
/// folders polling is all there is.
package struct PollSchedule: Hashable, Sendable {
    /// The interval after activity, in milliseconds.
    package let minimumMilliseconds: Int
    /// The longest interval while events are delivered, in milliseconds.
    package let maximumMilliseconds: Int
    /// The longest interval while no events are delivered, in milliseconds.
    package let maximumWithoutEventsMilliseconds: Int
    /// The interval to wait now, in milliseconds.
    package private(set) var intervalMilliseconds: Int

    /// Begins as after activity. The numbers are at least 1; a maximum below the minimum counts as the minimum.
    package init(
        minimumMilliseconds: Int = 1000, maximumMilliseconds: Int = 30_000,
        maximumWithoutEventsMilliseconds: Int = 8000
    ) {
        self.minimumMilliseconds = max(minimumMilliseconds, 1)
        self.maximumMilliseconds = max(maximumMilliseconds, self.minimumMilliseconds)
        self.maximumWithoutEventsMilliseconds = max(maximumWithoutEventsMilliseconds, self.minimumMilliseconds)
        intervalMilliseconds = self.minimumMilliseconds
    }

    /// Records the result of a look at the container, and gives the next interval in milliseconds.
    /// - Parameters:
    ///   - foundNews: true if there was anything to replay or to publish.
    ///   - eventsAreDelivered: true if a watcher would report changes before the interval is over.
    package mutating func next(foundNews: Bool, eventsAreDelivered: Bool) -> Int {
        let maximum = eventsAreDelivered ? maximumMilliseconds : maximumWithoutEventsMilliseconds
        // An interval is at most a maximum, so doubling overflows only for half of all numbers.
        let doubled = intervalMilliseconds.multipliedReportingOverflow(by: 2)
        let longer = doubled.overflow ? Int.max : doubled.partialValue
        intervalMilliseconds = foundNews ? minimumMilliseconds : min(longer, maximum)
        return intervalMilliseconds
    }
}
