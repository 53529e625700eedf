import FerryCore

/// Merges two values of a column under a hook: the older write's and the newer write's. Must be a pure function, the
/// same on every device, or devices show different values.
package typealias MergeFunction = @Sendable (_ older: FieldValue, _ newer: FieldValue) -> FieldValue

/// The content of an operation for a column.
package enum WrittenValue: Equatable, Sendable {
    /// A value, as somebody wrote it.
    case plain(FieldValue)
    /// A part of a register.
    case part(PolicyPart)
}

extension WrittenValue {
    /// The value alone, unchanged by anybody else's writes: for recording losses.
    package var ownValue: FieldValue? {
        guard case .part(let part) = self else {
            if case .plain(let value) = self { return value }
            return nil
        }
        switch part {
        case .maximum(let part), .minimum(let part): return part.best.value
        case .counter(let part): return CounterPart.shown(part, nil)
        case .set(let part): return SetPart.shown(part, nil)
        case .versions(let part): return part.versions.last?.value
        }
    }
}

/// A column's part under a kind of policy.
package enum PolicyPart: Hashable, Sendable {
    case maximum(ExtremePart)
    case minimum(ExtremePart)
    case counter(CounterPart)
    case set(SetPart)
    case versions(VersionsPart)

    package var kind: PayloadKind {
        switch self {
        case .maximum: .maximum
        case .minimum: .minimum
        case .counter: .counter
        case .set: .set
        case .versions: .versions
        }
    }
}

