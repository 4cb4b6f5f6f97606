package import MailRelay

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A mail stream as it is stored: what was declared, and what the checks hold of it.
package struct MailStreamRecord: Sendable {
    /// The id of the row.
    package let id: Int64
    /// What was declared.
    package let stream: MailStream
    /// The declared registrations; nil when nothing was said.
    package let registrations: [Registration]?
    /// When it was added.
    package let createdAt: Date
    /// What the checks hold.
    package let standing: StreamStanding
    /// When it was last checked.
    package let checkedAt: Date?
    /// When it is checked next.
    package let nextCheckAt: Date

    /// One declaration that a name is registered with Apple.
    package struct Registration: Sendable, Hashable, Codable {
        /// The name.
        package var name: String
        /// Since when, by the declaration.
        var at: Date
        /// Who declared it.
        package var by: String

        /// A declaration.
        package init(name: String, at: Date, by: String) {
            self.name = name
            self.at = at
            self.by = by
        }
    }
}

/// Why a stream could not be stored or read.
package struct MailStreamError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    package enum Code: String, Sendable, Hashable {
        /// A stream of this name exists.
        case nameTaken
        /// A name with other characters than the form allows.
        case badName
        /// What is stored cannot be read by this release.
        case unreadable
    }

    /// What is wrong.
    package let code: Code
    /// The stream's name.
    package let name: String

    /// An error about the stream of this name.
    package init(code: Code, name: String) {
        self.code = code
        self.name = name
    }

    /// What is wrong, in words.
    package var description: String {
        switch code {
        case .nameTaken: "there is a stream \(name) already"
        case .badName: "a stream's name has 1 to 63 characters a-z 0-9 _ - and begins with a letter or digit"
        case .unreadable: "what is stored of the stream \(name) cannot be read"
        }
    }
}
