/// Why nothing could tell whether there was an account.
package enum LookupDoubt: Sendable, Hashable {
    /// Our own tables, which alone know of accounts that are gone, are not there.
    case notInstalled
    /// Ids of erased accounts are kept as keyed hashes, and there is no key.
    case noHashKey
    /// Accounts were erased under other keys, by name, which the one at hand does not find.
    case otherHashKeys([String])
    /// The start of an id is given, and hashes have no starts.
    case startOfID
}

extension LookupTerm {
    /// What an answer without any account leaves open.
    ///
    /// - Parameters:
    ///   - schema: what could be asked.
    ///   - otherKeys: the hash keys beside the one at hand that were used here, by name; nil where there is none at
    ///     hand.
    /// - Returns: Why it is not certain; nil where it is.
    /// - Throws: What `otherKeys` throws.
    func doubt(in schema: DirectorySchema, otherKeys: () throws -> [String]?) rethrows -> LookupDoubt? {
        guard schema.isInstalled else { return mayNameErased ? .notInstalled : nil }
        // Requests are found by their ids themselves.
        guard kind != .request else { return nil }
        guard userID != nil else { return isStartOfUserID ? .startOfID : nil }
        guard let others = try otherKeys() else { return .noHashKey }
        return others.isEmpty ? nil : .otherHashKeys(others)
    }
}
