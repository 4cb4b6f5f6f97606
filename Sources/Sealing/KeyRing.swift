import Crypto

/// The sealing keys of an installation: the newest one seals, and all of them open.
///
/// The file has one `id:base64` per line; empty lines and lines that start with `#` are ignored. The **last** key is
/// the newest, so a key is rotated by appending a line. A key may be removed once no value sealed with it is left.
package struct KeyRing: Sendable {
    /// The keys by name.
    private let keys: [KeyID: SealingKey]
    /// The names in the order of the file, oldest first.
    package let ids: [KeyID]
    private let newest: SealingKey
    private var late: LateKeys?

    /// The name of the key that seals.
    package var newestID: KeyID { newest.id }

    /// Creates a ring of keys, oldest first.
    ///
    /// - Throws: ``KeyRingProblems`` if there is no key, or a name or a key occurs twice.
    package init(_ keys: [SealingKey]) throws(KeyRingProblems) {
        try self.init(numbered: keys.enumerated().map { ($0.offset + 1, $0.element) }, problems: [])
    }

    /// Parses the text of a key file.
    ///
    /// - Throws: ``KeyRingProblems`` with the number of every invalid line, never with its content.
    package init(fileText text: Secret<String>) throws(KeyRingProblems) {
        var problems: [KeyRingProblems.Problem] = []
        var keys: [(Int, SealingKey)] = []
        // The mark would become part of the first key's id.
        let lines = text.reveal().drop { $0 == .byteOrderMark }
            .split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            let line = line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if line.isEmpty || line.hasPrefix("#") { continue }
            do {
                keys.append((index + 1, try Self.key(line)))
            } catch {
                problems.append(.init(line: index + 1, kind: error))
            }
        }
        try self.init(numbered: keys, problems: problems)
    }

    private init(
        numbered: [(line: Int, key: SealingKey)],
        problems: [KeyRingProblems.Problem]
    ) throws(KeyRingProblems) {
        var problems = problems
        var keys: [KeyID: SealingKey] = [:]
        for (line, key) in numbered {
            if keys[key.id] != nil {
                problems.append(.init(line: line, kind: .repeatedID(key.id)))
            } else if let same = keys.values.first(where: { $0.bytes.isEqual(to: key.bytes) }) {
                problems.append(.init(line: line, kind: .repeatedKey(key.id, same.id)))
            }
            keys[key.id] = key
        }
        guard problems.isEmpty else { throw KeyRingProblems(problems: problems) }
        guard let newest = numbered.last?.key else { throw KeyRingProblems(problems: [.init(line: 0, kind: .noKey)]) }
        self.keys = keys
        self.ids = numbered.map(\.key.id)
        self.newest = newest
    }

    private static func key(_ line: String) throws(KeyRingProblems.Kind) -> SealingKey {
        guard let colon = line.firstIndex(of: ":") else { throw .notAKey }
        guard let id = KeyID(String(line[..<colon])) else { throw .badID }
        guard let bytes = Base64.decode(line[line.index(after: colon)...]) else { throw .badBase64(id) }
        guard let key = SealingKey(id: id, bytes: Secret(bytes)) else { throw .badLength(id, bytes.count) }
        return key
    }

    /// A copy of this ring for a long-running process, which reads the key file again when it meets a value whose key
    /// is unknown.
    ///
    /// - Parameters:
    ///   - interval: The minimum time between two reads.
    ///   - read: Reads the ring again; nil if that fails.
    /// - Returns: The ring; it seals with the same key as before.
    package func following(
        every interval: Duration = .seconds(10),
        _ read: @escaping @Sendable () -> KeyRing?
    ) -> KeyRing {
        var ring = self
        ring.late = LateKeys(every: interval, read)
        return ring
    }

    func key(named id: KeyID) -> SealingKey? { keys[id] }

    /// Whether the ring has a key of this name.
    package func contains(_ id: KeyID) -> Bool {
        keys[id] != nil
    }

    /// Whether one of the keys has these bytes, since a hash key must not also be a sealing key.
    func contains(bytes: Secret<[UInt8]>) -> Bool {
        keys.values.contains { $0.bytes.isEqual(to: bytes) }
    }

    /// Seals bytes with the newest key.
    ///
    /// - Parameters:
    ///   - plain: The bytes to seal.
    ///   - context: The purpose and the owner of the value; the same context is needed to open it.
    /// - Returns: The sealed value, which names the key.
    package func seal(_ plain: Secret<[UInt8]>, for context: SealingContext) -> SealedText {
        Self.seal(plain, for: context, with: newest)
    }

    /// Seals text with the newest key; see ``seal(_:for:)-(Secret<[UInt8]>,_)``.
    package func seal(_ plain: Secret<String>, for context: SealingContext) -> SealedText {
        seal(plain.map { Array($0.utf8) }, for: context)
    }

    /// Opens a value that ``seal(_:for:)-(Secret<[UInt8]>,_)`` sealed for the same context.
    ///
    /// - Throws: ``SealingError`` if the key is missing or does not open the value.
    package func open(_ sealed: SealedText, for context: SealingContext) throws(SealingError) -> Secret<[UInt8]> {
        if let key = keys[sealed.keyID] { return try Self.open(sealed, for: context, with: key) }
        if let key = late?.known(sealed.keyID), let plain = try? Self.open(sealed, for: context, with: key) {
            return plain
        }
        // The key is not known yet, or a wrong key may have been corrected since the last read.
        guard let key = late?.current(sealed.keyID) else {
            throw SealingError(.missingKey(sealed.keyID), purpose: context.purpose)
        }
        return try Self.open(sealed, for: context, with: key)
    }

    private static func open(
        _ sealed: SealedText,
        for context: SealingContext,
        with key: SealingKey
    ) throws(SealingError) -> Secret<[UInt8]> {
        do {
            let plain = try AES.GCM.open(
                AES.GCM.SealedBox(combined: sealed.box),
                using: key.symmetricKey,
                authenticating: context.associatedData(version: SealedText.version, key: key.id)
            )
            return Secret(Array(plain))
        } catch {
            throw SealingError(.doesNotOpen(sealed.keyID), purpose: context.purpose)
        }
    }

    /// Opens stored text for the context that it was sealed for; see ``open(_:for:)``.
    ///
    /// - Throws: ``SealingError`` if the key is missing or does not open the value, or the text is not a sealed value.
    package func openText(_ stored: String, for context: SealingContext) throws(SealingError) -> Secret<String> {
        guard let sealed = SealedText(stored) else { throw SealingError(.malformed, purpose: context.purpose) }
        let bytes = try open(sealed, for: context)
        guard let text = String(validating: bytes.reveal(), as: UTF8.self) else {
            throw SealingError(.malformed, purpose: context.purpose)
        }
        return Secret(text)
    }

    /// Reseals a value with the newest key; nil if it is already sealed with that key.
    ///
    /// - Throws: ``SealingError`` if the value does not open.
    package func reseal(_ sealed: SealedText, for context: SealingContext) throws(SealingError) -> SealedText? {
        guard sealed.keyID != newest.id else { return nil }
        return seal(try open(sealed, for: context), for: context)
    }

    static func seal(_ plain: Secret<[UInt8]>, for context: SealingContext, with key: SealingKey) -> SealedText {
        let associated = context.associatedData(version: SealedText.version, key: key.id)
        guard
            let box = try? AES.GCM.seal(plain.reveal(), using: key.symmetricKey, authenticating: associated),
            let combined = box.combined
        else {
            // Cannot fail: the key has 256 bits and the library creates the nonce.
            preconditionFailure("AES-GCM refused a 256-bit key")
        }
        return SealedText(keyID: key.id, box: Array(combined))
    }
}
