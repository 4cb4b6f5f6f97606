import LibPQ

/// A value that can be bound to a statement.
package protocol PostgresEncodable: Sendable {
    /// The object id of the type to send the value as; zero lets the server infer it from the context.
    static var postgresType: UInt32 { get }

    /// Whether it is sent in text format.
    static var sendsText: Bool { get }

    /// Whether it is NULL.
    var isNull: Bool { get }

    /// Writes the value in its type's format.
    func write(to bytes: inout [UInt8]) throws(EncodingFault)
}

extension PostgresEncodable {
    package static var sendsText: Bool { false }
    package var isNull: Bool { false }

    func bind(to parameters: inout Parameters) throws(EncodingFault) {
        if isNull { return parameters.appendNull(type: Self.postgresType) }
        var fault: EncodingFault?
        parameters.append(type: Self.postgresType, isBinary: !Self.sendsText) { bytes in
            do throws(EncodingFault) { try write(to: &bytes) } catch { fault = error }
        }
        if let fault { throw fault }
    }
}

/// Why a value cannot be sent.
package enum EncodingFault: Error, Sendable, Equatable {
    /// The text contains a NUL, which PostgreSQL's text types cannot hold.
    case nul
    /// The time is not a number, or out of PostgreSQL's range.
    case notATime
    /// The value cannot be written as JSON.
    case json
    /// More than 65,535 parameters.
    case tooMany

    var reason: String {
        switch self {
        case .nul: "a text parameter has a NUL character in it, which PostgreSQL's text types cannot hold"
        case .notATime: "a time parameter is not a number or out of PostgreSQL's range"
        case .json: "a parameter cannot be written as JSON"
        case .tooMany: "a statement takes 65,535 parameters at most: send an array"
        }
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: UInt32 { Wrapped.postgresType }
    package static var sendsText: Bool { Wrapped.sendsText }

    package var isNull: Bool {
        switch self {
        case .none: true
        case .some(let value): value.isNull
        }
    }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        if case .some(let value) = self { try value.write(to: &bytes) }
    }
}

extension [UInt8] {
    /// Appends a number in network byte order.
    mutating func append(bigEndian number: some FixedWidthInteger) {
        var number = number.bigEndian
        Swift.withUnsafeBytes(of: &number) { append(contentsOf: $0) }
    }
}
