import FerryCore

extension StatusReport {
    /// Something that a monitor tells a person: `ferry status --check`.
    public struct Concern: Codable, Equatable, Sendable {
        /// The kind of a concern. Later versions may add kinds.
        public enum Kind: String, Codable, Sendable {
            /// Rows differ between two devices that know the same changes. Somebody should look.
            case differs
            /// A log or a pack is damaged, or refused for its content, or bytes of documents are lost. Somebody should look.
            case damage
            /// A table waits for the app, for a migration on another device, or for a policy that is not known here.
            case needsApp
            /// The container is not reachable.
            case unreachable
            /// The container is there, and this device cannot take part: its key is missing, or it was removed.
            case noAccess
            /// The last sync failed because of the folder or a file in the folder, or this device has no room for documents.
            case failing
            /// A mirror of documents on this device rests: its directory is away, a person has to confirm deletions, or
            /// a file in it cannot be read.
            case mirrorRests
            /// Files of another device or packs of documents are late, or its clock is ahead. Mostly that passes.
            case late
            /// Changes wait to be sent or taken in. A concern only if that lasts.
            case waiting
        }

        public var kind: Kind
        /// The name of the device that is concerned; `nil` for this one.
        public var device: String?
        /// The concern, in a sentence.
        public var message: String
        /// Since when, in milliseconds since the Unix epoch; `nil` if unknown.
        public var sinceMilliseconds: Int64?

        package init(kind: Kind, device: String? = nil, message: String, sinceMilliseconds: Int64? = nil) {
            self.kind = kind
            self.device = device
            self.message = message
            self.sinceMilliseconds = sinceMilliseconds
        }
    }

    /// What a monitor should report, the worst first; empty if all is well. Silent devices, conflicts and hidden rows are no concerns:
    /// they belong to the life of a container.
    public var concerns: [Concern] {
        var found: [Concern] = []
        for device in devices {
            // A device without a readable file so far has no name.
            let name = device.name.isEmpty ? device.id : device.name
            if device.standing == .differs {
                let tables = (device.differing ?? []) + (device.differingRows ?? [])
                let names = Set(tables.map(exactKey)).sorted().map(plainText).joined(separator: ", ")
                found.append(
                    Concern(
                        kind: .differs, device: name,
                        message: "\(name) has the same changes and other rows of \(names)."))
            }
            if let problem = device.problem, let code = device.problemCode {
                found.append(
                    Concern(
                        kind: Concern.passes(FerryError.Code(rawValue: code)) ? .late : .damage, device: name,
                        message: "\(name): \(problem)", sinceMilliseconds: device.problemSinceMilliseconds))
            }
            if device.behind > 0, device.problem == nil {
                let sets = device.behind == 1 ? "1 set of changes is" : "\(device.behind) sets of changes are"
                found.append(
                    Concern(kind: .waiting, device: name, message: "\(sets) still to come from \(name)."))
            }
        }
        found += tablesApart.map { Concern(kind: .needsApp, message: $0.problem) }
        found += waitingTables.map { Concern(kind: .needsApp, message: $0.problem) }
        for policy in policies where !policy.applied {
            let message = "The policy “\(policy.policy)” of “\(policy.target)” is not known here; its table waits."
            found.append(Concern(kind: .needsApp, message: message))
        }
        if let documents { found += documents.concerns }
        if let problem = container.problem {
            found.append(
                Concern(
                    kind: container.reachable ? .noAccess : .unreachable, message: problem,
                    sinceMilliseconds: container.failingSinceMilliseconds))
        } else if let failure = container.failure {
            found.append(
                Concern(kind: .failing, message: failure, sinceMilliseconds: container.failingSinceMilliseconds))
        }
        if unpublished > 0 {
            let changes = unpublished == 1 ? "1 change waits" : "\(unpublished) changes wait"
            found.append(Concern(kind: .waiting, message: "\(changes) to be published."))
        }
        if !unseenTables.isEmpty {
            let names = unseenTables.joined(separator: ", ")
            found.append(Concern(kind: .waiting, message: "Made anew since the last sync: \(names)."))
        }
        return Concern.inOrder(found)
    }
}

extension StatusReport.Concern {
    /// True for a reason that mostly passes: files are late, or a clock is ahead.
    static func passes(_ code: FerryError.Code) -> Bool {
        [.fileNotThereYet, .logCollected, .clockAhead, .olderState].contains(code)
    }

    /// Concerns, the worst first.
    package static func inOrder(_ found: [Self]) -> [Self] {
        let order: [Kind] = [
            .differs, .damage, .needsApp, .unreachable, .noAccess, .failing, .mirrorRests, .late, .waiting,
        ]
        return order.flatMap { kind in found.filter { $0.kind == kind } }
    }
}

extension StatusReport.Documents {
    /// Why the first of the waiting contents cannot be had, in words that follow a colon.
    package var obstacle: String {
        let pack = file.map { "the pack " + ($0.split(separator: "/").last.map(String.init) ?? $0) } ?? "a pack"
        return switch code.map(FerryError.Code.init(rawValue:)) {
        case .limitExceeded?: "this device has no room for it"
        case .contentNotHere?: "what it is made of has not arrived"
        case .formatTooNew?: "a newer Ferry wrote it; update Ferry"
        case .notSealed?, .foreignFile?: "\(pack) does not belong there"
        case .inputOutput?, .accessDenied?: "\(pack) cannot be read"
        case .damagedFile?: "\(pack) is damaged"
        default: "\(pack) is not there yet"
        }
    }

    /// Documents whose bytes do not arrive.
    fileprivate var concerns: [StatusReport.Concern] {
        var found: [StatusReport.Concern] = []
        if lost > 0 {
            found.append(
                .init(
                    kind: .damage,
                    message:
                        "\(lost == 1 ? "1 content is" : "\(lost) contents are") lost: no pack and no file here has the bytes."
                ))
        }
        if waiting > 0 {
            let kind: StatusReport.Concern.Kind =
                switch code.map(FerryError.Code.init(rawValue:)) {
                case .damagedFile?, .notSealed?, .foreignFile?, .formatTooNew?: .damage
                case .limitExceeded?, .inputOutput?, .accessDenied?: .failing
                default: .late
                }
            found.append(
                .init(
                    kind: kind,
                    message: "\(waiting == 1 ? "1 content is" : "\(waiting) contents are") still to come: \(obstacle).",
                    sinceMilliseconds: sinceMilliseconds))
        }
        if let strange = strangeSentence { found.append(.init(kind: .needsApp, message: strange)) }
        return found
    }

    /// What is wrong with the values of columns with attachments; `nil` if they are all IDs.
    package var strangeSentence: String? {
        guard let strangeValues, let strangeColumn else { return nil }
        return
            "\(strangeValues == 1 ? "1 value is no ID" : "\(strangeValues) values are no IDs") of a content, in \(strangeColumn) first, so no "
            + "bytes travel for \(strangeValues == 1 ? "it" : "them"). Write the 16 bytes of the ID: Data(content.id.bytes)."
    }
}
