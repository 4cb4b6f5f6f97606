/// A DNS question: a name and a type, always in class IN.
package struct Question: Hashable, Sendable, CustomStringConvertible {
    /// The name asked about.
    package let name: DomainName
    /// The record type wanted.
    package let type: RecordType

    /// A question.
    package init(_ name: DomainName, _ type: RecordType) {
        self.name = name
        self.type = type
    }

    /// The name and the type, as dig takes them.
    package var description: String { "\(name) \(type)" }
}
