import Hummingbird
import NIOCore

/// The context of a request, with its connection, so that a fault can cut it.
struct SandboxContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
