import Ferry
import Foundation
import GRDB

// Notes in a terminal, in step with every other device that shares a folder:
//
//     Notes <database> <shared folder> <name of this device> [first]
//
// The first device says so and makes the shared folder; the others join it by a code.
// Type a note and it is saved; `done 3` ticks one off; `invite` shows a code that lets a device in; an empty line ends.
// What other devices write appears at once.

guard [4, 5].contains(CommandLine.arguments.count) else {
    print("usage: Notes <database> <shared folder> <name of this device> [first]")
    exit(64)
}

func fail(_ error: any Error) -> Never {
    print("Notes: \(error)")
    exit(1)
}

do {
    let arguments = CommandLine.arguments
    let pool = try NoteDatabase.open(at: arguments[1])
    let engine = try await Sync.begin(
        pool, folder: arguments[2], name: arguments[3], isFirst: arguments.last == "first")
    let events = engine.events
    engine.start()
    let status = Task {
        for await event in events {
            if let line = Sync.line(event) { print("  (\(line))") }
        }
    }

    // GRDB's own observation: it fires for this app's writes and for what Ferry brings.
    let observation = ValueObservation.tracking { try Note.order(Column("id")).fetchAll($0) }
    let list = observation.start(in: pool, scheduling: .async(onQueue: .global())) { error in
        print("Notes: \(error)")
    } onChange: { notes in
        print(notes.map { "\($0.isDone ? "✓" : "·") \($0.id ?? 0) \($0.text)" }.joined(separator: "\n"))
    }

    while let line = readLine(), !line.isEmpty {
        if line == "invite" {
            print("These words let one device in, once: \(try engine.replica.members.invite().code.words)")
        } else if line.hasPrefix("done "), let id = Int64(line.dropFirst(5)) {
            try pool.write { try $0.execute(sql: "UPDATE note SET is_done = 1 WHERE id = ?", arguments: [id]) }
        } else {
            try pool.write { database in
                var note = Note(text: line)
                try note.insert(database)
            }
        }
    }
    list.cancel()
    status.cancel()
    // What was typed last goes out before the app ends.
    _ = try await engine.sync()
    await engine.stop()
} catch {
    fail(error)
}
