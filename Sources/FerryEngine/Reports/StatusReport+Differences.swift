import FerryCore

extension StatusReport {
    /// Why a device with the same changes holds or shows other rows, as far as both devices tell.
    package struct Difference: Equatable {
        /// What differs, a sentence each. The most important is first.
        package var problems: [String] = []
        /// Why, and what to do, in sentences.
        package var explanation = ""
        /// True if the schemas of both devices explain the difference: nothing is broken.
        package var isOfSchemas = false
    }

    /// Compares this device with a device of the report.
    /// - Parameters:
    ///   - name: the device's name in sentences.
    ///   - subject: the first word of the problems; `nil` for the name.
    ///   - database: the database's path as a word of the shell, with a space before; empty to leave the path out.
    /// - Returns: no problems for a device without a known difference.
    package func difference(from device: Peer, named name: String, subject: String? = nil, database: String = "")
        -> Difference
    {
        let rows = device.differingRows ?? []
        let states = (device.differing ?? []).filter { state in !rows.contains { equalBytes($0, state) } }
        var difference = Difference()
        if !states.isEmpty {
            difference.problems.append(
                "\(subject ?? name) has replayed the same changes and holds something else in \(listed(states)).")
        }
        if !rows.isEmpty {
            difference.problems.append(
                "\(subject ?? name) has replayed the same changes and shows other rows of \(listed(rows)).")
        }
        if difference.problems.isEmpty { return difference }
        if let schemas = device.differingSchemas {
            difference.isOfSchemas = true
            difference.explanation = "It has \(listed(schemas)) by another schema: bring both in line, and sync."
        } else if let keys = device.differingByKeys {
            difference.isOfSchemas = true
            difference.explanation =
                "An index of \(listed(keys)) counts with integer keys, which differ from device to device: tell rows "
                + "apart by a column of their own."
        } else {
            difference.explanation = explanation(states, device, name, database)
        }
        return difference
    }

    /// Why two devices hold different states, by the rows that either device has lost with a table.
    private func explanation(_ states: [String], _ device: Peer, _ name: String, _ database: String) -> String {
        let verify = "run `ferry verify --deep\(database)` here, and the same there."
        if states.isEmpty { return verify.prefix(1).uppercased() + verify.dropFirst() }
        let here = Set(exceptions.filter { $0.kind == .left }.map { exactKey($0.table) })
        let there = Set((device.leftTables ?? []).map(exactKey))
        let open = states.filter { !here.contains(exactKey($0)) && !there.contains(exactKey($0)) }
        var sentences: [String] = []
        let lost = states.filter { here.contains(exactKey($0)) }
        if !lost.isEmpty {
            sentences.append(
                "Rows of \(listed(lost)) went here without a deletion, when the table was dropped or emptied, and others "
                    + "have them. `ferry status` counts them (“not here”). `ferry conflicts … bring-back` here brings them "
                    + "back, and with --delete deletes them everywhere.")
        }
        let lacked = states.filter { there.contains(exactKey($0)) }
        if !lacked.isEmpty {
            sentences.append(
                "Nothing is damaged: rows of \(listed(lacked)) went on \(name) without a deletion, when the table was dropped "
                    + "or emptied there. `ferry conflicts … bring-back` there brings them back, and with --delete deletes them everywhere."
            )
        }
        if !open.isEmpty {
            sentences.append(
                "Rows of \(listed(open)) went on \(name) with a table that was dropped or emptied (`ferry status` there counts "
                    + "them as “not here” then), or one of the two databases is damaged: \(verify)")
        }
        return sentences.joined(separator: " ")
    }
}
