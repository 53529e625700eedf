import FerryCore
import FerryEngine
import FerrySeal

/// What would break a promise of sealing, done on purpose: the properties must notice each.
public enum SealedSabotage: String, CaseIterable, Sendable {
    /// Something that was written lies readable in the folder.
    case mark
    /// A file of an open container lies in the folder.
    case plainFile
    /// A device that is out has the keys of a member.
    case outsider
    /// A device that is a member was removed before.
    case returned

    /// What the properties then say.
    public var finding: String {
        switch self {
        case .mark: "shows what is written"
        case .plainFile: "is not sealed"
        case .outsider: "has the current epoch and is out"
        case .returned: "for a member, which was removed"
        }
    }
}

extension SealedLife {
    /// Does it, in a life of at least two devices that has come to rest.
    func commit(_ sabotage: SealedSabotage, _ simulation: Simulation) throws {
        guard let first = simulation.living.first, let last = simulation.living.last else { return }
        let (own, other) = (try knowledge(of: first).device, try knowledge(of: last).device)
        switch sabotage {
        case .mark: try simulation.plant([0, 1, 2] + Array(mark.utf8) + [3], at: "devices/\(own.hex)/note")
        case .plainFile: try simulation.plant(Array("FRYS".utf8) + [3, 0, 0, 0], at: "devices/\(own.hex)/note")
        case .outsider:
            _ = try first.opened().remove(other.description)
            if let file = try first.keys.load(own) { witness.files[other] = file }
        case .returned: gone.insert(other)
        }
    }
}
