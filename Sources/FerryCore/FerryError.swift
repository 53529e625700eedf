/// The only error that Ferry throws: the failure, the remedy, and the place.
///
/// Messages name files, tables, columns and devices; they never contain a row's values.
public struct FerryError: Error, Sendable {
    /// The kind of failure. Open: later versions add codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An argument makes no sense; nothing was changed.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// Nothing is under the requested key or number.
        public static let nothingFound = Code(rawValue: "nothingFound")
        /// A row cannot be brought back as asked: its table, column or past is gone, or the schema refuses the row.
        /// Nothing was changed.
        public static let restoreRefused = Code(rawValue: "restoreRefused")
        /// The app's `willCommitReplay` threw or broke a foreign key. Nothing was replayed; the next pass tries again.
        public static let replayHookFailed = Code(rawValue: "replayHookFailed")
        /// The database file does not exist.
        public static let databaseMissing = Code(rawValue: "databaseMissing")
        /// Another file was put in the database's place while the database was open. Close the connection and open the
        /// file again.
        public static let databaseReplaced = Code(rawValue: "databaseReplaced")
        /// The file is not an SQLite database.
        public static let notADatabase = Code(rawValue: "notADatabase")
        /// Somebody else holds the database or its lock; try again.
        public static let busy = Code(rawValue: "busy")
        /// SQLite found the database damaged; Ferry writes nothing more into the file.
        public static let databaseCorrupt = Code(rawValue: "databaseCorrupt")
        /// SQLite refused a statement; the message is SQLite's.
        public static let database = Code(rawValue: "database")
        /// The database does not belong to a container yet.
        public static let notTracked = Code(rawValue: "notTracked")
        /// The database belongs to a container already.
        public static let alreadyTracked = Code(rawValue: "alreadyTracked")
        /// A table cannot be tracked.
        public static let unsupportedTable = Code(rawValue: "unsupportedTable")
        /// Ferry's tables in the database are from a newer Ferry.
        public static let storeTooNew = Code(rawValue: "storeTooNew")
        /// An earlier Ferry kept the store in another way. Leave the container and join again.
        public static let storeTooOld = Code(rawValue: "storeTooOld")
        /// Somebody dropped a table of Ferry's from the database. Leave the container and join again.
        public static let storeIncomplete = Code(rawValue: "storeIncomplete")
        /// The folder is missing: probably not mounted.
        public static let containerMissing = Code(rawValue: "containerMissing")
        /// The folder is there and holds no container: probably not mounted, or not synced yet.
        public static let containerEmpty = Code(rawValue: "containerEmpty")
        /// The folder holds a container already.
        public static let containerExists = Code(rawValue: "containerExists")
        /// The folder holds another container than the database's own.
        public static let containerMismatch = Code(rawValue: "containerMismatch")
        /// The container was written by a newer Ferry.
        public static let containerTooNew = Code(rawValue: "containerTooNew")
        /// A file of the container is damaged.
        public static let damagedFile = Code(rawValue: "damagedFile")
        /// A file is from a newer format than this Ferry reads.
        public static let formatTooNew = Code(rawValue: "formatTooNew")
        /// A file belongs to another container or another device.
        public static let foreignFile = Code(rawValue: "foreignFile")
        /// The folder shows less of a device than was seen before.
        public static let olderState = Code(rawValue: "olderState")
        /// The operating system refused to read or write.
        public static let inputOutput = Code(rawValue: "inputOutput")
        /// Something is larger than a stated limit.
        public static let limitExceeded = Code(rawValue: "limitExceeded")
        /// Somebody else published under this device's ID.
        public static let deviceForked = Code(rawValue: "deviceForked")
        /// A file of another device's is not there yet. Nothing to do but wait for the folder's syncer.
        public static let fileNotThereYet = Code(rawValue: "fileNotThereYet")
        /// A device's log begins later than the next changeset: a snapshot is needed, and none is there that will do.
        /// Wait for a snapshot.
        public static let logCollected = Code(rawValue: "logCollected")
        /// A device's clock is far ahead, or was once; its changes win until that time has come.
        public static let clockAhead = Code(rawValue: "clockAhead")
        /// A peer's table cannot be matched with this database's.
        public static let incompatibleSchema = Code(rawValue: "incompatibleSchema")
        /// A peer changed a table under a policy that is not known here, or whose hook is not registered.
        public static let unknownPolicy = Code(rawValue: "unknownPolicy")
        /// The schema uses a collation or a function of the app's own that this process does not have. Sync from the
        /// app.
        public static let missingFunction = Code(rawValue: "missingFunction")
        /// A database is not as its state says: `verify` lists the differences.
        public static let verificationFailed = Code(rawValue: "verificationFailed")
        /// A part of a database could not be verified here, and nothing wrong was found in the rest. `verify` lists the
        /// tables and the missing functions.
        public static let notAllVerified = Code(rawValue: "notAllVerified")
        /// A file or a marker is plain where the container is sealed. Nothing of it is used; move it away.
        public static let notSealed = Code(rawValue: "notSealed")
        /// The container is sealed, and there is no key for it here. Changes wait until the device is let in.
        public static let keyMissing = Code(rawValue: "keyMissing")
        /// Others than this account can read a file with secret keys, or replace it. Take their rights away.
        public static let keyExposed = Code(rawValue: "keyExposed")
        /// A code is none, was mistyped, was used or is over. Type it again, or ask for another one.
        public static let codeRefused = Code(rawValue: "codeRefused")
        /// This device was removed, or nobody who is a member let it in. Its changes wait; enrol it again.
        public static let notMember = Code(rawValue: "notMember")
        /// A device is older than the one that was to remove it. An older device or the recovery code can.
        public static let removalRefused = Code(rawValue: "removalRefused")
        /// A newcomer is not let in yet. Try again later: what was begun goes on.
        public static let enrolmentPending = Code(rawValue: "enrolmentPending")
        /// Two members know the same records and take other devices for members.
        public static let membersDiffer = Code(rawValue: "membersDiffer")
        /// An object storage refuses what Ferry asks: the key may not do that, or is wrong.
        public static let accessDenied = Code(rawValue: "accessDenied")
        /// There are no credentials for an object storage, or a program that gives them is missing.
        public static let credentialsMissing = Code(rawValue: "credentialsMissing")
        /// The bytes of a content are not on this device, and the pack that has them is not there yet, or was not asked for.
        /// Fetch the content, or wait.
        public static let contentNotHere = Code(rawValue: "contentNotHere")
        /// No pack in the container has the bytes of a content, and this device has not either.
        public static let contentLost = Code(rawValue: "contentLost")
        /// A folder has another document by the name.
        public static let nameTaken = Code(rawValue: "nameTaken")
        /// The database has documents that would go. Write them elsewhere, or say that they may go.
        public static let documentsPresent = Code(rawValue: "documentsPresent")
        /// The directory of a mirror is not there, is empty, or belongs to another database. Nothing of it is taken for a deletion.
        public static let mirrorMissing = Code(rawValue: "mirrorMissing")
        /// Most files of a mirror are gone at once. Say whether they are deleted, or bring them back.
        public static let deletionsHeld = Code(rawValue: "deletionsHeld")
        /// A bug in Ferry: an invariant does not hold.
        public static let internalInconsistency = Code(rawValue: "internalInconsistency")
    }

    public var code: Code
    /// A sentence or two: the failure and the remedy.
    public var message: String
    /// The file or folder concerned.
    public var path: String?
    public var device: DeviceID?
    /// The sequence number concerned, in the log of `device`.
    public var sequence: UInt64?
    /// The error behind this error.
    public var cause: (any Error)?
    /// The part of the message that is no sentence of Ferry's: the words of the operating system, of SQLite, of a storage or of the
    /// app, or names. Kept where the message is not (`FailureNote`).
    package var detail: String?

    @usableFromInline package init(
        _ code: Code, _ message: String, path: String? = nil, device: DeviceID? = nil, sequence: UInt64? = nil,
        cause: (any Error)? = nil, detail: String? = nil
    ) {
        self.code = code
        self.message = message
        self.path = path
        self.device = device
        self.sequence = sequence
        self.cause = cause
        self.detail = detail
    }
}

extension FerryError: CustomStringConvertible {
    public var description: String {
        var text = message
        if let path, !message.contains(path) { text += " (\(path))" }
        return text
    }
}
