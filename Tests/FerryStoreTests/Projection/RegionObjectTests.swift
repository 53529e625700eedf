import FerryCore
import FerryMerge
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryStore

/// An object of a region lies packed: whatever is asked of it is what it was made of.
final class RegionObjectTests: XCTestCase {
    private let table: TrackedTable = {
        let table = TrackedTable(
            id: 7, name: "t", identity: .surrogate, isLocal: true,
            columns: (0..<5).map { TrackedColumn(id: $0, name: "c\($0)", isLocal: true) }, keyColumns: ["id"])
        table.finish()
        return table
    }()

    private func id<Kind>(_ random: inout some RandomNumberGenerator) -> UniqueID<Kind> {
        UniqueID(high: random.next(), low: random.next())
    }

    private func token(_ random: inout some RandomNumberGenerator) -> RowToken {
        RowToken(table: Int.random(in: 0...300, using: &random), id: id(&random))
    }

    private func stamp(_ random: inout some RandomNumberGenerator) -> Stamp {
        Stamp(time: HybridTime(rawValue: random.next()), device: id(&random))
    }

    private func value(_ random: inout some RandomNumberGenerator) -> FieldValue {
        let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        switch Int.random(in: 0...5, using: &random) {
        case 0: return .null
        case 1: return .integer(Int64(bitPattern: random.next()))
        case 2: return .real(Double(bitPattern: random.next()))
        case 3: return .text(bytes[...])
        case 4: return .blob(bytes.dropFirst(3))
        default: return .reference(id(&random))
        }
    }

    private func values(_ random: inout some RandomNumberGenerator) -> ColumnValues {
        var values: ColumnValues = [:]
        for column in 0..<5 where Bool.random(using: &random) { values[column] = value(&random) }
        return values
    }

    private func state(_ values: ColumnValues, _ random: inout some RandomNumberGenerator) -> ObjectState {
        var state = ObjectState(object: id(&random))
        let inserted = Bool.random(using: &random) ? stamp(&random) : nil
        let isPlain = Bool.random(using: &random)
        let fields = (0..<Int.random(in: 0...5, using: &random)).map { _ -> Stamp? in
            isPlain ? inserted : [inserted, nil, stamp(&random)].randomElement(using: &random) ?? nil
        }
        let deletions = (0..<[0, 0, 0, 2][Int.random(in: 0...3, using: &random)]).map { _ in stamp(&random) }.sorted()
        state.registers = ObjectRegisters(
            inserted: inserted, deleted: Bool.random(using: &random) ? stamp(&random) : nil,
            earlierDeletions: deletions,
            fields: fields)
        state.registers.deletionWins = Bool.random(using: &random)
        state.shown = Visibility(rawValue: Int.random(in: 0...4, using: &random)) ?? .none
        state.key = (0..<Int.random(in: 0...2, using: &random)).map { _ in value(&random) }
        state.kept.fields = [values, [:], self.values(&random)][Int.random(in: 0...2, using: &random)]
        state.kept.key = Bool.random(using: &random) ? value(&random) : nil
        state.givenKey = [nil, state.ownKey, value(&random)][Int.random(in: 0...2, using: &random)]
        state.check = random.next()
        state.storedCheck = random.next()
        state.isStored = Bool.random(using: &random)
        return state
    }

    private func assertSame(_ left: ObjectState, _ right: ObjectState, _ message: String) {
        XCTAssertEqual(left.object, right.object, message)
        XCTAssertEqual(left.key, right.key, message)
        XCTAssertEqual(left.registers, right.registers, message)
        XCTAssertEqual(left.shown, right.shown, message)
        XCTAssertEqual(left.kept, right.kept, message)
        XCTAssertEqual(left.givenKey, right.givenKey, message)
        XCTAssertEqual(left.check, right.check, message)
        XCTAssertEqual(left.storedCheck, right.storedCheck, message)
        XCTAssertEqual(left.isStored, right.isStored, message)
    }

    func testWhatIsAskedIsWhatItWasMadeOf() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = Chance(seed: seed)
        for _ in 0..<2000 {
            let message = "seed \(seed)"
            let values = values(&random)
            let state = state(values, &random)
            let row = [nil, values, self.values(&random)][Int.random(in: 0...2, using: &random)]
            let references = (0..<Int.random(in: 0...3, using: &random)).map { ($0, token(&random)) }
            let claims = (0..<Int.random(in: 0...3, using: &random)).map { place in
                RuleClaim(
                    token: token(&random), index: place == 0 ? nil : place, hidesLosers: Bool.random(using: &random))
            }
            let (parentKeys, former) = (
                [token(&random)], (0..<Int.random(in: 0...2, using: &random)).map { _ in token(&random) }
            )
            let itself = RowToken(table: 7, id: state.object)
            let content = RegionObject.Content(
                row: row, values: values, references: references, claims: claims, parentKeys: parentKeys,
                formerTokens: former)
            let object = RegionObject(itself, table, state, content, place: 3)
            assertSame(object.state, state, message)
            XCTAssertEqual(object.values, values, message)
            XCTAssertEqual(object.row, row, message)
            XCTAssertEqual(object.references.map(\.foreignKey), references.map(\.0), message)
            XCTAssertEqual(object.references.map(\.token), references.map(\.1), message)
            XCTAssertEqual(object.claims, claims, message)
            XCTAssertEqual(object.parentKeys, parentKeys, message)
            XCTAssertEqual(object.formerTokens, former, message)
            XCTAssertEqual(object.owner.key, UniqueClaims.Owner(state).key, message)
            var other = self.state(values, &random)
            other = ObjectState(
                object: state.object, key: other.key, registers: other.registers, shown: other.shown, kept: other.kept,
                givenKey: other.givenKey, policies: other.policies, check: other.check, storedCheck: other.storedCheck,
                isStored: other.isStored)
            object.state = other
            assertSame(object.state, other, message)
            XCTAssertEqual(object.owner.key, UniqueClaims.Owner(state).key, "what it claimed by stays: \(message)")
        }
    }

    func testClaimsInPassingAreNotedOnceAndWithoutItsOwn() {
        var random = Chance(seed: 1)
        let own = RuleClaim(token: token(&random), index: 0)
        let state = state([:], &random)
        let object = RegionObject(
            RowToken(table: 7, id: state.object), table, state, RegionObject.Content(claims: [own]), place: 0)
        let others = (0..<20).map { RuleClaim(token: token(&random), index: $0) }
        for round in 0..<200 { object.pass([own, others[round % others.count]]) }
        XCTAssertEqual(Set(object.passingClaims), Set(others.map(\.token)))
        XCTAssertLessThanOrEqual(object.passingClaims.count, 64)
        object.forgetPassingClaims()
        XCTAssertEqual(object.passingClaims, [])
    }
}
