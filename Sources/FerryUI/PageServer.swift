import FerryCore
import FlyingSocks
import Foundation
import Synchronization

/// Serves the page over HTTP, by the sockets of FlyingFox.
///
/// FlyingFox's own reader of requests knows no limit, and takes time by the square of a line's length. Any page of the
/// Web could keep this reader busy with a single long address. So `PageConnection` reads the requests, with limits and
/// deadlines.
package final class PageServer: Sendable {
    /// The most connections at once: pages with their events, and their requests.
    private static let maximumConnections = EventHub.maximumStreams + 64
    /// How long no connection is accepted after accepting one has failed.
    private static let restAfterFailure = Duration.milliseconds(100)

    private let socket: Socket
    private let state = Mutex(State())

    private struct State {
        var connections = 0
        var task: Task<Void, Never>?
        var isClosed = false
    }

    /// The port of the page.
    package let port: UInt16

    /// Begins to listen. Connections wait until `start`.
    /// - Parameter port: 0 for a free port.
    /// - Throws: `inputOutput` if the port is taken, or the address is none of this computer.
    package init(address: ListenAddress, port: UInt16) throws {
        do {
            switch address.kind {
            case .ip4: socket = try Self.listening(on: sockaddr_in.inet(ip4: address.text, port: port))
            case .ip6: socket = try Self.listening(on: sockaddr_in6.inet6(ip6: address.text, port: port))
            }
            switch try socket.sockname() {
            case .ip4(_, let port), .ip6(_, let port): self.port = port
            default: throw SocketError.unsupportedAddress
            }
        } catch {
            throw FerryError(
                .inputOutput,
                "The page cannot listen on \(address.host): \(error.localizedDescription). Choose another port (--port), or leave "
                    + "it out for a free one.", cause: error)
        }
    }

    private static func listening(on address: some SocketAddress) throws -> Socket {
        let socket = try Socket(domain: Int32(type(of: address).family))
        do {
            // A port is free if the port's connections ended a moment ago.
            try socket.setValue(true, for: .localAddressReuse)
            #if canImport(Darwin)
            try socket.setValue(true, for: .noSIGPIPE)
            #endif
            try socket.bind(to: address)
            try socket.listen()
            return socket
        } catch {
            try? socket.close()  // the first error is told
            throw error
        }
    }

    /// Serves a site from now on.
    package func start(_ site: PageSite) {
        let task = Task { [socket] in await self.run(site, socket) }
        state.withLock { $0.task = task }
    }

    private func run(_ site: PageSite, _ socket: Socket) async {
        let pool: some AsyncSocketPool = .make()
        await withTaskGroup(of: Void.self) { group in
            do {
                try await pool.prepare()
                let listening = try AsyncSocket(socket: socket, pool: pool)
                group.addTask {
                    // Ends by cancellation alone.
                    try? await pool.run()
                }
                while !Task.isCancelled {
                    do {
                        let socket = try await listening.accept()
                        guard take() else {
                            try? socket.close()  // too many connections: the browser tries again
                            continue
                        }
                        group.addTask {
                            await PageConnection(socket).serve(site)
                            self.release()
                        }
                    } catch {
                        // The system has no more descriptors, or the browser went at once.
                        if Task.isCancelled { break }
                        try await Task.sleep(for: Self.restAfterFailure)
                    }
                }
            } catch {
                // Cancelled: the page ends.
            }
            group.cancelAll()
        }
    }

    private func take() -> Bool {
        state.withLock { state in
            if state.connections >= Self.maximumConnections { return false }
            state.connections += 1
            return true
        }
    }

    private func release() { state.withLock { $0.connections -= 1 } }

    /// Ends listening and all connections.
    package func stop() async {
        let task = state.withLock { $0.task }
        task?.cancel()
        await task?.value
        if state.withLock({ state in
            defer { state.isClosed = true }
            return !state.isClosed
        }) {
            try? socket.close()  // nobody listens any more
        }
    }
}
