/// Validation of names, keys and sizes, before anything is sent to the database.
package enum JobField {
    /// The longest arguments of a job, in bytes of JSON.
    package static let argumentsLimit = 262_144
    static let progressLimit = 16_384

    /// Checks the name of a queue, kind or periodic job: 1 to 63 of `a-z 0-9 _ . -`, beginning with a letter; the
    /// tables check the same.
    static func checkName(_ name: String, field: String) throws(JobQueueError) {
        let bytes = name.utf8
        guard let first = bytes.first, (1...63).contains(bytes.count), isLetter(first),
            bytes.allSatisfy({ isLetter($0) || isDigit($0) || $0 == 0x5F || $0 == 0x2E || $0 == 0x2D })
        else {
            throw .invalid(field, "must be 1 to 63 characters a-z 0-9 _ . - and begin with a letter")
        }
    }

    static func checkKey(_ key: String?, field: String) throws(JobQueueError) {
        guard let key else { return }
        guard (1...200).contains(key.unicodeScalars.count), !key.unicodeScalars.contains("\0") else {
            throw .invalid(field, "must be 1 to 200 characters without NUL")
        }
    }

    static func checkRange<Value: Comparable>(
        _ value: Value,
        _ range: ClosedRange<Value>,
        field: String
    ) throws(JobQueueError) {
        guard range.contains(value) else {
            throw .invalid(field, "must be between \(range.lowerBound) and \(range.upperBound)")
        }
    }

    /// Checks that a duration is within a range; the message gives the bounds in the form in which users type them.
    static func checkRange(_ value: Duration, _ range: ClosedRange<Duration>, field: String) throws(JobQueueError) {
        guard range.contains(value) else {
            throw .invalid(field, "must be between \(words(range.lowerBound)) and \(words(range.upperBound))")
        }
    }

    /// The duration in the largest unit that expresses it as a whole number: `90s`, `3650d`.
    private static func words(_ duration: Duration) -> String {
        let milliseconds = Int64(duration / .milliseconds(1))
        if milliseconds == 0 { return "0s" }
        let units: [(name: String, size: Int64)] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
        let unit = units.first { milliseconds.isMultiple(of: $0.size) } ?? ("ms", 1)
        return "\(milliseconds / unit.size)\(unit.name)"
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
