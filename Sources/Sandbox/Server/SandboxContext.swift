import Hummingbird
import NIOCore

/// What a request needs besides itself: the connection, so that a fault can cut it.
struct SandboxContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
