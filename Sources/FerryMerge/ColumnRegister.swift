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
        case .firstWriterWins: return VersionsPart.standing(versions, plain).first?.value
        case .hook:
            let standing = VersionsPart.standing(versions, plain).map(\.value)
            guard let first = standing.first else { return nil }
            if standing.count == 1 { return first }
            guard let function else { return nil }
            return standing.dropFirst().reduce(first, function)
        }
    }

    /// The concurrent writes, by ascending stamp, under a policy that makes some of them lose.
    package func rivals(under policy: ColumnPolicy) -> [StampedValue] {
        guard policy.payloadKind == .versions else { return [] }
        return VersionsPart.standing(versions, assignment(beside: .versions))
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

    // MARK: Writing

    /// What a local write does to the row.
    package enum WriteKind: Sendable {
        case update
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
        let former = shown(under: policy, function)
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
