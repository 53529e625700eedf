import FerryContainer
import FerryCore

extension DoctorReport {
    /// A clock wrong by more is named, in milliseconds.
    private static let clockMilliseconds: Int64 = 60_000

    /// Adds the findings of a try of a remote place.
    mutating func add(_ place: PlaceExamination, of location: String) {
        examined.append("\(location): listing, writing, reading and removing (\(place.milliseconds) ms)")
        let offset = place.storage.clockOffsetMilliseconds
        if offset.magnitude >= Self.clockMilliseconds {
            let span = StorageExamination.span(milliseconds: offset)
            add(
                .init(
                    .warning, "clock",
                    "This computer's clock is \(span) \(offset > 0 ? "behind" : "ahead of") the storage's.",
                    advice: "Set the date here: changes count as \(offset > 0 ? "older" : "newer") than they are."))
        }
        if let problem = place.latestProblem {
            add(
                .init(
                    .warning, "folder", "The object \(LatestSegments.name) announces nothing: \(problem.message)",
                    advice:
                        "Nothing is lost: news come with listings until a device publishes, which writes the object anew.",
                    file: problem.path, canBeRepaired: true))
        }
        if let rules = place.storage.expiringRules, !rules.isEmpty {
            add(
                .init(
                    .fault, "folder",
                    "The bucket has a rule that removes the container's files after a while: \(rules.joined(separator: ", ")).",
                    advice: "Take the rule away, or let it begin with another prefix. Every device has all rows."))
        }
        if place.storage.keepsVersions ?? false, !(place.storage.expiresVersions ?? false) {
            add(
                .init(
                    .note, "folder", "The bucket keeps old versions: removed and replaced files stay, and cost.",
                    advice: "Add a rule that expires noncurrent versions."))
        }
        var unknown: [String] = []
        if place.storage.isBucket, place.storage.expiringRules == nil { unknown.append("its rules") }
        if place.storage.isBucket, place.storage.keepsVersions == nil { unknown.append("its versions") }
        if !unknown.isEmpty {
            examined.append("not of the bucket: \(unknown.joined(separator: ", ")), which the key may not ask for")
        }
        if !place.honoursConditions {
            add(
                .init(
                    .note, "folder", "The storage does not know conditional writes.",
                    advice:
                        "Nothing rests on them. Two databases that make a container there at once find out a moment later."
                ))
        }
    }
}
