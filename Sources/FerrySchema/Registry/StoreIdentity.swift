import FerryCore
import FerrySQL

/// The device and the container of a store.
public struct StoreIdentity: Equatable, Sendable {
    public var device: DeviceID
    public var deviceName: String
    public var container: ContainerID
    public var containerName: String
    /// The folder's path as given, made absolute.
    public var containerPath: String
    /// The first record of the membership that the database is pinned to; `nil` for an open container.
    package var genesis: RecordHash?

    package init(
        device: DeviceID, deviceName: String, container: ContainerID, containerName: String, containerPath: String,
        genesis: RecordHash? = nil
    ) {
        self.genesis = genesis
        self.device = device
        self.deviceName = deviceName
        self.container = container
        self.containerName = containerName
        self.containerPath = containerPath
    }
}

extension StoreIdentity {
    /// The device and container of a database; `nil` if untracked.
    /// - Throws: `storeTooNew` if a newer Ferry made the tables.
    package static func read(_ connection: SQLConnection) throws -> StoreIdentity? {
        guard try OwnNames.areMade(connection) else { return nil }
        let meta = MetaTable(connection: connection)
        let version = try meta.integer(.version) ?? 0
        if version > StoreTables.version {
            throw FerryError(
                .storeTooNew, "A newer Ferry keeps this database (its tables have version \(version)). Update Ferry.")
        }
        guard let number = try meta.integer(.device), let container: ContainerID = try meta.id(.container) else {
            return nil
        }
        guard let device = try DeviceTable(connection).entry(number) else {
            throw FerryError(.internalInconsistency, "The store does not say which device it is.")
        }
        return StoreIdentity(
            device: device.id, deviceName: device.name, container: container,
            containerName: try meta.string(.containerName) ?? "", containerPath: try meta.string(.containerPath) ?? "",
            genesis: try genesis(meta))
    }

    private static func genesis(_ meta: MetaTable) throws -> RecordHash? {
        guard let text = try meta.string(.genesis) else { return nil }
        guard let genesis = RecordHash(hex: text) else {
            throw FerryError(.internalInconsistency, "The store does not say to which membership it belongs.")
        }
        return genesis
    }

    /// The identity of a database that must be tracked.
    /// - Throws: `notTracked`.
    @discardableResult
    package static func required(_ connection: SQLConnection) throws -> StoreIdentity {
        guard let identity = try read(connection) else { throw notTracked }
        return identity
    }

    package static var notTracked: FerryError {
        FerryError(.notTracked, "The database belongs to no container yet. Run `ferry init` or `ferry join` first.")
    }
}
