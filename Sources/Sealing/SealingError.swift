/// Why a sealed value could not be opened.
///
/// Names keys, never values.
package struct SealingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    package enum Code: Sendable, Hashable {
        /// The ring holds no key of this name.
        case missingKey(KeyID)
        /// The key is there, but the value was sealed with another key of the same name, belongs to another purpose or
        /// owner, or was changed.
        case doesNotOpen(KeyID)
        /// Not a sealed value at all.
        case malformed
    }

    /// What went wrong.
    let code: Code
    /// What the value is for.
    let purpose: String

    /// Describes a failure.
    package init(_ code: Code, purpose: String) {
        self.code = code
        self.purpose = purpose
    }

    /// One sentence that names the key and the purpose.
    package var description: String {
        switch code {
        case .missingKey(let id): "\(purpose): sealing key \"\(id)\" is missing; add it to the key file"
        case .doesNotOpen(let id):
            "\(purpose): does not open with sealing key \"\(id)\": another key of that name, another owner, or changed"
        case .malformed: "\(purpose): not a sealed value"
        }
    }
}
