import FerryCore
import XCTest

@testable import FerryContainer

final class ContainerLocationTests: XCTestCase {
    private func s3(_ text: String, file: StaticString = #filePath, line: UInt = #line) throws -> S3Location {
        guard case .s3(let location) = try ContainerLocation(text) else {
            throw FerryError(.internalInconsistency, "\(text) is no place in a storage")
        }
        return location
    }

    func testAPathIsAFolderWhateverItContains() throws {
        for path in [
            "music", "/srv/music", "~/Sync/music", "../up", "C:/music", "a:b", "./s3://bucket", "with?query=1", "ends/",
            "s3",
            "s3:bucket", "./rclone:drive:x", "mu sic", "日本語", "://x", "a b://c",
        ] {
            XCTAssertEqual(try ContainerLocation(path), .folder(path))
            XCTAssertEqual(try ContainerLocation(path).text, path)
            XCTAssertEqual(try ContainerLocation(path).kind, "folder")
        }
    }

    func testABucketAndItsParametersAreRead() throws {
        let plain = try s3("s3://music-bucket")
        XCTAssertEqual([plain.bucket, plain.prefix, plain.text], ["music-bucket", "", "s3://music-bucket"])
        XCTAssertNil(plain.endpoint)
        let location = try s3(
            "S3://music-bucket/a/b%20c/?region=eu-1&endpoint=https%3A%2F%2FObjects.Example.net%3A9000&profile=my%20music"
                + "&style=path&ca-file=%2Fetc%2Fca.pem")
        XCTAssertEqual(location.prefix, "a/b%20c")  // as it is: names of objects are not decoded
        XCTAssertEqual(location.endpoint, ServiceAddress(isSecure: true, host: "objects.example.net", port: 9000))
        XCTAssertEqual(
            [location.region, location.profile, location.authorityFile], ["eu-1", "my music", "/etc/ca.pem"])
        XCTAssertEqual(location.style, .path)
        XCTAssertEqual(location.place, "s3://music-bucket/a/b%20c")
        XCTAssertEqual(
            location.text,
            "s3://music-bucket/a/b%20c?ca-file=%2Fetc%2Fca.pem&endpoint=https%3A%2F%2Fobjects.example.net%3A9000"
                + "&profile=my%20music&region=eu-1&style=path")
        XCTAssertEqual(try s3(location.text), location)
    }

    func testAnEndpointMayBeWrittenPlainly() throws {
        XCTAssertEqual(
            try s3("s3://bucket/x?endpoint=https://objects.example.net/").text,
            "s3://bucket/x?endpoint=https%3A%2F%2Fobjects.example.net")
        XCTAssertNil(try s3("s3://bucket/x?endpoint=https://example.net:443").endpoint?.port)
    }

    func testWhatIsNoPlaceIsRefusedWithHowToWriteIt() throws {
        let refused = [
            "": "Name the container", "s3://": "bucket's name", "s3://ab": "bucket's name", "s3:///x": "bucket's name",
            "s3://-bucket/x": "bucket's name", "s3://buc ket/x": "bucket's name", "s3://a..b": "bucket's name",
            "s3://\(String(repeating: "b", count: 64))": "bucket's name", "s3://bücket": "bucket's name",
            "s3://bucket//x": "empty part", "s3://bucket/a//b": "empty part", "s3://bucket/../x": ". or ..",
            "s3://bucket/./x": ". or ..", "s3://bucket/" + String(repeating: "x", count: 513): "longer than 512",
            "s3://bucket?": "name=value", "s3://bucket?region": "name=value", "s3://bucket?region=": "name=value",
            "s3://bucket?region=%zz": "name=value", "s3://bucket?region=%ff": "name=value",
            "s3://bucket?region=a&region=b": "twice", "s3://bucket?colour=red": "unknown parameter",
            "s3://bucket?region=a b": "region", "s3://bucket?style=other": "virtual",
            "s3://bucket?plain-http=no": "yes",
            "s3://bucket?ca-file=ca.pem": "from the root", "s3://bucket?profile=a]b": "profile",
            "s3://bucket?endpoint=objects.example.net": "An endpoint", "s3://bucket?endpoint=https://": "An endpoint",
            "s3://bucket?endpoint=https://a/b": "An endpoint", "s3://bucket?endpoint=https://a:0": "An endpoint",
            "s3://bucket?endpoint=https://a:65536": "An endpoint", "s3://bucket?endpoint=ftp://a": "An endpoint",
            "s3://bucket?endpoint=https://-a": "An endpoint", "s3://bucket?endpoint=https://[::1": "An endpoint",
            "s3://bucket?endpoint=http://objects.example.net": "--plain-http",
            "gs://bucket/x": "rclone:remote:path", "https://example.net/x": "rclone:remote:path",
            "file:///srv": "rclone:remote:path", "rclone:drive": "rclone:drive:music", "rclone:-x:y": "remote's name",
            "rclone:drive:a/../b": ". or ..", "rclone:drive:a//b": "empty part", "rclone:dri/ve:x": "remote's name",
            "mus\u{0}ic": "control characters", "a\nb": "control characters",
            String(repeating: "x", count: 4097): "longer than 4096",
        ]
        for (text, part) in refused { assertThrows(.invalidArgument, part) { try ContainerLocation(text) } }
    }

