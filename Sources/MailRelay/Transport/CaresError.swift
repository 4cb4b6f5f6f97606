import CCares

/// An error while setting up the DNS transport.
package struct CaresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The action that failed.
    let action: String
    /// The status that c-ares returned.
    let status: Int32

    /// The action and the library's error message.
    package var description: String {
        let words = ares_strerror(status).map { String(cString: $0) } ?? "status \(status)"
        return "\(action): \(words)"
    }
}
