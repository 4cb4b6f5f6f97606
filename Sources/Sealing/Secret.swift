/// A value that must not appear in a log, an error, an argument list or a dump.
///
/// Describing, debugging, interpolating and mirroring it all give the same fixed text. The value comes out through
/// ``reveal()`` alone, so that one search finds every place where it does. Nothing here wipes memory: Swift may copy
/// a value at any time, and a promise to the contrary could not be kept.
package struct Secret<Value: Sendable>: Sendable {
    private let value: Value

    /// Wraps a value.
    package init(_ value: Value) {
        self.value = value
    }

    /// Gives the value to code that has to use it.
    package func reveal() -> Value {
        value
    }

    /// Derives another secret, without the value leaving the wrapper.
    package func map<Other: Sendable>(_ transform: (Value) throws -> Other) rethrows -> Secret<Other> {
        Secret<Other>(try transform(value))
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The same text for every value.
    package var description: String { "<secret>" }

    /// The same text for every value.
    package var debugDescription: String { "<secret>" }

    /// A mirror without children: `dump` and test failures show nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret where Value == [UInt8] {
    /// Whether both hold the same bytes, in a time that depends on their length only.
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
