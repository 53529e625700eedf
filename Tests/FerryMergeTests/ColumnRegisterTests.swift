import FerryCore
import FerryMerge
import FerryTestSupport
import XCTest

final class ColumnRegisterTests: XCTestCase {
    private func stamp(_ milliseconds: Int64, _ device: UInt64 = 1) -> Stamp {
        Stamp(time: HybridTime(milliseconds: milliseconds), device: DeviceID(high: 0, low: device))
    }

    func testWhatWasWrittenBeforeARowBeganAnewIsForgotten() {
        let (old, new) = (stamp(10), stamp(30, 2))
        var register = ColumnRegister(plain: StampedValue(old, .integer(1)))
        register.counter = CounterPart(base: StampedValue(old, .integer(1)), totals: [.init(stamp(15), 4)])
        register.maximum = ExtremePart(reset: nil, best: StampedValue(old, .integer(9)))
        register.set = SetPart(elements: [[1]: .init(old, position: 0), [2]: .init(new, position: 1)])
        register.versions = VersionsPart(
            versions: [StampedValue(old, .integer(1)), StampedValue(new, .integer(2))], seen: [:])
        XCTAssertEqual(Set(register.stamps), [old, stamp(15), new])
        register.forget(before: stamp(20)) { _ in false }
        XCTAssertNil(register.plain)
        XCTAssertNil(register.counter)
        XCTAssertEqual(register.maximum?.best.value, .integer(9), "what the insertion did not know of stays a maximum")
        XCTAssertEqual(register.set?.elements.keys.map { $0 }, [[2]])
        XCTAssertEqual(register.versions?.versions.map(\.value), [.integer(2)])
        register.forget(before: stamp(40)) { _ in true }
        XCTAssertTrue(register.isEmpty)
    }

    func testACounterOnADefaultIsNotForgottenForItsBase() {
        let never = Stamp(time: .zero, device: DeviceID(high: 0, low: 0))
        var register = ColumnRegister()
        register.counter = CounterPart(
            base: StampedValue(never, .integer(5)), totals: [.init(stamp(10), 1), .init(stamp(30, 2), 2)])
        register.forget(before: stamp(20)) { _ in true }
        XCTAssertEqual(register.shown(under: .counter), .integer(7))
    }

    /// A device that writes to one column and merges what others wrote, for telling a story.
    private struct Writer {
        var register: ColumnRegister
        let device: UInt64
        let policy: ColumnPolicy
        var function: MergeFunction?

        var shown: FieldValue? { register.shown(under: policy, function) }

        mutating func write(_ value: FieldValue, _ milliseconds: Int64) -> (WrittenValue, Stamp) {
            let stamp = Stamp(time: HybridTime(milliseconds: milliseconds), device: DeviceID(high: 0, low: device))
            let written = register.written(value, stamp, under: policy, function)
            register.merge(written, at: stamp)
            return (written, stamp)
        }

        mutating func merge(_ operation: (WrittenValue, Stamp)) { register.merge(operation.0, at: operation.1) }
    }

    /// Two devices that both have a value that was written before there was a policy.
    private func two(
        _ policy: ColumnPolicy, _ value: FieldValue, _ function: MergeFunction? = nil
    ) -> (Writer, Writer) {
        let register = ColumnRegister(plain: StampedValue(stamp(1, 9), value))
        return (
            Writer(register: register, device: 1, policy: policy, function: function),
            Writer(register: register, device: 2, policy: policy, function: function)
        )
    }

    // MARK: max and min

    func testTheGreaterOfTwoConcurrentValuesWinsUnderMaxAndTheLesserUnderMin() {
        for (policy, winner) in [(ColumnPolicy.max, 9), (.min, 3)] {
            var (a, b) = two(policy, .integer(5))
            let nine = a.write(.integer(9), 10)
            let three = b.write(.integer(3), 20)
            // The worse one is a reset, which wins over what had not seen it.
            a.merge(three)
            b.merge(nine)
            XCTAssertEqual(a.shown, b.shown)
            XCTAssertEqual(a.shown, policy == .max ? .integer(3) : .integer(9), "a reset wins, not \(winner)")
        }
        for (policy, winner) in [(ColumnPolicy.max, Int64(9)), (.min, 2)] {
            var (a, b) = two(policy, policy == .max ? .integer(1) : .integer(20))
            let nine = a.write(.integer(9), 10)
            let two = b.write(.integer(2), 20)
            a.merge(two)
            b.merge(nine)
            XCTAssertEqual(a.shown, .integer(winner))
            XCTAssertEqual(b.shown, .integer(winner))
        }
    }

