import CCares

/// That the DNS transport could not be set up.
package struct CaresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was being done.
    let action: String
    /// The status that c-ares returned.
    let status: Int32

    /// What failed, in the library's words.
    package var description: String {
        let words = ares_strerror(status).map { String(cString: $0) } ?? "status \(status)"
        return "\(action): \(words)"
    }
}
