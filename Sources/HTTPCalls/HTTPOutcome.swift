#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What became of a call.
///
/// Everything that can happen on a network is a value here; a call throws only when its task was cancelled.
package enum HTTPOutcome: Sendable, Equatable {
    /// The service answered. Whatever the status: what it means is the client's to say.
    case reply(HTTPReply)
    /// The service answered with more bytes than the call allows; the rest was not read.
    case replyTooLarge(status: Int, limit: Int)
    /// No answer in time. The service may have acted.
    case timedOut
    /// The connection ended before the answer did. The service may have acted.
    case interrupted
    /// Nothing was sent, the service cannot have acted.
    case unreachable(Unreachable)

    /// Why nothing could be sent.
    package enum Unreachable: String, Sendable, Hashable, CustomStringConvertible {
        /// The host's name has no address.
        case unknownHost
        /// No connection: refused, or no route.
        case refused
        /// No connection in time.
        case connectTimedOut
        /// The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
        case tlsFailed
        /// The connection was cut before the body of the request was on it; its head may have been.
        case cut
        /// Too many calls to this host were under way until the deadline.
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
            case .busy: "too many calls to this host under way"
            case .clientUnavailable: "the HTTP client is shut down"
            }
        }
    }
}

/// A reply with its whole body.
package struct HTTPReply: Sendable, Equatable {
    /// The status code.
    package let status: Int
    /// The `Content-Type` without parameters, lower case.
    let contentType: String?
    /// What `Retry-After` asks for, bounded by ``RetryAfter/longest``.
    package let retryAfter: Duration?
    /// `Content-Range`: which part of the whole the body is.
    package let contentRange: String?
    /// `ETag`: which version of the whole it is.
    package let entityTag: String?
    /// `Date`: when it was made, by the service's clock.
    package let date: Date?
    /// The body, no longer than the call allowed.
    package let body: [UInt8]

    /// A reply, for tests and stand-ins.
    package init(
        status: Int,
        contentType: String? = nil,
        retryAfter: Duration? = nil,
        contentRange: String? = nil,
        entityTag: String? = nil,
        date: Date? = nil,
        body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.contentRange = contentRange
        self.entityTag = entityTag
        self.date = date
        self.body = body
    }
}

extension HTTPReply: CustomStringConvertible, CustomDebugStringConvertible {
    /// Status and size; a body may hold a token and is never shown.
    package var description: String { "HTTP \(status), \(body.count) bytes" }

    /// Status and size, as in ``description``: a body is never shown.
    package var debugDescription: String { description }
}
