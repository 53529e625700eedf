import Ferry

/// News from a sync about the members of a sealed container, in sentences.
enum MembershipNews {
    /// Reports admissions, copies, and requests for admission.
    /// - Parameters:
    ///   - database: in the person's spelling, for commands to type.
    ///   - time: stands before each sentence.
    static func tell(_ report: SyncReport, of database: String, at time: String = "", _ console: Console) throws {
        let word = Wording.shellWord(database)
        let before = time.isEmpty ? "" : time + " "
        for device in report.admitted ?? [] { try console.say("\(before)A device is in: \(device.prefix(8)).") }
        for copy in report.copies ?? [] {
            console.warn(
                "A copy of \(copy.of) came in. If nobody made one, remove it: `ferry devices \(word) remove \(copy.id.prefix(8))`."
            )
        }
        if let late = report.lateClaims, late > 0 { warnOfLate(late, of: database, console) }
        if let claims = report.claims, claims > 0 {
            console.hint(
                "\(Wording.count(claims, "device asks", "devices ask")) to be let in: `ferry approve \(word)`.")
        }
    }

    /// Warns of requests by a code of this device that are too old to count.
    static func warnOfLate(_ count: Int, of database: String, _ console: Console) {
        console.warn(
            "\(Wording.count(count, "device asks", "devices ask")) to be let in by a code of this device, and not in time: a clock is wrong, "
                + "there or here. `ferry doctor \(Wording.shellWord(database))` has the dates.")
    }
}