    func testAWorseValueIsAResetThatTakesEffectAndLaterValuesCountFromThere() {
        var (a, b) = two(.max, .integer(50))
        b.merge(a.write(.integer(4), 10))
        XCTAssertEqual(b.shown, .integer(4))
        let six = b.write(.integer(6), 20)
        let seven = a.write(.integer(7), 15)
        a.merge(six)
        b.merge(seven)
        XCTAssertEqual(a.shown, .integer(7))
        XCTAssertEqual(b.shown, .integer(7))
    }

    func testMaxHasTheOrderOfSQLiteAndNULLIsNoValue() {
        let ascending: [FieldValue] = [
            .null, .integer(.min), .real(-1.5), .integer(3), .real(3.5), .integer(4), .integer(9_007_199_254_740_992),
            .integer(9_007_199_254_740_993), .integer(.max), .real(0x1p63), .text("a"), .text("b"), .blob([0]),
        ]
        for (index, value) in ascending.enumerated() {
            for other in ascending[(index + 1)...] {
                var register = ColumnRegister(plain: StampedValue(stamp(1), value))
                register.merge(register.written(other, stamp(5), under: .max), at: stamp(5))
                guard case .maximum(let part)? = register.parts.first else { return XCTFail("no part") }
                XCTAssertNil(part.reset, "\(other) is not worse than \(value)")
                var downwards = ColumnRegister(plain: StampedValue(stamp(1), other))
                downwards.merge(downwards.written(value, stamp(5), under: .max), at: stamp(5))
                guard case .maximum(let reset)? = downwards.parts.first else { return XCTFail("no part") }
                XCTAssertEqual(reset.reset, stamp(5), "\(value) is worse than \(other)")
            }
        }
        var (a, _) = two(.min, .null)
        _ = a.write(.integer(5), 10)
        XCTAssertEqual(a.shown, .integer(5))
    }

    // MARK: counter

    func testConcurrentAdditionsAddUp() {
        var (a, b) = two(.counter, .integer(100))
        var fromA: [(WrittenValue, Stamp)] = []
        for step in 1...3 { fromA.append(a.write(.integer(100 + Int64(step)), Int64(step) * 10)) }
        let fromB = b.write(.integer(95), 15)
        a.merge(fromB)
        // Only the last of A's totals arrives, and twice.
        b.merge(fromA[2])
        b.merge(fromA[2])
        b.merge(fromA[0])
        XCTAssertEqual(a.shown, .integer(98))
        XCTAssertEqual(b.shown, .integer(98))
    }

    func testWhatIsNoIntegerIsANewBaseAndSumsOnTheOldOneAreForgotten() {
        var (a, b) = two(.counter, .integer(1))
        let two = a.write(.integer(2), 10)
        let null = b.write(.null, 20)
        a.merge(null)
        b.merge(two)
        XCTAssertEqual(a.shown, .null)
        XCTAssertEqual(b.shown, .null)
        XCTAssertTrue(a.register.isPlain)
        b.merge(a.write(.integer(7), 30))
        XCTAssertEqual(b.shown, .integer(7))
        b.merge(a.write(.integer(8), 40))
        XCTAssertEqual(b.shown, .integer(8))
        XCTAssertFalse(b.register.isPlain)
    }

    func testSumsEndAtTheRangeOfIntegersAndAWriteThereStillTakesEffect() {
        var (a, b) = two(.counter, .integer(.max - 1))
        let one = a.write(.integer(.max), 10)
        b.merge(one)
        let again = b.write(.integer(.max - 2), 20)
        a.merge(again)
        XCTAssertEqual(a.shown, .integer(.max - 2))
        var (c, d) = two(.counter, .integer(.max - 1))
        let (left, right) = (c.write(.integer(.max), 10), d.write(.integer(.max), 20))
        c.merge(right)
        d.merge(left)
        XCTAssertEqual(c.shown, .integer(.max))
        let down = c.write(.integer(.max - 1), 30)
        XCTAssertEqual(c.shown, .integer(.max - 1))
        d.merge(down)
        XCTAssertEqual(d.shown, .integer(.max - 1))
        let far = d.write(.integer(.min), 40)
        XCTAssertEqual(d.shown, .integer(.min))
        c.merge(far)
        XCTAssertEqual(c.shown, .integer(.min))
    }

    // MARK: set