/// The state of an object's column under a policy. Like every column it has the newest plain write, and it has a part
/// for each kind of policy under which some device wrote.
///
/// Each part merges separately, whatever the present policy is. So operations from before and after a policy was set
/// may come in any order. The visible value is a pure function of all parts and of the present policy.
package struct ColumnRegister: Hashable, Sendable {
    package var plain: StampedValue?
    package var maximum: ExtremePart?
    package var minimum: ExtremePart?
    package var counter: CounterPart?
    package var set: SetPart?
    package var versions: VersionsPart?

    package init(plain: StampedValue? = nil) { self.plain = plain }

    /// True if the register holds no more than a plain write.
    package var isPlain: Bool { parts.isEmpty }

    /// True if nothing was ever written.
    package var isEmpty: Bool { plain == nil && isPlain }

    /// By ascending kind.
    package var parts: [PolicyPart] {
        let all: [PolicyPart?] = [
            maximum.map { .maximum($0) }, minimum.map { .minimum($0) }, counter.map { .counter($0) },
            set.map { .set($0) }, versions.map { .versions($0) },
        ]
        return all.compactMap { $0 }
    }

    // MARK: Merging

    /// Takes an operation into account.
    package mutating func merge(_ written: WrittenValue, at stamp: Stamp) {
        switch written {
        case .plain(let value): plain = StampedValue.newest(plain, StampedValue(stamp, value))
        case .part(let part): merge(part)
        }
        forgetOvertaken()
    }

    /// Merges everything in another register.
    package mutating func merge(_ other: ColumnRegister) {
        plain = StampedValue.newest(plain, other.plain)
        for part in other.parts { merge(part) }
        forgetOvertaken()
    }

    private mutating func merge(_ part: PolicyPart) {
        switch part {
        case .maximum(let other):
            if maximum == nil { maximum = other } else { maximum?.merge(other, .maximum) }
        case .minimum(let other):
            if minimum == nil { minimum = other } else { minimum?.merge(other, .minimum) }
        case .counter(let other):
            if counter == nil { counter = other } else { counter?.merge(other) }
        case .set(let other):
            if set == nil { set = other } else { set?.merge(other) }
        case .versions(let other):
            if versions == nil { versions = other } else { versions?.merge(other) }
        }
    }

    /// A plain write overtakes sums on an older base and elements from before, for good.
    private mutating func forgetOvertaken() {
        if let plain {
            if let base = counter?.base, plain.wins(over: base) { counter = nil }
            set?.forget(before: plain.stamp)
        }
        if set?.elements.isEmpty ?? false { set = nil }
    }

    /// Forgets writes before a stamp.
    /// - Parameter wasKnown: true if the insertion that began the object anew knew a write. Of a maximum only known
    ///   values go: a better value has removed other values, which may have been later.
    package mutating func forget(before floor: Stamp, wasKnown: (Stamp) throws -> Bool) rethrows {
        if let stamp = plain?.stamp, stamp < floor { plain = nil }
        if let stamp = maximum?.best.stamp, stamp < floor, try wasKnown(stamp) { maximum = nil }
        if let stamp = minimum?.best.stamp, stamp < floor, try wasKnown(stamp) { minimum = nil }
        counter?.forget(before: floor)
        if counter?.isVoid(before: floor) ?? false { counter = nil }
        set?.forget(before: floor)
        if set?.elements.isEmpty ?? false { set = nil }
        versions?.versions.removeAll { $0.stamp < floor }
        if versions?.versions.isEmpty ?? false { versions = nil }
    }

    /// The stamps of the whole register.
    package var stamps: [Stamp] {
        var stamps: [Stamp?] = [
            plain?.stamp, maximum?.best.stamp, maximum?.reset, minimum?.best.stamp, minimum?.reset, counter?.base.stamp,
        ]
        stamps += counter?.totals.values.map(\.stamp) ?? []
        stamps += set?.elements.values.map(\.stamp) ?? []
        stamps += versions?.versions.map(\.stamp) ?? []
        return stamps.compactMap { $0 }
    }

    // MARK: Showing

    /// The visible value.
    /// - Parameter function: the hook's function, if the policy is a hook.
    /// - Returns: `nil` if nothing was written, or if the policy's hook is missing and would be needed.
    package func shown(under policy: ColumnPolicy, _ function: MergeFunction? = nil) -> FieldValue? {
        let plain = assignment(beside: policy.payloadKind)
        switch policy {
        case .lastWriterWins: return plain?.value
        case .max: return ExtremePart.shown(maximum, plain, .maximum)
        case .min: return ExtremePart.shown(minimum, plain, .minimum)
        case .counter: return CounterPart.shown(counter, plain)
        case .set: return SetPart.shown(set, plain)
        case .firstWriterWins:
            return VersionsPart.byPrecedence(VersionsPart.standing(versions, plain)).first?.value
        case .hook:
            let standing = VersionsPart.standing(versions, plain).map(\.value)
            guard let first = standing.first else { return nil }
            if standing.count == 1 { return first }
            guard let function else { return nil }
            return standing.dropFirst().reduce(first, function)
        }
    }

    /// The write from which a value counts that changes in steps: a counter's base, the last reset of an extreme, the last
    /// plain write of a set. Additions, better values and elements leave it as it is. `nil` without such a write.
    package func origin(under policy: ColumnPolicy) -> Stamp? {
        let plain = assignment(beside: policy.payloadKind)
        switch policy {
        case .lastWriterWins, .firstWriterWins, .hook: return nil
        case .counter: return CounterPart.from(plain, counter)?.base.stamp
        case .max: return [plain?.stamp, maximum?.reset].compactMap { $0 }.max()
        case .min: return [plain?.stamp, minimum?.reset].compactMap { $0 }.max()
        case .set: return plain?.stamp
        }
    }

    /// The stamp by which a unified row chooses among its objects' values of a column. A step made on the row is a step
    /// of every object, so steps decide nothing: the same object's value is shown before and after.
    /// - Parameters:
    ///   - registers: the object's registers.
    ///   - register: the column's register; `nil` without one.
    package static func choice(
        of column: Int, _ registers: ObjectRegisters, _ register: ColumnRegister?, under policy: ColumnPolicy
    ) -> Stamp? {
        guard let newest = registers.stamp(of: column) else { return nil }
        guard let register, policy.changesInSteps else { return newest }
        let origin = register.origin(under: policy)
        // A set or an extreme may begin with the insertion, without a plain write.
        let inserted = policy == .counter ? nil : registers.inserted
        return [origin, inserted].compactMap { $0 }.max() ?? newest
    }

    /// The concurrent writes under a policy that makes some of them lose: under `firstWriterWins` the winner first, under a
    /// hook by ascending stamp.
    package func rivals(under policy: ColumnPolicy) -> [StampedValue] {
        guard policy.payloadKind == .versions else { return [] }
        let standing = VersionsPart.standing(versions, assignment(beside: .versions))
        return policy == .firstWriterWins ? VersionsPart.byPrecedence(standing) : standing
    }

    /// The plain write from the view of a kind of policy: the newest of the plain write and of the values of other
    /// kinds' parts. Each value counts as of its own newest write.
    private func assignment(beside kind: PayloadKind?) -> StampedValue? {
        var newest = plain
        func consider(_ own: PayloadKind, _ stamp: Stamp?, _ value: FieldValue?) {
            guard own != kind, let stamp, let value else { return }
            newest = StampedValue.newest(newest, StampedValue(stamp, value))
        }
        consider(.maximum, maximum?.best.stamp, ExtremePart.shown(maximum, plain, .maximum))
        consider(.minimum, minimum?.best.stamp, ExtremePart.shown(minimum, plain, .minimum))
        consider(.counter, counter?.newest, CounterPart.shown(counter, plain))
        consider(.set, set?.newest, SetPart.shown(set, plain))
        consider(.versions, versions?.newest, versions?.versions.last?.value)
        return newest
    }

    /// True if everything in a part counts in this register: nothing of the part was overtaken.
    package func includes(_ part: PolicyPart) -> Bool {
        switch part {
        case .counter(let part): return counter?.base == part.base
        case .set(let part):
            return part.elements.allSatisfy { content, element in
                set?.elements[content].map { element.stamp <= $0.stamp } ?? false
            }
        case .versions(let part):
            guard let versions else { return false }
            if let plain = assignment(beside: .versions), VersionsPart.standing(versions, plain) == [plain] {
                return false
            }
            return part.versions.allSatisfy { versions.knows($0.stamp) }
        case .maximum, .minimum: return false
        }
    }

    // MARK: Repeating

    /// What a device must send to make the register anew on a device that knows nothing of the column. Stamps inside parts
    /// stay the original stamps. So concurrent additions count on, and a concurrent writer has seen what the writer saw.
    /// - Returns: parts, and a plain write to send beside them; the latter a tick later than the original.
    package func repetition(under policy: ColumnPolicy) -> (plain: StampedValue?, parts: [PolicyPart]) {
        let assigned = assignment(beside: policy.payloadKind)
        var rest = parts.filter { $0.kind != policy.payloadKind }
        switch policy {
        case .counter:
            if let part = CounterPart.from(assigned, counter) { rest.append(.counter(part)) }
            return (nil, rest)
        case .firstWriterWins, .hook:
            let standing = VersionsPart.standing(versions, assigned)
            if standing.isEmpty { return (nil, rest) }
            var seen = versions?.seen ?? [:]
            if let assigned {
                seen[assigned.stamp.device] = max(seen[assigned.stamp.device] ?? .zero, assigned.stamp.time)
            }
            return (nil, rest + [.versions(VersionsPart(versions: standing, seen: seen))])
        case .lastWriterWins, .max, .min, .set:
            return (plain, parts)
        }
    }

    // MARK: Writing

    /// What a local write does to the row.
    package enum WriteKind: Equatable, Sendable {
        case update
        /// An update of a unified row that showed a value before. The write changes this value, whatever the register shows.
        case unifiedUpdate(over: FieldValue)
        case insertion
        /// An insertion of an object that nobody else can have inserted.
        case mintedInsertion
    }

    /// The operation for a local write under the present policy. Merged into this register, the operation makes `value`
    /// visible (for a set: as long as its elements are the same).
    ///
    /// - Parameters:
    ///   - stamp: later than everything in the register.
    package func written(
        _ value: FieldValue, _ stamp: Stamp, under policy: ColumnPolicy, as kind: WriteKind = .update,
        _ function: MergeFunction? = nil
    ) -> WrittenValue {
        // Nothing can be concurrent to a minted insertion, so a plain value suffices.
        if kind == .mintedInsertion { return .plain(value) }
        let isInsertion = kind == .insertion
        let plain = assignment(beside: policy.payloadKind)
        let former = if case .unifiedUpdate(let value) = kind { value } else { shown(under: policy, function) }
        switch policy {
        case .lastWriterWins: return .plain(value)
        case .max: return .part(.maximum(.written(value, stamp, over: maximum, shown: former, .maximum)))
        case .min: return .part(.minimum(.written(value, stamp, over: minimum, shown: former, .minimum)))
        case .counter:
            if isInsertion { return .plain(value) }
            return CounterPart.written(value, stamp, over: counter, plain, shown: former).map { .part(.counter($0)) }
                ?? .plain(value)
        case .set:
            // An insertion says everything: nobody need remember former elements.
            return SetPart.written(value, stamp, shown: isInsertion ? nil : former).map { .part(.set($0)) }
                ?? .plain(value)
        case .firstWriterWins, .hook: return .part(.versions(.written(value, stamp, over: versions, plain)))
        }
    }
}

extension ColumnPolicy {
    /// True if a write changes the shown value by a step that concurrent steps of others leave in place.
    package var changesInSteps: Bool {
        switch self {
        case .counter, .max, .min, .set: true
        case .lastWriterWins, .firstWriterWins, .hook: false
        }
    }

    /// The kind of part for writes under the policy; `nil` for plain writes.
    package var payloadKind: PayloadKind? {
        switch self {
        case .lastWriterWins: nil
        case .max: .maximum
        case .min: .minimum
        case .counter: .counter
        case .set: .set
        case .firstWriterWins, .hook: .versions
        }
    }
}
