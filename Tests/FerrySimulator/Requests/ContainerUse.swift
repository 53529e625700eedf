/// How a container in an object storage is used: a pattern, the same every day.
package struct ContainerUse: Hashable, Sendable {
    /// All devices. All of them watch all day long.
    package var devices: Int
    /// Changes of all devices together, a day: rows that are inserted, each in a transaction, at random times of the hours in use, by random
    /// devices.
    package var changes: Int
    /// The hours in use, from nine o'clock on.
    package var hours: Int
    /// The counted days, after an hour that is not counted.
    package var days: Int
    /// Devices with databases and watches, whose requests are counted. The others are `DistantAuthors`.
    package var whole: Int
    /// Files of each device in the container at the beginning. Without a meaning, but for the length of listings.
    package var filesPerDevice = 40
    package var seed: UInt64 = 1

    package init(devices: Int, changes: Int, hours: Int, days: Int, whole: Int) {
        (self.devices, self.changes, self.hours) = (devices, changes, hours)
        (self.days, self.whole) = (days, min(whole, devices))
    }
}
