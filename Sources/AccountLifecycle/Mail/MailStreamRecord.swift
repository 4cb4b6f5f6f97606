package import MailRelay

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A stored mail stream: its declaration, and its state according to the checks.
package struct MailStreamRecord: Sendable {
    /// The id of the row.
    package let id: Int64
    /// The declaration.
    package let stream: MailStream
    /// The declared registrations; nil if none were declared.
    package let registrations: [Registration]?
    /// When it was added.
    package let createdAt: Date
    /// The state according to the checks.
    package let standing: StreamStanding
    /// When it was last checked.
    package let checkedAt: Date?
    /// When it is checked next.
    package let nextCheckAt: Date

    /// A declaration that a name is registered with Apple.
    package struct Registration: Sendable, Hashable, Codable {
        /// The name.
        package var name: String
        /// The declared date of registration.
        var at: Date
        /// Who declared it.
        package var by: String

        /// Creates a declaration.
        package init(name: String, at: Date, by: String) {
            self.name = name
            self.at = at
            self.by = by
        }
    }
}

/// Why a stream could not be stored or read.
package struct MailStreamError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    package enum Code: String, Sendable, Hashable {
        /// A stream with this name exists.
        case nameTaken
        /// The name has characters that are not allowed.
        case badName
        /// This release cannot read what is stored.
        case unreadable
    }

    /// The kind of the error.
    package let code: Code
    /// The stream's name.
    package let name: String

    /// Creates an error about the stream with this name.
    package init(code: Code, name: String) {
        self.code = code
        self.name = name
    }

    /// The error in words.
    package var description: String {
        switch code {
        case .nameTaken: "the stream \(name) exists already"
        case .badName: "a stream's name has 1 to 63 characters a-z 0-9 _ - and begins with a letter or digit"
        case .unreadable: "what is stored of the stream \(name) cannot be read"
        }
    }
}
