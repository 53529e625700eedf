import FerryCore

/// A marker that is damaged or gone. The marker never changes, so each device knows its content.
extension Container {
    /// Whether a place lacks a sound marker, and is the container of a device all the same: the device's own files are there.
    ///
    /// A folder that is not mounted or not synced yet has none of these files. So a marker is never written there.
    /// - Throws: `containerTooNew`, `inputOutput` and what else reading throws.
    package static func lacksMarker(_ backend: any ContainerBackend, of device: DeviceID) throws -> Bool {
        do {
            _ = try open(backend)
            return false
        } catch let error as FerryError where error.code == .damagedFile || error.code == .containerEmpty {
            return try !backend.list(directory(of: device), after: nil).isEmpty
        }
    }

    /// Writes a marker again; durable on return.
    ///
    /// The time of creation is 0, since no device keeps it. So all devices write the same bytes, and a syncer sees no conflict.
    /// - Parameters:
    ///   - pin: what the device knows of the container.
    ///   - name: the container's name.
    /// - Throws: as `ContainerBackend.replace`.
    package static func restoreMarker(
        _ pin: ContainerPin, name: String, in backend: any ContainerBackend
    ) throws {
        let details = try ContainerDescription(
            id: pin.id, name: name, createdMilliseconds: 0,
            sealing: pin.genesis.map { .sealed(genesis: $0) } ?? .none)
        try backend.replace(ContainerDescription.fileName, details.encoded())
    }
}
