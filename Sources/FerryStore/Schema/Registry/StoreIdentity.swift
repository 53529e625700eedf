import FerryCore

/// The device and the container of a store.
public struct StoreIdentity: Equatable, Sendable {
    public var device: DeviceID
    public var deviceName: String
    public var container: ContainerID
    public var containerName: String
    /// The folder's path as given, made absolute.
    public var containerPath: String

    public init(
        device: DeviceID, deviceName: String, container: ContainerID, containerName: String, containerPath: String
    ) {
        self.device = device
        self.deviceName = deviceName
        self.container = container
        self.containerName = containerName
        self.containerPath = containerPath
    }
}
