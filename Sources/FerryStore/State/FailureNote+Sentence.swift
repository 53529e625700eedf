import FerryCore

extension FailureNote {
    /// The failure of this database or its mirrors, and the remedy.
    var sentence: String {
        switch code {
        case .containerMissing:
            "\(place("The container")) cannot be reached\(said). What you write is kept and sent later."
        case .containerEmpty:
            "\(place("The container's place")) holds no container. Is a folder's disk mounted, and has the folder been synced?"
        case .containerMismatch:
            "\(place("The container's place")) holds another container. Mount or name the right one."
        case .containerTooNew, .formatTooNew, .storeTooNew: "A newer Ferry wrote \(place("a file")). Update Ferry."
        case .inputOutput:
            "Ferry's access to \(place("a file")) failed\(said). Check its room and its permissions; Ferry tries again."
        case .limitExceeded: "Something is larger than a limit of Ferry's, or than the room that there is\(of)\(said)."
        case .damagedFile: "A file is damaged\(of)\(said). Move it away; the right one will be synced again."
        case .foreignFile: "A file belongs to another container or another device\(of). Move it away."
        case .busy: "Another program held the database or a file\(of). Ferry tries again."
        case .database: "SQLite refused a statement\(said)."
        case .databaseCorrupt:
            "SQLite finds the database damaged\(said). Move it away and run `ferry join` with a new file."
        case .databaseMissing: "There is no database\(of). Put it back, or join with a new one (`ferry join`)."
        case .databaseReplaced: "Another file was put in the place of the database\(of). Put the right one back."
        case .storeIncomplete:
            "Somebody removed tables of Ferry's from the database. Run `ferry leave`, and then `ferry join` with `--match keys`."
        case .storeTooOld:
            "An earlier Ferry keeps this database in another way. Run `ferry leave`, then `ferry join` with `--match keys`."
        case .missingFunction:
            "The schema uses a collation or a function that this process does not have\(said). Sync from the app that has it."
        case .replayHookFailed:
            "The app's willCommitReplay failed\(said), so nothing was replayed. It is tried again with the next pass."
        case .accessDenied: "\(place("The storage")) refuses access\(said). Check the key and its rights."
        case .credentialsMissing: "There are no credentials for \(place("the storage"))\(said)."
        case .keyMissing:
            "The container is sealed, and a key is missing here. Changes wait; `ferry enrol` asks to be let in."
        case .keyExposed: "Others than this account can read or replace secret keys\(of). Take their rights away."
        case .notSealed: "A file is not sealed, and the container is\(of). Nothing of it is used."
        case .notMember:
            "This device is no member of the container. Its changes wait; `ferry enrol` asks to be let in again."
        case .mirrorMissing:
            "The directory of the mirror is not there, has no marker, or is the mirror of another database\(of). Nothing was "
                + "deleted, and the mirror rests. Mount its disk; where it was moved, name the new place with --adopt; or end the mirror with "
                + "--stop."
        case .contentNotHere, .contentLost: "The bytes of a content are not here\(of). Fetch the content, or wait."
        case .nameTaken: "Something else has a name that a document needs\(of)."
        case .clockAhead:
            "This device's clock is far off\(detail.map { ": it says the year \($0)" } ?? ""). Set the date, and run `ferry sync`. What is "
                + "written here waits."
        case .olderState:
            "\(place("The container's place")) lacks what this device published. Wait, or bring the right container back."
        case .internalInconsistency:
            "An invariant of Ferry's does not hold\(of)\(said): this is a bug. Please report it."
        default: logSentence
        }
    }

    /// The reason for which a device's log waits: that device is the subject.
    var logSentence: String {
        switch code {
        case .fileNotThereYet: "A file of its is not there yet\(of), and has still to arrive."
        case .logCollected:
            "Changes of its\(number) were removed from the container, and a snapshot that holds them is not there yet: wait until "
                + "one arrives, or run `ferry sync` on another device."
        case .deviceForked: "Its log was written twice\(number): its database was restored or copied."
        case .olderState:
            "The container shows an older state of it. Nothing is lost. If this lasts, sync on that device."
        case .clockAhead:
            "Its clock is far ahead of this device's, or was once. Its changes win over later ones until that time has come. Set the date there."
        case .membersDiffer: "It knows the same records, and takes other devices for members. Update Ferry on both."
        case .unknownPolicy:
            "It changes a table with a policy that is not known here\(said). Update Ferry, or sync from the app that has the hook."
        case .incompatibleSchema: "Its tables cannot be matched with this database's\(said). Update the app on both."
        case .damagedFile:
            "Its changes\(number) cannot be replayed\(of)\(said). Other devices and tables go on. Look who writes to the container; "
                + "retire the device if it will not be mended."
        case .notSealed, .foreignFile, .formatTooNew, .containerTooNew, .missingFunction, .inputOutput, .limitExceeded,
            .database, .busy, .keyMissing, .internalInconsistency:
            sentence
        default: "A failure that this Ferry has no words for (\(code.rawValue))\(of)\(said)."
        }
    }

    private func place(_ words: String) -> String { file ?? words }
    private var of: String { file.map { " (\($0))" } ?? "" }
    private var said: String { detail.map { $0.isEmpty ? "" : " (\($0))" } ?? "" }
    private var number: String { sequence.map { " from number \($0) on" } ?? "" }
}
