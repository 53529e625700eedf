import ArgumentParser
import FerrySimulator
import Foundation
import Logging

/// Plays simulations, and shrinks the first that fails.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ferry-simulate",
        abstract: "Play simulated lives of a container until one fails.",
        discussion: "The same seed always tells the same story. A failure is shrunk and printed with what repeats it.")

    @Option(help: "The first seed.")
    var seed: UInt64 = 1
    @Option(help: "How many seeds; 0: until one fails.")
    var seeds: UInt64 = 1
    @Option(help: "How many devices begin, 2 to 8; as the seed has it where not given.")
    var devices: Int?
    @Option(help: "How many steps.")
    var steps = 30
    @Option(help: "The steps that are taken, as numbers with commas between them.")
    var only: String?
    @Option(help: "The kind of folder or storage: \(ProviderKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var provider: String?
    /// Whether the container is sealed.
    enum Sealing: EnumerableFlag {
        case sealed, open

        static func help(for value: Sealing) -> ArgumentHelp? {
            value == .sealed ? "The container is sealed." : "The container is open. Without either the seed decides."
        }
    }

    @Flag var sealing: Sealing?
    @Flag(help: "There are documents. Without it the seed decides.")
    var documents = false
    @Flag(help: "Print the story.")
    var trace = false
    @Flag(help: "Go on after a failure, and shrink none.")
    var goOn = false

    func validate() throws {
        if let provider, ProviderKind(rawValue: provider) == nil {
            throw ValidationError("There is no kind of folder or storage \"\(provider)\".")
        }
        if let devices, !(2...8).contains(devices) { throw ValidationError("There are 2 to 8 devices.") }
    }

    /// Prints at once, whatever the output goes to.
    private func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    func run() throws {
        // What a watch would tell an app's log is part of the story.
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        var tally = Tally()
        var number: UInt64 = 0
        var failures: [UInt64] = []
        while seeds == 0 || number < seeds {
            var plan = Simulation.Plan(
                seed: seed + number, devices: devices, steps: steps,
                only: only.map { Set($0.split(separator: ",").compactMap { Int($0) }) },
                provider: provider.flatMap(ProviderKind.init(rawValue:)), sealed: sealing.map { $0 == .sealed })
            if documents { plan.documents = true }
            number += 1
            let outcome = try Simulation.run(plan)
            tally.add(outcome.tally)
            if trace { say(outcome.trace.joined(separator: "\n")) }
            if !outcome.problems.isEmpty {
                failures.append(plan.seed)
                say("SEED=\(plan.seed) fails: \(outcome.problems.joined(separator: "\n"))")
                if !goOn {
                    try shrink(plan, outcome)
                    throw ExitCode.failure
                }
            }
            if number % 1000 == 0 { say("\(number) seeds") }
        }
        say("\(number) seeds, \(failures.count) failed \(failures.prefix(50))\nmet: \(tally.text)")
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func shrink(_ plan: Simulation.Plan, _ outcome: Simulation.Outcome) throws {
        let (smallest, result) = try Simulation.shrink(plan, outcome)
        say("\nShrunk:\n" + result.trace.joined(separator: "\n"))
        say(result.problems.joined(separator: "\n"))
        let steps = (smallest.only ?? []).sorted().map(String.init).joined(separator: ",")
        var arguments = "--seed \(plan.seed) --steps \(plan.steps) --only \(steps)"
        if let devices = plan.devices { arguments += " --devices \(devices)" }
        if let provider = plan.provider { arguments += " --provider \(provider.rawValue)" }
        if documents { arguments += " --documents" }
        if let isSealed = plan.sealed { arguments += isSealed ? " --sealed" : " --open" }
        say("\nRepeat it with \(arguments) --trace")
    }
}
