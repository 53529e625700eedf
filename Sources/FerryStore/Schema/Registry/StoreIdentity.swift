import FerryCore

/// Which device a store is, and which container it belongs to.
public struct StoreIdentity: Equatable, Sendable {
    public var device: DeviceID
    public var deviceName: String
    public var container: ContainerID
    public var containerName: String
    /// The folder's path as it was given, made absolute.
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
