/// Why a sealed value could not be opened.
///
/// It contains key names, never values.
package struct SealingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures.
    package enum Code: Sendable, Hashable {
        /// The ring has no key of this name.
        case missingKey(KeyID)
        /// The key is present, but the value was sealed with another key of the same name, belongs to another purpose
        /// or owner, or was modified.
        case doesNotOpen(KeyID)
        /// The text is not a sealed value.
        case malformed
    }

    /// The kind of failure.
    let code: Code
    /// The purpose of the value.
    let purpose: String

    /// Creates an error.
    package init(_ code: Code, purpose: String) {
        self.code = code
        self.purpose = purpose
    }

    /// One sentence that names the key and the purpose.
    package var description: String {
        switch code {
        case .missingKey(let id): "\(purpose): sealing key \"\(id)\" is missing; add it to the key file"
        case .doesNotOpen(let id):
            "\(purpose): cannot be opened with sealing key \"\(id)\": another key of that name, another owner, or "
                + "changed"
        case .malformed: "\(purpose): not a sealed value"
        }
    }
}
