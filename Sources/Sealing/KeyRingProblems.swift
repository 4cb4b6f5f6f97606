/// All problems of a key file.
///
/// It contains line numbers and key names, never keys.
package struct KeyRingProblems: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problems.
    enum Kind: Error, Sendable, Hashable {
        /// The file has no key.
        case noKey
        /// The given number of keys, although exactly one is required.
        case severalKeys(Int)
        /// Not `id:base64`.
        case notAKey
        /// The name has characters other than letters, digits, `-` and `_`, or more than 32.
        case badID
        /// The text after the name is not base64.
        case badBase64(KeyID)
        /// The key has this many bytes instead of 32.
        case badLength(KeyID, Int)
        /// The name occurs twice in the file.
        case repeatedID(KeyID)
        /// Two names refer to the same key.
        case repeatedKey(KeyID, KeyID)
    }

    /// The problem of one line.
    package struct Problem: Sendable, Hashable {
        /// The line number, starting at 1; 0 for the whole file.
        package let line: Int
        /// The kind of problem.
        let kind: Kind
    }

    /// The problems of all invalid lines.
    package let problems: [Problem]

    /// One line of text per problem.
    package var description: String {
        problems.map { problem in
            (problem.line > 0 ? "line \(problem.line): " : "") + Self.text(problem.kind)
        }.joined(separator: "\n")
    }

    private static func text(_ kind: Kind) -> String {
        switch kind {
        case .noKey: "no key; expected lines of the form id:base64"
        case .severalKeys(let count): "\(count) keys; expected exactly one, which does not rotate"
        case .notAKey: "not of the form id:base64"
        case .badID: "a key's id is 1 to 32 letters, digits, - and _"
        case .badBase64(let id): "key \"\(id)\" is not base64"
        case .badLength(let id, let count): "key \"\(id)\" has \(count) bytes, expected \(SealingKey.byteCount)"
        case .repeatedID(let id): "key id \"\(id)\" is used twice"
        case .repeatedKey(let id, let other): "key \"\(id)\" is the same key as \"\(other)\""
        }
    }
}
