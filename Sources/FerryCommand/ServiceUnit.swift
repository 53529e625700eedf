import Foundation

/// The service for syncing a database from login on: a user unit of systemd, or an agent of launchd. A value; the texts
/// are pure.
struct ServiceUnit: Equatable {
    /// Absolute.
    var database: String
    /// The program `ferry`, absolute.
    var program: String
    /// The file of `ferry watch --metrics`, absolute.
    var metrics: String?
    /// Variables for the service, such as `FERRY_KEYS`.
    var environment: [String: String] = [:]

    var arguments: [String] { ["watch", database] + (metrics.map { ["--metrics", $0] } ?? []) }

    /// The name without an ending, the same for the same database: readable, and told apart by a checksum of the path.
    var name: String {
        let base = (database as NSString).lastPathComponent
        let readable = base.unicodeScalars.map { Self.plain.contains($0) ? String($0) : "-" }.joined()
        return "ferry-\(readable.prefix(40))-\(Self.checksum(database))"
    }

    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.".unicodeScalars)

    /// FNV-1a over the UTF-8 (http://www.isthe.com/chongo/tech/comp/fnv/), in eight hexadecimal digits.
    static func checksum(_ text: String) -> String {
        let hash = text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    // MARK: systemd

    /// The text of a user unit (systemd.service(5)).
    var systemdText: String {
        let variables = environment.sorted { $0.key < $1.key }
            .map { "Environment=\(Self.quoted("\($0.key)=\($0.value)"))\n" }.joined()
        // The statuses for which a new attempt is useless: wrong usage, a database that left or is gone, no key.
        return """
            # Made by `ferry service install`; `ferry service remove` removes it.
            [Unit]
            Description=Ferry keeps \(Self.description(database)) in step

            [Service]
            Type=exec
            ExecStart=\(([program] + arguments).map(Self.quoted).joined(separator: " "))
            \(variables)Restart=on-failure
            RestartSec=10
            RestartPreventExitStatus=64 65 66 73 77 78

            [Install]
            WantedBy=default.target

            """
    }

    /// A word as systemd reads it back: in quotes, with C's escapes, and without a specifier or a variable (systemd.syntax(7)).
    static func quoted(_ word: String) -> String {
        "\""
            + word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            .replacing("%", with: "%%").replacing("$", with: "$$") + "\""
    }

    private static func description(_ text: String) -> String {
        Wording.oneLine(text, limit: 200).replacing("%", with: "%%")
    }

    // MARK: launchd

    /// The text of an agent (launchd.plist(5)).
    var launchdText: String {
        let variables = environment.sorted { $0.key < $1.key }
        let environment =
            variables.isEmpty
            ? ""
            : "    <key>EnvironmentVariables</key>\n    <dict>\n"
                + variables.map {
                    "        <key>\(Self.escaped($0.key))</key>\n        <string>\(Self.escaped($0.value))</string>\n"
                }.joined() + "    </dict>\n"
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
                <key>Label</key>
                <string>\(Self.escaped(name))</string>
                <key>ProgramArguments</key>
                <array>
            \(([program] + arguments).map { "        <string>\(Self.escaped($0))</string>" }.joined(separator: "\n"))
                </array>
            \(environment)    <key>RunAtLoad</key>
                <true/>
                <key>KeepAlive</key>
                <dict>
                    <key>SuccessfulExit</key>
                    <false/>
                </dict>
                <key>ThrottleInterval</key>
                <integer>10</integer>
            </dict>
            </plist>

            """
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
