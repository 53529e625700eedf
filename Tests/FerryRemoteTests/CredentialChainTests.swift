import FerryContainer
import FerryCore
import XCTest

@testable import FerryRemote

final class CredentialChainTests: XCTestCase {
    private let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    private func chain(
        _ place: String = "s3://bucket/music", variables: [String: String] = [:], files: [String: String] = [:],
        run: @escaping @Sendable ([String]) -> String? = { _ in nil }
    ) throws -> CredentialChain {
        try chain(place, variables: variables, files: files) { words in
            guard let output = run(words) else {
                return .ended(status: ChildProcess.Outcome.unknownProgram, output: "", words: "not found")
            }
            return .ended(status: 0, output: output, words: "")
        }
    }

    private func chain(
        _ place: String, variables: [String: String] = [:], files: [String: String] = [:],
        answering run: @escaping @Sendable ([String]) -> ChildProcess.Outcome
    ) throws -> CredentialChain {
        guard case .s3(let location) = try ContainerLocation(place) else {
            throw FerryError(.internalInconsistency, place)
        }
        return CredentialChain(
            location,
            CredentialSurroundings(variables: variables, home: "/home/me", readFile: { files[$0] }, run: run))
    }

    private let files = [
        "/home/me/.aws/credentials": """
        # comment
        [default]
        aws_access_key_id = DEFAULT
        aws_secret_access_key = d=e/f+g==
        [ music ]
          aws_access_key_id = INDENTED
        aws_access_key_id=MUSIC
        aws_secret_access_key=  m
        aws_session_token = t
        """,
        "/home/me/.aws/config": """
        [default]
        region = us-west-2
        [profile music]
        region = eu-central-1
        s3 =
            region = nested
        [profile process]
        credential_process = /opt/give --for me
        """,
    ]

    func testTheEnvironmentComesFirstUnlessTheLocationNamesAProfile() throws {
        let variables = [
            "AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t", "AWS_REGION": "ap-1",
        ]
        let plain = try chain(variables: variables, files: files)
        XCTAssertEqual(
            try plain.credentials(at: 0, isRefused: false), S3Credentials(accessKey: "ENV", secretKey: "s", token: "t"))
        XCTAssertEqual(plain.region, "ap-1")
        let named = try chain("s3://bucket/x?profile=music", variables: variables, files: files)
        XCTAssertEqual(
            try named.credentials(at: 0, isRefused: false),
            S3Credentials(accessKey: "MUSIC", secretKey: "m", token: "t"))
        XCTAssertEqual(named.region, "eu-central-1")
    }

    func testProfilesAreReadFromBothFiles() throws {
        let plain = try chain(files: files)
        XCTAssertEqual(
            try plain.credentials(at: 0, isRefused: false), S3Credentials(accessKey: "DEFAULT", secretKey: "d=e/f+g=="))
        XCTAssertEqual(plain.region, "us-west-2")
        let chosen = try chain(variables: ["AWS_PROFILE": "music"], files: files)
        XCTAssertEqual(try chosen.credentials(at: 0, isRefused: false).accessKey, "MUSIC")
        let elsewhere = try chain(
            variables: ["AWS_SHARED_CREDENTIALS_FILE": "/c"],
            files: ["/c": "[default]\r\naws_access_key_id=A\r\naws_secret_access_key=B\r\n"])
        XCTAssertEqual(
            try elsewhere.credentials(at: 0, isRefused: false), S3Credentials(accessKey: "A", secretKey: "B"))
    }

