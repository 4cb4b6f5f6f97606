/// Why a lookup cannot tell whether there was an account.
package enum LookupDoubt: Sendable, Hashable {
    /// Our own tables do not exist, and they alone know of accounts that are gone.
    case notInstalled
    /// The ids of erased accounts are kept as keyed hashes, and there is no key.
    case noHashKey
    /// Accounts were erased under other keys, listed by name; the current key does not find them.
    case otherHashKeys([String])
    /// The term is the start of an id, and a hash cannot be searched by its start.
    case startOfID
}

extension LookupTerm {
    /// Why an answer without any account is uncertain.
    ///
    /// - Parameters:
    ///   - schema: what could be queried.
    ///   - otherKeys: the names of the other hash keys that were used here; nil if there is no current key.
    /// - Returns: Why the answer is uncertain; nil if it is certain.
    /// - Throws: What `otherKeys` throws.
    func doubt(in schema: DirectorySchema, otherKeys: () throws -> [String]?) rethrows -> LookupDoubt? {
        guard schema.isInstalled else { return mayNameErased ? .notInstalled : nil }
        // Requests keep their own ids in the clear.
        guard kind != .request else { return nil }
        guard userID != nil else { return isStartOfUserID ? .startOfID : nil }
        guard let others = try otherKeys() else { return .noHashKey }
        return others.isEmpty ? nil : .otherHashKeys(others)
    }
}
