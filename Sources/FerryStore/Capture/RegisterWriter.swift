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
        for (column, value) in operation.values {
            let policy = table.columns[column].policy
            let known = state.policies[column]
            guard policy != .lastWriterWins || known != nil else { continue }
            var register = known ?? ColumnRegister()
            if known == nil, operation.kind == .update, let value = defaults[column] {
                register.plain = StampedValue(Self.never, value)
            }
            let kind: ColumnRegister.WriteKind =
                operation.kind == .insert
                ? isMinted ? .mintedInsertion : .insertion
                : operation.rowValues[column].map { .unifiedUpdate(over: $0) } ?? .update
            // The register has the value shown before. Without a register for a written column, only the value is
            // known.
            let isLost = known == nil && state.registers.stamp(of: column) != nil
            let written =
                isLost
                ? .plain(value)
                : register.written(
                    value, stamp, under: policy, as: kind, hooks.function(for: policy))
            register.merge(written, at: stamp)
            state.keep(register, column, policy, newest: stamp)
            if case .part(let part) = written {
                parts.append(
                    EncodedPart(
                        column: .init(number: column, kind: part.kind), bytes: PolicyCodec.encode(part, own: stamp)))
            }
        }
        return parts
    }

    // MARK: Unified rows

    /// The values that the row of some objects shows in columns under a policy that changes values in steps.
    func shown(by members: [ObjectState]) -> ColumnValues {
        var values = ColumnValues(width: table.columns.count)
        let ages = members.sorted { left, right in
            guard let first = left.registers.inserted, let second = right.registers.inserted, first != second else {
                return left.object < right.object
            }
            return first.isOlder(than: second)
        }
        for column in table.localColumns where column.policy.changesInSteps {
            var source: (choice: Stamp, state: ObjectState)?
            for state in ages {
                guard let choice = state.choice(of: column.id, in: table) else { continue }
                if source.map({ $0.choice < choice }) ?? true { source = (choice, state) }
            }
            values[column.id] = source?.state.policies[column.id]?.shown(under: column.policy)
        }
        return values
    }

    /// Takes out of the operations on a unified row what cannot be a step of a single object: an addition to a value that is no
    /// integer, and a step of an extreme or a set that nobody has written. So such an object is not chosen for the row.
    func steps(of operations: [CapturedOperation], on state: ObjectState) -> [CapturedOperation] {
        if operations.allSatisfy({ $0.rowValues.isEmpty }) { return operations }
        // The columns that some operation gives a new value, so that later additions have a base.
        var renewed: Set<Int> = []
        return operations.map { operation in
            if operation.kind != .update { return operation }
            var operation = operation
            operation.values = operation.values.filter { column, value in
                guard let former = operation.rowValues[column] else { return true }
                let policy = table.columns[column].policy
                let isWritten = state.registers.stamp(of: column) != nil
                if policy != .counter { return isWritten }
                if CounterPart.addition(from: former, to: value) == nil {
                    renewed.insert(column)
                    return true
                }
                let own = isWritten ? state.policies[column]?.shown(under: policy) : defaults[column]
                if case .integer? = own { return true }
                return renewed.contains(column)
            }
            return operation
        }
    }

    /// Keeps shown values different from written values: a set in canonical form, and what an object of a unified row has
    /// for itself.
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
    /// The stamp by which a unified row chooses among its objects' values of a column.
    func choice(of column: Int, in table: TrackedTable) -> Stamp? {
        ColumnRegister.choice(of: column, registers, policies[column], under: table.columns[column].policy)
    }

    /// Forgets all writes to a column.
    mutating func forget(_ column: Int) {
        registers.fields[column] = nil
        kept.fields[column] = nil
        policies[column] = nil
    }

    /// Keeps a column's register. Without a policy, drops a register that says no more than the column's stamp and value.
    ///
    /// A newer write may have left nothing but its stamp: a set written again with the same elements, an addition to a base that was
    /// overtaken. The plain value is older than the column then, and what came between the two still counts.
    /// - Parameter stamp: of the column's newest write, this register's included.
    mutating func keep(_ register: ColumnRegister, _ column: Int, _ policy: ColumnPolicy, newest stamp: Stamp?) {
        let isTold = register.isPlain && register.plain?.stamp == stamp
        policies[column] = policy == .lastWriterWins && isTold ? nil : register
    }
}
