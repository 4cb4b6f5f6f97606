import NIOCore
import NIOPosix

extension ListenerAddress {
    /// Binds the address while `body` runs, without accepting connections, so that a refusal is known before anything
    /// starts.
    ///
    /// - Throws: ``ListenerRefusal`` if the address cannot be bound; what `body` throws.
    package func withTrial(_ body: () async throws -> Void) async throws {
        let channel: any Channel
        do {
            channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.autoRead, value: false)
                .bind(host: bound, port: port)
                .get()
        } catch {
            if let refusal = ListenerRefusal(error) { throw refusal }
            throw error
        }
        do {
            try await body()
        } catch {
            try await channel.close()
            throw error
        }
        try await channel.close()
    }
}
