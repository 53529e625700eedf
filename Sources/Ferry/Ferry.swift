/// The module that an app imports: the store over the app's database, the sync engine, the key-value store, and their
/// common vocabulary. The layers below (segments, merging, the container's bytes) stay out of an app's sight.
@_exported import FerryCore
@_exported import FerryEngine
@_exported import FerryKeyValue
@_exported import FerryLive
@_exported import FerryStore
