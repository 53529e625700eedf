import FerryContainer
import FerryCore

/// Containers beyond a folder (Docs/Stores.md).
///
///     RemoteContainers.enable()
///     let replica = try Replica.create(store, containerPath: "s3://music-bucket/music?region=eu-central-1")
public enum RemoteContainers {
    /// Lets this process use containers in S3-compatible object storages, with paths such as `s3://bucket/path?…`. With
    /// rclone installed, the process can also use every place within rclone's reach (`rclone:remote:path`). Call once,
    /// at the start of the program, before a database is opened.
    /// - Parameter credentials: gives the credentials for a place; asked again before they end. `nil`: the environment, the profiles
    ///   in `~/.aws` and the AWS command line are asked.
    public static func enable(credentials: (@Sendable (_ place: String) throws -> S3Credentials)? = nil) {
        RemotePlaces.register("s3") { location in
            guard case .s3(let place) = location else {
                throw FerryError(.internalInconsistency, "A place of another kind was to be opened as a bucket.")
            }
            return RemoteBackend(storage(of: place, credentials))
        }
        RemotePlaces.register("rclone") { location in
            guard case .rclone(let place) = location else {
                throw FerryError(.internalInconsistency, "A place of another kind was to be opened by rclone.")
            }
            return RemoteBackend(RcloneStorage(place))
        }
    }

    private static func storage(
        of place: S3Location, _ credentials: (@Sendable (_ place: String) throws -> S3Credentials)?
    ) -> S3Storage {
        guard let credentials else { return S3Storage(place) }
        return S3Storage(
            place, source: GivenCredentials { try credentials(place.place) },
            transport: CurlTransport(authorityFile: place.authorityFile))
    }
}
