package import Sealing

/// One request to a service, with its limits.
package struct HTTPCall: Sendable, CustomStringConvertible {
    /// A fixed name such as `apple.revoke`, for logs and metrics; paths are never logged, since they may identify a
    /// person.
    var label: String
    /// The request method.
    var method: Method
    /// The service.
    var address: ServiceAddress
    /// The path and query below the address, percent-encoded and starting with a slash.
    var path: String
    /// Header fields in addition to those that every call sends (`User-Agent`, `Host`, `Content-Length`).
    var headers: [Header]
    /// The body, secret as a whole because forms carry tokens.
    var body: Secret<[UInt8]>?
    /// How long the whole call may take, including the wait for a slot and retries.
    var deadline: Duration
    /// How long one attempt may take.
    var attemptTimeout: Duration
    /// When the call may be sent again.
    var repetition: Repetition
    /// The maximum length of a reply's body, in bytes.
    var maximumReplyBytes: Int

    /// Creates a call; see the properties.
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

    /// The label, the method and the host, which may be logged.
    package var description: String {
        "\(label) (\(method.rawValue) \(address.hostAndPort))"
    }
}

extension HTTPCall {
    /// The HTTP methods that the clients use.
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// A header field, whose value is secret because many fields carry credentials.
    package struct Header: Sendable {
        /// The field's name.
        package let name: String
        /// The field's value.
        package let value: Secret<String>

        /// Creates a field with a public value.
        package init(_ name: String, _ value: String) {
            self.init(name, Secret(value))
        }

        /// Creates a field whose value is a credential.
        package init(_ name: String, _ value: Secret<String>) {
            self.name = name
            self.value = value
        }
    }

    /// When a call may be sent again.
    package enum Repetition: Sendable, Hashable {
        /// Only while it is certain that no complete request was sent; see ``HTTPOutcome/unreachable(_:)``.
        case onlyIfNothingWasSent
        /// Always: the request is idempotent.
        case always
    }
}
