import FerryCore

/// A database's permanent facts about the container. Each opening compares the marker with the pin. So nobody can
/// replace a sealed container by a different container, or by an open container.
package struct ContainerPin: Hashable, Sendable {
    /// The container's ID.
    package let id: ContainerID
    /// The hash of the first record of a sealed container; `nil` for an open container.
    package let genesis: RecordHash?

    package init(id: ContainerID, genesis: RecordHash? = nil) {
        self.id = id
        self.genesis = genesis
    }

    /// Holds a marker against the pin.
    /// - Throws: `containerMismatch` for a different container or a different first record, `notSealed` for the marker
    ///   of an open container in a sealed one's place, `keyMissing` for the marker of a sealed container in an open
    ///   one's place. Nothing of the folder is used then, and changes wait.
    func check(_ details: ContainerDescription, path: String?) throws(FerryError) {
        guard details.id == id else {
            throw FerryError(
                .containerMismatch,
                "This is the container \"\(details.name)\" (\(details.id)), not the one that the database belongs to "
                    + "(\(id)). Mount or name the right one.", path: path)
        }
        switch (genesis, details.sealing) {
        case (nil, .none): return
        case (nil, .sealed):
            throw Self.keyMissing(details.name, path)
        case (.some, .none):
            throw FerryError(
                .notSealed,
                "The container \"\(details.name)\" is sealed, and its \(ContainerDescription.fileName) says that it is open. "
                    + "Somebody replaced that file, or the folder was set back to the time before the sealing. Nothing was read. Bring the file "
                    + "back from another device's folder; or `ferry doctor --repair` on a member writes the file again, and `ferry sync` on every device "
                    + "brings the rest.",
                path: path)
        case (let genesis?, .sealed(let told)):
            guard genesis == told else {
                throw FerryError(
                    .containerMismatch,
                    "The membership of the container \"\(details.name)\" was founded anew, or somebody replaced its "
                        + "\(ContainerDescription.fileName). Nothing was read. Ask on the other devices which of the two it is. "
                        + "Founded anew: `ferry enrol` lets this device in again. Replaced: bring the file back from another device's folder.",
                    path: path)
            }
        }
    }

    /// The error where a sealed container meets a database without a key.
    static func keyMissing(_ name: String, _ path: String?) -> FerryError {
        FerryError(
            .keyMissing,
            "The container \"\(name)\" is sealed, and there is no key for it here. Changes of this database wait; "
                + "`ferry enrol` asks to be let in.", path: path)
    }
}
