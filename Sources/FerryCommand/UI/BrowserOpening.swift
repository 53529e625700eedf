import Ferry
import Foundation

/// Opens the page in the person's browser. Further users of the computer can read a program's arguments. So the browser
/// gets a file readable by this account alone, and the file leads to the address with the token.
struct BrowserOpening {
    private let directory: URL

    /// Opens the address.
    /// - Returns: `nil` where there is no browser to open; then the person opens the printed address.
    init?(_ address: String) {
        guard let program = Self.program else { return nil }
        let parent = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? NSTemporaryDirectory()
        directory = URL(fileURLWithPath: parent, isDirectory: true)
            .appendingPathComponent(
                "ferry-ui-\(ProcessInfo.processInfo.processIdentifier)-\(UUID().uuidString)", isDirectory: true)
        let file = directory.appendingPathComponent("open.html")
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            // Nobody else gets into the directory.
            try Data(Self.page(address).utf8).write(to: file)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = [file.path]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
        } catch {
            // The printed address leads there too.
            try? FileManager.default.removeItem(at: directory)
            return nil
        }
    }

    /// Removes the file.
    func end() {
        try? FileManager.default.removeItem(at: directory)  // in a place for temporary files
    }

    /// A page that leads on at once. An address has no character with a meaning in HTML.
    static func page(_ address: String) -> String {
        """
        <!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
        <meta http-equiv="refresh" content="0;url=\(address)"><title>Ferry</title><a href="\(address)">Ferry</a>

        """
    }

    private static var program: String? {
        #if canImport(Darwin)
        return "/usr/bin/open"
        #else
        let variables = ProcessInfo.processInfo.environment
        // Without a screen the program would open a browser in this terminal.
        guard ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { !(variables[$0] ?? "").isEmpty }) else { return nil }
        return (variables["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map { "\($0)/xdg-open" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
        #endif
    }
}
