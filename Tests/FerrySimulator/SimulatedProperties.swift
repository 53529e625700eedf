import FerryCore
import FerryEngine
import FerryStore
import GRDB

/// The properties of a simulation: always, and at rest.
enum SimulatedProperties {
    /// Checks the properties after every sync, whatever the folder does: constraints, whole transactions, nothing
    /// invented, and a clock neither turned back nor far ahead.
    static func checkAlways(_ machine: Machine, _ simulation: Simulation) throws {
        let who = "d\(machine.index)"
        let violations = try machine.rows("PRAGMA foreign_key_check")
        if !violations.isEmpty { simulation.fail("\(who) breaks foreign keys: \(violations.prefix(3))") }
        let integrity = try machine.rows("PRAGMA integrity_check").map(bare)
        if integrity != ["ok"] { simulation.fail("\(who) is damaged: \(integrity.prefix(3))") }
        try checkClock(machine, simulation)
        let halves = try machine.rows("SELECT pair FROM half GROUP BY pair HAVING count(*) <> 2")
        if !halves.isEmpty, try !isLoadingSnapshot(machine) {
            simulation.fail("\(who) shows half a transaction: \(halves.prefix(3))")
        }
    }

    /// Checks that the clock never goes back, and follows other clocks by at most a day.
    private static func checkClock(_ machine: Machine, _ simulation: Simulation) throws {
        let now = try machine.hybridTime()
        if now < machine.lastTime { simulation.fail("the clock of d\(machine.index) went back") }
        // Times assigned while its own clock was ahead stay assigned; the same holds for times brought by a copy.
        let bound = max(machine.lastTime, machine.clock.latest) + HybridClock.maximumLeadMilliseconds
        if now > bound { simulation.fail("the clock of d\(machine.index) is \(now - bound) ms too far ahead") }
        machine.lastTime = now
    }

    /// True while a snapshot is loaded in several transactions: the rows are incomplete.
    private static func isLoadingSnapshot(_ machine: Machine) throws -> Bool {
        try !machine.rows("SELECT value FROM ferry_meta WHERE name = 'snapshot'").isEmpty
    }

    /// Checks the properties after all faults, with nothing left to send:
    /// - all devices agree, prove their agreement, and equal the oracle;
    /// - no written value is lost or invented;
    /// - causes come before effects;
    /// - no device waits.
    static func checkAtRest(_ simulation: Simulation) throws {
        guard let first = simulation.living.first else { return }
        let ids = try simulation.living.map { try $0.opened().identity.device.description }
        if Set(ids).count != ids.count { simulation.fail("two machines have one device ID") }
        for machine in simulation.living {
            let who = "d\(machine.index)"
            let replica = try machine.opened()
            for sql in simulation.queries(version: min(first.version, machine.version)) {
                let (expected, found) = try (first.rows(sql), machine.rows(sql))
                if expected == found { continue }
                simulation.fail(
                    "\(who) and d\(first.index) differ: \(sql)\n  only d\(first.index): "
                        + "\(expected.filter { !found.contains($0) })\n  only \(who): \(found.filter { !expected.contains($0) })"
                )
            }
            for problem in simulation.ledger.problems(lines: try machine.rows("SELECT text FROM line").map(bare)) {
                simulation.fail("\(who) \(problem)")
            }
            try checkCells(machine, simulation)
            let report = try replica.verify(deep: true)
            if !report.isSound {
                simulation.fail("\(who) is not what the oracle says: \(report.differences.prefix(5))")
            }
            let status = try replica.status()
            for peer in status.devices where ids.contains(peer.id) && peer.standing != .inStep {
                // With several versions of the app in use, devices say so.
                if peer.standing == .unproven, peer.differingSchemas != nil,
                    Set(simulation.living.map(\.version)).count > 1
                {
                    continue
                }
                simulation.fail(
                    "\(who) says of \(peer.id): \(peer.standing?.rawValue ?? "nothing") \(peer.differing ?? [])")
            }
            for peer in status.devices {
                // A device whose clock was days ahead stays named until time has caught up.
                guard let problem = peer.problem, ids.contains(peer.id), peer.problemCode != "clockAhead" else {
                    continue
                }
                simulation.fail("\(who) waits for \(peer.id): \(problem)")
            }
        }
    }

    private static func checkCells(_ machine: Machine, _ simulation: Simulation) throws {
        var found: Set<String> = []
        for row in try machine.rows("SELECT name, value FROM cell") {
            let parts = row.split(separator: "|").map { bare(String($0)) }
            guard parts.count == 2 else { continue }
            found.insert(parts[0])
            if let problem = simulation.ledger.problem(cell: parts[0], value: parts[1]) {
                simulation.fail("d\(machine.index): \(problem)")
            }
        }
        let lost = simulation.ledger.certainCells.subtracting(found)
        if !lost.isEmpty { simulation.fail("d\(machine.index) lost cells \(lost.sorted())") }
    }

    /// A text without the quotes of GRDB's description.
    static func bare(_ text: String) -> String {
        text.hasPrefix("\"") && text.hasSuffix("\"") && text.count > 1 ? String(text.dropFirst().dropLast()) : text
    }
}
