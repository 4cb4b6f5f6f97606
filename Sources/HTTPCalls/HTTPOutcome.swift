#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The outcome of a call.
///
/// Every network failure is a value; a call throws only when its task is cancelled.
package enum HTTPOutcome: Sendable, Equatable {
    /// The service answered, with any status; the client interprets it.
    case reply(HTTPReply)
    /// The service answered with more bytes than the call allows; the rest was discarded.
    case replyTooLarge(status: Int, limit: Int)
    /// No answer before the deadline; the service may have acted.
    case timedOut
    /// The connection closed before the answer was complete; the service may have acted.
    case interrupted
    /// No complete request was sent, so the service cannot have acted.
    case unreachable(Unreachable)

    /// Why no complete request was sent.
    package enum Unreachable: String, Sendable, Hashable, CustomStringConvertible {
        /// The host's name has no address.
        case unknownHost
        /// The connection was refused, or there is no route.
        case refused
        /// No connection before the time-out.
        case connectTimedOut
        /// The TLS handshake failed, because of an unknown authority, a wrong name or an expired certificate, for
        /// example.
        case tlsFailed
        /// The connection was cut before the request's body was sent; its head may have been sent.
        case cut
        /// No slot for this host became free before the deadline.
        case busy
        /// The client is shut down or cannot open connections.
        case clientUnavailable

        /// The reason in a few words.
        package var description: String {
            switch self {
            case .unknownHost: "host name not found"
            case .refused: "connection refused, or no route"
            case .connectTimedOut: "no connection in time (no proxy is asked: HTTPS_PROXY is not read)"
            case .tlsFailed:
                "TLS handshake failed (is the clock right, is the authority in the system's list? SSL_CERT_FILE is not read)"
            case .cut: "the connection was cut before the request was sent"
            case .busy: "too many calls to this host in progress"
            case .clientUnavailable: "the HTTP client is shut down"
            }
        }
    }
}

/// A reply with its whole body.
package struct HTTPReply: Sendable, Equatable {
    /// The HTTP status code.
    package let status: Int
    /// The wait that `Retry-After` asks for, at most ``RetryAfter/longest``.
    package let retryAfter: Duration?
    /// `Content-Range`: which part of the resource the body is.
    package let contentRange: String?
    /// `ETag`: the version of the resource.
    package let entityTag: String?
    /// `Date`: when the reply was created, by the service's clock.
    package let date: Date?
    /// The body, within the call's limit.
    package let body: [UInt8]

    /// Creates a reply, for tests and stand-ins.
    package init(
        status: Int,
        retryAfter: Duration? = nil,
        contentRange: String? = nil,
        entityTag: String? = nil,
        date: Date? = nil,
        body: [UInt8] = []
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.contentRange = contentRange
        self.entityTag = entityTag
        self.date = date
        self.body = body
    }
}

extension HTTPReply: CustomStringConvertible, CustomDebugStringConvertible {
    /// The status and the size; the body may hold a token and is never shown.
    package var description: String { "HTTP \(status), \(body.count) bytes" }

    /// The status and the size, as in ``description``; the body is never shown.
    package var debugDescription: String { description }
}
