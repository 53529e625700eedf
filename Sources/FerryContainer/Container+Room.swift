import FerryCore

extension Container {
    /// Finds out whether a device could publish, by writing a file of the same size and removing the file.
    /// - Parameter bytes: the size of the publication; at most 64 MiB are tried.
    /// - Throws: `inputOutput` if the folder is full, or cannot be written.
    package func checkRoom(_ bytes: Int, for device: DeviceID) throws {
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
