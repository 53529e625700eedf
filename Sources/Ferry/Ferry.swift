/// What an app imports: the store over its database, the engine that keeps the database in step, the key-value store,
/// and the vocabulary they share. The layers below (segments, merging, the container's bytes) stay out of an app's
/// sight.
@_exported import FerryCore
@_exported import FerryEngine
@_exported import FerryKeyValue
@_exported import FerryLive
@_exported import FerryStore
