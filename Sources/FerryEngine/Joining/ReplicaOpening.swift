import FerryContainer
import FerryCore
import FerryStore

/// An opening of a database and its container (`Replica.open`), without the wait in the middle.
struct ReplicaOpening: Sendable {
    let store: Store
    let containerPath: String
    let choice: ContainerChoice
    let device: NewDevice
    let progress: ProgressHandler?
    let environment: ReplicaEnvironment

    /// How far an opening gets without waiting.
    enum Step: Sendable {
        case done(Replica, OpeningResult)
        /// Somebody has to let this device in.
        case waits(Enrolment, Enrolment.State)
    }

    /// The content of the folder.
    private enum Place {
        case container(Container)
        /// No sign of a container; the error for everybody in need of a container.
        case nothing(FerryError)
    }

    /// Does all work before a wait.
    func begin() throws -> Step {
        try store.checkOwnTables()
        if try store.identity() != nil { return try reopen() }
        try SchemaMark(store).checkContent()
        let path = try Replica.fullPlace(containerPath)
        switch (choice, try place(path)) {
        case (.existing, .nothing(let error)), (.further, .nothing(let error)): throw error
        case (.first(let recovery), .nothing): return try create(path, .sealed(recovery: recovery))
        case (.firstUnsealed, .nothing): return try create(path, .open)
        case (.first(let recovery), .container(let container)):
            if try isOwnAttempt(container) { return try create(path, .sealed(recovery: recovery)) }
            try checkArrival(container, path)
            guard container.details.sealing != .none else { throw Self.openInstead(path) }
            return try join(path)
        case (.firstUnsealed, .container(let container)):
            try checkArrival(container, path)
            return try join(path)
        case (.existing, .container): return try join(path)
        case (.further(let way), .container): return try ask(path, way)
        }
    }

    /// Ends an opening after the wait.
    func end(_ enrolment: Enrolment) throws -> (replica: Replica, result: OpeningResult) {
        if try store.identity() != nil {
            let replica = try Replica(store, environment: environment)
            return (replica, .enrolled(try replica.enrol(enrolment)))
        }
        let setup = ReplicaSetup(environment: environment, progress: progress, enrolment: enrolment)
        let (replica, report) = try setup.join(
            store, containerPath: enrolment.path, name: device.name, options: device.options)
        return (replica, .joined(report))
    }

    // MARK: A database of a container

    private func reopen() throws -> Step {
        let replica = try Replica(store, environment: environment)
        let path = try Replica.fullPlace(containerPath)
        if !equalBytes(path, replica.identity.containerPath) {
            do {
                try replica.relocate(to: path)
            } catch let error as FerryError where Self.waitsForPlace(error.code) {
                // The container goes on in its place, and the next start looks again. Where neither place has the container, syncs say so.
            }
        }
        guard case .further(let way) = choice, try replica.needsEnrolment() else { return .done(replica, .opened) }
        return try ask(replica.identity.containerPath, way)
    }

    /// Whether a place does not have the database's container now and may have it later.
    private static func waitsForPlace(_ code: FerryError.Code) -> Bool {
        [.containerMissing, .containerEmpty, .olderState].contains(code)
    }

    // MARK: Any other database

    private func create(_ path: String, _ sealing: ContainerSealing) throws -> Step {
        let (replica, report) = try ReplicaSetup(environment: environment, progress: progress, sealing: sealing).create(
            store, containerPath: path, name: device.name, selection: device.selection)
        return .done(replica, .created(report))
    }

    /// Joins an open container, or goes on with an enrolment begun by an earlier call.
    /// - Throws: `keyMissing` in a sealed container without an enrolment.
    private func join(_ path: String) throws -> Step {
        if try Enrolment.isNeeded(containerPath: path, environment: environment),
            let enrolment = try Enrolment.pending(containerPath: path, environment: environment)
        {
            return .waits(enrolment, try enrolment.state())
        }
        let setup = ReplicaSetup(environment: environment, progress: progress)
        let (replica, report) = try setup.join(store, containerPath: path, name: device.name, options: device.options)
        return .done(replica, .joined(report))
    }

    private func ask(_ path: String, _ way: Enrolment.Way) throws -> Step {
        let enrolment = try Enrolment.begin(containerPath: path, by: way, environment: environment)
        return .waits(enrolment, try enrolment.state())
    }

    /// Looks at the folder.
    /// - Throws: `fileNotThereYet` where a container is on its way; the errors of reading the marker.
    private func place(_ path: String) throws -> Place {
        let backend = try environment.backend(at: path)
        do {
            return .container(try Container.open(backend))
        } catch let error as FerryError where error.code == .containerMissing {
            return .nothing(error)
        } catch let error as FerryError where error.code == .containerEmpty {
            guard let sign = try Container.signOfArrival(in: backend) else { return .nothing(error) }
            backend.requestDownload(ContainerDescription.fileName)
            throw FerryError(
                .fileNotThereYet,
                "\(path) becomes a container: \(sign) is there, and \(ContainerDescription.fileName) is not. Wait until the file "
                    + "has arrived, and try again.", path: path)
        }
    }

    /// Whether this device made a container, was interrupted, and nobody has published into the container since.
    private func isOwnAttempt(_ container: Container) throws -> Bool {
        guard case .sealed(let genesis) = container.details.sealing, try container.directories().isEmpty else {
            return false
        }
        return try environment.keys.devices().contains { device in
            guard let file = try environment.keys.readable(device) else { return false }
            return file.container == container.id && file.genesis == genesis.bytes
        }
    }

    /// Refuses a container with a marker alone: a new membership would part the container's devices.
    private func checkArrival(_ container: Container, _ path: String) throws {
        guard try container.directories().isEmpty else { return }
        throw FerryError(
            .fileNotThereYet,
            "\(path) has a container, and no file of a device of it. Wait until the files have arrived, "
                + "and try again. If no other device has made it, remove its \(ContainerDescription.fileName).",
            path: path)
    }

    private static func openInstead(_ path: String) -> FerryError {
        FerryError(
            .notSealed,
            "\(path) has an open container already: everybody who reaches the place can read and change it. Nothing was "
                + "joined. Choose another place, or join the container as it is.", path: path)
    }
}

extension Replica {
    /// Whether this device has to be let in again: the device was removed, or this computer has no key for the device. While the folder is
    /// away nobody knows, and the answer is `false`.
    func needsEnrolment() throws -> Bool {
        try lock.withLock {
            try refreshIdentity()
            do {
                var container = try openContainerAfresh()
                try learn(&container, isForced: true)
                return false
            } catch let error as FerryError where error.code == .keyMissing || error.code == .notMember {
                return true
            } catch let error as FerryError where Self.isOfTheContainer(error.code) {
                // The next sync tells of this.
                return false
            }
        }
    }
}
