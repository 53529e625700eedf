import FerryContainer
import FerryCore
import FerryMembers
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// Random lives of three members whose provider is malicious: it changes, cuts off, swaps, moves, withholds, and serves old files, of
/// every kind but the marker. Once it is honest again, everything arrives; before, nothing that nobody wrote is ever shown.
/// `FERRY_SEEDS`, `FERRY_FIRST_SEED` and `FERRY_SEED` as in `Seeds`.
final class MaliciousProviderTests: XCTestCase {
    /// What the provider did to one file, and the file as it was.
    private struct Deed {
        let path: String
        let before: [UInt8]
        /// `nil`: the file is withheld.
        let after: [UInt8]?
    }

    private struct Life {
        let home: SealedHome
        var chance: Chance
        var written: [String] = []
        var deeds: [Deed] = []
        /// Former contents of files that were replaced.
        var past: [String: [UInt8]] = [:]
        var met: [String: Int] = [:]

        init(seed: UInt64) throws {
            home = try SealedHome()
            chance = Chance(seed: seed)
            try home.found()
            try home.invite(by: 0)
            try home.invite(by: 1)
            try home.settle()
        }

        func paths() throws -> [String] {
            try home.allFiles().keys.filter { !$0.hasSuffix(ContainerDescription.fileName) }.sorted()
        }

        func read(_ path: String) throws -> [UInt8]? { try home.files.readFile(at: path, maximumBytes: 1 << 24) }

        func put(_ bytes: [UInt8]?, at path: String) throws {
            try home.files.removeFile(at: path)
            if let bytes { try home.files.write(bytes, toNewFileAt: path) }
        }

        mutating func step() throws {
            let device = Int.random(in: 0..<3, using: &chance)
            switch Int.random(in: 0..<10, using: &chance) {
            case 0..<3:
                written.append("row \(written.count)")
                try home.write(device, written[written.count - 1])
            case 3..<6: try sync(device)
            default: try deceive()
            }
        }

        /// A pass may be refused for what the folder shows, and for nothing else.
        private mutating func sync(_ device: Int) throws {
            do {
                let waiting = try home.replica(device).sync().waiting
                for reason in waiting { met[reason.code, default: 0] += 1 }
            } catch let error as FerryError where [.fileNotThereYet, .damagedFile].contains(error.code) {
                met["refused \(error.code.rawValue)", default: 0] += 1
            }
        }

        private mutating func deceive() throws {
            guard let path = try paths().randomElement(using: &chance), let before = try read(path) else { return }
            let kind = Int.random(in: 0..<6, using: &chance)
            var after: [UInt8]? = before
            switch kind {
            case 0:
                let place = Int.random(in: 0..<before.count, using: &chance)
                after?[place] ^= UInt8.random(in: 1...255, using: &chance)
            case 1: after = Array(before.prefix(Int.random(in: 0..<before.count, using: &chance)))
            case 2: after = nil
            case 3:
                guard let other = try paths().randomElement(using: &chance) else { return }
                after = try read(other)
            case 4: after = past[path] ?? before
            default:
                // Into another device's directory, beside what is there.
                let owner = try home.device(Int.random(in: 0..<3, using: &chance)).hex
                let target = Self.moved(path, to: owner)
                if try read(target) == nil, try home.files.item(at: Self.parent(of: target)) == .directory {
                    try put(before, at: target)
                    deeds.append(Deed(path: target, before: [], after: before))
                }
                return
            }
            past[path] = before
            guard after != before else { return }
            try put(after, at: path)
            deeds.append(Deed(path: path, before: before, after: after))
            met["deed \(kind)", default: 0] += 1
        }

        private static func moved(_ path: String, to device: String) -> String {
            var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            if let place = parts.firstIndex(of: "devices"), place + 1 < parts.count { parts[place + 1] = device }
            return parts.joined(separator: "/")
        }

        private static func parent(of path: String) -> String {
            path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "/"
        }

        /// Undoes what was done and what no device has mended since, the last deed first.
        mutating func makeHonest() throws {
            for deed in deeds.reversed() where try read(deed.path) == deed.after {
                try put(deed.before.isEmpty ? nil : deed.before, at: deed.path)
            }
        }

        /// What a device shows that nobody wrote, or shows twice.
        func invented() throws -> [String] {
            let known = Set(written)
            return try (0..<3).flatMap { device in
                let names = try home.names(device)
                return names.filter { !known.contains($0) } + (Set(names).count == names.count ? [] : ["twice"])
            }
        }
    }

    func testNothingIsInventedAndNothingIsLost() throws {
        let seeds = Seeds(defaultCount: 12)
        var met: [String: Int] = [:]
        for seed in seeds.all {
            var life = try Life(seed: seed)
            for step in 0..<60 {
                try life.step()
                XCTAssertEqual(try life.invented(), [], "seed \(seed), step \(step)")
            }
            try life.makeHonest()
            try life.home.settle()
            // What a device counts as lost it mends by a snapshot, at the latest an hour later.
            life.home.clock.advance(hours: 2)
            try life.home.settle()
            for device in 0..<3 {
                XCTAssertEqual(try life.home.names(device), life.written.sorted(), "seed \(seed), device \(device)")
                XCTAssertEqual(try life.home.roster(device).members.count, 3, "seed \(seed), device \(device)")
            }
            met.merge(life.met) { $0 + $1 }
        }
        if seeds.single == nil {
            for kind in 0..<4 {
                XCTAssertGreaterThan(met["deed \(kind)", default: 0], 0, "deed \(kind) was never done")
            }
            XCTAssertGreaterThan(met.filter { !$0.key.hasPrefix("deed") }.count, 1, "nothing was noticed: \(met)")
        }
    }
}
