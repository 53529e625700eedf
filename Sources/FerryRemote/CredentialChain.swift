import FerryContainer
import FerryCore
import Foundation

/// Where the credentials for a storage come from. Asked once, and again shortly before their end, or when the storage calls them
/// ended.
package protocol CredentialSource: Sendable {
    /// The credentials of now.
    /// - Parameter isRefused: true: the storage refused the last credentials, so new ones are needed.
    /// - Throws: `credentialsMissing`; `busy` after `interrupt`. No message holds a secret.
    func credentials(at milliseconds: Int64, isRefused: Bool) throws -> S3Credentials

    /// Ends programs that were asked for credentials: `credentials` throws. From any thread; later calls are as before.
    func interrupt()
}

extension CredentialSource {
    /// Nothing, where no program is asked.
    package func interrupt() {}
}

/// The parts of the computer used by the chain.
struct CredentialSurroundings: Sendable {
    var variables: [String: String]
    var home: String
    /// Reads a small text file; `nil` without the file.
    var readFile: @Sendable (_ path: String) -> String?
    /// Runs a program, by words or by the shell.
    var run: @Sendable (_ words: [String]) -> ChildProcess.Outcome
    /// Ends running programs.
    var interrupt: @Sendable () -> Void = {}

    static var live: CredentialSurroundings {
        let processes = ChildProcess()
        return CredentialSurroundings(
            variables: ProcessInfo.processInfo.environment,
            home: homeDirectory(ProcessInfo.processInfo.environment),
            readFile: { path in
                guard let data = FileManager.default.contents(atPath: path), data.count <= ProfileFile.maximumBytes
                else { return nil }
                return String(decoding: data, as: UTF8.self)
            }, run: { processes.run($0) }, interrupt: { processes.interrupt() })
    }
}

/// The usual places, in this order: the environment, the profile's keys, the profile's `credential_process`, and the
/// AWS command line with all further sources. A profile named by the location comes before the environment.
final class CredentialChain: CredentialSource {
    private let profile: String?
    private let place: String
    private let surroundings: CredentialSurroundings
    private let known = Locked<S3Credentials?>(nil)

    init(_ location: S3Location, _ surroundings: CredentialSurroundings = .live) {
        profile = location.profile
        place = location.place
        self.surroundings = surroundings
    }

    func credentials(at milliseconds: Int64, isRefused: Bool) throws -> S3Credentials {
        if !isRefused, let known = known.withLock({ $0 }), known.isUsable(at: milliseconds) { return known }
        guard let found = try find() else { throw missing }
        known.withLock { $0 = found }
        return found
    }

    func interrupt() { surroundings.interrupt() }

    /// The region named by the environment or by the profile.
    var region: String? {
        if profile == nil, let region = variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") { return region }
        return settings["region"] ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
    }

    /// The file of trusted authorities named by the environment.
    var authorityFile: String? { variable("AWS_CA_BUNDLE") }

    private var profileName: String { profile ?? variable("AWS_PROFILE") ?? "default" }

