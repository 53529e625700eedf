import FerryCore

extension Container {
    /// Finds out whether a device could publish, by writing a file of that size and removing it.
    /// - Parameter bytes: what is to be published; of more than 64 MiB so many are tried.
    /// - Throws: `inputOutput` where the folder is full, or cannot be written.
    public func checkRoom(_ bytes: Int, for device: DeviceID) throws {
        // No device's directory: nobody looks at other names.
        let name = "devices/ferry-probe-\(device.hex)"
        do {
            try backend.replace(name, Array(repeating: 0, count: min(max(bytes, 1), 64 << 20)))
            try backend.remove(name)
        } catch {
            try? backend.remove(name)  // the first error tells
            throw error
        }
    }
}
