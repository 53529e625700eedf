import FerryCore
import FerryMerge
import FerrySchema

/// A portable part of a column's register.
struct EncodedPart {
    struct Column: Hashable {
        var number: Int
        var kind: PayloadKind
    }

    var column: Column
    var bytes: [UInt8]
}

/// Merges captured values of columns under a policy into their registers.
struct RegisterWriter {
    private let table: TrackedTable
    private let hooks: MergeHooks
    /// The defaults of columns under a counter, shown by rows nobody has written to. Every device counts from there.
    private var defaults: ColumnValues = [:]

    init(_ access: StoreAccess, _ table: TrackedTable) throws {
        self.table = table
        hooks = access.hooks
        guard table.hasColumnPolicies else { return }
        for column in table.localColumns where column.policy == .counter {
            defaults[column.id] = try access.defaultValue(of: column)
        }
    }

    /// The time of a default value.
    private static let never = Stamp(time: .zero, device: DeviceID(high: 0, low: 0))

    /// - Parameter isMinted: true for an object of this flush, inserted by nobody else.
    /// - Returns: the parts to publish in place of values.
    func write(
        _ operation: CapturedOperation, at stamp: Stamp, isMinted: Bool, _ state: inout ObjectState
    ) -> [EncodedPart] {
        guard table.hasColumnPolicies || !state.policies.isEmpty else { return [] }
        var parts: [EncodedPart] = []
        let kind: ColumnRegister.WriteKind =
            operation.kind != .insert ? .update : isMinted ? .mintedInsertion : .insertion
        for (column, value) in operation.values {
            let policy = table.columns[column].policy
            let known = state.policies[column]
            guard policy != .lastWriterWins || known != nil else { continue }
            var register = known ?? ColumnRegister()
            if known == nil, operation.kind == .update, let value = defaults[column] {
                register.plain = StampedValue(Self.never, value)
            }
            // The register has the value shown before. Without a register for a written column, only the value is
            // known.
            let isLost = known == nil && state.registers.stamp(of: column) != nil
            let written =
                isLost
                ? .plain(value)
                : register.written(
                    value, stamp, under: policy, as: kind, hooks.function(for: policy))
            register.merge(written, at: stamp)
            state.keep(register, column, policy)
            if case .part(let part) = written {
                parts.append(
                    EncodedPart(
                        column: .init(number: column, kind: part.kind), bytes: PolicyCodec.encode(part, own: stamp)))
            }
        }
        return parts
    }

    /// Keeps shown values different from written values: a set in canonical form.
    /// - Returns: true if any differs.
    func corrections(of operations: [CapturedOperation], _ state: inout ObjectState) -> Bool {
        if state.policies.isEmpty { return false }
        var last: ColumnValues = [:]
        for operation in operations { last = last.overlaid(with: operation.values) }
        var isCorrected = false
        for (column, value) in last {
            let policy = table.columns[column].policy
            guard let shown = state.policies[column]?.shown(under: policy, hooks.function(for: policy)), shown != value
            else { continue }
            state.kept.fields[column] = shown
            isCorrected = true
        }
        return isCorrected
    }
}

extension ObjectState {
    /// Forgets all writes to a column.
    mutating func forget(_ column: Int) {
        registers.fields[column] = nil
        kept.fields[column] = nil
        policies[column] = nil
    }

    /// Keeps a column's register. Without a policy, drops a register with only a stamp and a value.
    mutating func keep(_ register: ColumnRegister, _ column: Int, _ policy: ColumnPolicy) {
        policies[column] = policy == .lastWriterWins && register.isPlain ? nil : register
    }
}