    private func variable(_ name: String) -> String? { surroundings.variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    private var settings: [String: String] {
        let files = [
            variable("AWS_CONFIG_FILE") ?? surroundings.home + "/.aws/config",
            variable("AWS_SHARED_CREDENTIALS_FILE") ?? surroundings.home + "/.aws/credentials",
        ]
        return files.reduce(into: [:]) { settings, path in
            guard let text = surroundings.readFile(path) else { return }
            settings.merge(ProfileFile(text).profile(profileName) ?? [:]) { $1 }
        }
    }

    private func find() throws -> S3Credentials? {
        if profile == nil, let found = ofEnvironment { return found }
        let settings = settings
        if let key = settings["aws_access_key_id"], let secret = settings["aws_secret_access_key"], !key.isEmpty {
            return S3Credentials(accessKey: key, secretKey: secret, token: settings["aws_session_token"])
        }
        // The AWS command line would run the same helper.
        if let command = settings["credential_process"], !command.isEmpty { return try ask(helper: command) }
        var words = ["aws", "configure", "export-credentials", "--format", "process"]
        if let profile { words += ["--profile", profile] }
        switch surroundings.run(words) {
        case .ended(status: 0, let output, _): return Self.credentials(json: output)
        case .ended: return nil
        case .tooLong(let seconds, let words):
            throw silent("`aws`", "`aws` gave no answer in \(seconds) s", words)
        case .interrupted: throw interrupted
        }
    }

    /// Asks a profile's `credential_process`.
    private func ask(helper command: String) throws -> S3Credentials {
        let helper = Self.program(of: command)
        let name = "the helper \(helper) of the profile \"\(profileName)\""
        switch surroundings.run(["/bin/sh", "-c", command]) {
        case .ended(status: 0, let output, let words):
            if let found = Self.credentials(json: output) { return found }
            throw silent(name, "\(helper) said something else than credentials", words)
        case .ended(let status, _, let words): throw silent(name, "\(helper) ended with \(status)", words)
        case .tooLong(let seconds, let words):
            throw silent(name, "\(helper) gave no answer in \(seconds) s", words)
        case .interrupted: throw interrupted
        }
    }

    /// The program in a command line. Arguments may be secret.
    static func program(of command: String) -> String {
        let command = command.drop { $0 == " " }
        guard let quote = command.first, quote == "\"" || quote == "'" else {
            return String(command.prefix { $0 != " " && $0 != "\t" })
        }
        return String(command.dropFirst().prefix { $0 != quote })
    }

    private func silent(_ name: String, _ what: String, _ words: String) -> FerryError {
        let said = RcloneAnswer.words(words)
        return FerryError(
            .credentialsMissing,
            "No credentials for \(place): \(name) gave none. \(what)\(said.isEmpty ? "" : ": \(said)"). Run it by itself, and mend it.",
            path: place, detail: what)
    }

    private var interrupted: FerryError {
        FerryError(.busy, "The question for credentials was ended before the answer. Try again.", path: place)
    }

    private var ofEnvironment: S3Credentials? {
        guard let key = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY") else {
            return nil
        }
        return S3Credentials(accessKey: key, secretKey: secret, token: variable("AWS_SESSION_TOKEN"))
    }

    /// Reads the output of a `credential_process`.
    static func credentials(json text: String) -> S3Credentials? {
        // Text in a different form gives no credentials, and the next place is asked.
        guard let output = try? JSONDecoder().decode(ProcessOutput.self, from: Data(text.utf8)) else { return nil }
        return S3Credentials(
            accessKey: output.accessKey, secretKey: output.secretKey, token: output.token,
            endMilliseconds: output.end.flatMap(HTTPDate.milliseconds(iso:)))
    }

    private struct ProcessOutput: Decodable {
        var accessKey: String
        var secretKey: String
        var token: String?
        var end: String?

        private enum CodingKeys: String, CodingKey {
            case accessKey = "AccessKeyId"
            case secretKey = "SecretAccessKey"
            case token = "SessionToken"
            case end = "Expiration"
        }
    }

    private var missing: FerryError {
        let environment = profile == nil ? "in the environment, " : ""
        return FerryError(
            .credentialsMissing,
            "No credentials for \(place): looked \(environment)in the profile \"\(profileName)\" of ~/.aws, and asked `aws`. "
                + "`aws configure --profile NAME` makes a profile; name it by --profile of `ferry init` and `ferry join`, and later of "
                + "`ferry relocate`.", path: place)
    }
}

/// Credentials from an app, such as from the app's keychain or from a service.
final class GivenCredentials: CredentialSource {
    private let give: @Sendable () throws -> S3Credentials
    private let known = Locked<S3Credentials?>(nil)

    init(_ give: @escaping @Sendable () throws -> S3Credentials) { self.give = give }

    func credentials(at milliseconds: Int64, isRefused: Bool) throws -> S3Credentials {
        if !isRefused, let known = known.withLock({ $0 }), known.isUsable(at: milliseconds) { return known }
        let given = try give()
        known.withLock { $0 = given }
        return given
    }
}
