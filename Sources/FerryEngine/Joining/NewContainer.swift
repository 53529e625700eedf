import FerryContainer
import FerryCore
import FerrySeal
import Foundation

/// A container that is about to be made. What an interrupted attempt left is used, as long as nobody has published into it.
struct NewContainer {
    private let path: String
    private let sealing: ContainerSealing
    private let environment: ReplicaEnvironment

    init(_ path: String, _ sealing: ContainerSealing, _ environment: ReplicaEnvironment) {
        self.path = path
        self.sealing = sealing
        self.environment = environment
    }

    private var name: String { (path as NSString).lastPathComponent }

    /// Makes the container. The founder's keys of a sealed one are in the key store on return.
    /// - Throws: as `Container.create`, and as `KeyStore.save`.
    func make() throws -> (container: Container, membership: NewMembership?) {
        guard case .sealed(let recovery) = sealing else { return (try makeOpen(), nil) }
        try Replica.refuseKeys(environment.keys, inside: path)
        let present = try leftover()
        let id: ContainerID = present?.id ?? environment.random.makeID()
        let membership = try NewMembership(in: id, hasRecovery: recovery != nil, environment)
        do {
            let details = try ContainerDescription(
                id: id, name: present?.name ?? name,
                createdMilliseconds: present?.details.createdMilliseconds ?? environment.clock.milliseconds(),
                sealing: .sealed(genesis: membership.first.hash))
            if let present { return (try present.replaceMarker(details), membership) }
            return (
                try Container.create(
                    at: path, describedBy: details, fileSystem: environment.fileSystem, random: environment.random),
                membership
            )
        } catch {
            // Nothing names the founder.
            try environment.keys.remove(membership.keys.device)
            throw error
        }
    }

    private func makeOpen() throws -> Container {
        do {
            return try Container.create(
                at: path, name: name, fileSystem: environment.fileSystem, clock: environment.clock,
                random: environment.random)
        } catch let error as FerryError where error.code == .containerExists {
            guard let present = try leftover() else { throw error }
            if present.details.sealing == .none { return present }
            return try present.replaceMarker(
                ContainerDescription(
                    id: present.id, name: present.name, createdMilliseconds: present.details.createdMilliseconds))
        }
    }

    /// The container of an interrupted attempt, into which nobody has published; `nil` without one.
    private func leftover() throws -> Container? {
        // A folder that cannot be opened as a container is no leftover: making the container says why.
        let present = try? Container.open(
            at: path, expecting: nil, fileSystem: environment.fileSystem, random: environment.random)
        guard let present, try present.directories().isEmpty else { return nil }
        return present
    }
}
