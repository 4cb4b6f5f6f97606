package import Sealing

/// One request to a service, with the bounds it runs in.
package struct HTTPCall: Sendable, CustomStringConvertible {
    /// A fixed name such as `apple.revoke`, for logs and metrics; paths are never logged, they may name a person.
    var label: String
    /// The request method.
    var method: Method
    /// The service.
    var address: ServiceAddress
    /// The path and query below the address: percent-encoded, starting with a slash.
    var path: String
    /// Header fields besides the ones every call sends (`User-Agent`, `Host`, `Content-Length`).
    var headers: [Header]
    /// The body; secret as a whole, since forms carry tokens.
    var body: Secret<[UInt8]>?
    /// When the call must have ended, waiting for a slot and repeats included.
    var deadline: Duration
    /// When one attempt must have ended.
    var attemptTimeout: Duration
    /// When a call may be sent again.
    var repetition: Repetition
    /// The longest body that is read of a reply, in bytes.
    var maximumReplyBytes: Int

    /// Describes a call; see the properties.
    package init(
        label: String,
        method: Method,
        address: ServiceAddress,
        path: String,
        headers: [Header] = [],
        body: Secret<[UInt8]>? = nil,
        deadline: Duration = .seconds(30),
        attemptTimeout: Duration = .seconds(15),
        repetition: Repetition,
        maximumReplyBytes: Int = 1 << 20
    ) {
        self.label = label
        self.method = method
        self.address = address
        self.path = path
        self.headers = headers
        self.body = body
        self.deadline = deadline
        self.attemptTimeout = attemptTimeout
        self.repetition = repetition
        self.maximumReplyBytes = maximumReplyBytes
    }

    /// Label, method and host: what may be logged.
    package var description: String {
        "\(label) (\(method.rawValue) \(address.hostAndPort))"
    }
}

extension HTTPCall {
    /// The methods the clients use.
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// A header field; its value is secret, since half of them are credentials.
    package struct Header: Sendable {
        /// The field's name.
        package let name: String
        /// The field's value.
        package let value: Secret<String>

        /// A field whose value is public.
        package init(_ name: String, _ value: String) {
            self.init(name, Secret(value))
        }

        /// A field whose value is a credential.
        package init(_ name: String, _ value: Secret<String>) {
            self.name = name
            self.value = value
        }
    }

    /// When a call may be sent again.
    package enum Repetition: Sendable, Hashable {
        /// Only while it is certain that nothing was sent: the connection could not be made.
        case onlyIfNothingWasSent
        /// Sending it twice does no more than sending it once.
        case always
    }
}
