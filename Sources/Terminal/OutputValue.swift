#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One value of a command's result, independent of the output format.
package indirect enum OutputValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    /// RFC 3339 in UTC for programs, shorter for people.
    case date(Date)
    /// Seconds for programs, `3 h 20 min` for people.
    case duration(Duration)
    /// A count of bytes for programs, `1.2 MB` for people.
    case bytes(Int64)
    case personal(PersonalData)
    case list([OutputValue])
    case object([String: OutputValue])

    // Each of these maps nil to null.
    package static func text(_ value: String?) -> OutputValue { value.map { .text($0) } ?? .null }
    package static func integer(_ value: Int64?) -> OutputValue { value.map { .integer($0) } ?? .null }
    package static func integer(_ value: Int?) -> OutputValue { value.map { .integer(Int64($0)) } ?? .null }
    package static func date(_ value: Date?) -> OutputValue { value.map { .date($0) } ?? .null }
    package static func bool(_ value: Bool?) -> OutputValue { value.map { .bool($0) } ?? .null }
    package static func uuid(_ value: UUID?) -> OutputValue { value.map { .text($0.uuidString.lowercased()) } ?? .null }
    package static func personal(_ value: String?, _ kind: PersonalData.Kind) -> OutputValue {
        value.map { .personal(PersonalData($0, kind)) } ?? .null
    }
}

extension OutputValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: OutputValue...) { self = .list(elements) }
    package init(dictionaryLiteral elements: (String, OutputValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