    func testKeysInALocationAreRefusedAndNotRepeated() throws {
        for text in [
            "s3://AKIAEXAMPLE:wJalrXUtnFEMI@bucket/x", "s3://wJalrXUtnFEMI@bucket",
            "s3://bucket?secret_access_key=wJalrXUtnFEMI", "s3://bucket?X-Amz-Signature=wJalrXUtnFEMI",
            "s3://bucket?token=wJalrXUtnFEMI", "s3://bucket?endpoint=https://me:wJalrXUtnFEMI@host",
            "s3://bucket?unknown=wJalrXUtnFEMI", "rclone::s3,secret_access_key=wJalrXUtnFEMI:bucket",
            "rclone:drive,token=wJalrXUtnFEMI:bucket",
        ] {
            do {
                _ = try ContainerLocation(text)
                XCTFail("\(text) was taken")
            } catch {
                XCTAssertFalse(error.description.contains("wJalr"), error.description)
                XCTAssertNil(error.path)
            }
        }
        assertThrows(.invalidArgument, "A location holds no keys") { try ContainerLocation("s3://KEY:SECRET@bucket") }
    }

    func testPlainHTTPIsTakenForThisComputerAndPrivateNetworks() throws {
        let near = [
            "localhost", "127.0.0.1", "127.9.9.9", "10.0.0.7", "192.168.1.2", "172.16.0.1", "172.31.9.9", "169.254.1.1",
            "[::1]",
            "[fd00::1]", "[fe80::1]", "s3.localhost",
        ]
        for host in near { XCTAssertTrue(try ServiceAddress("http://\(host):7480").isPrivate, host) }
        let far = [
            "example.net", "172.32.0.1", "11.0.0.1", "192.169.0.1", "10.0.0.256", "10.0.0", "[2001:db8::1]",
            "127.evil.net",
        ]
        for host in far { XCTAssertFalse(try ServiceAddress("http://\(host)").isPrivate, host) }
        XCTAssertEqual(try s3("s3://bucket?endpoint=http://127.0.0.1:7480").endpoint?.text, "http://127.0.0.1:7480")
        XCTAssertTrue(try s3("s3://bucket?endpoint=http://example.net&plain-http=yes").allowsPlainHTTP)
    }

    func testARemoteOfRclonesIsRead() throws {
        for (text, remote, path, written) in [
            ("rclone:drive:music", "drive", "music", "rclone:drive:music"),
            ("rclone:drive:", "drive", "", "rclone:drive:"),
            ("RCLONE:my drive:a b/c/", "my drive", "a b/c", "rclone:my drive:a b/c"),
            ("rclone:local:/srv/x", "local", "/srv/x", "rclone:local:/srv/x"), ("rclone:r:/", "r", "/", "rclone:r:/"),
            ("rclone:a:b:c", "a", "b:c", "rclone:a:b:c"),
        ] {
            guard case .rclone(let location) = try ContainerLocation(text) else { return XCTFail(text) }
            XCTAssertEqual([location.remote, location.path, location.text], [remote, path, written])
            XCTAssertEqual(try ContainerLocation(location.text), .rclone(location))
        }
    }

    func testPercentEncodingGoesBothWays() throws {
        let text = "a/b c+&=?%~é日"
        XCTAssertEqual(PercentEncoding.encode("a b/~"), "a%20b%2F~")
        XCTAssertEqual(PercentEncoding.encode("a b/~", keepingSlashes: true), "a%20b/~")
        XCTAssertEqual(PercentEncoding.decode(Substring(PercentEncoding.encode(text))), text)
        for wrong in ["%", "%4", "%g1", "%c3", "%+1"] { XCTAssertNil(PercentEncoding.decode(Substring(wrong)), wrong) }
    }
}
