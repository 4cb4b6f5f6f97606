#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A date is read and written as `timestamp with time zone`, to the microsecond. `infinity` is `Date.distantFuture` and
/// `-infinity` is `Date.distantPast`, in both directions.
extension Date: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeID.timestamptz }

    /// Microseconds since 2000-01-01 00:00 UTC, the server's representation.
    private func microseconds() throws(EncodingFault) -> Int64 {
        if self == .distantFuture { return .max }
        if self == .distantPast { return .min }
        let value = ((timeIntervalSinceReferenceDate + PostgresTime.referenceOffset) * 1_000_000).rounded()
        // The server's range ends in the year 294276.
        guard value > -2.2e17, value < 9.2e18 else { throw .notATime }
        return Int64(value)
    }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        bytes.append(bigEndian: try microseconds())
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Date {
        guard let cell else { throw .null }
        guard cell.type == TypeID.timestamptz else { throw .type(cell.type) }
        let value: Int64
        if cell.isBinary {
            guard cell.bytes.count == 8 else { throw .malformed }
            value = cell.load(Int64.self)
        } else {
            guard let parsed = PostgresTime.microseconds(cell.text) else { throw .malformed }
            value = parsed
        }
        if value == .max { return .distantFuture }
        if value == .min { return .distantPast }
        return Date(timeIntervalSinceReferenceDate: Double(value) / 1_000_000 - PostgresTime.referenceOffset)
    }
}
