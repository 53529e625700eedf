/// A kind of place for a container: a program or disk that carries a folder, and its treatment of files; or a storage that every device
/// reaches.
///
/// Docs/Faults.md gathers the behavior of each kind. Names of copies are the names given by the programs.
public enum ProviderKind: String, CaseIterable, Sendable {
    case syncthing
    case dropbox
    case iCloud
    case oneDrive
    case googleDrive
    /// NFS or SMB: a single folder for all devices.
    case network
    /// A stick, plugged into a single device at a time.
    case stick
    /// An object storage, such as S3: read after write, listings included.
    case objectStorage
    /// A place such as rclone reaches: no conditions, one write of a key a second, listings that lag.
    case laggingRemote

    /// The kinds of folders.
    static let folders = allCases.filter { !$0.isRemote }
    /// The kinds that are reached by requests.
    static let remotes = allCases.filter(\.isRemote)

    /// True if the container is no folder: devices reach one storage by requests.
    var isRemote: Bool { self == .objectStorage || self == .laggingRemote }

    /// True if each device has files of its own, carried to and fro by a program.
    var isReplicated: Bool { self != .network && self != .stick && !isRemote }

    /// True if each device has a disk of its own.
    var hasOwnDisks: Bool { isReplicated || isRemote }

    /// The name of a file's conflicted copy, or of a second download.
    func conflictName(of name: String, on device: Int, at time: Int64) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let (stem, suffix) = (name[..<dot], name[dot...])
        return switch self {
        case .syncthing: "\(stem).sync-conflict-20231114-\(100_000 + time % 900_000)-ABCDEF\(device)\(suffix)"
        case .dropbox: "\(stem) (device \(device)'s conflicted copy 2023-11-14)\(suffix)"
        case .iCloud: "\(stem) \(2 + device)\(suffix)"
        case .oneDrive: "\(stem)-DEVICE\(device)\(suffix)"
        case .googleDrive, .network, .stick, .objectStorage, .laggingRemote: "\(stem) (\(1 + device))\(suffix)"
        }
    }

    /// The name of an incomplete file; `nil` for the file's own name.
    func partialName(of name: String) -> String? {
        switch self {
        case .syncthing: ".syncthing.\(name).tmp"
        case .dropbox: ".dropbox.cache.\(name)"
        case .googleDrive: "\(name).tmp.driveupload"
        case .iCloud, .oneDrive, .network, .stick, .objectStorage, .laggingRemote: nil
        }
    }

    /// The placeholder's name for a file not downloaded; `nil` without placeholders.
    func placeholderName(of name: String) -> String? { self == .iCloud ? ".\(name).icloud" : nil }

    /// True if names may arrive in a different letter case.
    var foldsCase: Bool { self == .oneDrive }
}