    func testAProcessAndTheCommandLineAreAskedAndTheirEndIsKept() throws {
        let output =
            #"{"Version":1,"AccessKeyId":"P","SecretAccessKey":"q","SessionToken":"r","Expiration":"2013-05-24T01:00:00Z"}"#
        let asked = Locked<[[String]]>([])
        let process = try chain("s3://bucket/x?profile=process", files: files) { words in
            asked.withLock { $0.append(words) }
            return output
        }
        let start: Int64 = 1_369_353_600_000
        XCTAssertEqual(try process.credentials(at: start, isRefused: false).accessKey, "P")
        _ = try process.credentials(at: start + 3_000_000, isRefused: false)
        XCTAssertEqual(asked.withLock { $0 }, [["/bin/sh", "-c", "/opt/give --for me"]])
        // Five minutes before the end, and when the storage calls them ended.
        _ = try process.credentials(at: start + 3_300_000, isRefused: false)
        _ = try process.credentials(at: start, isRefused: true)
        XCTAssertEqual(asked.withLock { $0.count }, 3)
        let command = try chain("s3://bucket/x?profile=sso") { words in
            XCTAssertEqual(
                words, ["aws", "configure", "export-credentials", "--format", "process", "--profile", "sso"])
            return output
        }
        XCTAssertEqual(try command.credentials(at: 0, isRefused: false).secretKey, "q")
    }

    func testWithoutAnyThePlacesThatWereLookedAtAreTold() throws {
        for (place, part) in [
            ("s3://bucket/music", "looked in the environment"), ("s3://bucket/music?profile=no", "profile \"no\""),
        ] {
            XCTAssertThrowsError(
                try chain(place, files: files.filter { _ in false }).credentials(at: 0, isRefused: false)
            ) { error in
                guard let error = error as? FerryError else { return XCTFail("\(error)") }
                XCTAssertEqual(error.code, .credentialsMissing)
                XCTAssertTrue(error.message.contains(part), error.message)
            }
        }
        XCTAssertNil(CredentialChain.credentials(json: "{}"))
        XCTAssertNil(CredentialChain.credentials(json: "not JSON"))
    }

    func testAHelperWithoutCredentialsIsNamedWithItsWords() throws {
        let outcomes: [(ChildProcess.Outcome, String)] = [
            (.ended(status: 3, output: "", words: "no token here"), "/opt/give ended with 3: no token here."),
            (.ended(status: 0, output: "{}", words: ""), "/opt/give said something else than credentials."),
            (.tooLong(seconds: 60, words: "touch the key"), "/opt/give gave no answer in 60 s: touch the key."),
        ]
        for (outcome, part) in outcomes {
            let asked = Locked(0)
            let chain = try chain("s3://bucket/x?profile=process", files: files) { _ in
                asked.withLock { $0 += 1 }
                return outcome
            }
            XCTAssertThrowsError(try chain.credentials(at: 0, isRefused: false)) { error in
                XCTAssertEqual((error as? FerryError)?.code, .credentialsMissing)
                XCTAssertTrue("\(error)".contains(part), "\(error)")
                XCTAssertTrue("\(error)".contains("profile \"process\""), "\(error)")
                XCTAssertFalse("\(error)".contains("--for"), "arguments may be secret")
            }
            XCTAssertEqual(asked.withLock { $0 }, 1)
        }
        XCTAssertEqual(CredentialChain.program(of: " \"/opt/my tools/give\" --for me"), "/opt/my tools/give")
        let ended = try chain("s3://bucket/x?profile=process", files: files) { _ in .interrupted }
        XCTAssertThrowsError(try ended.credentials(at: 0, isRefused: false)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .busy)
        }
        let silent = try chain("s3://bucket/x?profile=sso") { _ in .tooLong(seconds: 60, words: "") }
        XCTAssertThrowsError(try silent.credentials(at: 0, isRefused: false)) {
            XCTAssertTrue("\($0)".contains("`aws` gave no answer in 60 s"), "\($0)")
        }
    }

    func testNothingPrintsASecret() {
        let credentials = S3Credentials(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: secret, token: "TOKEN-TOKEN")
        var dumped = ""
        dump(credentials, to: &dumped)
        dump(["x": credentials], to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), String(describing: [credentials]), dumped] {
            for part in ["AKIA", "wJalr", "TOKEN"] { XCTAssertFalse(text.contains(part), text) }
        }
    }
}
