/// Why bytes are not a domain name.
package enum DomainNameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name is empty.
    case empty
    /// Two dots in a row, or a dot at the start.
    case emptyLabel
    /// A label longer than 63 bytes, with its length.
    case labelTooLong(Int)
    /// A name longer than 255 bytes on the wire, with its length.
    case nameTooLong(Int)

    /// What is wrong, in words for an operator.
    package var description: String {
        switch self {
        case .empty: "the name is empty"
        case .emptyLabel: "the name has an empty label (two dots in a row, or a dot at the start)"
        case .labelTooLong(let length): "a label has \(length) bytes, at most 63 are allowed"
        case .nameTooLong(let length): "the name has \(length) bytes on the wire, at most 255 are allowed"
        }
    }
}
