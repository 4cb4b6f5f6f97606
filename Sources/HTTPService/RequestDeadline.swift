import NIOCore
import NIOHTTPTypes

/// Closes a connection whose client sends a request or receives the answer too slowly.
///
/// The server's idle limit does not suffice, since each part of a body resets it and it does not run while an answer is
/// in progress. On a kept-alive connection, however, that idle limit is the only bound on the wait for the next head:
/// this handler sees a head only when it is complete.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: ListenerLimits
    private var alarm: Scheduled<Void>?
    /// Whether a request is expected or partly received; a new connection is expected to send one.
    private var isReceiving = true
    private var unanswered = 0

    init(_ limits: ListenerLimits) {
        self.limits = limits
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { setAlarm(limits.request, context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        alarm?.cancel()
    }

    func channelActive(context: ChannelHandlerContext) {
        setAlarm(limits.request, context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            if !isReceiving { setAlarm(limits.request, context) }
            isReceiving = true
        case .body: break
        case .end:
            isReceiving = false
            awaitAnswers(context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .end = unwrapOutboundIn(data) else { return context.write(data, promise: promise) }
        let taken = promise ?? context.eventLoop.makePromise()
        taken.futureResult.assumeIsolated().whenSuccess { [self] in
            unanswered = max(0, unanswered - 1)
            // If an answer is sent before its request is complete, the limit for the rest of the request still applies.
            if !isReceiving { awaitAnswers(context) }
        }
        context.write(data, promise: taken)
    }

    private func awaitAnswers(_ context: ChannelHandlerContext) {
        if unanswered > 0 {
            setAlarm(limits.answer, context)
        } else {
            alarm?.cancel()
        }
    }

    private func setAlarm(_ limit: Duration, _ context: ChannelHandlerContext) {
        alarm?.cancel()
        alarm = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { context.close(promise: nil) }
    }
}

@available(*, unavailable)
extension RequestDeadline: Sendable {}
