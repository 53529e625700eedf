/// A kind of shared folder: what people choose to carry a container, and what it does to files.
///
/// What each does is gathered in Docs/Faults.md; the names of copies are those that the programs give.
public enum ProviderKind: String, CaseIterable, Sendable {
    case syncthing
    case dropbox
    case iCloud
    case oneDrive
    case googleDrive
    /// NFS or SMB: one folder that all devices see.
    case network
    /// A stick that is plugged into one device at a time.
    case stick

    /// Whether each device has files of its own, which a program carries to and fro.
    var isReplicated: Bool { self != .network && self != .stick }

    /// The name of a file's copy that stands for a conflict, or for a second download.
    func conflictName(of name: String, on device: Int, at time: Int64) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        let (stem, suffix) = (name[..<dot], name[dot...])
        return switch self {
        case .syncthing: "\(stem).sync-conflict-20231114-\(100_000 + time % 900_000)-ABCDEF\(device)\(suffix)"
        case .dropbox: "\(stem) (device \(device)'s conflicted copy 2023-11-14)\(suffix)"
        case .iCloud: "\(stem) \(2 + device)\(suffix)"
        case .oneDrive: "\(stem)-DEVICE\(device)\(suffix)"
        case .googleDrive, .network, .stick: "\(stem) (\(1 + device))\(suffix)"
        }
    }

    /// The name under which a file lies while it is not all there; `nil` where it lies under its own.
    func partialName(of name: String) -> String? {
        switch self {
        case .syncthing: ".syncthing.\(name).tmp"
        case .dropbox: ".dropbox.cache.\(name)"
        case .googleDrive: "\(name).tmp.driveupload"
        case .iCloud, .oneDrive, .network, .stick: nil
        }
    }

    /// The name of the placeholder for a file that is not downloaded; `nil` where there are none.
    func placeholderName(of name: String) -> String? { self == .iCloud ? ".\(name).icloud" : nil }

    /// Whether names can come in another letter case.
    var foldsCase: Bool { self == .oneDrive }
}
