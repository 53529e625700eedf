// What an app imports: the store over its database, the engine that keeps the database in step, the key-value store, live
// results, and the vocabulary they share. All that is not `public` in these modules stays out of an app's sight, and
// Docs/Interface.txt lists what is.
@_exported import FerryCore
@_exported import FerryDocuments
@_exported import FerryEngine
@_exported import FerryKeyValue
@_exported import FerryLive
@_exported import FerryMirror
@_exported import FerrySchema
@_exported import FerrySeal
@_exported import FerryStore
