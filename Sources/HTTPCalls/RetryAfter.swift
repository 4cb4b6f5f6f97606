#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The `Retry-After` header field, RFC 9110 section 10.2.3: seconds, or an HTTP date.
package enum RetryAfter {
    /// The longest wait that is honoured; a longer request needs a person to look at it.
    package static let longest: Duration = .seconds(3600)

    /// Parses the field's value.
    ///
    /// - Parameters:
    ///   - text: The value as received.
    ///   - now: The time that a date is compared with.
    /// - Returns: A wait from zero to ``longest``; nil if the value is neither seconds nor a date.
    package static func parse(_ text: String, now: Date) -> Duration? {
        let text = text.split(separator: " ").joined(separator: " ")
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // A number too large for Int still means a long wait.
            let seconds = Int(text) ?? Int.max
            return min(longest, .seconds(min(seconds, 1 << 32)))
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        return min(longest, max(.zero, .seconds(date.timeIntervalSince(now))))
    }
}
