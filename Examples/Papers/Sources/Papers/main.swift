import Ferry
import Foundation
import GRDB

// A folder of texts in a terminal, in step with every other device that shares a folder:
//
//     Papers <database> <shared folder> <name of this device> [first]
//
// Ferry keeps documents beside the database. The app's own tables travel as ever, and a container wants one at least. Commands are:
//
//     list                 what there is
//     write <path> <text>  make a document, or edit the one that is there
//     read <path>          show its text
//     versions <path>      the shown version, its rivals, and the past
//     keep <path> <number> settle a conflict by one of them
//     remove <path>        put it into the trash
//
// What other devices do is told at once. An empty line ends.

guard [4, 5].contains(CommandLine.arguments.count) else {
    print("usage: Papers <database> <shared folder> <name of this device> [first]")
    exit(64)
}

do {
    let arguments = CommandLine.arguments
    let pool = try DatabasePool(path: arguments[1])
    try await pool.write { database in
        try database.execute(sql: "CREATE TABLE IF NOT EXISTS setting(name TEXT PRIMARY KEY NOT NULL, value)")
    }
    let store = Store(pool)
    if try store.identity() == nil {
        // An open container, to keep the example short: Notes shows how a device is let into a sealed one.
        if arguments.last == "first" {
            _ = try Replica.create(store, containerPath: arguments[2], sealing: .open, name: arguments[3])
        } else {
            _ = try Replica.join(store, containerPath: arguments[2], name: arguments[3])
        }
    }
    let engine = try SyncEngine(store)
    let papers = Papers(try DocumentStore(engine))
    let news = papers.tellNews()
    engine.start()
    while let line = readLine(), !line.isEmpty {
        do {
            print(try await papers.run(line))
        } catch let error as FerryError {
            print(error.message)
        }
    }
    news.cancel()
    // What was written last goes out before the app ends.
    _ = try await engine.sync()
    await engine.stop()
} catch {
    print("Papers: \(error)")
    exit(1)
}
