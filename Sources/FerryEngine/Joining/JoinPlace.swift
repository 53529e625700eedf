import FerryContainer
import FerryCore
import FerrySchema
import FerryStore

/// Where a database joins, and as which device.
struct JoinPlace {
    let path: String
    /// With a seal, where the container is sealed.
    let container: Container
    let enrolment: Enrolment?
    /// The known members of a sealed container.
    let membership: Membership?
    /// The segments opened for their schemas, which the first sync replays.
    let opened = OpenedSegments()

    /// Opens a container.
    /// - Throws: `keyMissing` for a sealed container without an enrolment; `enrolmentPending` while nobody has let the device in;
    ///   `invalidArgument` for an enrolment in an open container; as `Container.open`.
    init(_ containerPath: String, _ enrolment: Enrolment?, _ environment: ReplicaEnvironment) throws {
        path = try Replica.fullPlace(containerPath)
        self.enrolment = enrolment
        let plain = try environment.open(at: path)
        guard plain.details.sealing != .none else {
            guard enrolment == nil else {
                throw FerryError(.invalidArgument, "The container is open: no code is needed to join it.", path: path)
            }
            membership = nil
            container = plain
            return
        }
        guard let enrolment else {
            throw FerryError(
                .keyMissing,
                "The container is sealed: only its members can read it. Ask somebody who is one for a code (`ferry invite`), and "
                    + "join by that: --code -", path: path)
        }
        let (state, known) = try enrolment.admission()
        guard case .admitted = state, enrolment.container == plain.id else { throw Enrolment.pending(path) }
        membership = known
        container = try plain.sealed(by: known.seal()).remembering(opened)
    }

    /// Opens a sealed container for a dry run, with a membership known to nobody else.
    init(_ containerPath: String, rehearsing membership: Membership, _ environment: ReplicaEnvironment) throws {
        path = try Replica.fullPlace(containerPath)
        enrolment = nil
        self.membership = membership
        container = try environment.open(at: path).sealed(by: membership.seal())
    }

    /// The store's beginning; `nil` for an open container.
    var beginning: SealedBeginning? { membership.map { SealedBeginning($0) } }

    /// The identity of the database.
    func identity(named name: String, _ random: any RandomSource) -> StoreIdentity {
        StoreIdentity(
            device: membership?.device ?? random.makeID(), deviceName: name, container: container.id,
            containerName: container.name, containerPath: path, genesis: membership?.genesis)
    }
}
