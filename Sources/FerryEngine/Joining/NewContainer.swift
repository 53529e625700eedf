import FerryContainer
import FerryCore
import FerrySeal
import Foundation

/// A container about to be made. The container of an interrupted attempt is used, as long as nobody has published into that container.
struct NewContainer {
    private let path: String
    private let sealing: ContainerSealing
    private let environment: ReplicaEnvironment

    init(_ path: String, _ sealing: ContainerSealing, _ environment: ReplicaEnvironment) {
        self.path = path
        self.sealing = sealing
        self.environment = environment
    }

    /// The last part of the place, such as a folder's name.
    private var name: String {
        let location = try? ContainerLocation(path)  // a place was read before
        guard let location, location.folderPath == nil else { return (path as NSString).lastPathComponent }
        return location.shortText.split { "/:".contains($0) }.last.map(String.init) ?? location.shortText
    }

    /// Makes the container. The founder's keys of a sealed container are in the key store on return.
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
                try Container.create(in: environment.backend(at: path), describedBy: details),
                membership
            )
        } catch {
            // As long as no marker may name the founder. With the keys the next attempt goes on.
            if !mayBeMarked(id) { try environment.keys.remove(membership.keys.device) }
            throw error
        }
    }

    /// True if the place has this container's marker, or cannot be read now.
    private func mayBeMarked(_ id: ContainerID) -> Bool {
        do {
            return try environment.open(at: path).id == id
        } catch let error as FerryError {
            return error.code == .inputOutput
        } catch {
            return true
        }
    }

    /// Removes the container made by `make`, unless somebody has published into the container.
    static func remove(_ container: Container) throws {
        try container.refresh(.full)
        guard try container.directories().isEmpty else { return }
        try container.backend.removeDirectory(Container.devicesDirectory)
        try container.backend.remove(ContainerDescription.fileName)
        try container.backend.settle("")
    }

    private func makeOpen() throws -> Container {
        // Before the attempt: a marker that appears meanwhile is another process's.
        if let present = try leftover() {
            if present.details.sealing == .none { return present }
            return try present.replaceMarker(
                ContainerDescription(
                    id: present.id, name: present.name, createdMilliseconds: present.details.createdMilliseconds))
        }
        return try Container.create(
            in: environment.backend(at: path),
            describedBy: ContainerDescription(
                id: environment.random.makeID(), name: name, createdMilliseconds: environment.clock.milliseconds()))
    }

    /// The container of an interrupted attempt, without any publication; `nil` without such a container. A sealed one without its founder's
    /// keys here is another computer's: its attempt may be running.
    private func leftover() throws -> Container? {
        let present: Container
        do {
            present = try environment.open(at: path)
        } catch let error as FerryError where [.credentialsMissing, .busy].contains(error.code) {
            // A helper that hangs is waited for once.
            throw error
        } catch {
            // A folder unreadable as a container is no leftover: making the container says why.
            return nil
        }
        guard try present.directories().isEmpty else { return nil }
        if case .sealed = present.details.sealing {
            let keys = environment.keys
            guard try keys.devices().contains(where: { try keys.readable($0)?.container == present.id }) else {
                return nil
            }
        }
        return present
    }
}
