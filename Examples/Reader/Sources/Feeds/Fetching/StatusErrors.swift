import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension FeedError {
    /// What a status that comes without a feed means for a person.
    init(status response: HTTPURLResponse, url: URL) {
        let host = url.host() ?? "the server"
        let status = response.statusCode
        switch status {
        case 401, 407: self.init(.refused, "\(host) wants a password for this feed (\(status)), which is not supported")
        case 403, 451:
            self.init(.refused, "\(host) refuses this feed (\(status)); look on its site for another address")
        case 404: self.init(.notFound, "\(host) has no feed at this address (404); check the address")
        case 410: self.init(.notFound, "\(host) says that this feed is gone for good (410); unsubscribe from it")
        case 408, 425: self.init(.server, "\(host) was too slow (\(status)); it is tried again later")
        case 429:
            self.init(.tooManyRequests, "\(host) asks to be left alone for a while (429); it is tried again later")
        case 500...599: self.init(.server, "\(host) has a fault of its own (\(status)); it is tried again later")
        default: self.init(.notFound, "\(host) gave no feed but the answer \(status); check the address")
        }
    }
}
