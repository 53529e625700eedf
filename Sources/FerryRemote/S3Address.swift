import FerryContainer

/// Where the requests for a bucket go.
struct S3Address: Hashable {
    let isSecure: Bool
    /// As in the header `Host`.
    let authority: String
    /// Before a key: empty, or the bucket.
    let path: String

    /// - Parameter region: the bucket's; a part of the host's name at Amazon.
    init(_ location: S3Location, region: String) {
        let endpoint = location.endpoint ?? ServiceAddress(isSecure: true, host: "s3.\(region).amazonaws.com")
        // A certificate for a single level of names does not cover buckets with dots.
        let style = location.style ?? (location.endpoint == nil && !location.bucket.contains(".") ? .virtual : .path)
        isSecure = endpoint.isSecure
        switch style {
        case .virtual:
            authority = location.bucket + "." + endpoint.authority
            path = ""
        case .path:
            authority = endpoint.authority
            path = "/" + PercentEncoding.encode(location.bucket)
        }
    }

    /// The encoded path of a key; of the bucket for an empty key.
    func path(of key: String) -> String { path + "/" + PercentEncoding.encode(key, keepingSlashes: true) }

    func url(_ path: String, _ query: String) -> String {
        (isSecure ? "https://" : "http://") + authority + path + (query.isEmpty ? "" : "?" + query)
    }
}
