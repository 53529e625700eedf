/// Labels for devices with equal names, as after copying a database: the name, and the beginning of the ID. A pure
/// function of all names shown together.
package struct DeviceLabels: Sendable {
    private let labels: [String: String]
    /// The minimum number of ID digits shown.
    private static let minimumDigits = 4

    /// - Parameter devices: IDs, as text, and names; every device once. A device without a readable file has no name, and
    ///   the ID is the label.
    package init(_ devices: [(id: String, name: String)]) {
        var labels: [String: String] = [:]
        for (name, group) in Dictionary(grouping: devices.filter { !$0.name.isEmpty }, by: \.name) {
            guard group.count > 1 else {
                labels[group[0].id] = name
                continue
            }
            var digits = Self.minimumDigits
            while digits < 36, Set(group.map { $0.id.prefix(digits) }).count < group.count { digits += 1 }
            for device in group { labels[device.id] = "\(name) (\(device.id.prefix(digits)))" }
        }
        self.labels = labels
    }

    /// The device's label; the ID for an unknown device.
    package subscript(id: String) -> String { labels[id] ?? id }
}
