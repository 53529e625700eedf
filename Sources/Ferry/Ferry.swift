// The import for apps: the store over an app's database, the engine for syncing the database, the key-value store and
// live results. The vocabulary shared by these modules comes along. All names without `public` stay out of an app's
// sight. Docs/Interface.txt lists the public names.
@_exported import FerryCore
@_exported import FerryDocuments
@_exported import FerryEngine
@_exported import FerryKeyValue
@_exported import FerryLive
@_exported import FerryMirror
@_exported import FerrySchema
@_exported import FerrySeal
@_exported import FerryStore
