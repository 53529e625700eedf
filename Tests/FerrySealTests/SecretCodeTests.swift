import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerrySeal

final class SecretCodeTests: XCTestCase {
    private let code = Samples.code(.invitation)

    func testACodeIsReadInAnyLetterCaseWithSpacesOrHyphens() throws {
        let words = code.words
        for text in [
            words, words.uppercased(), words.capitalized, words.replacingOccurrences(of: " ", with: "-"),
            words.replacingOccurrences(of: " ", with: ""), "  \(words.replacingOccurrences(of: " ", with: "\n"))\r\n",
            code.text, code.text.lowercased(), " \(code.text)\n",
            code.text.replacingOccurrences(of: "FERRY1I", with: "ferry1-i-"),
        ] {
            XCTAssertEqual(try SecretCode(parsing: text, as: .invitation), code, text)
        }
    }

    func testEveryCodeComesBackFromWordsAndText() throws {
        for seed in UInt64(1)...300 {
            for purpose in SecretCode.Purpose.allCases {
                let code = SecretCode(minted: purpose, random: SeededRandom(seed: seed))
                XCTAssertEqual(try SecretCode(parsing: code.words, as: purpose), code)
                XCTAssertEqual(try SecretCode(parsing: code.text, as: purpose), code)
            }
        }
    }

    func testAMistypedLetterIsFound() {
        // The check bytes find 65,535 of 65,536 mistakes; none of these is the one.
        let letters = Array(code.words)
        for place in letters.indices where letters[place] != " " {
            for letter in "abdfghijklmnoprstuvz" where letter != letters[place] {
                var changed = letters
                changed[place] = letter
                XCTAssertEqual(
                    errorCode { _ = try SecretCode(parsing: String(changed), as: .invitation) }, .codeRefused)
            }
        }
    }

    func testWhatIsNoCodeIsRefused() {
        for text in [
            "", " ", "hello", "zagud", String(code.words.dropLast()), String(code.words.dropLast(6)),
            code.words + " zagud",
            "FERRY1", "FERRY1I", "FERRY1X" + code.text.dropFirst(7), String(code.text.dropLast()), code.text + "A",
            code.words + "é", String(repeating: "zagud ", count: 100_000),
        ] {
            XCTAssertEqual(errorCode { _ = try SecretCode(parsing: text, as: .invitation) }, .codeRefused, text)
        }
    }

    func testACodeOfTheOtherPurposeIsToldAsSuch() {
        for text in [code.words, code.text] {
            do {
                _ = try SecretCode(parsing: text, as: .recovery)
                XCTFail("an invitation was taken for the recovery code")
            } catch {
                XCTAssertEqual(error.code, .codeRefused)
                XCTAssertEqual(error.message, "This is the code of an invitation, not a recovery code.")
            }
        }
        XCTAssertEqual(
            errorCode { _ = try SecretCode(parsing: Samples.code(.recovery).words, as: .invitation) }, .codeRefused)
    }

    func testNoErrorNamesTheCode() {
        for text in [code.words + " zagud", String(code.words.dropLast()) + "d", code.text + "A"] {
            do {
                _ = try SecretCode(parsing: text, as: .recovery)
                XCTFail("no code was taken for one")
            } catch {
                for word in code.words.split(separator: " ").dropFirst() {
                    XCTAssertFalse(error.message.contains(word), error.message)
                }
            }
        }
    }

    func testTheRecoveryKeyFollowsFromItsCodeAlone() throws {
        let code = Samples.code(.recovery)
        let (one, two) = (
            try DeviceKeys(recovery: code, container: Samples.container),
            try DeviceKeys(recovery: SecretCode(parsing: code.words, as: .recovery), container: Samples.container)
        )
        XCTAssertEqual(one.publicKeys, two.publicKeys)
        XCTAssertNotEqual(
            try DeviceKeys(recovery: code, container: ContainerID(high: 0, low: 1)).publicKeys, one.publicKeys)
        XCTAssertEqual(
            errorCode { _ = try DeviceKeys(recovery: self.code, container: Samples.container) }, .invalidArgument)
    }

    func testTheKeysOfACodeAreTheContainersOwn() {
        let other = ContainerID(high: 0, low: 1)
        XCTAssertEqual(code.claimKey(in: Samples.container), code.claimKey(in: Samples.container))
        XCTAssertFalse(code.claimKey(in: Samples.container) == code.claimKey(in: other))
        XCTAssertFalse(code.claimKey(in: other) == code.answerKey(in: other))
    }

    func testBase32IsThatOfTheStandard() {
        // RFC 4648, section 10, without padding.
        for (plain, text) in [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            XCTAssertEqual(Base32.encode(Array(plain.utf8)), text)
            XCTAssertEqual(Base32.decode(Array(text.lowercased().utf8)), Array(plain.utf8))
        }
        XCTAssertNil(Base32.decode(Array("mz1".utf8)))
        XCTAssertNil(Base32.decode(Array("mb".utf8)), "bits that are left over are zero")
        XCTAssertNil(Base32.decode(Array("a".utf8)), "one letter is no byte")
    }

    func testProquintsAreThoseOfTheProposal() {
        // 127.0.0.1 and 63.84.220.193, from the proposal's own examples.
        XCTAssertEqual(Proquints.encode([127, 0, 0, 1]), "lusab babad")
        XCTAssertEqual(Proquints.encode([63, 84, 220, 193]), "gutih tugad")
    }
}