    func testElementsMergeOneByOneInTheOrderOfTheirAddition() {
        var (a, b) = two(.set, .text(#"["rock", "pop"]"#))
        let fromA = [a.write(.text(#"["rock","pop","jazz"]"#), 10), a.write(.text(#"["pop","jazz"]"#), 30)]
        let fromB = b.write(.text(#"["rock","pop","folk","blues"]"#), 20)
        a.merge(fromB)
        for operation in fromA.reversed() { b.merge(operation) }
        XCTAssertEqual(a.shown, .text(#"["pop","jazz","folk","blues"]"#))
        XCTAssertEqual(b.shown, a.shown)
    }

    func testAnElementAddedAgainIsThereAndOneRemovedLaterIsNot() {
        var (a, b) = two(.set, .text(#"["x"]"#))
        let (removal, _) = (a.write(.text("[]"), 10), ())
        let addition = a.write(.text(#"["x"]"#), 30)
        let other = b.write(.text("[]"), 20)
        b.merge(removal)
        b.merge(addition)
        a.merge(other)
        XCTAssertEqual(a.shown, .text(#"["x"]"#))
        XCTAssertEqual(b.shown, .text(#"["x"]"#))
    }

    func testWhatIsNoArrayReplacesTheSetAndAdditionsToNothingMeet() {
        var (a, b) = two(.set, .null)
        let fromA = a.write(.text(#"["a"]"#), 10)
        let fromB = b.write(.text(#"["b"]"#), 20)
        a.merge(fromB)
        b.merge(fromA)
        XCTAssertEqual(a.shown, .text(#"["a","b"]"#))
        XCTAssertEqual(b.shown, a.shown)
        b.merge(a.write(.null, 30))
        XCTAssertEqual(b.shown, .null)
        b.merge(a.write(.text("[]"), 40))
        XCTAssertEqual(b.shown, .text("[]"))
    }

    func testElementsAreComparedByTheirMeaning() {
        var (a, _) = two(.set, .text(#"[ "caf\u00e9", {"b": 1, "a": [true, null]}, 1, "😀" ]"#))
        _ = a.write(.text(#"["café",{"a":[true,null],"b":1},1,"\ud83d\ude00","\n\/"]"#), 10)
        XCTAssertEqual(a.shown, .text("[\"café\",{\"a\":[true,null],\"b\":1},1,\"😀\",\"\\u000a/\"]"))
        for text in [
            "[1", "[1,]", "[01]", "[\"\\x\"]", "1", "{}", "", "[1] 2", "[\"\t\"]", "[nul]", "[1.]", "[-]",
            "[\"\\ud83\"]",
            String(repeating: "[", count: 100_000),
        ] {
            let register = ColumnRegister(plain: StampedValue(stamp(1), .text("[1]")))
            guard case .plain = register.written(.text(text), stamp(5), under: .set) else {
                XCTFail("\(text.prefix(20)) is no JSON array")
                continue
            }
        }
    }

    // MARK: firstWriterWins and hooks

    func testOfConcurrentWritesTheFirstWinsAndLaterOnesTakeEffect() {
        var (a, b) = two(.firstWriterWins, .text("free"))
        let early = a.write(.text("A"), 10)
        let late = b.write(.text("B"), 20)
        a.merge(late)
        b.merge(early)
        XCTAssertEqual(a.shown, .text("A"))
        XCTAssertEqual(b.shown, .text("A"))
        XCTAssertEqual(b.register.rivals(under: .firstWriterWins).map(\.value), [.text("A"), .text("B")])
        a.merge(b.write(.text("B, who has seen it"), 30))
        XCTAssertEqual(a.shown, .text("B, who has seen it"))
        XCTAssertEqual(a.register.rivals(under: .firstWriterWins).count, 1)
    }

    func testADeviceThatWritesTwiceDoesNotOutdoOneThatWroteOnceBefore() {
        var (a, b) = two(.firstWriterWins, .null)
        let first = b.write(.text("B"), 5)
        let twice = [a.write(.text("A1"), 10), a.write(.text("A2"), 20)]
        a.merge(first)
        for operation in twice.reversed() { b.merge(operation) }
        XCTAssertEqual(a.shown, .text("B"))
        XCTAssertEqual(b.shown, .text("B"))
    }

    func testAHookMergesWhatStandsBesideEachOtherInTheOrderOfTime() {
        let joined: MergeFunction = { older, newer in
            guard case .text(let a) = older, case .text(let b) = newer else { return newer }
            return .text(a + Array("+".utf8) + b)
        }
        var (a, b) = two(.hook("join"), .text("0"), joined)
        let late = a.write(.text("late"), 20)
        let early = b.write(.text("early"), 10)
        a.merge(early)
        b.merge(late)
        XCTAssertEqual(a.shown, .text("early+late"))
        XCTAssertEqual(b.shown, .text("early+late"))
        XCTAssertNil(a.register.shown(under: .hook("join")), "without its function nothing can be said")
        b.merge(a.write(.text("agreed"), 30))
        XCTAssertEqual(b.shown, .text("agreed"))
        XCTAssertEqual(b.register.shown(under: .hook("join")), .text("agreed"))
    }

    // MARK: Policies that come and go

    func testAWriteByADeviceThatKnewNoPolicyCountsAsAnAssignment() {
        let plain = (WrittenValue.plain(.integer(30)), stamp(40, 3))
        var (a, _) = two(.max, .integer(1))
        _ = a.write(.integer(50), 10)
        a.merge(plain)
        XCTAssertEqual(a.shown, .integer(50))
        var (c, _) = two(.counter, .integer(1))
        _ = c.write(.integer(2), 10)
        c.merge(plain)
        XCTAssertEqual(c.shown, .integer(30))
        _ = c.write(.integer(31), 50)
        XCTAssertEqual(c.shown, .integer(31))
        var (f, _) = two(.firstWriterWins, .integer(1))
        _ = f.write(.integer(2), 10)
        f.merge(plain)
        XCTAssertEqual(f.shown, .integer(30))
    }

    func testWhereThePolicyIsTakenOffTheNewestWriteOfAllIsShown() {
        var (a, b) = two(.counter, .integer(10))
        let (left, right) = (a.write(.integer(11), 10), b.write(.integer(12), 20))
        a.merge(right)
        b.merge(left)
        XCTAssertEqual(a.register.shown(under: .lastWriterWins), .integer(13))
        a.register.merge(a.register.written(.integer(1), stamp(30), under: .lastWriterWins), at: stamp(30))
        XCTAssertEqual(a.register.shown(under: .lastWriterWins), .integer(1))
        // Another policy counts on from there.
        let next = a.register.written(.integer(5), stamp(40), under: .max)
        a.register.merge(next, at: stamp(40))
        XCTAssertEqual(a.register.shown(under: .max), .integer(5))
        XCTAssertEqual(a.register.shown(under: .lastWriterWins), .integer(5))
    }

    // MARK: Any order

    /// Commutative, associative, idempotent; a local write takes effect; what is kept comes back from its bytes.
    func testAnyOrderAndRepetitionGivesTheSameRegisterAndLocalWritesTakeEffect() throws {
        let hook: MergeFunction = { older, newer in max(older, newer) }
        let policies: [ColumnPolicy] = [
            .lastWriterWins, .firstWriterWins, .max, .min, .counter, .set, .hook("greater"),
        ]
        for seed in UInt64(1)...1500 {
            var generator = Chance(state: seed)
            let isMixed = seed % 3 == 0
            let common = policies[Int(seed / 3) % policies.count]
            var devices = (0..<3).map { _ in ColumnRegister() }
            var operations: [(WrittenValue, Stamp)] = []
            var delivered = [0, 0, 0]
            for step in 1...Int.random(in: 2...14, using: &generator) {
                let place = Int.random(in: 0..<3, using: &generator)
                if Bool.random(using: &generator), delivered[place] < operations.count {
                    // Not of all at once: in the order of all, which keeps each device's own.
                    for operation in operations[delivered[place]...].prefix(3) {
                        devices[place].merge(operation.0, at: operation.1)
                    }
                    delivered[place] = min(delivered[place] + 3, operations.count)
                    continue
                }
                let policy = isMixed ? policies.randomElement(using: &generator) ?? .max : common
                let value = randomValue(policy, &generator)
                let newest = devices[place].newestForTests
                let time = max(
                    Int64(step) * 2 + Int64.random(in: -4...4, using: &generator), (newest ?? 0) + 1)
                let stamp = stamp(time, UInt64(place + 1))
                let written = devices[place].written(
                    value, stamp, under: policy, as: operations.isEmpty ? .mintedInsertion : .update, hook)
                devices[place].merge(written, at: stamp)
                operations.append((written, stamp))
                let shown = devices[place].shown(under: policy, hook)
                if policy != .set { XCTAssertEqual(shown, value, "seed \(seed), \(policy)") }
                if policy == .set, case .text = value {
                    XCTAssertEqual(elements(shown), elements(value), "seed \(seed)")
                }
            }
            func fold(_ operations: [(WrittenValue, Stamp)]) -> ColumnRegister {
                var register = ColumnRegister()
                for operation in operations { register.merge(operation.0, at: operation.1) }
                return register
            }
            let expected = fold(operations)
            for _ in 0..<4 {
                let shuffled = (operations + operations.prefix(3)).shuffled(using: &generator)
                XCTAssertEqual(fold(shuffled), expected, "seed \(seed)")
                let cut = Int.random(in: 0...shuffled.count, using: &generator)
                var left = fold(Array(shuffled[..<cut]))
                left.merge(fold(Array(shuffled[cut...])))
                XCTAssertEqual(left, expected, "seed \(seed), joined")
            }
            let bytes = try XCTUnwrap(PolicyCodec.encode([4: expected], own: { _ in operations.last?.1 }))
            let decoded = try PolicyCodec.decodeRegisters(bytes, own: { _ in operations.last?.1 })
            XCTAssertEqual(decoded, [4: expected], "seed \(seed)")
            for (written, stamp) in operations {
                guard case .part(let part) = written else { continue }
                let bytes = PolicyCodec.encode(part, own: stamp)
                XCTAssertEqual(try PolicyCodec.decode(bytes[...], as: part.kind, own: stamp), part)
            }
        }
    }

    func testBytesThatBreakTheFormatAreRefusedOrHarmless() throws {
        var generator = Chance(state: 7)
        var register = ColumnRegister(plain: StampedValue(stamp(1, 9), .text("[1,2]")))
        var parts: [(PolicyPart, Stamp)] = []
        for (index, policy) in [ColumnPolicy.max, .min, .counter, .set, .firstWriterWins].enumerated() {
            let stamp = stamp(Int64(index) * 10 + 10, UInt64(index))
            let value: FieldValue = policy == .set ? .text("[1,3]") : .integer(Int64(index))
            if policy == .counter { register.merge(.plain(.integer(1)), at: self.stamp(25)) }
            let written = register.written(value, stamp, under: policy)
            guard case .part(let part) = written else { return XCTFail("\(policy)") }
            parts.append((part, stamp))
        }
        var refused = 0
        for (part, stamp) in parts {
            let bytes = PolicyCodec.encode(part, own: stamp)
            for length in bytes.indices {
                XCTAssertThrowsError(try PolicyCodec.decode(bytes[..<length], as: part.kind, own: stamp)) {
                    XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile)
                }
            }
            for _ in 0..<3000 {
                var damaged = bytes
                for _ in 0...Int.random(in: 0..<3, using: &generator) {
                    damaged[Int.random(in: damaged.indices, using: &generator)] = .random(
                        in: 0...255, using: &generator)
                }
                do {
                    let decoded = try PolicyCodec.decode(damaged[...], as: part.kind, own: stamp)
                    var merged = register
                    merged.merge(.part(decoded), at: stamp)
                    for policy in [ColumnPolicy.lastWriterWins, .max, .counter, .set, .firstWriterWins] {
                        _ = merged.shown(under: policy)
                    }
                } catch let error {
                    XCTAssertEqual(error.code, .damagedFile)
                    refused += 1
                }
            }
        }
        XCTAssertGreaterThan(refused, 1000)
        let reference = Array([0, 1, 5] + (0..<16).map { _ in UInt8(1) })
        XCTAssertThrowsError(try PolicyCodec.decode(reference[...], as: .maximum, own: stamp(1)))
    }

    private func elements(_ value: FieldValue?) -> Set<String> {
        guard case .text(let bytes)? = value else { return ["not an array"] }
        return Set(String(decoding: bytes, as: UTF8.self).dropFirst().dropLast().split(separator: ",").map(String.init))
    }

    private func randomValue(_ policy: ColumnPolicy, _ generator: inout Chance) -> FieldValue {
        if Int.random(in: 0..<8, using: &generator) == 0, policy != .set { return .null }
        if policy == .set {
            if Int.random(in: 0..<10, using: &generator) == 0 { return .null }
            let members = (1...4).filter { _ in Bool.random(using: &generator) }.shuffled(using: &generator)
            return .text("[" + members.map(String.init).joined(separator: ",") + "]")
        }
        return .integer(Int64.random(in: -3...6, using: &generator))
    }
}

extension ColumnRegister {
    /// The latest time in it, in milliseconds.
    fileprivate var newestForTests: Int64? {
        var stamps = [plain?.stamp].compactMap { $0 }
        for part in parts {
            switch part {
            case .maximum(let part), .minimum(let part): stamps.append(part.best.stamp)
            case .counter(let part): stamps += [part.base.stamp] + part.totals.values.map(\.stamp)
            case .set(let part): stamps += part.elements.values.map(\.stamp)
            case .versions(let part): stamps += part.seen.map { Stamp(time: $0.value, device: $0.key) }
            }
        }
        return stamps.map(\.time.milliseconds).max()
    }
}
