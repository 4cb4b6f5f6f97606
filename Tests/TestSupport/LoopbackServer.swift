package import NIOCore
import NIOPosix

/// A server on a free port of 127.0.0.1.
package enum LoopbackServer {
    /// Serves for the duration of `body`, which receives the port; each connection gets its own handler.
    package static func with<Result>(
        _ handler: @escaping @Sendable () -> any ChannelHandler,
        _ body: (Int) async throws -> Result
    ) async throws -> Result {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result
        do {
            result = try await body(channel.localAddress?.port ?? 0)
        } catch {
            try? await channel.close()
            throw error
        }
        try await channel.close()
        return result
    }
}
