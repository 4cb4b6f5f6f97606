/// A value that must not appear in a log, an error, an argument list or a dump.
///
/// Describing, debugging, interpolating and mirroring it all give the same fixed text. The value is accessible only
/// through ``reveal()``, so a search finds every place that uses it. Memory is not wiped: Swift may copy a value at any
/// time, so such a promise could not be kept.
package struct Secret<Value: Sendable>: Sendable {
    private let value: Value

    /// Wraps a value.
    package init(_ value: Value) {
        self.value = value
    }

    /// Returns the value to code that has to use it.
    package func reveal() -> Value {
        value
    }

    /// Derives another secret while the value stays wrapped.
    package func map<Other: Sendable>(_ transform: (Value) throws -> Other) rethrows -> Secret<Other> {
        Secret<Other>(try transform(value))
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The same text for every value.
    package var description: String { "<secret>" }

    /// The same text for every value.
    package var debugDescription: String { "<secret>" }

    /// A mirror without children, so that `dump` and test failures show nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret where Value == [UInt8] {
    /// Whether both hold the same bytes, compared in a time that depends only on their length.
    func isEqual(to other: Secret<[UInt8]>) -> Bool {
        let (left, right) = (value, other.value)
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices {
            difference |= left[index] ^ right[index]
        }
        return difference == 0
    }
}
